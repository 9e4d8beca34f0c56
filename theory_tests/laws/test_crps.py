"""The decomposition of the CRPS is the integral of isotonic decompositions of the Brier score over thresholds.

Source: Arnold, Walz, Ziegel & Gneiting (2024), arXiv:2311.14122. Proofs: book/derivations/forecasts.md.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from propercal import crps_decomposition
from propercal.forecasts.isotonic import _regression, row_scores
from propercal.forecasts.reading import Forecasts
from propercal.result import TERMS

Number = Fraction


def pooled(groups: list[tuple[Any, Any]]) -> list[Any]:
    """Isotonic regression by its min-max formula, of (weight, weight of events) in ascending order."""
    def mean(a: int, b: int) -> Any:
        return sum(e for _, e in groups[a : b + 1]) / sum(w for w, _ in groups[a : b + 1])

    return [max(min(mean(a, b) for b in range(i, len(groups))) for a in range(i + 1)) for i in range(len(groups))]


def brute_force(y: list[Number], members: list[list[Number]], mass: list[Number], weight: list[Number]) -> dict[str, Any]:
    """Every term in fractions: a loop over the steps between all distinct values."""
    total = {name: Fraction(0) for name in TERMS}
    values = sorted({*y, *(x for row in members for x in row)})
    for z, after in itertools.pairwise(values):
        event = [Fraction(each <= z) for each in y]
        forecast = [sum((m for x, m in zip(sorted(row), mass, strict=True) if x <= z), Fraction(0)) for row in members]
        levels = sorted(set(forecast))
        groups = [
            (sum(w for w, f in zip(weight, forecast, strict=True) if f == level), sum(w * e for w, e, f in zip(weight, event, forecast, strict=True) if f == level))
            for level in levels
        ]
        fitted = dict(zip(levels, pooled(groups), strict=True))
        climate = sum(w * e for w, e in zip(weight, event, strict=True))
        for i, (w, e, f) in enumerate(zip(weight, event, forecast, strict=True)):
            assert i < len(y)
            scale = w * (after - z)
            total["risk"] += scale * (f - e) ** 2
            total["refinement"] += scale * (fitted[f] - e) ** 2
            total["uncertainty"] += scale * (climate - e) ** 2
            total["calibration_error"] += scale * ((f - e) ** 2 - (fitted[f] - e) ** 2)
            total["sharpness"] += scale * (fitted[f] - climate) ** 2
    return total


small = st.integers(-6, 6)


@settings(max_examples=40)
@given(data=st.data(), n=st.integers(2, 7), m=st.integers(1, 4), weighted=st.booleans())
def test_terms_are_those_of_a_loop_in_fractions(data: st.DataObject, n: int, m: int, weighted: bool) -> None:
    """Ties of members and outcomes too; sums of squares of the sharpness are differences of scores (a law of isotonic regression)."""
    y = data.draw(st.lists(small, min_size=n, max_size=n))
    members = data.draw(st.lists(st.lists(small, min_size=m, max_size=m), min_size=n, max_size=n))
    weight = data.draw(st.lists(st.integers(1, 4), min_size=n, max_size=n)) if weighted else [1] * n
    exact = brute_force(
        [Fraction(x) for x in y], [[Fraction(x) for x in row] for row in members], [Fraction(1, m)] * m, [Fraction(w, sum(weight)) for w in weight]
    )
    found = crps_decomposition(y, members, sample_weight=weight if weighted else None)
    for name in TERMS:
        assert getattr(found, name) == pytest.approx(float(exact[name]), abs=1e-12), name
    assert exact["risk"] == exact["calibration_error"] + exact["refinement"] == exact["calibration_error"] - exact["sharpness"] + exact["uncertainty"]
    assert found.calibration_error >= 0
    assert found.sharpness >= -1e-12


@settings(max_examples=20)
@given(data=st.data(), n=st.integers(2, 6), m=st.integers(1, 4))
def test_quantiles_are_points_with_the_mass_about_their_level(data: st.DataObject, n: int, m: int) -> None:
    y = data.draw(st.lists(small, min_size=n, max_size=n))
    values = [sorted(row) for row in data.draw(st.lists(st.lists(small, min_size=m, max_size=m), min_size=n, max_size=n))]
    levels = sorted(data.draw(st.lists(st.integers(1, 19), min_size=m, max_size=m, unique=True)))
    taus = [Fraction(each, 20) for each in levels]
    ends = [Fraction(0), *((a + b) / 2 for a, b in itertools.pairwise(taus)), Fraction(1)]
    mass = [b - a for a, b in itertools.pairwise(ends)]
    exact = brute_force([Fraction(x) for x in y], [[Fraction(x) for x in row] for row in values], mass, [Fraction(1, n)] * n)
    found = crps_decomposition(y, quantiles=values, levels=[float(each) for each in taus])
    for name in TERMS:
        assert getattr(found, name) == pytest.approx(float(exact[name]), abs=1e-12), name


def forecasts(n: int, m: int, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    mean = rng.normal(size=n)
    return mean + rng.normal(size=n), mean[:, None] + 0.5 * rng.normal(size=(n, m))


def terms(found: Any) -> list[float]:
    return [getattr(found, name) for name in TERMS]


def test_the_risk_is_the_known_formula() -> None:
    """E |X − y| − ½ E |X − X'|, exact also where thresholds are not."""
    y, x = forecasts(120, 9)
    expected = np.abs(x - y[:, None]).mean() - np.abs(x[:, :, None] - x[:, None]).mean() / 2
    exact = crps_decomposition(y, x)
    rough = crps_decomposition(y, x, max_thresholds=200)
    assert exact.risk == pytest.approx(expected, rel=1e-12)
    assert rough.risk == pytest.approx(expected, rel=1e-12)
    assert (exact.n_thresholds, exact.quadrature_error) == (1199, 0)
    assert rough.n_thresholds <= 200
    assert 0 < rough.quadrature_error < 1e-3
    np.testing.assert_allclose(terms(rough), terms(exact), atol=0.02)
    assert rough.uncertainty == pytest.approx(np.abs(y[:, None] - y).mean() / 2, rel=1e-12)
    assert exact.uncertainty == pytest.approx(rough.uncertainty, rel=1e-12)


