"""Rows that stand several times without being equal are told, and predictions fitted to their labels.

Source: by construction; chances are those that the modules state.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from propercal import calibration_test, decompose, expected_calibration_error
from propercal._data.dependence.copies import are_both_sides, columns_as_rows, times_again
from propercal._data.inputs.reading import USUAL_NAMES as NAMES
from propercal._data.predictions.own_rows import doubt_own_rows
from propercal._data.predictions.twice import doubt_softmax_twice
from propercal.recalibration import ClasswiseIsotonic, TemperatureScaling

OPTIONS: dict[str, Any] = {"generator": "brier", "method": "risk", "bandwidth": 0.1}
REPEATED = r"ows seem to repeat each other.*Pass groups="


def sample(n: int = 200, k: int = 3, seed: int = 0) -> tuple[Any, Any, np.random.Generator]:
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet([0.8] * k, n)
    return (rng.random((n, 1)) > proba.cumsum(axis=1)[:, :-1]).sum(axis=1), proba, rng


def softmax(scores: Any) -> Any:
    return np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)


def in_single(proba: Any) -> Any:
    return proba.astype(np.float32).astype(float)


@pytest.mark.parametrize("near", [in_single, lambda p: softmax(np.log(p) + 1e-12), lambda p: np.round(p, 4)])
@pytest.mark.parametrize("k", [2, 3, 10])
def test_near_copies_are_told(near: Callable[[Any], Any], k: int) -> None:
    label, proba, _ = sample(k=k)
    copy = near(proba) / near(proba).sum(axis=1, keepdims=True)
    y, p = np.concatenate([label, label]), np.concatenate([proba, copy])
    with pytest.warns(UserWarning, match=REPEATED):
        found = decompose(y, p, **OPTIONS)
    # The number is that of these rows all the same, and groups say what they are.
    assert found.risk == pytest.approx(((p - np.eye(k)[y]) ** 2).sum(axis=1).mean(), rel=1e-12)
    decompose(y, p, groups=np.tile(np.arange(200), 2), generator="brier")


def test_copies_of_a_part_of_few_rows_are_told() -> None:
    label, proba, rng = sample(150)
    some = rng.permutation(150)[:45]
    with pytest.warns(UserWarning, match=REPEATED):
        decompose(np.concatenate([label, label[some]]), np.concatenate([proba, proba[some]]), **OPTIONS)


@pytest.mark.parametrize("times", [2, 5])
def test_the_same_labels_with_other_predictions_are_told(times: int) -> None:
    label, proba, rng = sample()
    models = np.concatenate([softmax(np.log(proba) + 0.3 * rng.normal(size=proba.shape)) for _ in range(times)])
    with pytest.warns(UserWarning, match=f"the labels of 200 rows come {times} times in the same order.*Pass groups="):
        decompose(np.tile(label, times), models, **OPTIONS)
    with pytest.warns(UserWarning, match=REPEATED):
        calibration_test(np.tile(label, times), models, n_resamples=19)


def test_orders_that_are_made_come_again_by_themselves() -> None:
    rng = np.random.default_rng(0)
    for block in (np.arange(3), np.repeat(np.arange(3), 40), np.tile([0, 1], 60), np.tile(np.repeat([0, 1], 10), 6), np.arange(200) % 10 == 0, rng.integers(0, 2, 20)):
        for times in (2, 4):
            assert times_again(np.tile(block, times).astype(int)) is None
    assert times_again(np.tile(rng.integers(0, 2, 100), 3)) == 3
    assert times_again(np.append(np.tile(rng.integers(0, 2, 100), 3), 1)) is None


def test_both_sides_of_rows_and_columns_as_rows_are_told() -> None:
    label, proba, rng = sample(k=2)
    mixed = rng.permutation(400)
    y, p = np.concatenate([label, 1 - label]), np.concatenate([proba[:, 1], proba[:, 0]])
    assert are_both_sides(p[mixed], y[mixed])
    assert columns_as_rows(p, y) == 2
    for which in (slice(None), mixed):
        with pytest.warns(UserWarning, match=REPEATED):
            decompose(y[which], p[which], **OPTIONS)
    # Grids have a centre, and predictions may be as far from one half on either side.
    even = np.linspace(0.01, 0.99, 100)
    assert not are_both_sides(even, (even > 0.5).astype(int))
    grid = np.linspace(0.01, 0.99, 99)
    assert not are_both_sides(np.append(grid, 0.5), np.append(grid > rng.random(99), 1).astype(int))
    label, proba, _ = sample(60)
    for columns in (np.eye(3)[label].ravel(), proba.ravel()), (np.eye(3)[label].T.ravel(), proba.T.ravel()):
        with pytest.warns(UserWarning, match="each 3 values of y_proba sum to 1, and one of them occurred"):
            decompose(*columns, **OPTIONS)


@pytest.mark.parametrize(("n", "k"), [(1000, 2), (200, 3), (200, 10)])
def test_a_softmax_of_probabilities_is_told(n: int, k: int) -> None:
    label, proba, _ = sample(n, k)
    with pytest.warns(UserWarning, match=r"^y_proba is a softmax of numbers between .*a softmax was applied twice"):
        decompose(label, softmax(proba), **OPTIONS)
    # As advised.
    decompose(label, proba, **OPTIONS)


def test_unsure_predictions_are_no_softmax_of_probabilities() -> None:
    """But for those that happen to end where a softmax of probabilities does, which a hundredth may."""
    told = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(50):
            for k in (2, 3, 10):
                label, proba, _ = sample(300, k, seed)
                for power in (0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.6):
                    unsure = softmax(power * np.log(np.maximum(proba, 1e-9)))
                    told += doubt_softmax_twice(np.log(unsure), label, NAMES)
    assert told <= 0.01 * 50 * 3 * 7


@pytest.mark.parametrize("k", [2, 3])
def test_predictions_that_were_fitted_to_their_labels_are_told(k: int) -> None:
    label, proba, _ = sample(400, k)
    flat = softmax(0.5 * np.log(proba))
    for recalibrator in (TemperatureScaling(), ClasswiseIsotonic())[: 4 - k]:
        fitted = recalibrator.fit(flat, label).predict_proba(flat)
        with pytest.warns(UserWarning, match="^y_proba seems fitted to these very y_true"):
            expected_calibration_error(label, fitted)
    # Of other rows nothing is said, nor of base rates.
    other, more, _ = sample(400, k, 1)
    recalibrated = TemperatureScaling().fit(flat, label).predict_proba(softmax(0.5 * np.log(more)))
    expected_calibration_error(other, recalibrated)
    expected_calibration_error(label, np.tile(np.bincount(label, minlength=k) / 400, (400, 1)))


def test_predictions_of_few_values_may_go_with_their_labels_by_chance() -> None:
    """Eight in ten of what has a probability of 0.8 is the likeliest number there is."""
    for values in ([0.8], [0.2, 0.8], [0.1, 0.3, 0.5]):
        proba = np.repeat(values, 10)
        label = np.concatenate([np.arange(10) < round(10 * each) for each in values]).astype(int)
        assert not doubt_own_rows(np.log(np.stack([1 - proba, proba], axis=1)), label, NAMES)
    many = np.linspace(0.02, 0.98, 49)
    proba = np.repeat(many, 50)
    label = np.concatenate([np.arange(50) < round(50 * each) for each in many]).astype(int)
    with pytest.warns(UserWarning, match="seems fitted"):
        assert doubt_own_rows(np.log(np.stack([1 - proba, proba], axis=1)), label, NAMES)
