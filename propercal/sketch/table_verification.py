"""Whether numbers read from bytes can be the tables of a sketch, and sums over the same rows."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from propercal._kernels.binning import LARGEST_EXACT, outside
from propercal._methods.table import points_at
from propercal.generators.base import BregmanGenerator
from propercal.recalibration.points import LOG_FLOOR
from propercal.sketch.encoding import Arrays, unreadable
from propercal.sketch.rows import LEAST_WEIGHT, MOST_WEIGHT
from propercal.sketch.state import Floats, State

#: Sums of sums differ by rounding.
_ROUNDING = 1e-9
#: Bins give the mean of a loss to more digits.
_LOSS = 1e-3
#: Another machine may round the place of a log-odds on the grid differently.
_ROUNDING_OF_BINS = 1e-6
#: Predictions that are surer may be below the floor.
_SURE = -LOG_FLOOR - 4
_MOST_ROWS = 2**53


def check_totals(data: bytes, arrays: Arrays) -> None:
    """Raise unless the sums over all rows are those of as many rows as they say."""
    sums, bounds = arrays["sums"], arrays["bounds"]
    n, n_odd, n_infinite = (int(x) for x in arrays["rows"])
    if not (0 <= n < _MOST_ROWS and 0 <= n_odd <= n and 0 <= n_infinite <= n):
        raise unreadable(data, f"0 to {n} rows of each kind")
    zeros = arrays["zeros"]
    if not (np.all(zeros >= 0) and np.all(zeros <= n) and np.all(zeros.sum(axis=1) <= n)):
        raise unreadable(data, f"0 to {n} predictions of zero in each problem")
    if n == 0:
        if not (np.all(sums == 0) and np.all(bounds == np.inf)):
            raise unreadable(data, "no sums over no rows")
        return
    least, most = bounds[0], -bounds[1]
    if not LEAST_WEIGHT <= least <= most <= MOST_WEIGHT:
        raise unreadable(data, f"weights of {LEAST_WEIGHT:g} to {MOST_WEIGHT:g}")
    if not (
        _within(least * n, sums[0], most * n)
        and _within(least**2 * n, sums[1], most**2 * n)
        and sums[0] ** 2 <= n * sums[1] * (1 + _ROUNDING)
    ):
        raise unreadable(data, "sums of weights and of their squares")


def _within(low: float, value: float, high: float) -> bool:
    """Tell whether a number lies between two others of its sign, but for rounding."""
    return bool(low * (1 - _ROUNDING) <= value <= high * (1 + _ROUNDING))


def check_tables(data: bytes, arrays: Arrays) -> None:
    """Raise unless points are in order, and have as many rows as the sums over all rows."""
    points, exact, keys = arrays["points"], arrays["exact"], arrays["keys"]
    m = len(keys)
    if not (np.all(points >= 0) and np.all(points <= m) and points.sum(dtype=object) == m):
        raise unreadable(data, "points of each table")
    if not np.all((exact == 0) | (exact == 1)) or np.any(points[exact == 1] > LARGEST_EXACT):
        raise unreadable(data, f"bins, or up to {LARGEST_EXACT} predictions,")
    if not np.isfinite(np.stack([arrays[each] for each in ("keys", "total", "low", "high")])).all():
        raise unreadable(data, "finite points")
    problem = np.repeat(np.arange(len(points)), points)
    if not np.all((np.diff(keys) > 0) | (np.diff(problem) > 0)):
        raise unreadable(data, "points in ascending order")
    low, high = arrays["low"], arrays["high"]
    if not (np.all(low <= high) and np.all(low >= LOG_FLOOR) and np.all(high <= -LOG_FLOOR)):
        raise unreadable(data, f"log-odds of {LOG_FLOOR:g} to {-LOG_FLOOR:g}")
    single = exact[problem] == 1
    alike = (low == keys) & (high == keys)
    inside = np.maximum(outside(keys, low), outside(keys, high)) <= _ROUNDING_OF_BINS
    if not np.all(np.where(single, alike, inside & (keys == np.rint(keys)))):
        raise unreadable(data, "predictions within their bins")
    _check_cells(data, arrays, problem)


def _check_cells(data: bytes, arrays: Arrays, problem: npt.NDArray[np.intp]) -> None:
    """Raise unless cells hold all rows, with their weights."""
    size, n = arrays["size"], int(arrays["rows"][0])
    if not (np.all(size >= 0) and np.all(size <= n) and np.all(size.any(axis=(1, 2)))):
        raise unreadable(data, "cells of no row or more, and points of one or more")
    weight, squares = (arrays.get(name, size).astype(np.float64) for name in ("weight", "squares"))
    sums, (least, most) = arrays["sums"], (arrays["bounds"][0], -arrays["bounds"][1])
    if "weight" not in arrays and not (n == 0 or least == most == 1):
        raise unreadable(data, "weights of rows")
    if not (
        np.all(_between(least * size, weight, most * size))
        and np.all(_between(least * weight, squares, most * weight))
        and np.all(weight**2 <= size * squares * (1 + _ROUNDING))
    ):
        raise unreadable(data, "weights of rows within their bounds")
    total, by_point = arrays["total"], weight.sum(axis=(1, 2))
    slack = _ROUNDING * by_point
    low, high = arrays["low"] * by_point, arrays["high"] * by_point
    if not np.all((low - slack <= total) & (total <= high + slack)):
        raise unreadable(data, "means of log-odds between the least and the largest")
    q = len(arrays["points"])
    if not np.all(np.bincount(problem, size.astype(np.float64).sum(axis=(1, 2)), q) == n):
        raise unreadable(data, f"{n} rows in each problem")
    for name, each, wanted in (("weights", weight, sums[0]), ("squares", squares, sums[1])):
        found = np.bincount(problem, each.sum(axis=(1, 2)), q)
        if not np.all(np.abs(found - wanted) <= _ROUNDING * wanted):
            raise unreadable(data, f"{name} of {wanted:g} in each problem")


def _between(low: Floats, values: Floats, high: Floats) -> npt.NDArray[np.bool_]:
    return (low * (1 - _ROUNDING) <= values) & (values <= high * (1 + _ROUNDING))


def check_losses(data: bytes, state: State, generator: BregmanGenerator) -> None:
    """Raise unless the sums over losses are about those of the points, and go together."""
    totals, n = state.totals, state.n_samples
    weight, squares, loss, linear, square, inner, excess, far = totals.sums
    if n == 0:
        return
    least = totals.bounds[2]
    if totals.rows[2]:
        if not (square == np.inf and not np.isfinite(loss) and not least > np.abs(loss)):
            raise unreadable(data, f"an infinite loss of {totals.rows[2]} rows")
    elif not (
        np.isfinite([*totals.sums, least]).all()
        and least * weight <= loss + _ROUNDING * weight * abs(least)
        and least * squares <= linear + _ROUNDING * squares * abs(least)
        and loss**2 <= n * square * (1 + _ROUNDING)
        and linear**2 <= squares * square * (1 + _ROUNDING)
    ):
        raise unreadable(data, "sums of losses and of their squares that go together")
    if state.tables[0].weight is None and not (linear == loss or totals.rows[2]):
        raise unreadable(data, "rows of equal weight")
    mean, moment, mean_of_squares = _moments(state, generator)
    tolerance = _LOSS * np.sqrt(weight * moment) + _ROUNDING * weight
    if not abs(inner - mean) <= tolerance:
        raise unreadable(data, f"a loss of {mean:.6g}, that of the points, not {inner:.6g},")
    if totals.rows[2]:
        return
    sure = max(float(np.abs([each.low.min(), each.high.max()]).max()) for each in state.tables)
    if sure < _SURE and not (excess == far == 0 and abs(loss - inner) <= _ROUNDING * tolerance):
        raise unreadable(data, f"a loss of {inner:.6g} of all rows, not {loss:.6g},")
    slack = 1 + _ROUNDING
    apart = (loss - inner) ** 2 <= n * far * slack + tolerance**2
    if not (apart and excess**2 <= squares * far * slack):
        raise unreadable(data, "predictions below the floor")
    # The square of a mean over problems is at most the mean of squares.
    if (
        not np.sqrt(square)
        <= np.sqrt(mean_of_squares) * (1 + _LOSS) + np.sqrt(far) + np.sqrt(squares) * _ROUNDING
    ):
        raise unreadable(data, f"squares of losses of {mean_of_squares:.6g} in sum at most")


def _moments(state: State, generator: BregmanGenerator) -> Floats:
    """(3,) Σ w L, Σ w L² and Σ w² L² of the losses L at the points, means over problems."""
    sums = np.zeros(3)
    for table in state.tables:
        points = points_at(table.nodes)
        by_label = table.weights.sum(axis=1), table.square_sums.sum(axis=1)
        for label, outcome in enumerate(np.eye(2)):
            weight, squares = (each[:, label] for each in by_label)
            outcomes = np.broadcast_to(outcome, points.prob.shape)
            loss = np.asarray(generator.loss(points.prob, outcomes, log_q=points.log_prob))
            loss = np.where(weight > 0, loss, 0.0)
            sums += weight @ loss, weight @ loss**2, squares @ loss**2
    return sums / len(state.tables)
