"""What many families cost where none is needed, and what a kernel mean of unlike labels varies by.

Source: the loss difference of two predictions of which one is right has, to second order, the mean D and the
variance 2 D in nats; the variance of a mean of labels is the mean of their variances.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from propercal._array import log_softmax
from propercal._methods.candidates import all_residuals, corrected_variance, homogeneity
from propercal._methods.correction import correct
from propercal._methods.fold_sums import FoldSums
from propercal.generators import BregmanGenerator, Brier, Log, Spherical
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
