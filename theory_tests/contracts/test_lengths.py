"""Labels and predictions of other lengths: compared before all else, with what would fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from propercal import CalibrationMonitor, CalibrationSketch, calibration_test, decompose, paired_difference
from propercal.recalibration import TemperatureScaling

N = 12
Y = np.arange(N) % 3
P = np.eye(3)[Y] * 0.7 + 0.1
WORDS = np.array(["a", "b", "c"])[Y]
ONE_HOT = np.eye(3)[Y]

FITS = {
    "flattened": (Y, P.T.ravel(), r"12 labels: expected 36, one per row of (y_proba|X); pass \1 of shape \(12, 3\) if it was flattened"),
    "one column": (WORDS, P.reshape(-1, 1), r"12 labels: expected 36, one per row of (y_proba|X) of shape \(36, 1\); pass \1 of shape \(12, 3\)"),
    "transposed": (WORDS, P.T, r"12 labels: expected 3, one per row of (y_proba|X) of shape \(3, 12\); pass the transpose of \1, which has a row for each label"),
    "marks": (ONE_HOT.T, P, r"3 labels of shape \(3, 12\): expected 12, .*; pass the transpose of (y_true|y), which has a row for each prediction"),
    "row": (Y[None], P, r"1 labels of shape \(1, 12\): expected 12, .*; pass the transpose of (y_true|y)"),
    "all marks": (ONE_HOT.ravel(), P, r"36 labels: expected 12, .*; pass (y_true|y) of shape \(12, 3\) if it was flattened"),
    "short": (WORDS[:-1], P, r"11 labels: expected 12, one per row of (y_proba|X) of shape \(12, 3\); align the two"),
}
FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "decompose": decompose,
    "test": calibration_test,
    "sketch": lambda y, p: CalibrationSketch(3).update(y, p),
    "monitor": lambda y, p: CalibrationMonitor(3).update(y, p),
    "recalibrator": lambda y, p: TemperatureScaling().fit(p, y),
}


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("case", FITS)
def test_what_would_fit_is_said_first(case: str, function: str) -> None:
    labels, proba, words = FITS[case]
    with pytest.raises(ValueError, match=rf"^(?:y_true|y) = {words}"):
        FUNCTIONS[function](labels, proba)


def test_names_and_indexes_do_not_hide_a_transpose() -> None:
    pd = pytest.importorskip("pandas")
    index = np.arange(N) + 5
    table = pd.DataFrame(P, index, columns=list("abc"))
    labels = pd.Series(WORDS, index)
    options: dict[str, Any] = {"generator": "brier", "method": "risk", "bandwidth": 0.1}
    with pytest.raises(ValueError, match=r"^y_true = 12 labels: expected 3, .*pass the transpose of y_proba"):
        decompose(labels, table.T, **options)
    assert decompose(labels, table.T.T, **options).risk == pytest.approx(0.06, rel=1e-12)
    with pytest.raises(ValueError, match=r"^y_true = 12 labels: expected 3, one per row of y_proba_b of shape \(3, 12\); pass the transpose of y_proba_b"):
        paired_difference(WORDS, table.to_numpy(), P.T)


def test_columns_that_lack_a_class_are_not_renamed() -> None:
    pd = pytest.importorskip("pandas")
    for labels, proba in ((Y, P[:, 1:]), (WORDS, P[:, 1:]), (WORDS, pd.DataFrame(P[:, 1:], columns=["b", "c"])), (Y, P[:, 0])):
        with pytest.raises(ValueError, match=r"^y_true = .*pass a column for each class\.$"):
            decompose(labels, proba)