@settings(max_examples=20)
@given(shift=st.sampled_from([0.0, -3.5, 1e3]), scale=st.sampled_from([1.0, 0.01, 40.0]), seed=st.integers(0, 99))
def test_shifts_leave_and_scales_multiply(shift: float, scale: float, seed: int) -> None:
    y, x = forecasts(40, 5, seed)
    found, before = crps_decomposition(scale * y + shift, scale * x + shift), crps_decomposition(y, x)
    np.testing.assert_allclose(terms(found), scale * np.array(terms(before)), rtol=1e-9, atol=1e-12 * scale)
    for name in TERMS:
        np.testing.assert_allclose(found.interval(name), scale * np.array(before.interval(name)), rtol=1e-8, atol=1e-11 * scale)


def test_members_and_rows_have_no_order_and_copies_are_weights() -> None:
    y, x = forecasts(50, 6)
    rng = np.random.default_rng(1)
    before = terms(crps_decomposition(y, x))
    rows = rng.permutation(50)
    np.testing.assert_allclose(terms(crps_decomposition(y[rows], rng.permuted(x, axis=1)[rows])), before, rtol=1e-12)
    np.testing.assert_allclose(terms(crps_decomposition(y, np.repeat(x, 3, axis=1))), before, rtol=1e-12)
    times = rng.integers(0, 4, 50)
    copies = crps_decomposition(np.repeat(y, times), np.repeat(x, times, axis=0))
    np.testing.assert_allclose(terms(crps_decomposition(y, x, sample_weight=7.0 * times)), terms(copies), rtol=1e-12)


