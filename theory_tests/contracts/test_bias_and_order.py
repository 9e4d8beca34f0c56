"""A model that is biased for some classes is told from one whose columns stand in another order."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest

from propercal._data.classes.biased_classes import BIAS, CHANCE, Columns
from propercal._data.predictions.predictions import validate


def logarithms(logits: Any) -> Any:
    top = logits.max(axis=1, keepdims=True)
    return logits - top - np.log(np.exp(logits - top).sum(axis=1, keepdims=True))


def gain(log_prob: Any, label: Any, order: Any) -> float:
    rows = np.arange(len(label))
    return float((log_prob[rows, order[label]] - log_prob[rows, label]).sum())


def test_a_constant_of_a_class_changes_nothing_but_the_gain() -> None:
    rng = np.random.default_rng(0)
    logits, label, order = rng.normal(size=(50, 4)), rng.integers(4, size=50), np.array([2, 0, 3, 1])
    counts, constants = np.bincount(label), np.array([0.3, -2, 1, 0])
    plain, biased = (logarithms(logits + each) for each in (0, constants))
    found = [Columns.of(each, counts).standardised(order, gain(each, label, order)) for each in (plain, biased)]
    assert found[0] == pytest.approx(found[1], rel=1e-10)


def test_its_variance_is_that_of_labels_dealt_in_all_orders() -> None:
    """Of n rows the formula is (n − 1) / n times that of all n! orders (Hoeffding, 1951)."""
    rng = np.random.default_rng(1)
    label, order = np.array([0, 0, 1, 1, 1, 2, 2]), np.array([1, 2, 0])
    log_prob, n = logarithms(rng.normal(size=(7, 3))), 7
    sums = Columns.of(log_prob, np.bincount(label))
    dealt = [gain(log_prob, label[list(each)], order) for each in itertools.permutations(range(n))]
    # Half of the rows in any order have a sum of 0 on average.
    deviation = np.std(dealt) * np.sqrt((n - 1) / n)
    for each in (label, label[::-1]):
        wanted = (gain(log_prob, each, order) - np.mean(dealt)) / deviation
        assert sums.standardised(order, gain(log_prob, each, order)) == pytest.approx(wanted, rel=1e-10)


def test_no_constants_explain_more() -> None:
    rng = np.random.default_rng(2)
    logits, label = rng.normal(size=(60, 4)), rng.choice(4, size=60, p=[0.6, 0.2, 0.15, 0.05])
    counts = np.bincount(label, minlength=4)
    for order in map(np.array, itertools.permutations(range(4))):
        plain = logarithms(logits)
        bound = Columns.of(plain, counts).explained(order)
        found = [gain(logarithms(logits + np.array(each)), label, order) - gain(plain, label, order) for each in itertools.product((0, BIAS), repeat=4)]
        assert max(found) == pytest.approx(bound, abs=1e-9)


def test_columns_that_do_not_vary_tell_nothing() -> None:
    sums = Columns.of(np.log(np.tile([0.7, 0.2, 0.1], (40, 1))), np.array([5, 5, 30]))
    assert sums.standardised(np.array([2, 1, 0]), 25 * np.log(7)) == 0


def doubted(label: Any, proba: Any, **options: Any) -> bool:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        validate(label, proba, **options)
    return any("times as probable" in str(each.message) for each in found)


def drawn(rng: Any, n: int, spread: float, base: Any) -> tuple[Any, Any]:
    """Logits of classes of unequal frequency, and labels of their probabilities."""
    logits = np.log(base) + rng.normal(0, spread, (n, len(base)))
    label = (np.exp(logarithms(logits)).cumsum(axis=1) > rng.random(n)[:, None]).argmax(axis=1)
    return logits, label


@pytest.mark.parametrize("spread", [0.0, 0.1, 0.3, 1.0])
@pytest.mark.parametrize("n", [200, 1000])
@pytest.mark.parametrize("base", [np.array([9, 3, 1]), np.array([16, 8, 4, 2, 1]), np.array([95, 5])], ids=len)
def test_a_bias_for_one_class_is_no_other_order(base: Any, n: int, spread: float) -> None:
    rng, many = np.random.default_rng(3), 40
    found = 0
    for i in range(many):
        logits, label = drawn(rng, n, spread, base)
        shift = (1, 2)[i % 2] * (np.arange(len(base)) == len(base) - 1)
        found += doubted(label, np.exp(logarithms(logits + shift)))
    # Of forty, three of a chance of 1 in 100 have one of 1 in 125.
    assert found <= 3


@pytest.mark.parametrize("shift", [0, 2])
@pytest.mark.parametrize(("n", "spread"), [(200, 2.0), (1000, 1.0)])
@pytest.mark.parametrize("base", [np.ones(3), np.array([9, 3, 1]), np.array([16, 8, 4, 2, 1])], ids=["equal", "three", "five"])
def test_columns_in_another_order_are_found_of_a_model_that_tells_classes_apart(base: Any, n: int, spread: float, shift: float) -> None:
    rng, many, k = np.random.default_rng(4), 20, len(base)
    found = possible = 0
    for _ in range(many):
        logits, label = drawn(rng, n, spread, base)
        proba = np.exp(logarithms(logits + shift * (np.arange(k) == k - 1)))
        order = np.roll(np.arange(k), 1)
        # By another order what occurred has to be more probable.
        better = gain(np.log(proba[:, order]), label, np.argsort(order)) > 15
        possible += better
        found += better and doubted(label, proba[:, order])
    assert possible >= 0.7 * many
    assert found >= 0.9 * possible


def test_chance_is_one_in_a_hundred() -> None:
    from scipy.stats import norm

    assert norm.sf(CHANCE) == pytest.approx(0.01, rel=0.02)
