"""Calibrated predictions whose labels depend on each other, in simulations.

- The debiased estimate has the mean 0: V is right, though labels of a group say the same, or half of it.
- The test rejects as often as its level says; with rows taken for independent it does so nearly always.

200 groups of 5 rows. Limits are those that a right estimate, or test, passes with a probability of .999 or more, by
the normal and the binomial distribution.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import propercal
from propercal.simulation import TemperatureScaledSimplex

N_GROUPS, SIZE = 200, 5
GROUPS = np.repeat(np.arange(N_GROUPS), SIZE)


def calibrated(kind: str, k: int, seed: int) -> tuple[Any, Any]:
    """Labels and calibrated predictions: repeated rows, or groups of labels with correlation ½."""
    rng = np.random.default_rng([seed, k])
    model = TemperatureScaledSimplex(k)
    if kind == "repeated":
        y, _, true = model.sample(N_GROUPS, random_state=rng)
        return y[GROUPS], true[GROUPS]
    _, _, true = model.sample(N_GROUPS if kind == "same" else len(GROUPS), random_state=rng)
    true = true[GROUPS] if kind == "same" else true
    # Two rows of a group have the same random number with probability ½.
    shared = rng.random(len(GROUPS)) < np.sqrt(0.5)
    number = np.where(shared, rng.random(N_GROUPS)[GROUPS], rng.random(len(GROUPS)))
    return (number[:, None] > true.cumsum(axis=1)[:, :-1]).sum(axis=1), true


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*only the kernel sees", "ignore:.*seem to repeat")
@pytest.mark.parametrize("kind", ["repeated", "same"])
def test_the_estimate_of_calibrated_predictions_has_the_mean_0(kind: str) -> None:
    n = 24
    found, covered = [], 0
    for seed in range(n):
        y, p = calibrated(kind, 2, seed)
        result = propercal.decompose(y, p, generator="brier", groups=GROUPS)
        found.append(float(result.calibration_error))
        covered += result.interval("calibration_error")[0] == 0
    values = np.array(found)
    assert abs(values.mean()) < 4 * values.std(ddof=1) / np.sqrt(n)
    # Of 24 draws that are covered with probability .95 fewer than 18 are with probability 1e-4.
    assert covered >= 18


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*seem to repeat")
@pytest.mark.parametrize("kind", ["repeated", "same", "mixed"])
@pytest.mark.parametrize("k", [2, 3])
def test_the_level_is_kept_where_labels_are_dependent(kind: str, k: int) -> None:
    n = 60
    data = [calibrated(kind, k, seed) for seed in range(n)]
    pvalues = [propercal.calibration_test(y, p, n_resamples=99, groups=GROUPS, random_state=0).pvalue for y, p in data]
    # More than 11 of 60 at a level of .05 have a probability of 4e-5, more than 25 at .2 one of 3e-5.
    assert np.sum(np.array(pvalues) <= 0.05) <= 11
    assert np.sum(np.array(pvalues) <= 0.2) <= 25


@pytest.mark.filterwarnings("ignore:.*seem to repeat")
def test_without_groups_the_level_is_lost() -> None:
    data = [calibrated("repeated", 2, seed) for seed in range(20)]
    rejected = [propercal.calibration_test(y, p, n_resamples=99, random_state=0).pvalue <= 0.05 for y, p in data]
    assert np.mean(rejected) > 0.5


def test_miscalibration_is_seen_in_groups() -> None:
    """Power: 200 groups of predictions that are too sure."""
    rejected = 0
    for seed in range(20):
        y, true = calibrated("mixed", 2, seed)
        sure = true**3 / (true**3).sum(axis=1, keepdims=True)
        rejected += propercal.calibration_test(y, sure, n_resamples=99, groups=GROUPS, random_state=0).pvalue <= 0.05
    assert rejected >= 18
