"""Tables: rows of equal or nearly equal predictions, summed up by fold and label.

What is fitted, chosen and summed by kernels depends on the points of the table and the weights
there, so that it costs the same whatever the number of rows is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from propercal._array import Segments, like, namespace, one_hot, to_numpy
from propercal._data.predictions.notions import Problem
from propercal._kernels import linear
from propercal._kernels.binning import LARGEST_EXACT, SPACING, bins
from propercal._kernels.kernels import DirichletKernel
from propercal._methods.fold_sums import Sources, effect_of_groups
from propercal._methods.recipe import Recipe
from propercal._typing import Array
from propercal.generators.base import BregmanGenerator
from propercal.recalibration.points import LOG_FLOOR, Points, interior

Numbers = npt.NDArray[np.intp]
Floats = npt.NDArray[np.float64]

#: Bins are narrow beside kernels of this bandwidth, and narrower for narrower ones.
_BANDWIDTH = 0.006
#: All pairs of points are looked at, and kept.
_LARGEST = 4096
#: Numbers in an array of points by class.
_LARGEST_ARRAY = 20_000
#: Of fewer, fits side by side take less time than one after the other, also if no rows are equal.
_FEW_NUMBERS = 3000


@dataclass(frozen=True)
class Table:
    """Rows by point, fold and label: cells, which are the sources and targets of a problem."""

    points: Points
    """(m)."""
    sources: Sources
    """The c cells, sorted by fold and label, and their weights: sums over rows."""
    place: Array
    """(c,) the point of each cell."""
    segments: Segments
    """Cells by point."""
    weight: Array
    """(c,) weight of the rows of a cell."""
    squares: Array
    """(c,) sum of the squares of these weights."""
    own: Array
    """(c,) weight of one row of the cell: their mean, weighted by themselves."""
    shared: Array
    """(m,) whether a point has more than one row."""
    cell: Numbers
    """(n,) the cell of each row."""
    exact: bool
    """Whether all rows of a point have the same prediction."""

    def counts_without(self, left_out: Sequence[frozenset[int]]) -> Array:
        """(b, m, k) weights by point and label without some folds, in units of rows."""
        sources = self.sources
        labels = one_hot(sources.label, sources.n_classes, self.weight.dtype)
        scale = namespace(self.weight).sum(self.weight) / namespace(self.weight).sum(self.squares)
        scale = scale / effect_of_groups(sources, self.squares)
        weighted = labels * (self.weight * scale)[:, None]
        by_fold = [
            Segments(self.place[rows], self.points.prob.shape[0]).sums(weighted[rows, :])
            for rows in sources.folds
        ]
        return namespace(weighted).stack(
            [sum(each for f, each in enumerate(by_fold) if f not in out) for out in left_out]
        )

    @cached_property
    def indicators(self) -> Indicators:
        """Cells by fold and label, for the sums of every bandwidth."""
        sources, dtype = self.sources, self.weight.dtype
        cell = one_hot(sources.cell, sources.n_folds * sources.n_classes, dtype)
        fold = one_hot(like(sources.fold, self.weight), sources.n_folds, dtype)
        sums = self.segments.sums
        weights = sums(cell * self.weight[:, None]), sums(fold * self.squares[:, None])
        return Indicators(cell, fold, *weights)


class Indicators(NamedTuple):
    """One-hot folds and labels of cells, and sums by them."""

    cell: Array
    """(c, folds · k) fold and label of each cell."""
    fold: Array
    """(c, folds)."""
    weight: Array
    """(m, folds · k) Σ w at each point."""
    squares: Array
    """(m, folds) Σ w² at each point."""


class Cells(NamedTuple):
    """Sums over the rows of each point, fold and label that occur, in the order of all three."""

    number: Numbers
    """(c,) (fold · k + label) · m + point."""
    size: Floats
    """(c,) rows."""
    weight: Floats
    """(c,) Σ w."""
    squares: Floats
    """(c,) Σ w²."""


class Grouped(NamedTuple):
    """Rows by points that stand for them."""

    number: Numbers
    """(n,) the point of each row."""
    points: Points
    """(m)."""
    exact: bool
    """Whether these are the predictions themselves."""


def make_table(
    problem: Problem, folds: Numbers, recipe: Recipe, grouped: Grouped | None
) -> Table | None:
    """Return the table of a problem whose rows are dealt to folds; None where there is no good one.

    The points are the predictions where these are few. Else those of two classes are put in bins
    of the log-odds, and a point is the mean of a bin.
    """
    if grouped is None or not recipe.of_points or grouped.points.prob.shape[0] > _LARGEST:
        return None
    row_point, points, exact = grouped
    k, m = problem.n_classes, points.prob.shape[0]
    number = (folds * k + to_numpy(problem.label)) * m + row_point
    if problem.groups is not None:
        return _table_of_groups(problem, number, recipe, grouped)
    counts = np.bincount(number, minlength=recipe.n_folds * k * m)
    used = counts > 0
    cell = (np.cumsum(used) - 1)[number]
    size: Floats = counts[used].astype(np.float64)
    weight: Floats = size
    squares: Floats = size
    if not problem.uniform:
        each = to_numpy(problem.weight)
        # Squares may underflow where weights do not.
        each = each / each.max()
        weight = np.bincount(cell, each).astype(np.float64)
        squares = np.bincount(cell, each * each).astype(np.float64)
    cells = Cells(np.flatnonzero(used), size, weight, squares)
    return table_of(points, cells, recipe.n_folds, k, row_cell=cell, exact=exact)


def _table_of_groups(problem: Problem, number: Numbers, recipe: Recipe, grouped: Grouped) -> Table:
    """Return the table whose cells are told apart by group too."""
    assert problem.groups is not None  # noqa: S101  # only then
    n_groups = int(problem.groups.max()) + 1
    points, m = grouped.points, grouped.points.prob.shape[0]
    found, cell = np.unique(number * n_groups + problem.groups, return_inverse=True)
    cell = cell.ravel()
    size = np.bincount(cell).astype(np.float64)
    weight, squares = size, size
    if not problem.uniform:
        each = to_numpy(problem.weight)
        each = each / each.max()
        weight = np.bincount(cell, each).astype(np.float64)
        squares = np.bincount(cell, each * each).astype(np.float64)
    number, group = np.divmod(found, n_groups)
    table = table_of(
        points,
        Cells(number, size, weight, squares),
        recipe.n_folds,
        problem.n_classes,
        row_cell=cell,
        exact=grouped.exact,
    )
    # Others are at a point if rows of another group are.
    pairs = np.unique((number % m) * n_groups + group) // n_groups
    shared = like(np.bincount(pairs, minlength=m) > 1, points.prob)
    return replace(table, sources=replace(table.sources, group=group), shared=shared)


def table_of(
    points: Points,
    cells: Cells,
    n_folds: int,
    n_classes: int,
    *,
    row_cell: Numbers,
    exact: bool,
) -> Table:
    """Return the table of cells that have been summed up."""
    rest, place = np.divmod(cells.number, points.prob.shape[0])
    fold, label = np.divmod(rest, n_classes)
    alone = cells.size == 1
    own = np.where(alone, cells.weight, cells.squares / np.where(alone, 1.0, cells.weight))
    shared = np.bincount(place, cells.size, points.prob.shape[0]) > 1
    place, label, shared = (like(each, points.prob) for each in (place, label, shared))
    weight, squares, own = (
        like(each, points.prob, points.prob.dtype) for each in (cells.weight, cells.squares, own)
    )
    at_cells = points.take(place)
    sources = Sources(
        Points(at_cells.prob, at_cells.log_prob, place, points),
        label,
        weight,
        fold,
        n_folds,
        n_classes,
        like(cells.size, points.prob, points.prob.dtype),
    )
    segments = Segments(place, points.prob.shape[0])
    return Table(points, sources, place, segments, weight, squares, own, shared, row_cell, exact)


def group_rows(problem: Problem, recipe: Recipe) -> Grouped | None:
    """Return the rows by points; None where predictions of several classes are all different."""
    if linear.obstacle(DirichletKernel(), problem.prob, problem.log_prob) is None:
        return _binned(problem, recipe)
    return _repeated(problem)


def _binned(problem: Problem, recipe: Recipe) -> Grouped:
    log_odds = log_odds_of(problem.log_prob)
    narrowest = min(recipe.bandwidths, default=_BANDWIDTH)
    number, nodes = bins(
        log_odds,
        spacing=SPACING * min(1.0, math.sqrt(narrowest / _BANDWIDTH)),
        weight=None if problem.uniform else problem.weight,
    )
    exact = bool((to_numpy(log_odds) == nodes[number]).all())
    return Grouped(number, points_at(like(nodes, problem.prob)), exact)


def log_odds_of(log_prob: Array) -> Array:
    """(n,) log-odds of pairs (n, 2), of which no logarithm counts as less than the floor."""
    log_prob = namespace(log_prob).clip(log_prob, min=LOG_FLOOR)
    return log_prob[:, 1] - log_prob[:, 0]


def inner_losses(
    generator: BregmanGenerator, log_prob: Array, label: Array, losses: Array
) -> Array:
    """(n,) `losses` of predictions, those below the floor as if they were at it."""
    outside = np.flatnonzero(to_numpy(namespace(log_prob).min(log_prob, axis=1) <= LOG_FLOOR))
    if outside.size == 0:
        return losses
    rows = like(outside, log_prob)
    points = interior(namespace(log_prob).take(log_prob, rows, axis=0))
    outcome = one_hot(namespace(label).take(label, rows), int(log_prob.shape[1]), points.prob.dtype)
    return linear.replaced(
        losses, outside, generator.loss(points.prob, outcome, log_q=points.log_prob)
    )


def points_at(log_odds: Array) -> Points:
    """Return the pairs (1 − g, g) of log-odds (m,)."""
    xp = namespace(log_odds)
    return interior(xp.stack([0 * log_odds, log_odds], axis=1))


def _repeated(problem: Problem) -> Grouped | None:
    """Do so for predictions of several classes, where few are distinct."""
    n, k = problem.prob.shape
    most = min(LARGEST_EXACT, n if n * k <= _FEW_NUMBERS else n // 2, _LARGEST_ARRAY // k)
    log_prob = to_numpy(problem.log_prob)
    first = log_prob[:: max(1, n // (4 * LARGEST_EXACT))]
    if len(np.unique(first[:, 0])) > most:
        return None
    values, number = np.unique(log_prob, axis=0, return_inverse=True)
    if len(values) > most:
        return None
    return Grouped(number.ravel(), interior(like(values, problem.prob)), exact=True)
