r"""Rows that stand several times without being equal: near copies, other sides, the labels again.

- Labels that come again in the same order, as those of several models, epochs, or augmented copies
  of the same rows. A sequence of n_i labels of class i is that of others by a chance of
  Π n_i! / n!, if rows stand in any order.
- Each row from both sides, p of one class and 1 − p of the other; or all columns of a table as
  rows, of which one in each row of the table occurred.

Copies whose predictions differ by rounding are looked for in
:mod:`propercal._data.dependence.repetitions`.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from propercal._array import to_numpy
from propercal._data.predictions.predictions import Predictions

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]

#: Logarithm of what the chance of labels that come again is at most.
_LOG_LEVEL = -30.0
#: How often labels may come again, and how many columns a table may have.
_MOST = 100
#: Different predictions that do not have other sides by chance.
_VALUES = 20
_ROUNDING, _DIGITS = 1e-9, 9
#: Of labels that a pattern was made of.
_ROUND = 200


def copies_of(predictions: Predictions) -> str | None:
    """Return what rows seem to be, if they stand several times; None if they do not."""
    if predictions.classes.codes is None or predictions.multilabel:
        return None
    label = to_numpy(predictions.label).astype(np.int64)
    times = times_again(label)
    if times is not None:
        return (
            f"the labels of {len(label) // times} rows come {times} times in the same order: those "
            "of several models, epochs, or augmented copies of the same rows, it seems"
        )
    if predictions.n_classes > 2:
        return None
    prob = to_numpy(predictions.prob)[:, 1]
    if len(np.unique(prob[: 2 * _VALUES])) < _VALUES:
        return None
    columns = columns_as_rows(prob, label)
    if columns is not None:
        return (
            f"each {columns} values of y_proba sum to 1, and one of them occurred: they are the "
            "columns of a table as rows, it seems, each of which tells of the others"
        )
    if are_both_sides(prob, label):
        return "each row stands twice, it seems, with p and the label, and with 1 − p and the other"
    return None


def times_again(label: Labels) -> int | None:
    """Return how often labels come again in the same order, beyond chance; None if they do not."""
    n = len(label)
    for times in range(2, min(_MOST, n // 2) + 1):
        if n % times == 0 and (label.reshape(times, -1) == label[: n // times]).all():
            block = label[: n // times]
            return times if _is_in_any_order(block) else None
    return None


def _is_in_any_order(block: Labels) -> bool:
    """Tell whether so many orders are possible that another one is by chance all but impossible.

    Orders that are made, as of classes one after the other, or by turns, have few changes of the
    class, or the same distance between them.
    """
    n, count = len(block), np.bincount(block)
    if sum(math.lgamma(each + 1) for each in count.tolist()) - math.lgamma(n + 1) > _LOG_LEVEL:
        return False
    changes = np.flatnonzero(np.diff(block))
    share = count / n
    expected = (n - 1) * float(1 - share @ share)
    few = len(changes) < 0.5 * expected
    return not few and len(np.unique(np.diff(changes))) > 1 and not _is_periodic(block)


def _is_periodic(block: Labels) -> bool:
    """Tell whether labels follow each other in rounds that are short."""
    most = min(len(block) // 2, _ROUND)
    return any((block[d:] == block[:-d]).all() for d in range(1, most + 1))


def columns_as_rows(prob: Floats, label: Labels) -> int | None:
    """Return how many columns a table has whose rows, or columns, follow each other as rows."""
    n = len(prob)
    for k in range(2, min(_MOST, n // 3) + 1):
        if n % k:
            continue
        for shape, axis in (((-1, k), 1), ((k, -1), 0)):
            one = label.reshape(shape).sum(axis=axis) == 1
            if one.all() and (abs(prob.reshape(shape).sum(axis=axis) - 1) < 1e-6).all():
                return k
    return None


def are_both_sides(prob: Floats, label: Labels) -> bool:
    """Tell whether rows (p, y) are the same as (1 − p, 1 − y), in any order."""
    n = len(prob)
    if n % 2 or 2 * int(label.sum()) != n or _are_made(prob):
        return False
    rows = np.where(label == 1, prob, math.inf), np.where(label == 0, 1 - prob, math.inf)
    own, other = (np.sort(each)[: n // 2] for each in rows)
    return bool((abs(own - other) <= _ROUNDING).all())


def _are_made(prob: Floats) -> bool:
    """Tell whether predictions lie on a grid, or a few, which may have a centre."""
    distances = np.diff(np.sort(prob)).round(_DIGITS)
    return len(np.unique(distances)) < len(prob) / 8
