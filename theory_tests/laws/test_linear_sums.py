"""Sums over nodes are the sums over all points, to the tolerance that is asked for.

A function that is smooth on the scale of the panels is a polynomial in each of them up to the
tolerance, so moving its arguments onto nodes, with weights that keep every polynomial's sum, keeps
its sum; and its values between nodes are the polynomial's (Trefethen, "Approximation Theory and
Approximation Practice", 2013, theorem 8.2).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import propercal
from propercal._data.predictions.notions import Problem
from propercal._kernels import linear, tiles
from propercal._kernels.kernels import DirichletKernel
from propercal._kernels.panels import Placement, chebyshev, make_panels, polynomials
from propercal._methods.fold_sums import Sources, fold_kernel
from propercal.recalibration.points import interior
from theory_tests.instances import calibrated

KERNEL = DirichletKernel()


def pairs(log_odds: Any) -> tuple[Any, Any]:
    """Pairs (1 − p, p) and their logarithms, exact in both tails."""
    log_prob = np.stack([-np.logaddexp(0, log_odds), -np.logaddexp(0, -log_odds)], axis=1)
    return np.exp(log_prob), log_prob


def rounding(gamma: float) -> float:
    """What rounding of exponents, up to 0.4 / γ near a kernel's peak, adds to a sum of 1 % of it."""
    return 100 * 0.4 / gamma * 3e-16


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Predictions of any kind: spread out, piled up, tied, at and next to the ends, weighted."""
    n = draw(st.integers(2, 150))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    kind = draw(st.sampled_from(["uniform", "network", "ties", "ends", "mixed"]))
    log_odds = {
        "uniform": rng.logistic(size=n),
        "network": rng.normal(-8, 6, n),
        "ties": rng.choice(rng.normal(0, 3, 4), n),
        "ends": rng.choice([-np.inf, -690.0, -40.0, 0.0, 40.0, 700.0, np.inf], n),
        "mixed": rng.choice([-700.0, -5.0, -1.0, 6.0], n) + rng.normal(0, 1e-3, n),
    }[kind]
    prob, log_prob = pairs(log_odds)
    label = (rng.uniform(size=n) < draw(st.sampled_from([0.02, 0.3, 0.5]))).astype(np.int64)
    uniform = draw(st.booleans())
    weight = np.ones(n) if uniform else rng.choice([0.0, 1e-6, 0.3, 1.0, 50.0], n)
    weight[:2] = 1.0
    return Problem(prob, log_prob, label, weight / weight.sum(), uniform, 2)


@given(problem=problems(), log_gamma=st.floats(math.log(1e-6), 0.0), exclude_self=st.booleans())
def test_conditional_means_agree_with_sums_over_all_points(
    problem: Problem, log_gamma: float, exclude_self: bool
) -> None:
    gamma = math.exp(log_gamma)
    found = linear.class_sums(problem, KERNEL, gamma, exclude_self=exclude_self)
    wanted = tiles.class_sums(problem, KERNEL, gamma, exclude_self=exclude_self)
    total, wanted_total = found.values.sum(axis=1), wanted.values.sum(axis=1)
    assert (total > 0).all()
    mean, wanted_mean = found.values / total[:, None], wanted.values / wanted_total[:, None]
    allowed = linear.TOLERANCE + rounding(gamma)
    np.testing.assert_allclose(mean, wanted_mean, rtol=0, atol=allowed)
    # The share of the class that occurred is exact relative to itself.
    own = np.arange(len(problem.label)), problem.label
    np.testing.assert_allclose(mean[own], wanted_mean[own], rtol=10 * allowed, atol=0)
    # So is the density.
    np.testing.assert_allclose(
        found.log_scale + np.log(total), wanted.log_scale + np.log(wanted_total), rtol=1e-12, atol=10 * allowed
    )


@pytest.mark.parametrize("gamma", [10.0, 0.02, 1e-3])
def test_a_zero_is_read_as_the_kernel_reads_it(gamma: float) -> None:
    y_true = [0, 0, 1, 1, 0, 1]
    for y_proba in ([0, 0, 6e-5, 6e-5, 1e-3, 0.2], [1, 1, 1 - 6e-5, 1 - 6e-5, 0.9, 5e-324]):
        found, wanted = (
            propercal.conditional_mean(y_true, y_proba, bandwidth=gamma, algorithm=algorithm)
            for algorithm in ("linear", "exact")
        )
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-10)


def test_single_precision_pairs_are_close_enough_to_be_pairs() -> None:
    y_true, y_proba = calibrated(3000, seed=8, concentration=0.3)
    y_proba = y_proba.astype(np.float32)
    settings: dict[str, Any] = {"notion": "classwise", "method": "risk", "bandwidth": 0.02}
    automatic = propercal.decompose(y_true, y_proba, **settings)
    over_points = propercal.decompose(y_true, y_proba, algorithm="exact", **settings)
    assert automatic.algorithm == "linear"
    # What single precision leaves of a sum of 1, over γ.
    assert automatic.calibration_error == pytest.approx(over_points.calibration_error, abs=6e-8 / 0.02)


@pytest.mark.parametrize("kind", ["uniform", "network"])
@pytest.mark.parametrize("gamma", [0.1, 0.02, 1e-3, 1e-5])
@pytest.mark.parametrize("tolerance", [1e-6, 1e-10])
def test_the_tolerance_is_met_on_a_full_sample(kind: str, gamma: float, tolerance: float) -> None:
    rng = np.random.default_rng(3)
    prob, log_prob = pairs(rng.logistic(size=2500) if kind == "uniform" else rng.normal(-8, 6, 2500))
    label = (rng.uniform(size=2500) < prob[:, 1]).astype(np.int64)
    problem = Problem(prob, log_prob, label, np.full(2500, 1 / 2500), True, 2)
    found = linear.class_sums(problem, KERNEL, gamma, exclude_self=True, tolerance=tolerance)
    wanted = tiles.class_sums(problem, KERNEL, gamma, exclude_self=True)
    difference = np.abs(
        found.values / found.values.sum(axis=1, keepdims=True)
        - wanted.values / wanted.values.sum(axis=1, keepdims=True)
    ).max()
    assert difference < tolerance + rounding(gamma)
    # A coarser tolerance is cheaper, since it has fewer nodes, and it is not met by chance.
    if tolerance > 1e-8 and gamma < 0.01:
        assert difference > 1e-13


@given(order=st.integers(1, 24), gamma=st.sampled_from([1e-9, 1e-5, 0.02, 1.0, 1e9]), seed=st.integers(0, 2**32))
@example(order=20, gamma=0.02, seed=0)
def test_moving_points_onto_nodes_keeps_the_sum_of_every_polynomial(order: int, gamma: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    prob, log_prob = pairs(rng.normal(0, 4, 60))
    placed = Placement(make_panels(gamma, order), prob, log_prob)
    value = rng.normal(size=(60, 2))
    _, place = placed.grid.panels.locate(prob, log_prob)
    _, node_place = placed.grid.panels.locate(placed.grid.prob, placed.grid.log_prob)
    # Chebyshev polynomials of the place within the panel, a column for each degree.
    degree = np.arange(order)
    at_points = np.cos(degree * np.arccos(place)[:, None])
    nodes = np.tile(chebyshev(order).nodes, len(placed.grid.numbers))
    at_nodes = np.cos(degree * np.arccos(nodes)[:, None])
    np.testing.assert_allclose(at_nodes.T @ placed.spread(value), at_points.T @ value, atol=1e-9)
    np.testing.assert_allclose(placed.interpolate(at_nodes), at_points, atol=1e-10)
    np.testing.assert_allclose(polynomials(place, order), at_points.T, atol=1e-10)
    np.testing.assert_allclose(np.sort(node_place), np.sort(nodes), atol=1e-6)


@given(gamma=st.floats(1e-9, 1e9), order=st.integers(1, 20))
def test_panels_cover_the_interval_and_are_symmetric(gamma: float, order: int) -> None:
    panels = make_panels(gamma, order)
    log_odds = np.array([-745.0, -300.0, -30.0, -3.0, -0.1, -1e-9, 0.0, 0.1, 4.0, 50.0, 745.0])
    prob, log_prob = pairs(log_odds)
    number, place = panels.locate(prob, log_prob)
    assert (np.diff(number) >= 0).all()
    assert (np.abs(place) <= 1).all()
    assert number.min() >= 0
    assert number.max() < panels.n_panels
    mirrored, mirrored_place = panels.locate(prob[:, ::-1], log_prob[:, ::-1])
    off_centre = log_odds != 0
    np.testing.assert_array_equal(mirrored[off_centre], panels.n_panels - 1 - number[off_centre])
    np.testing.assert_allclose(mirrored_place, place, atol=1e-12)
    # Nodes lie in their own panels, and angles bound them.
    numbers = np.arange(panels.n_panels)
    if panels.n_panels > 2000:
        numbers = numbers[:: panels.n_panels // 1000]
    nodes = panels.nodes(numbers)
    np.testing.assert_array_equal(panels.locate(*nodes)[0], np.repeat(numbers, order))
    lower, upper = panels.angles(numbers)
    angle = np.reshape(np.arcsin(np.sqrt(nodes[0][:, 1])), (-1, order))
    assert (angle >= lower[:, None] - 1e-7).all()
    assert (angle <= upper[:, None] + 1e-7).all()


@settings(max_examples=30)
@given(
    seed=st.integers(0, 2**32), gamma=st.sampled_from([0.6, 0.06, 0.006, 1e-4]), weighted=st.booleans(),
    spread=st.sampled_from([1.0, 8.0]),
)
def test_fold_sums_agree_up_to_a_factor_for_each_row(seed: int, gamma: float, weighted: bool, spread: float) -> None:
    rng = np.random.default_rng(seed)
    n, n_folds = 90, 3
    points = interior(pairs(rng.normal(0, spread, n))[1])
    fold = np.sort(rng.integers(0, n_folds, n))
    weight = rng.uniform(0.1, 3, n) if weighted else None
    label = (rng.uniform(size=n) < 0.4).astype(np.int64)
    order = np.lexsort((label, fold))
    sources = Sources(points, label[order], weight, fold, n_folds, 2)
    columns = rng.uniform(size=(n, 4))
    over_nodes = fold_kernel(sources, KERNEL, gamma, "linear")
    over_points = fold_kernel(sources, KERNEL, gamma, "exact")
    assert (over_nodes.algorithm, over_points.algorithm) == ("linear", "exact")
    for rows in sources.folds:
        found, wanted = over_nodes(rows, columns), over_points(rows, columns)
        scale = found.labels.sum(axis=(1, 2)), wanted.labels.sum(axis=(1, 2))
        for a, b, power in zip(found, wanted, (1, 2, 1), strict=True):
            one, other = (x.reshape(len(x), -1) / s[:, None] ** power for x, s in zip((a, b), scale, strict=True))
            # Squares have a kernel that is narrower by √2, in the same panels.
            np.testing.assert_allclose(one, other, atol=(1e-9 if power == 1 else 1e-7) + rounding(gamma))


# ---------------------------------------------------------------- what users see
@pytest.mark.slow
@pytest.mark.parametrize("method", ["debiased", "direct", "risk"])
@pytest.mark.parametrize("notion", ["classwise", "top-label"])
def test_decompositions_agree_and_say_how_they_were_summed(method: str, notion: str) -> None:
    y_true, y_proba = calibrated(3000, seed=8, concentration=0.3)
    settings: dict[str, Any] = {"notion": notion, "method": method, "generator": ["log", "brier"]}
    if method != "debiased":
        settings["bandwidth"] = 0.01
    automatic = propercal.decompose(y_true, y_proba, **settings)
    over_points = propercal.decompose(y_true, y_proba, algorithm="exact", **settings)
    for a, b in zip(automatic, over_points, strict=True):
        assert (a.algorithm, b.algorithm) == ("linear", "exact")
        for term in ("risk", "calibration_error", "refinement", "sharpness", "uncertainty"):
            # The debiased estimate is that of bins.
            tolerance = 0.05 * b.standard_errors["refinement"] if method == "debiased" else 1e-9
            assert getattr(a, term) == pytest.approx(getattr(b, term), abs=tolerance)


def test_a_loss_that_is_infinite_at_vertices_is_summed_over_points_unless_told_otherwise() -> None:
    y_true, y_proba = calibrated(3000, seed=8, concentration=0.3)
    y_proba = 0.9 * y_proba + 0.1 / 3
    settings: dict[str, Any] = {"notion": "top-label", "method": "risk", "bandwidth": 0.05}
    bounded = propercal.decompose(y_true, y_proba, generator="brier", **settings)
    unbounded = propercal.decompose(y_true, y_proba, generator="itakura-saito", **settings)
    forced = propercal.decompose(y_true, y_proba, generator="itakura-saito", algorithm="linear", **settings)
    assert (bounded.algorithm, unbounded.algorithm) == ("linear", "exact")
    assert forced.algorithm == "linear"
    assert forced.calibration_error == pytest.approx(unbounded.calibration_error, rel=1e-6)


SAMPLE = calibrated(60, seed=8, concentration=0.3)


@pytest.mark.parametrize("settings", [
    {"method": "risk", "bandwidth": 0.1},
    {"method": "debiased", "bandwidth": 0.1},
    {"method": "risk", "notion": "top-label", "kernel": "uniform-bins"},
])
def test_linear_sums_of_vectors_or_bins_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="algorithm = 'linear' with "):
        propercal.decompose(*SAMPLE, algorithm="linear", **settings)


@pytest.mark.parametrize("tolerance", [0.0, 1e-13, 0.1, float("nan"), "small", True])
def test_a_tolerance_out_of_range_is_refused(tolerance: Any) -> None:
    with pytest.raises(ValueError, match="tolerance = "):
        propercal.conditional_mean(*SAMPLE, notion="top-label", bandwidth=0.1, tolerance=tolerance)
