"""The predictions of one problem as a sketch has them: nodes with weights, and single points."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from propercal._kernels.panels import Panels, chebyshev

Floats = npt.NDArray[np.float64]


class WeightedPoints(NamedTuple):
    """The predictions of a problem: nodes, and single ones."""

    prob: Floats
    """(m, 2)."""
    log_prob: Floats
    """(m, 2)."""
    weights: Floats
    """(m, 2) by what occurred, in units of rows."""
    single: npt.NDArray[np.bool_]
    """(m,) whether a point is a prediction rather than a node."""
    order: int
    """Nodes of a panel; nodes stand before all single predictions."""
    bandwidth: float
    """γ."""


def weighted_points(
    panels: Panels, bandwidth: float, cells: Floats, sizes: npt.NDArray[np.int64]
) -> WeightedPoints:
    """Return the predictions of a problem from its cells (panels, 2, nodes) and their sizes."""
    p = panels.order
    moved = sizes > p
    numbers = np.flatnonzero(moved.any(axis=1))
    weights = np.where(moved[:, :, None], cells, 0.0)[numbers]
    held = np.where(moved, 0, sizes)
    number, label, position = np.nonzero(np.arange(p) < held[:, :, None])
    places = np.tile(chebyshev(p).nodes, len(numbers)), cells[number, label, position]
    prob, log_prob = panels.points(
        np.concatenate([np.repeat(numbers, p), number]), np.concatenate(places)
    )
    return WeightedPoints(
        prob,
        log_prob,
        np.concatenate([np.swapaxes(weights, 1, 2).reshape(-1, 2), np.eye(2)[label]]),
        np.arange(len(prob)) >= p * len(numbers),
        p,
        bandwidth,
    )
