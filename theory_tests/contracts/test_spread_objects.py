"""Probabilities of a row as an object of its classes, in lines of JSON: the order of names says nothing.

Oracle: the same numbers as columns of a table, whose risk is the mean of the squared distances.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from propercal.cli.command import main
from propercal.cli.files import read_predictions

N = 60
RNG = np.random.default_rng(0)
P = RNG.dirichlet([1, 1, 1], N)
Y = (RNG.random((N, 1)) > P.cumsum(axis=1)).sum(axis=1)
NAMES = ["cat", "dog", "emu"]
LABELS = np.array(NAMES)[Y].tolist()
RISK = float(((P - np.eye(3)[Y]) ** 2).sum(axis=1).mean())
ORDERS = [[0, 1, 2], [2, 0, 1], [1, 2, 0]]
Captured = pytest.CaptureFixture[str]

pytestmark = pytest.mark.usefixtures("folder")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def objects(proba: Any = P, names: Any = NAMES) -> list[dict[str, float]]:
    return [{names[j]: float(row[j]) for j in ORDERS[i % 3]} for i, row in enumerate(proba)]


def listed() -> list[list[dict[str, Any]]]:
    return [[{"label": name, "score": value} for name, value in row.items()] for row in objects()]


def written(cells: Any, labels: Any = LABELS, key: str = "probs", **more: Any) -> str:
    rows = zip(labels, cells, strict=True)
    Path("p.jsonl").write_text("".join(json.dumps({"label": label, key: cell, **more}) + "\n" for label, cell in rows))
    return "p.jsonl"


def risk(capsys: Captured, *arguments: str) -> float:
    code = main(["decompose", *arguments, "--generator", "brier", "--method", "risk", "--bandwidth", "0.1", "--json"])
    shown = capsys.readouterr()
    assert code == 0, shown.err
    return float(json.loads(shown.out)[0]["risk"])


def refused(capsys: Captured, *arguments: str) -> str:
    assert main(["decompose", *arguments]) == 1
    return capsys.readouterr().err


@pytest.mark.parametrize("form", ["objects", "lists of labels and scores", "logits"])
def test_each_row_is_read_by_its_names(form: str, capsys: Captured) -> None:
    cells = {"objects": objects(), "logits": objects(np.log(P))}.get(form, listed())
    path = written(cells, key="logits" if form == "logits" else "probs", note="x")
    assert risk(capsys, path, "--drop", "note") == pytest.approx(RISK, rel=1e-12)
    assert risk(capsys, path, "--drop", "note", "--class", "emu", "--class", "cat", "--class", "dog") == pytest.approx(RISK, rel=1e-12)
    assert read_predictions(path, drop=["note"]).from_logits == (form == "logits")


def test_chunks_of_a_monitor_are_read_alike(capsys: Captured) -> None:
    found = []
    np.savez("p.npz", labels=LABELS, probs=P, classes=NAMES)
    for path in (written(objects()), "p.npz"):
        main(["monitor", path, "--chunk-size", "7", "--json"])
        found.append(json.loads(capsys.readouterr().out)[-1]["log_e_value"])
    assert found[0] == pytest.approx(found[1], rel=1e-9)


def test_recalibrated_objects_are_objects() -> None:
    path = written(objects())
    assert main(["recalibrate", path, "--apply", path, "-o", "new.jsonl"]) == 0
    np.savez("p.npz", labels=LABELS, probs=P, classes=NAMES)
    assert main(["recalibrate", "p.npz", "--apply", "p.npz", "-o", "new.npz"]) == 0
    rows = [json.loads(line)["probs"] for line in Path("new.jsonl").read_text().splitlines()]
    np.testing.assert_allclose([[row[name] for name in NAMES] for row in rows], np.load("new.npz")["probs"], rtol=1e-9)


def test_structs_of_parquet_are_objects(capsys: Captured) -> None:
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    pd.DataFrame({"label": LABELS, "probs": [dict(sorted(row.items())) for row in objects()]}).to_parquet("p.parquet")
    assert risk(capsys, "p.parquet") == pytest.approx(RISK, rel=1e-12)


def test_numbers_count_no_names_of_objects(capsys: Captured) -> None:
    assert "since objects of JSON have no order in which numbers could count them" in refused(capsys, written(objects(), labels=Y.tolist()))
    assert risk(capsys, written(objects(names="012"), labels=Y.tolist())) == pytest.approx(RISK, rel=1e-12)


def test_objects_that_do_not_fit_are_refused(capsys: Captured) -> None:
    cells = objects()
    assert "'probs' of row 4 holds 'dog', 'emu': expected a number for each of 'cat', 'dog', 'emu', as row 0 has" in refused(capsys, written([*cells[:4], {"dog": 0.5, "emu": 0.5}, *cells[5:]]))
    assert "'probs' of row 4 holds no object" in refused(capsys, written([*cells[:4], None, *cells[5:]]))
    assert "'label' is a class in 'probs', and a name beside it" in refused(capsys, written(objects(names=["cat", "dog", "label"])))
    assert "'note' beside the object 'probs': expected a label, weights and groups; name what is none of these with --drop" in refused(capsys, written(cells, note=0.5))
    assert "'probs' holds 2.1972" in refused(capsys, written([{"cat": 2.1972, "dog": -1.0, "emu": 0.1}] * N))
    assert "rename it" in refused(capsys, written(cells, key="scores"))
    assert "column 'cat' does not hold numbers" in refused(capsys, written([{**cells[0], "cat": "half"}, *cells[1:]]))
