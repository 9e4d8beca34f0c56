"""Classes that the rows of a sketch are of, where its tables do not tell.

The tables of each class, and those of two classes, have rows by what occurred. A top-label table
has them by whether the top class did.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from propercal._array import like, namespace, no_gradient, to_numpy
from propercal._data.classes.columns import is_listed
from propercal._data.inputs.held import Held
from propercal._data.predictions.notions import as_notion
from propercal._data.predictions.predictions import Predictions
from propercal.sketch.state import State


class Occurred(NamedTuple):
    """What labels rows had, one class each."""

    classes: frozenset[int] = frozenset()
    """Numbers of the classes."""
    of_first: float = 0.0
    """How many rows predictions let be of class 0."""

    @classmethod
    def of(cls, rows: Predictions) -> Occurred:
        """Return the classes of rows; none of yes-or-no problems."""
        if rows.classes.codes is None:
            return cls()
        with no_gradient(rows.prob):
            of_first = float(to_numpy(namespace(rows.prob).sum(rows.prob[:, 0])))
        return cls(frozenset(to_numpy(rows.label).tolist()), of_first)

    def plus(self, other: Occurred) -> Occurred:
        """Return those of both."""
        # A stream adds rows one by one: there may be many classes.
        same = other.classes <= self.classes
        classes = self.classes if same else self.classes | other.classes
        return Occurred(classes, self.of_first + other.of_first)

    def written(self) -> list[list[int] | float]:
        """Return what :meth:`restored` reads."""
        return [sorted(self.classes), self.of_first]

    @classmethod
    def restored(cls, written: object, n_classes: int) -> Occurred | None:
        """Return what was written, None if it is none of so many classes."""
        if type(written) is not list or len(written) != 2 or type(written[0]) is not list:
            return None
        numbers, of_first = written
        known = are_numbers_of_classes(numbers, n_classes)
        if not known or type(of_first) not in (int, float):
            return None
        if not (math.isfinite(of_first) and of_first >= 0):
            return None
        return cls(frozenset(numbers), float(of_first))


def are_numbers_of_classes(written: list[Any], n_classes: int) -> bool:
    """Tell whether these are numbers of some of so many classes, in ascending order."""
    whole = all(type(each) is int and 0 <= each < n_classes for each in written)
    return whole and written == sorted(set(written))


def ruled_out(
    before: frozenset[int] | None, rows: Predictions, columns: Sequence[Any] | None, labels: Held
) -> frozenset[int]:
    """Return which columns are 0 in rows and in all those before; None says that there are none.

    One that the type of labels lists is not among them, and none of separate problems is.
    """
    if rows.multilabel:
        return frozenset()
    some = sorted(range(rows.n_classes) if before is None else before)
    if not some:
        return frozenset()
    with no_gradient(rows.prob):
        xp = namespace(rows.prob)
        part = xp.take(rows.prob, like(np.array(some), rows.prob), axis=1)
        empty = to_numpy(~xp.any(part != 0, axis=0)).tolist()
    found = [i for i, is_empty in zip(some, empty, strict=True) if is_empty]
    return frozenset(i for i in found if columns is None or not is_listed(columns[i], labels))


def ruled_out_by_both(
    mine: frozenset[int] | None, other: frozenset[int] | None
) -> frozenset[int] | None:
    """Return those of two streams, of which either may have no rows."""
    if mine is None or other is None:
        return other if mine is None else mine
    return mine & other


def tables_tell(notion: str) -> bool:
    """Tell whether the tables of a notion have rows by class."""
    how = as_notion(notion)
    return how.per_class or how.whole


def occurred(state: State, notion: str, seen: Occurred) -> Occurred:
    """Return the classes that occurred, by the tables or by what was `seen`."""
    if not tables_tell(notion):
        return seen
    table = state.tables[0]
    if as_notion(notion).per_class:
        classes = {i for i, each in enumerate(state.tables) if each.counts[1]}
        sign = 1
    else:
        # Of two classes; others have no sketch of this notion.
        classes = {i for i, count in enumerate(table.counts) if count}
        sign = -1
    rows, prob = table.size.sum(axis=(1, 2)), np.exp(-np.logaddexp(0, -sign * table.nodes))
    return Occurred(frozenset(classes), float(np.sum(rows * prob)))
