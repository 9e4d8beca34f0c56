"""Kernel sums by fold and class, for some of the rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from propercal._array import (
    device,
    floored_exp,
    is_numpy,
    like,
    namespace,
    one_hot,
    take_rows,
    to_numpy,
)
from propercal._kernels import linear
from propercal._kernels.kernels import HEADROOM, BilinearKernel, Features, shifted
from propercal._kernels.panels import Placement
from propercal._kernels.tiles import EXPONENT_FLOOR, Groups, row_sums, weighted_features
from propercal._methods.dependence import design_effect
from propercal._typing import Array
from propercal.recalibration.points import Points

#: Kernel values are squared, so their exponents may be half as large.
_HEADROOM = HEADROOM / 2
#: Of more cells in a tile, products with ones take longer than a sum by segments.
_MANY_CELLS = 16


@dataclass(frozen=True)
class Sources:
    """Rows sorted by fold, and by class within folds, as sources of kernel sums."""

    points: Points
    label: Array
    """(n,)."""
    weight: Array | None
    """(n,) or None where all are equal."""
    fold: np.ndarray[Any, Any]
    """(n,) in ascending order."""
    n_folds: int
    n_classes: int
    count: Array | None = None
    """(n,) equal rows that each stands for, of which `weight` is the sum; None where all are 1."""
    group: np.ndarray[Any, Any] | None = None
    """(n,) groups of rows that depend on each other, each within one fold; None for none."""
    correlation: float = 0.0
    """Of residuals within groups."""

    @property
    def folds(self) -> list[slice]:
        """The rows of each fold."""
        ends = np.searchsorted(self.fold, np.arange(self.n_folds + 1))
        return [slice(int(a), int(b)) for a, b in pairwise(ends)]

    def features(self, kernel: BilinearKernel, bandwidth: float) -> Features:
        """Return the features of all rows for :func:`fold_sums`."""
        return weighted_features(
            self.points.prob, self.points.log_prob, self.weight, kernel, bandwidth
        )

    def take(self, rows: np.ndarray[Any, Any]) -> Sources:
        """Return some of the sources, by their numbers, ascending."""
        xp, index = namespace(self.label), like(rows, self.label)
        return replace(
            self,
            points=self.points.take(index),
            label=xp.take(self.label, index),
            weight=None if self.weight is None else xp.take(self.weight, index),
            fold=self.fold[rows],
            count=None if self.count is None else xp.take(self.count, index),
            group=None if self.group is None else self.group[rows],
        )

    @property
    def cell(self) -> Array:
        """(n,) the fold times the number of classes, plus the class."""
        fold = namespace(self.label).asarray(self.fold, device=device(self.label))
        return fold * self.n_classes + self.label


def effect_of_groups(sources: Sources, squares: Array | None = None) -> float:
    """Return by how many times the sources are fewer than they are, for what is fitted to them.

    Correlation is that of y − g: it is more than that of y − r by what groups share in r − g, and
    then shrinks fits a little more. `squares` are sums of those of weights, where sources are sums.
    """
    if sources.group is None:
        return 1.0
    prob = sources.points.prob
    residual = to_numpy(one_hot(sources.label, sources.n_classes, prob.dtype) - prob)
    weight = np.ones(len(residual)) if sources.weight is None else to_numpy(sources.weight)
    own = weight**2 if squares is None else to_numpy(squares)
    return design_effect(residual, sources.group, weight, own)


class FoldSums(NamedTuple):
    """Leave-one-out kernel sums over the rows of each fold, each row up to a factor of its own."""

    labels: Array
    """(r, folds, k) Σ K_hj y_j."""
    squares: Array
    """(r, folds) Σ K_hj²."""
    columns: Array
    """(r, m) Σ K_hj x_j over all folds, of the columns x."""


class FoldKernel(Protocol):
    """A kernel of one bandwidth, to be summed over all sources for some of them."""

    @property
    def algorithm(self) -> str:
        """How it is summed."""

    def __call__(self, rows: slice | np.ndarray[Any, Any], columns: Array) -> FoldSums:
        """Sum over labels, and over values `columns` (n, m) at the sources, each row without it.

        `rows` are the numbers of the targets, ascending.
        """


def fold_kernel(
    sources: Sources,
    kernel: BilinearKernel,
    bandwidth: float,
    algorithm: str,
    targets: np.ndarray[Any, Any] | None = None,
) -> FoldKernel:
    """Return sums over all points, or over nodes where the points are pairs and that is faster.

    `targets` are the numbers, ascending, of the only sources at which they will be asked for.
    """
    prob, log_prob = sources.points.prob, sources.points.log_prob
    if algorithm == "auto":
        fits = linear.obstacle(kernel, prob, log_prob) is None and linear.wins(log_prob, bandwidth)
        algorithm = "linear" if fits else "exact"
    if algorithm == "linear":
        linear.check_possible(kernel, prob, log_prob)
        return _LinearSums(sources, kernel, bandwidth)
    features = sources.features(kernel, bandwidth)
    if targets is None or len(targets) == len(sources.fold):
        return _ExactSums(sources, features)
    target = take_rows(features.target, targets)
    return _ExactSums(sources, features._replace(target=target), targets)


@dataclass(frozen=True)
class _ExactSums:
    sources: Sources
    features: Features
    targets: np.ndarray[Any, Any] | None = None
    """Numbers of the sources that `features` has as targets; None for all."""
    algorithm: ClassVar[str] = "exact"

    def __call__(self, rows: slice | np.ndarray[Any, Any], columns: Array) -> FoldSums:
        if isinstance(rows, slice):
            rows = np.arange(rows.start, rows.stop)
        at = rows if self.targets is None else np.searchsorted(self.targets, rows)
        target = take_rows(self.features.target, at)
        return fold_sums(self.features, self.sources, rows, columns, target)


def fold_sums(
    features: Features,
    sources: Sources,
    rows: np.ndarray[Any, Any],
    columns: Array,
    target: Array | None = None,
) -> FoldSums:
    """Sum the kernel for the targets `rows` over all sources, by fold and class, and of columns.

    Parameters
    ----------
    features : Features
        Of all sources.
    sources : Sources
        The sources.
    rows : array (r,)
        Numbers of the targets among the sources, ascending but for −1 where one is no source.
    columns : array (n, m)
        Values at the sources whose kernel-weighted sums are wanted.
    target : array (r, ·), optional
        Features of the targets; by default those of the sources `rows`.
    """
    if target is None:
        target = take_rows(features.target, rows)
    target = shifted(target, _HEADROOM - HEADROOM)
    sums = _Sums(sources, features.source, columns)
    # Where nothing is left of a source without the row, it need not be summed and taken away.
    is_alone = rows >= 0
    if sources.count is not None:
        is_alone &= to_numpy(sources.count)[rows] <= 1
    if is_alone.all():
        return sums.split(sums.without_source(target, rows))
    alone, others = np.flatnonzero(is_alone), np.flatnonzero(~is_alone)
    xp = namespace(columns)
    found = [
        sums.without_source(take_rows(target, alone), rows[alone]),
        sums.without_row(take_rows(target, others), rows[others]),
    ]
    back = np.argsort(np.concatenate([alone, others]))
    return sums.split(take_rows(xp.concat(found, axis=0), back))


class _Sums:
    """Sums of tiles: by cell, their squares by fold, and of columns."""

    def __init__(self, sources: Sources, source: Array, columns: Array) -> None:
        self._sources, self._source, self._columns = sources, source, columns
        self._n_cells = sources.n_folds * sources.n_classes
        self._cells = Groups(sources.cell, self._n_cells)
        self._folds = Groups(like(sources.fold, sources.label), sources.n_folds)
        self._tiles: dict[int, tuple[list[int], list[int]]] = {}
        count = sources.count
        self._share = None if count is None else 1 / namespace(count).astype(count, columns.dtype)

    def split(self, sums: Array) -> FoldSums:
        """Name the parts of sums."""
        xp = namespace(sums)
        n_folds, columns = self._sources.n_folds, self._n_cells + self._sources.n_folds
        by_fold = (sums.shape[0], n_folds, self._sources.n_classes)
        return FoldSums(
            xp.reshape(sums[:, : self._n_cells], by_fold),
            sums[:, self._n_cells : columns],
            sums[:, columns:],
        )

    def without_source(self, target: Array, rows: np.ndarray[Any, Any]) -> Array:
        """Sum over all sources but the target's own."""
        return self._all(target, rows, exclude_self=True)[0]

    def without_row(self, target: Array, rows: np.ndarray[Any, Any]) -> Array:
        """Sum over all rows but the target's own, of which its source has at least one more."""
        xp = namespace(target)
        sums, scale = self._all(target, np.maximum(rows, 0), exclude_self=False)
        is_source = np.flatnonzero(rows >= 0)
        if self._share is None or is_source.size == 0:
            return sums
        which, own = like(is_source, target), like(rows[is_source], target)
        exponent = xp.sum(
            xp.take(target, which, axis=0) * xp.take(self._source, own, axis=1).T, axis=1
        )
        one = xp.exp(exponent - xp.take(scale, which)) * xp.take(self._share, own)
        cell = one_hot(xp.take(self._cells.label, own), self._n_cells, one.dtype)
        fold = one_hot(xp.take(self._folds.label, own), self._sources.n_folds, one.dtype)
        itself = xp.concat([cell, fold * one[:, None], xp.take(self._columns, own, axis=0)], axis=1)
        chosen = np.arange(len(rows))
        chosen[is_source] = len(rows) + np.arange(is_source.size)
        left = xp.take(sums, which, axis=0) - one[:, None] * itself
        return take_rows(xp.concat([sums, left], axis=0), chosen)

    def _all(
        self, target: Array, rows: np.ndarray[Any, Any], *, exclude_self: bool
    ) -> tuple[Array, Array]:
        return row_sums(
            self._add,
            self._n_cells,
            target,
            like(rows, target),
            self._source,
            self._cells,
            exclude_self=exclude_self,
            headroom=_HEADROOM,
        )

    def _add(
        self, result: Array | None, tile: Array, part: slice, _: Groups, in_place: bool
    ) -> Array:
        n_cells, n_folds, columns = self._n_cells, self._sources.n_folds, self._columns
        values = floored_exp(tile, EXPONENT_FLOOR, in_place=in_place)
        if not is_numpy(tile):
            xp = namespace(tile)
            cells = one_hot(self._cells.label[part], n_cells, tile.dtype)
            folds = one_hot(self._folds.label[part], n_folds, tile.dtype)
            if self._share is not None:
                folds = folds * self._share[part, None]
            new = xp.concat(
                [values @ cells, (values * values) @ folds, values @ columns[part, :]], axis=1
            )
            return new if result is None else result + new
        if result is None:
            result = np.zeros((tile.shape[0], n_cells + n_folds + columns.shape[1]))
        cells, starts = self._cells_of(part)
        if len(cells) > _MANY_CELLS:
            result[:, cells] += np.add.reduceat(values, starts, axis=1)
        else:
            for i, place in self._cells.parts(part):
                piece = values[:, place]
                result[:, i] += piece @ np.ones(piece.shape[1])
        for i, place in self._folds.parts(part):
            piece = values[:, place]
            if self._share is None:
                result[:, n_cells + i] += np.einsum("ij,ij->i", piece, piece)
            else:
                result[:, n_cells + i] += (piece * piece) @ self._share[part][place]
        result[:, n_cells + n_folds :] += values @ columns[part]
        return result

    def _cells_of(self, part: slice) -> tuple[list[int], list[int]]:
        """Return the cells of a tile, and where in it they start; each is asked for many times."""
        if part.start not in self._tiles:
            found = list(self._cells.parts(part))
            self._tiles[part.start] = [i for i, _ in found], [place.start for _, place in found]
        return self._tiles[part.start]


