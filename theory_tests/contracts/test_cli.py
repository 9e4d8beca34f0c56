"""The command line: what it prints, where, and with which exit code."""

from __future__ import annotations

import importlib.metadata
import json
import math
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import propercal
from propercal.cli.command import main

OPTIONS = ("--method", "risk", "--bandwidth", "0.1")


@pytest.fixture
def good(tmp_path: Path) -> Path:
    rng = np.random.default_rng(7)
    probs = rng.dirichlet([1.0, 1.0, 1.0], size=60)
    labels = (rng.random((60, 1)) > probs.cumsum(axis=1)).sum(axis=1)
    path = tmp_path / "good.npz"
    np.savez(path, labels=labels, probs=probs)
    return path


@pytest.fixture
def infinite(tmp_path: Path) -> Path:
    probs = np.array([[1.0, 0.0], [0.7, 0.3], [0.2, 0.8], [1.0, 0.0], [0.5, 0.5]])
    path = tmp_path / "infinite.npz"
    np.savez(path, labels=[1, 0, 1, 1, 0], probs=probs)
    return path


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    path = tmp_path / "bad.npz"
    np.savez(path, labels=[0, 1], probs=[[0.5, np.nan], [0.5, 0.5]])
    return path


Captured = pytest.CaptureFixture[str]


def run_json(capsys: Captured, *arguments: str | Path) -> list[dict[str, Any]]:
    assert main(["decompose", "--json", *OPTIONS, *map(str, arguments)]) == 0

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    records: list[dict[str, Any]] = json.loads(capsys.readouterr().out, parse_constant=refuse)
    return records


def test_the_installed_version_is_the_one_in_the_package() -> None:
    assert importlib.metadata.version("propercal") == propercal.__version__


def test_version(capsys: Captured) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    assert capsys.readouterr().out == f"propercal {propercal.__version__}\n"


@pytest.mark.parametrize("notion", ["canonical", "classwise", "top-label"])
@pytest.mark.parametrize("method", ["direct", "risk"])
@pytest.mark.parametrize("kernel", ["dirichlet", "uniform-bins", "quantile-bins"])
def test_json_agrees_with_decompose(good: Path, capsys: Captured, notion: str, method: str, kernel: str) -> None:
    chosen = {"notion": notion, "method": method, "kernel": kernel}
    flags = [part for name, value in chosen.items() for part in (f"--{name}", value)]
    records = run_json(capsys, good, *flags, "--generator", "log", "--generator", "brier")
    with np.load(good) as archive, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        results = propercal.decompose(
            archive["labels"], archive["probs"], generator=["log", "brier"], bandwidth=0.1, notion=notion,
            method=method, kernel=kernel,
        )
    for name, record, result in zip(("log", "brier"), records, results, strict=True):
        assert record["file"] == str(good)
        assert record["generator"] == name
        assert {key: record[key] for key in chosen} == chosen
        for key in ("risk", "calibration_error", "refinement", "sharpness", "uncertainty", "bandwidth"):
            assert record[key] == getattr(result, key)
        assert (record["n_samples"], record["n_classes"]) == (60, 3)
        assert record["infinite_loss_rows"] == []
        assert record["notes"] == [f"warning: {warning.message}" for warning in caught]


def test_logits_and_tables_give_the_same_numbers(good: Path, tmp_path: Path, capsys: Captured) -> None:
    with np.load(good) as archive:
        labels, probs = archive["labels"], archive["probs"]
    np.savez(tmp_path / "logits.npz", labels=labels, logits=np.log(probs) + 3.0)
    rows = ["a,b,c,truth"]
    rows += [",".join(map(repr, p.tolist())) + "," + "abc"[y] for p, y in zip(probs, labels, strict=True)]
    (tmp_path / "table.csv").write_text("\n".join(rows))
    records = run_json(capsys, good, tmp_path / "logits.npz", tmp_path / "table.csv", "--label-column", "truth")
    risks = [record["risk"] for record in records]
    np.testing.assert_allclose(risks, -np.log(probs[np.arange(60), labels]).mean(), rtol=1e-12)
    errors = [record["calibration_error"] for record in records]
    np.testing.assert_allclose(errors, errors[0], rtol=1e-9)


