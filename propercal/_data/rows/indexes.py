"""Indexes of rows beside each other: whether they say the same rows, and in which order.

Values are the same rows whatever their dtype, numbers and their digits too, and levels by their
names. So are instants, however they are written, where there is one way to read them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from propercal._data.inputs.reading import is_hashable
from propercal._data.inputs.texts import as_time
from propercal._data.rows.instants import pairs_of_instants, zone_beside_none
from propercal._data.words.tokens import key

Order = npt.NDArray[np.intp]

#: By what numbers in single precision differ from others, with some to spare.
_ROUNDING = 1e-6
#: What pandas calls an index with text, which may be that of other values.
_WRITTEN = {"string", "mixed", "mixed-integer"}


def some_of(index: Any) -> str:
    """Return the first values of an index in words."""
    values = [str(value) for value in index[:4]]
    return ", ".join(values) + (", ..." if len(index) > len(values) else "")


def decimals_alike(rows: Any, wanted: Any) -> int | None:
    """Return to how many decimals values in floating point are the same ones, each once.

    They are computed or stored otherwise, such as 0.1 + 0.2, or in single precision. They are not
    matched so, since a place of a finer grid is another one.
    """
    both = [each for each in (rows, wanted) if getattr(each, "nlevels", 1) == 1]
    kinds = [getattr(each.dtype, "kind", "") for each in both]
    if len(both) < 2 or "f" not in kinds or not {*kinds} <= {*"iuf"} or len(rows) != len(wanted):
        return None
    own, theirs = (np.sort(np.asarray(each, dtype=np.float64)) for each in both)
    if not np.allclose(own, theirs, rtol=_ROUNDING, atol=_ROUNDING):
        return None
    for decimals in range(12, -1, -1):
        a, b = (np.round(each, decimals) for each in (own, theirs))
        if np.array_equal(a, b):
            return decimals if len(np.unique(a)) == len(a) else None
    return None


def order_of(rows: Any, wanted: Any) -> Order | None:
    """Return where each of `wanted` is among `rows`; None if not each is there once."""
    if len(rows) != len(wanted):
        return None
    rows, wanted = _in_one_zone(rows, wanted)
    leveled = levels_like(rows, wanted)
    if leveled is None:
        return np.arange(len(rows)) if are_equal(rows, wanted) else None
    if are_equal(leveled, wanted):
        return np.arange(len(rows))
    if not are_unique(leveled, wanted):
        return None
    try:
        apart = any(getattr(each, "is_overlapping", False) for each in (leveled, wanted))
        apart |= not _are_of_one_type(leveled, wanted)
        order = _places(leveled, wanted) if apart else leveled.get_indexer(wanted)
    except (TypeError, ValueError):
        # Of types that pandas does not compare.
        order = _places(leveled, wanted)
    if not (order < 0).any():
        return order
    orders = _orders_as_read(leveled, wanted)
    return orders[0] if len(orders) == 1 else None


def _orders_as_read(rows: Any, wanted: Any) -> list[Order]:
    """Return each order in which values are the same ones by their digits, or as instants.

    A number and its digits are one name, and text may be a time that the other side has.
    """
    if rows.nlevels != wanted.nlevels:
        return []
    found = {}
    for pairs in product(*map(_as_read, _levels(rows), _levels(wanted))):
        own, others = (list(zip(*each, strict=True)) for each in zip(*pairs, strict=True))
        places = {name: row for row, name in enumerate(own)}
        if len(places) == len(own) and places.keys() == {*others}:
            order = np.array([places[name] for name in others], dtype=np.intp)
            found[order.tobytes()] = order
    return list(found.values())


def _levels(index: Any) -> list[Any]:
    if index.nlevels == 1:
        return [index]
    return [index.get_level_values(i) for i in range(index.nlevels)]


def _as_read(own: Any, wanted: Any) -> list[tuple[list[Any], list[Any]]]:
    """Return the values of two levels in each way in which they may be compared."""
    both = own, wanted
    if _are_of_one_type(*both) and own.inferred_type not in _WRITTEN:
        pairs: list[tuple[Any, ...]] = [both]
    else:
        names = tuple([key(_text(each)) for each in index.tolist()] for index in both)
        pairs = [names, *pairs_of_instants(*both)]
    lists = [tuple(list(each) for each in pair) for pair in pairs]
    return [(a, b) for a, b in lists if all(map(is_hashable, (*a, *b)))]


def times_apart(rows: Any, wanted: Any) -> tuple[str, str] | None:
    """Say why times of two indexes were not matched, and what to do; None if that is not why."""
    levels = [getattr(each, "nlevels", None) for each in (rows, wanted)]
    if None in levels or levels[0] != levels[1] or len(rows) != len(wanted):
        return None
    rows = levels_like(rows, wanted)
    for own, its in [] if rows is None else zip(_levels(rows), _levels(wanted), strict=True):
        zone = zone_beside_none(own, its)
        if zone is not None:
            return "of which one side alone has a time zone", (
                f"read those without one by pandas.to_datetime(...).tz_localize({str(zone)!r}), "
                "if they are of this zone"
            )
    if rows is not None and len(_orders_as_read(rows, wanted)) > 1:
        return "as times with the day first, or with the month first, both of which fit", (
            "read text by pandas.to_datetime(..., dayfirst=True), or dayfirst=False"
        )
    return None


def _in_one_zone(first: Any, second: Any) -> tuple[Any, Any]:
    """Return times of two zones in one: where summer time ends, Python compares them with none."""
    zones = [getattr(each, "tz", None) for each in (first, second)]
    if None in zones or zones[0] == zones[1]:
        return first, second
    return first.tz_convert("UTC"), second.tz_convert("UTC")


def are_equal(first: Any, second: Any) -> bool:
    """Tell whether two indexes have the same values in the same order."""
    if _are_of_one_type(first, second):
        return bool(first.equals(second))
    return bool(first.tolist() == second.tolist())


def _are_of_one_type(first: Any, second: Any) -> bool:
    """Tell whether values are of one type: of several, pandas reads text as times, its way.

    Integers of two types it may compare in floating point, which has not all of them.
    """
    own, others = (
        [getattr(each, "categories", each) for each in (x.levels if x.nlevels > 1 else [x])]
        for x in (first, second)
    )
    return [(x.dtype, x.inferred_type) for x in own] == [(x.dtype, x.inferred_type) for x in others]


def _places(rows: Any, wanted: Any) -> Order:
    try:
        places = {value: i for i, value in enumerate(rows.tolist())}
        return np.array([places.get(value, -1) for value in wanted.tolist()], dtype=np.intp)
    except TypeError:
        # Of values that are not hashable none is found.
        return np.full(len(wanted), -1)


def levels_like(rows: Any, wanted: Any) -> Any:
    """Return `rows` with its levels in the order of those of `wanted`; None if names differ."""
    names, others = list(rows.names), list(wanted.names)
    if len(names) == len(others) == 1 or names == others:
        return rows
    if None in names or len(set(names)) != len(names) or set(names) != set(others):
        return None
    return rows.reorder_levels(others)


def are_unique(*indexes: Any) -> bool:
    """Tell whether no value of any of them repeats."""
    try:
        return all(each.is_unique for each in indexes)
    except TypeError:
        # Lists in an index are not hashable.
        return False


def in_place(order: Order) -> bool:
    """Tell whether rows stand in their order."""
    return bool(np.array_equal(order, np.arange(len(order))))


def agree(own: Any, wanted: Any, *, same_name: bool = False) -> bool:
    """Tell whether an index does not say another order of the same rows.

    Values that repeat may have that in common by chance, unless both have the `same_name`.
    """
    if are_equal(own, wanted):
        return True
    own, wanted = own.tolist(), wanted.tolist()
    try:
        counted = Counter(own)
        if counted != Counter(wanted):
            own, wanted = ([row_key(each) for each in values] for values in (own, wanted))
            counted = Counter(own)
        if counted != Counter(wanted):
            return True
    except TypeError:
        # Lists in an index are not hashable.
        return True
    return own == wanted or not (same_name or len(counted) == len(own))


def _text(value: Any) -> Any:
    """Return bytes, as HDF5 has them, as the text that they are."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def row_key(value: Any) -> Any:
    """Return what values have in common that stand for the same row, such as 7, "7" and "007".

    Times are those of the clock, whatever the zone, from the year on if they are text.
    """
    value = _text(value)
    time = as_time(value)
    if time is not None:
        return time
    if isinstance(value, str):
        value = value.strip()
        value = value.lstrip("0") or "0" if value.isdecimal() else value
    return key(value) if isinstance(value, str | int | float) else value


def with_levels(others: Mapping[Hashable, Any], index: Any) -> Any:
    """Return coordinates of other names as an index, where they are all levels of one; or None."""
    names = [] if index is None or index.nlevels < 2 else list(index.names)
    if not names or not set(names) <= set(others):
        return None
    return type(index).from_arrays([others[name] for name in names], names=names)
