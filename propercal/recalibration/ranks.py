"""Classes by the rank of their probability, and levels of a number that predictions have."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from propercal._array import namespace, to_numpy
from propercal._typing import Array
from propercal.recalibration.family import TrainingSets
from propercal.recalibration.points import Points

#: Levels of what depends on the confidence, or on a gap.
_FEW = 5
#: Where they are fine: one for so many rows, but no more than these.
_ROWS_OF_A_LEVEL, _MANY = 300, 20
#: Values that differ by rounding are one: in another order of classes sums are rounded otherwise.
_TIE = 1e-6

Floats = npt.NDArray[np.float64]


def largest_logs(points: Points, most: int) -> Array:
    """(m, n) the largest logarithms, in descending order: `most` or as many as there are."""
    xp = namespace(points.prob)
    n_classes = points.prob.shape[1]
    return xp.flip(xp.sort(points.log_by_class, axis=0), axis=0)[: min(most, n_classes), :]


def gaps_between(largest: Array) -> list[Array]:
    """Return the differences (n,) of each two that follow each other."""
    return [largest[j, :] - largest[j + 1, :] for j in range(largest.shape[0] - 1)]


def members(points: Points, largest: Array) -> Array:
    """(m, k, n) what part of each of m ranks a class has, given their logarithms (m, n).

    Classes of equal probability share their ranks.
    """
    xp = namespace(largest)
    member = xp.astype(points.log_by_class[None, ...] == largest[:, None, :], largest.dtype)
    return member / xp.sum(member, axis=1, keepdims=True)


def shares(train: TrainingSets) -> Floats:
    """(n,) weights of the points over all sets, which sum to 1."""
    weight = to_numpy(namespace(train.counts).sum(train.counts, axis=(0, 2)))
    return np.asarray(weight / weight.sum())


def steps(train: TrainingSets, level: Array, *, fine: bool = False) -> Floats:
    """Return the levels (n,) of the points below which there are equal shares of the rows.

    A jump between two of them is missed; where they are fine, there are more of many rows.
    """
    values = to_numpy(level)
    order = np.argsort(values, kind="stable")
    before = np.cumsum(shares(train)[order])
    n_rows = float(to_numpy(train.counts).sum()) / train.counts.shape[0]
    n_levels = int(np.clip(n_rows / _ROWS_OF_A_LEVEL, _FEW, _MANY)) if fine else _FEW
    below = np.arange(1, n_levels) / n_levels
    edges = values[order][np.searchsorted(before, below).clip(max=len(order) - 1)]
    return np.asarray(edges + _TIE * (1 + np.abs(edges)))
