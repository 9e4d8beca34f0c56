"""Points inside the simplex with their logarithms, as recalibrations take predictions."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from propercal._array import Segments, contiguous, log_softmax, namespace
from propercal._typing import Array

#: Smaller logarithms are raised to that of the smallest single-precision number: a model that gives
#: a class less than 1e-45 means 0, and what happens there is for the other rows to tell.
LOG_FLOOR = -104.0
#: The smallest probability of points.
SMALLEST = math.exp(LOG_FLOOR)
#: Functions of so many probabilities are made once; of more they would take too much memory.
_KEPT_NUMBERS = 500_000


@dataclass(frozen=True)
class Points:
    """Predictions that are positive and sum to 1."""

    prob: Array
    """(n, k)."""
    log_prob: Array
    """(n, k) logarithms, at least about LOG_FLOOR."""

    group: Array | None = None
    """(n,) the number of what stands for each point where nearly equal ones are not told apart."""
    nodes: Points | None = None
    """What stands for them."""
    origin: tuple[Points, slice | Array] | None = field(default=None, repr=False, compare=False)
    """Points of which these are some rows, and which: functions of these are rows of theirs."""
    _made: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)

    def take(self, rows: Array) -> Points:
        """Return some rows, by their numbers."""
        xp = namespace(self.prob)
        group = None if self.group is None else xp.take(self.group, rows)
        prob, log_prob = (xp.take(x, rows, axis=0) for x in (self.prob, self.log_prob))
        return Points(prob, log_prob, group, self.nodes, self._origin_of(rows))

    def part(self, rows: slice) -> Points:
        """Return adjacent rows."""
        group = None if self.group is None else self.group[rows]
        origin = self._origin_of(rows)
        return Points(self.prob[rows, :], self.log_prob[rows, :], group, self.nodes, origin)

    def terms(self, make_terms: Callable[[Points], Any]) -> Any:
        """Return what `make_terms` makes of these points, made once where there are not too many.

        It has `rows`, which returns what is made of some points by their numbers.
        """
        if not self._keeps:
            return make_terms(self)
        if make_terms not in self._made:
            if self.origin is None:
                self._made[make_terms] = make_terms(self)
            else:
                whole, rows = self.origin
                self._made[make_terms] = whole.terms(make_terms).rows(rows)
        return self._made[make_terms]

    @cached_property
    def prob_by_class(self) -> Array:
        """(k, n) the probabilities."""
        return over_points(self.prob)

    @cached_property
    def log_by_class(self) -> Array:
        """(k, n) the logarithms, likewise."""
        return over_points(self.log_prob)

    @property
    def _keeps(self) -> bool:
        return _are_few(self.prob)

    def _origin_of(self, rows: slice | Array) -> tuple[Points, slice | Array] | None:
        return (self, rows) if self._keeps else None


def over_points(values: Array) -> Array:
    """(..., k, n) numbers (..., n, k) of classes at points, the classes first.

    Those of a class are brought together, if they are not too many: NumPy sums over classes far
    slower where those of a point lie side by side.
    """
    turned = namespace(values).matrix_transpose(values)
    return contiguous(turned) if _are_few(values) else turned


def _are_few(values: Array) -> bool:
    size: int = math.prod(values.shape)
    return size <= _KEPT_NUMBERS


def interior(log_prob: Array) -> Points:
    """Return the points whose logarithms, up to a constant for each row, are `log_prob`."""
    xp = namespace(log_prob)
    log_prob = log_softmax(xp.clip(log_prob, min=LOG_FLOOR))
    return Points(xp.exp(log_prob), log_prob)


def softmax(scores: Array) -> Array:
    """exp(scores) over its sum, row by row, but inside the simplex as the points are."""
    return interior(log_softmax(scores)).prob


def pooled(points: Points, counts: Array) -> tuple[Points, Array]:
    """Return what stands for nearly equal points, and counts (b, m, k) there."""
    if points.nodes is None:
        return points, counts
    groups = Segments(points.group, points.nodes.prob.shape[0])
    sums = [groups.sums(counts[b, ...]) for b in range(counts.shape[0])]
    return points.nodes, namespace(counts).stack(sums)


def standing(points: Points) -> Points:
    """Return for each point what stands for it."""
    if points.nodes is None or points.group is None:
        return points
    return points.nodes.take(points.group)
