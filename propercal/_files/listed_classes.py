"""Lists of classes beside lists of numbers, in objects of JSON: they name the numbers of each line.

A list of another name is left out; where it has the classes in another order than they are read in,
it may be that of the numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from propercal._data.classes.columns import keys
from propercal._files.class_names import KEYS, are_numbers
from propercal._files.columns import Columns
from propercal._files.names import listed

if TYPE_CHECKING:
    import pandas as pd

_Lists = list[list[str]]


class Named(NamedTuple):
    """A table of objects whose lists of numbers stand in the order of classes."""

    table: pd.DataFrame
    """Without the lists that name them."""
    names: tuple[str, ...]
    """The classes of the numbers; empty where the file does not say them."""


def with_classes(
    path: Path, table: pd.DataFrame, key: str, columns: Columns, labels: Sequence[str]
) -> Named:
    """Return a table under the classes that its lines list, or raise where these contradict.

    `key` is the column of lists of numbers.
    """
    found = {
        name: lists
        for name in table.columns
        if name != key and (lists := _lists_of(table[name], table[key])) is not None
    }
    own = [name for name in found if name in KEYS and name not in columns.drop]
    given = keys(columns.classes)
    labels = [each for each in labels if each]
    if are_numbers(given) and own and not are_numbers(keys(found[own[0]][0])):
        # What labels call the numbers, whatever the file does.
        table, own = table.drop(columns=own), []
    for name in own:
        if keys(found[name][0]) != (given or keys(found[own[0]][0])):
            raise ValueError(
                f"{path}: {name!r} lists the classes as {listed(found[name][0])}: expected "
                f"{listed(given or found[own[0]][0])}, as "
                f"{'classes (--class on the command line)' if given else repr(own[0])} has them; "
                "leave out what is wrong."
            )
        table = _in_one_order(path, table, key, name, found[name], labels)
    names = tuple(found[own[0]][0]) if own else ()
    order = names or columns.classes or tuple(sorted(set(labels)))
    for name, lists in found.items():
        if name not in own:
            _check_other(path, name, lists, order, labels, table[key])
    return Named(table.drop(columns=own), names)


def _lists_of(values: Any, numbers: Any) -> _Lists | None:
    """Return lists of as many different words or whole numbers as there are numbers, if all are."""
    found = []
    for row, beside in zip(values, numbers, strict=True):
        if not isinstance(row, list) or not isinstance(beside, list) or len(row) != len(beside):
            return None
        if len(row) < 2 or not all(type(each) in (str, int) for each in row):
            return None
        found.append([str(each).strip() for each in row])
    return found if all(len(set(keys(row))) == len(row) for row in found) else None


def _in_one_order(
    path: Path, table: pd.DataFrame, key: str, name: str, lists: _Lists, labels: Sequence[str]
) -> pd.DataFrame:
    """Return numbers in the order of the first line, where labels are classes, or raise."""
    first = lists[0]
    if all(row == first for row in lists):
        return table
    if are_numbers(labels) or any(set(row) != set(first) for row in lists):
        raise ValueError(
            f"{path}: {name!r} differs from line to line: expected the classes in the order of the "
            "numbers, the same in each; sort the numbers of all lines alike, or write the name of "
            "a class as each label."
        )
    rows = [
        [numbers[row.index(each)] for each in first]
        for row, numbers in zip(lists, table[key], strict=True)
    ]
    return table.assign(**{key: np.fromiter(rows, dtype=object, count=len(rows))})


def _check_other(
    path: Path,
    name: str,
    lists: _Lists,
    order: Sequence[str],
    labels: Sequence[str],
    numbers: Any,
) -> None:
    """Raise where lists of another name have the classes that occur in another order than is read.

    They may rank the classes of each line.
    """
    known = keys(order)
    rows = [keys(row) for row in lists]
    of_classes = set(keys(labels)) <= set(known) and all(set(row) == set(known) for row in rows)
    if not of_classes or all(row == known for row in rows) or are_numbers(labels):
        return
    if any(row != rows[0] for row in rows) and _are_ranks(rows, known, numbers):
        return
    odd = next(row for row in lists if keys(row) != known)
    fix = (
        "do not name it with drop (--drop on the command line)"
        if name in KEYS
        else "call it 'classes'"
    )
    raise ValueError(
        f"{path}: {name!r} lists the classes as {listed(odd)}, and numbers are read as "
        f"{listed(order)}: expected the same order, or to read that one; {fix} if it is that of "
        "the numbers of its line, or remove it."
    )


def _are_ranks(rows: Sequence[Sequence[Any]], known: Sequence[Any], numbers: Any) -> bool:
    """Tell whether lists have the classes from the most to the least probable, as are read."""
    for row, values in zip(rows, numbers, strict=True):
        of = dict(zip(known, values, strict=True))
        ranked = [of[each] for each in row]
        if ranked != sorted(ranked, reverse=True):
            return False
    return True
