"""Families of recalibrations that look at the most probable class: its number, or how probable."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from propercal._array import like, namespace, to_numpy
from propercal._typing import Array
from propercal.recalibration.families import Scores, temperature
from propercal.recalibration.family import Recalibration, TrainingSets
from propercal.recalibration.points import Points, pooled
from propercal.recalibration.terms import GroupTerms

#: Rows, as the prediction expects them, that are added to each level of a monotone family.
_PRIOR = 1.0
#: Logits that agree in these decimals, and levels that differ by less, are equal.
_DIGITS, _ROUNDING = 9, 1e-9
#: Logits nearer to the edge of a level are at it: more than rounding, less than from it to a point.
_AT_EDGE = 1e-12
#: What lighter rows weigh, in units of rows: beside others, weights may underflow to 0, also when
#: multiplied by the smallest probability.
_LEAST_WEIGHT = 1e-200
#: How strongly slope and shift of a predicted class are drawn to temperature scaling.
_RIDGE = (1.0, 1.0)

Floats = npt.NDArray[np.float64]


def by_predicted_class(train: TrainingSets) -> Scores:
    """Scores a_c log g_i + b_c 1[i = c], with c the most probable class.

    For labels that are noisier where one class is predicted than where another is (Frenkel &
    Goldberger 2021, doi:10.23919/EUSIPCO54536.2021.9616219, whose scores have no shift).
    """
    slope = train.fit(temperature).coefficients
    k = train.n_classes
    # The points keep double precision where labels do not.
    start, ridge = (
        slope * like([pair * k], slope, slope.dtype) for pair in ([1.0, 0.0], [0.0, 0.0])
    )
    ridge = ridge + like([list(_RIDGE) * k], ridge, ridge.dtype)
    return Scores.fitted(train, _terms, start=start, ridge=ridge)


def monotone_confidence(train: TrainingSets) -> Recalibration:
    """Let the largest probability be any increasing function of itself; others keep their ratios.

    For jumps, which smooth families lack: the function is an isotonic regression, constant between
    jumps.
    """
    return _monotone(train, _predicted_class)


def monotone(train: TrainingSets) -> Recalibration:
    """Let the probability of the second of two classes be any increasing function of itself."""
    return _monotone(train, _second_class)


def _terms(points: Points) -> GroupTerms:
    predicted = _predicted_class(points)
    values = namespace(predicted).stack([points.log_by_class, predicted.T])
    return GroupTerms(values, predicted)


def _predicted_class(points: Points) -> Array:
    """(n, k) 1 for the most probable class; equal parts where there are several."""
    xp = namespace(points.prob)
    top = points.log_prob == xp.max(points.log_prob, axis=1, keepdims=True)
    top = xp.astype(top, points.prob.dtype)
    return top / xp.sum(top, axis=1, keepdims=True)


def _second_class(points: Points) -> Array:
    xp = namespace(points.prob)
    one = xp.ones_like(points.prob[:, 0])
    return xp.stack([0 * one, one], axis=1)


class _Split(NamedTuple):
    """Probabilities of one class of each row and of the others, without the rounding of 1 − g."""

    chosen: Array
    """(n, k) shares that sum to 1, usually of one class alone."""
    prob: Array
    rest: Array

    @property
    def logit(self) -> Array:
        xp = namespace(self.prob)
        return xp.log(self.prob) - xp.log(self.rest)


def _split(points: Points, chosen: Callable[[Points], Array]) -> _Split:
    xp = namespace(points.prob)
    share = chosen(points)
    own, others = points.prob * share, points.prob * (1 - share)
    return _Split(share, xp.sum(own, axis=1), xp.sum(others, axis=1))


def _monotone(train: TrainingSets, chosen: Callable[[Points], Array]) -> Recalibration:
    nodes, counts = pooled(train.points, train.counts)
    split = _split(nodes, chosen)
    xp = namespace(split.prob)
    weight = to_numpy(xp.sum(counts, axis=2))
    hits = to_numpy(xp.sum(split.chosen * counts, axis=2))
    at = _Isotonic(*(to_numpy(x) for x in (split.logit, split.prob, split.rest)))
    steps = [
        [like(x, split.prob) for x in at.fitted(*each)] for each in zip(weight, hits, strict=True)
    ]

    def recalibration(points: Points) -> Array:
        new = _split(points, chosen)
        own, logit = new.chosen, new.logit
        if points.nodes is not None:
            logit = xp.take(_split(points.nodes, chosen).logit, points.group)
        result = []
        for edges, high, low in steps:
            # At an edge itself half of each: which level is lower is up to the order of classes.
            places = [xp.searchsorted(edges, logit + x) for x in (-_AT_EDGE, _AT_EDGE)]
            up, down = ((xp.take(x, places[0]) + xp.take(x, places[1])) / 2 for x in (high, low))
            others = points.prob * (down / new.rest)[:, None]
            result.append(own * up[:, None] + (1 - own) * others)
        return xp.stack(result)

    return recalibration


class _Isotonic(NamedTuple):
    """Points at which an increasing function of the logit is fitted."""

    logit: Floats
    prob: Floats
    rest: Floats

    def fitted(self, weight: Floats, hits: Floats) -> tuple[Floats, Floats, Floats]:
        """Return edges between levels, and the probabilities of each of the class and the others.

        `weight` (n,) is that of the rows at each point, `hits` (n,) that of those that occurred.
        """
        from scipy.optimize import isotonic_regression

        there = np.flatnonzero(weight > 0)
        if there.size == 0:
            return np.empty(0), self.prob[:1], self.rest[:1]
        # Beside heavy rows light ones may underflow to 0 where they are multiplied.
        weight = np.maximum(weight[there], _LEAST_WEIGHT)
        hits = np.minimum(hits[there], weight)
        # Equal predictions stay together whatever the last digits of their logarithms.
        at, row = np.unique(self.logit[there].round(_DIGITS), return_inverse=True)
        each = np.bincount(row, weight)
        fitted = isotonic_regression(np.bincount(row, hits) / each, weights=each).x
        # Nor may rounding part levels that are equal.
        last = np.flatnonzero(np.diff(fitted) > _ROUNDING)
        level = np.searchsorted(last, row)
        expected = weight * self.prob[there], weight * self.rest[there]
        counts = (np.bincount(level, x) for x in (weight, hits, weight - hits, *expected))
        count, up, down, mean, others = counts
        high, low = (
            (seen + _PRIOR * prior / count) / (count + _PRIOR)
            for seen, prior in ((up, mean), (down, others))
        )
        # Half-way between the last point of a level and the first of the next.
        return (at[last] + at[last + 1]) / 2, high, low
