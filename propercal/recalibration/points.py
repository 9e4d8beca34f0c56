"""Predictions as recalibrations take them: inside the simplex, with logarithms."""

from __future__ import annotations

from dataclasses import dataclass

from propercal._array import namespace
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

    def take(self, rows: Array) -> Points:
        """Return some rows, by their numbers."""
        xp = namespace(self.prob)
        return Points(xp.take(self.prob, rows, axis=0), xp.take(self.log_prob, rows, axis=0))

    def part(self, rows: slice) -> Points:
        """Return adjacent rows."""
        return Points(self.prob[rows, :], self.log_prob[rows, :])


def interior(log_prob: Array) -> Points:
    """Return the points whose logarithms, up to a constant for each row, are `log_prob`."""
    xp = namespace(log_prob)
    log_prob = log_softmax(xp.clip(log_prob, min=LOG_FLOOR))
    return Points(xp.exp(log_prob), log_prob)


def log_softmax(scores: Array) -> Array:
    """Logarithm of exp(scores) over its sum, row by row."""
    xp = namespace(scores)
    shifted = scores - xp.max(scores, axis=1, keepdims=True)
    return shifted - xp.log(xp.sum(xp.exp(shifted), axis=1, keepdims=True))


def softmax(scores: Array) -> Array:
    """exp(scores) over its sum, row by row, but inside the simplex as the points are."""
    return interior(log_softmax(scores)).prob
