"""Numbers of diagrams are those of published packages, where these are installed."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import xarray as xr

import propercal


@contextmanager
def theirs() -> Iterator[None]:
    """What other packages warn of is theirs, where it points at them; what ours warns of is an error."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"(?!propercal|theory_tests)")
        yield


def theirs_of(name: str) -> Any:
    with theirs():
        return pytest.importorskip(name)


def sample(n: int = 400) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    p = np.concatenate([rng.uniform(0.02, 0.98, n // 2), rng.integers(1, 10, n - n // 2) / 10])
    y = (rng.random(n) < p**1.4).astype(int)
    return y, p, rng.uniform(0.5, 2, n)


@pytest.mark.parametrize("weighted", [False, True])
def test_isotonic_decompositions_of_model_diagnostics(weighted: bool) -> None:
    scoring = theirs_of("model_diagnostics.scoring")
    y, p, weight = sample()
    for generator, loss, factor in (("brier", scoring.SquaredError(), 2), ("log", scoring.LogLoss(), 1)):
        with theirs():
            other = scoring.decompose(y, p, weights=weight if weighted else None, scoring_function=loss).to_dict(as_series=False)
        own = propercal.isotonic_decomposition(y, p, generator=generator, sample_weight=weight if weighted else None)
        for part in ("score", "miscalibration", "discrimination", "uncertainty"):
            assert own[part].item() == pytest.approx(factor * other[part][0], abs=1e-12), (generator, part)


def test_biases_in_bins_of_model_diagnostics() -> None:
    """Its bias is the mean of p − y, by quantile bins of p, where these are the same rows."""
    calibration = theirs_of("model_diagnostics.calibration")
    y, p, _ = sample()
    p = p[:200]
    y = y[:200]
    with theirs():
        other = calibration.compute_bias(y, p, feature=p, n_bins=8, bin_method="quantile").to_dict(as_series=False)
    own = propercal.reliability(y, p, curve="quantile-bins", n_bins=8, n_resamples=19)
    np.testing.assert_array_equal(other["bias_count"], own.bin_count)
    np.testing.assert_allclose(other["bias_mean"], own.bin_prediction - own.bin_frequency, atol=1e-12)


def test_isotonic_fits_and_murphy_scores_of_scores() -> None:
    """Its isotonic fit is the curve; its Murphy score that of a threshold between predictions."""
    other = theirs_of("scores.probability")
    y, p, _ = sample()
    own = propercal.reliability(y, p, n_resamples=19)
    with theirs():
        fitted = other.isotonic_fit(p, y.astype(float))
    np.testing.assert_array_equal(fitted["fcst_sorted"], own.prediction)
    np.testing.assert_allclose(fitted["regression_values"], own.curve, atol=1e-12)
    at = np.array([0.013, 0.171, 0.5003, 0.87])
    as_array = [xr.DataArray(x, dims="row") for x in (p, y.astype(float))]
    with theirs():
        murphy = other.murphy_score(*as_array, thetas=at, functional="expectile", alpha=0.5)["total"]
    np.testing.assert_allclose(propercal.murphy(y, p, thresholds=at).score.values[0], 2 * murphy.values.ravel(), atol=1e-12)


def test_isotonic_curves_of_arviz_stats() -> None:
    """Without ties, since it orders equal predictions by chance."""
    helper = theirs_of("arviz_stats.helper_stats")
    y, p, _ = sample()
    y, p = y[:200], p[:200]
    with theirs():
        curve, at, *_ = helper._isotonic_fit(p, y.astype(float), 0.9, False, y[None, :].astype(float), None)
    own = propercal.reliability(y, p, n_resamples=19)
    np.testing.assert_array_equal(at, own.prediction)
    np.testing.assert_allclose(curve, own.curve, atol=1e-12)
