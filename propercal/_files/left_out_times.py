"""Times of rows in columns that no flag names: whether rows stand in their order."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from propercal._data.classes.columns import numbers_rows
from propercal._data.rows.indexes import some_of
from propercal._data.rows.times import (
    are_shuffled,
    count_down,
    fall,
    is_ordered,
    kept,
    newest_first,
    share_late,
)
from propercal._data.words.messages import warn
from propercal._files.left_out import left_out
from propercal._files.prediction_file import PredictionFile
from propercal._files.values import text_of, values_of

if TYPE_CHECKING:
    import pandas as pd

#: Names that the times of rows have, with nothing beside that could be of another time.
_OF_ROWS = re.compile(r"time|time[\W_]?stamps?|dates?|date[\W_]?times?|ts", re.IGNORECASE)

Times = tuple[Any, Any]


def check_blocks(blocks: object, data: PredictionFile) -> None:
    """Raise where the times of rows, which are left out, say that these are in no order."""
    with left_out(data) as columns:
        for name in columns:
            if not _OF_ROWS.fullmatch(name):
                continue
            index = _index(name, columns[name]())
            if is_ordered(index) is False:
                raise ValueError(
                    f"{data.path}: blocks = {blocks!r} beside rows whose {name!r}, which is left "
                    f"out, is {some_of(index)}: expected the order of the series, whose neighbours "
                    "depend on each other; sort the file by time, or rename or remove that column "
                    "if it says nothing of their order."
                )


def times_left_out(path: Path, columns: Mapping[str, Any]) -> Times | None:
    """Return the first and the last time of rows of a stream, where a column says them, or raise.

    Newest rows that come first are refused, whatever column of times says so, or number of rows,
    and those in no order where it has a name of the times of rows. Some that come late are told.
    """
    found = []
    for name, values in columns.items():
        index = _index(name, values)
        if (numbers_rows(name) and fall(index)) or count_down(index):
            raise ValueError(
                f"{path}: column {name!r}, which is left out, counts rows down from {index[0]} to "
                f"{index[-1]}: expected rows in the order of time; sort them, or remove that "
                "column if it says nothing of their order."
            )
        if newest_first(index):
            raise ValueError(
                f"{path}: column {name!r}, which is left out, goes back in time from "
                f"{index[0]} to {index[-1]}: expected rows in the order of time; sort them, or "
                "remove that column if it says nothing of their order."
            )
        if not _OF_ROWS.fullmatch(name):
            continue
        if are_shuffled(index):
            raise ValueError(
                f"{path}: column {name!r}, which is left out, is {some_of(index)}: expected rows "
                "in the order of time; sort them, or rename or remove that column if it says "
                "nothing of their order."
            )
        if share_late(index):
            warn(
                f"{path}: column {name!r}, which is left out, goes back in some rows, which are "
                "taken in the order of the file, as if they came late. Sort the file by it if they "
                "did not."
            )
        times = kept(index)
        found += [] if times is None or not len(times) else [(times[0], times[-1])]
    return found[0] if len(found) == 1 else None


def _index(name: str, values: Any) -> pd.Index[Any]:
    """Return values as an index, whole numbers that are written as text as numbers."""
    import pandas as pd

    # Of lists and objects of JSON a series is no table.
    index: pd.Index[Any] = pd.Index(pd.Series(values), name=name)
    if index.inferred_type != "string":
        return index
    texts = [text_of(each) for each in index]
    numbers = values_of(texts)
    return pd.Index(texts if numbers.dtype.kind == "U" else numbers.tolist(), name=name)
