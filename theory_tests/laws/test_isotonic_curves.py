"""The isotonic curve is the best non-decreasing function of the predictions, whatever the loss.

Source: Dimitriadis, Gneiting & Jordan (2021), theorems 1 and 2; Barlow et al. (1972), the max-min formula.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import propercal
from propercal.diagrams.curve import isotonic_curve
from propercal.diagrams.events import read_event

Floats = npt.NDArray[np.float64]
PARTS = ("score", "miscalibration", "discrimination", "uncertainty")


class Sample(NamedTuple):
    """Labels, predictions in sixteenths (so that 1 − p is exact), and whole weights."""

    y: npt.NDArray[np.int64]
    p: Floats
    times: npt.NDArray[np.int64]


@st.composite
def samples(draw: st.DrawFn, least: int = 0) -> Sample:
    n = draw(st.integers(2, 12))
    rows = st.tuples(st.integers(0, 1), st.integers(least, 16 - least), st.integers(1, 3))
    y, p, times = np.array(draw(st.lists(rows, min_size=n, max_size=n))).T
    # Sure of what never occurs, of this event or the other: refused, as a softmax over one column.
    assume((y.any() or (p < 16).any()) and (not y.all() or p.any()))
    return Sample(y, p / 16, times)


def curve_of(y: Any, p: Any, **options: Any) -> tuple[Floats, Floats]:
    """The distinct predictions, and the curve there."""
    curve = isotonic_curve(read_event(y, p, notion=None, event=None, **options))
    return curve.prediction, curve.value


@given(samples())
def test_the_curve_is_the_max_min_of_means(sample: Sample) -> None:
    """c(x) = max over a ≤ x of min over b ≥ x of the mean label from a to b, in fractions."""
    x, value = curve_of(sample.y, sample.p, sample_weight=sample.times)
    hits = [sum(Fraction(int(w)) for y, p, w in zip(*sample, strict=True) if p == at and y) for at in x]
    total = [sum(Fraction(int(w)) for p, w in zip(sample.p, sample.times, strict=True) if p == at) for at in x]
    m = len(x)
    best = [
        max(min(sum(hits[a : b + 1]) / sum(total[a : b + 1]) for b in range(i, m)) for a in range(i + 1))
        for i in range(m)
    ]
    np.testing.assert_allclose(value, [float(each) for each in best], atol=1e-14)


@given(samples())
def test_the_curve_is_monotone_and_the_frequency_on_each_block(sample: Sample) -> None:
    event = read_event(sample.y, sample.p, notion=None, event=None, sample_weight=sample.times)
    curve = isotonic_curve(event)
    assert (np.diff(curve.value) >= 0).all()
    assert set(curve.block) == set(range(curve.block[-1] + 1))
    block = curve.block[curve.number]
    for i in range(curve.block[-1] + 1):
        frequency = np.average(sample.y[block == i], weights=sample.times[block == i])
        np.testing.assert_allclose(curve.value[curve.block == i], frequency, atol=1e-14)
    # The curve of its own values is itself.
    values = curve.value[curve.number]
    again, same = curve_of(sample.y, values, sample_weight=sample.times)
    np.testing.assert_allclose(same, again, atol=1e-14)


@given(samples(), st.sampled_from(["log", "brier", "spherical"]))
@settings(max_examples=30)
def test_the_parts_add_up_to_the_score_and_are_not_negative(sample: Sample, generator: str) -> None:
    found = propercal.isotonic_decomposition(sample.y, sample.p, generator=generator, sample_weight=sample.times)
    score, miscalibration, discrimination, uncertainty = (found[part].item() for part in PARTS)
    if np.isfinite(score):
        assert miscalibration - discrimination + uncertainty == pytest.approx(score, abs=1e-13)
    else:
        assert miscalibration == np.inf
    assert miscalibration >= -1e-13
    assert discrimination >= -1e-13
    assert np.isfinite([discrimination, uncertainty]).all()


@given(samples(least=1))
def test_the_scores_are_those_of_their_formulas(sample: Sample) -> None:
    """−log p(y), and (y − p)² of both classes, of the predictions, of the curve, and of the base rate."""
    y, p, times = sample
    x, value = curve_of(y, p, sample_weight=times)
    base = np.full(len(y), np.average(y, weights=times))
    given_to = [np.where(y == 1, q, 1 - q) for q in (p, value[np.searchsorted(x, p)], base)]
    with np.errstate(divide="ignore"):
        losses = {"log": [-np.log(q) for q in given_to], "brier": [2 * (1 - q) ** 2 for q in given_to]}
    for generator, of in losses.items():
        of_p, of_c, of_base = (np.average(each, weights=times) for each in of)
        found = propercal.isotonic_decomposition(y, p, generator=generator, sample_weight=times)
        expected = [of_p, of_p - of_c, of_base - of_c, of_base]
        np.testing.assert_allclose([found[part].item() for part in PARTS], expected, atol=1e-13)


@given(samples(least=1), st.lists(st.integers(0, 8), min_size=17, max_size=17))
@settings(max_examples=25)
def test_no_other_monotone_recalibration_has_a_lower_loss(sample: Sample, steps: list[int]) -> None:
    other = (np.cumsum(steps) + 1) / (sum(steps) + 2)
    moved = other[np.rint(16 * sample.p).astype(int)]
    for generator in ("log", "spherical"):
        before, after = (
            propercal.isotonic_decomposition(sample.y, p, generator=generator, sample_weight=sample.times)
            for p in (sample.p, moved)
        )
        best = before["score"].item() - before["miscalibration"].item()
        assert after["score"].item() >= best - 1e-13


@given(samples(), st.randoms(use_true_random=False))
def test_neither_order_nor_copies_nor_the_name_of_the_event_matter(sample: Sample, random: Any) -> None:
    y, p, times = sample
    x, value = curve_of(y, p, sample_weight=times)
    order = random.sample(range(len(y)), len(y))
    for other in (
        curve_of(y[order], p[order], sample_weight=times[order]),
        curve_of(np.repeat(y, times), np.repeat(p, times)),
        curve_of(y, p, sample_weight=0.3 * times),
    ):
        np.testing.assert_array_equal(other[0], x)
        np.testing.assert_allclose(other[1], value, atol=1e-14)
    mirrored = curve_of(1 - y, 1 - p, sample_weight=times)
    np.testing.assert_array_equal(mirrored[0], 1 - x[::-1])
    np.testing.assert_allclose(mirrored[1], 1 - value[::-1], atol=1e-14)


def test_equal_predictions_leave_one_block() -> None:
    x, value = curve_of([0, 1, 1, 0, 1], [0.3] * 5)
    assert (x.tolist(), value.tolist()) == ([0.3], [0.6])