def test_infinite_values_are_valid_json_and_name_their_rows(infinite: Path, capsys: Captured) -> None:
    (record,) = run_json(capsys, infinite)
    assert record["risk"] == "Infinity"
    assert float(record["risk"]) == math.inf
    assert record["infinite_loss_rows"] == [0, 3]
    assert any(note.startswith("warning: ") and "infinite" in note for note in record["notes"])


def test_table(good: Path, infinite: Path, capsys: Captured) -> None:
    code = main(["decompose", str(good), str(infinite), "--generator=log", "--generator=brier", *OPTIONS])
    shown = capsys.readouterr()
    title, header, *rows = shown.out.splitlines()
    assert code == 0
    assert title == "canonical calibration, method risk, kernel dirichlet"
    assert " ".join(header.split()) == "loss risk cal. error refinement sharpness uncertainty skill"
    assert [row.partition(" ")[0] for row in rows if not row.startswith(" ")] == [f"{good}:", f"{infinite}:"]
    assert [row.split()[0] for row in rows] == [
        f"{good}:", "log", "brier", "bandwidth", f"{infinite}:", "log", "brier", "bandwidth", "infinite",
    ]
    assert rows[0] == f"{good}: 60 rows, 3 classes"
    with np.load(good) as archive:
        expected = propercal.decompose(archive["labels"], archive["probs"], method="risk", bandwidth=0.1)
    numbers = [expected.risk, expected.calibration_error, expected.refinement, expected.sharpness, expected.uncertainty]
    assert rows[1].split()[1:] == [*(f"{x:.5f}" for x in numbers), f"{expected.skill_score:.4f}"]
    assert rows[3].strip() == "bandwidth 0.1"
    assert rows[5].split()[1] == "inf"
    assert rows[-1].strip() == "infinite log loss at rows 0, 3"


def test_warnings_are_one_plain_line(infinite: Path, capsys: Captured) -> None:
    main(["decompose", str(infinite), *OPTIONS])
    lines = capsys.readouterr().err.splitlines()
    assert lines
    for line in lines:
        assert line.startswith(f"propercal: {infinite}: warning: ")
        assert ".py" not in line.removeprefix(f"propercal: {infinite}")


def test_other_files_go_on_when_one_fails(good: Path, bad: Path, capsys: Captured) -> None:
    missing = bad.with_name("missing.csv")
    code = main(["decompose", str(bad), str(missing), str(good), *OPTIONS])
    shown = capsys.readouterr()
    assert code == 1
    # A long path is shortened in its middle.
    assert [Path(row.partition(": ")[0]).name for row in shown.out.splitlines() if row.endswith("classes")] == [good.name]
    first, second = shown.err.splitlines()
    assert first.startswith(f"propercal: {bad}: predictions = ")
    assert second == f"propercal: {missing}: No such file or directory"


def test_json_of_nothing_is_an_empty_list(bad: Path, capsys: Captured) -> None:
    assert main(["decompose", "--json", str(bad)]) == 1
    assert json.loads(capsys.readouterr().out) == []


