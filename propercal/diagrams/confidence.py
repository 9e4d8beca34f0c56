r"""A band that holds a non-decreasing E[Y | g] at all predictions at once.

In an interval of predictions every probability is at least that at its first one. So an upper
confidence limit from its labels is one for the first, and for all predictions before it; in the
same way a lower limit is one for the last, and for all after it. The band is the best of these
limits over many intervals, each at a level that lets them hold together (Dümbgen's idea, see
Dimitriadis et al. 2023).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from propercal.diagrams.curve import Curve, sums
from propercal.diagrams.events import Event

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

#: Cells are this many times the cube root of the number of rows, the order of the number of levels
#: of an isotonic curve.
_CELLS = 4
#: Halvings of an interval, to the last digit.
_HALVINGS = 60


class Band(NamedTuple):
    """Lower and upper ends at the distinct predictions."""

    lower: Floats
    upper: Floats


def confidence_band(event: Event, curve: Curve, level: float, ratio: float | None = None) -> Band:
    """Return the band of all intervals between the borders of cells.

    `ratio` is the weight of rows of the event over that of the others, by which both were sampled.
    """
    if ratio is not None:
        # Rows that were kept count alike, and how often the event is among them is monotone in g.
        kept = event._replace(weight=np.full(event.n_samples, 1 / event.n_samples), uniform=True)
        return Band(*(of_population(each, ratio) for each in confidence_band(kept, curve, level)))
    first = _first_of_cells(event, curve)
    n_cells = len(first)
    sizes, shares = _intervals(event, curve, first)
    error = (1 - level) / (n_cells * (n_cells + 1))
    lower, upper = limits(event)(shares, sizes, error)
    of_first = np.where(np.isnan(upper), 1.0, upper).min(axis=1)
    of_last = np.where(np.isnan(lower), 0.0, lower).max(axis=0)
    last = np.append(first[1:], len(curve.prediction)) - 1
    return Band(*_everywhere(first, last, of_last, of_first, len(curve.prediction)))


def of_population(kept: Floats, ratio: float) -> Floats:
    """Return how probable an event is, from how probable it is among rows that were kept.

    Of those where it occurred 1 in `ratio` times as many were kept as of the others, so that its
    odds are as many times as high.
    """
    return ratio * kept / (1 - kept + ratio * kept)


def limits(event: Event) -> Callable[[Floats, Floats, float], tuple[Floats, Floats]]:
    """Return what makes limits of frequencies and sizes: exact ones where rows count alike."""
    return binomial_limits if counts_alike(event) else bounded_limits


def counts_alike(event: Event) -> bool:
    """Tell whether rows are independent, and of equal weight."""
    return event.uniform and event.groups is None


def sizes_of(event: Event, part: Integers, weight: Floats, total: Floats) -> Floats:
    """Return the weight of each part over the largest of an independent row, or group, in it."""
    heaviest = np.zeros(len(total))
    if event.groups is None:
        np.maximum.at(heaviest, part, weight)
    else:
        pairs, which = np.unique(np.stack([part, event.groups]), axis=1, return_inverse=True)
        np.maximum.at(heaviest, pairs[0], sums(which.ravel(), weight))
    return total / heaviest


def _everywhere(
    first: Integers, last: Integers, of_last: Floats, of_first: Floats, m: int
) -> tuple[Floats, Floats]:
    """Carry upper limits to all predictions before, and lower ones to all after."""
    lower, upper = np.zeros(m), np.ones(m)
    upper[first] = of_first
    lower[last] = of_last
    return np.maximum.accumulate(lower), np.minimum.accumulate(upper[::-1])[::-1]


def _first_of_cells(event: Event, curve: Curve) -> Integers:
    """Return the first distinct prediction of each cell of about as many rows; ties stay together.

    Neither their number nor their borders depend on what occurred.
    """
    units = event.n_samples if event.groups is None else int(event.groups.max()) + 1
    n_cells = math.ceil(_CELLS * units ** (1 / 3))
    m = len(curve.prediction)
    if m <= n_cells:
        return np.arange(m)
    # By the middle of the rows of a prediction, so that the other event has the same cells.
    middle = 2 * np.cumsum(curve.count) - curve.count
    cell = middle * n_cells // (2 * event.n_samples)
    return np.flatnonzero(np.diff(cell, prepend=-1))


def _intervals(event: Event, curve: Curve, first: Integers) -> tuple[Floats, Floats]:
    """Return sizes and frequencies of the intervals from cell i to cell j; NaN where i > j."""
    n_cells = len(first)
    cell = np.searchsorted(first, curve.number, side="right") - 1
    # Of equal weights, whole numbers.
    weight = np.ones(event.n_samples) if event.uniform else event.weight
    total = sums(cell, weight, n_cells)
    hits = sums(cell, weight * event.occurred, n_cells)
    wrong = np.tri(n_cells, k=-1, dtype=bool)
    totals, found = (_sums(each) for each in (total, hits))
    totals[wrong] = np.nan
    if event.groups is None:
        largest = np.zeros(n_cells)
        np.maximum.at(largest, cell, weight)
        heaviest = np.stack(
            [np.maximum.accumulate(np.r_[np.zeros(i), largest[i:]]) for i in range(n_cells)]
        )
    else:
        heaviest = _heaviest_groups(event.groups, cell, weight, n_cells)
    heaviest[wrong] = np.nan
    return totals / heaviest, np.clip(found / totals, 0.0, 1.0)


def _sums(values: Floats) -> Floats:
    """Return the sum from i to j at (i, j), without differences of larger sums."""
    n = len(values)
    return np.cumsum(np.triu(np.broadcast_to(values, (n, n))), axis=1)


def _heaviest_groups(groups: Integers, cell: Integers, weight: Floats, n_cells: int) -> Floats:
    """Return the largest weight that one group has in the interval from cell i to cell j."""
    order = np.argsort(cell, kind="stable")
    borders = np.searchsorted(cell[order], np.arange(n_cells + 1))
    parts = [order[a:b] for a, b in pairwise(borders)]
    found = np.zeros((n_cells, n_cells))
    for i in range(n_cells):
        total, heaviest = np.zeros(int(groups.max()) + 1), 0.0
        for j in range(i, n_cells):
            rows = parts[j]
            np.add.at(total, groups[rows], weight[rows])
            heaviest = max(heaviest, float(total[groups[rows]].max()))
            found[i, j] = heaviest
    return found


def binomial_limits(share: Floats, size: Floats, error: float) -> tuple[Floats, Floats]:
    """Return Clopper and Pearson's limits of a probability, each wrong with at most `error`."""
    from scipy.special import betainccinv, betaincinv

    hits = np.rint(share * size)
    with np.errstate(invalid="ignore"):
        lower = np.where(hits > 0, betaincinv(np.maximum(hits, 1), size - hits + 1, error), 0.0)
        upper = betainccinv(hits + 1, np.maximum(size - hits, 1), error)
    return lower, np.where(hits < size, upper, 1.0)


def bounded_limits(share: Floats, size: Floats, error: float) -> tuple[Floats, Floats]:
    r"""Return limits of the mean of a weighted mean of independent numbers between 0 and 1.

    `size` is one over the largest weight. By Chernoff's bound the mean q is beyond where
    size · KL(share, q) > log(1 / error), with KL of two coins.
    """
    from scipy.special import rel_entr

    bound = math.log(1 / error) / size

    def divergence(q: Floats) -> Floats:
        return rel_entr(share, q) + rel_entr(1 - share, 1 - q)

    inside, outside = share.copy(), np.zeros_like(share)
    ends = []
    for limit in (0.0, 1.0):
        inside, outside = share.copy(), np.full_like(share, limit)
        for _ in range(_HALVINGS):
            middle = (inside + outside) / 2
            near = divergence(middle) <= bound
            inside, outside = np.where(near, middle, inside), np.where(near, outside, middle)
        ends.append(np.where(np.isnan(size), np.nan, outside))
    return ends[0], ends[1]
