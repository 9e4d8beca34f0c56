"""A table's points: the distinct values where they are few, else bins on a grid that does not look at the data.

Laws: equal values share a point, points are in the order of values, nodes keep the weighted mean, bins are as narrow as the
grid says, none is heavy, and neither the order of rows nor the array library matters.
"""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from propercal import conditional_mean
from propercal._kernels.binning import LARGEST_EXACT, MANY, SPACING, _pieces, bins, grid_numbers, outside
from propercal._kernels.bins import bin_numbers
from propercal.classical.bins import bin_numbers as bins_closed_above
from theory_tests.laws.samples import fewer

KINDS = ("normal", "narrow", "wide", "lattice", "atoms", "two heaps", "constant")


def values_of(kind: str, n: int, rng: Any) -> Any:
    z = rng.standard_normal(n)
    return {
        "normal": 2 * z,
        "narrow": 0.3 + 1e-3 * z,
        "wide": np.clip(60 * z, -104, 104),
        "lattice": np.log((np.round(99 / (1 + np.exp(-z))) + 0.5) / (99.5 - np.round(99 / (1 + np.exp(-z))))),
        "atoms": np.where(rng.random(n) < 0.4, 1.25, z),
        "two heaps": np.where(rng.random(n) < 0.5, 5.0, -5.0) + 1e-9 * z,
        "constant": np.full(n, -0.7),
    }[kind]


@pytest.fixture(scope="module", params=KINDS)
def values(request: Any) -> Any:
    return values_of(request.param, 6000, np.random.default_rng(3))


@fewer
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.sampled_from((1, 2, 50, 500)),
    kind=st.sampled_from(KINDS),
    largest=st.sampled_from((0, 5, 60, 1000)),
    spacing=st.sampled_from((0.02, 0.05, 0.5)),
)
def test_points_are_in_order_and_keep_the_mean(seed: int, n: int, kind: str, largest: int, spacing: float) -> None:
    rng = np.random.default_rng(seed)
    z, weight = values_of(kind, n, rng), rng.uniform(0.1, 2, n)
    numbers, nodes = bins(z, largest, spacing=spacing, weight=weight)
    assert numbers.shape == (n,)
    # Every number occurs, larger values have no smaller one, and equal values the same.
    assert (np.unique(numbers) == np.arange(len(nodes))).all()
    order = np.argsort(z, kind="stable")
    steps, rises = np.diff(numbers[order]), np.diff(z[order])
    assert (steps >= 0).all()
    assert (steps[rises == 0] == 0).all()
    assert (np.diff(nodes) > -1e-12).all()
    distinct = len(np.unique(z))
    if distinct <= largest:
        assert (nodes[numbers] == z).all()
    mass = np.bincount(numbers, weight)
    np.testing.assert_allclose(mass * nodes, np.bincount(numbers, weight * z), rtol=1e-12, atol=1e-12)


def test_up_to_2000_distinct_values_are_points_by_themselves() -> None:
    rng = np.random.default_rng(0)
    for n_distinct in (1, 7, LARGEST_EXACT):
        distinct = np.sort(rng.standard_normal(n_distinct))
        z = rng.permutation(np.r_[distinct, rng.choice(distinct, 50_000)])
        numbers, nodes = bins(z)
        assert (nodes == distinct).all()
        assert (nodes[numbers] == z).all()
    # One more, and they are binned; so they are where only a full look finds them out.
    distinct = np.linspace(-3, 3, LARGEST_EXACT + 1)
    assert len(bins(np.r_[distinct, np.zeros(50_000)])[1]) < 900