def test_mirrored_outcomes_have_the_same_terms() -> None:
    """y ≤ z of −y is y ≥ −z: the complement of each event, but at the values themselves, which have no width."""
    y, x = forecasts(60, 5)
    np.testing.assert_allclose(terms(crps_decomposition(-y, -x)), terms(crps_decomposition(y, x)), rtol=1e-12)


def test_what_knows_nothing_is_not_sharp_and_what_is_the_outcome_has_no_risk() -> None:
    y, x = forecasts(80, 6)
    same = crps_decomposition(y, np.tile(x[0], (80, 1)))
    assert same.sharpness == pytest.approx(0, abs=1e-12)
    assert same.refinement == pytest.approx(same.uncertainty, rel=1e-12)
    with pytest.warns(UserWarning, match="^ensemble is y_true in each of 80 rows"):
        sure = crps_decomposition(y, y[:, None])
    assert (sure.risk, sure.calibration_error) == (0, 0)
    assert sure.sharpness == sure.uncertainty


def test_a_bin_without_rows_has_the_value_of_its_neighbour() -> None:
    found = _regression(np.array([0, 2, 0, 1, 0]), np.array([0.0, 2.0, 0.0, 1.0, 0.0]), np.array([0.0, 2.0, 0.0, 0.5, 0.0]))
    np.testing.assert_allclose(found, [2.5 / 3] * 5)
    found = _regression(np.array([0, 2, 0, 1, 0]), np.array([0.0, 2.0, 0.0, 1.0, 0.0]), np.array([0.0, 0.5, 0.0, 0.5, 0.0]))
    np.testing.assert_allclose(found, [0.25, 0.25, 0.25, 0.5, 0.5])


@pytest.mark.parametrize("weighted", [False, True])
def test_held_out_scores_are_those_of_fits_without_the_fold(weighted: bool) -> None:
    """By a loop over rows and steps, each with the regression of the rows of other folds."""
    rng = np.random.default_rng(3)
    y, x, fold = rng.integers(0, 6, 14), rng.integers(0, 6, (14, 3)), np.arange(14) % 3
    weight = rng.integers(1, 4, 14) / 20 if weighted else np.full(14, 1 / 14)
    values = np.unique([*y, *x.ravel()])
    forecasts = Forecasts(np.sort(x, axis=1).astype(float), np.linspace(0, 1, 4), y.astype(float), weight, np.arange(14))
    found = row_scores(forecasts, values[:-1].astype(float), np.diff(values).astype(float), fold).held_out
    expected = np.zeros(14)
    for z, width in zip(values[:-1], np.diff(values), strict=True):
        event, below = (y <= z).astype(float), (x <= z).sum(axis=1)
        for i in range(14):
            others = fold != fold[i]
            there = sorted(set(below[others]))
            groups = [(weight[others & (below == b)].sum(), (weight * event)[others & (below == b)].sum()) for b in there]
            fitted = pooled(groups)
            nearest = [r for b, r in zip(there, fitted, strict=True) if b <= below[i]] or fitted[:1]
            expected[i] += width * (nearest[-1] - event[i]) ** 2
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


def isotonic_risk(shares: Any, events: Any) -> float:
    """Least E (r(F) − 1[Y ≤ 0])² of monotone r, where forecasts 1 and 0 (F = 0 and 1 at 0) have these shares and events."""
    mean = shares @ events
    return float(shares @ (events * (1 - events))) if events[0] <= events[1] else float(mean * (1 - mean))


