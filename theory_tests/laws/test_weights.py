"""Kernel weights are a distribution, so r̂ is in the simplex.

r̂_h = Σ_j W_hj y_j with W_hj = w_j k(g_h; g_j) / Σ_{l ≠ h} w_l k(g_h; g_l): the weights sum to 1, are not
negative, and W_hh = 0 if a point is left out of its own estimate. That sample
weights act as frequencies is in contracts/test_transforms.py.

Source: paper, Eq. 9 and 10, with sample weights as frequencies.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import propercal
from propercal.testing.strategies import simplex_points
from theory_tests.instances import KERNELS, P_HARD, Y_HARD
from theory_tests.laws.populations import EPS, conditional_mean
from theory_tests.laws.samples import Sample, fewer, samples

# Weights are normalised by a division and a sum, each an ulp; log k adds about |log k| of them, 1e5 at most
# (log 0 := −744 at a bandwidth of 0.01), and F at most a factor of 100.
RTOL, ATOL = 1e-9, 1e-9


@pytest.mark.parametrize("kernel", KERNELS)
@fewer
@given(data=st.data(), exclude_self=st.booleans(), gamma=st.sampled_from((0.1, 0.001, 1.0)))
def test_weights_sum_to_one(kernel: str, data: st.DataObject, exclude_self: bool, gamma: float) -> None:
    # As many classes as samples, each label once: r̂ is then the matrix of weights itself.
    n = data.draw(st.integers(2, 6))
    g = np.asarray(data.draw(st.lists(simplex_points(n), min_size=n, max_size=n)))
    w = np.asarray(data.draw(st.lists(st.sampled_from((1.0, 0.5, 3.0)), min_size=n, max_size=n)))
    weights = conditional_mean(
        np.arange(n), g, kernel=kernel, bandwidth=gamma, exclude_self=exclude_self, sample_weight=w
    )
    assert (weights >= 0).all()
    np.testing.assert_allclose(weights.sum(axis=1), 1, rtol=1e-14)
    if exclude_self:
        assert (np.diagonal(weights) == 0).all()
    else:
        assert (np.diagonal(weights) > 0).all() or kernel == "dirichlet"
    # Two sources at one point differ by their sample weights alone, up to ulps of log k (745 / γ at most).
    rel = 10 * EPS * 745 / gamma
    for i, j in np.argwhere((g[:, None] == g[None, :]).all(axis=2)):
        for h in set(range(n)) - {i, j}:
            assert weights[h, i] * w[j] == pytest.approx(weights[h, j] * w[i], rel=rel, abs=1e-290)


@fewer
@given(sample=samples(notions=("canonical",)))
def test_estimates_are_in_the_simplex(sample: Sample) -> None:
    y, g = sample.arguments
    r = conditional_mean(y, g, sample_weight=sample.data.sample_weight, **sample.settings)
    assert (r >= 0).all()
    np.testing.assert_allclose(r.sum(axis=1), 1, rtol=1e-14)
    w = np.ones(len(y)) if sample.data.sample_weight is None else sample.data.sample_weight
    absent = sorted(set(range(g.shape[1])) - set(y[w > 0].tolist()))
    assert (r[:, absent] == 0).all()


@fewer
@given(sample=samples(kernels=("dirichlet", "uniform-bins")))
def test_leaving_a_point_out_is_giving_it_no_weight(sample: Sample) -> None:
    # Not for bins of equal weight, whose edges move with the weights.
    y, g = sample.arguments
    settings = {**sample.settings, "exclude_self": True}
    r = conditional_mean(y, g, sample_weight=sample.weight, **settings)
    for h in range(len(y)):
        others = np.where(np.arange(len(y)) == h, 0.0, sample.weight)
        if (others > 0).sum() >= 2:
            without = conditional_mean(y, g, sample_weight=others, **settings)
            np.testing.assert_allclose(r[h], without[h], rtol=RTOL, atol=ATOL)


@pytest.mark.filterwarnings("ignore:bandwidth = .* alone")
@pytest.mark.parametrize("kernel", ["uniform-bins", "quantile-bins"])
def test_a_row_of_weight_zero_alone_in_its_bin_has_an_estimate(kernel: str) -> None:
    y, p, w = np.array([0, 1, 1]), np.array([0.1, 0.12, 0.9]), np.array([1.0, 1.0, 0.0])
    r = conditional_mean(y, p, kernel=kernel, bandwidth=0.1, sample_weight=w, exclude_self=False)
    np.testing.assert_allclose(r.sum(axis=1), 1)


@fewer
@given(sample=samples())
def test_one_class_is_certain(sample: Sample) -> None:
    y, g = np.full_like(sample.data.y_true, 1), sample.data.y_proba
    settings = {**sample.settings, "notion": "canonical"}
    r = conditional_mean(y, g, sample_weight=sample.data.sample_weight, **settings)
    np.testing.assert_array_equal(r, np.eye(g.shape[1])[y])


def test_a_dominating_weight_leaves_the_others_their_digits() -> None:
    """At the heavy row only the others count: its r̂ does not depend on how heavy it is."""
    y, p = (Y_HARD == 0).astype(int), np.full(len(Y_HARD), 0.3)
    light = np.r_[1.0, np.random.default_rng(1).uniform(1, 2, len(Y_HARD) - 1)]
    heavy = np.r_[1e18, light[1:]]
    for kernel in ("uniform-bins", "dirichlet"):
        found = [
            propercal.conditional_mean(y, p, kernel=kernel, bandwidth=0.1, sample_weight=w)[0, 1]
            for w in (light, heavy)
        ]
        share = (light[1:] * y[1:]).sum() / light[1:].sum()
        assert found == pytest.approx([share, share], rel=1e-12)


def test_a_dominating_weight_and_the_likelihood() -> None:
    """With all weight on one row, its log density decides, however heavy it is."""
    gammas = [
        propercal.select_bandwidth(
            Y_HARD, P_HARD, sample_weight=np.r_[weight, np.ones(len(Y_HARD) - 1)], criterion="likelihood"
        )
        for weight in (1e12, 1e14, 1e20)
    ]
    assert gammas[0] == gammas[1] == gammas[2] > 1e-4


@pytest.mark.filterwarnings("ignore:sample_weight leaves an effective number")
@pytest.mark.parametrize("function", [propercal.decompose, propercal.calibration_test])
def test_a_weight_that_vanishes_beside_another_is_none_and_is_said(function: Any) -> None:
    rng = np.random.default_rng(0)
    y, p = rng.integers(0, 3, 80), rng.dirichlet(np.ones(3), 80)
    weight = np.where(np.arange(80) < 50, 1e300, 1e-300)
    with pytest.warns(UserWarning, match="sample_weight at rows 50, 51, .* counted as 0"):
        found = function(y, p, sample_weight=weight)
    alone = function(y[:50], p[:50])
    number = "calibration_error" if function is propercal.decompose else "pvalue"
    assert getattr(found, number) == pytest.approx(getattr(alone, number), rel=1e-9)
    with pytest.raises(ValueError, match="sample_weight = 1 positive weights"), pytest.warns(UserWarning, match="counted as 0"):
        function(y, p, sample_weight=np.where(np.arange(80) < 1, 1e300, 1e-300))
