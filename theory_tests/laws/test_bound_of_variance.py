"""The correction V is at most 1.5 times what recalibration moves, where predictions may stay as they are.

Source: the spread around a mean is the least around any point (book, derivations/debiasing.md).
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest

from propercal import decompose
from propercal._methods.terms import OneStepRows
from propercal._methods.variance import bounded
from propercal.generators import Brier, Log, as_generator
from propercal.recalibration import TemperatureScaling
from propercal.simulation import MiscalibratedSimplex


def rows_of(n: int, recalibrated: Any, correction: Any) -> OneStepRows:
    rng = np.random.default_rng(0)
    loss = rng.uniform(0, 1, n)
    return OneStepRows(loss - correction, correction, loss, np.zeros((n, 6)), recalibrated)


@pytest.mark.parametrize("generator", [Log(), Brier()], ids=repr)
def test_v_is_scaled_to_the_bound_and_no_further(generator: Any) -> None:
    rng = np.random.default_rng(1)
    n = 50
    prob, moved = rng.dirichlet([2.0] * 3, (2, n))
    weight = rng.dirichlet([1.0] * n)
    correction = rng.uniform(0, 1, n)
    bound = 1.5 * weight @ generator.divergence(prob, moved)
    for times in (0.5, 0.999, 1.001, 4.0):
        own = correction * times * bound / (weight @ correction)
        rows = rows_of(n, moved, own)
        found = bounded(rows, generator, prob, weight)
        assert weight @ found.correction == pytest.approx(min(times, 1.0) * bound)
        np.testing.assert_allclose(found.correction, own * min(1.0, 1 / times))
        # Losses without V are as they were, and so is what the kernel saves.
        np.testing.assert_allclose(found.loss + found.correction, rows.loss + rows.correction)
        np.testing.assert_allclose(found.base_loss - found.loss, rows.base_loss - rows.loss)


def test_what_does_not_move_has_no_variance_and_what_is_unbounded_no_bound() -> None:
    n = 20
    prob = np.random.default_rng(2).dirichlet([2.0] * 3, n)
    correction = np.full(n, 0.1)
    still = bounded(rows_of(n, prob, correction), Log(), prob, np.full(n, 1 / n))
    assert np.abs(still.correction).max() < 1e-12
    certain = np.eye(3)[np.arange(n) % 3]
    # D_log is infinite where what was possible is made impossible.
    rows = rows_of(n, certain, correction)
    assert bounded(rows, Log(), prob, np.full(n, 1 / n)) is rows


def sample(k: int, kind: str, n: int, seed: int) -> tuple[Any, Any]:
    y, g, _ = MiscalibratedSimplex(k, kind, 1.0).sample(n, np.random.SeedSequence(seed))
    return y, g


@pytest.mark.parametrize("name", ["log", "brier"])
def test_the_correction_is_bounded_by_what_recalibration_moves(name: str) -> None:
    generator, reached = as_generator(name), 0
    for seed in range(6):
        y, g = sample(4, "identity", 300, seed)
        found = decompose(y, g, generator=name)
        kept = found._kept_rows
        assert kept is not None
        assert found.lower_bound is not None
        spread = found.calibration_error - found.lower_bound
        bound = 1.5 * float(np.mean(generator.divergence(g, kept.recalibrated)))
        assert spread <= bound * (1 + 1e-9)
        reached += math.isclose(spread, bound, rel_tol=1e-9)
    assert reached > 0
    # Where predictions have to move, what they move by is far above their variance.
    y, g = sample(4, "temperature", 300, 0)
    found = decompose(y, g**2 / (g**2).sum(axis=1, keepdims=True), generator=name)
    assert found.lower_bound is not None
    assert found.calibration_error - found.lower_bound < 0.5 * found.lower_bound
    # A family by itself is not chosen, and its jackknife is that of the theorem at calibration.
    above = []
    for seed in range(12):
        y, g = sample(4, "identity", 300, seed)
        alone = decompose(y, g, generator=name, recalibrator=TemperatureScaling(), kernel=None)
        moved = alone._kept_rows.recalibrated  # type: ignore[union-attr]
        above.append(alone.calibration_error - alone.lower_bound > 1.5 * float(np.mean(generator.divergence(g, moved))))
    assert any(above)


@pytest.mark.slow
@pytest.mark.parametrize(("k", "n"), [(3, 300), (10, 300), (5, 1000)])
def test_calibrated_predictions_have_no_error_on_average(k: int, n: int) -> None:
    """With the jackknife as it is, the mean of ten classes was 4 of its standard errors above 0."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = np.array([[each.calibration_error for each in decompose(*sample(k, "identity", n, seed), generator=["log", "brier"])] for seed in range(60)])
    z = found.mean(axis=0) / (found.std(axis=0, ddof=1) / math.sqrt(len(found)))
    assert (np.abs(z) < 3).all(), z
