"""Confusions of the most probable class with the second one and with all others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from propercal._array import like, namespace
from propercal._typing import Array
from propercal.recalibration.families import mixing
from propercal.recalibration.family import TrainingSets
from propercal.recalibration.points import Points
from propercal.recalibration.ranks import gaps_between, largest_logs, members, steps
from propercal.recalibration.terms import some_points

#: Labels by which the confusions at a level of the gap are drawn to those of all rows.
_PRIOR = 10.0


def ranked_mixture(train: TrainingSets) -> RankedMixture:
    """Mix the first class, the second and the others, r_i = Σ_j g_j M_ji(g_2 / g_3).

    For labels that are those of the runner-up at times, the more often the clearer it is which
    class that is: M has a value for each of 5 to 20 equal parts of the rows. Other classes keep
    their ratios.
    """
    edges = train.reference.once(ranked_mixture, lambda: _edges(train.reference))
    parts = train.points.terms(_parts)
    by_part = TrainingSets(train.points, _seen(train.counts, parts.member), train.uniform)
    everywhere = mixing(by_part, parts.prob.T[None, ...])
    xp = namespace(everywhere)
    drawn_to = _PRIOR * xp.concat([everywhere] * (edges.shape[0] + 1), axis=1)
    matrix = mixing(by_part, _by_level(parts, edges)[None, ...], drawn_to)
    return RankedMixture(edges, matrix)


@dataclass(frozen=True, eq=False)
class RankedMixture:
    """Fitted confusions."""

    edges: Array
    """Between the levels of log g_2 − log g_3."""
    matrix: Array
    """(b, 3 levels, 3): from which part, level by level, to which."""

    def __call__(self, points: Points) -> Array:
        """(b, n, k) recalibrated probabilities."""
        parts = points.terms(_parts)
        mixed = namespace(parts.prob).matmul(_by_level(parts, self.edges)[None, ...], self.matrix)
        found = mixed[..., 2:] * parts.of_others.T
        for rank in range(2):
            found = found + mixed[..., rank, None] * parts.member[rank, ...].T
        return found


class _Parts(NamedTuple):
    """The first class, the second, and all others."""

    prob: Array
    """(3, n)."""
    gap: Array
    """(n,) log g_2 − log g_3."""
    member: Array
    """(2, k, n) what part of the first two ranks a class has."""
    of_others: Array
    """(k, n) its share of the rest."""

    def rows(self, rows: slice | Array) -> _Parts:
        """Return those of some of the points, by their numbers."""
        return _Parts(*(some_points(each, rows) for each in self))


def _parts(points: Points) -> _Parts:
    xp = namespace(points.prob)
    largest = largest_logs(points, 3)
    member = members(points, largest[:2, :])
    others = points.prob_by_class * (1 - xp.sum(member, axis=0))
    rest = xp.sum(others, axis=0, keepdims=True)
    prob = xp.concat([xp.exp(largest[:2, :]), rest], axis=0)
    return _Parts(prob, gaps_between(largest)[1], member, others / rest)


def _edges(train: TrainingSets) -> Array:
    gap = train.points.terms(_parts).gap
    return like(steps(train, gap, fine=True), gap)


def _by_level(parts: _Parts, edges: Array) -> Array:
    """(n, 3 levels) the probabilities of the parts, 0 but at the level of the row."""
    xp = namespace(parts.prob)
    level = xp.sum(xp.astype(parts.gap > edges[:, None], xp.int64), axis=0)
    there = [xp.astype(level == i, parts.prob.dtype) for i in range(edges.shape[0] + 1)]
    return xp.concat([parts.prob * each for each in there], axis=0).T


def _seen(counts: Array, member: Array) -> Array:
    """(b, n, 3) labels by part."""
    xp = namespace(counts)
    ranks = [xp.sum(counts * member[j, ...].T, axis=2) for j in range(member.shape[0])]
    others = xp.sum(counts * (1 - xp.sum(member, axis=0)).T, axis=2)
    return xp.stack([*ranks, others], axis=2)
