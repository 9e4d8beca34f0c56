"""Columns that no flag names: where two files have one in another order, their rows are in two."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

from propercal._data.rows.indexes import row_key
from propercal._files.columns import text_of
from propercal._files.formats import Npz
from propercal._files.prediction_file import SCORE_KEYS, PredictionFile

#: Arrays that are read, and names of those that number rows of each model in an order of its own.
_READ = {"labels", *SCORE_KEYS}
_RANKS = re.compile("rank|order|sort", re.IGNORECASE)
#: A number with a fraction, which is no name of a row.
_FRACTION = re.compile(r"[-+]?\d*\.\d*[1-9]\d*(?:[eE][-+]?\d+)?|[-+]?[\d.]+[eE][-+]?\d+")

_Columns = Mapping[str, Callable[[], list[Any] | None]]


def check_left_out(first: PredictionFile, other: PredictionFile) -> None:
    """Raise where what one name has in two files tells rows apart, in another order."""
    with _left_out(first) as one, _left_out(other) as two:
        for name in one:
            if name not in two or _RANKS.search(name):
                continue
            own = one[name]()
            its = None if own is None else two[name]()
            if own is None or its is None or own == its or set(own) != set(its):
                continue
            what = "array" if other.path.suffix.lower() == ".npz" else "column"
            raise ValueError(
                f"{other.path}: {what} {name!r} has the values of that in {first.path} in "
                "another order: expected rows in one order; name it by id_column (--id-column "
                "on the command line) if it tells rows apart, or rename or remove it."
            )


@contextmanager
def _left_out(data: PredictionFile) -> Iterator[_Columns]:
    """Give functions of what is left out, which an archive reads as it is asked for."""
    n = len(data.y_proba)
    if data.path.suffix.lower() != ".npz":
        yield {name: partial(_names, values) for name, values in data.others.items()}
        return
    with Npz(data.path) as archive:
        names = [each for each in archive.names if each not in _READ]
        described = {name: archive.described(name) for name in names}
        yield {
            name: partial(_of_array, archive, name)
            for name, found in described.items()
            if found is not None and found[0] == (n,) and found[1].kind in "iuSUM"
        }


def _of_array(archive: Npz, name: str) -> list[Any] | None:
    array = archive.text(name)
    return _names((array.astype(str) if array.dtype.kind == "M" else array).tolist())


def _names(values: Any) -> list[Any] | None:
    """Return what names of rows have in common that are equal; None if these are none."""
    found = []
    for value in values:
        text = text_of(value) if not isinstance(value, list | dict) else ""
        if not text or _FRACTION.fullmatch(text):
            return None
        found.append(row_key(text))
    return found if len(set(found)) == len(found) else None
