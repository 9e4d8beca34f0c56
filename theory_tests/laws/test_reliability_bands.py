"""Bands of a reliability diagram hold at all predictions at once.

Source: Dimitriadis, Dümbgen, Henzi, Puke & Ziegel (2023); the proofs are in book/derivations/reliability.md.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

import propercal
from propercal.diagrams.confidence import Band, binomial_limits, bounded_limits, confidence_band
from propercal.diagrams.consistency import _PLACES, _Curves, consistency_band
from propercal.diagrams.curve import isotonic_curve
from propercal.diagrams.events import Event, read_event


def event_of(y: Any, p: Any, **options: Any) -> Event:
    return read_event(y, p, notion=None, event=None, **options)


def confidence(y: Any, p: Any, level: float = 0.95, **options: Any) -> Band:
    event = event_of(y, p, **options)
    return confidence_band(event, isotonic_curve(event), level)


# ------------------------------------------------------------------ the confidence band


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 5)), min_size=2, max_size=14), st.sampled_from([0.5, 0.95]))
@settings(max_examples=30)
def test_the_band_is_the_best_of_clopper_pearson_limits_of_all_intervals(rows: list[tuple[int, int]], level: float) -> None:
    y, p = np.array(rows).T
    band = confidence(y, p / 6, level)
    x = np.unique(p)
    m = len(x)
    upper, lower = np.ones(m), np.zeros(m)
    one_sided = 1 - (1 - level) / (m * (m + 1))
    for a in range(m):
        for b in range(a, m):
            inside = (p >= x[a]) & (p <= x[b])
            hits, n = int(y[inside].sum()), int(inside.sum())
            high = binomtest(hits, n, alternative="less").proportion_ci(one_sided, method="exact").high
            low = binomtest(hits, n, alternative="greater").proportion_ci(one_sided, method="exact").low
            upper[: a + 1] = np.minimum(upper[: a + 1], high)
            lower[b:] = np.maximum(lower[b:], low)
    np.testing.assert_allclose(band.upper, upper, atol=1e-9)
    np.testing.assert_allclose(band.lower, lower, atol=1e-9)


@given(st.integers(0, 40), st.integers(1, 40), st.sampled_from([0.2, 1e-3, 1e-6]))
def test_limits_of_bounded_means_are_where_chernoffs_bound_is_the_error(hits: int, size: int, error: float) -> None:
    """exp(−size KL(share, q)) = error at the limits, and they hold Clopper and Pearson's."""
    share, n = np.array([min(hits, size) / size]), np.array([float(size)])
    low, high = (float(each[0]) for each in bounded_limits(share, n, error))
    s = float(share[0])
    for q in (low, high):
        if 0 < q < 1:
            terms = [a * np.log(a / b) for a, b in ((s, q), (1 - s, 1 - q)) if a > 0]
            assert np.exp(-size * sum(terms)) == pytest.approx(error, rel=1e-6)
    exact = [float(each[0]) for each in binomial_limits(share, n, error)]
    assert low <= exact[0] + 1e-12
    assert exact[1] <= high + 1e-12


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8), st.sampled_from([0.2, 0.05, 1e-3]))
def test_limits_of_bins_hold_for_the_mean_of_unlike_probabilities(probabilities: list[float], error: float) -> None:
    """The number of events of unlike labels, by convolution: a limit misses the mean with error (1 + error) at most."""
    law = np.ones(1)
    for q in probabilities:
        law = np.convolve(law, [1 - q, q])
    n, mean = len(probabilities), float(np.mean(probabilities))
    low, high = binomial_limits(np.arange(n + 1) / n, np.full(n + 1, float(n)), error)
    for missed in (low > mean + 1e-12, high < mean - 1e-12):
        assert law[missed].sum() <= error * (1 + error) + 1e-12


def test_limits_of_bins_are_nearly_reached_by_one_unlike_label() -> None:
    """t = Σ (1 − q) just below −log(1 − error): the factor of 1 + error is about half used."""
    error, n = 0.2, 1000
    t = n * (1 - (1 - error) ** (1 / n))
    _, high = binomial_limits(np.array([(n - 1) / n]), np.array([float(n)]), error)
    assert high[0] == pytest.approx(1 - t / n, abs=1e-12)
    # One label of 1 - t, the others certain: the limit is missed with the probability t.
    assert error < t < error * (1 + error)