def test_bins_are_as_narrow_as_the_grid(values: Any) -> None:
    numbers, nodes = bins(values, 0)
    rows = np.argsort(numbers, kind="stable")
    starts = np.searchsorted(numbers[rows], np.arange(len(nodes)))
    low, high = np.minimum.reduceat(values[rows], starts), np.maximum.reduceat(values[rows], starts)
    # The inverse of u = asinh(z / 2) · 2 / s has the slope s · √(1 + (z / 2)²), largest at the outer end.
    outer = np.maximum(np.abs(low), np.abs(high)) + SPACING
    # Joined two by two where they would be many.
    width = SPACING
    while len(np.unique(np.sign(values) * (1 + np.floor(np.arcsinh(np.abs(values) / 2) * 2 / width)))) > MANY:
        width *= 2
    assert (high - low <= width * np.sqrt(1 + (outer / 2) ** 2) * (1 + 1e-9)).all()
    assert (low[1:] > high[:-1]).all()
    # Neither sides nor 0 share one.
    assert ((low > 0) | (high < 0) | (low == high)).all()
    assert len(nodes) <= 2 * np.arcsinh(104 / 2) * 2 / width + 202


def test_no_bin_is_heavy_but_for_a_single_value(values: Any) -> None:
    numbers, nodes = bins(values, 0)
    for i, count in enumerate(np.bincount(numbers)):
        inside = values[numbers == i]
        # What a heavy value is not given to itself keeps below a twentieth.
        others = count - np.unique(inside, return_counts=True)[1].max()
        assert others <= len(values) / 20
        if count > len(values) / 20:
            assert others == 0
    assert len(nodes) >= min(20, len(np.unique(values)))


def test_edges_do_not_depend_on_the_data() -> None:
    """Rows that share a bin of one sample do so in another one: tables of parts of the rows add up."""
    rng = np.random.default_rng(1)
    a, b = 3 * rng.standard_normal(8000), 3 * rng.standard_normal(9000) + 1
    apart, together = (bins(x, spacing=0.02)[0][: len(a)] for x in (a, np.r_[a, b]))
    pairs = np.unique(np.stack([apart, together], axis=1), axis=0)
    assert len(pairs) == len(np.unique(apart)) == len(np.unique(together))


def test_a_smaller_spacing_divides_bins() -> None:
    """Of half the width, each bin lies in one of the others."""
    z = 3 * np.random.default_rng(2).standard_normal(20_000)
    wide, narrow = bins(z, spacing=0.1)[0], bins(z, spacing=0.05)[0]
    pairs = np.unique(np.stack([wide, narrow], axis=1), axis=0)
    assert len(pairs) == narrow.max() + 1 > 1.7 * wide.max()


def test_bins_that_would_be_many_are_joined_two_by_two() -> None:
    z = 3 * np.random.default_rng(2).standard_normal(20_000)
    wide, narrow, joint = (bins(z, spacing=s)[0] for s in (0.0125, 0.0075, 0.00625))
    # At 0.0125 they are just few enough; the grids of 0.00625 and 0.0125 are nested.
    assert wide.max() < MANY < 2 * wide.max()
    assert (joint == wide).all()
    assert narrow.max() < wide.max()


def test_bins_mirror_each_other_around_0() -> None:
    z = 3 * np.random.default_rng(3).standard_normal(5000)
    z[:7] = 0
    for largest in (0, 10_000):
        numbers, nodes = bins(z, largest)
        mirrored, others = bins(-z, largest)
        assert (mirrored == len(nodes) - 1 - numbers).all()
        np.testing.assert_allclose(others, -nodes[::-1], rtol=1e-12)
        assert set(np.flatnonzero(nodes[numbers] == 0)) == set(range(7))


def test_the_order_of_rows_does_not_matter(values: Any) -> None:
    order = np.random.default_rng(4).permutation(len(values))
    for largest in (0, LARGEST_EXACT):
        numbers, nodes = bins(values, largest)
        again, same = bins(values[order], largest)
        assert (again == numbers[order]).all()
        np.testing.assert_allclose(same, nodes, rtol=1e-12, atol=1e-13)


