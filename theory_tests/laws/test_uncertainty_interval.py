"""Intervals of the uncertainty −F(ȳ) cover it, though its estimate is biased to second order."""

from __future__ import annotations

import numpy as np
import pytest

from theory_tests.instances import P_HARD, Y_HARD, by_risk


@pytest.mark.slow
@pytest.mark.parametrize("k", [2, 10, 50])
def test_the_interval_of_the_uncertainty_covers(k: int) -> None:
    """−F of the mean label is biased by (k − 1)/2n for the log loss; its interval is not.

    400 balanced samples: a 95 % interval that covers less than 90 % has probability below 1e-4.
    It may cover more where classes are balanced, since the first-order variance then vanishes.
    """
    n, truth, covered = 500, np.log(k), 0
    rng = np.random.default_rng(5)
    p = np.full((n, k), 1 / k)
    for _ in range(400):
        y = rng.integers(0, k, n)
        low, high = by_risk(y, p, kernel="uniform-bins", bandwidth=1.0, exclude_self=False).interval("uncertainty")
        covered += low <= truth <= high
    assert covered >= 360


def test_the_interval_of_the_uncertainty_is_centred_for_weights() -> None:
    """The jackknife of two classes under the Brier score: E[−F(ȳ)] = truth (1 − Σ w²)."""
    y, w = (Y_HARD == 0).astype(int), np.random.default_rng(1).uniform(0, 1, len(Y_HARD))
    found = by_risk(y, P_HARD[:, 0], generator="brier", bandwidth=0.1, sample_weight=w)
    v = w / w.sum()
    centre = sum(found.interval("uncertainty")) / 2
    # −F is 2 ȳ (1 − ȳ); the exact plug-in bias is −2 Σ w² r (1 − r), estimated by
    # −Σ w²/(1 − w) |e − ȳ|², with |e − ȳ|² = 2 (y − ȳ)².
    mean = v @ y
    assert centre == pytest.approx(2 * mean * (1 - mean) + np.sum(v**2 / (1 - v) * 2 * (y - mean) ** 2), rel=1e-10)
