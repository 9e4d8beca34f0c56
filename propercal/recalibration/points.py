"""Points inside the simplex with their logarithms, as recalibrations take predictions."""

from __future__ import annotations

from dataclasses import dataclass

from propercal._array import Segments, log_softmax, namespace
from propercal._typing import Array

#: Smaller logarithms are raised to that of the smallest single-precision number: a model that gives
#: a class less than 1e-45 means 0, and what happens there is for the other rows to tell.
LOG_FLOOR = -104.0


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

    def take(self, rows: Array) -> Points:
        """Return some rows, by their numbers."""
        xp = namespace(self.prob)
        group = None if self.group is None else xp.take(self.group, rows)
        prob, log_prob = (xp.take(x, rows, axis=0) for x in (self.prob, self.log_prob))
        return Points(prob, log_prob, group, self.nodes)

    def part(self, rows: slice) -> Points:
        """Return adjacent rows."""
        group = None if self.group is None else self.group[rows]
        return Points(self.prob[rows, :], self.log_prob[rows, :], group, self.nodes)


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
