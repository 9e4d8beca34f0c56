"""Whether numbers read from bytes can be the sums over rows that a sketch keeps."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from propercal._kernels.panels import Panels
from propercal.generators.base import BregmanGenerator
from propercal.sketch.encoding import Arrays, unreadable
from propercal.sketch.nodes import Nodes
from propercal.sketch.state import Floats, Frame, State
from propercal.sketch.table_verification import check_losses, check_tables, check_totals
from propercal.sketch.weighted_points import weighted_points

#: Memory of a sketch beside that of its bytes: nearly all is for panels that hold nothing.
_DENSE, _DENSE_PER_BYTE = 1 << 28, 1000
#: Weights of nodes add up to the number of rows but for rounding.
_ROUNDING = 1e-9
#: Nodes give the mean of the loss to far more digits, except where points stand alone.
_LOSS = 1e-3


class Sizes(NamedTuple):
    """How many numbers a sketch has written."""

    n_points: int
    """Points of all tables."""
    weighted: bool
    """Whether cells have weights beside their numbers of rows."""
    used: int | None
    """Cells of nodes in use; None where there are no nodes."""


def shapes(data: bytes, frame: Frame, sizes: Sizes) -> dict[str, tuple[int, ...]]:
    """Return the shape of every array of a sketch, or raise."""
    q, m = frame.n_problems, sizes.n_points
    if (sizes.used is None) != (frame.panels is None) or min(m, sizes.used or 0) < 0:
        raise unreadable(data, "a size of each array")
    result: dict[str, tuple[int, ...]] = {
        "sums": (8,),
        "bounds": (3,),
        "zeros": (q, 2),
        "rows": (3,),
        "points": (q,),
        "exact": (q,),
        **dict.fromkeys(("keys", "total", "low", "high"), (m,)),
    }
    for name in ("size", "weight", "squares") if sizes.weighted else ("size",):
        result[name] = m, frame.n_folds, 2
    if frame.panels is not None and sizes.used is not None:
        result["used"] = result["sizes"] = (sizes.used,)
        result["cells"] = sizes.used, frame.panels.order
    return result


def check_memory(data: bytes, frame: Frame) -> None:
    """Raise before so few bytes are given that much memory."""
    panels = frame.panels
    needed = 0 if panels is None else frame.n_problems * panels.n_panels * 2 * panels.order * 8
    most = _DENSE + _DENSE_PER_BYTE * len(data)
    if needed > most:
        raise unreadable(data, f"a sketch that needs {most} bytes of memory at most, not {needed},")


def check_arrays(data: bytes, arrays: Arrays, frame: Frame) -> None:
    """Raise unless the numbers of each table and each cell of nodes go together."""
    # Numbers that are none of a sketch may overflow on the way.
    with np.errstate(all="ignore"):
        check_totals(data, arrays)
        check_tables(data, arrays)
        if frame.panels is not None:
            _check_nodes(data, arrays, frame.n_problems * frame.panels.n_panels * 2)


def _check_nodes(data: bytes, arrays: Arrays, n_cells: int) -> None:
    used, cells, sizes = arrays["used"], arrays["cells"], arrays["sizes"]
    if not (np.all(used >= 0) and np.all(np.diff(used) > 0) and np.all(used < n_cells)):
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
    data: bytes, state: State, frame: Frame, generator: BregmanGenerator, bandwidth: float | None
) -> None:
    """Raise unless all problems have seen the same rows, of the losses that are written."""
    with np.errstate(all="ignore"):
        check_losses(data, state, generator)
        if state.nodes is None or frame.panels is None or bandwidth is None:
            return
        if not np.array_equal(state.nodes.counts, state.counts):
            raise unreadable(data, "as many rows of each label at nodes as in tables")
        if state.totals.rows[2] == 0:
            moments = _loss_moments(state.nodes, frame.panels, generator, bandwidth)
            _check_loss(data, state, moments)


def _check_loss(data: bytes, state: State, moments: Floats) -> None:
    """Raise unless the loss is that of the nodes, given the mean over problems of their moments."""
    n, total, squares = state.n_samples, state.totals.sums[2], state.totals.sums[4]
    mean, square = moments
    tolerance = _LOSS * n * np.sqrt(square / max(n, 1)) + _ROUNDING
    if not abs(total - mean) <= tolerance:
        raise unreadable(data, f"a loss of {mean:.6g}, that of the rows, not {total:.6g},")
    # The square of a mean over problems is at most the mean of squares.
    if not squares <= square * (1 + _LOSS) + _ROUNDING:
        raise unreadable(data, f"squares of losses of {square:.6g} at most in sum")


def _loss_moments(
    nodes: Nodes, panels: Panels, generator: BregmanGenerator, bandwidth: float
) -> Floats:
    """(2,) the sums over rows of the loss and of its square, means over problems."""
    sums = np.zeros(2)
    for cells, sizes in zip(nodes.cells, nodes.sizes, strict=True):
        points = weighted_points(panels, bandwidth, cells, sizes)
        for label, outcome in enumerate(np.eye(2)):
            weight = points.weights[:, label]
            loss = generator.loss(
                points.prob, np.broadcast_to(outcome, points.prob.shape), log_q=points.log_prob
            )
            loss = np.where(weight != 0, loss, 0.0)
            sums += weight @ loss, weight @ loss**2
    return np.maximum(sums / len(nodes.cells), [-np.inf, 0.0])
