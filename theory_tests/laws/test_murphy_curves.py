"""The integral of the Murphy curve is the score, for every weight that a loss has.

Source: Ehm, Gneiting, Jordan & Krüger (2016), theorem 1 and section 3.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import propercal
from propercal.diagrams.curve import isotonic_curve
from propercal.diagrams.elementary import elementary_scores, mean_elementary_scores
from propercal.diagrams.events import read_event
from propercal.diagrams.roc import roc_of
from theory_tests.laws.test_isotonic_curves import Sample, samples

Floats = npt.NDArray[np.float64]
#: Thresholds at predictions, and between them.
AT = np.arange(65) / 64


def pieces(sample: Sample) -> list[tuple[float, float, float, float]]:
    """Intervals between predictions with intercept and slope of the curve, which is linear in each."""
    edges = np.unique(np.concatenate([[0.0], sample.p, [1.0]]))
    found = []
    for a, b in pairwise(edges.tolist()):
        at = np.array([a + (b - a) / 3, b - (b - a) / 3])
        low, high = propercal.murphy(sample.y, sample.p, thresholds=at, sample_weight=sample.times).score.values[0]
        slope = (high - low) / (at[1] - at[0])
        found.append((a, b, low - slope * at[0], slope))
    return found


@given(samples(least=1))
@settings(max_examples=25)
def test_the_integral_of_the_curve_is_the_score(sample: Sample) -> None:
    r"""∫ (c + s θ) 4 dθ for the Brier score of both classes; for the log loss, of ∫ (c + s θ) / (θ (1 − θ)) dθ
    the antiderivative is c log θ − (c + s) log(1 − θ), with c = 0 at 0 and c + s = 0 at 1."""
    y, p, times = sample
    brier = log = 0.0
    for a, b, c, s in pieces(sample):
        brier += 4 * (b - a) * (c + s * (a + b) / 2)
        if a > 0:
            log += c * np.log(b / a)
        if b < 1:
            log -= (c + s) * np.log((1 - b) / (1 - a))
    assert brier == pytest.approx(np.average(2 * (y - p) ** 2, weights=times), abs=1e-12)
    assert log == pytest.approx(np.average(-np.log(np.where(y == 1, p, 1 - p)), weights=times), abs=1e-11)


@given(samples(), st.lists(st.integers(0, 32), min_size=1, max_size=6))
def test_means_from_sorted_sums_are_means_over_rows(sample: Sample, places: list[int]) -> None:
    """And a row's score is θ for a false alarm, 1 − θ for a miss, half of it at p = θ."""
    at = np.array(places) / 32
    rows = elementary_scores(sample.p, sample.y == 1, at)
    for row, (y, p) in zip(rows, zip(sample.y, sample.p, strict=True), strict=True):
        for found, theta in zip(row, at, strict=True):
            cost = (theta if p >= theta else 0) if y == 0 else (1 - theta if p <= theta else 0)
            assert found == (cost / 2 if p == theta else cost)
    weight = sample.times / sample.times.sum()
    found = mean_elementary_scores(sample.p, sample.y == 1, weight, at)
    np.testing.assert_allclose(found, weight @ rows, atol=1e-14)


@given(samples(), st.lists(st.integers(0, 8), min_size=17, max_size=17))
@settings(max_examples=25)
def test_no_monotone_recalibration_undercuts_the_isotonic_one_at_any_threshold(sample: Sample, steps: list[int]) -> None:
    other = np.cumsum(steps) / max(sum(steps), 1)
    moved = other[np.rint(16 * sample.p).astype(int)]
    y, p, times = sample
    found, other_ = (propercal.murphy(y, each, thresholds=AT, sample_weight=times) for each in (p, moved))
    best = found.recalibrated.values[0]
    for above in (found.score.values[0], other_.score.values[0], found.uncertainty.values):
        assert (above >= best - 1e-13).all()


@given(samples())
def test_the_other_event_mirrors_the_curve(sample: Sample) -> None:
    y, p, times = sample
    found, mirrored = (propercal.murphy(*each, sample_weight=times) for each in ((y, p), (1 - y, 1 - p)))
    np.testing.assert_allclose(mirrored.score.values[:, ::-1], found.score.values, atol=1e-14)
    copies = propercal.murphy(np.repeat(y, times), np.repeat(p, times))
    np.testing.assert_allclose(copies.score, found.score, atol=1e-14)


