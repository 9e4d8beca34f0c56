"""Columns that no flag names: where two files have one in another order, their rows are in two."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

from propercal._data.rows.indexes import row_key
from propercal._files.formats import Npz
from propercal._files.prediction_file import SCORE_KEYS, PredictionFile
from propercal._files.values import text_of

#: Arrays that are read, and names of those that number rows of each model in an order of its own.
_READ = {"labels", *SCORE_KEYS}
_RANKS = re.compile("rank|order|sort|quantile|percentile|pct|decile|bin|fold", re.IGNORECASE)

Columns = Mapping[str, Callable[[], list[Any]]]


def check_left_out(first: PredictionFile, other: PredictionFile) -> None:
    """Raise where what one name has in two files is of the same rows, in another order.

    What tells rows apart may have two names, but for numbers that count some.
    """
    with left_out(first) as one, left_out(other) as two:
        mine, its = ({name: _names(own[name]()) for name in own} for own in (one, two))
    for name, values in mine.items():
        if name in its:
            _check_order(first, other, (name, name), values, its[name])
            continue
        for theirs in its if values is not None and _tell_apart(values) else ():
            if theirs not in mine:
                _check_order(first, other, (name, theirs), values, its[theirs])


def _check_order(
    first: PredictionFile,
    other: PredictionFile,
    names: tuple[str, str],
    mine: list[Any] | None,
    its: list[Any] | None,
) -> None:
    """Raise where columns of these names have the same values in another order."""
    if any(map(_RANKS.search, names)) or mine is None or its is None:
        return
    if mine == its or Counter(mine) != Counter(its):
        return
    what = "array" if other.path.suffix.lower() == ".npz" else "column"
    of = "that" if names[0] == names[1] else f"{names[0]!r}"
    fix = "sort both files alike"
    if len(set(mine)) == len(mine):
        same = "" if names[0] == names[1] else "give both one name, and "
        fix = f"{same}name it by id_column (--id-column on the command line) if it tells rows apart"
    raise ValueError(
        f"{other.path}: {what} {names[1]!r} has the values of {of} in {first.path} in another "
        f"order: expected rows in one order; {fix}, or rename or remove it."
    )


def _tell_apart(values: list[Any]) -> bool:
    """Tell whether values differ from row to row, and are no numbers that count rows."""
    if len(set(values)) < len(values):
        return False
    numbers = [int(each) for each in map(str, values) if each.isdecimal()]
    return len(numbers) < len(values) or max(numbers) - min(numbers) >= len(numbers)


@contextmanager
def left_out(data: PredictionFile) -> Iterator[Columns]:
    """Give functions of the columns that are left out, which an archive reads as it is asked."""
    n = len(data.y_proba)
    if data.path.suffix.lower() != ".npz":
        yield {name: partial(list, values) for name, values in data.others.items()}
        return
    with Npz(data.path) as archive:
        described = {each: archive.described(each) for each in archive.names if each not in _READ}
        yield {
            name: partial(_of_array, archive, name)
            for name, found in described.items()
            if found is not None and found[0] in ((n,), (n, 1)) and found[1].kind in "biufSUM"
        }


def _of_array(archive: Npz, name: str) -> list[Any]:
    array = archive.text(name).ravel()
    found: list[Any] = (array.astype(str) if array.dtype.kind == "M" else array).tolist()
    return found


def _names(values: list[Any]) -> list[Any] | None:
    """Return what values have in common that are equal; None if these tell few rows apart."""
    found = []
    for value in values:
        text = text_of(value) if not isinstance(value, list | dict) else ""
        if not text:
            return None
        found.append(row_key(text))
    return found if 2 * len(set(found)) >= len(found) else None


def listed_left_out(data: PredictionFile) -> dict[str, list[Any]]:
    """Return the columns that are left out, by their names."""
    with left_out(data) as columns:
        return {name: each() for name, each in columns.items()}