def test_a_corrupt_file_is_named_once(tmp_path: Path, capsys: Captured) -> None:
    path = tmp_path / "corrupt.npz"
    path.write_bytes(b"PK")
    assert main(["decompose", str(path)]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.count(str(path)) == 1
    assert line.startswith(f"propercal: {path}: not an npz archive")


@pytest.mark.parametrize(("arguments", "message"), [
    ([], "usage: propercal"),
    (["decompose"], "the following arguments are required: FILE"),
    (["decompos", "x.npz"], "invalid choice: 'decompos'"),
    (["decompose", "x.npz", "--generator", "brire"], "did you mean 'brier'"),
    (["decompose", "x.npz", "--notion", "class-wise"], "did you mean 'classwise'"),
    (["decompose", "x.npz", "--method", "riks"], "did you mean 'risk'"),
    (["decompose", "x.npz", "--kernel", "dirichlt"], "did you mean 'dirichlet'"),
    (["decompose", "x.npz", "--bandwidth", "0"], "expected auto or a positive number"),
    (["decompose", "x.npz", "--bandwidth", "nan"], "expected auto or a positive number"),
    (["decompose", "x.npz", "--bandwidth", "wide"], "expected auto or a positive number"),
    (["decompose", "x.npz", "--generator", "no_such_module:F"], "cannot load 'no_such_module:F'"),
    (["decompose", "x.npz", "--generator", "math:no_such_name"], "cannot load 'math:no_such_name'"),
])
def test_usage(arguments: list[str], message: str, capsys: Captured) -> None:
    try:
        code: object = main(arguments)
    except SystemExit as stop:
        code = stop.code
    shown = capsys.readouterr()
    assert code == 2
    assert shown.out == ""
    assert message in shown.err
    assert "Traceback" not in shown.err


OWN = """
from propercal import BregmanGenerator
from propercal.generators import Brier


class Half(BregmanGenerator):
    name = "half"

    def value(self, p):
        return 0.5 * ((p * p).sum(-1) - 1)

    def gradient(self, p):
        return p


double = 2.0 * Brier()
"""


def command(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-m", "propercal", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        check=False,
    )


def test_own_generator_from_the_current_folder(good: Path, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(OWN)
    names = ["--generator=own:Half", "--generator=own:double", "--generator=brier"]
    run = command("decompose", "--json", good.name, *names, *OPTIONS, cwd=tmp_path)
    assert (run.returncode, run.stderr) == (0, "")
    half, double, brier = json.loads(run.stdout)
    assert half["generator"] == "half"
    for term in ("risk", "calibration_error", "refinement", "sharpness", "uncertainty"):
        assert half[term] == pytest.approx(brier[term] / 2, rel=1e-9, abs=1e-12)
        assert double[term] == pytest.approx(brier[term] * 2, rel=1e-9, abs=1e-12)


def test_own_generator_that_fails_to_load(good: Path, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("raise KeyError('oops')")
    run = command("decompose", good, "--generator=own:Half", cwd=tmp_path)
    assert run.returncode == 2
    assert "cannot load 'own:Half' (KeyError: 'oops')" in run.stderr
    assert "Traceback" not in run.stderr


def test_a_reader_that_stops_reading_is_no_error(good: Path) -> None:
    code = (
        "import os, sys\n"
        "from propercal.cli.command import main\n"
        "read, write = os.pipe()\n"
        "os.close(read)\n"
        "os.dup2(write, 1)\n"
        "sys.exit(main())\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, "decompose", str(good), *OPTIONS], capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stderr) == (0, "")


@pytest.mark.parametrize("folder", ["cifar10", "cifar100", "forecasts", "text", "llm", "imagenet16h"])
@pytest.mark.parametrize("notion", ["classwise", "top-label", "canonical"])
def test_real_predictions(shared: Path, tmp_path: Path, capsys: Captured, folder: str, notion: str) -> None:
    """The first 800 rows of every file: each term is a number, and both identities hold."""
    paths = []
    for path in sorted((shared / "data" / folder).glob("*.npz")):
        with np.load(path, allow_pickle=False) as archive:
            first = {key: archive[key][:800] for key in archive.files}
        paths.append(tmp_path / path.name)
        np.savez(paths[-1], **first)
    names = [part for name in ("log", "brier", "spherical") for part in ("--generator", name)]
    records = run_json(capsys, *paths, *names, "--notion", notion)
    assert len(records) == 3 * len(paths) > 0
    for record in records:
        risk, error, refinement, sharpness, uncertainty = (
            float(record[term]) for term in ("risk", "calibration_error", "refinement", "sharpness", "uncertainty")
        )
        assert not any(map(math.isnan, (risk, error, refinement, sharpness, uncertainty)))
        assert math.isinf(risk) == bool(record["infinite_loss_rows"])
        assert refinement == pytest.approx(uncertainty - sharpness, abs=1e-9)
        assert math.isinf(error) if math.isinf(risk) else risk == pytest.approx(error + refinement, abs=1e-9)
