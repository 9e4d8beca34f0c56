"""Weights that depend on the label: the test of calibration keeps its level, or says why it cannot.

Oracle: rows of a calibrated population, of which those of class 0 are kept one in ten and weigh 10. The label of a row
that was kept is y with probability (g_y / w_y) / Σ_i g_i / w_i, so that the weighted sample is calibrated.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from propercal import calibration_test, decompose
from propercal._data.predictions import validate
from propercal.inference.class_weights import class_weights

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
OF_ERRORS = {
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


#: Weights that the predictions determine, or chance.
OF_FEATURES = {
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
