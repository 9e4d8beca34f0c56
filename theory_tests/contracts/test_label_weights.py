"""Weights that depend on the label: tests and bands keep their level, or say why they cannot.

Oracle: rows of a calibrated population, of which those of class 0 are kept one in ten and weigh 10. The label of a row
that was kept is y with probability (g_y / w_y) / Σ_i g_i / w_i, so that the weighted sample is calibrated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from propercal import calibration_test, decompose, expected_calibration_error, reliability, spiegelhalter_test
from propercal._data.predictions.class_weights import class_weights
from propercal._data.predictions.predictions import validate

Sample = tuple[Any, Any, Any]


def kept(seed: int, k: int = 2, n: int = 200, base: float = 0.7, sharper: float = 1.0) -> Sample:
    """Labels, predictions and weights of rows that were kept."""
    rng = np.random.default_rng(seed)
    if k == 2:
        positive = rng.beta(4 * base, 4 * (1 - base), 12 * n).clip(1e-3, 1 - 1e-3)
        g = np.stack([1 - positive, positive], axis=1)
    else:
        g = rng.dirichlet(np.ones(k), 12 * n)
    y = (rng.uniform(size=(len(g), 1)) > g.cumsum(axis=1)).sum(axis=1).clip(0, k - 1)
    rate = np.where(np.arange(k) == 0, 0.1, 1.0)
    rows = np.flatnonzero(rng.uniform(size=len(g)) < rate[y])[:n]
    p = g[rows] ** sharper
    return y[rows], p / p.sum(axis=1, keepdims=True), 1 / rate[y[rows]]


@pytest.mark.parametrize(("notion", "k"), [("canonical", 2), ("top-label", 2), ("classwise", 3), ("canonical", 3), ("top-label", 3)])
def test_the_level_is_kept_under_weights_of_classes(notion: str, k: int) -> None:
    """Of 100 independent samples, 14 p-values of 0.05 or less have a probability of 0.0005 at that level.

    Labels drawn from g with the weights of the rows gave 31 of 100 for two classes.
    """
    found = []
    for seed in range(100):
        y, p, w = kept(seed, k)
        found.append(calibration_test(y, p, sample_weight=w, notion=notion, generator="brier", n_resamples=99, random_state=seed).pvalue)
    assert sum(value <= 0.05 for value in found) < 14
    # And not because it never rejects: p-values are spread evenly.
    assert 0.3 < np.mean(found) < 0.7


@pytest.mark.parametrize("notion", ["canonical", "classwise", "top-label"])
def test_overconfidence_is_found_under_weights_of_classes(notion: str) -> None:
    found = []
    for seed in range(5):
        y, p, w = kept(seed, n=600, base=0.5, sharper=2.5)
        found.append(calibration_test(y, p, sample_weight=w, notion=notion, n_resamples=99, random_state=0).pvalue)
    assert max(found) <= 0.05


def test_labels_are_drawn_as_they_were_sampled() -> None:
    y, p, w = kept(0, 3)
    found = class_weights(validate(y, p, sample_weight=w))
    assert found is not None
    expected = p / np.array([10.0, 1.0, 1.0])
    drawn = np.asarray(found.prob)
    np.testing.assert_allclose(drawn / drawn.sum(1, keepdims=True), expected / expected.sum(1, keepdims=True), rtol=1e-12)
    np.testing.assert_allclose(found.of_class / found.of_class[1], [10, 1, 1], rtol=1e-12)
    # A class that does not occur is not drawn: its weight is not known.
    some = y != 2
    found = class_weights(validate(y[some], p[some], sample_weight=w[some]))
    assert found is not None
    assert (np.asarray(found.prob)[:, 2] == 0).all()


def test_equal_weights_and_weights_of_the_features_change_nothing_in_the_draws() -> None:
    y, p, _ = kept(0)
    assert class_weights(validate(y, p, sample_weight=np.full(len(y), 3.0))) is None
    assert class_weights(validate(y, p, sample_weight=1 + p[:, 1])) is None
    assert class_weights(validate(y, p, sample_weight=np.random.default_rng(0).uniform(0.1, 5, len(y)))) is None
    unweighted = calibration_test(y, p, random_state=0, n_resamples=99)
    weighted = calibration_test(y, p, random_state=0, n_resamples=99, sample_weight=np.full(len(y), 3.0))
    assert unweighted.components == pytest.approx(weighted.components, rel=1e-9)


@pytest.mark.parametrize("notion", ["canonical", "classwise", "top-label"])
@pytest.mark.parametrize("seed", range(5))
def test_other_weights_of_the_label_are_refused(seed: int, notion: str) -> None:
    y, p, w = kept(seed)
    noise = np.random.default_rng(seed).uniform(0.5, 2, len(y))
    with pytest.raises(ValueError, match=r"^sample_weight = weights that depend on the label .*one weight for each class"):
        calibration_test(y, p, sample_weight=w * noise, notion=notion)
    # A decomposition needs no draws.
    assert np.isfinite(decompose(y, p, sample_weight=w * noise, notion=notion, method="risk", bandwidth=0.1).risk)


def test_weights_of_several_labels_a_row_are_refused_too() -> None:
    rng = np.random.default_rng(0)
    p = rng.uniform(0.05, 0.95, (300, 3))
    y = (rng.uniform(size=p.shape) < p).astype(int)
    calibration_test(y, p, notion="classwise", sample_weight=rng.uniform(1, 2, 300), n_resamples=9)
    with pytest.raises(ValueError, match="sample_weight = weights that depend on the label"):
        calibration_test(y, p, notion="classwise", sample_weight=1 + 5.0 * y[:, 0], n_resamples=9)


def calibrated(seed: int, n: int = 400) -> tuple[Any, Any]:
    """Labels that are drawn from the predictions."""
    rng = np.random.default_rng(seed)
    p = rng.uniform(size=n)
    return (rng.uniform(size=n) < p).astype(int), p


#: Weights that are larger for one label below 1/2, and for the other above.
OF_ERRORS: dict[str, Callable[[Any, Any], Any]] = {
    "absolute": lambda y, p: 1 + np.abs(p - y),
    "focal": lambda y, p: np.abs(p - y) ** 2 + 1e-9,
    "wrong": lambda y, p: 1.0 + (np.abs(p - y) > 0.5),
}


@pytest.mark.parametrize("kind", OF_ERRORS)
@pytest.mark.parametrize("seed", range(5))
def test_weights_of_errors_are_refused(seed: int, kind: str) -> None:
    """E[w (Y - p) | p] = p (1 - p) (w(1, p) - w(0, p)) is not 0, though its mean over p is: p and 1 - p are as frequent."""
    y, p = calibrated(seed)
    with pytest.raises(ValueError, match="sample_weight = weights that depend on the label"):
        calibration_test(y, p, sample_weight=OF_ERRORS[kind](y, p), n_resamples=9)


@pytest.mark.parametrize("seed", range(5))
def test_weights_of_errors_times_chance_are_refused(seed: int) -> None:
    """Chance that the weights are multiplied by does not change E[w (Y - p) | p] but for a factor."""
    y, p = calibrated(seed, 1000)
    noise = np.exp(0.3 * np.random.default_rng(seed + 100).normal(size=len(y)))
    with pytest.raises(ValueError, match="sample_weight = weights that depend on the label"):
        calibration_test(y, p, sample_weight=(1 + np.abs(p - y)) * noise, n_resamples=9)


#: Weights that the predictions determine, or chance.
OF_FEATURES: dict[str, Callable[[Any, Any], Any]] = {
    "step": lambda p, rng: np.where(p > 0.5, 3.0, 1.0),
    "steps": lambda p, rng: 1 + np.floor(10 * p),
    "steep": lambda p, rng: np.exp(5 * p),
    "long tails": lambda p, rng: np.exp(2 * rng.normal(size=len(p))),
    "rare": lambda p, rng: np.where(rng.uniform(size=len(p)) < 0.05, 10.0, 1.0),
}


@pytest.mark.parametrize("kind", OF_FEATURES)
def test_weights_of_features_and_of_chance_are_taken(kind: str) -> None:
    """Of steps the logarithms are equal, but for rounding, which differs where predictions do, and so labels."""
    for seed in range(40):
        y, p = calibrated(seed)
        weight = OF_FEATURES[kind](p, np.random.default_rng(1000 + seed))
        assert class_weights(validate(y, p, sample_weight=weight)) is None


def test_the_level_of_spiegelhalter_is_kept_under_weights_of_classes() -> None:
    """Of 200 samples, 22 p-values of 0.05 or less have a probability of 0.0006 at that level; it was one in five."""
    samples = (kept(seed, k) for k in (2, 3) for seed in range(100))
    found = [spiegelhalter_test(y, p, sample_weight=w).pvalue for y, p, w in samples]
    assert sum(value <= 0.05 for value in found) < 22
    assert 0.4 < np.mean(found) < 0.6


@pytest.mark.parametrize(("kind", "k"), [("top-label", 2), ("top-label", 3), ("classwise", 3), pytest.param("smooth", 2, marks=pytest.mark.slow)])
def test_the_level_of_an_expected_calibration_error_is_kept_under_weights_of_classes(kind: str, k: int) -> None:
    """Labels drawn from g with the weights of the rows gave 30 of 100; at the level, 14 have a probability of 0.0005."""
    found = []
    for seed in range(100):
        y, p, w = kept(seed, k)
        of_rows = expected_calibration_error(y, p, sample_weight=w, kind=kind, n_resamples=99, n_bins=5)
        found.append(of_rows.if_calibrated.pvalue)
    assert sum(value <= 0.05 for value in found) < 14
    assert 0.3 < np.mean(found) < 0.7


@pytest.mark.parametrize("kind", ["top-label", "classwise", "smooth"])
@pytest.mark.parametrize("k", [2, 3])
def test_an_expected_calibration_error_itself_takes_weights_as_they_are(kind: str, k: int) -> None:
    """Weights that are nearly those of classes take the other way, whose weights are of rows."""
    y, p, w = kept(0, k)
    found = expected_calibration_error(y, p, sample_weight=w, kind=kind, n_resamples=9)
    with pytest.warns(UserWarning, match=r"^sample_weight has weights that depend on the label .*`if_calibrated` holds for"):
        of_rows = expected_calibration_error(y, p, sample_weight=w * (1 + 1e-9 * np.arange(len(y))), kind=kind, n_resamples=9)
    assert found.value == pytest.approx(of_rows.value, rel=1e-5)


def test_bands_of_a_diagram_keep_their_level_under_weights_of_classes() -> None:
    """Of 40 samples, 9 beyond a band of 95 % have a probability of 0.0002; it was 15 and 36.

    In a bin the event has g / (g + 10 (1 - g)) of the rows that were kept, and exact limits of their mean say those of
    the odds that are ten times less.
    """
    beyond = dict.fromkeys(("consistency", "confidence", "bin"), 0)
    for seed in range(40):
        y, p, w = kept(seed)
        found = reliability(y, p, sample_weight=w, n_resamples=99, n_bins=5)
        g, curve = found.prediction.values, found.curve.values
        outside = (curve < found.consistency_lower.values) | (curve > found.consistency_upper.values)
        beyond["consistency"] += int(outside.any())
        beyond["confidence"] += int(((found.confidence_lower.values > g) | (found.confidence_upper.values < g)).any())
        positive = p[:, 1]
        share = positive / (positive + (1 - positive) / 10)
        part = np.minimum((positive * 5).astype(int), 4)
        mean = np.array([share[part == i].mean() for i in np.unique(part)])
        truth = mean / (mean + 10 * (1 - mean))
        beyond["bin"] += int(((found.bin_lower.values > truth) | (found.bin_upper.values < truth)).any())
    assert max(beyond.values()) < 9, beyond
    assert "Chernoff" not in found.attrs["confidence_band"]
    assert ((found.bin_lower <= found.bin_frequency) & (found.bin_frequency <= found.bin_upper)).all()


def test_the_band_of_one_of_three_classes_is_that_of_two() -> None:
    """All but class 0 weigh alike: the event is one of two, whose limits are exact."""
    y, p, w = kept(0, 3)
    three = reliability(y, p, sample_weight=w, event=0, n_resamples=19)
    two = reliability(y == 0, p[:, 0], sample_weight=w, n_resamples=19)
    for name in ("confidence_lower", "confidence_upper", "bin_lower", "bin_upper"):
        np.testing.assert_allclose(three[name], two[name], rtol=1e-12)


def test_bands_that_do_not_allow_for_weights_are_said() -> None:
    y, p, w = kept(0, 3)
    with pytest.warns(UserWarning, match=r"^sample_weight has a weight for each class, which the confidence band allows for where"):
        reliability(y, p, sample_weight=w, n_resamples=19)
    noise = np.random.default_rng(0).uniform(0.5, 2, len(y))
    with pytest.warns(UserWarning, match=r"^sample_weight has weights that depend on the label .*each band holds for"):
        reliability(y, p, sample_weight=w * noise, event=0, n_resamples=19)
    with pytest.raises(ValueError, match=r"^sample_weight = weights that depend on the label "):
        spiegelhalter_test(y, p, sample_weight=w * noise)
    # Weights of the features, and groups, are as before, without a word.
    reliability(y, p, sample_weight=noise, event=0, n_resamples=19)
    reliability(y, p, sample_weight=w, event=0, n_resamples=19, groups=np.arange(len(y)) // 2)
