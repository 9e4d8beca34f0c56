"""What a sketch keeps of the predictions it has seen.

In each panel, and for each label, the first few predictions are kept as they are. Where they become
more than the panel has nodes, they are moved onto these. The room is the same, few predictions, of
which a mean is not smooth, stay exact, and what is kept depends on all predictions together alone,
not on the order they came in.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from propercal._kernels.panels import Panels, chebyshev, polynomials

Floats = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]


@dataclass(frozen=True)
class State:
    """Sums over rows, which add up over any partition of them."""

    cells: Floats
    """(problems, panels, 2, nodes) for each label: weights of the nodes, in units of rows, or
    places of single predictions in ascending order, then 0."""
    sizes: Whole
    """(problems, panels, 2) predictions in a cell; single ones up to the number of nodes."""
    loss: Floats
    """(2,) Σ of the loss of rows, averaged over problems, and of its square."""
    zeros: Whole
    """(problems, 2) predictions that give probability 0 to each outcome."""
    odd_rows: Whole
    """(2,) rows of yes-or-no problems that need not mark one class; rows of infinite loss."""

    @classmethod
    def empty(cls, n_problems: int, panels: Panels) -> Self:
        """Return the state without rows."""
        shape = n_problems, panels.n_panels, 2
        return cls(
            np.zeros((*shape, panels.order)),
            np.zeros(shape, dtype=np.int64),
            np.zeros(2),
            np.zeros((n_problems, 2), dtype=np.int64),
            np.zeros(2, dtype=np.int64),
        )

    @property
    def counts(self) -> Whole:
        """(problems, 2) predictions by what occurred."""
        return np.asarray(self.sizes.sum(axis=1))

    @property
    def n_samples(self) -> int:
        """Rows seen."""
        return int(self.sizes[0].sum())

    def add_points(self, cell: npt.NDArray[np.intp], place: Floats) -> None:
        """Put points, of these places in cells of these numbers, into a state without rows."""
        order = self.cells.shape[-1]
        self.sizes.reshape(-1)[:] = np.bincount(cell, minlength=self.sizes.size)
        cells, sizes = self.cells.reshape(-1, order), self.sizes.ravel()
        ascending = np.lexsort((place, cell))
        cell, place = cell[ascending], place[ascending]
        few = sizes[cell] <= order
        cells[cell[few], position_within(cell[few])] = place[few]
        many, starts = np.unique(cell[~few], return_index=True)
        if len(many):
            moments = np.add.reduceat(polynomials(place[~few], order), starts, axis=1)
            cells[many] = moments.T @ chebyshev(order).transform

    def plus(self, other: State) -> State:
        """Return the state that has seen the rows of both."""
        order = self.cells.shape[-1]
        # Few rows touch few cells: the others are copied as they are.
        used = np.flatnonzero(other.sizes)
        cells = self.cells.copy()
        cells.reshape(-1, order)[used] = _joined(
            [
                (each.cells.reshape(-1, order)[used], each.sizes.ravel()[used])
                for each in (self, other)
            ]
        )
        return State(
            cells,
            self.sizes + other.sizes,
            self.loss + other.loss,
            self.zeros + other.zeros,
            self.odd_rows + other.odd_rows,
        )

    def loss_variance(self) -> float:
        """Variance over rows of the loss."""
        n = self.n_samples
        if not np.isfinite(self.loss).all():
            return math.inf
        return max(0.0, float(self.loss[1] - self.loss[0] ** 2 / n) / (n - 1))

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return all arrays, without the cells that hold nothing."""
        used = np.flatnonzero(self.sizes)
        arrays = {f.name: getattr(self, f.name) for f in fields(State)}
        order = self.cells.shape[-1]
        return {
            **arrays,
            "cells": self.cells.reshape(-1, order)[used],
            "sizes": self.sizes.ravel()[used],
            "used": used,
        }

    def restored(self, arrays: dict[str, np.ndarray[Any, Any]]) -> State:
        """Return the state that :meth:`arrays` was called on, of the shape of this one."""
        cells, sizes = np.zeros_like(self.cells), np.zeros_like(self.sizes)
        cells.reshape(-1, cells.shape[-1])[arrays["used"]] = arrays["cells"]
        sizes.ravel()[arrays["used"]] = arrays["sizes"]
        return State(cells, sizes, arrays["loss"], arrays["zeros"], arrays["odd_rows"])


def _joined(parts: Sequence[tuple[Floats, Whole]]) -> Floats:
    """Return cells (c, nodes) that hold what those of several parts do, of these sizes (c,)."""
    order = parts[0][0].shape[1]
    single = np.sum([sizes for _, sizes in parts], axis=0) <= order
    result = np.zeros_like(parts[0][0])
    moved = ~single
    for cells, sizes in parts:
        result[moved] += on_nodes(cells[moved], sizes[moved])
    joined = [
        np.where(np.arange(order) < sizes[single][:, None], cells[single], np.inf)
        for cells, sizes in parts
    ]
    places = np.sort(np.concatenate(joined, axis=1), axis=1)[:, :order]
    result[single] = np.where(np.isfinite(places), places, 0.0)
    return result


def on_nodes(cells: Floats, sizes: Whole) -> Floats:
    """Return the weights of nodes of cells (c, nodes), some of which hold single predictions."""
    order = cells.shape[-1]
    some = np.flatnonzero((sizes > 0) & (sizes <= order))
    result = np.where((sizes > order)[:, None], cells, 0.0)
    held = np.arange(order) < sizes[some, None]
    values = polynomials(cells[some].ravel(), order).reshape(order, len(some), order)
    moments = np.where(held, values, 0.0).sum(axis=2)
    result[some] = moments.T @ chebyshev(order).transform
    return result


def fill_cells(weights: Floats, sizes: Whole, cell: npt.NDArray[np.intp], place: Floats) -> Floats:
    """Return weights (cells, nodes) with single predictions, of these places, where few are."""
    order = weights.shape[1]
    result = np.where((sizes > order)[:, None], weights, 0.0)
    ascending = np.lexsort((place, cell))
    cell, place = cell[ascending], place[ascending]
    result[cell, position_within(cell)] = place
    return result


def position_within(cell: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    """Return how many of ascending numbers (n,) before each are equal to it."""
    return np.asarray(np.arange(len(cell)) - np.searchsorted(cell, cell))
