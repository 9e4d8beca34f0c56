"""What a single column, and labels that are numbers, are called in all rows of a sketch.

Labels 0 and 1 do not say which class each is, and a vector may have a name that does: rows in which
it is another one would be of the other class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import Enum
from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from propercal._data.classes.columns import keys
from propercal._data.classes.one_column import OneColumn
from propercal._data.inputs.held import Held
from propercal._data.inputs.reading import USUAL_NAMES
from propercal._data.words.messages import bad_value
from propercal._data.words.opposed import are_opposed_in_parts
from propercal._data.words.tokens import is_number, said_beside


class Called(NamedTuple):
    """Names of the column of the positive class of two, and of labels that are numbers."""

    column: Any = None
    label: Any = None

    @classmethod
    def of(cls, labels: Held, proba: Held, columns: Sequence[Any] | None) -> Called:
        """Return the names that rows have; `columns` are those of two columns."""
        several = proba.values.ndim == 2 and proba.values.shape[1] > 1
        column = columns[1] if several and columns is not None and len(columns) == 2 else None
        column = column if several else proba.name
        values = labels.values
        vector = values.ndim == 1 or values.shape[1] == 1
        numbers = vector and not _has_text(values)
        return cls(as_bytes_hold(column), as_bytes_hold(labels.name if numbers else None))

    def joined(self, other: Called, positive: Any, said: bool, argument: str = "") -> Called:
        """Return what both say of two classes of which `positive` is the second, or raise.

        `said` says that the caller names the classes, of which labels are no others then.
        """
        if None not in (self.column, other.column) and not _alike(
            self.column, other.column, positive
        ):
            raise bad_value(
                argument or "y_proba",
                f"a column named {other.column!r}",
                f"the probability of {positive!r}, named {self.column!r} in rows before",
                "pass the same column in each update, or the right one without a name",
            )
        if (
            not said
            and None not in (self.label, other.label)
            and are_opposed_in_parts(self.label, other.label)
        ):
            raise bad_value(
                argument or "y_true",
                f"labels named {other.label!r}",
                f"labels of the same class as {self.label!r}, as in rows before",
                "pass labels of one name, or say pos_label=... and pass them without one",
            )
        both = Called(*(b if a is None else a for a, b in zip(self, other, strict=True)))
        if not said:
            pair = OneColumn(None, None, both.column, USUAL_NAMES)
            pair.check_labels([0, 1], both.label)
        return both


def _alike(first: Any, second: Any, positive: Any) -> bool:
    """Tell whether the second name may be that of the first column."""
    if keys([second]) in (keys([first]), keys([positive])):
        return True
    return said_beside(first, positive) == said_beside(second, positive)


def _has_text(values: Any) -> bool:
    if not isinstance(values, np.ndarray) or values.dtype.kind in "biuf":
        return False
    return not all(is_number(each) for each in values.ravel().tolist())


def under_plain_names(held: Held) -> Held:
    """Return data whose names are those that bytes can hold, such as text for several levels."""
    columns = None if held.columns is None else tuple(map(as_bytes_hold, held.columns))
    return replace(held, columns=columns, name=as_bytes_hold(held.name))


def as_bytes_hold(name: Any) -> Any:
    """Return a name as bytes can hold it."""
    if isinstance(name, Enum):
        name = name.value
    if isinstance(name, float) and not isfinite(name):
        return str(name)
    return name if name is None or isinstance(name, str | int | float) else str(name)
