"""Archives: which label one column is of, logits under the name of probabilities, and events by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import propercal
from propercal.cli.command import main
from propercal.cli.files import read_predictions

N = 60
RNG = np.random.default_rng(0)
P = RNG.random(N)
WORDS = np.where(RNG.random(N) < P, "bee", "ant")
RISK = ["--method", "risk", "--bandwidth", ".1", "--generator", "brier"]
RIGHT = 2 * np.mean((P - (WORDS == "bee")) ** 2)


def risk_of(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> float:
    assert main(["decompose", *arguments, *RISK, "--json"]) == 0, capsys.readouterr().err
    found: float = json.loads(capsys.readouterr().out)[0]["risk"]
    return found


@pytest.mark.parametrize("kind", ["npz", "npy"])
def test_one_column_is_of_the_label_that_is_named(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / f"probs.{kind}"
    if kind == "npz":
        np.savez(path, labels=WORDS, probs=P)
    else:
        np.save(path, P)
        np.save(tmp_path / "labels.npy", WORDS)
    assert main(["decompose", str(path), *RISK]) == 1
    assert "--pos-label" in capsys.readouterr().err
    np.testing.assert_allclose(risk_of([str(path), "--pos-label", "bee"], capsys), RIGHT)
    other = 2 * np.mean((1 - P - (WORDS == "bee")) ** 2)
    np.testing.assert_allclose(risk_of([str(path), "--pos-label", "ant"], capsys), other)
    assert main(["monitor", str(path), "--pos-label", "bee"]) in (0, 3)
    assert main(["decompose", str(path), *RISK, "--pos-label", "cat"]) == 1
    pytest.importorskip("jinja2")
    assert propercal.report(path, pos_label="bee").summary


def test_an_archive_of_one_class_takes_the_advice_that_it_gets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "a.npz")
    y = (WORDS == "bee") * 1
    np.savez(path, labels=y, probs=1 - P, classes=np.array([0]))
    if main(["decompose", path, *RISK]):
        assert "--pos-label 0" in capsys.readouterr().err
    np.testing.assert_allclose(risk_of([path, "--pos-label", "0"], capsys), RIGHT)
    np.savez(path, labels=y, probs=1 - P, classes=np.array([1, 0]))
    assert main(["decompose", path, *RISK]) == 1
    assert "--pos-label" in capsys.readouterr().err
    np.testing.assert_allclose(risk_of([path, "--pos-label", "0"], capsys), RIGHT)


@pytest.mark.parametrize(("key", "shape"), [("probs", (N, 2)), ("confidence", (N,))])
def test_a_class_is_named_beside_one_column_alone(key: str, shape: tuple[int, ...], tmp_path: Path) -> None:
    proba = np.stack([1 - P, P], axis=1) if len(shape) == 2 else P
    arrays: dict[str, Any] = {key: proba}
    np.savez(tmp_path / "a.npz", labels=(WORDS == "bee") * 1, **arrays)
    with pytest.raises(ValueError, match=r"pos_label = 'bee' beside .*: expected none but beside one column"):
        read_predictions(tmp_path / "a.npz", pos_label="bee")


@pytest.mark.parametrize("key", ["probs", "confidence"])
def test_logits_under_another_name_are_refused(key: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    y, logits = (WORDS == "bee") * 1, np.log(P / (1 - P))
    arrays: dict[str, Any] = {key: logits}
    np.savez(tmp_path / "a.npz", labels=y, **arrays)
    assert main(["decompose", str(tmp_path / "a.npz"), *RISK]) == 1
    said = capsys.readouterr().err
    assert "expected probabilities between 0 and 1; correct them, or call them 'logits' if these are logits" in said
    assert "--from-logits" not in said
    np.savez(tmp_path / "a.npz", labels=y, logits=logits)
    np.testing.assert_allclose(risk_of([str(tmp_path / "a.npz")], capsys), RIGHT)


# ---------------------------------------------------------------- events


def shown(folder: Path, event: str, **arrays: Any) -> list[bytes]:
    """Return a figure, or nothing where it is refused."""
    np.savez(folder / "a.npz", **arrays)
    out = folder / "a.svg"
    flags = ["-o", str(out), "--force", "--kind", "reliability", "--notion", "classwise"]
    failed = main(["plot", str(folder / "a.npz"), *flags, "--event", event])
    return [] if failed else [out.read_bytes()]


@pytest.mark.slow
def test_events_are_named(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    proba = RNG.dirichlet(np.ones(3), N)
    codes = np.array([RNG.choice(3, p=each) for each in proba])
    ((word,), (number,)) = ([each] for each in shown(tmp_path, "b", labels=np.array(list("abc"))[codes], probs=proba, classes=list("abc")) * 2)
    assert word == number
    for names, event, place in (("123", "2", 1), ("201", "0", 1), ("201", "2", 0)):
        labels = np.array([int(each) for each in names])[codes]
        found = shown(tmp_path, event, labels=labels, probs=proba, classes=list(names))
        right = shown(tmp_path, "xyz"[place], labels=np.array(list("xyz"))[codes], probs=proba, classes=list("xyz"))
        assert found[0].replace(f"class {event}".encode(), b"") == right[0].replace(f"class {'xyz'[place]}".encode(), b"")
    # Numbers without names are classes, and else columns.
    assert shown(tmp_path, "3", labels=codes + 1, probs=proba)
    assert shown(tmp_path, "0", labels=codes + 1, probs=proba)
    assert not shown(tmp_path, "4", labels=codes + 1, probs=proba)


def test_logits_beside_marks_are_advised_what_a_file_can_say(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An indicator matrix goes with a softmax or with sigmoids, which no flag says."""
    proba = RNG.dirichlet(np.ones(3), N)
    marks = np.eye(3, dtype=int)[[RNG.choice(3, p=each) for each in proba]]
    for first, said in ((1, "pass probabilities otherwise."), (0, "drop these if they have no label; pass probabilities")):
        np.savez(tmp_path / "a.npz", labels=marks * np.where(np.arange(N) < 1, first, 1)[:, None], logits=np.log(proba))
        assert main(["decompose", str(tmp_path / "a.npz"), "--notion", "classwise"]) == 1
        assert said in capsys.readouterr().err
    np.savez(tmp_path / "a.npz", labels=marks, probs=proba)
    assert main(["decompose", str(tmp_path / "a.npz"), "--notion", "classwise", "--method", "risk", "--bandwidth", ".1"]) == 0
