"""Sums over the points within reach are sums over all points, in the time of the former."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from propercal._array import floored_exp
from propercal._kernels.kernels import HEADROOM, DirichletKernel
from propercal._kernels.panels import make_panels
from propercal.sketch import kernel_sums as sums
from propercal.sketch.weighted_points import WeightedPoints

KERNEL = DirichletKernel()


def weighted_points(log_odds: Any, single: Any, gamma: float) -> WeightedPoints:
    log_prob = -np.stack([np.logaddexp(0, log_odds), np.logaddexp(0, -log_odds)], axis=1)
    rng = np.random.default_rng(0)
    weights = np.where(single[:, None], np.eye(2)[rng.integers(0, 2, len(single))], 1.0)
    weights *= np.where(single, 1.0, 10 ** rng.uniform(-2, 6, len(single)))[:, None]
    return WeightedPoints(np.exp(log_prob), log_prob, weights, single, 16, gamma)


def dense(mass: WeightedPoints, gamma: float) -> Any:
    """Exponents between all points, without those of a single prediction at itself."""
    features = KERNEL.features(mass.prob, mass.log_prob, gamma)
    exponents = np.asarray(features.target @ features.source - HEADROOM)
    exponents[np.diag(mass.single)] = -np.inf
    return exponents


@st.composite
def masses(draw: st.DrawFn) -> tuple[WeightedPoints, float]:
    n = draw(st.integers(1, 300))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    gamma = 10 ** draw(st.floats(-6, 1))
    log_odds = {
        "spread": rng.logistic(size=n),
        "ends": rng.normal(-8, 60, n),
        "ties": rng.choice([-3.0, 0.0, 2.0], n),
        # Apart by some of what a kernel reaches.
        "apart": np.cumsum(rng.uniform(0, 60, n)) * np.sqrt(gamma),
        "far": rng.choice([-700.0, -5.0, -1.0, 6.0], n) + rng.normal(0, 1e-3, n),
    }[draw(st.sampled_from(["spread", "ends", "ties", "apart", "far"]))]
    single = rng.uniform(size=n) < draw(st.sampled_from([0.0, 0.5, 1.0]))
    return weighted_points(log_odds, single, gamma), gamma * draw(st.sampled_from([1, 64]))


@pytest.mark.parametrize("floor", [-160.0, -690.0])
@settings(max_examples=60)
@given(given_mass=masses())
def test_sums_are_those_over_all_points(floor: float, given_mass: tuple[WeightedPoints, float]) -> None:
    mass, gamma = given_mass
    exponents = dense(mass, gamma)
    # A weight of its own for each source shows each value of the kernel.
    each = np.eye(len(mass.prob))
    values, squares, found = (
        *sums.kernel_sums(mass, KERNEL, gamma, floor, each, each),
        *sums.kernel_sums(mass, KERNEL, gamma, floor, mass.weights),
    )
    largest = exponents.max(axis=1, keepdims=True)
    some = np.flatnonzero(largest > -np.inf)
    assert (np.delete(values, some, axis=0) == 0).all()
    relative = (exponents - np.where(largest > -np.inf, largest, 0.0))[some]
    # Rounding of the exponents, which grow with 1 / γ and, far apart, with themselves.
    error = 1e-11 + 1e-14 / gamma + 1e-13 * np.abs(exponents[some])
    shares = values[some] / values[some].max(axis=1, keepdims=True)
    near = relative > floor + 2
    assert (np.abs(np.log(shares[near]) - relative[near]) < error[near]).all()
    assert (shares[~near] <= np.exp(floor + 3)).all()
    assert (values[~np.eye(len(values), dtype=bool)] >= 0.999 * np.exp(floor)).all()
    # Both powers are scaled alike, so that effective numbers of points are what they are.
    visible = values > 1e-100
    np.testing.assert_allclose(squares[visible], values[visible] ** 2, rtol=1e-12)
    np.testing.assert_allclose(found, values @ mass.weights, rtol=1e-12)
    # At nodes nothing is scaled, since they are themselves among the sources.
    nodes = ~mass.single
    np.testing.assert_allclose(np.diag(values)[nodes], KERNEL.own(2), rtol=1e-9 + 1e-13 / gamma)


@pytest.mark.parametrize("n", [11, 79])
def test_no_point_is_out_of_sight_of_another(n: int) -> None:
    """Also where the first row and each sixteenth after it see all of their block."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        log_odds = np.cumsum(rng.uniform(0, 60, n)) * np.sqrt(1e-3)
        mass = weighted_points(log_odds, rng.uniform(size=n) < 0.5 * (seed % 2), 1e-3)
        (values,) = sums.kernel_sums(mass, KERNEL, 1e-3, -690.0, np.eye(n))
        assert (values[~np.eye(n, dtype=bool)] >= 0.999 * np.exp(-690.0)).all()


def test_only_sources_within_reach_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []

    def counting(x: Any, *given: Any, **options: Any) -> Any:
        looked.append(x.size)
        return floored_exp(x, *given, **options)

    monkeypatch.setattr(sums, "floored_exp", counting)
    found = []
    for gamma in (1e-4, 1e-6):
        looked.clear()
        panels = make_panels(gamma / 4, 16)
        prob, log_prob = panels.nodes(np.arange(panels.n_panels))
        mass = WeightedPoints(prob, log_prob, np.ones_like(prob), np.zeros(len(prob), bool), 16, gamma)
        sums.kernel_sums(mass, KERNEL, gamma, -690.0, mass.weights)
        found.append(sum(looked) / len(prob))
    # For each target as many, however narrow the kernel is.
    assert found[1] < 1.3 * found[0]
    assert found[1] < 2000
