"""What temperature scaling and isotonic regression are defined by, on any predictions."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import log_softmax, logsumexp, softmax

from propercal import decompose
from propercal.recalibration import ClasswiseIsotonic, TemperatureScaling
from propercal.simulation import MiscalibratedSimplex, TemperatureScaledSimplex

Floats = NDArray[np.float64]
Problem = tuple[Floats, NDArray[np.int64], Floats]
# The two ends, no error and no use, warn, and are tested as contracts.
may_warn = pytest.mark.filterwarnings("ignore::UserWarning")


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Logits, labels that some of them get wrong, and weights."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, k = draw(st.integers(20, 80)), draw(st.integers(2, 5))
    z = rng.normal(size=(n, k)) * draw(st.sampled_from([0.3, 2.0, 8.0]))
    slope = draw(st.sampled_from([0.3, 0.7, 1.5]))
    y = np.array([rng.choice(k, p=p) for p in softmax(slope * z, axis=1)], dtype=np.int64)
    weight = 0.5 * rng.integers(1, 5 if draw(st.booleans()) else 2, size=n).astype(np.float64)
    return z, y, weight


def fitted(z: Floats, y: NDArray[np.int64], weight: Floats) -> float:
    return TemperatureScaling(from_logits=True).fit(z, y, weight).temperature_


def losses(slopes: Floats, z: Floats, y: NDArray[np.int64], weight: Floats) -> Floats:
    """Mean log loss of logits a z, for each slope a."""
    scores = slopes[:, None, None] * z
    each = logsumexp(scores, axis=2) - scores[:, np.arange(len(y)), y]
    mean: Floats = each @ (weight / weight.sum())
    return mean


@may_warn
@given(problems())
def test_no_other_temperature_has_a_smaller_log_loss(problem: Problem) -> None:
    z, y, weight = problem
    if (z.argmax(axis=1) == y).all():
        return
    found = 1 / fitted(z, y, weight)
    scan = np.concatenate([[found], np.geomspace(1e-4, 1e4, 400), found * np.linspace(0.98, 1.02, 41)])
    best, *others = losses(scan, z, y, weight)
    assert min(others) >= best - 1e-13 * (1 + best)


def test_optimum_is_exact() -> None:
    """k = 2, logits ±1 and a share s of right labels: σ(2a) = s, so 1/T = ½ log(s / (1 − s))."""
    z = np.tile([[1.0, -1.0], [-1.0, 1.0]], (10, 1))
    y = np.tile([0, 1], 10)
    y[:4] = 1 - y[:4]
    found = TemperatureScaling(from_logits=True).fit(z, y).temperature_
    assert found == pytest.approx(1 / (0.5 * math.log(16 / 4)), rel=1e-13)


@may_warn
@given(problems(), st.sampled_from([1e-3, 0.25, 3.0, 1e3]))
def test_temperature_scales_with_the_logits(problem: Problem, factor: float) -> None:
    z, y, weight = problem
    found = fitted(z, y, weight)
    assert fitted(factor * z, y, weight) == pytest.approx(factor * found, rel=1e-9)
    scaling = TemperatureScaling(from_logits=True)
    before = scaling.fit(z, y, weight).predict_proba(z)
    after = scaling.fit(factor * z, y, weight).predict_proba(factor * z)
    np.testing.assert_allclose(after, before, rtol=1e-7, atol=1e-300)


@may_warn
@given(problems(), st.sampled_from([0.1, 40.0]))
def test_logits_shifts_and_probabilities_mean_the_same(problem: Problem, shift: float) -> None:
    z, y, weight = problem
    found = fitted(z, y, weight)
    moved = z + shift * np.arange(len(z))[:, None]
    assert fitted(moved, y, weight) == pytest.approx(found, rel=1e-7)
    assert TemperatureScaling().fit(softmax(z, axis=1), y, weight).temperature_ == pytest.approx(found, rel=1e-7)


@may_warn
@given(problems())
def test_temperature_keeps_the_order_of_classes(problem: Problem) -> None:
    z, y, weight = problem
    prob = TemperatureScaling(from_logits=True).fit(z, y, weight).predict_proba(z)
    np.testing.assert_allclose(prob.sum(axis=1), 1, rtol=1e-13)
    ordered = np.take_along_axis(prob, np.argsort(z, axis=1), axis=1)
    assert (np.diff(ordered, axis=1) >= 0).all()


@may_warn
@given(problems())
def test_integer_weights_are_repetitions(problem: Problem) -> None:
    z, y, weight = problem
    if (z.argmax(axis=1) == y).all():
        return
    times = (2 * weight).astype(int)
    repeated = fitted(np.repeat(z, times, axis=0), np.repeat(y, times), np.ones(times.sum()))
    assert fitted(z, y, weight) == pytest.approx(repeated, rel=1e-9)
    p = softmax(z, axis=1)
    once = ClasswiseIsotonic().fit(p, y, weight)
    several = ClasswiseIsotonic().fit(np.repeat(p, times, axis=0), np.repeat(y, times))
    for f, g in zip(once.functions_, several.functions_, strict=True):
        np.testing.assert_allclose(f.predict(p[:, 0]), g.predict(p[:, 0]), atol=1e-12)


@given(problems(), st.booleans())
def test_isotonic_is_monotone_and_keeps_the_share_of_each_class(problem: Problem, smoothed: bool) -> None:
    z, y, weight = problem
    p = softmax(z, axis=1)
    isotonic = ClasswiseIsotonic(smoothed=smoothed).fit(p, y, weight)
    w = weight / weight.sum()
    # As many rows of equal weight tell as much.
    n = 1 / float(w @ w)
    grid = np.linspace(0, 1, 301)
    for i, function in enumerate(isotonic.functions_):
        values = function.predict(grid)
        assert (np.diff(values) >= -1e-12).all()
        share = float(w @ (y == i))
        if smoothed:
            positive = n * share
            share = share * (positive + 1) / (positive + 2) + (1 - share) / (n - positive + 2)
            assert values.min() > 0
        assert w @ function.predict(p[:, i]) == pytest.approx(share, abs=1e-10)


@given(problems())
def test_isotonic_is_the_best_monotone_fit(problem: Problem) -> None:
    """The max-min formula of isotonic regression, from every pair of ends."""
    z, y, weight = problem
    p = softmax(z, axis=1)[:30]
    y, weight = y[:30], weight[:30]
    function = ClasswiseIsotonic().fit(p, y, weight).functions_[0]
    order = np.argsort(p[:, 0])
    total = np.concatenate([[0.0], np.cumsum((weight * (y == 0))[order])])
    mass = np.concatenate([[0.0], np.cumsum(weight[order])])
    n = len(order)
    expected = [
        max(min((total[b] - total[a]) / (mass[b] - mass[a]) for b in range(h + 1, n + 1)) for a in range(h + 1))
        for h in range(n)
    ]
    np.testing.assert_allclose(function.predict(p[order, 0]), expected, atol=1e-9)


@given(problems())
def test_isotonic_divides_by_the_sum(problem: Problem) -> None:
    z, y, weight = problem
    p = softmax(z, axis=1)
    isotonic = ClasswiseIsotonic(smoothed=True).fit(p, y, weight)
    parts = np.stack([f.predict(p[:, i]) for i, f in enumerate(isotonic.functions_)], axis=1)
    np.testing.assert_allclose(isotonic.predict_proba(p), parts / parts.sum(axis=1, keepdims=True), rtol=1e-12)


def test_both_find_the_truth_of_a_temperature() -> None:
    """Over-confidence of the paper's simulation: E[Y | g] = softmax(0.6 log g)."""
    y, g, _ = TemperatureScaledSimplex(3).sample(40_000, random_state=3)
    assert TemperatureScaling().fit(g, y).temperature_ == pytest.approx(1 / 0.6, rel=0.03)
    _, new_g, new_p = TemperatureScaledSimplex(3).sample(5000, random_state=4)
    scaled = TemperatureScaling().fit(g, y).predict_proba(new_g)
    isotonic = ClasswiseIsotonic().fit(g, y).predict_proba(new_g)
    assert np.abs(scaled - new_p).max() < 0.01
    # A function of g_i alone cannot be E[Y_i | g] of three classes, but it comes near.
    assert np.abs(isotonic - new_p).mean() < np.abs(new_g - new_p).mean() / 2


