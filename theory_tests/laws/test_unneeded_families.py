"""What many families cost where none is needed, and what a kernel mean of unlike labels varies by.

Source: the loss difference of two predictions of which one is right has, to second order, the mean D and the
variance 2 D in nats; the variance of a mean of labels is the mean of their variances.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from propercal._array import log_softmax
from propercal._methods.candidates import all_residuals, corrected_variance, homogeneity
from propercal._methods.correction import correct
from propercal._methods.fold_sums import FoldSums
from propercal.generators import BregmanGenerator, Brier, Log, RankedProbability, Spherical
from propercal.recalibration import stacking
from propercal.recalibration.stacking import stacking_weights

K = 3


@pytest.mark.parametrize("generator", [Log(), Brier(), Spherical()], ids=repr)
def test_a_price_keeps_noise_out_of_a_stack(generator: BregmanGenerator) -> None:
    """Two nats of the whole sample are more than noise saves, and less than a family that is needed does."""
    rng = np.random.default_rng(8)
    n = 400
    g = rng.dirichlet([1.0] * K, n)
    weight = np.full(n, 1 / n)
    changed = [np.exp(log_softmax(np.log(g) + 0.15 * rng.standard_normal(K) * np.log(g))) for _ in range(8)]
    candidates = np.stack([g, *changed])

    def share(truth: Any, price: float) -> float:
        y = (rng.random(n)[:, None] > truth.cumsum(axis=1)).sum(axis=1)
        return 1 - float(stacking_weights(generator, candidates, np.eye(K)[y], weight, price)[0])

    free, priced = (np.mean([share(g, price) for _ in range(40)]) for price in (0.0, 2 / n))
    assert priced < 0.6 * free
    truth = np.exp(log_softmax(0.5 * np.log(g)))
    candidates = np.stack([g, truth])
    assert np.mean([share(truth, 2 / n) for _ in range(10)]) > 0.8


def test_a_price_is_in_units_of_the_loss() -> None:
    """Twice F, twice the loss: the same weights. For the log loss a nat is a nat."""
    rng = np.random.default_rng(9)
    g = rng.dirichlet([1.0] * K, 3000)
    y = (rng.random(3000)[:, None] > g.cumsum(axis=1)).sum(axis=1)
    outcome, weight = np.eye(K)[y], np.full(3000, 1 / 3000)
    candidates = np.exp([log_softmax(a * np.log(g)) for a in (1.0, 0.9, 1.1)])
    nats = stacking._nats(Log(), candidates, outcome, weight)
    np.testing.assert_allclose(nats, [0, 1, 1], rtol=0.15)
    for generator in (Log(), Brier()):
        one, two = (stacking_weights(f, candidates, outcome, weight, 2e-4) for f in (generator, 2 * generator))
        np.testing.assert_allclose(one, two, atol=1e-4)


@pytest.mark.parametrize("generator", [Log(), Brier(), Spherical(), RankedProbability()], ids=repr)
def test_a_nat_if_the_prediction_is_right_is_that_of_all_labels(generator: BregmanGenerator) -> None:
    """Half of variance over mean of what labels lose by the other prediction, by all 81 label sets of four rows."""
    rng = np.random.default_rng(11)
    right, other = rng.dirichlet([2.0] * K, (2, 4))
    weight = rng.dirichlet([3.0] * 4)
    label_sets = np.array(list(itertools.product(range(K), repeat=4)))
    probability = right[np.arange(4), label_sets].prod(axis=1)
    outcome = np.eye(K)[label_sets]
    lost = np.asarray(generator.loss(other[None], outcome)) - np.asarray(generator.loss(right[None], outcome))
    mean = probability @ (lost @ weight)
    variance = probability @ ((lost - mean) ** 2 @ weight)
    found = stacking._nat_if_right(generator, np.stack([right, other]), 1, weight)
    assert found == pytest.approx(variance / (2 * mean), rel=1e-12)
    # A class that is not drawn counts nothing: the same as two classes, one of them below all digits.
    right, other = (np.concatenate([each[:, :2], np.full((4, 1), 1e-300)], axis=1) for each in (right, other))
    right, other = (each / each.sum(axis=1, keepdims=True) for each in (right, other))
    least = stacking._nat_if_right(generator, np.stack([right, other]), 1, weight)
    right[:, 2] = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        assert stacking._nat_if_right(generator, np.stack([right, other]), 1, weight) == pytest.approx(least, rel=1e-12)


def test_a_nat_of_the_log_loss_is_one_to_second_order() -> None:
    rng = np.random.default_rng(12)
    right = rng.dirichlet([2.0] * K, 300)
    away = rng.standard_normal((300, K))
    for size in (1e-1, 1e-2, 1e-3):
        other = np.exp(log_softmax(np.log(right) + size * away))
        assert stacking._nat_if_right(Log(), np.stack([right, other]), 1, np.full(300, 1 / 300)) == pytest.approx(1, abs=size)


def test_a_nat_is_the_median_up_to_twice_what_it_would_be() -> None:
    """Saturated predictions that are wrong: seen, a nat would be as much as there is to save."""
    rng = np.random.default_rng(13)
    weight = np.full(200, 1 / 200)
    right = np.exp(log_softmax(12 * rng.standard_normal((200, K))))
    candidates = np.stack([right, *(np.exp(log_softmax(a * np.log(right))) for a in (0.5, 0.7, 0.9))])
    for y in (right.argmin(axis=1), right.argmax(axis=1)):
        outcome = np.eye(K)[y]
        lost = [np.asarray(Log().loss(each, outcome)) for each in candidates]
        apart = [weight @ np.asarray(Log().divergence(right, each)) for each in candidates]
        seen = [np.var(lost[0] - lost[i]) / (2 * apart[i]) for i in (1, 2, 3)]
        middle = 1 + int(np.argsort(seen)[1])
        most = stacking._LARGEST_EXCESS * stacking._nat_if_right(Log(), candidates, middle, weight)
        np.testing.assert_allclose(stacking._nats(Log(), candidates, outcome, weight)[1:], min(np.median(seen), most), rtol=1e-9)


@pytest.mark.parametrize("generator", [Log(), Brier()], ids=repr)
def test_the_variance_of_labels_that_are_not_alike_is_that_of_each(generator: BregmanGenerator) -> None:
    """V of a kernel mean of labels whose probabilities differ, against labels that are drawn."""
    rng = np.random.default_rng(10)
    n, prior = 60, 5.0
    base = rng.dirichlet([0.3] * K, n)
    kernel = rng.uniform(0.2, 1, n)
    target = base.mean(axis=0, keepdims=True)

    def found(label: Any) -> FoldSums:
        labels = np.stack([kernel @ (label == i) for i in range(K)])[None, None, :]
        columns = np.concatenate([kernel @ base, [kernel @ (base**2).sum(axis=1)]])
        return FoldSums(labels, np.array([[kernel @ kernel]]), columns[None])

    draws = (rng.random((4000, n, 1)) > base.cumsum(axis=1)[None, :, :-1]).sum(axis=2)
    expected = np.stack([kernel @ base, kernel @ base])[:1]
    corrected = []
    for label in draws:
        sums = found(label)
        corrected.append(correct(target, all_residuals(sums, sums.columns[:, :-1]), prior).prob[0])
    away = np.array(corrected) - np.mean(corrected, axis=0)
    truth = 0.5 * np.mean(np.sum(away * generator.hessian_times(np.mean(corrected, axis=0)[None], away), axis=1))
    sums = FoldSums(expected[:, None, :], np.array([[kernel @ kernel]]), found(draws[0]).columns)
    residuals = all_residuals(sums, sums.columns[:, :-1])
    alike = homogeneity(residuals, sums)
    v = corrected_variance(generator, correct(target, residuals, prior), np.zeros(1), alike)
    assert alike[0] < 0.7
    # One factor stands for all classes.
    assert v[0] == pytest.approx(truth, rel=0.15)