def test_tensors_are_binned_as_arrays_are(values: Any) -> None:
    torch = pytest.importorskip("torch")
    weight = np.random.default_rng(5).uniform(0.5, 2, len(values))
    expected = bins(values, weight=weight)
    found = bins(torch.tensor(values), weight=torch.tensor(weight, requires_grad=True))
    for x, y in zip(found, expected, strict=True):
        assert isinstance(x, np.ndarray)
        assert (x == y).all()


@pytest.mark.parametrize("spacing", [SPACING, 0.1])
def test_outside_counts_bins_from_the_nearer_edge(spacing: float) -> None:
    """At position x on the grid, z = 2 sinh(x · spacing / 2); bin i reaches from i − 1 to i."""
    position = np.linspace(0.05, 40, 800)
    for sign in (1.0, -1.0):
        z = sign * 2 * np.sinh(position * spacing / 2)
        own = grid_numbers(z, spacing)
        np.testing.assert_array_equal(outside(own.astype(float), z, spacing), 0.0)
        np.testing.assert_array_equal(outside(-own.astype(float), z, spacing), np.inf)
        for i in (1.0, 2.0, 7.0, 30.0):
            wanted = np.maximum(np.maximum(i - 1 - position, position - i), 0.0)
            np.testing.assert_allclose(outside(np.full(800, sign * i), z, spacing), wanted, atol=1e-9)
    at_zero = outside(np.array([0.0, 0.0, 1.0, -1.0]), np.array([0.0, 0.1, 0.0, 0.0]), spacing)
    np.testing.assert_array_equal(at_zero, [0.0, np.inf, np.inf, np.inf])


@pytest.mark.parametrize("n_pieces", [2, 3, 10])
def test_pieces_of_distinct_values_are_of_one_size(n_pieces: int) -> None:
    piece, found = _pieces(np.random.default_rng(0).permutation(600).astype(float), n_pieces)
    assert found == n_pieces
    np.testing.assert_array_equal(np.bincount(piece), 600 // n_pieces)


def test_single_precision_is_read_as_double() -> None:
    z = np.random.default_rng(1).standard_normal(5000).astype(np.float32)
    single, double = bins(z), bins(z.astype(np.float64))
    assert single[1].dtype == np.float64
    for one, other in zip(single, double, strict=True):
        np.testing.assert_array_equal(one, other)


def test_an_edge_belongs_to_the_bin_above_whatever_a_product_rounds_to() -> None:
    for n in range(1, 400):
        edges = np.arange(n) / n
        np.testing.assert_array_equal(bin_numbers(edges, n), np.arange(n))
        np.testing.assert_array_equal(bin_numbers(np.nextafter(edges[1:], 0), n), np.arange(n - 1))
        assert bin_numbers(np.array([1.0]), n) == n - 1


def test_an_edge_in_single_precision_is_an_edge() -> None:
    """Half of them are less than the double next to the edge; bins of expected errors are closed above."""
    for n in range(1, 400):
        single = (np.arange(n) / n).astype(np.float32)
        edges, below = single.astype(np.float64), np.nextafter(single[1:], np.float32(0)).astype(np.float64)
        np.testing.assert_array_equal(bin_numbers(edges, n), np.arange(n))
        np.testing.assert_array_equal(bin_numbers(below, n), np.arange(n - 1))
        np.testing.assert_array_equal(bins_closed_above(edges[1:], n), np.arange(n - 1))
    p = np.array([0.9, 0.95], np.float32)
    found = conditional_mean(np.array([0, 1]), p, kernel="uniform-bins", bandwidth=0.1, exclude_self=False)
    np.testing.assert_allclose(found, 0.5)


@pytest.mark.parametrize("closed_above", [False, True])
def test_memory_does_not_grow_with_the_number_of_bins(closed_above: bool) -> None:
    position = np.random.default_rng(0).random(100)
    tracemalloc.start()
    try:
        found = bin_numbers(position, 10**9, closed_above=closed_above)
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()
    np.testing.assert_allclose(found / 1e9, position, atol=1e-9)
