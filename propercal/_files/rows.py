"""Which row of a file is which of another, and whether rows stand in the order of a series.

A column of ids tells rows apart, and so does the index that pandas writes along with a table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from propercal._data.classes.columns import keys
from propercal._data.dependence import blocks as series
from propercal._data.inputs.held import Held
from propercal._data.inputs.holders import is_default
from propercal._data.inputs.reading import USUAL_NAMES
from propercal._data.rows.indexes import order_of, row_key
from propercal._data.rows.layout import USUAL_LAYOUT
from propercal._data.rows.rows import in_order_of, row_numbers
from propercal._data.rows.times import times_of
from propercal._data.words.advice import known_of
from propercal._files.left_out import check_left_out
from propercal._files.left_out_times import check_blocks
from propercal._files.names import advising, listed
from propercal._files.prediction_file import PredictionFile
from propercal._files.row_columns import row_names
from propercal._files.values import text_of

if TYPE_CHECKING:
    import pandas as pd

Order = npt.NDArray[np.intp]


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
    import pandas as pd

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
        if not both:
            check_left_out(first, other)
        return Paired(order, "index" if both else "order")
    own, its = _texts(first), _texts(other)
    # Other names than the ids are of something else, such as of the table that rows are from.
    if own is not None and its is not None:
        own, its = _written_alike(own, its)
        found = order_of(pd.Index(its, dtype=object), pd.Index(own, dtype=object))
        if found is not None:
            return Paired(found, "index")
    check_left_out(first, other)
    return Paired(np.arange(n), "order")


def _texts(data: PredictionFile) -> list[Any] | None:
    """Return ids, or an index of one level, as text; None where there is neither."""
    index = index_of(data)
    if data.ids is None and (index is None or index.nlevels > 1):
        return None
    texts = [*map(text_of, index)] if data.ids is None else data.ids.tolist()  # type: ignore[arg-type]
    # A number is its digits, as elsewhere.
    return keys(texts)


def _written_alike(*files: list[Any]) -> list[list[Any]]:
    """Return ids of two files, in one form where that matches them: of numbers and of times."""
    if len({frozenset(ids) for ids in files}) == 1:
        return list(files)
    found = [[_loosely(each) for each in ids] for ids in files]
    are_same = set(found[0]) == set(found[1])
    once = all(len(set(ids)) == len(ids) for ids in (*files, *found))
    return found if are_same and once else list(files)


def _loosely(name: Any) -> Any:
    """Return what ids have in common that are one number, or one time, whatever its zone."""
    try:
        time = datetime.fromisoformat(name) if isinstance(name, str) and "-" in name else None
    except ValueError:
        time = None
    if time is None:
        return row_key(name)
    return (time if time.tzinfo is None else time.astimezone(UTC)).isoformat()


def _by_index(first: PredictionFile, other: PredictionFile) -> Order:
    own, its = (
        Held(
            np.arange(len(each.y_proba)),
            rows=index_of(each),
            counted=_is_counted(each),
            counted_as=each.rows.name if _is_counted(each) and each.rows is not None else None,
        )
        for each in (first, other)
    )
    advice = (
        "keep the rows that both have, or leave the index out of both (index=False) if rows stand "
        "in one order."
    )
    with advising(other.path, advice):
        order = in_order_of(its, own, "index", str(first.path)).order
    return np.arange(len(other.y_proba)) if order is None else order


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
    for data in (first, other):
        twice = _repeated(_ids_of(data))
        if twice:
            raise ValueError(
                f"{data.path}: ids {listed(twice, most=3)} occur more than once: expected one row "
                "each; remove the others, or name another column."
            )
    mine, its = _written_alike(_ids_of(first), _ids_of(other))
    place = {each: row for row, each in enumerate(its)}
    missing = [each for each in mine if each not in place]
    if missing or len(mine) != len(place):
        extra = sorted(set(place) - set(mine))
        where, which = (other.path, missing) if missing else (first.path, extra)
        raise ValueError(
            f"{other.path}: ids {listed(which, most=3)} are not in {where}: expected the same rows "
            f"as in {first.path}; keep those that both have."
        )
    return np.array([place[each] for each in mine], dtype=np.intp)


def _repeated(ids: Sequence[Any]) -> list[Any]:
    """Return what occurs more than once."""
    return [] if len(set(ids)) == len(ids) else [x for x, n in Counter(ids).items() if n > 1]


def check_apart(path: Path, ids: Sequence[str], groups: npt.NDArray[Any] | None = None) -> None:
    """Raise if what tells rows apart has a value twice, in rows that are not of one group.

    Several rows may be of one time.
    """
    import pandas as pd

    twice = set(_repeated(ids))
    if not twice or times_of(pd.Index(ids, dtype=object)):
        return
    of_group = range(len(ids)) if groups is None else row_names(groups)
    pairs = dict.fromkeys(pair for pair in zip(ids, of_group, strict=True) if pair[0] in twice)
    odd = _repeated([each for each, _ in pairs])
    if odd:
        raise repeated(path, odd)


def repeated(path: Path, ids: Sequence[str]) -> ValueError:
    """Build the error for values that occur again in a column that tells rows apart."""
    archive = path.suffix.lower() == ".npz"
    others = "leave id_column out" if archive else "name it by drop (--drop on the command line)"
    if known_of("group_column", "groups"):
        others = (
            "name it by group_column (--group-column on the command line) if rows of one value "
            f"depend on each other, or {others}"
        )
    return ValueError(
        f"{path}: ids {listed(ids, most=3)} occur more than once: expected one row each, as "
        f"id_column (--id-column on the command line) tells rows apart; {others}."
    )


def _have_order(ids: pd.Index[Any]) -> bool:
    """Tell whether ids are times, or whole numbers with few left out, which count rows."""
    numbers = row_numbers(ids)
    if numbers is None or not len(numbers):
        return bool(times_of(ids))
    return bool(numbers.max() - numbers.min() < 2 * len(numbers))


def check_series(
    blocks: object, first: PredictionFile, other: PredictionFile | None = None
) -> None:
    """Raise if there are blocks, and rows are known not to stand in the order of one series.

    Rows of `other` are brought into the order of the first.
    """
    _check_known(blocks, first, other)
    if blocks is not None:
        check_blocks(blocks, first)


def _check_known(blocks: object, first: PredictionFile, other: PredictionFile | None) -> None:
    """Raise if ids, or an index, say so."""
    files = (first,) if other is None else (first, other)
    indexes = [index_of(each) for each in files]
    ids = [_ids_of(each) for each in files if each.ids is not None]
    if blocks is None or not (ids or any(each is not None for each in indexes)):
        return
    import pandas as pd

    if len(ids) == len(files):
        by_ids = [pd.Index(each) for each in ids]
        # Ids are in any order, unless they are times, count rows, or say an order that rows are
        # brought into.
        if _have_order(by_ids[0]) or not by_ids[0].equals(by_ids[-1]):
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
