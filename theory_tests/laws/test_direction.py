"""Over- and under-confidence: parts of the calibration error that add up, and the mean gap.

Source: book, chapter "Over- and under-confidence".
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import propercal
from propercal._methods.signs import tilt_of
from propercal._results.kept_rows import OutwardRows
from propercal.simulation import TemperatureScaledSimplex
from propercal.testing.strategies import generators
from theory_tests.instances import NOTIONS, PLAIN_METHODS, calibrated, labels_of

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

few = settings(max_examples=max(4, settings().max_examples // 10))


def pairs(p: Any) -> Any:
    return np.stack([1 - p, p], axis=1)


def sigmoid(z: Any) -> Any:
    return 1 / (1 + np.exp(-z))


@few
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(20, 60),
    k=st.integers(2, 4),
    power=st.sampled_from((0.5, 1.0, 2.0)),
    notion=st.sampled_from(NOTIONS),
    weighted=st.booleans(),
    generator=st.sampled_from(("log", "brier")),
)
def test_parts_add_up(seed: int, n: int, k: int, power: float, notion: str, weighted: bool, generator: str) -> None:
    y, p = calibrated(n, k, seed, power=power)
    weight = np.random.default_rng(seed).uniform(0.5, 2, n) if weighted else None
    found = propercal.decompose(y, p, notion=notion, generator=generator, kernel=None, sample_weight=weight)
    parts, rows = found.direction(), found.contributions()
    assert parts.over_confidence + parts.under_confidence == pytest.approx(
        found.calibration_error, rel=1e-12, abs=1e-14
    )
    assert float((rows.over_confidence * rows.weight).sum()) == pytest.approx(
        parts.over_confidence, rel=1e-9, abs=1e-12
    )
    for name in ("over_confidence", "under_confidence"):
        low, high = parts.interval(name)
        inner = parts.interval(name, 0.5)
        assert 0 <= low <= inner[0] <= inner[1] <= high
    names = (k if notion != "top-label" else 1,)
    assert np.shape(parts.gap) == np.shape(parts.gap_errors) == names == np.shape(parts.classes)
    if notion != "top-label":
        assert sum(parts.gap) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("notion", NOTIONS)
def test_a_model_that_errs_in_one_direction_has_it_all_on_that_side(k: int, notion: str) -> None:
    """Of a temperature, with classes alike: r is nearer to the shares of the classes than g, everywhere."""
    y, sharp, true = TemperatureScaledSimplex(k).sample(600, random_state=1)
    dull = true**0.4 / (true**0.4).sum(axis=1, keepdims=True)
    for p, side, other in (
        (sharp, "over_confidence", "under_confidence"),
        (dull, "under_confidence", "over_confidence"),
    ):
        parts = propercal.decompose(y, p, notion=notion, kernel=None).direction()
        assert parts.interval(side)[0] > 0
        assert abs(getattr(parts, other)) < max(2 * parts.standard_errors[other], 1e-3)
        assert getattr(parts, side) > 10 * abs(getattr(parts, other))


@pytest.mark.parametrize("seed", range(5))
def test_nothing_is_left_where_all_of_it_is_on_one_side(seed: int) -> None:
    """Samples whose rows are all moved one way: not even rounding is left, a negative part outside of its interval."""
    y, p, _ = TemperatureScaledSimplex(2).sample(300 + seed, random_state=seed)
    found = propercal.decompose(
        y,
        p**3 / (p**3).sum(axis=1, keepdims=True),
        generator="brier",
        kernel=None,
        recalibrator=propercal.recalibration.TemperatureScaling(),
    )
    parts = found.direction()
    assert parts.standard_errors["under_confidence"] == 0
    assert parts.under_confidence == 0
    assert parts.interval("under_confidence")[0] == 0


def test_each_row_is_on_the_side_that_its_recalibration_says() -> None:
    y, p = calibrated(120, 3, 5, power=1.4)
    share = np.bincount(y, minlength=3) / len(y)
    found = propercal.decompose(y, p, kernel=None)
    rows = found.contributions()
    over = ((rows.recalibrated.values - p) * (p - share)).sum(axis=1) < 0
    np.testing.assert_allclose(rows.over_confidence, np.where(over, rows.calibration_error, 0), rtol=1e-12)
    found = propercal.decompose(y, p, kernel=None, notion="top-label")
    rows = found.contributions()
    np.testing.assert_allclose(
        rows.over_confidence, np.where(rows.recalibrated < p.max(axis=1), rows.calibration_error, 0), rtol=1e-12
    )


def test_class_by_class_each_part_is_the_mean_over_classes() -> None:
    y, p = calibrated(150, 3, 2, power=1.4)
    whole = propercal.decompose(y, p, notion="classwise", generator="brier").direction()
    alone = [propercal.decompose(y == i, p[:, i], generator="brier").direction() for i in range(3)]
    assert whole.over_confidence == pytest.approx(np.mean([each.over_confidence for each in alone]), rel=1e-6)
    assert whole.gap == pytest.approx([each.gap[1] for each in alone], rel=1e-9)


@few
@given(seed=st.integers(0, 2**32 - 1), k=st.integers(2, 4))
def test_the_names_of_classes_do_not_matter(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    y, p = calibrated(50, k, seed, power=1.5)
    order = rng.permutation(k)
    one, other = (
        propercal.decompose(a, b, kernel=None, generator="brier").direction()
        for a, b in ((y, p), (np.argsort(order)[y], p[:, order]))
    )
    # Fits end within 1e-8 of their optimum.
    assert other.over_confidence == pytest.approx(one.over_confidence, rel=1e-3, abs=1e-6)
    np.testing.assert_allclose(other.gap, np.array(one.gap)[order], atol=1e-12)
    np.testing.assert_allclose(other.gap_errors, np.array(one.gap_errors)[order], atol=1e-12)


@given(
    generator=generators(n_classes=2),
    points=st.lists(st.floats(0.01, 0.99), min_size=3, max_size=3),
)
def test_what_goes_to_the_wrong_side_is_no_more_than_the_error_of_the_recalibration(
    generator: Any, points: list[float]
) -> None:
    """Theorem: where g lies between r and r̂, D(r, g) ≤ D(r, r̂), for two classes and every convex F."""
    r, g, fitted = sorted(points)
    for a, b, c in ((r, g, fitted), (fitted, g, r)):
        near, far = (float(generator.divergence(pairs(np.array([a])), pairs(np.array([x])))[0]) for x in (b, c))
        scale = np.abs(generator.gradient(pairs(np.array([a, b, c])))).max()
        assert near <= far + 1e-12 * (1 + scale)


def test_rows_of_no_direction_are_shared() -> None:
    whole = OutwardRows(np.array([1.0, 2.0, np.inf, 4.0]), np.ones(4), np.ones(4), np.ones(4))
    over = OutwardRows.of(whole, np.array([-0.1, 0.0, 0.2, -3.0]))
    assert over.saved.tolist() == [1.0, 1.0, 0.0, 4.0]
    prob, centre = np.full((1, 2), 0.5), np.array([0.3, 0.7])
    assert tilt_of(prob, prob, centre).tolist() == [0.0]
    # Exchanged classes, and predictions that differ in one component only.
    g, r = np.array([[0.2, 0.8]]), np.array([[0.3, 0.7]])
    for one in (tilt_of(g, r, centre), tilt_of(g[:, ::-1], r[:, ::-1], centre[::-1])):
        assert one.tolist() == pytest.approx([-0.02])


def test_the_gap_is_that_of_the_means_with_the_error_of_rows_or_groups() -> None:
    y, p = calibrated(60, 3, power=1.5)
    weight = np.random.default_rng(0).uniform(0.5, 2, 60)
    weight /= weight.sum()
    parts = propercal.decompose(y, p, kernel=None, sample_weight=weight).direction()
    rows = p - np.eye(3)[y]
    mean = weight @ rows
    np.testing.assert_allclose(parts.gap, mean, atol=1e-14)
    np.testing.assert_allclose(parts.gap_errors, np.sqrt(weight**2 @ (rows - mean) ** 2 * 60 / 59), rtol=1e-12)
    half = 1.959963984540054 * np.array(parts.gap_errors)
    np.testing.assert_allclose(
        parts.gap_interval(), np.stack([mean - half, mean + half], axis=1), rtol=1e-9, atol=1e-14
    )
    groups = np.arange(60) // 2
    grouped = propercal.decompose(y, p, kernel=None, groups=groups).direction()
    sums = np.stack([np.bincount(groups, column) for column in (rows - rows.mean(axis=0)).T], axis=1) / 60
    np.testing.assert_allclose(grouped.gap_errors, np.sqrt((sums**2).sum(axis=0) * 30 / 29), rtol=1e-9)
    assert grouped.n_groups == 30
    top = propercal.decompose(y, p, kernel=None, notion="top-label").direction()
    assert top.gap == pytest.approx([(p.max(axis=1) - (p.argmax(axis=1) == y)).mean()])


def test_errors_by_group_are_those_of_groups() -> None:
    """Rows that are repeated, each with its repetitions as a group, say what they say once."""
    y, p = calibrated(80, 2, 3, power=1.5)
    once = propercal.decompose(y, p, generator="brier").direction()
    twice = propercal.decompose(
        np.repeat(y, 2), np.repeat(p, 2, axis=0), generator="brier", groups=np.repeat(np.arange(80), 2)
    ).direction()
    assert twice.over_confidence == pytest.approx(once.over_confidence, rel=1e-5)
    # The factor G / (G − 1) is in one part of an error, not in that of drawn labels.
    assert twice.standard_errors == pytest.approx(once.standard_errors, rel=5e-3)


def test_intervals_hold_what_is_true() -> None:
    """Over-confident on one side of 1/2 and under-confident on the other: 25 samples, of which 5 % may miss."""
    rng = np.random.default_rng(0)

    def drawn(n: int) -> tuple[Any, Any]:
        z = 2 * rng.standard_normal(n)
        return pairs(sigmoid(z)), pairs(sigmoid(np.where(z > 0, 0.5 * z, 1.5 * z)))

    g, r = drawn(200_000)
    tilt = ((r - g) * (g - r.mean(axis=0))).sum(axis=1)
    error = ((r - g) ** 2).sum(axis=1)
    truth = {"over_confidence": np.mean(error * (tilt < 0)), "under_confidence": np.mean(error * (tilt > 0))}
    missed = dict.fromkeys(truth, 0)
    for _ in range(25):
        g, r = drawn(300)
        parts = propercal.decompose(labels_of(r, rng), g, generator="brier", kernel=None).direction()
        for name, value in truth.items():
            low, high = parts.interval(name)
            missed[name] += not low <= value <= high
    # 6 or more of 25 at 5 % have a probability of 0.1 %.
    assert max(missed.values()) <= 5


def test_parts_of_what_cannot_be_split_are_refused() -> None:
    y, p = calibrated(40, 2)
    for method in PLAIN_METHODS:
        with pytest.raises(ValueError, match=rf"^method = '{method}': expected one that corrects its bias"):
            propercal.decompose(y, p, method=method).direction()
    q = p.copy()
    q[0] = np.eye(2)[1 - y[0]]
    with pytest.raises(ValueError, match=r"^calibration_error = inf: expected a finite one"):
        propercal.decompose(y, q).direction()
    parts = propercal.decompose(y, p).direction()
    with pytest.raises(ValueError, match=r"did you mean 'over_confidence'"):
        parts.interval("overconfidence")
    for call in (lambda level: parts.interval("over_confidence", level), parts.gap_interval):
        with pytest.raises(ValueError, match=r"^confidence_level"):
            call(1.0)


@pytest.mark.parametrize("notion", NOTIONS)
def test_the_text_and_the_dataset_say_what_the_numbers_are(notion: str) -> None:
    names = np.array(["<cat>", *(f"animal {i}" for i in range(7))])
    y, p = calibrated(90, 8)
    parts = propercal.decompose(names[y], p, labels=list(names), notion=notion, kernel=None).direction()
    said, html, found = str(parts), parts._repr_html_(), parts.to_xarray()
    assert f"{parts.over_confidence:.6g}" in said
    assert f"{parts.over_confidence:.6g}" in html
    assert "<cat>" not in html
    assert found.over_confidence_interval.to_numpy().tolist() == list(parts.interval("over_confidence"))
    assert found.gap.to_numpy().tolist() == list(parts.gap)
    assert found.gap_interval.shape == (len(parts.gap), 2)
    several = notion != "top-label"
    assert ("and 2 more gaps" in said) == several
    assert found["class"].to_numpy().tolist() == (list(names) if several else ["first choice is right"])
