"""Rows that are sorted by what occurred, where they should be in the order in which they came.

Folders of images by class, or positive rows below negative ones: each class stands in one piece.
That is all but impossible of rows in the order of time, unless predictions follow it.
"""

from __future__ import annotations

from itertools import pairwise
from math import lgamma

import numpy as np
import numpy.typing as npt

from propercal._array import to_numpy
from propercal._data.classes.other_readings import FLOOR
from propercal._data.predictions.predictions import Predictions
from propercal._data.words.messages import warn

Floats = npt.NDArray[np.floating]
Whole = npt.NDArray[np.integer]

#: Nats below which rows may be sorted by chance, or by what predictions do not know.
_LEAST = 30.0
#: Of more classes nothing is said.
_MOST = 100


def are_sorted(label: Whole) -> float:
    """Return by how many nats it is no chance that each of some classes stands in one piece; or 0.

    Of n! / Π n_c! orders of the labels, as many are so as there are orders of the classes.
    """
    counts = np.unique(label, return_counts=True)[1].tolist()
    if not 1 < len(counts) <= _MOST or np.count_nonzero(np.diff(label)) != len(counts) - 1:
        return 0.0
    nats = lgamma(len(label) + 1) - sum(lgamma(n + 1) for n in counts) - lgamma(len(counts) + 1)
    return nats if nats >= _LEAST else 0.0


def evidence_of_sorting(log_prob: Floats, label: Whole) -> float:
    """Return the same where predictions (n, k) do not follow the order of labels either; or 0.

    Their probability of classes that follow each other, in this order and at whatever rows, is a
    sum over the rows at which one ends, and from class to class over those at which the next does.
    """
    by_chance = are_sorted(label)
    if not by_chance:
        return 0.0
    starts = np.flatnonzero(np.diff(label, prepend=label[0] - 1))
    logs = np.maximum(log_prob[:, label[starts]].astype(np.float64), FLOOR)
    sums = np.concatenate([np.zeros((1, len(starts))), np.cumsum(logs, axis=0)])
    # After so many rows, of which the first is of the class.
    so_far = np.concatenate([[-np.inf], sums[1:, 0]])
    for i in range(1, len(starts)):
        ended = np.logaddexp.accumulate(so_far - sums[:, i])
        so_far = np.concatenate([[-np.inf], ended[:-1] + sums[1:, i]])
    nats = -float(so_far[-1]) - lgamma(len(starts) + 1)
    return min(by_chance, nats) if nats >= _LEAST else 0.0


def doubt_order_of_time(rows: Predictions, why: str, fix: str) -> None:
    """Warn where rows are sorted by label, or by whether the most probable class occurred."""
    if rows.multilabel or rows.classes.codes is None or rows.n_samples < 2:
        return
    log_prob, label = (to_numpy(each) for each in (rows.log_prob, rows.label))
    label = label.astype(np.intp)
    top = log_prob.argmax(axis=1)
    of_top = np.minimum(log_prob[np.arange(len(top)), top], 0.0)
    with np.errstate(divide="ignore"):
        both = np.stack([np.log(-np.expm1(of_top)), of_top], axis=1)
    right = f"the class that {rows.names.proba} has for the most probable one occurred"
    for what, logs, of_rows in (
        (f"{rows.names.labels} is sorted: its labels stand", log_prob, label),
        (
            f"rows are sorted by whether {right}: both kinds stand",
            both,
            (top == label).astype(np.intp),
        ),
    ):
        nats = evidence_of_sorting(logs, of_rows)
        if nats:
            warn(
                f"{what} in one piece each, which by {rows.names.proba} has a probability of "
                f"e^-{nats:.0f} or less in the order of time: {why}. {fix}"
            )
            return


def are_in_pieces(folds: list[Whole]) -> bool:
    """Tell whether all folds are of rows that follow each other."""
    return all(len(each) and each[-1] - each[0] == len(each) - 1 for each in folds) and all(
        one[-1] < other[0] for one, other in pairwise(sorted(folds, key=lambda each: int(each[0])))
    )
