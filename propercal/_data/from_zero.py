"""Labels from 1 on, read as numbers of columns from 0: a warning where class 0 is missed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from propercal._data.messages import warn
from propercal._data.other_words import spelt_as_counted
from propercal._data.tokens import numberings

#: Rows of class 0, by their predictions, that are hardly ever all missing by chance (e⁻⁷).
_MANY = 7.0


def are_in_doubt(occurring: set[int], n_classes: int) -> bool:
    """Tell whether all classes but the first occur, which may be counted from 1."""
    return occurring == set(range(1, n_classes))


def are_numbered_from_0(columns: Sequence[Any] | None) -> bool:
    """Tell whether names of columns say in numbers that the first is class 0."""
    names = columns or ()
    return any(
        numbers[0] == 0 and all(each in (None, i) for i, each in enumerate(numbers))
        for numbers in (*numberings(names), *spelt_as_counted(names))
    )


def warn_of_no_zero(expected: float, n_classes: int, labels: str, proba: str) -> None:
    """Say how labels were read if predictions let `expected` rows be of class 0, and none is."""
    if expected < _MANY:
        return
    found = "1" if n_classes == 2 else f"1 to {n_classes - 1}"
    warn(
        f"{labels} holds {found} and no 0: read as numbers of columns, counted from "
        f"0, though {proba} lets {expected:.0f} rows be of class 0. Pass "
        f"labels=list(range(1, {n_classes + 1})) if classes are counted from 1, and "
        f"labels=list(range({n_classes})) if no row is of class 0."
    )
