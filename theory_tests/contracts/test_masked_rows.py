"""Masked entries of NumPy are missing values: left out in rows of weight 0, and in ignored ones, as NaN is; refused in others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from propercal import (
    CalibrationSketch,
    compare_models,
    crps_decomposition,
    decompose,
    decompose_groups,
    paired_difference,
)
from propercal.recalibration import TemperatureScaling

N = 200
RNG = np.random.default_rng(0)
PROBA = RNG.dirichlet(np.ones(3), N)
CODES = np.array([RNG.choice(3, p=each) for each in PROBA])
OTHER = PROBA**0.7 / (PROBA**0.7).sum(axis=1, keepdims=True)
GROUPS = RNG.integers(0, 40, N)
OUT = np.arange(N) % 50 == 7
WEIGHT = np.where(OUT, 0.0, 1.0)
WORDS = np.array(["ant", "bee", "cat"])[CODES]
SETTINGS: dict[str, Any] = {"generator": "brier", "notion": "classwise"}
PUBLISHED: dict[str, Any] = {**SETTINGS, "method": "risk", "bandwidth": 0.1}
#: What is hidden would be another result.
WRONG = np.where(OUT[:, None], [0.9, 0.05, 0.05], PROBA)


def mask(values: Any, rows: Any = OUT) -> Any:
    return np.ma.masked_array(values, np.broadcast_to(rows.reshape(-1, *[1] * (np.ndim(values) - 1)), np.shape(values)))


def sketched(y: Any, p: Any, weight: Any) -> float:
    sketch = CalibrationSketch(3, **SETTINGS)
    sketch.update(y, p, weight)
    return float(sketch.result().risk)


FUNCTIONS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "decompose": lambda y, p, w: decompose(y, p, sample_weight=w, **PUBLISHED).risk,
    "sketch": sketched,
    "pair": lambda y, p, w: paired_difference(y, p, OTHER, sample_weight=w, term="risk", generator="brier").difference,
    "models": lambda y, p, w: compare_models(y, {"a": p, "b": OTHER}, sample_weight=w, generator="brier").models["a"].risk,
    "groups": lambda y, p, w: decompose(y, p, sample_weight=w, groups=GROUPS, **SETTINGS).risk,
    "subgroups": lambda y, p, w: decompose_groups(y, p, groups=GROUPS % 2, sample_weight=w, generator="brier").whole.risk,
    "recalibration": lambda y, p, w: TemperatureScaling().fit(p, y, sample_weight=w).temperature_,
}
KEPT = ~OUT


@pytest.mark.parametrize("name", FUNCTIONS)
def test_masked_entries_of_rows_without_weight_are_left_out(name: str) -> None:
    function = FUNCTIONS[name]
    missing = np.where(OUT[:, None], np.nan, PROBA)
    right = function(np.where(OUT, np.nan, CODES), missing, WEIGHT)
    for labels in (mask(CODES), mask(CODES.astype(float))):
        assert function(labels, mask(WRONG), WEIGHT) == pytest.approx(right, rel=1e-12)
    assert function(mask(WORDS), mask(WRONG), WEIGHT) == pytest.approx(right, rel=1e-12)
    for labels, values in ((mask(CODES, np.arange(N) == 5), PROBA), (CODES, mask(PROBA, np.arange(N) == 5))):
        with pytest.raises(ValueError, match=r" at row 5\b.*drop"):
            function(labels, values, WEIGHT)


def test_masked_entries_of_ignored_rows_are_left_out() -> None:
    right = decompose(CODES[KEPT], PROBA[KEPT], **PUBLISHED).risk
    ignored = np.where(OUT, -1, CODES)
    assert decompose(ignored, mask(WRONG), ignore_index=-1, **PUBLISHED).risk == pytest.approx(right, rel=1e-12)
    with pytest.raises(ValueError, match=r"^y_proba = masked entries at row 5\b"):
        decompose(ignored, mask(PROBA, np.arange(N) == 5), ignore_index=-1, **PUBLISHED)


def test_masked_groups_of_rows_without_weight_are_left_out() -> None:
    right = decompose(CODES, PROBA, groups=GROUPS, sample_weight=WEIGHT, **SETTINGS)
    found = decompose(CODES, PROBA, groups=mask(GROUPS), sample_weight=WEIGHT, **SETTINGS)
    assert found.standard_errors == pytest.approx(right.standard_errors)
    assert found.n_groups == right.n_groups
    with pytest.raises(ValueError, match=r"^groups = missing values at row 5: expected a group for each row"):
        decompose(CODES, PROBA, groups=mask(GROUPS, np.arange(N) == 5), sample_weight=WEIGHT, **SETTINGS)
    by_group = decompose_groups(CODES, PROBA, groups=mask(GROUPS % 2), sample_weight=WEIGHT, generator="brier")
    assert by_group[0].n_samples == int((KEPT & (GROUPS % 2 == 0)).sum())


def test_masked_forecasts_are_left_out_too() -> None:
    members, outcomes = RNG.normal(size=(N, 5)), RNG.normal(size=N)
    right = crps_decomposition(outcomes[KEPT], members[KEPT]).risk
    assert crps_decomposition(mask(outcomes), mask(members), sample_weight=WEIGHT).risk == pytest.approx(right, rel=1e-12)
    with pytest.raises(ValueError, match=r"^ensemble = (masked entries|nan) at row 5\b"):
        crps_decomposition(outcomes, mask(members, np.arange(N) == 5), sample_weight=WEIGHT)
    with pytest.raises(ValueError, match=r"^sample_weight = masked entries at rows 7, 57"):
        decompose(CODES, PROBA, sample_weight=mask(WEIGHT), **PUBLISHED)
