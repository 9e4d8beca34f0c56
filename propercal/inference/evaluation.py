"""Quadratic forms on all label sets: each set is made, reduced to statistics, and dropped."""

from __future__ import annotations

from collections.abc import Callable
from operator import iadd
from typing import Any

import numpy as np
import numpy.typing as npt

from propercal._array import is_numpy, slices, to_numpy
from propercal._progress import steps
from propercal._threads import map_threads
from propercal._typing import Array
from propercal.inference.label_sets import LabelSets
from propercal.inference.label_sums import LabelSums
from propercal.inference.quadratic_forms import QuadraticForms
from propercal.inference.residuals import Rows, Sums, Table

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.integer[Any]]

#: Labels of a block of sets, and how many sets it has at least and at most.
_BLOCK_SIZE, _FEWEST, _MOST = 2**21, 64, 1024
#: Fewer where rows, rather than points of a table, are multiplied with all features.
MOST_OF_ROWS = 128
#: Labels, or residuals, that are looked at together, few enough for the processor's cache.
_TILE = 2**17
#: From how many classes on the one that occurred is looked up, rather than the residuals of all.
_MANY_CLASSES = 24
#: Rows whose residuals are multiplied at a time on other devices, times sets.
_TILE_ELSEWHERE = 2**24
#: Sums by point of a block of sets, and the least number of sets whose sums are multiplied at once.
_SUMS, _FEWEST_MULTIPLIED = 2**22, 64

Evaluation = Callable[[Integers], Array]
"""From labels (sets, n) to forms (names, sets)."""


def on_all_sets(sets: LabelSets, evaluate: Evaluation, reference: Array, most: int) -> Floats:
    """Return the forms (names, 1 + B) of all sets, computed where `reference` is.

    `most` is the largest number of sets at a time.
    """
    step = min(_MOST, most, max(_FEWEST, _BLOCK_SIZE // sets.n_samples))
    blocks = slices(len(sets), step)

    def one_block(block: slice) -> Floats:
        return to_numpy(evaluate(sets.classes(block)))

    if is_numpy(reference):
        parts = map_threads(one_block, blocks)
    else:
        parts = [one_block(block) for block in steps(blocks)]
    return np.concatenate(parts, axis=1)


def rows_evaluation(rows: Rows, forms: QuadraticForms, of_class: Floats | None) -> Evaluation:
    """Return forms of several classes; labels weigh `of_class` (k,) beside their rows."""
    on_host = is_numpy(rows.at.count)
    size = _TILE if on_host else _TILE_ELSEWHERE
    sums = None
    if on_host and of_class is None and len(forms.columns) >= _MANY_CLASSES:
        sums = LabelSums(rows, forms)

    def add(label: Integers, part: slice) -> list[Any]:
        if sums is not None:
            return sums.add(label, part)
        factor = None if of_class is None else of_class[label]
        return forms.statistics(rows.residuals(label, factor, part), part)

    def evaluate(label: Integers) -> Array:
        parts = slices(label.shape[1], max(1, size // label.shape[0]))
        total = add(label[:, parts[0]], parts[0])
        for part in parts[1:]:
            total = list(map(iadd, total, add(label[:, part], part)))
        return forms.combine(total if sums is None else sums.statistics(total))

    return evaluate


class WeighedTables:
    """Tables whose events are classes of one label set, and labels that weigh `of_class` (k,).

    Every row has a residual of its own weight in every table.
    """

    def __init__(self, of_class: Floats) -> None:
        self._of_class = of_class
        self._tables: list[tuple[Table, QuadraticForms, int | Integers]] = []

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the forms."""
        return self._tables[-1][1].names

    #: Largest number of sets at a time.
    most = _MOST

    def add(self, table: Table, forms: QuadraticForms, event: int | Integers) -> None:
        """Take a table, whose event is one class, or one for each row."""
        self._tables.append((table, forms, event))

    def __call__(self, label: Integers) -> Array:
        """Return the sums of the forms of all tables."""
        factor = self._of_class[label]
        total: Any = 0.0
        for table, forms, event in self._tables:
            total = total + forms(table.residuals(label == event, factor))
        return total


class CountedTables:
    """Tables whose events are classes of one label set: a row counts in that of its class only."""

    def __init__(self, n_samples: int, n_classes: int) -> None:
        # Sums by point lie one after the other; number 0 is of classes that are no event.
        self._place = np.zeros((n_samples, n_classes), dtype=np.int32)
        self._first = np.arange(n_samples) * n_classes
        self._weight: Floats | None = None
        self._tables: list[tuple[Sums, QuadraticForms]] = []
        self._ends = [0]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the forms."""
        return self._tables[-1][1].names

    def add(self, table: Table, forms: QuadraticForms, event: int | Integers) -> None:
        """Take a table, whose event is one class, or one for each row."""
        self._place[np.arange(len(self._place)), event] = self._ends[-1] + 1 + table.number
        self._weight = table.weight
        self._ends.append(self._ends[-1] + table.sums.size)
        self._tables.append((table.sums, forms))

    @property
    def most(self) -> int:
        """Largest number of sets at a time, so that sums of all tables fit."""
        return max(_FEWEST_MULTIPLIED, _SUMS // self._ends[-1])

    def __call__(self, label: Integers) -> Array:
        """Return the sums of the forms of all tables."""
        total: Any = 0.0
        first = 0
        while first < len(self._tables):
            last = first + 1
            start = self._ends[first]
            while last < len(self._tables) and (
                (self._ends[last + 1] - start) * len(label) <= _SUMS
            ):
                last += 1
            counts = self._sums(label, start, self._ends[last])
            for i in range(first, last):
                own = slice(self._ends[i] - start, self._ends[i + 1] - start)
                sums, forms = self._tables[i]
                total = total + forms([sums.residuals(*(each[:, own] for each in counts))])
            first = last
        return total

    def _sums(self, label: Integers, start: int, end: int) -> tuple[Floats, Floats]:
        """Return sums of w and of w² by point, from one number to another: (sets, end − start)."""
        size, n = end - start, label.shape[1]
        powers = [None] if self._weight is None else [self._weight, self._weight**2]
        found: list[Any] = [np.empty((len(label), size)) for _ in powers]
        place = self._place.ravel()
        for block in slices(len(label), max(1, _TILE // n)):
            at = place[self._first + label[block]]
            if size < self._ends[-1]:
                at = np.where((at > start) & (at <= end), at - start, 0)
            count = len(at)
            at = (at + np.arange(count)[:, None] * (size + 1)).ravel()
            for weight, sums in zip(powers, found, strict=True):
                tiled = None if weight is None else np.tile(weight, count)
                totals = np.bincount(at, tiled, count * (size + 1))
                sums[block] = totals.reshape(count, size + 1)[:, 1:]
        return found[0], found[-1]