class _LinearSums:
    """The same sums over nodes, for points that are pairs."""

    algorithm: ClassVar[str] = "linear"

    def __init__(self, sources: Sources, kernel: BilinearKernel, bandwidth: float) -> None:
        prob, log_prob = sources.points.prob, sources.points.log_prob
        xp = namespace(prob)
        self._sources, self._kernel, self._bandwidth = sources, kernel, bandwidth
        self._panels = linear.panels_for(log_prob, bandwidth)
        self._all = Placement(self._panels, prob, log_prob)
        weight = xp.ones_like(prob[:, 0]) if sources.weight is None else sources.weight
        self._weight = weight[:, None]
        # Of one row of each source.
        self._one = self._weight if sources.count is None else (weight / sources.count)[:, None]
        fold = like(sources.fold, prob)
        self._cell = one_hot(sources.cell, sources.n_folds * sources.n_classes, prob.dtype)
        self._fold = one_hot(fold, sources.n_folds, prob.dtype)
        self._cell_nodes = self._all.spread(self._cell * self._weight)
        self._square_nodes = self._all.spread(self._fold * self._weight * self._one)

    def __call__(self, rows: slice | np.ndarray[Any, Any], columns: Array) -> FoldSums:
        xp = namespace(columns)
        sources = self._sources
        numbers = np.arange(len(sources.fold))[rows]
        index = like(numbers, columns)
        at = sources.points.take(index)
        targets = Placement(self._panels, at.prob, at.log_prob)
        n_cells = self._cell.shape[1]
        nodes = xp.concat([self._cell_nodes, self._all.spread(columns * self._weight)], axis=1)
        at_nodes = linear.kernel_sums(targets.grid, self._all.grid, self._kernel, nodes)
        squares = linear.kernel_sums(
            targets.grid, self._all.grid, self._kernel, self._square_nodes, power=2
        )
        found = targets.interpolate(xp.concat([at_nodes, squares], axis=1))
        own = self._kernel.own(2)
        cell, fold, one, column = (
            xp.take(each, index, axis=0) for each in (self._cell, self._fold, self._one, columns)
        )
        itself = xp.concat([cell, column, fold * own * one], axis=1)
        found = xp.clip(found - own * one * itself, min=0.0)
        width = at_nodes.shape[1]
        result = FoldSums(
            xp.reshape(found[:, :n_cells], (-1, sources.n_folds, sources.n_classes)),
            found[:, width:],
            found[:, n_cells:width],
        )
        total = xp.sum(found[:, :n_cells], axis=1, keepdims=True)
        total_at_nodes = xp.sum(at_nodes[:, :n_cells], axis=1, keepdims=True)
        small = linear.small_sums(
            targets, total_at_nodes, total, own * float(xp.mean(self._weight))
        )
        if small.size == 0:
            return result
        features = sources.features(self._kernel, self._bandwidth)
        again = fold_sums(features, sources, numbers[small], columns)
        return FoldSums(*(linear.replaced(a, small, b) for a, b in zip(result, again, strict=True)))
