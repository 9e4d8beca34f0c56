"""Whether numbers read from bytes can be the sums over rows that a sketch keeps."""

from __future__ import annotations

import numpy as np

from propercal._kernels.panels import Panels
from propercal.generators.base import BregmanGenerator
from propercal.sketch.encoding import Arrays, unreadable
from propercal.sketch.state import State
from propercal.sketch.weighted_points import weighted_points

#: Memory of a sketch beside that of its bytes: nearly all is for panels that hold nothing.
_DENSE, _DENSE_PER_BYTE = 1 << 28, 1000
#: Weights of nodes add up to the number of rows but for rounding.
_ROUNDING = 1e-9
#: Nodes give the mean of the loss to far more digits, except where points stand alone.
_LOSS = 1e-3


def shapes(n_problems: int, panels: Panels, n_used: int) -> dict[str, tuple[int, ...]]:
    """Return the shape of every array of a sketch with so many cells in use."""
    return {
        "used": (n_used,),
        "cells": (n_used, panels.order),
        "sizes": (n_used,),
        "loss": (2,),
        "zeros": (n_problems, 2),
        "odd_rows": (2,),
    }


def check_memory(data: bytes, n_problems: int, panels: Panels) -> None:
    """Raise before so few bytes are given that much memory."""
    needed = n_problems * panels.n_panels * 2 * panels.order * 8
    most = _DENSE + _DENSE_PER_BYTE * len(data)
    if needed > most:
        raise unreadable(data, f"a sketch that needs {most} bytes of memory at most, not {needed},")


def check_arrays(data: bytes, arrays: Arrays, empty: State) -> None:
    """Raise unless cells are cells of the grid, and hold as many rows as they say."""
    used, cells, sizes = arrays["used"], arrays["cells"], arrays["sizes"]
    if not (np.all(used >= 0) and np.all(np.diff(used) > 0) and np.all(used < empty.sizes.size)):
        raise unreadable(data, "cells of the grid in ascending order")
    if not (np.all(sizes >= 1) and np.all(sizes < 2**53) and np.isfinite(cells).all()):
        raise unreadable(data, "finite cells of one row or more")
    order = cells.shape[1]
    few = sizes <= order
    held = np.arange(order) < sizes[:, None]
    places = np.where(held, cells, 1.0)
    ascending = np.all(np.diff(places, axis=1) >= 0, axis=1) & np.all(np.abs(places) <= 1, axis=1)
    if not np.all(ascending[few] & np.all(held | (cells == 0), axis=1)[few]):
        raise unreadable(data, "single predictions in ascending order within their panel")
    total = cells.sum(axis=1)
    if not np.all(np.abs(total - sizes)[~few] <= _ROUNDING * sizes[~few]):
        raise unreadable(data, "weights of nodes that add up to the rows of their cell")


def check_state(
    data: bytes, state: State, panels: Panels, generator: BregmanGenerator, bandwidth: float
) -> None:
    """Raise unless all problems have seen the same rows, of the loss that is written."""
    n = state.n_samples
    rows = state.counts.sum(axis=1)
    if not np.all(rows == n):
        raise unreadable(data, f"{n} rows in each problem")
    if state.zeros.min() < 0 or state.zeros.sum(axis=1).max() > n:
        raise unreadable(data, f"0 to {n} predictions of zero in each problem")
    n_infinite = state.odd_rows[1]
    if state.odd_rows.min() < 0 or state.odd_rows.max() > n:
        raise unreadable(data, f"0 to {n} rows of each kind")
    total, squares = state.loss
    if n_infinite:
        if not total == squares == np.inf:
            raise unreadable(data, f"an infinite loss of {n_infinite} rows")
        return
    mean, square = _loss_moments(state, panels, generator, bandwidth)
    tolerance = _LOSS * n * np.sqrt(square / max(n, 1)) + _ROUNDING
    if not abs(total - mean) <= tolerance:
        raise unreadable(data, f"a loss of {mean:.6g}, that of the rows, not {total:.6g},")
    # The square of a mean over problems is at most the mean of squares.
    least = total**2 / max(n, 1)
    if not least * (1 - _ROUNDING) - _ROUNDING <= squares <= square * (1 + _LOSS) + _ROUNDING:
        raise unreadable(data, f"squares of losses of {least:.6g} to {square:.6g} in sum")


def _loss_moments(
    state: State, panels: Panels, generator: BregmanGenerator, bandwidth: float
) -> tuple[float, float]:
    """Return the sums over rows of the loss and of its square, means over problems."""
    sums = np.zeros(2)
    for cells, sizes in zip(state.cells, state.sizes, strict=True):
        points = weighted_points(panels, bandwidth, cells, sizes)
        for label, outcome in enumerate(np.eye(2)):
            weight = points.weights[:, label]
            loss = generator.loss(
                points.prob, np.broadcast_to(outcome, points.prob.shape), log_q=points.log_prob
            )
            loss = np.where(weight != 0, loss, 0.0)
            sums += weight @ loss, weight @ loss**2
    mean, square = sums / len(state.cells)
    return float(mean), max(0.0, float(square))
