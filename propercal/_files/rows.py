"""Which row of a file is which of another, and whether rows stand in the order of a series.

A column of ids tells rows apart, and so does the index that pandas writes along with a table.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from propercal._data import blocks as series
from propercal._data.columns import keys
from propercal._data.holders import Held, is_default
from propercal._data.layout import USUAL_LAYOUT
from propercal._data.reading import USUAL_NAMES
from propercal._data.rows import in_order_of, order_of
from propercal._data.times import times_of
from propercal._files.columns import text_of
from propercal._files.formats import Npz
from propercal._files.names import advising, listed
from propercal._files.prediction_file import SCORE_KEYS, PredictionFile

if TYPE_CHECKING:
    import pandas as pd

Order = npt.NDArray[np.intp]

#: Arrays that are read, and names of those that number rows of each model in an order of its own.
_READ = {"labels", *SCORE_KEYS}
_RANKS = re.compile("rank|order|sort", re.IGNORECASE)


class Paired(NamedTuple):
    """Rows of another file as those of the first."""

    order: Order
    """Where each row of the first is in the other."""
    by: Literal["ids", "index", "order"]
    """What says so."""


def index_of(data: PredictionFile) -> pd.Index[Any] | None:
    """Return the index of a file, None where it says nothing."""
    return None if data.rows is None or is_default(data.rows) else data.rows


def paired(first: PredictionFile, other: PredictionFile) -> Paired:
    """Match the rows of two files, or raise."""
    if first.ids is not None and other.ids is not None:
        return Paired(_by_ids(first, other), "ids")
    n, m = len(first.y_proba), len(other.y_proba)
    if n != m:
        raise ValueError(
            f"{other.path}: {m} rows, and {n} in {first.path}: expected the same rows; name a "
            "column that tells them apart by id_column (--id-column on the command line)."
        )
    if first.ids is None and other.ids is None:
        order = _by_index(first, other)
        both = index_of(first) is not None and index_of(other) is not None
        _check_arrays(first, other)
        return Paired(order, "index" if both else "order")
    own, its = _texts(first), _texts(other)
    # Other names than the ids are of something else, such as of the table that rows are from.
    found = None if own is None or its is None else order_of(its, own)
    return Paired(np.arange(n), "order") if found is None else Paired(found, "index")


def _texts(data: PredictionFile) -> pd.Index[Any] | None:
    """Return ids, or an index of one level, as text; None where there is neither."""
    import pandas as pd

    index = index_of(data)
    if data.ids is None and (index is None or index.nlevels > 1):
        return None
    texts = [*map(text_of, index)] if data.ids is None else data.ids.tolist()  # type: ignore[arg-type]
    # A number is its digits, as elsewhere.
    found: pd.Index[Any] = pd.Index(keys(texts), dtype=object)
    return found


def _by_index(first: PredictionFile, other: PredictionFile) -> Order:
    own, its = (
        Held(np.arange(len(each.y_proba)), rows=index_of(each), counted=_is_counted(each))
        for each in (first, other)
    )
    advice = (
        "keep the rows that both have, or leave the index out of both (index=False) if rows stand "
        "in one order."
    )
    with advising(other.path, advice):
        order = in_order_of(its, own, "index", str(first.path)).order
    return np.arange(len(other.y_proba)) if order is None else order


def _check_arrays(first: PredictionFile, other: PredictionFile) -> None:
    """Raise where arrays of one name in two archives tell rows apart, in another order."""
    if any(each.path.suffix.lower() != ".npz" for each in (first, other)):
        return
    with Npz(first.path) as one, Npz(other.path) as two:
        for name in one.names:
            kinds = [each.described(name) for each in (one, two)]
            if (
                name in _READ
                or _RANKS.search(name)
                or any(not _may_be_ids(x, first) for x in kinds)
            ):
                continue
            own, its = one.array(name), two.array(name)
            same = np.array_equal(np.sort(own), np.sort(its)) and len(np.unique(own)) == len(own)
            if same and not np.array_equal(own, its):
                raise ValueError(
                    f"{other.path}: array {name!r} has the values of that in {first.path} in "
                    "another order: expected rows in one order; name it by id_column (--id-column "
                    "on the command line) if it tells rows apart, or rename or remove it."
                )


def _may_be_ids(described: Any, first: PredictionFile) -> bool:
    """Tell whether an array of this shape and type may tell rows apart."""
    shape, dtype = described or ((), None)
    return dtype is not None and shape == (len(first.y_proba),) and dtype.kind in "iuSUM"


def _is_counted(data: PredictionFile) -> bool:
    return data.rows is not None and is_default(data.rows)


def _ids_of(data: PredictionFile) -> list[str]:
    """Return ids, whole numbers in one form: a table in which some are missing has them as 7.0."""
    assert data.ids is not None  # noqa: S101  # who asks has some
    ids: list[str] = data.ids.tolist()
    numbers = keys(ids)
    # Of versions, such as 1 and 1.0, both forms may be there.
    return numbers if len(set(numbers)) == len(set(ids)) else ids


def _by_ids(first: PredictionFile, other: PredictionFile) -> Order:
    place: dict[str, int] = {}
    for data in (first, other):
        ids = _ids_of(data)
        place = {each: row for row, each in enumerate(ids)}
        if len(place) < len(ids):
            seen: set[str] = set()
            twice = sorted({x for x in ids if x in seen or seen.add(x)})  # type: ignore[func-returns-value]
            raise ValueError(
                f"{data.path}: ids {listed(twice, most=3)} occur more than once: expected one row "
                "each; remove the others, or name another column."
            )
    mine = _ids_of(first)
    missing = [each for each in mine if each not in place]
    if missing or len(mine) != len(place):
        extra = sorted(set(place) - set(mine))
        where, which = (other.path, missing) if missing else (first.path, extra)
        raise ValueError(
            f"{other.path}: ids {listed(which, most=3)} are not in {where}: expected the same rows "
            f"as in {first.path}; keep those that both have."
        )
    return np.array([place[each] for each in mine], dtype=np.intp)


def check_series(
    blocks: object, first: PredictionFile, other: PredictionFile | None = None
) -> None:
    """Raise if there are blocks, and rows are known not to stand in the order of one series.

    Rows of `other` are brought into the order of the first.
    """
    files = (first,) if other is None else (first, other)
    indexes = [index_of(each) for each in files]
    ids = [_ids_of(each) for each in files if each.ids is not None]
    if blocks is None or not (ids or any(each is not None for each in indexes)):
        return
    import pandas as pd

    if len(ids) == len(files):
        by_ids = [pd.Index(each) for each in ids]
        # Ids are in any order, unless they are times, or say an order that rows are brought into.
        if times_of(by_ids[0]) or not by_ids[0].equals(by_ids[-1]):
            indexes = list(by_ids)
    if any(each is None for each in indexes):
        return
    own, its = indexes[0], indexes[-1]
    zeros = np.zeros(len(first.y_proba))
    proba = pd.DataFrame({"a": zeros, "b": zeros}, index=own)
    advice = (
        "sort the file by time, or leave its index and its ids out if rows are in order "
        "(index=False, drop)."
    )
    with advising(first.path, advice):
        series.check_series(blocks, pd.Series(zeros, index=its), proba, USUAL_LAYOUT, USUAL_NAMES)
