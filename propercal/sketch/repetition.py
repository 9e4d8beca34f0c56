"""Rows of an update that were added before: a loop that runs twice, or a partition that came again.

Each update is known by a number made of all its predictions and labels, and the first rows of a
sketch by one each, so that a loop in other steps, or row by row, is known too. Rows that are no
others by chance have different predictions, and labels that differ.
"""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

import numpy as np

from propercal._array import no_gradient, to_numpy
from propercal._data.predictions.predictions import Predictions
from propercal._data.predictions.weights import Floats
from propercal._data.words.messages import warn
from propercal.sketch.digests import BITS, LEAST, are_digests, are_telling, row_digests

#: Updates, and first rows, that are known again.
MOST_UPDATES, MOST_ROWS = 512, 64
_TWICE = "they count twice, and intervals are too narrow"
#: Rows of an update that are looked at for different ones.
_SOME = 256


def label_digests(labels: Any) -> tuple[int, ...]:
    """Return a number for each row of labels (n, l), that of a single one."""
    if labels.shape[1] > 1:
        labels = row_digests(np.empty((len(labels), 0)), labels)
    return tuple(labels.ravel().tolist())


class Trace(NamedTuple):
    """What rows are known again by."""

    update: int | None
    """A number made of all of them; None of rows that may be equal to others by chance."""
    rows: tuple[int, ...]
    """Numbers of the first rows."""
    labels: tuple[int, ...]
    """What tells labels of these apart."""
    n_rows: int

    @classmethod
    def of(cls, rows: Predictions, weight: Floats | None) -> Trace:
        """Return that of the rows of an update, of these weights."""
        with no_gradient(rows.prob):
            prob = to_numpy(rows.prob)
            columns = [rows.label]
            if rows.multilabel:
                columns = [rows.occurred(i) for i in range(rows.n_classes)]
            labels = np.stack([to_numpy(each) for each in columns], axis=1).astype(np.int64)
        n = len(prob)
        # All of few rows, else some that stand everywhere beside the first ones.
        some = np.arange(min(n, _SOME))
        if n > _SOME:
            some[MOST_ROWS:] = np.linspace(MOST_ROWS, n - 1, _SOME - MOST_ROWS)
        of_some = np.ones(len(some)) if weight is None else weight[some]
        digests = row_digests(np.column_stack([prob[some], of_some]), labels[some]).tolist()
        update = None
        if n >= LEAST and are_telling(
            digests, max(n - int(np.bincount(each).max()) for each in labels.T)
        ):
            update = _digest(prob, labels, weight)
        return cls(update, tuple(digests[:MOST_ROWS]), label_digests(labels[:MOST_ROWS]), n)


class Known(NamedTuple):
    """What the rows of a sketch are known again by."""

    updates: tuple[int, ...] = ()
    """Numbers of the last updates."""
    rows: tuple[int, ...] = ()
    """Those of the first rows."""
    labels: tuple[int, ...] = ()
    """What tells labels of these apart."""
    run: int = 0
    """How many of the first rows the last ones repeat."""
    told: bool = False
    """Whether a warning said so, which is said once."""

    def after(self, new: Trace, what: str = _TWICE, *, told: bool = False) -> Known:
        """Return it after an update; warn if that repeats rows, unless something was told of it.

        `what` says what follows.
        """
        run, longest = self._run_of(new)
        again = new.update in self.updates or self._are_telling(longest)
        if again and not (self.told or told):
            warn(
                f"y_proba and y_true repeat rows that were added before, one by one: {what}. "
                "Pass each row once; reset() begins anew."
            )
        updates = self.updates if new.update is None else (*self.updates, new.update)
        return Known(
            updates[-MOST_UPDATES:],
            (*self.rows, *new.rows)[:MOST_ROWS],
            (*self.labels, *new.labels)[:MOST_ROWS],
            run,
            self.told or again,
        )

    def _run_of(self, new: Trace) -> tuple[int, int]:
        """Return how many of the first rows the last ones of an update repeat, and most of any."""
        run = longest = self.run
        for each in new.rows:
            goes_on = run < len(self.rows) and each == self.rows[run]
            run = run + 1 if goes_on else int(each in self.rows[:1])
            longest = max(longest, run)
        return (run if new.n_rows == len(new.rows) else 0), longest

    def _are_telling(self, n: int) -> bool:
        """Tell whether so many of the first rows are no others by chance."""
        if n < LEAST:
            return False
        times = np.unique(self.labels[:n], return_counts=True)[1]
        return are_telling(self.rows[:n], n - int(times.max()))

    def plus(self, other: Known) -> Known:
        """Return that of the rows of two sketches; warn if an update was added to both."""
        again = not set(self.updates).isdisjoint(other.updates)
        if again and not self.told:
            warn(
                "other holds rows that were added before to this sketch, one by one: they count "
                "twice, and intervals are too narrow. Add each row to one sketch."
            )
        first = self if self.rows else other
        updates = (*self.updates, *other.updates)[-MOST_UPDATES:]
        return first._replace(updates=updates, told=self.told or other.told or again)

    def followed_by(self, other: Known) -> Known:
        """Return what the first rows are known by where others follow; none of them is going on."""
        rows, labels = (*self.rows, *other.rows), (*self.labels, *other.labels)
        told = self.told or other.told
        return self._replace(rows=rows[:MOST_ROWS], labels=labels[:MOST_ROWS], run=0, told=told)

    def written(self) -> list[list[int]]:
        """Return what :meth:`restored` reads."""
        return [list(self.updates), list(self.rows), list(self.labels), [self.run]]

    @classmethod
    def restored(cls, written: Any) -> Known | None:
        """Return what was written, None if it is no such thing."""
        if type(written) is not list or len(written) != 4:
            return None
        most = MOST_UPDATES, MOST_ROWS, MOST_ROWS, 1
        if not all(map(are_digests, written, most)):
            return None
        updates, rows, labels, run = map(tuple, written)
        if len(rows) != len(labels) or len(run) != 1 or not run[0] <= len(rows):
            return None
        return cls(updates, rows, labels, run[0])


def _digest(prob: Any, labels: Any, weight: Floats | None) -> int:
    found = hashlib.sha256(str(prob.shape).encode())
    weights = [] if weight is None or (weight == 1).all() else [weight]
    for each in (prob, labels, *weights):
        found.update(np.ascontiguousarray(each).data)
    return int.from_bytes(found.digest()) >> (256 - BITS)


class Repeated(NamedTuple):
    """Partitions that hold the rows of others, one by one."""

    updates: frozenset[int] = frozenset()
    """Numbers of all partitions."""
    n_again: int = 0
    """Partitions that came again."""

    def plus(self, other: Repeated) -> Repeated:
        """Return those of both."""
        both = self.updates & other.updates
        return Repeated(self.updates | other.updates, self.n_again + other.n_again + len(both))

    def check(self) -> None:
        """Warn if there are some."""
        if self.n_again:
            n = self.n_again
            warn(
                f"{n} partition{'s' if n > 1 else ''} of y_proba and y_true repeat{'s' * (n == 1)} "
                "rows that are in others, one by one: they count twice, and intervals are too "
                "narrow. Pass each row once."
            )
