"""Whether the predictions of a stream go with another order of columns than the one it is read in.

Each chunk by itself may be too small to tell. What it says adds up: of each class and column, the
logarithms of the probability, and how often it was the larger or the smaller one, in whole numbers,
whose sums do not depend on how rows came. They are what memory looks at
(:mod:`propercal._data.other_readings`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import lgamma
from typing import Any

import numpy as np
import numpy.typing as npt

from propercal._array import to_numpy
from propercal._data.from_zero import are_numbered_from_0, warn_of_shift
from propercal._data.other_readings import FLOOR, beyond_chance, warn_of_columns
from propercal._data.predictions import Predictions
from propercal._data.reading import USUAL_NAMES, Names

Whole = npt.NDArray[np.int64]

#: Of more classes, their square would be much beside what a stream keeps.
MOST_CLASSES = 100
#: In one nat.
_UNITS = 1 << 20
#: Of what is written, so that sums of two fit into a machine word.
_LARGEST = 1 << 62
_NAMES = ("fit", "better", "worse")


@dataclass(frozen=True, eq=False)
class Doubts:
    """Sums over rows of each class (k, k), by column, of a stream whose columns no name decides."""

    fit: Whole
    """The logarithm of the probability, in units of 2⁻²⁰."""
    better: Whole
    """Rows in which it was larger than that of the class's own column."""
    worse: Whole
    """Rows in which it was smaller."""

    @classmethod
    def empty(cls, k: int) -> Doubts | None:
        """Return those of no rows; None of many classes."""
        return None if k > MOST_CLASSES else cls(*np.zeros((3, k, k), dtype=np.int64))

    def after(self, rows: Predictions) -> Doubts:
        """Return those after rows of one class each."""
        label = to_numpy(rows.label).astype(np.intp)
        if rows.multilabel or rows.classes.codes is None or not len(label):
            return self
        order = np.argsort(label, kind="stable")
        log_prob = np.maximum(to_numpy(rows.log_prob)[order], FLOOR)
        units = np.floor(log_prob * _UNITS).astype(np.int64)
        own = np.take_along_axis(units, label[order][:, None], axis=1)
        occurring, starts = np.unique(label[order], return_index=True)
        new = np.zeros((3, *self.fit.shape), dtype=np.int64)
        for sums, values in zip(new, (units, units > own, units < own), strict=True):
            sums[occurring] = np.add.reduceat(values.astype(np.int64), starts, axis=0)
        return self.plus(Doubts(*new))

    def plus(self, other: Doubts | None) -> Doubts:
        """Return those of the rows of both."""
        return (
            self
            if other is None
            else Doubts(*(a + b for a, b in zip(self.sums, other.sums, strict=True)))
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Doubts) and np.array_equal(self.sums, other.sums)

    __hash__ = None  # type: ignore[assignment]

    @property
    def sums(self) -> tuple[Whole, Whole, Whole]:
        """All three."""
        return self.fit, self.better, self.worse

    def _nats(self, classes: Whole, columns: Whole, tried: float) -> float:
        """Return by how much these classes are more probable if these columns are theirs."""
        gain = self.fit[classes, columns] - self.fit[classes, classes]
        counts = (int(each[classes, columns].sum()) for each in (self.better, self.worse))
        return beyond_chance(float(gain.sum()) / _UNITS, *counts, tried=tried)

    def check(
        self, names: Sequence[Any], columns: Sequence[Any] | None, called: Names = USUAL_NAMES
    ) -> bool:
        """Warn, and tell, as memory does where another reading is more probable."""
        occurring = np.flatnonzero(self.fit.any(axis=1))
        k, counted = len(names), list(names) == list(range(len(names)))
        if counted and len(occurring) and occurring[0] > 0 and not are_numbered_from_0(columns):
            nats = self._nats(occurring, occurring - 1, 0.0)
            if warn_of_shift(nats, occurring.tolist(), k, called.labels, called.proba):
                return True
        fit = self.fit[np.ix_(occurring, occurring)]
        if (fit.diagonal() >= fit.max(axis=1, initial=fit.min(initial=0))).all():
            return False
        from scipy.optimize import linear_sum_assignment

        order = np.arange(k)
        order[occurring] = occurring[linear_sum_assignment(fit, maximize=True)[1]]
        nats = self._nats(occurring, order[occurring], lgamma(len(occurring) + 1))
        return warn_of_columns(nats, order, names, columns, called)

    def written(self) -> list[list[int]]:
        """Return what :meth:`restored` reads."""
        return [each.ravel().tolist() for each in self.sums]

    @classmethod
    def restored(cls, written: Any, k: int) -> Doubts | None:
        """Return what was written, or raise a ValueError if it is that of no rows of k classes."""
        if written is None:
            return None
        if len(written) != len(_NAMES) or k > MOST_CLASSES:
            raise ValueError("doubts")
        for each in written:
            if type(each) is not list or len(each) != k * k:
                raise ValueError("doubts")
            if not all(type(x) is int and abs(x) < _LARGEST for x in each):
                raise ValueError("doubts")
        found = cls(*(np.array(each, dtype=np.int64).reshape(k, k) for each in written))
        if (found.fit > 0).any() or (found.better < 0).any() or (found.worse < 0).any():
            raise ValueError("doubts")
        return found


def joined(mine: Doubts | None, other: Doubts | None) -> Doubts | None:
    """Return those of two streams, of which either may have none."""
    return other if mine is None else mine.plus(other)


def doubts_after(before: Doubts | None, rows: Predictions, *, known: bool) -> Doubts | None:
    """Return doubts after rows; `known` says that classes of columns are known."""
    if before is None and not known and rows.classes.by_order:
        before = Doubts.empty(rows.n_classes)
    return None if before is None else before.after(rows)