def mixed(n: int, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    p = rng.integers(0, 33, n) / 32
    return (rng.random(n) < 0.2 + 0.6 * p).astype(int), p


@pytest.mark.parametrize("weighted", [False, True])
def test_the_band_is_monotone_nested_and_mirrored(weighted: bool) -> None:
    y, p = mixed(300)
    options = {"sample_weight": np.random.default_rng(1).uniform(1, 3, 300)} if weighted else {}
    narrow, wide = (confidence(y, p, level, **options) for level in (0.5, 0.99))
    for band in (narrow, wide):
        assert (np.diff(band.lower) >= 0).all()
        assert (np.diff(band.upper) >= 0).all()
        assert (band.lower <= band.upper).all()
    assert (wide.lower <= narrow.lower).all()
    assert (wide.upper >= narrow.upper).all()
    mirrored = confidence(1 - y, 1 - p, 0.5, **options)
    np.testing.assert_allclose(mirrored.lower[::-1], 1 - narrow.upper, atol=1e-9)
    np.testing.assert_allclose(mirrored.upper[::-1], 1 - narrow.lower, atol=1e-9)


def test_units_are_what_is_independent() -> None:
    """Groups of one row are rows, for limits that heed groups; copies in a group are one row."""
    y, p = mixed(120)
    alone = confidence(y, p, sample_weight=np.where(np.arange(120) == 0, 1 + 1e-12, 1.0))
    grouped = confidence(np.repeat(y, 5), np.repeat(p, 5), groups=np.repeat(np.arange(120), 5))
    np.testing.assert_allclose(grouped.lower, alone.lower, atol=1e-6)
    np.testing.assert_allclose(grouped.upper, alone.upper, atol=1e-6)


@pytest.mark.parametrize("kind", ["independent", "weights", "groups"])
def test_the_band_holds_everywhere_for_monotone_means(kind: str) -> None:
    """At least 95 %: Bonferroni's bound is far from sharp, so that 200 samples have hardly a miss."""
    rng = np.random.default_rng(5)
    held = naive = 0
    for _ in range(200):
        p = rng.random(100)
        mean = 0.1 + 0.7 * (p > 0.4)
        if kind == "groups":
            # Five rows share their fate.
            group = np.argsort(np.argsort(p)) // 5
            y = (rng.random(20)[group] < mean).astype(int)
            options: dict[str, Any] = {"groups": group}
            naive += holds(confidence(y, p), p, mean)
        else:
            y = (rng.random(100) < mean).astype(int)
            options = {} if kind == "independent" else {"sample_weight": rng.exponential(size=100)}
        held += holds(confidence(y, p, **options), p, mean)
    assert held >= 190
    if kind == "groups":
        assert naive < 190


def every_label_set(mean: Any, pairs: bool) -> list[tuple[Any, float]]:
    """Labels with their probability: independent, or of neighbours that share their fate."""
    if not pairs:
        sets = itertools.product((0, 1), repeat=len(mean))
        return [(np.array(y), float(np.prod(np.where(y, mean, 1 - mean)))) for y in sets]
    of_pair = []
    for a, b in mean.reshape(-1, 2):
        of_pair.append([((1, 1), min(a, b)), ((int(a > b), int(b > a)), abs(a - b)), ((0, 0), 1 - max(a, b))])
    found = itertools.product(*of_pair)
    return [(np.array([y for each, _ in chosen for y in each]), float(np.prod([q for _, q in chosen]))) for chosen in found]


@settings(max_examples=12)
@given(st.integers(0, 2**32 - 1), st.booleans(), st.booleans())
def test_the_band_holds_over_all_label_sets_of_a_few_rows(seed: int, weighted: bool, pairs: bool) -> None:
    """No simulation: ties, means of 0 and 1, weights, and rows two of which share their fate."""
    rng = np.random.default_rng(seed)
    p = rng.choice([0.1, 0.3, 0.6, 0.9], 6)
    x, number = np.unique(p, return_inverse=True)
    true = np.sort(rng.choice([0.0, 0.02, 0.1, 0.5, 0.97, 1.0, rng.random()], len(x)))
    options = {"sample_weight": rng.choice([1.0, 2.0, 5.0], 6)} if weighted else {}
    missed = total = 0.0
    for y, probability in every_label_set(true[number], pairs):
        event = event_of(y, p, **options)
        if pairs:
            event = event._replace(groups=np.arange(6) // 2, n_groups=3)
        band = confidence_band(event, isotonic_curve(event), 0.5)
        total += probability
        missed += probability * (not ((band.lower <= true + 1e-12) & (true <= band.upper + 1e-12)).all())
    assert total == pytest.approx(1, abs=1e-12)
    assert missed <= 0.5


def holds(band: Band, p: Any, mean: Any) -> bool:
    true = mean[np.argsort(p)]
    return bool(((band.lower <= true) & (true <= band.upper)).all())


def test_labels_that_no_monotone_mean_explains_are_named() -> None:
    p = np.linspace(0, 1, 400)
    with pytest.warns(UserWarning, match="no non-decreasing"):
        found = propercal.reliability((p < 0.5).astype(int), p, pos_label=1, n_resamples=19)
    assert (found.confidence_lower > found.confidence_upper).any()


# ------------------------------------------------------------------ the consistency band


@pytest.mark.parametrize("kind", ["independent", "weights", "ties"])
def test_curves_of_calibrated_labels_lie_in_the_band_as_often_as_it_says(kind: str) -> None:
    """Of 1000 more label sets 80 %, but for the noise of these and of the 999 that made the band."""
    rng = np.random.default_rng(3)
    p = rng.beta(0.5, 0.5, 80)
    if kind == "ties":
        p = np.round(4 * p) / 4 * 0.8 + 0.1
    options = {"sample_weight": rng.exponential(size=80)} if kind == "weights" else {}
    event = event_of((rng.random(80) < p).astype(int), p, **options)
    curve = isotonic_curve(event)
    band = consistency_band(event, curve, 0.8, 999, rng)
    curves = _Curves(event, curve, np.arange(len(curve.prediction)), np.random.default_rng(17))
    inside = [bool(((band.lower <= c + 1e-12) & (c <= band.upper + 1e-12)).all()) for c in (curves.draw() for _ in range(1000))]
    error = 4 * np.sqrt(0.8 * 0.2 * (1 / 1000 + 1 / 999))
    assert np.mean(inside) == pytest.approx(0.8, abs=error)
    assert (band.lower <= curve.prediction + 1e-15).all()
    assert (curve.prediction <= band.upper + 1e-15).all()


@pytest.mark.parametrize("p", [0.3, 0.37, 0.5])
def test_a_curve_that_reaches_the_end_of_the_band_is_in_it(p: float) -> None:
    """Of one prediction the band ends at curves that are drawn often: rounding leaves none of them out."""
    event = event_of(np.arange(8) % 2, np.full(8, p))
    curve = isotonic_curve(event)
    drawn = np.arange(9) / 8
    ends = []
    for seed in range(20):
        band = consistency_band(event, curve, 0.8, 49, np.random.default_rng(seed))
        for end, inside in ((band.lower[0], drawn >= band.lower[0]), (band.upper[0], drawn <= band.upper[0])):
            near = np.abs(drawn - end) < 1e-9
            ends.append(bool(near.any()))
            assert inside[near].all()
    assert any(ends)


def test_the_band_of_many_predictions_is_kept_between_places() -> None:
    """Curves are monotone: at most the value at the next place, at least that at the one before."""
    rng = np.random.default_rng(0)
    p = np.sort(rng.random(1200))
    event = event_of((rng.random(1200) < p).astype(int), p)
    curve = isotonic_curve(event)
    band = consistency_band(event, curve, 0.9, 99, rng)
    places = np.unique(np.linspace(0, 1199, _PLACES).round().astype(int))
    before = [places[places <= i].max() for i in range(1200)]
    after = [places[places >= i].min() for i in range(1200)]
    np.testing.assert_array_equal(band.lower, band.lower[before])
    np.testing.assert_array_equal(band.upper, band.upper[after])
    assert (np.diff(band.lower[places]) >= 0).all()
    assert len(set(band.lower)) > _PLACES / 4
    assert len(set(band.upper)) > _PLACES / 4


def test_signs_of_groups_widen_the_band_as_much_as_groups_depend() -> None:
    """Ten copies of a row in a group: deviations √10 times those of independent rows."""
    rng = np.random.default_rng(1)
    p = np.tile(np.linspace(0.2, 0.8, 5), 40)
    y = (rng.random(200) < p).astype(int)
    copied: dict[str, Any] = {"n_resamples": 99, "groups": np.repeat(np.arange(200), 10)}
    widths = [
        float((found.consistency_upper - found.consistency_lower).mean())
        for found in (
            propercal.reliability(np.repeat(y, 10), np.repeat(p, 10), **copied),
            propercal.reliability(y, p, n_resamples=99),
            propercal.reliability(np.repeat(y, 10), np.repeat(p, 10), n_resamples=99),
        )
    ]
    assert widths[0] == pytest.approx(widths[1], rel=0.25)
    assert widths[2] == pytest.approx(widths[1] / np.sqrt(10), rel=0.25)
