"""Kernel sums over the cells of a table."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from propercal._array import (
    contiguous,
    floored_exp,
    free_memory,
    is_numpy,
    like,
    namespace,
    product,
    slices,
    to_numpy,
)
from propercal._kernels.kernels import HEADROOM, BilinearKernel
from propercal._methods.fold_sums import FoldSums
from propercal._methods.table import Numbers, Table
from propercal._typing import Array

#: What a smaller exponent, relative to the largest of its row, counts as: its square is no
#: subnormal number yet, and no sum of such terms matters.
_FLOOR = -300.0
#: Rows of the kernel that are in cache at one time.
_BLOCK = 128
#: The kernel is kept if its rows are asked for so many times on average.
_OFTEN = 1.5


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
        m, n_classes = points.prob.shape
        self._cell, self._fold, self._labels, self._squares = table.indicators
        self._features = kernel.features(points.prob, points.log_prob, bandwidth).shifted(-HEADROOM)
        self._of_itself = math.log(kernel.own(n_classes))
        self._kernel, self._sums = None, None
        # Points of many folds are asked for many times; others are summed when they are.
        if len(np.unique(sources.fold * m + to_numpy(table.place))) > _OFTEN * m:
            self._kernel, self._sums = self._summed(np.arange(m), self._labels, keep=True)

    def __call__(self, rows: slice | np.ndarray[Any, Any], columns: Array) -> FoldSums:
        """Sum over labels, and over values `columns` (c, m) at the cells, each row without it."""
        table = self._table
        sources = table.sources
        xp = namespace(columns)
        place, own = table.place[rows], table.own[rows][:, None]
        nodes = self._nodes(columns * table.weight[:, None])
        if self._sums is None:
            used, at_used = np.unique(to_numpy(place), return_inverse=True)
            at = like(at_used, place)
            _, found = self._summed(used, xp.concat([self._labels, nodes], axis=1))
            n_cells = self._labels.shape[1]
            of_columns = found.values[:, n_cells:]
            found = found._replace(values=found.values[:, :n_cells])
        else:
            at, found, of_columns = place, self._sums, self._kernel @ nodes
        itself = xp.take(found.itself, at)[:, None]

        def sums(others: Array, nodes: Array, mine: Array, power: int) -> Array:
            rest = xp.clip(xp.take(nodes, place, axis=0) - mine, min=0.0)
            return xp.take(others, at, axis=0) + itself**power * rest

        labels = sums(found.values, self._labels, own * self._cell[rows, :], 1)
        by_fold = (-1, sources.n_folds, sources.n_classes)
        return FoldSums(
            xp.reshape(labels, by_fold),
            sums(found.squares, self._squares, own**2 * self._fold[rows, :], 2),
            sums(of_columns, nodes, own * columns[rows, :], 1),
        )

    def _nodes(self, values: Array) -> Array:
        """Add values (c, q) at cells up to (m, q) at points."""
        return self._table.segments.sums(values)

    def _summed(self, points: Numbers, values: Array, *, keep: bool = False) -> tuple[Array, _Sums]:
        """Sum the kernel at some points; return it too, where it is to be kept.

        Each row is in units of its largest value: of all points if others are at t, else of the
        others. A few rows at a time stay in cache from their exponents to their sums, in memory
        that was used before: it is slow to come by.
        """
        xp, m = namespace(values), values.shape[0]
        source, shared = contiguous(self._features.source), self._table.shared
        n, in_memory = len(points), is_numpy(values)
        block = min(n, _BLOCK) if free_memory(values) is None else n
        memory = np.empty((n if keep else block, m)) if in_memory else None
        kernels, parts = [], []
        for rows in slices(n, block):
            index = like(points[rows], values)
            into = None if memory is None else memory[rows if keep else slice(block), :]
            exponents = product(xp.take(self._features.target, index, axis=0), source, into)
            kernel, itself = _scaled(
                exponents, points[rows], xp.take(shared, index), self._of_itself
            )
            parts.append((itself, kernel @ values, xp.square(kernel) @ self._squares))
            if keep:
                kernels.append(kernel)
        found = _Sums(*(xp.concat(each, axis=0) for each in zip(*parts, strict=True)))
        if memory is None:
            memory = xp.concat(kernels, axis=0) if keep else None
        return memory, found


class _Sums(NamedTuple):
    """Sums over all other points."""

    itself: Array
    """(r,) k(t; t)."""
    values: Array
    """(r, q) Σ k(t; x) v."""
    squares: Array
    """(r, folds) Σ k(t; x)² over the rows of each fold."""


def scaled_kernel(table: Table, kernel: BilinearKernel, bandwidth: float) -> tuple[Array, Array]:
    """Return k(t; x) (m, m) between points, 0 at t itself, and k(t; t) (m,).

    Each row is in units of its largest value: of all points if others are at t, else of the others.
    """
    prob, log_prob = table.points.prob, table.points.log_prob
    features = kernel.features(prob, log_prob, bandwidth).shifted(-HEADROOM)
    m, n_classes = prob.shape
    of_itself = math.log(kernel.own(n_classes))
    return _scaled(features.target @ features.source, np.arange(m), table.shared, of_itself)


def _scaled(
    exponents: Array, points: Numbers, shared: Array, of_itself: float
) -> tuple[Array, Array]:
    """Turn exponents (r, m) at some points, which may be overwritten, into k(t; x) and k(t; t)."""
    xp = namespace(exponents)
    exponents = _with_own(exponents, points, -math.inf)
    largest = xp.max(exponents, axis=1)
    # A point alone of all has nothing to see.
    largest = xp.where(largest > -xp.inf, largest, 0.0)
    largest = xp.where(shared, xp.clip(largest, min=of_itself), largest)
    exponents -= largest[:, None]
    values = floored_exp(exponents, _FLOOR, in_place=is_numpy(exponents))
    own = xp.exp(xp.where(shared, of_itself - largest, 0.0))
    return _with_own(values, points, 0.0), xp.where(shared, own, 0.0)


def _with_own(x: Array, points: Numbers, value: float) -> Array:
    """Return `x` (r, m), which may be overwritten, with `value` where a point meets itself."""
    if is_numpy(x):
        x[np.arange(len(points)), points] = value
        return x
    columns = like(np.arange(x.shape[1]), x)
    return namespace(x).where(columns[None, :] == like(points, x)[:, None], value, x)