@pytest.mark.slow
@pytest.mark.parametrize("notion", ["canonical", "classwise", "top-label"])
def test_they_recalibrate_inside_decompose(notion: str) -> None:
    model: Any = MiscalibratedSimplex(3, "temperature")
    y, g, _ = model.sample(2000, random_state=5)
    reference = decompose(y, g, generator="brier", notion=notion)
    for recalibrator in (TemperatureScaling(), ClasswiseIsotonic(), ClasswiseIsotonic(smoothed=True)):
        found = decompose(y, g, generator="brier", notion=notion, recalibrator=recalibrator, kernel=None)
        error = reference.standard_errors["calibration_error"]
        # Same rows, other estimators of E[Y | g]: both near the truth.
        assert abs(found.calibration_error - reference.calibration_error) < 3 * error


def test_scaling_inside_decompose_is_scaling_outside() -> None:
    """Cross-fitted by hand: the debiased refinement without its correction is the loss held out."""
    y, g, _ = TemperatureScaledSimplex(3).sample(4000, random_state=6)
    whole = decompose(y, g, kernel=None, recalibrator=TemperatureScaling())
    by_hand = TemperatureScaling().fit(g, y)
    rows = np.arange(len(y))
    saved = np.log(by_hand.predict_proba(g)[rows, y]) - np.log(g[rows, y])
    # One parameter, fitted to 4000 or 3200 of the rows: a difference of about 1/n.
    assert whole.lower_bound == pytest.approx(float(saved.mean()), abs=5e-4)
    assert log_softmax(np.log(g) / by_hand.temperature_, axis=1)[rows, y].mean() == pytest.approx(float((np.log(g[rows, y]) + saved).mean()))


def test_a_row_of_nearly_no_weight_adds_nearly_nothing() -> None:
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), 200)
    y = (p.cumsum(axis=1) < rng.uniform(size=(200, 1))).sum(axis=1)
    for kind in (ClasswiseIsotonic(smoothed=True), TemperatureScaling()):
        few, nearly = (
            np.asarray(copy.deepcopy(kind).fit(p, y, np.where(np.arange(200) < 20, 1.0, e)).predict_proba(p[:20])) for e in (0.0, 1e-12)
        )
        np.testing.assert_allclose(nearly, few, rtol=1e-9)
