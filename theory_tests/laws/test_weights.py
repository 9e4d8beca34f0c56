"""Kernel weights are a distribution, so r̂ is in the simplex; sample weights act as frequencies.

r̂_h = Σ_j W_hj y_j with W_hj = w_j k(g_h; g_j) / Σ_{l ≠ h} w_l k(g_h; g_l): the weights sum to 1, are not
negative, and W_hh = 0 if a point is left out of its own estimate. Only ratios of the w_j matter, w_j = 0 is
the absence of j, and (where no point is left out) a whole w_j is as many copies.

Source: paper, Eq. 9 and 10, with sample weights as frequencies.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from propercal.testing.strategies import simplex_points
from theory_tests.laws.populations import EPS, conditional_mean, decompose
from theory_tests.laws.samples import KERNELS, TERMS, Sample, fewer, samples

# Weights are normalised by a division and a sum, each an ulp; log k adds about |log k| of them, 1e5 at most
# (log 0 := −744 at a bandwidth of 0.01), and F at most a factor of 100.
RTOL, ATOL = 1e-9, 1e-9


def assert_equal(found: Any, expected: Any) -> None:
    for term in TERMS:
        assert getattr(found, term) == pytest.approx(getattr(expected, term), rel=RTOL, abs=ATOL), term
    for term in ("risk", "uncertainty"):
        if math.isinf(getattr(found, term)):
            continue
        np.testing.assert_allclose(found.interval(term), expected.interval(term), rtol=1e-6, atol=1e-6)


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


@fewer
@given(sample=samples(), scale=st.sampled_from((3.0, 1e-3, 1e200, 1e-200, 7e-5)))
def test_the_scale_of_weights_does_not_matter(sample: Sample, scale: float) -> None:
    scaled = {**sample.options, "sample_weight": sample.weight * scale}
    assert_equal(decompose(*sample.arguments, **scaled), decompose(*sample.arguments, **sample.options))


@fewer
@given(sample=samples(), data=st.data())
def test_weight_zero_is_absence(sample: Sample, data: st.DataObject) -> None:
    y, g = sample.arguments
    n = len(y)
    keep = np.asarray(data.draw(st.permutations([True, True, *([False] * (n - 2))])))
    weight = np.where(keep, np.maximum(sample.weight, 0.25 / n), 0.0)
    removed = {**sample.options, "sample_weight": weight[keep]}
    expected = decompose(y[keep], g[keep], **removed)
    found = decompose(y, g, **{**sample.options, "sample_weight": weight})
    assert_equal(found, expected)
    assert found.n_samples == expected.n_samples == 2


@fewer
@given(sample=samples(), counts=st.lists(st.integers(1, 3), min_size=8, max_size=8))
def test_a_whole_weight_is_as_many_copies(sample: Sample, counts: list[int]) -> None:
    y, g = sample.arguments
    times = np.asarray(counts[: len(y)])
    options = {**sample.options, "exclude_self": False}
    found = decompose(y, g, **{**options, "sample_weight": times})
    copies = decompose(np.repeat(y, times), np.repeat(g, times, axis=0), **{**options, "sample_weight": None})
    for term in TERMS:
        assert getattr(found, term) == pytest.approx(getattr(copies, term), rel=RTOL, abs=ATOL), term
