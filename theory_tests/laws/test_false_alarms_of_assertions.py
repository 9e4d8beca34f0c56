"""Of test sets whose predictions are calibrated, `assert_calibrated` fails on alpha of them at most.

At every n, since labels that are drawn from the predictions are exchangeable with those that occurred
(:func:`propercal.calibration_test`); for subgroups at once by the maxima of step-down tests.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from propercal.testing import assert_calibrated

RUNS, ALPHA = 200, 0.1


def failures(run: Callable[[np.random.Generator], Any], runs: int = RUNS) -> int:
    """How many of the runs raise."""
    found = 0
    for seed in range(runs):
        try:
            run(np.random.default_rng(seed))
        except AssertionError:
            found += 1
    return found


def calibrated(rng: np.random.Generator, n: int, k: int) -> tuple[Any, Any]:
    p = rng.dirichlet(np.ones(k), n)
    return (rng.random((n, 1)) > p.cumsum(1)[:, :-1]).sum(1), p


@pytest.mark.parametrize("options", [{}, {"subgroups": np.arange(18) % 3}], ids=["all rows", "subgroups"])
def test_false_alarms_are_no_more_than_alpha(options: dict[str, Any]) -> None:
    """Beyond the bound with a probability of 1e-6, if their rate is alpha. (So few rows that a failure takes no decomposition.)"""

    def run(rng: np.random.Generator) -> None:
        assert_calibrated(*calibrated(rng, 18, 2), alpha=ALPHA, n_resamples=19, **options)

    found = failures(run)
    assert found <= binom.isf(1e-6, RUNS, ALPHA)
    # The bound is no idle one: the rate is just alpha, as 20 alpha is a whole number.
    assert found >= binom.ppf(1e-6, RUNS, ALPHA)


def test_predictions_that_are_off_fail() -> None:
    def run(rng: np.random.Generator) -> None:
        y, p = calibrated(rng, 200, 2)
        assert_calibrated(y, p**3 / (p**3).sum(1, keepdims=True), alpha=ALPHA, n_resamples=19)

    assert failures(run, 4) == 4
