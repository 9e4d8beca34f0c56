"""Columns that no row of a sketch is of: labels may count from 1, or a column be of no class."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from propercal._data.classes.columns import absent, say_zeros, warn_of_absent
from propercal._data.classes.from_zero import are_in_doubt, are_numbered_from_0, warn_of_no_zero
from propercal._data.classes.one_column import OneColumn
from propercal._data.inputs.reading import USUAL_NAMES, Names
from propercal._data.words.of_choice import say_right
from propercal.sketch.convention import Convention
from propercal.sketch.occurred import Occurred, occurred
from propercal.sketch.state import State

Given = Sequence[Any]


def check_absent(
    state: State, notion: str, n_classes: int, reading: Convention, *, from_logits: bool
) -> None:
    """Warn as memory does, of rows that were so read, whose classes the caller has not listed."""
    found = occurred(state, notion, reading.occurred)
    said = False
    if not reading.single(n_classes):
        said = check_for_zero(found, n_classes, reading.classes, reading.columns)
    check_doubts(reading, n_classes, said=said)
    if reading.separate is True:
        return
    if from_logits:
        warn_of_absent(reading.columns, found.classes, USUAL_NAMES)
    else:
        check_zeros(reading.columns or (), reading.ruled_out or frozenset(), found.classes)


def check_zeros(columns: Given, ruled_out: frozenset[int], occurred: Collection[int]) -> bool:
    """Warn, and tell, as memory does of columns that are 0 in all rows and of no label."""
    odd = absent(columns, {*range(len(columns))} - (ruled_out - {*occurred}))
    say_zeros(odd, USUAL_NAMES)
    return bool(odd)


def check_doubts(
    reading: Convention,
    n_classes: int,
    *,
    said: bool,
    listed: bool = False,
    called: Names = USUAL_NAMES,
    often: bool = False,
) -> bool:
    """Warn, and tell, as memory does of predictions beside labels, unless something was said.

    `listed` says that the caller lists the classes, `often` that it is asked after each row.
    """
    if said or _check_order(reading, n_classes, called, listed=listed):
        return True
    return reading.relation is not None and reading.relation.check(called, often=often)


def _check_order(reading: Convention, n_classes: int, called: Names, *, listed: bool) -> bool:
    """Warn, and tell, as memory does of the order of columns."""
    if reading.doubts is None or reading.separate is True:
        return False
    names = reading.classes or reading.columns or list(range(n_classes))
    if reading.single(n_classes):
        name, of_labels = reading.called
        if OneColumn(None, None, name, called).is_said(of_labels):
            return False
        right = say_right(of_labels, *names)
        return reading.doubts.check_column(names, name, called, right=right)
    return reading.doubts.check(names, reading.columns, called, listed=listed)


def check_for_zero(
    found: Occurred,
    n_classes: int,
    names: Given | None,
    columns: Given | None,
    called: Names = USUAL_NAMES,
) -> bool:
    """Warn, and tell, as memory does where classes of these names are those of such columns."""
    if names is None or list(names) != list(range(n_classes)) or are_numbered_from_0(columns):
        return False
    if not are_in_doubt({*found.classes}, n_classes):
        return False
    return warn_of_no_zero(found.of_first, n_classes, called.labels, called.proba)