def test_equal_models_do_not_differ() -> None:
    rng = np.random.default_rng(0)
    p = rng.random(50)
    found = propercal.murphy(rng.integers(0, 2, 50), {"a": p, "b": p.copy()})
    assert not found[["difference", "difference_lower", "difference_upper"]].to_array().any()


@pytest.mark.parametrize("grouped", [False, True])
def test_the_band_of_a_difference_holds_at_all_thresholds(grouped: bool) -> None:
    """Of 150 samples 95 % by the central limit theorem, less four standard errors."""
    rng = np.random.default_rng(2)
    at = np.arange(1, 10) / 10
    truth = expected_difference(at)
    held = 0
    for _ in range(150):
        p = rng.random(60 if grouped else 300)
        y = (rng.random(len(p)) < p).astype(int)
        copies = 5 if grouped else 1
        groups = np.repeat(np.arange(60), 5) if grouped else None
        models = {"calibrated": np.repeat(p, copies), "over": np.repeat(sharper(p), copies)}
        found = propercal.murphy(np.repeat(y, copies), models, thresholds=at, groups=groups)
        held += bool(((found.difference_lower <= truth) & (truth <= found.difference_upper)).all())
    assert held / 150 >= 0.95 - 4 * np.sqrt(0.05 * 0.95 / 150)


def test_copies_in_a_group_are_one_row() -> None:
    """The band is that of the rows, but for the noise of 10 000 draws; without groups it is narrower."""
    rng = np.random.default_rng(4)
    p = rng.random(400)
    y = (rng.random(400) < p).astype(int)
    models = {"calibrated": p, "over": sharper(p)}
    copies = {name: np.repeat(each, 5) for name, each in models.items()}
    rows, grouped, naive = (
        found.difference_upper - found.difference_lower
        for found in (
            propercal.murphy(y, models),
            propercal.murphy(np.repeat(y, 5), copies, groups=np.repeat(np.arange(400), 5)),
            propercal.murphy(np.repeat(y, 5), copies),
        )
    )
    np.testing.assert_allclose(grouped, rows, rtol=0.03)
    assert (naive < 0.6 * rows).all()


def sharper(p: Floats) -> Floats:
    return np.clip(1.5 * p - 0.25, 0, 1)


def expected_difference(at: Floats) -> Floats:
    """E S_θ(p, Y) − S_θ(sharper(p), Y) for p uniform and P(Y = 1) = p: they differ for p between θ and the p
    whose sharper is θ, t = (θ + 0.25) / 1.5, where acting instead of not changes the regret by θ − p."""
    t = (at + 0.25) / 1.5
    found: Floats = (t - at) * at - (t**2 - at**2) / 2
    return found


@given(samples())
def test_the_area_below_the_roc_is_the_share_of_pairs_in_order(sample: Sample) -> None:
    y, p, times = sample
    event = read_event(y, p, notion=None, event=None, sample_weight=times)
    curve = isotonic_curve(event)
    raw, hull = (roc_of(event, curve, hull=each) for each in (False, True))
    if len(set(y.tolist())) < 2:
        assert raw is None is hull
        return
    assert raw is not None is not hull
    assert hull is not None
    order = (np.sign(p[y == 1][:, None] - p[y == 0]) + 1) / 2
    share: Any = times[y == 1] @ order @ times[y == 0] / times[y == 1].sum() / times[y == 0].sum()
    assert raw.area == pytest.approx(share, abs=1e-13)
    assert hull.area >= raw.area - 1e-13
    # Concave: the slopes fall.
    dx, dy = np.diff(hull.false_alarms), np.diff(hull.hits)
    assert (dy[:-1] * dx[1:] - dy[1:] * dx[:-1] >= -1e-13).all()
    above = np.interp(raw.false_alarms, hull.false_alarms, hull.hits)
    assert (np.maximum(above, raw.hits) - raw.hits >= -1e-13).all()
