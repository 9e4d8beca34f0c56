r"""Rows that repeat each other, told by equal predictions whose labels are always equal.

Independent rows of one prediction have different labels sometimes, and about as often as rows of
nearly the same prediction have. With values v of a prediction that m_v ≥ 2 rows have, and s_v the
share of rows nearby whose most probable class occurred,

.. math:: E = \sum_v 1 - s_v^{m_v} - (1 - s_v)^{m_v}

of them are expected to have labels that are not all equal, at least. That O or fewer have is less
probable than exp(−(E − O + O log(O / E))), by Chernoff's bound for independent values. The
predictions need not be calibrated for this, only the shares vary slowly. Copies that differ by
rounding, or by little more, are equal in fewer decimals, of which the same is asked.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from propercal._array import slices, to_numpy
from propercal._data.dependence.copies import copies_of
from propercal._data.predictions.predictions import Predictions
from propercal._data.words.messages import warn

Floats = npt.NDArray[np.float64]

#: Logarithm of the probability of a false alarm; shares may vary faster than neighbours tell.
_LOG_LEVEL = -16.0
#: Decimals in which predictions are compared, where they are not equal.
_DECIMALS = (9, 6, 4, 3)
#: A share of the values that are expected to have different labels.
_SHARE = 0.5
#: Numbers that are looked at together.
_TILE = 2**20
#: Values to either side from which a share is taken.
_NEIGHBOURS = 5


class Repetitions(NamedTuple):
    """Values of a prediction that several rows have."""

    n_values: int
    n_rows: int
    differing: int
    """O, values whose labels are not all equal."""
    expected: float
    """E, how many should have such labels at least, were rows independent."""

    decimals: int | None = None
    """In which predictions are equal, if not in all."""

    def said(self, n: int) -> str:
        """Return what was found, of n rows."""
        near = "" if self.decimals is None else f", rounded to {self.decimals} decimals,"
        return (
            f"{self.n_rows} of {n} rows share their prediction{near} with others, and "
            f"{self.differing} of {self.n_values} such values have labels that differ, where "
            f"independent rows would let {self.expected:.0f} or more"
        )

    @property
    def certain(self) -> bool:
        """Whether that is beyond chance, and by a margin."""
        found, expected = self.differing, self.expected
        if found >= _SHARE * expected:
            return False
        log_ratio = math.log(found / expected) if found else 0.0
        return -(expected - found + found * log_ratio) < _LOG_LEVEL


_ADVICE = (
    "Then intervals are too narrow, calibrated predictions seem miscalibrated, and the calibration "
    "error is too large. Pass groups=, a label for each row that its repetitions share, or leave "
    "repetitions out."
)


def look_for_repetitions(predictions: Predictions) -> Predictions:
    """Say so, and note it, if rows repeat each other and no groups say which."""
    if predictions.n_groups is not None:
        return predictions
    found = repetitions(predictions)
    if found is not None and found.certain:
        warn(f"{found.said(predictions.n_samples)}: rows seem to repeat each other. {_ADVICE}")
        return replace(predictions, repeated=True)
    copies = copies_of(predictions)
    if copies is not None:
        warn(f"Rows seem to repeat each other: {copies}. {_ADVICE}")
        return replace(predictions, repeated=True)
    return predictions


def repetitions(predictions: Predictions) -> Repetitions | None:
    """Return what values of a prediction that several rows have say; None where too few are.

    Rounded ones are those of the most probable class.
    """
    log_prob = to_numpy(predictions.log_prob)
    top, log_top = log_prob.argmax(axis=1), log_prob.max(axis=1)
    found = _of_values(_equal_rows(log_prob), top, log_top, predictions)
    for decimals in _DECIMALS:
        if found is not None and found.certain:
            return found
        rounded = np.round(np.exp(log_top), decimals) / 2 + top
        near = _of_values(_equal_rows(rounded[:, None]), top, log_top, predictions)
        if near is not None and near.certain:
            return near._replace(decimals=decimals)
    return found


def _of_values(
    value: npt.NDArray[np.int64] | None,
    top: npt.NDArray[np.intp],
    log_top: Floats,
    predictions: Predictions,
) -> Repetitions | None:
    if value is None:
        return None
    count = np.bincount(value)
    tied = np.flatnonzero(count > 1)
    if len(tied) < -_LOG_LEVEL:
        return None
    label, right = _outcomes(predictions, top)
    lowest, highest = (np.full(len(count), start) for start in (np.iinfo(np.int64).max, -1))
    np.minimum.at(lowest, value, label)
    np.maximum.at(highest, value, label)
    share = _shares_nearby(value, top, log_top, right)
    m, s = count[tied], share[tied]
    expected = float(np.sum(1 - s**m - (1 - s) ** m))
    differing = int(np.count_nonzero(lowest[tied] < highest[tied]))
    return Repetitions(len(tied), int(m.sum()), differing, expected)


def _equal_rows(values: Floats) -> npt.NDArray[np.int64] | None:
    """(n,) numbers of equal rows of `values` (n, k); None where hardly any are equal."""
    # One number a row tells rows apart, but for what is compared below. It is the same sum wherever
    # the row stands, as a product of matrices would not be.
    scale = np.random.default_rng(0).random(values.shape[1]) + 0.5
    parts = slices(len(values), max(1, _TILE // values.shape[1]))
    mixed = np.concatenate([(np.maximum(values[at], -1e4) * scale).sum(axis=1) for at in parts])
    order = np.argsort(mixed, kind="stable")
    new = mixed[order[1:]] != mixed[order[:-1]]
    same = np.flatnonzero(~new)
    new[same] = np.any(values[order[same + 1]] != values[order[same]], axis=1)
    if np.count_nonzero(~new) < -_LOG_LEVEL:
        return None
    number = np.empty(len(values), dtype=np.int64)
    number[order] = np.concatenate([[0], np.cumsum(new)])
    return number


def _outcomes(
    predictions: Predictions, top: npt.NDArray[np.intp]
) -> tuple[npt.NDArray[np.int64], Floats]:
    """(n,) each: a number of the label, and whether the most probable class occurred."""
    if not predictions.multilabel:
        label = to_numpy(predictions.label).astype(np.int64)
        return label, (label == top).astype(np.float64)
    marks = np.stack(
        [to_numpy(predictions.occurred(i)) > 0 for i in range(predictions.n_classes)], axis=1
    )
    _, label = np.unique(marks, axis=0, return_inverse=True)
    return label.ravel().astype(np.int64), marks[np.arange(len(top)), top].astype(np.float64)


def _shares_nearby(
    value: npt.NDArray[np.int64], top: npt.NDArray[np.intp], confidence: Floats, right: Floats
) -> Floats:
    """(m,) for each value, the mean of `right` of its neighbours in confidence, of the same class.

    Each neighbour counts once, however many rows it has, and the value itself does not.
    """
    m = int(value.max()) + 1
    first = np.empty(m, dtype=np.int64)
    first[value[::-1]] = np.arange(len(value))[::-1]
    mean = np.bincount(value, right) / np.bincount(value)
    order = np.lexsort((confidence[first], top[first]))
    of_class = top[first][order]
    begin = np.searchsorted(of_class, of_class, side="left")
    end = np.searchsorted(of_class, of_class, side="right")
    place = np.arange(m)
    low, high = np.maximum(begin, place - _NEIGHBOURS), np.minimum(end, place + _NEIGHBOURS + 1)
    sums = np.concatenate([[0.0], np.cumsum(mean[order])])
    others = high - low - 1
    total = sums[high] - sums[low] - mean[order]
    # A value that is alone of its class says that its labels are as they are.
    share = np.where(others > 0, total / np.maximum(others, 1), 1.0)
    result = np.empty(m)
    result[order] = share.clip(0.0, 1.0)
    return result
