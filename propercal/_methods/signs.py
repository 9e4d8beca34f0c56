r"""Which way predictions err: whether what happens lies further out than they do, or further in.

A prediction g is compared with a reference c: the shares of the classes, or, where the event is
that a chosen class occurs, the certainty that it does not. Of r = E[Y | g] the tilt is

.. math:: ⟨r - g, g - c⟩,

below 0 where g is further from c than r is, as seen along g − c: over-confidence.
"""

from __future__ import annotations

import numpy as np

from propercal._array import by_rows, contiguous, detached, like, namespace, sum_last, to_numpy
from propercal._data.predictions.notions import Problem
from propercal._typing import Array

#: Recalibrated probabilities of more rows times classes are not kept beside a result.
KEPT_NUMBERS = 10_000_000


class KeptMeans:
    """Recalibrated predictions of the problems of a notion, as far as these are not too many."""

    def __init__(self) -> None:
        self._parts: list[Array] = []
        self._size = 0

    def add(self, problem: Problem, mean: Array | None) -> None:
        """Add those (n, k) of a problem, of which pairs say the same by the event alone."""
        n, k = problem.prob.shape
        one = k == 2 and problem.is_event
        self._size += n * (1 if one else k)
        if mean is None or self._size > KEPT_NUMBERS:
            self._size, self._parts = KEPT_NUMBERS + 1, []
        else:
            # A view of the event would keep the other half too.
            self._parts.append(detached(contiguous(mean[:, 1]) if one else mean))

    def joined(self) -> Array | None:
        """Return them: (n, k) of one problem of all classes, else (n, p), or None."""
        if self._size > KEPT_NUMBERS:
            return None
        first = self._parts[0]
        return first if first.ndim == 2 else namespace(first).stack(self._parts, axis=1)


def is_kept(prob: Array) -> bool:
    """Tell whether recalibrated predictions of as many rows and classes are kept."""
    return int(prob.shape[0]) * int(prob.shape[1]) <= KEPT_NUMBERS


def reference(problem: Problem) -> Array:
    """(k,) what predictions are compared with."""
    if problem.of_confidence:
        share = np.asarray([1.0, 0.0])
    else:
        label, weight = to_numpy(problem.label), to_numpy(problem.weight)
        share = np.bincount(label, weight, problem.n_classes)
    return like(share, problem.prob, problem.prob.dtype)


def tilt_of(prob: Array, recalibrated: Array, centre: Array) -> Array:
    """(n,) tilt of recalibrated predictions (n, k) beside predictions."""

    def tilts(g: Array, r: Array) -> Array:
        return sum_last((r - g) * (g - centre[None, :]))

    return by_rows(tilts, prob, recalibrated)


def gaps(problem: Problem) -> Array:
    """(m, 2) mean of g − y and its standard error: of each class, or of the event alone."""
    xp, weight = namespace(problem.prob), problem.weight
    n, k = problem.prob.shape
    found = []
    for i in [1] if problem.is_event else range(k):
        rows = problem.prob[:, i] - xp.astype(problem.label == i, problem.prob.dtype)
        mean = xp.sum(weight * rows)
        deviation = rows - mean
        if problem.groups is None:
            spread = weight * deviation
            variance = xp.sum(spread * spread) * (n / (n - 1))
        else:
            sums = np.bincount(problem.groups, to_numpy(weight * deviation))
            variance = like(sums @ sums * (len(sums) / (len(sums) - 1)), mean, mean.dtype)
        found.append(xp.stack([mean, variance**0.5]))
    return xp.stack(found)
