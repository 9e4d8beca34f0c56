"""What a sketch of a bandwidth keeps beside its tables: node weights for sums over its kernel.

In each panel, and for each label, the first few predictions are kept as they are. Where they become
more than the panel has nodes, they are moved onto these. The room is the same, few predictions, of
which a mean is not smooth, stay exact, and what is kept depends on all predictions together alone,
not on the order they came in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from propercal._kernels.panels import Panels, chebyshev, polynomials

Floats = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Nodes:
    """Sums over rows, which add up over any partition of them."""

    cells: Floats
    """(problems, panels, 2, nodes) for each label: weights of the nodes, in units of rows, or
    places of single predictions in ascending order, then 0."""
    sizes: Whole
    """(problems, panels, 2) predictions in a cell; single ones up to the number of nodes."""

    @classmethod
    def empty(cls, n_problems: int, panels: Panels) -> Self:
        """Return the nodes without rows."""
        shape = n_problems, panels.n_panels, 2
        return cls(np.zeros((*shape, panels.order)), np.zeros(shape, dtype=np.int64))

    @property
    def counts(self) -> Whole:
        """(problems, 2) predictions by what occurred."""
        return np.asarray(self.sizes.sum(axis=1))

    def add_points(self, cell: npt.NDArray[np.intp], place: Floats) -> None:
        """Put points, of these places in cells of these numbers, into nodes without rows."""
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

    def plus(self, other: Nodes) -> Nodes:
        """Return the nodes that have seen the rows of both."""
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
        return Nodes(cells, self.sizes + other.sizes)

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return all arrays, without the cells that hold nothing."""
        used = np.flatnonzero(self.sizes)
        order = self.cells.shape[-1]
        return {
            "used": used,
            "cells": self.cells.reshape(-1, order)[used],
            "sizes": self.sizes.ravel()[used],
        }

    def restored(self, arrays: Mapping[str, np.ndarray[Any, Any]]) -> Nodes:
        """Return the nodes that :meth:`arrays` was called on, of the shape of these."""
        cells, sizes = np.zeros_like(self.cells), np.zeros_like(self.sizes)
        cells.reshape(-1, cells.shape[-1])[arrays["used"]] = arrays["cells"]
        sizes.ravel()[arrays["used"]] = arrays["sizes"]
        return Nodes(cells, sizes)


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
