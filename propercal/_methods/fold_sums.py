"""Kernel sums by fold and class, for the targets of one fold."""

from __future__ import annotations

from dataclasses import dataclass
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
)
from propercal._kernels import linear
from propercal._kernels.kernels import HEADROOM, BilinearKernel, Features, shifted
from propercal._kernels.panels import Placement
from propercal._kernels.tiles import EXPONENT_FLOOR, Groups, row_sums, weighted_features
from propercal._typing import Array
from propercal.recalibration.points import Points

#: Kernel values are squared, so their exponents may be half as large.
_HEADROOM = HEADROOM / 2


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

    @property
    def cell(self) -> Array:
        """(n,) the fold times the number of classes, plus the class."""
        fold = namespace(self.label).asarray(self.fold, device=device(self.label))
        return fold * self.n_classes + self.label


class FoldSums(NamedTuple):
    """Leave-one-out kernel sums over the rows of each fold, each row up to a factor of its own."""

    labels: Array
    """(r, folds, k) Σ K_hj y_j."""
    squares: Array
    """(r, folds) Σ K_hj²."""
    columns: Array
    """(r, m) Σ K_hj x_j over all folds, of the columns x."""


class FoldKernel(Protocol):
    """A kernel of one bandwidth, to be summed over all sources for the rows of each fold."""

    @property
    def algorithm(self) -> str:
        """How it is summed."""

    def __call__(self, fold: int, columns: Array) -> FoldSums:
        """Sum over labels, and over values `columns` (n, m) at the sources, each row without it."""


def fold_kernel(
    sources: Sources, kernel: BilinearKernel, bandwidth: float, algorithm: str
) -> FoldKernel:
    """Return sums over all points, or over nodes where the points are pairs and that is faster."""
    prob, log_prob = sources.points.prob, sources.points.log_prob
    if algorithm == "auto":
        fits = linear.obstacle(kernel, prob, log_prob) is None and linear.wins(log_prob, bandwidth)
        algorithm = "linear" if fits else "exact"
    if algorithm == "linear":
        linear.check_possible(kernel, prob, log_prob)
        return _LinearSums(sources, kernel, bandwidth)
    return _ExactSums(sources, sources.features(kernel, bandwidth))


@dataclass(frozen=True)
class _ExactSums:
    sources: Sources
    features: Features
    algorithm: ClassVar[str] = "exact"

    def __call__(self, fold: int, columns: Array) -> FoldSums:
        rows = self.sources.folds[fold]
        return fold_sums(self.features, self.sources, np.arange(rows.start, rows.stop), columns)


def fold_sums(
    features: Features, sources: Sources, rows: np.ndarray[Any, Any], columns: Array
) -> FoldSums:
    """Sum the kernel for the targets `rows` over all sources, by fold and class, and of columns.

    Parameters
    ----------
    features : Features
        Of all rows.
    sources : Sources
        The rows.
    rows : array (r,)
        Numbers of the targets, ascending.
    columns : array (n, m)
        Values at the sources whose kernel-weighted sums are wanted.
    """
    xp = namespace(columns)
    n_folds, k = sources.n_folds, sources.n_classes
    n_cells = n_folds * k
    n_columns = columns.shape[1]
    groups = Groups(sources.cell, n_cells)
    ids = like(rows, columns)
    target = shifted(xp.take(features.target, ids, axis=0), _HEADROOM - HEADROOM)

    def add(result: Array | None, tile: Array, part: slice, _: Groups, in_place: bool) -> Array:
        values = floored_exp(tile, EXPONENT_FLOOR, in_place=in_place)
        if not is_numpy(tile):
            indicators = one_hot(groups.label[part], n_cells, tile.dtype)
            sums = values @ xp.concat([indicators, columns[part, :]], axis=1)
            squares = (values * values) @ indicators
            new = xp.concat([sums[:, :n_cells], squares, sums[:, n_cells:]], axis=1)
            return new if result is None else result + new
        if result is None:
            result = np.zeros((tile.shape[0], 2 * n_cells + n_columns))
        for i, place in groups.parts(part):
            piece = values[:, place]
            result[:, i] += piece @ np.ones(piece.shape[1])
            result[:, n_cells + i] += np.einsum("ij,ij->i", piece, piece)
        result[:, 2 * n_cells :] += values @ columns[part]
        return result

    sums, _ = row_sums(
        add, n_cells, target, ids, features.source, groups, exclude_self=True, headroom=_HEADROOM
    )
    by_fold = (sums.shape[0], n_folds, k)
    return FoldSums(
        xp.reshape(sums[:, :n_cells], by_fold),
        xp.sum(xp.reshape(sums[:, n_cells : 2 * n_cells], by_fold), axis=2),
        sums[:, 2 * n_cells :],
    )


class _LinearSums:
    """The same sums over nodes, for points that are pairs."""

    algorithm: ClassVar[str] = "linear"

    def __init__(self, sources: Sources, kernel: BilinearKernel, bandwidth: float) -> None:
        prob, log_prob = sources.points.prob, sources.points.log_prob
        xp = namespace(prob)
        self._sources, self._kernel, self._bandwidth = sources, kernel, bandwidth
        panels = linear.panels_for(log_prob, bandwidth)
        self._all = Placement(panels, prob, log_prob)
        self._folds = [
            Placement(panels, prob[rows, :], log_prob[rows, :]) for rows in sources.folds
        ]
        weight = xp.ones_like(prob[:, 0]) if sources.weight is None else sources.weight
        self._weight = weight[:, None]
        fold = like(sources.fold, prob)
        self._cell = one_hot(sources.cell, sources.n_folds * sources.n_classes, prob.dtype)
        self._fold = one_hot(fold, sources.n_folds, prob.dtype)
        self._cell_nodes = self._all.spread(self._cell * self._weight)
        self._square_nodes = self._all.spread(self._fold * self._weight**2)

    def __call__(self, fold: int, columns: Array) -> FoldSums:
        xp = namespace(columns)
        sources, targets = self._sources, self._folds[fold]
        n_cells = self._cell.shape[1]
        nodes = xp.concat([self._cell_nodes, self._all.spread(columns * self._weight)], axis=1)
        at_nodes = linear.kernel_sums(targets.grid, self._all.grid, self._kernel, nodes)
        squares = linear.kernel_sums(
            targets.grid, self._all.grid, self._kernel, self._square_nodes, power=2
        )
        found = targets.interpolate(xp.concat([at_nodes, squares], axis=1))
        rows = sources.folds[fold]
        weight, own = self._weight[rows, :], self._kernel.own(2)
        itself = [self._cell[rows, :], columns[rows, :], self._fold[rows, :] * own * weight]
        found = xp.clip(found - own * weight * xp.concat(itself, axis=1), min=0.0)
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
        again = fold_sums(features, sources, rows.start + small, columns)
        return FoldSums(*(linear.replaced(a, small, b) for a, b in zip(result, again, strict=True)))
