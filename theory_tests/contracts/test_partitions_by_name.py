"""Partitions of Dask whose columns and rows move with their names give the number of NumPy, and are refused against them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import propercal
from theory_tests.contracts.arranged_data import CLASSES, INDEX, ROLES, N

dd = pytest.importorskip("dask.dataframe", reason="needs Dask data frames")

KW: dict[str, Any] = {"notion": "classwise", "generator": "brier", "method": "risk", "bandwidth": 0.1}
F, S = pd.DataFrame(ROLES["p"], columns=CLASSES), pd.Series(ROLES["y"])
MARKS = pd.get_dummies(S).astype(int)
ORDER = np.random.default_rng(0).permutation(N)


def risk(y: Any, p: Any) -> float:
    return float(propercal.decompose(*(dd.from_pandas(each, npartitions=3, sort=False) for each in (y, p)), **KW).risk)


def test_names_of_partitions() -> None:
    right = float(propercal.decompose(np.searchsorted(CLASSES, ROLES["y"]), ROLES["p"], **KW).risk)
    for y, p in ((S, F[list("cab")]), (MARKS[list("bca")], F[list("cab")]), (S.set_axis(INDEX), F.set_index(INDEX))):
        assert risk(y, p) == pytest.approx(right, rel=1e-12)
    for y, p in (
        (S.set_axis(INDEX).iloc[ORDER], F.set_index(INDEX)),
        (S, F.set_axis(list("abx"), axis=1)),
        (S, F[list("cab")].add_prefix("p_")),
        (MARKS.set_axis(["la", "lb", "lc"], axis=1)[["lb", "lc", "la"]], F),
    ):
        with pytest.raises(ValueError, match=r"^y_true = .*: expected "):
            risk(y, p)
