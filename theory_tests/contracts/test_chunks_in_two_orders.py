"""Rows of a stream whose columns stand in one order in some updates, and in another in the rest.

Each update by itself would be doubted, all together need not be. Nothing is said of what is read alike.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from propercal import CalibrationMonitor, CalibrationSketch

RNG = np.random.default_rng(2)
N = 600
P = RNG.dirichlet([0.8] * 3, N)
Y = (RNG.random((N, 1)) > P.cumsum(axis=1)).sum(axis=1)
TURNED = [2, 0, 1]
HALVES = slice(None, N // 2), slice(N // 2, None)
SAID = "stand in two orders"
MAKERS: dict[str, Callable[..., Any]] = {
    "sketch": lambda k, **more: CalibrationSketch(k, notion="top-label", generator="brier", **more),
    "monitor": CalibrationMonitor,
}


def said(made: Any, *chunks: tuple[Any, Any]) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for labels, proba in chunks:
            made.update(labels, proba)
    return [str(each.message) for each in caught if SAID in str(each.message)]


def parts(*orders: Any) -> list[tuple[Any, Any]]:
    return [(Y[rows], P[rows][:, order]) for rows, order in zip(HALVES, orders, strict=True)]


@pytest.mark.parametrize("kind", MAKERS)
def test_a_chunk_in_another_order_is_said(kind: str) -> None:
    usual = [0, 1, 2]
    for orders, which in (((usual, TURNED), "these rows"), ((TURNED, usual), "rows before")):
        (message,) = said(MAKERS[kind](3), *parts(*orders))
        assert f"labels of {which} are e^" in message
        assert "if it is [2, 0, 1], and the others are not" in message


@pytest.mark.parametrize("kind", MAKERS)
def test_one_column_of_either_class_is_said(kind: str) -> None:
    p = RNG.beta(0.5, 0.5, N)
    y = (RNG.random(N) < p).astype(int)
    chunks = [(y[HALVES[0]], p[HALVES[0]]), (y[HALVES[1]], 1 - p[HALVES[1]])]
    (message,) = said(MAKERS[kind](2), *chunks)
    assert "labels of these rows are e^" in message


@pytest.mark.parametrize("kind", MAKERS)
def test_what_is_read_alike_is_not_said(kind: str) -> None:
    """All in another order is said once, as before; a biased half, names, and a list of classes leave no doubt."""
    pd = pytest.importorskip("pandas")
    assert said(MAKERS[kind](3), *parts([0, 1, 2], [0, 1, 2])) == []
    assert said(MAKERS[kind](3), *parts(TURNED, TURNED)) == []
    biased = P * [0.1, 1.0, 3.0]
    biased /= biased.sum(axis=1, keepdims=True)
    assert said(MAKERS[kind](3), (Y[HALVES[0]], P[HALVES[0]]), (Y[HALVES[1]], biased[HALVES[1]])) == []
    words = np.array(["a", "b", "c"])
    frames = [pd.DataFrame(P[rows], columns=words).iloc[:, order] for rows, order in zip(HALVES, ([0, 1, 2], TURNED), strict=True)]
    assert said(MAKERS[kind](3), *((words[Y[rows]], frame) for rows, frame in zip(HALVES, frames, strict=True))) == []
    noise = RNG.dirichlet([1.0] * 3, N)
    assert said(MAKERS[kind](3), (Y[HALVES[0]], P[HALVES[0]]), (Y[HALVES[1]], noise[HALVES[1]])) == []


def test_sketches_in_two_orders_are_merged_with_a_warning() -> None:
    first, second = (MAKERS["sketch"](3) for _ in range(2))
    (a, p), (b, q) = parts([0, 1, 2], TURNED)
    first.update(a, p)
    second.update(b, q)
    with pytest.warns(UserWarning, match=SAID):
        first.merge(second)


def test_batches_of_a_metric_in_two_orders() -> None:
    torch = pytest.importorskip("torch")
    metrics = pytest.importorskip("propercal.torchmetrics")
    metric = metrics.StreamingCalibrationError(3, notion="top-label")
    (a, p), (b, q) = parts([0, 1, 2], TURNED)
    metric.update(torch.tensor(p), torch.tensor(a))
    with pytest.warns(UserWarning, match="preds of these rows and of those before stand in two orders"):
        metric.update(torch.tensor(q), torch.tensor(b))


@pytest.mark.filterwarnings("ignore:preds has columns, read as")
@pytest.mark.parametrize("step", [300, 3])
def test_batches_of_a_metric_that_keeps_rows_in_two_orders(step: int) -> None:
    torch = pytest.importorskip("torch")
    metrics = pytest.importorskip("propercal.torchmetrics")
    for orders in (([0, 1, 2], TURNED), ([0, 1, 2], [0, 1, 2])):
        metric = metrics.ProperCalibrationError(generator="brier", method="risk", bandwidth=0.1)
        for labels, proba in parts(*orders):
            for start in range(0, len(labels), step):
                metric.update(torch.tensor(proba[start : start + step]), torch.tensor(labels[start : start + step]))
        if orders[1] is TURNED:
            with pytest.warns(UserWarning, match="preds of these rows and of those before stand in two orders"):
                metric.compute()
        else:
            metric.compute()


def test_a_batch_of_probabilities_among_logits() -> None:
    """All rows together do not tell; those of a batch do."""
    torch = pytest.importorskip("torch")
    metrics = pytest.importorskip("propercal.torchmetrics")
    logits = np.log(P) + 1.0
    for made in (metrics.ProperCalibrationError(from_logits=True), metrics.StreamingCalibrationError(3, notion="top-label", from_logits=True)):
        made.update(torch.tensor(logits[HALVES[0]]), torch.tensor(Y[HALVES[0]]))
        with pytest.warns(UserWarning, match="preds has rows between 0 and 1 that sum to 1, though from_logits=True"):
            made.update(torch.tensor(P[HALVES[1]]), torch.tensor(Y[HALVES[1]]))
