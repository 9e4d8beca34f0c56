"""Rows of several splits, models or epochs in one file: measured together, with a warning."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from propercal.cli.command import main

RNG = np.random.default_rng(0)
N = 60
P = RNG.dirichlet([1.0] * 3, N)
Y = (RNG.random((N, 1)) > P.cumsum(axis=1)).sum(axis=1)
NAMES = ["cat", "dog", "eel"]


def said(capsys: pytest.CaptureFixture[str], folder: Path, suffix: str, command: str, **more: Any) -> str:
    path = folder / f"p.{suffix}"
    frame = pd.DataFrame(P, columns=NAMES).assign(label=np.array(NAMES)[Y], **more)
    flags = [word for name in more for word in ("--drop", name)]
    if suffix == "csv":
        frame.to_csv(path, index=False)
    elif suffix == "jsonl":
        frame.to_json(path, orient="records", lines=True, double_precision=15)
    else:
        flags = []
        np.savez(path, labels=np.array(NAMES)[Y], probs=P, **more)
    assert main([command, str(path), *flags]) in (0, 3)
    return capsys.readouterr().err


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "npz"])
@pytest.mark.parametrize("command", ["decompose", "monitor"])
def test_rows_of_several_splits_or_models(capsys: pytest.CaptureFixture[str], tmp_path: Path, command: str, suffix: str) -> None:
    cases: dict[str, Any] = {"split": ["test", "train"], "model": ["A", "B"], "epoch": [1, 2]}
    for name, values in cases.items():
        error = said(capsys, tmp_path, suffix, command, **{name: np.array(values)[np.arange(N) % 2]})
        assert f"rows of several values of '{name}', '{values[0]}', '{values[1]}', which is left out, are taken together" in error
        assert "keep those of one of them in the file" in error


def test_what_is_usually_pooled(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """One value, predictions of folds, numbers of rows, other columns."""
    others: dict[str, Any] = {"split": np.full(N, "test"), "fold": np.arange(N) % 5, "run_id": np.arange(N), "site": np.arange(N) % 3}
    for name, values in others.items():
        assert "taken together" not in said(capsys, tmp_path, "csv", "decompose", **{name: values})
