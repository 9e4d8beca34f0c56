"""Samples of rows in place of all, where the kernel would take too long over all of them.

Rows are taken at equal distances of the weight that lies before them in some order: a sample has
the same share of every stretch of that order as all rows have, nothing is drawn at random, and
neither the order of the rows nor that of the classes matters (but among rows that are equal in it).
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from propercal._array import like, namespace, to_numpy
from propercal._methods.fold_sums import Sources
from propercal._methods.folds import doubt
from propercal._typing import Array

#: Rows of all folds on which corrections are judged before one is chosen: all of so few, and of
#: more a quarter, as long as their probabilities are no more numbers than JUDGED_NUMBERS. A choice
#: on a quarter moved estimates by −0.1 to 0.1 of their standard errors on average, by 0.2 either
#: way where a kernel is needed (four simulations of 4000 rows of five classes).
JUDGED_ROWS = 2000
JUDGED_SHARE = 0.25
JUDGED_NUMBERS = 500_000
#: Rows in which a misfit of the recalibrations is looked for. One that these do not show moves the
#: estimate by less than its error there.
SEARCHED_ROWS = 4000
#: Rows that the kernel is summed over. With more, time is O(n): every row is still corrected, but
#: from what a kernel resolves in the residuals of so many.
KERNEL_ROWS = 20_000
#: Probabilities of these rows, of which several arrays are kept: 10 000 rows of 1000 classes.
KERNEL_NUMBERS = 10_000_000
#: Probabilities of the rows that recalibrations are fitted to and averaged on: 10 000 rows of 1000
#: classes. Fits of so many classes have few coefficients for each.
TRAINING_NUMBERS = 10_000_000
#: Logarithms of probabilities that agree in these decimals are equal.
_DIGITS = 9

Rows = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class Judged(NamedTuple):
    """Rows of one fold on which corrections are judged."""

    rows: slice | Rows
    """Their numbers among the sources, ascending."""
    weight: Array
    """(r,) what each stands for."""


def is_whole(sources: Sources) -> bool:
    """Tell whether all rows are sources and judged, so that what is judged is the estimate."""
    # Pairs have sums over nodes, and tables all pairs of points, whatever the number of rows is.
    in_table = sources.n_classes == 2 or sources.count is not None
    return in_table or len(sources.fold) <= JUDGED_ROWS


def kernel_sources(sources: Sources) -> tuple[Sources, Rows]:
    """Return the sources that the kernel is summed over, all or so many, and their numbers.

    They are taken along the confidence of the predictions. Labels take no part: which rows lie
    near another must not tell what its label is.
    """
    most = min(KERNEL_ROWS, KERNEL_NUMBERS // sources.n_classes)
    if is_whole(sources) or len(sources.fold) <= most:
        return sources, np.arange(len(sources.fold))
    order = np.lexsort((doubt(sources.points.prob), sources.fold))
    rows, times, share = _along(sources, order, most)
    part = sources.take(rows)
    if part.count is not None:
        # A point that was met less often than it has rows stands for so many of them.
        times = np.minimum(times, to_numpy(part.count))
        part = replace(part, count=like(times, part.count, part.count.dtype))
    if part.weight is not None:
        part = replace(part, weight=like(share, part.weight))
    return part, rows


def training_sources(sources: Sources) -> Sources:
    """Return the sources that recalibrations are fitted to: all, or TRAINING_NUMBERS numbers."""
    most = TRAINING_NUMBERS // sources.n_classes
    if is_whole(sources) or len(sources.fold) <= most:
        return sources
    order = np.lexsort((doubt(sources.points.prob), sources.fold))
    rows, _, share = _along(sources, order, most)
    part = sources.take(rows)
    return part if part.weight is None else replace(part, weight=like(share, part.weight))


def judged(sources: Sources) -> list[Judged]:
    """Return all rows of each fold, or some of them, JUDGED_ROWS of all folds or more.

    They are taken along the probability of their label, which orders them by how right they are
    and by how confident.
    """
    xp = namespace(sources.points.prob)
    weight = _weight(sources)
    if is_whole(sources):
        like_prob = like(weight, sources.points.prob)
        return [Judged(fold, like_prob[fold]) for fold in sources.folds]
    own = xp.take_along_axis(sources.points.log_prob, sources.label[:, None], axis=1)[:, 0]
    right = to_numpy(own).round(_DIGITS)
    order = np.lexsort((doubt(sources.points.prob), right, sources.fold))
    most = min(int(JUDGED_SHARE * len(order)), JUDGED_NUMBERS // sources.n_classes)
    rows, _, share = _along(sources, order, max(JUDGED_ROWS, most))
    ends = np.searchsorted(sources.fold[rows], np.arange(sources.n_folds + 1))
    return [Judged(rows[a:b], like(share[a:b], sources.points.prob)) for a, b in pairwise(ends)]


def searched(sources: Sources) -> list[Judged]:
    """Return all rows of each fold, or some of them, in which a misfit is looked for.

    They are taken along the confidence of the predictions: their labels take no part, or residuals
    would add up to less than chance makes of them.
    """
    weight = like(_weight(sources), sources.points.prob)
    if is_whole(sources):
        numbers = np.arange(len(sources.fold))
        return [Judged(numbers[fold], weight[fold]) for fold in sources.folds]
    order = np.lexsort((doubt(sources.points.prob), sources.fold))
    most = min(SEARCHED_ROWS, JUDGED_NUMBERS // sources.n_classes)
    rows, _, share = _along(sources, order, most)
    ends = np.searchsorted(sources.fold[rows], np.arange(sources.n_folds + 1))
    return [Judged(rows[a:b], like(share[a:b], weight)) for a, b in pairwise(ends)]


def _weight(sources: Sources) -> Floats:
    """(n,) weights that sum to 1."""
    n = len(sources.fold)
    weight = np.full(n, 1 / n) if sources.weight is None else to_numpy(sources.weight)
    return np.asarray(weight / weight.sum())


def _along(sources: Sources, order: Rows, size: int) -> tuple[Rows, Rows, Floats]:
    """Take `size` rows along an order that begins with the fold, as many from each fold.

    Returns
    -------
    array (m,)
        Numbers of the rows, ascending.
    array (m,)
        How often each was met.
    array (m,)
        Weight that it stands for; all of them sum to 1, and those of a fold to that of the fold.
    """
    weight = _weight(sources)
    n_each = -(-size // sources.n_folds)
    rows, times, share = [], [], []
    for fold in sources.folds:
        within = order[fold]
        if len(within) <= n_each:
            found, met = np.sort(within), np.ones(len(within), dtype=np.int64)
            stands_for = weight[found]
        else:
            before = np.cumsum(weight[within])
            levels = (np.arange(n_each) + 0.5) * (before[-1] / n_each)
            at = np.searchsorted(before, levels, side="right").clip(max=len(within) - 1)
            found, met = np.unique(within[at], return_counts=True)
            stands_for = met * (before[-1] / n_each)
        rows.append(found)
        times.append(met)
        share.append(stands_for)
    return np.concatenate(rows), np.concatenate(times), np.concatenate(share)
