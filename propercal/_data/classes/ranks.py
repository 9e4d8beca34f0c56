"""Columns of ranks instead of classes: rows sorted by size, or that of the first choice alone.

Lists of the most probable classes, such as ``topk(p, k).values``, have the largest probability
first in each row, whichever class it is of; of two classes one column of such a score is never
below ½. A model of classes whose frequencies are far apart has its columns in one order too. Ranks
are told from it in three ways.

- Neighbours come near each other. Where rows were sorted, what lies between the logarithms of two
  columns is as near to 0 as that of any two classes, so that its mean is not many times its
  standard deviation: one and a third of a normal distribution that is folded at 0, one of an
  exponential one. Where no row of many happens to be in another order, it is.
- The first of all is not what mostly occurred, in .45 of the rows or more.
- Labels are e⁷ times as probable by their own frequencies, for each of which half a logarithm of
  the number of rows is taken off (Schwarz, 1978).

Of two columns labels do not rise with the predictions either: those of a model that is sure of
itself, and right more often where it is more so, do.

In simulations of right, flat, sharp and biased models of classes that become rarer (3 to 10 of
them, 20 to 2000 rows, 2260 of 6000 data sets in one order of columns) none is doubted, and none of
two classes (1217 of 1600 in one order). Of rows that were sorted all but a few are, from 40 rows on
if the model is sharp, and from 100 if it is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from propercal._data.classes.biased_classes import CHANCE, Columns
from propercal._data.classes.other_readings import FLOOR, LEAST
from propercal._data.inputs.reading import Names
from propercal._data.words.messages import warn

Floats = npt.NDArray[np.floating[Any]]

#: Rows that are not in one order of columns by chance.
_FEW = 20
#: The least share of rows in which another class than the first of all occurred.
_OTHERS = 0.45
#: How many standard deviations from 0 lies what is between neighbours that were not sorted.
_APART, _APART_OF_TWO = 2.5, 2.0
_NOISE = 1e-9
#: The least share of rows in which neighbours are half as far from each other as on average.
_NEAR = 0.05


def doubt_ranks(log_prob: Floats, label: npt.NDArray[np.int64], called: Names) -> bool:
    """Warn, and tell, where columns (n, k) are rather ranks than classes."""
    sums = _sums_of_ranks(log_prob, label)
    return sums is not None and warn_of_ranks(sums, called)


def doubt_first_choice(
    log_prob: Floats, label: npt.NDArray[np.int64], names: Sequence[Any], called: Names
) -> bool:
    """Warn, and tell, where one column, and what is left of 1, is rather of the first choice."""
    sums = _sums_of_ranks(log_prob, label)
    return sums is not None and warn_of_first_choice(sums, names, called)


class Ranks(NamedTuple):
    """Sums over rows whose columns are in one order."""

    fit: Floats
    """(k, k) over rows of each class, by column, of the logarithm of the probability."""
    sums: Columns
    """Of all columns."""
    first: int
    """The largest of each row."""

    @property
    def nats(self) -> float:
        """How many nats more probable labels are by their frequencies; 0 if columns are classes."""
        sums, counts, n = self.sums, self.sums.counts, int(self.sums.counts.sum())
        k = len(counts)
        if n < _FEW or n - counts[self.first] < _OTHERS * n or not self._come_near():
            return 0.0
        fit = self.fit
        if k == 2:
            exchanged = float(fit[0, 1] + fit[1, 0] - fit[0, 0] - fit[1, 1])
            if sums.standardised(np.array([1, 0]), exchanged) <= -CHANCE:
                return 0.0
        some = counts[counts > 0]
        nats = float(some @ np.log(some / n) - np.trace(fit)) - (k - 1) / 2 * log(n)
        return nats if nats >= LEAST else 0.0

    def _come_near(self) -> bool:
        """Tell whether neighbours come near each other, as those of sorted rows do."""
        gap, cov = np.diff(self.sums.sums) / self.sums.counts.sum(), self.sums.covariance
        variance = np.diag(cov)[1:] + np.diag(cov)[:-1] - 2 * np.diag(cov, 1)
        # Columns that do not vary say nothing, of which rounding leaves a little.
        spread = np.where(variance > _NOISE, np.sqrt(np.maximum(variance, 0)), 0)
        apart = _APART if len(gap) > 1 else _APART_OF_TWO
        return bool(spread.any() and (np.abs(gap) <= apart * spread + _NOISE).all())


def _sums_of_ranks(log_prob: Floats, label: npt.NDArray[np.int64]) -> Ranks | None:
    """Return the sums of rows, if all have their columns in one order."""
    first = None
    if (log_prob[:, :-1] >= log_prob[:, 1:]).all():
        first = 0
    elif (log_prob[:, :-1] <= log_prob[:, 1:]).all():
        first = log_prob.shape[1] - 1
    if first is None:
        return None
    k, logs = log_prob.shape[1], np.maximum(log_prob, FLOOR)
    gap = np.abs(np.diff(logs, axis=1))
    if ((gap <= gap.mean(axis=0) / 2).mean(axis=0) < _NEAR).any():
        # One row far away lets others, which are alike, seem to vary.
        return None
    fit = np.zeros((k, k))
    np.add.at(fit, label, logs)
    return Ranks(fit, Columns.of(logs, np.bincount(label, minlength=k)), first)


def warn_of_ranks(ranks: Ranks, called: Names) -> bool:
    """Say, and tell, that columns are rather ranks, if they are."""
    nats, n = ranks.nats, int(ranks.sums.counts.sum())
    if nats:
        way = "descends" if ranks.first == 0 else "ascends"
        warn(
            f"{called.proba} {way} from column to column in each of {n} rows, though by it labels "
            f"are e^{nats:.0f} times less probable than by how often each occurs: rows sorted by "
            "size, it seems, whose columns are ranks and no classes. Put each value back into the "
            "column of its class: numpy.put_along_axis(p, indices, values, axis=1)."
        )
    return bool(nats)


def warn_of_first_choice(ranks: Ranks, names: Sequence[Any], called: Names) -> bool:
    """Say, and tell, that one column is rather that of whichever class was predicted, if it is."""
    nats, n = ranks.nats if ranks.first == 1 else 0.0, int(ranks.sums.counts.sum())
    if nats:
        # Of words, the caller has said one.
        words = any(isinstance(each, str) for each in names)
        how = f"Name the column {names[1]!r}" if words else "Pass pos_label=..."
        warn(
            f"{called.proba} is one column of no value below ½ in {n} rows, though by it labels "
            f"are e^{nats:.0f} times less probable than by how often each occurs: that of the "
            f"class that was predicted, whichever it is, it seems. Give the probability of "
            f"{names[1]!r} in all rows: numpy.where(predicted == {names[1]!r}, p, 1 - p). {how} if "
            "it is that already."
        )
    return bool(nats)
