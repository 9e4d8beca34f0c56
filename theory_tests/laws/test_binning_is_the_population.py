"""Bins that hold one distinct prediction each turn a weighted sample into its finite population.

With every (prediction, label) cell of a joint table as a row of that weight, nothing left out, r̂ is
E[Y | g] exactly, so both estimators are exact too: direct and risk agree with each other and with sums over
the table.

Source: paper, section 4, the binning kernel, with section 3 for the population.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from propercal._kernels.bins import _mid_rank
from propercal.generators import BregmanGenerator
from propercal.testing.strategies import generators, joint_tables
from theory_tests.instances import NOTIONS, TERMS
from theory_tests.laws.populations import Population, conditional_mean, decompose
from theory_tests.laws.samples import fewer

# Predictions are whole eighths, and a sixteenth has at most one of them, 1 included.
BANDWIDTH = 1 / 16


def grid(k: int) -> list[tuple[float, ...]]:
    return [tuple(i / 8 for i in p) for p in itertools.product(range(9), repeat=k) if sum(p) == 8]


@st.composite
def on_a_grid(draw: st.DrawFn, notion: str) -> tuple[BregmanGenerator, Population]:
    k = draw(st.integers(2, 3))
    joint = draw(joint_tables(k, min_predictions=2))
    m = len(joint)
    points = draw(st.lists(st.sampled_from(grid(k)), min_size=m, max_size=m, unique=True))
    generator = draw(generators(n_classes=k if notion == "canonical" else 2, finite_at_vertices=True))
    return generator, Population(joint, np.asarray(points))


def simpler(population: Population, notion: str) -> list[Population]:
    if notion == "canonical":
        return [population]
    if notion == "top-label":
        return [population.top_label()]
    return [population.one_vs_rest(i) for i in range(population.joint.shape[1])]


@pytest.mark.parametrize("notion", NOTIONS)
@fewer
@given(data=st.data(), method=st.sampled_from(("risk", "direct")))
def test_every_term_is_that_of_the_population(notion: str, data: st.DataObject, method: str) -> None:
    generator, population = data.draw(on_a_grid(notion))
    cells = np.argwhere(population.joint > 0)
    assume(len(cells) >= 2)
    y, g = cells[:, 1], population.prediction[cells[:, 0]]
    settings = {
        "sample_weight": population.joint[tuple(cells.T)], "notion": notion, "kernel": "uniform-bins",
        "bandwidth": BANDWIDTH, "exclude_self": False,
    }
    found = decompose(y, g, generator=generator, method=method, **settings)
    parts = simpler(population, notion)
    for term in TERMS:
        expected = float(np.mean([getattr(part, term)(generator) for part in parts]))
        # Ulps of r̂, amplified by at most ∇F: 1e3 where a grid point is 1/8 and A has entries of 50.
        assert getattr(found, term) == pytest.approx(expected, rel=1e-12, abs=1e-12), term
    if notion == "canonical":
        r = conditional_mean(y, g, **settings)
        expected_r = population.joint[cells[:, 0]] / population.joint.sum(axis=1)[cells[:, 0], None]
        np.testing.assert_allclose(r, expected_r, rtol=1e-14)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=12), st.data())
def test_ranks_of_mirrored_values_are_mirrored_ranks(values: list[int], data: st.DataObject) -> None:
    """Also of equal ones: the middle ranks of x and −x add up to the whole weight."""
    n = len(values)
    weight = np.array(data.draw(st.lists(st.integers(1, 4), min_size=n, max_size=n)), dtype=float)
    x = np.array(values, dtype=float)
    both = _mid_rank(x, weight) + _mid_rank(-x, weight)
    np.testing.assert_allclose(both, weight.sum(), rtol=1e-12)
