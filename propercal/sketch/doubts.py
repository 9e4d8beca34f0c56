"""Whether the predictions of a stream go with another order of columns than the one it is read in.

Each chunk by itself may be too small to tell. What it says adds up: of each class and column, the
logarithms of the probability, and how often it was the larger or the smaller one; of each class its
rows; of each two columns the product of their logarithms. All are whole numbers, whose sums do not
depend on how rows came. They are what memory looks at
(:mod:`propercal._data.classes.other_readings`), for one column too, which is read as that of class
1 beside its complement.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from propercal._array import to_numpy
from propercal._data.classes.biased_classes import Columns
from propercal._data.classes.from_zero import are_numbered_from_0, warn_of_shift
from propercal._data.classes.other_readings import (
    FLOOR,
    LEAST,
    Doubted,
    best_order,
    beyond_bias,
    beyond_chance,
    involved,
    log_orders,
    unlike,
    warn_of_class,
    warn_of_columns,
)
from propercal._data.classes.ranks import Ranks, warn_of_first_choice, warn_of_ranks
from propercal._data.inputs.reading import USUAL_NAMES, Names
from propercal._data.predictions.predictions import Predictions
from propercal._data.words.messages import some_names, warn

Whole = npt.NDArray[np.int64]

#: Of more classes, what is kept is much beside the rest of a stream: four squares of 8 bytes each,
#: 320 kB of 100 classes and 32 MB of 1000, which bytes hold as text and Dask sends from partitions.
MOST_CLASSES = 100
#: In one nat.
_UNITS = 1 << 20
#: In one nat, of logarithms that are multiplied. Sums of so many rows are exact in floating point.
COARSE, _ROWS = 1 << 12, 1 << 20
#: That are looked at one by one.
_BATCHES = 32
#: Of what is written, so that sums of two fit into a machine word.
_LARGEST = 1 << 62


def _shapes(k: int) -> dict[str, tuple[int, ...]]:
    square = dict.fromkeys(("fit", "better", "worse"), (k, k))
    return {**square, "counts": (k,), "products": (k + 1, k)}


#: What is summed up.
PARTS = tuple(_shapes(1))
#: What an earlier version wrote, which did not tell bias from another order.
_EARLIER = 3


@dataclass(frozen=True, eq=False)
class Doubts:
    """Sums over rows of each class (k, k), by column, of a stream whose columns no name decides."""

    fit: Whole
    """The logarithm of the probability, in units of 2⁻²⁰."""
    better: Whole
    """Rows in which it was larger than that of the class's own column."""
    worse: Whole
    """Rows in which it was smaller."""
    counts: Whole
    """(k,) rows."""
    products: Whole
    """(k + 1, k) over all rows, of the logarithms in units of 2⁻¹² (the first row), and of the
    products of those of two columns (the others)."""

    @classmethod
    def empty(cls, k: int) -> Doubts | None:
        """Return those of no rows; None of many classes."""
        if k > MOST_CLASSES:
            return None
        return cls(*(np.zeros(shape, dtype=np.int64) for shape in _shapes(k).values()))

    def after(self, rows: Predictions) -> Doubts:
        """Return those after rows of one class each."""
        if rows.multilabel or rows.classes.codes is None:
            return self
        return self.of_labels(to_numpy(rows.label), to_numpy(rows.log_prob))

    def of_labels(self, label: Whole, log_prob: npt.NDArray[Any]) -> Doubts:
        """Return those after rows of these labels (n,) and logarithms (n, k)."""
        if not len(label):
            return self
        label = label.astype(np.intp)
        order, k = np.argsort(label, kind="stable"), len(self.counts)
        log_prob = np.maximum(log_prob[order], FLOOR)
        units = np.floor(log_prob * _UNITS).astype(np.int64)
        own = np.take_along_axis(units, label[order][:, None], axis=1)
        occurring, starts = np.unique(label[order], return_index=True)
        new = np.zeros((3, k, k), dtype=np.int64)
        for sums, values in zip(new, (units, units > own, units < own), strict=True):
            sums[occurring] = np.add.reduceat(values.astype(np.int64), starts, axis=0)
        fit, better, worse = new
        counts = np.bincount(label, minlength=k)
        return self.plus(Doubts(fit, better, worse, counts, products_of(log_prob)))

    def plus(self, other: Doubts | None) -> Doubts:
        """Return those of the rows of both."""
        return (
            self
            if other is None
            else Doubts(*(a + b for a, b in zip(self.sums, other.sums, strict=True)))
        )

    def minus(self, other: Doubts) -> Doubts:
        """Return those of the rows of this one that the other has not."""
        return Doubts(*(a - b for a, b in zip(self.sums, other.sums, strict=True)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Doubts):
            return False
        return all(map(np.array_equal, self.sums, other.sums))

    __hash__ = None  # type: ignore[assignment]

    @property
    def sums(self) -> tuple[Whole, ...]:
        """All of them."""
        return tuple(getattr(self, name) for name in PARTS)

    def _columns(self, some: Whole) -> Columns:
        """Return what all rows say of some columns."""
        n = max(1, int(self.counts.sum()))
        mean = self.products[0, some] / COARSE / n
        products = self.products[1:][np.ix_(some, some)] / COARSE**2 / n
        sums = self.fit.sum(axis=0)[some] / _UNITS
        return Columns(self.counts[some], sums, products - np.outer(mean, mean))

    def _ranks(self) -> Ranks | None:
        """Return the sums of rows if each has the column of its class in one order with others."""
        k, occurring = len(self.counts), np.flatnonzero(self.counts)
        after = np.arange(k) > occurring[:, None]
        before = np.arange(k) < occurring[:, None]
        for first, smaller, larger in ((0, after, before), (k - 1, before, after)):
            if not (self.better[occurring][smaller].any() or self.worse[occurring][larger].any()):
                return Ranks(self.fit / _UNITS, self._columns(np.arange(k)), first)
        return None

    def _nats(self, classes: Whole, columns: Whole, tried: float) -> float:
        """Return by how much these classes are more probable if these columns are theirs."""
        gain = self.fit[classes, columns] - self.fit[classes, classes]
        counts = (int(each[classes, columns].sum()) for each in (self.better, self.worse))
        return beyond_chance(float(gain.sum()) / _UNITS, *counts, tried=tried)

    def check(
        self,
        names: Sequence[Any],
        columns: Sequence[Any] | None,
        called: Names = USUAL_NAMES,
        *,
        listed: bool = False,
    ) -> bool:
        """Warn, and tell, as memory does where another reading is more probable.

        `listed` says that the caller lists the classes of columns.
        """
        # Sums tell the order of other columns beside that of the class alone, which may be listed
        # wrongly.
        ranks = None if listed else self._ranks()
        if ranks is not None and warn_of_ranks(ranks, called):
            return True
        occurring = np.flatnonzero(self.counts)
        k, counted = len(names), list(names) == list(range(len(names)))
        counted = counted and not listed
        if counted and len(occurring) and occurring[0] > 0 and not are_numbered_from_0(columns):
            nats = self._nats(occurring, occurring - 1, 0.0)
            if warn_of_shift(nats, occurring.tolist(), k, called.labels, called.proba):
                return True
        order, nats = self._other_order()
        return warn_of_columns(nats, order, names, Doubted(columns, listed), called)

    def _other_order(self, *, more: float = 0.0) -> tuple[Whole, float]:
        """Return the best order of columns, and by how many nats it is, 0 if that may be chance.

        `more` are nats that it takes beside the usual ones.
        """
        occurring, k = np.flatnonzero(self.counts), len(self.counts)
        order = best_order(self.fit[occurring], occurring)
        if order is None:
            return np.arange(k), 0.0
        tried = log_orders(k, len(occurring)) + more
        nats = self._nats(occurring, order[occurring], tried)
        if nats:
            some, moved = involved(order, occurring)
            nats = beyond_bias(nats, self._columns(some), moved, tried=tried)
        return order, nats

    def _denies(self, order: Whole) -> bool:
        """Tell whether classes are rather those of the columns that they are read in."""
        moved = np.flatnonzero(order != np.arange(len(order)))
        gain = self.fit[moved, moved] - self.fit[moved, order[moved]]
        counts = (int(each[moved, order[moved]].sum()) for each in (self.worse, self.better))
        return beyond_chance(float(gain.sum()) / _UNITS, *counts, tried=LEAST) > 0

    def check_beside(
        self, before: Doubts, names: Sequence[Any], called: Names = USUAL_NAMES
    ) -> bool:
        """Warn, and tell, where columns of these rows stand in one order, and those before not.

        All rows together may go with the order that they are read in, or with none.
        """
        for which, rows, others in (("these rows", self, before), ("rows before", before, self)):
            order, nats = rows._other_order(more=LEAST)
            if nats and others._denies(order):
                meant = [names[i] for i in np.argsort(order)]
                warn(
                    f"{called.proba} of these rows and of those before stand in two orders: read "
                    f"as those of the classes {some_names(names)}, labels of {which} are "
                    f"e^{nats:.0f} times as probable if it is {some_names(meant)}, and the others "
                    "are not. Bring them into one order, or name columns by their classes."
                )
                return True
        return False

    def check_column(
        self, names: Sequence[Any], name: Any, called: Names = USUAL_NAMES, *, right: bool = False
    ) -> bool:
        """Warn, and tell, as memory does where one column is rather that of the other class.

        Or of the first choice, unless labels say whether that was `right`.
        """
        ranks = None if right else self._ranks()
        if ranks is not None and warn_of_first_choice(ranks, names, called):
            return True
        both = np.arange(2)
        nats = self._nats(both, both[::-1], 0.0) if self.counts.all() else 0.0
        if nats:
            nats = unlike(nats, self._columns(both))
        return warn_of_class(nats, names, name, called)

    def written(self) -> list[list[int]]:
        """Return what :meth:`restored` reads."""
        return [each.ravel().tolist() for each in self.sums]

    @classmethod
    def restored(cls, written: Any, k: int) -> Doubts | None:
        """Return what was written, or raise a ValueError if it is that of no rows of k classes."""
        if written is None:
            return None
        if len(written) not in (_EARLIER, len(PARTS)) or k > MOST_CLASSES:
            raise ValueError("doubts")
        sums = []
        for each, shape in zip(written, _shapes(k).values(), strict=False):
            if type(each) is not list or len(each) != np.prod(shape):
                raise ValueError("doubts")
            if not all(type(x) is int and abs(x) < _LARGEST for x in each):
                raise ValueError("doubts")
            sums.append(np.array(each, dtype=np.int64).reshape(shape))
        signs = (-1, 1, 1, 1)
        if any((sign * each < 0).any() for sign, each in zip(signs, sums, strict=False)):
            raise ValueError("doubts")
        if len(sums) == _EARLIER:
            return None
        first, others = sums[-1][0], sums[-1][1:]
        if (first > 0).any() or (others < 0).any() or (others != others.T).any():
            raise ValueError("doubts")
        return cls(*sums)


def products_of(log_prob: npt.NDArray[Any], others: npt.NDArray[Any] | None = None) -> Whole:
    """(k + 1, k) sums of logarithms, in units of 2⁻¹², and of their products; or of `others`.

    Then products are those of each logarithm with each of the others, whole numbers.
    """
    k = log_prob.shape[1]
    found = np.zeros((k + 1, k), dtype=np.int64)
    for start in range(0, len(log_prob), _ROWS):
        block = slice(start, start + _ROWS)
        coarse = np.floor(log_prob[block] * COARSE).astype(np.float64)
        by = coarse if others is None else others[block]
        found[0] += by.sum(axis=0).astype(np.int64)
        found[1:] += (coarse.T @ by).astype(np.int64)
    return found


def joined(mine: Doubts | None, other: Doubts | None) -> Doubts | None:
    """Return those of two streams, of which either may have none."""
    return other if mine is None else mine.plus(other)


def doubts_after(
    before: Doubts | None,
    rows: Predictions,
    *,
    known: bool,
    first: bool,
    by_order: bool = False,
    listed: bool = False,
) -> Doubts | None:
    """Return doubts after rows.

    `known` says that classes of columns are known, `first` that a single column is numbered 0 and
    may be the first of several. Of which class it is, labels that are listed or rows before say.
    `by_order` says that labels have names that are those of the columns in the same places,
    `listed` that the caller lists classes, or says one, that no name bears out.
    """
    classes = rows.classes
    by_order = not known and (by_order or classes.by_order)
    if before is None and ((classes.unsaid and not first) or by_order or listed):
        before = Doubts.empty(rows.n_classes)
    if before is None:
        return None
    empty = Doubts.empty(rows.n_classes)
    assert empty is not None  # noqa: S101  # nor were those before of so many classes
    own = empty.after(rows)
    own.check_beside(before, classes.names, rows.names)
    return before.plus(own)


def warn_of_two_orders(rows: Predictions, sizes: Sequence[int]) -> None:
    """Warn where columns of batches of these sizes stand in one order, and in another before.

    Many batches are looked at some at a time.
    """
    empty = Doubts.empty(rows.n_classes)
    if empty is None or len(sizes) < 2 or rows.multilabel or rows.classes.codes is None:
        return
    ends = np.cumsum(sizes)
    ends = ends[np.unique(np.linspace(0, len(ends) - 1, min(len(ends), _BATCHES)).astype(np.intp))]
    label, log_prob = to_numpy(rows.label), to_numpy(rows.log_prob)
    pieces = zip(*(np.split(each, ends[:-1]) for each in (label, log_prob)), strict=True)
    parts = [empty.of_labels(*each) for each in pieces]
    before, after = empty, reduce(Doubts.plus, parts)
    for own in parts:
        for these in (own, after):
            if these.check_beside(before, rows.classes.names, rows.names):
                return
        before, after = before.plus(own), after.minus(own)
