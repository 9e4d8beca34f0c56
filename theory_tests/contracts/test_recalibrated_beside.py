"""What stands beside predictions that `propercal recalibrate` writes anew: columns that were made of them, and the rest.

Oracle: the columns by their definition, and the file as it was.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from propercal.cli.command import main

NAMES = np.array(["cat", "dog", "emu"])
RNG = np.random.default_rng(0)
P = RNG.dirichlet([1.0, 1.0, 1.0], 80)
Y = (RNG.random((80, 1)) > P.cumsum(axis=1)).sum(axis=1)
FORMS = ["csv", "jsonl", "lists", "npz"]
Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    np.savez("fit.npz", labels=NAMES[Y], probs=P**2 / (P**2).sum(axis=1, keepdims=True), classes=NAMES)
    pd.DataFrame({"label": np.where(Y == 0, "cat", "rest"), "cat": P[:, 0]}).to_csv("one.csv", index=False)


def written(form: str, **more: Any) -> str:
    columns = {**dict(zip(NAMES, P.T, strict=True)), **more}
    if form == "csv":
        pd.DataFrame(columns).to_csv("new.csv", index=False)
    elif form == "npz":
        np.savez("new.npz", probs=P, classes=NAMES, **more)
    else:
        rows = {"probs": P, "classes": [NAMES.tolist()] * len(P), **more} if form == "lists" else columns
        lines = [dict(zip(rows, (np.asarray(each).tolist() for each in row), strict=True)) for row in zip(*rows.values(), strict=True)]
        Path("new.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return f"new.{'jsonl' if form == 'lists' else form}"


def said(capsys: Captured, fit: str, new: str, *flags: str) -> str:
    assert main(["recalibrate", fit, *flags, "--apply", new, "-o", f"out{Path(new).suffix}", "--force"]) == 0
    return capsys.readouterr().err


@pytest.mark.parametrize("form", FORMS)
def test_columns_that_were_made_of_predictions_are_said(form: str, capsys: Captured) -> None:
    for made in ({"top": P.max(axis=1)}, {"top": P.max(axis=1).round(5)}, {"unsure": 1 - P.max(axis=1)}):
        (name,) = made
        assert f"columns '{name}' were made of the predictions" in said(capsys, "fit.npz", written(form, **made))
    isotonic = said(capsys, "fit.npz", written(form, pred=NAMES[P.argmax(axis=1)]), "--recalibrator", "isotonic")
    assert "columns 'pred' were made of the predictions ('pred' as the class of the largest one)" in isotonic


@pytest.mark.parametrize("form", FORMS)
def test_other_columns_are_written_as_they_were_in_silence(form: str, capsys: Captured) -> None:
    """A temperature leaves the largest one where it was."""
    others = {"pred": NAMES[P.argmax(axis=1)], "raw": P[:, 0], "age": np.arange(80), "half": np.full(80, 0.5)}
    assert said(capsys, "fit.npz", written(form, **others)) == ""


def test_the_complement_of_one_column(capsys: Captured) -> None:
    """Rows summed to 1."""
    pd.DataFrame({"cat": P[:, 0], "rest": 1 - P[:, 0]}).to_csv("new.csv", index=False)
    error = said(capsys, "one.csv", "new.csv")
    assert "columns 'rest' were made of the predictions ('rest' as 1 minus these), and are written as they were: make them anew" in error
    pd.DataFrame({"cat": P[:, 0], "weight": RNG.random(80)}).to_csv("new.csv", index=False)
    assert said(capsys, "one.csv", "new.csv") == ""


def test_logits_are_compared_as_probabilities(capsys: Captured) -> None:
    np.savez("new.npz", logits=np.log(P) + 2.0, classes=NAMES, top=P.max(axis=1))
    assert "columns 'top' were made" in said(capsys, "fit.npz", "new.npz")


def test_objects_of_json_within_a_line_stay_objects(capsys: Captured) -> None:
    kept: dict[str, Any] = {"meta": {"a": 1, "b": [1, {"c": None}], "d": {}, "e": []}, "pairs": [["a", 1]], "tags": []}
    Path("new.jsonl").write_text("".join(json.dumps({"probs": row, **kept}) + "\n" for row in P.tolist()))
    assert said(capsys, "fit.npz", "new.jsonl", "--class", "cat", "--class", "dog", "--class", "emu") == ""
    for line in Path("out.jsonl").read_text().splitlines():
        found = json.loads(line)
        assert len(found.pop("probs")) == 3
        assert found == kept
