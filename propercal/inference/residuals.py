"""Residuals of label sets: row by row among several classes, by point of a table of two.

A table takes the residual of each row from the row's own prediction, so that sums have the mean 0
if predictions are calibrated; only what they are multiplied with is taken at the node.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from propercal._array import like, namespace, to_numpy
from propercal._data.predictions.notions import Problem
from propercal._kernels.binning import LARGEST_EXACT, bins
from propercal._typing import Array
from propercal.inference.quadratic_forms import Residuals, WeightedPoints
from propercal.recalibration.families import spread
from propercal.recalibration.points import interior

#: Narrow beside the fastest of the smooth functions, cos 5πg; nothing is fitted that a finer grid
#: would tell apart.
_SPACING = 0.025
#: Log-odds that agree to so many decimals are one prediction, which rounding took apart.
_DECIMALS = 9

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.integer[Any]]


@dataclass(frozen=True)
class Rows:
    """A problem whose points are its rows."""

    at: WeightedPoints
    weight: Array | None
    """(n,) of mean 1; None where they are equal."""

    @classmethod
    def of(cls, problem: Problem) -> Rows:
        """Return the rows of a problem."""
        points = interior(problem.log_prob)
        one = namespace(points.prob).ones_like(points.prob[:, 0])
        weight = None if problem.uniform else problem.weight * problem.weight.shape[0]
        square = one if weight is None else weight**2
        return cls(WeightedPoints(points, one, square, spread(points.log_prob)), weight)

    def residuals(
        self, label: Integers, factor: Floats | None = None, rows: slice = slice(None)
    ) -> Iterator[Residuals]:
        """Yield the residuals of each column for labels (sets, rows) of some of the rows.

        They are multiplied by `factor` (sets, rows) beside the weights of the problem.
        """
        g = self.at.points.prob[rows, :]
        xp = namespace(g)
        classes = like(label, g)
        weight = None if self.weight is None else self.weight[rows]
        if factor is not None:
            own = like(factor, g)
            weight = own if weight is None else own * weight
        for i in range(g.shape[1]) if g.shape[1] > 2 else (1,):
            found = xp.astype(classes == i, g.dtype) - g[:, i]
            found = found if weight is None else found * weight
            yield Residuals(found)


@dataclass(frozen=True)
class Sums:
    """What the points of a table of two classes, of which the second is the event, stand for."""

    at: WeightedPoints
    expected: Floats
    """(m,) sums of w g over the rows of a point."""
    square: Floats
    """(m,) sums of w² g²."""
    slope: Floats
    """(m,) what an event adds to a square beyond w² g²: w² (1 − 2 g) in a row, here w² times one
    number, by which squares have the mean that they have by rows."""

    @property
    def size(self) -> int:
        """Number of points."""
        return len(self.expected)

    def residuals(self, first: Floats, second: Floats) -> Residuals:
        """Return residuals from sums (sets, m) of w and of w² over the rows where the event is."""
        reference = self.at.count
        return Residuals(
            like(first - self.expected, reference),
            like(second * self.slope + self.square, reference),
        )


@dataclass(frozen=True)
class Table:
    """A problem of two classes as points of its log-odds."""

    sums: Sums
    number: npt.NDArray[np.intp]
    """(n,) the point of each row."""
    weight: Floats | None
    """(n,) of mean 1; None where they are equal."""
    prob: Floats
    """(n,) how probable the event is in each row."""

    @classmethod
    def of(cls, problem: Problem, largest_exact: int = LARGEST_EXACT) -> Table:
        """Return the table of a problem; up to so many distinct predictions nothing is lost."""
        rows = interior(problem.log_prob)
        log_prob, prob = to_numpy(rows.log_prob), to_numpy(rows.prob)[:, 1]
        weight = None if problem.uniform else to_numpy(problem.weight) * len(prob)
        log_odds = log_prob[:, 1] - log_prob[:, 0]
        rounded = np.round(log_odds, _DECIMALS)
        number = _by_appearance(bins(rounded, largest_exact, spacing=_SPACING)[0])

        def total(values: Floats | None) -> Floats:
            return np.bincount(number, values).astype(np.float64)

        expected, count = prob if weight is None else weight * prob, total(None)
        mass = count if weight is None else total(weight**2)
        square = total(expected**2)
        slope = 1 - 2 * square / total(expected if weight is None else weight * expected)
        nodes = total(log_odds if weight is None else weight * log_odds)
        nodes /= count if weight is None else total(weight)
        log_node = like(np.stack([np.zeros_like(nodes), nodes], axis=1), rows.prob)
        at = WeightedPoints(
            interior(log_node),
            like(count, rows.prob),
            like(mass, rows.prob),
            spread(rows.log_prob),
        )
        return cls(Sums(at, total(expected), square, slope), number, weight, prob)

    def residuals(self, event: Integers, factor: Floats | None = None) -> Iterator[Residuals]:
        """Yield the residuals where an event did or did not occur, times `factor`, (sets, n)."""
        found = event - self.prob
        for each in (factor, self.weight):
            found = found if each is None else found * each
        linear, square = (self._by_point(values) for values in (found, found**2))
        yield Residuals(like(linear, self.sums.at.count), like(square, self.sums.at.count))

    def _by_point(self, values: Floats) -> Floats:
        """Return the sums (sets, m) of values (sets, n)."""
        return np.stack([np.bincount(self.number, each, self.sums.size) for each in values])


def _by_appearance(number: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    """Renumber points in the order of rows: the same whichever class is the event.

    Draws among them are then the same too.
    """
    first = np.empty(int(number.max()) + 1, dtype=np.intp)
    # Of several rows of a point the one written last is its first.
    first[number[::-1]] = np.arange(len(number))[::-1]
    place = np.empty_like(first)
    place[np.argsort(first)] = np.arange(len(first))
    return place[number]
