"""The order of samples and of classes changes nothing but order.

A loss that tells classes apart, pᵀAp, has its matrix permuted with them. Excluded, because they choose an
order themselves: the top label among ties, and for two classes a point on the edge of a bin, which is
half-open, so that p and 1 − p may fall to different sides.

Source: paper, Eq. 7, 9 and 13 (sums over samples, and over classes).
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from propercal.generators import BregmanGenerator, Brier, Log, Quadratic, Spherical, Tsallis
from theory_tests.laws.populations import EPS, conditional_mean, decompose
from theory_tests.laws.samples import TERMS, Sample, fewer, samples

# A sum in another order: log k carries |log k| ulps, up to 1e5 of them (log 0 := −744 at a bandwidth of
# 0.01), and F at most a factor of 100.
RTOL, ATOL = 1e-9, 1e-9


@fewer
@given(sample=samples(), data=st.data(), method=st.sampled_from(("risk", "direct")))
def test_samples(sample: Sample, data: st.DataObject, method: str) -> None:
    y, g = sample.arguments
    order = np.asarray(data.draw(st.permutations(range(len(y)))))
    weight = None if sample.data.sample_weight is None else sample.data.sample_weight[order]
    expected = decompose(y, g, method=method, **sample.options)
    found = decompose(y[order], g[order], method=method, **{**sample.options, "sample_weight": weight})
    atol = ATOL + 100 * EPS * sample.steepness(sample.generator)
    for term in TERMS:
        assert getattr(found, term) == pytest.approx(getattr(expected, term), rel=RTOL, abs=atol), term
    r = conditional_mean(y, g, sample_weight=sample.data.sample_weight, **sample.settings)
    permuted = conditional_mean(y[order], g[order], sample_weight=weight, **sample.settings)
    np.testing.assert_allclose(permuted, r[order], rtol=RTOL, atol=ATOL)


@fewer
@given(
    sample=samples(),
    data=st.data(),
    symmetric=st.sampled_from((Log(), Brier(), Spherical(), Tsallis(1.5), 2 * Log() + Brier())),
    method=st.sampled_from(("risk", "direct")),
)
def test_classes(sample: Sample, data: st.DataObject, symmetric: BregmanGenerator, method: str) -> None:
    y, g = sample.arguments
    k = g.shape[1]
    notion, kernel = sample.settings["notion"], sample.settings["kernel"]
    top = np.sort(g, axis=1)
    assume(notion != "top-label" or (top[:, -1] > top[:, -2]).all())
    assume(kernel == "dirichlet" or (k > 2 and notion == "canonical"))
    order = np.asarray(data.draw(st.permutations(range(k))))
    place = np.argsort(order)
    generator = permuted = symmetric
    if notion == "canonical" and isinstance(sample.generator, Quadratic):
        matrix = np.asarray(sample.generator.matrix)
        generator, permuted = sample.generator, Quadratic(matrix[np.ix_(order, order)])
    expected = decompose(y, g, method=method, **{**sample.options, "generator": generator})
    found = decompose(place[y], g[:, order], method=method, **{**sample.options, "generator": permuted})
    atol = ATOL + 100 * EPS * sample.steepness(generator)
    for term in TERMS:
        assert getattr(found, term) == pytest.approx(getattr(expected, term), rel=RTOL, abs=atol), term
    r = conditional_mean(y, g, sample_weight=sample.data.sample_weight, **sample.settings)
    other = conditional_mean(place[y], g[:, order], sample_weight=sample.data.sample_weight, **sample.settings)
    np.testing.assert_allclose(other, r if notion == "top-label" else r[:, order], rtol=RTOL, atol=ATOL)


def test_names_of_classes_are_a_permutation_too() -> None:
    g = np.array([[0.2, 0.5, 0.3], [0.6, 0.3, 0.1], [0.1, 0.1, 0.8], [0.3, 0.4, 0.3]])
    y = np.array([1, 0, 2, 2])
    named = np.array(["b", "c", "a"])[y]
    expected = decompose(y, g, bandwidth=0.1)
    found = decompose(named, g, bandwidth=0.1, labels=["b", "c", "a"])
    alphabetical = decompose(named, g[:, [2, 0, 1]], bandwidth=0.1)
    for term in TERMS:
        assert getattr(found, term) == getattr(expected, term)
        assert getattr(alphabetical, term) == pytest.approx(getattr(expected, term), rel=1e-12)