@pytest.mark.parametrize("events", [(0.1, 0.9), (0.4, 0.6), (0.5, 0.5), (0.7, 0.2), (0.0, 1.0)])
def test_the_bracket_holds_over_all_samples_of_a_population(events: tuple[float, float]) -> None:
    """E fitted ≤ ρ* ≤ E held out, over all 256 samples of four rows; the uncertainty is (1 − 1/n) of the population's."""
    n, shares, event = 4, np.array([0.3, 0.7]), np.array(events)
    fold = np.arange(n) % 3
    fitted = held_out = uncertainty = total = 0.0
    for rows in itertools.product(range(4), repeat=n):
        f, e = np.array(rows) // 2, np.array(rows) % 2
        probability = float(np.prod(shares[f] * np.where(e == 1, event[f], 1 - event[f])))
        # A forecast of 0 says y ≤ 0, one of 1 does not.
        of_rows = Forecasts(1.0 - f[:, None], np.array([0.0, 1.0]), 1.0 - e, np.full(n, 1 / n), np.arange(n))
        found = row_scores(of_rows, np.zeros(1), np.ones(1), fold)
        fitted += probability * found.fitted.mean()
        held_out += probability * found.held_out.mean()
        uncertainty += probability * found.climate.mean()
        total += probability
    least = isotonic_risk(shares, event)
    base = float(shares @ event)
    assert total == pytest.approx(1, abs=1e-12)
    assert fitted <= least + 1e-12
    assert least <= held_out + 1e-12
    assert uncertainty == pytest.approx((1 - 1 / n) * base * (1 - base), abs=1e-12)
    if events == (0.0, 1.0):
        # The fitted sharpness is all of the uncertainty, and less than that of the population.
        assert fitted == pytest.approx(0, abs=1e-12)
        assert uncertainty < base * (1 - base) - least


def truth(spread: float) -> float:
    """The calibration error of N(μ, spread²) where N(μ, 1) occurs: the CRPS of the two distributions' difference."""
    z = np.linspace(-12, 12, 200_001)
    return float(np.trapezoid((norm.cdf(z) - norm.cdf(z / spread)) ** 2, z))


def test_the_interval_holds_on_both_sides() -> None:
    """The fit to all rows is too large on average, that without the row's fold too small: 30 samples of 100."""
    rng = np.random.default_rng(5)
    members = 0.5 * norm.ppf((np.arange(30) + 0.5) / 30)
    found = []
    for _ in range(30):
        mean = rng.normal(size=100)
        found.append(crps_decomposition(mean + rng.normal(size=100), mean[:, None] + members, max_thresholds=150))
    known = truth(0.5)
    inside = [each.interval("calibration_error")[0] <= known <= each.interval("calibration_error")[1] for each in found]
    assert sum(inside) >= 26
    assert np.mean([each.calibration_error for each in found]) > known
    held_out = [each.risk - each.held_out_refinement for each in found]
    assert np.mean(held_out) < known


def test_one_heavy_row_leaves_what_others_say_to_the_last_digit() -> None:
    """Held-out fits of its fold are those of the other rows, whatever it weighs."""
    rng = np.random.default_rng(5)
    y, x, fold = rng.normal(size=30), rng.normal(size=(30, 3)), np.arange(30) % 3
    values = np.unique(np.concatenate([y, x.ravel()]))
    x.sort(axis=1)

    def held_out(heavy: float) -> Any:
        weight = np.append(heavy, np.ones(29))
        forecasts = Forecasts(x, np.linspace(0, 1, 4), y, weight / weight.sum(), np.arange(30))
        return row_scores(forecasts, values[:-1], np.diff(values), fold).held_out[fold == 0]

    for heavy in (1e6, 1e13, 1e200):
        np.testing.assert_allclose(held_out(heavy), held_out(1.0), rtol=1e-12)
    spread = crps_decomposition(y, x, sample_weight=10.0 ** rng.uniform(-150, 150, 30))
    assert np.isfinite(list(spread.standard_errors.values())).all()
    lost = np.where(np.arange(30) < 3, 1e-300, 1e300)
    with pytest.warns(UserWarning, match="sample_weight at rows 0, 1, 2 is nothing beside the largest"):
        found = crps_decomposition(y, x, sample_weight=lost)
    assert found.risk == pytest.approx(crps_decomposition(y[3:], x[3:]).risk)
    assert found.n_samples == 27
