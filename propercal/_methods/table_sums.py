"""Kernel sums over the cells of a table."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from propercal._array import (
    floored_exp,
    is_numpy,
    like,
    namespace,
    one_hot,
    with_diagonal,
)
from propercal._kernels.kernels import HEADROOM, BilinearKernel
from propercal._methods.fold_sums import FoldSums
from propercal._methods.table import Table
from propercal._typing import Array

#: What a smaller exponent, relative to the largest of its row, counts as: its square is no
#: subnormal number yet, and no sum of such terms matters.
_FLOOR = -300.0


class TableSums:
    """The kernel of one bandwidth between all points of a table.

    It is summed over the rows at other points first. At its own point a row sees all but itself;
    where there are no others that is exactly 0, and the nearest points decide, however far they
    are.
    """

    def __init__(self, table: Table, kernel: BilinearKernel, bandwidth: float) -> None:
        self.algorithm = "exact" if table.exact else "linear"
        self._table = table
        sources, points = table.sources, table.points
        xp = namespace(points.prob)
        self._kernel, self._itself = scaled_kernel(table, kernel, bandwidth)
        n_cells = sources.n_folds * sources.n_classes
        self._cell = one_hot(sources.cell, n_cells, points.prob.dtype)
        self._fold = one_hot(like(sources.fold, points.prob), sources.n_folds, points.prob.dtype)
        self._labels = self._nodes(self._cell * table.weight[:, None])
        self._squares = self._nodes(self._fold * table.squares[:, None])
        self._label_sums = self._kernel @ self._labels
        self._square_sums = xp.square(self._kernel) @ self._squares

    def __call__(self, rows: slice | np.ndarray[Any, Any], columns: Array) -> FoldSums:
        """Sum over labels, and over values `columns` (c, m) at the cells, each row without it."""
        table = self._table
        sources = table.sources
        xp = namespace(columns)
        place, own = table.place[rows], table.own[rows][:, None]
        itself = xp.take(self._itself, place)[:, None]
        nodes = self._nodes(columns * table.weight[:, None])

        def sums(at_points: Array, nodes: Array, mine: Array, power: int) -> Array:
            rest = xp.clip(xp.take(nodes, place, axis=0) - mine, min=0.0)
            return xp.take(at_points, place, axis=0) + itself**power * rest

        labels = sums(self._label_sums, self._labels, own * self._cell[rows, :], 1)
        by_fold = (-1, sources.n_folds, sources.n_classes)
        return FoldSums(
            xp.reshape(labels, by_fold),
            sums(self._square_sums, self._squares, own**2 * self._fold[rows, :], 2),
            sums(self._kernel @ nodes, nodes, own * columns[rows, :], 1),
        )

    def _nodes(self, values: Array) -> Array:
        """Add values (c, q) at cells up to (m, q) at points."""
        return self._table.segments.sums(values)


def scaled_kernel(table: Table, kernel: BilinearKernel, bandwidth: float) -> tuple[Array, Array]:
    """Return k(t; x) (m, m) between points, 0 at t itself, and k(t; t) (m,).

    Each row is in units of its largest value: of all points if others are at t, else of the others.
    """
    prob, log_prob = table.points.prob, table.points.log_prob
    xp = namespace(prob)
    features = kernel.features(prob, log_prob, bandwidth).shifted(-HEADROOM)
    exponents = with_diagonal(features.target @ features.source, -math.inf)
    itself = xp.full_like(exponents[:, 0], math.log(kernel.own(prob.shape[1])))
    largest = xp.max(exponents, axis=1)
    # A point alone of all has nothing to see.
    largest = xp.where(largest > -xp.inf, largest, 0.0)
    largest = xp.where(table.shared, xp.maximum(largest, itself), largest)
    relative = exponents - largest[:, None]
    values = with_diagonal(floored_exp(relative, _FLOOR, in_place=is_numpy(relative)), 0.0)
    own = xp.exp(xp.where(table.shared, itself - largest, 0.0))
    return values, xp.where(table.shared, own, 0.0)
