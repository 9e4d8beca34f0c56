"""Kernel sums that leave out the whole group of a row, and know which rows are dependent.

Labels of a group may repeat each other: a row's own would come back through those of its group.
The squares, from which the effective number of rows is found, count rows of a group together as far
as these are correlated (:mod:`propercal._methods.dependence`).
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from propercal._array import like, namespace, slices, take_rows, to_numpy
from propercal._kernels.kernels import BilinearKernel, Features
from propercal._methods.dependence import blend
from propercal._methods.fold_sums import FoldSums, Sources
from propercal._methods.table import Table
from propercal._methods.table_sums import scaled_kernel
from propercal._typing import Array

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]

#: Numbers of a tile of the kernel, of its sums by group, and of pairs of rows of one group.
_TILE = 2**21
#: A share of the sum below this is rounding: nothing is left without the group.
_NOTHING_LEFT = 1e-6


class GroupedRowSums:
    """A kernel of one bandwidth, summed over all rows of other groups."""

    algorithm: ClassVar[str] = "exact"

    def __init__(self, sources: Sources, kernel: BilinearKernel, bandwidth: float) -> None:
        self._sources = sources
        self._features = sources.features(kernel, bandwidth)

    def __call__(self, rows: slice | np.ndarray[Any, Any], columns: Array) -> FoldSums:
        """Sum over labels, and over `columns` (n, m) at the sources, for the targets `rows`."""
        numbers = np.arange(len(self._sources.fold))[rows]
        target = take_rows(self._features.target, numbers)
        group = groups_of(self._sources)[numbers]
        return grouped_row_sums(self._features, self._sources, group, columns, target)


def groups_of(sources: Sources) -> Numbers:
    """(n,) the groups of sources that have some."""
    assert sources.group is not None  # noqa: S101  # asked for these only
    return sources.group


def grouped_row_sums(
    features: Features, sources: Sources, group: Numbers, columns: Array, target: Array
) -> FoldSums:
    """Sum the kernel for targets (r, ·), of groups (r,), over the sources of other groups."""
    source, at, values = (to_numpy(each) for each in (features.source, target, columns))
    of_sources = groups_of(sources)
    cells = _Indicator(to_numpy(sources.cell), sources.n_folds * sources.n_classes)
    folds = _Indicator(sources.fold, sources.n_folds)
    by_group = _ByGroup(of_sources, sources.fold, sources.n_folds)
    parts = []
    for part in slices(len(at), max(1, _TILE // source.shape[1])):
        tile = at[part] @ source
        tile[group[part, None] == of_sources[None, :]] = -np.inf
        largest = tile.max(axis=1, keepdims=True)
        # Of a target that is alone nothing is left.
        tile = np.exp(tile - np.where(np.isfinite(largest), largest, 0.0))
        squares = blend(folds.sums(tile**2), by_group.squares(tile), sources.correlation)
        parts.append((cells.sums(tile), squares, tile @ values))
    labels, squares, sums = (
        like(np.concatenate(each, axis=0), columns) for each in zip(*parts, strict=True)
    )
    by_fold = (len(at), sources.n_folds, sources.n_classes)
    return FoldSums(namespace(labels).reshape(labels, by_fold), squares, sums)


class _Indicator:
    """Columns by ascending numbers, to be added up."""

    def __init__(self, number: Numbers, size: int) -> None:
        ends = np.searchsorted(number, np.arange(size + 1))
        self._some = np.flatnonzero(np.diff(ends))
        self._starts, self._size = ends[self._some], size

    def sums(self, values: Floats) -> Floats:
        """(r, size) sums of the columns of `values` (r, n) of each number."""
        result = np.zeros((len(values), self._size))
        result[:, self._some] = np.add.reduceat(values, self._starts, axis=1)
        return result


class _ByGroup:
    """Sums over the rows of each group, squared and added up by fold."""

    def __init__(
        self, group: Numbers, fold: Numbers, n_folds: int, weight: Floats | None = None
    ) -> None:
        from scipy.sparse import csr_array

        _, number = np.unique(group, return_inverse=True)
        of_group = np.zeros(int(number.max()) + 1, dtype=np.int64)
        of_group[number] = fold
        # Groups of a fold one after the other.
        order = np.argsort(of_group, kind="stable")
        place = np.argsort(order)[number]
        values = np.ones(len(group)) if weight is None else weight
        shape = (len(order), len(group))
        self._members = csr_array((values, (place, np.arange(len(group)))), shape=shape)
        self._folds = _Indicator(of_group[order], n_folds)

    def squares(self, values: Floats) -> Floats:
        """(r, folds) sums of squares of the sums of `values` (r, n) by group."""
        by_group = np.asarray(self._members @ values.T)
        return self._folds.sums(by_group.T**2)


class GroupedTableSums:
    """The kernel of one bandwidth between the points of a table, summed over other groups.

    Sums over all rows are taken once for each point; then what the group of a row adds to them is
    taken away. Its cells are all in the fold of the row.
    """

    def __init__(self, table: Table, kernel: BilinearKernel, bandwidth: float) -> None:
        self.algorithm = "exact" if table.exact else "linear"
        self._table = table
        sources, n_points = table.sources, table.points.prob.shape[0]
        values, own = (to_numpy(each) for each in scaled_kernel(table, kernel, bandwidth))
        self._kernel = values + np.diag(own)
        self._place = to_numpy(table.place)
        self._weight, self._squares = to_numpy(table.weight), to_numpy(table.squares)
        self._group = groups_of(sources)
        n_cells = sources.n_folds * sources.n_classes
        cell = to_numpy(sources.cell)
        self._cells = np.equal.outer(cell, np.arange(n_cells)).astype(np.float64)
        self._labels = self._kernel @ self._nodes(self._cells * self._weight[:, None])
        fold = np.equal.outer(sources.fold, np.arange(sources.n_folds))
        of_rows = self._kernel**2 @ self._nodes(fold * self._squares[:, None])
        of_groups = np.empty((n_points, sources.n_folds))
        by_group = _ByGroup(self._group, sources.fold, sources.n_folds, self._weight)
        for part in slices(n_points, max(1, _TILE // len(cell))):
            of_groups[part] = by_group.squares(self._kernel[part][:, self._place])
        self._square_sums = blend(of_rows, of_groups, sources.correlation)

    def __call__(self, rows: slice | np.ndarray[Any, Any], columns: Array) -> FoldSums:
        """Sum over labels, and over values `columns` (c, m) at the cells, for cells of a fold."""
        numbers = np.arange(len(self._place))[rows]
        place, values = self._place[numbers], to_numpy(columns)
        n_cells = self._cells.shape[1]
        everything = np.concatenate([self._cells, values], axis=1)
        own, own_squares = self._of_groups(numbers, everything)
        all_sums = np.concatenate(
            [self._labels, self._kernel @ self._nodes(values * self._weight[:, None])], axis=1
        )[place]
        total = all_sums[:, :n_cells].sum(axis=1)
        left = all_sums - own
        some = left[:, :n_cells].sum(axis=1) > _NOTHING_LEFT * total
        left = np.where(some[:, None], left.clip(min=0.0), 0.0)
        squares = (self._square_sums[place] - own_squares).clip(min=0.0)
        sources = self._table.sources
        labels = left[:, :n_cells].reshape(-1, sources.n_folds, sources.n_classes)
        return FoldSums(*(like(each, columns) for each in (labels, squares, left[:, n_cells:])))

    def _of_groups(self, numbers: Numbers, values: Floats) -> tuple[Floats, Floats]:
        """Return sums (r, q) over the group of each cell of `values` (c, q), and squares (r, f)."""
        from scipy.sparse import csr_array

        sources = self._table.sources
        group = self._group[numbers]
        order = np.argsort(group, kind="stable")
        _, first, size = np.unique(group[order], return_index=True, return_counts=True)
        sums = np.empty((len(numbers), values.shape[1]))
        squares = np.zeros((len(numbers), sources.n_folds))
        for chosen in _runs(size**2, _TILE):
            begin, end = first[chosen.start], first[chosen.stop - 1] + size[chosen.stop - 1]
            members = numbers[order[begin:end]]
            # Each cell of a group beside each: row i of a matrix whose columns are the cells.
            each = np.repeat(size[chosen], size[chosen])
            start = np.repeat(first[chosen] - begin, size[chosen])
            ends = np.concatenate([[0], np.cumsum(each)])
            column = np.arange(ends[-1]) + np.repeat(start - ends[:-1], each)
            place = self._place[members]
            kernel = self._kernel[np.repeat(place, each), place[column]]
            weight, square = self._weight[members][column], self._squares[members][column]
            shape = (len(members), len(members))
            own = csr_array((kernel * weight, column, ends), shape=shape)
            rows = order[begin:end]
            sums[rows] = own @ values[members]
            alone = np.add.reduceat(kernel**2 * square, ends[:-1])
            together = np.add.reduceat(kernel * weight, ends[:-1]) ** 2
            squares[rows, sources.fold[members]] = blend(alone, together, sources.correlation)
        return sums, squares

    def _nodes(self, values: Floats) -> Floats:
        """Add values (c, q) at cells up to (m, q) at points."""
        found: Floats = to_numpy(self._table.segments.sums(like(values, self._table.weight)))
        return found


def _runs(sizes: Numbers, most: int) -> list[slice]:
    """Return runs of neighbours whose sizes add up to `most`, or single ones of more."""
    before = np.cumsum(sizes) - sizes
    starts = [0]
    for i in range(1, len(sizes)):
        if before[i] + sizes[i] - before[starts[-1]] > most:
            starts.append(i)
    return [slice(a, b) for a, b in zip(starts, [*starts[1:], len(sizes)], strict=True)]
