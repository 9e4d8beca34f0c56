"""``propercal monitor``: the same evidence as in memory, a state that goes on, and an alarm as exit code."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from propercal import CalibrationMonitor
from propercal.cli.command import main

pd = pytest.importorskip("pandas")

NAMES = np.array(["cat", "dog", "emu"])
RNG = np.random.default_rng(0)
N = 300
TRUE = RNG.dirichlet([1.0, 1.0, 1.0], N)
Y = (RNG.random((N, 1)) > TRUE.cumsum(axis=1)).sum(axis=1)
SHARP = TRUE**3 / (TRUE**3).sum(axis=1, keepdims=True)
Captured = pytest.CaptureFixture[str]

pytestmark = pytest.mark.usefixtures("folder")


def frame(p: Any, rows: slice = slice(None)) -> Any:
    return pd.DataFrame(p[rows], columns=NAMES).assign(label=NAMES[Y[rows]])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    frame(TRUE).to_csv("good.csv", index=False)
    frame(SHARP).to_csv("bad.csv", index=False)
    return tmp_path


def ran(capsys: Captured, *arguments: str, code: int = 0) -> Any:
    assert main(["monitor", *arguments, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def in_memory(*tables: Any, **settings: Any) -> CalibrationMonitor:
    monitor = CalibrationMonitor(3, **settings)
    for p in tables:
        monitor.update(Y, p)
    return monitor


@pytest.mark.parametrize("chunk", ["7", "1000"])
@pytest.mark.parametrize("name", ["good.csv", "good.jsonl", "good.npz", "good.parquet"])
def test_evidence_is_that_of_memory(name: str, chunk: str, capsys: Captured) -> None:
    if name == "good.jsonl":
        Path(name).write_text("\n".join(map(json.dumps, frame(TRUE).to_dict("records"))), encoding="utf-8")
    elif name == "good.npz":
        np.savez(name, labels=Y, probs=TRUE)
    elif name == "good.parquet":
        pytest.importorskip("pyarrow")
        frame(TRUE).to_parquet(name)
    flags = ["--notion", "top-label", "--generator", "brier", "--alpha", "0.01", "--chunk-size", chunk]
    (record,) = ran(capsys, name, *flags)
    wanted = in_memory(TRUE, notion="top-label", generator="brier", alpha=0.01)
    for key in ("n_samples", "log_e_value", "p_value", "alarm", "drift", "lower_bound"):
        assert record[key] == pytest.approx(getattr(wanted, key), rel=1e-9)


def test_a_state_goes_on_where_it_was(capsys: Captured) -> None:
    for start in range(0, N, 100):
        name = f"day{start}.csv"
        # Columns in another order each day.
        frame(TRUE, slice(start, start + 100)).iloc[:, [(start // 100 + i) % 4 for i in range(4)]].to_csv(name, index=False)
        (record,) = ran(capsys, name, "--state", "s.monitor")
    assert record["log_e_value"] == pytest.approx(in_memory(TRUE).log_e_value, rel=1e-9)
    (record,) = ran(capsys, "bad.csv", "--state", "s.monitor", code=3)
    wanted = in_memory(TRUE, SHARP)
    assert record["n_samples"] == 2 * N
    assert record["log_e_value"] == pytest.approx(wanted.log_e_value, rel=1e-9)
    assert (record["alarm_row"], record["drift_row"]) == (wanted.alarm_row, wanted.drift_row)
    # An alarm stays until it is forgotten.
    assert main(["monitor", "day0.csv", "--state", "s.monitor"]) == 3
    assert main(["monitor", "day0.csv", "--state", "s.monitor", "--reset"]) == 0


class Stream(io.TextIOWrapper):
    def __init__(self, text: str) -> None:
        super().__init__(io.BytesIO(text.encode()))


def test_standard_input_is_read_as_rows_come(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    text = Path("bad.csv").read_text(encoding="utf-8")
    monkeypatch.setattr("sys.stdin", Stream(text))
    (record,) = ran(capsys, "-", "--chunk-size", "10", "--stop-at-alarm", "--state", "s.monitor", code=3)
    wanted = in_memory(SHARP)
    rows = [each for each in (wanted.alarm_row, wanted.drift_row) if each is not None]
    assert record["n_samples"] == 10 * (min(rows) // 10 + 1) < N
    assert CalibrationMonitor.from_bytes(Path("s.monitor").read_bytes()).n_samples == record["n_samples"]


def test_a_file_that_fails_changes_nothing(capsys: Captured) -> None:
    ran(capsys, "good.csv", "--state", "s.monitor")
    before = Path("s.monitor").read_bytes()
    wrong = frame(TRUE)
    wrong.loc[250, "cat"] = 7.0
    wrong.to_csv("wrong.csv", index=False)
    wrong.rename(columns={"cat": "cow"}).replace("cat", "cow").to_csv("cow.csv", index=False)
    for name, said in (("wrong.csv", "Rows are counted from row 200 on"), ("cow.csv", "cow.csv: "), ("none.csv", "No such file")):
        assert main(["monitor", name, "--state", "s.monitor", "--chunk-size", "100"]) == 1
        assert said in capsys.readouterr().err
        assert Path("s.monitor").read_bytes() == before
    # The others go on.
    assert main(["monitor", "wrong.csv", "good.csv", "--state", "s.monitor"]) == 1
    assert CalibrationMonitor.from_bytes(Path("s.monitor").read_bytes()).n_samples == 2 * N


def test_other_settings_and_other_files_are_no_state(capsys: Captured) -> None:
    ran(capsys, "good.csv", "--state", "s.monitor")
    assert main(["monitor", "good.csv", "--state", "s.monitor", "--alpha", "0.2"]) == 1
    assert "--alpha 0.2: the state has 0.05" in capsys.readouterr().err
    before = Path("good.csv").read_bytes()
    assert main(["monitor", "bad.csv", "--state", "good.csv"]) == 1
    assert "good.csv: no state of propercal monitor" in capsys.readouterr().err
    assert Path("good.csv").read_bytes() == before


@pytest.mark.parametrize(("text", "said"), [
    ("", "no"),
    ("label,a,b\n", "no rows"),
    ("label,a,b\na,.5\n", "a row of 2 fields"),
    ("label,a,b\n,.5,.5\n", "no label in row 0"),
    ("label,a,b,id\na,.5,.5,1\n", "--drop id"),
    ('{"label": 0, "p": 0.5}\n{"label": 0}\n', "expected"),
    ('{"label": 0, "p": 0.5', "no object of JSON"),
    ("\x1f\x8b\x00", "unpacked"),
])
def test_text_that_cannot_be_read(text: str, said: str, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    assert main(["monitor", "-"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("propercal: -: ")
    assert said in line


def test_labels_that_count_columns_count_alike_in_every_chunk(capsys: Captured) -> None:
    """A chunk of labels 1 and 2 alone might count from 1: what the first rows settled holds for it."""
    order = np.argsort(Y == 0, kind="stable")[::-1]
    numbers = pd.DataFrame(TRUE[order], columns=["0", "1", "2"]).assign(label=Y[order])
    numbers.to_csv("numbers.csv", index=False)
    monitor = CalibrationMonitor(3)
    monitor.update(Y[order], TRUE[order])
    code = 3 if monitor.alarm or monitor.drift_alarm else 0
    (record,) = ran(capsys, "numbers.csv", "--chunk-size", "50", code=code)
    assert record["log_e_value"] == pytest.approx(monitor.log_e_value, rel=1e-9)


def test_one_column(capsys: Captured) -> None:
    p, y = TRUE[:, 0], (Y == 0).astype(int)
    pd.DataFrame({"confidence": p, "correct": y == 1, "note": "x"}).to_csv("one.csv", index=False)
    (record,) = ran(capsys, "one.csv", "--class", "confidence", "--label-column", "correct", "--chunk-size", "50")
    monitor = CalibrationMonitor(2)
    monitor.update(y, p)
    assert record["log_e_value"] == pytest.approx(monitor.log_e_value, rel=1e-9)


def test_a_state_has_one_positive_class_and_logits_or_probabilities(capsys: Captured) -> None:
    proba = np.linspace(0.2, 0.8, 40)
    event = (np.random.default_rng(0).random(40) < proba).astype(int)
    words = np.where(event == 1, "fraud", "legit")
    pd.DataFrame({"label": words, "p": proba}).to_csv("fraud.csv", index=False)
    np.savez("logits.npz", labels=event, logits=np.log(proba / (1 - proba)))
    np.savez("probs.npz", labels=event, probs=proba)
    ran(capsys, "fraud.csv", "--state", "words", "--pos-label", "fraud")
    ran(capsys, "fraud.csv", "--state", "words", "--pos-label", "fraud")
    ran(capsys, "fraud.csv", "--state", "words")
    assert main(["monitor", "fraud.csv", "--state", "words", "--pos-label", "legit"]) == 1
    assert "pos_label" in (said := capsys.readouterr().err) or "--pos-label" in said
    for first, other, has in (("logits.npz", "probs.npz", "logits"), ("probs.npz", "logits.npz", "probabilities")):
        ran(capsys, first, "--state", has)
        assert main(["monitor", other, "--state", has]) == 1
        assert f"the state has seen {has}" in capsys.readouterr().err
    assert main(["monitor", "fraud.csv", "--state", "words", "--from-logits"]) == 1
