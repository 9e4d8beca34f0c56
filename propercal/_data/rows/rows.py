"""The index of rows: which row of one argument is which of another, or an error.

Rows are matched by the values of an index, whatever its dtype, and levels of an index by their
names. A default range index says nothing, unless the other one has the same numbers, or those from
1 on, in another order: then rows were shuffled before or after the one was made, and nobody but the
caller knows which. So does a range that a table of pyarrow notes, which stays as it is where rows
are moved; if it is no default one, rows of other numbers are refused as well. So they are where a
default range has the name of the other index: it is the head of one, which no default has.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np

from propercal._data.inputs.held import Held
from propercal._data.rows.indexes import (
    Order,
    agree,
    are_equal,
    are_unique,
    decimals_alike,
    in_place,
    levels_like,
    order_of,
    some_of,
    times_apart,
    with_levels,
)
from propercal._data.words.messages import bad_value
from propercal._data.words.tokens import tokens

#: Words of coordinates that number rows by what they are, not by which they are.
_RANKS = {"rank", "ranking", "order", "priority", "position", "sort"}


class InOrder(NamedTuple):
    """Data whose rows were brought into an order."""

    held: Held
    order: Order | None
    """Where each row was before; None where all stand as they did."""


def check_others(held: Held, other: Held, argument: str, other_argument: str) -> None:
    """Refuse coordinates that name rows which the other has in another order.

    Beside an index it is that of a dimension that counts, where there is one. What has one name on
    both sides, coordinates or levels of an index, is the same, also where values repeat.
    """
    pairs: list[tuple[str, Any, str, Any]] = []
    if held.rows is None or other.rows is None:
        for name, each in held.others.items() if other.rows is not None else ():
            pairs.append((f"coordinates {name!r}", each, "index", other.rows))
        for name, each in other.others.items() if held.rows is not None else ():
            pairs.append(("an index", held.rows, f"coordinates {name!r}", each))
        own, wanted = (
            with_levels(one.others, two.rows) if one.rows is None else one.rows
            for one, two in ((held, other), (other, held))
        )
        if own is not None and wanted is not None:
            pairs.append(("an index", own, "levels", wanted))
    if held.rows is other.rows is None:
        for name, each, its, wanted in of_two_names(held.others, other.others):
            pairs.append((f"coordinates {name!r}", each, f"coordinates {its!r}", wanted))
    for own, each, theirs, wanted in pairs:
        if not agree(each, wanted):
            raise _in_another_order(argument, own, theirs, other_argument)
    own_levels, levels = _named_levels(held), _named_levels(other)
    for name, each in {**own_levels, **held.others}.items():
        if name in held.others and name in other.others:
            check_same_times(argument, each, other.others[name], name, other_argument)
        of_index = name not in held.others
        wanted = other.others.get(name, None if of_index else levels.get(name))
        if wanted is not None and not agree(each, wanted, same_name=True):
            own = f"an index {name!r}" if of_index else f"coordinates {name!r}"
            theirs = f"coordinates {name!r}" if name in other.others else f"index {name!r}"
            raise _in_another_order(argument, own, theirs, other_argument)


def of_two_names(
    mine: Mapping[Hashable, Any], others: Mapping[Hashable, Any]
) -> list[tuple[Hashable, Any, Hashable, Any]]:
    """Return coordinates of two names, one on each side, that may be one, where nothing else tells.

    Ranks by two things are in two orders.
    """
    alike = set(mine) & set(others)
    if any(are_equal(mine[name], others[name]) and are_unique(mine[name]) for name in alike):
        return []
    return [
        (name, each, its, wanted)
        for name, each in mine.items()
        for its, wanted in others.items()
        if not ({name, its} & alike or any(map(_says_rank, (name, its))))
    ]


def _says_rank(name: Hashable) -> bool:
    return not _RANKS.isdisjoint(tokens(name))


def check_same_times(argument: str, own: Any, wanted: Any, name: Hashable, other: str) -> None:
    """Refuse rows that have another time than those of another array under the same name."""
    kinds = {getattr(each.dtype, "kind", "O") for each in (own, wanted)}
    if kinds == {"M"} and not are_equal(own, wanted):
        raise bad_value(
            argument,
            f"coordinates {some_of(own)} of {name!r}",
            f"those of {other}, {some_of(wanted)}, row by row",
            f"shift one of them, or drop what is no time of the rows by .drop_vars({name!r})",
        )


def _named_levels(held: Held) -> dict[Hashable, Any]:
    """Return the levels of an index that have names, or all of it where it has one level."""
    names = [] if held.rows is None else list(held.rows.names)
    if len(set(names)) < len(names):
        return {}
    return {name: held.rows.get_level_values(name) for name in names if name is not None}


def _in_another_order(argument: str, own: str, theirs: str, other_argument: str) -> ValueError:
    return bad_value(
        argument,
        f"{own} in another order than the {theirs} of {other_argument}",
        "rows in one order",
        "bring both into one order, or make coordinates the index of their dimension, by "
        ".swap_dims; drop what names no rows, by .drop_vars",
    )


def n_rows(held: Held) -> int:
    """Return the number of rows."""
    return int(held.values.shape[0]) if held.values.ndim else 0


def in_order_of(held: Held, other: Held, argument: str, other_argument: str) -> InOrder:
    """Return `held` with its rows in the order of those of `other`, or raise."""
    if n_rows(held) != n_rows(other):
        # Whoever needs as many rows of both says so.
        return InOrder(held, None)
    if held.rows is None or other.rows is None:
        check_not_shuffled(held, other, argument, other_argument)
        return InOrder(held, None)
    order = order_of(held.rows, other.rows)
    if order is None:
        raise _other_rows(held.rows, other.rows, argument, other_argument)
    if in_place(order):
        return InOrder(held, None)
    names, others = list(held.rows.names), list(other.rows.names)
    if len(names) == 1 and None not in (*names, *others) and names != others:
        raise bad_value(
            argument,
            f"rows of the index {names[0]!r}",
            f"those of {others[0]!r}, as {other_argument} has, or in one order",
            "name both alike, by .rename_axis(index=...), if they number the same",
        )
    return InOrder(replace(held.take(order), rows=other.rows), order)


def _other_rows(rows: Any, wanted: Any, argument: str, other_argument: str) -> ValueError:
    several = [getattr(each, "nlevels", 1) > 1 for each in (rows, wanted)]
    if all(several) and rows.nlevels == wanted.nlevels and levels_like(rows, wanted) is None:
        return bad_value(
            argument,
            f"rows of an index of levels {list(rows.names)}",
            f"levels {list(wanted.names)}, as {other_argument} has",
            "name the levels of both alike, by .rename_axis(index=[...])",
        )
    decimals = decimals_alike(rows, wanted)
    if decimals is not None:
        return bad_value(
            argument,
            f"rows of the index {some_of(rows)}",
            f"the rows of {other_argument}, {some_of(wanted)}, which are other numbers by rounding",
            f'round both alike: x.index = x.index.astype("float64").round({decimals})',
        )
    apart = times_apart(rows, wanted)
    if apart is not None:
        why, fix = apart
        expected = f"the rows of {other_argument}, {some_of(wanted)}, {why}"
        return bad_value(argument, f"rows of the index {some_of(rows)}", expected, fix)
    return bad_value(
        argument,
        f"rows of the index {some_of(rows)}",
        f"the rows of {other_argument}, {some_of(wanted)}, each of them once",
        "select the same rows of both, or call .reset_index(drop=True) on both (xarray: "
        ".drop_vars) if they are in the same order",
    )


def check_not_shuffled(held: Held, other: Held, argument: str, other_argument: str) -> None:
    """Refuse an index, or a range, that has the numbers of another one in another order.

    Beside a default index so may a level of an index have, or a coordinate, which was one before
    rows were put together anew.
    """
    if held.counted and other.counted:
        return
    own, wanted = _numbered(held), _numbered(other)
    if own is not None and wanted is not None:
        noted = not (held.noted is other.noted is None or held.counted or other.counted)
        if noted and order_of(own, wanted) is None:
            raise _other_rows(own, wanted, argument, other_argument)
        if _are_called_alike(held, other) and not _number_alike(own, wanted):
            raise _other_rows(own, wanted, argument, other_argument)
    for mine, its in _numbered_pairs(held, other):
        numbers, others = row_numbers(mine), row_numbers(its)
        if numbers is None or others is None or np.array_equal(numbers, others):
            continue
        same = np.array_equal(np.sort(numbers), np.sort(others))
        if not (same or _moves_from_1(held, mine, other, its)):
            continue
        raise bad_value(
            argument,
            f"rows of the index {some_of(mine)}",
            f"the order of {other_argument}, whose index is {some_of(its)}",
            f"call {sorting(mine, its)} on the shuffled one if its rows are to be brought back "
            "into order, or .reset_index(drop=True) if rows stand side by side as they are "
            "(xarray: .sortby, .drop_vars)",
        )


def _moves_from_1(held: Held, mine: Any, other: Held, its: Any) -> bool:
    """Tell whether an index beside a default one moves numbers from 1 on, which R counts from."""
    one, index = (held, mine) if other.counted else (other, its)
    numbers = row_numbers(index) if held.counted or other.counted else None
    return numbers is not None and index is one.rows and moves_numbers(numbers, start=1)


def _are_called_alike(held: Held, other: Held) -> bool:
    """Tell whether a default index has the name of the other one, so that it is no default."""
    names = [
        each.counted_as if each.counted else getattr(_numbered(each), "name", None)
        for each in (held, other)
    ]
    return names[0] is not None and names[0] == names[1]


def _number_alike(own: Any, wanted: Any) -> bool:
    """Tell whether two indexes are of the same numbers, in any order."""
    numbers, others = row_numbers(own), row_numbers(wanted)
    return (
        numbers is not None
        and others is not None
        and np.array_equal(np.sort(numbers), np.sort(others))
    )


def _numbered_pairs(held: Held, other: Held) -> list[tuple[Any, Any]]:
    """Return what may number the rows of both alike."""
    own, wanted = _numbered(held), _numbered(other)
    if other.counted:
        return [(each, wanted) for each in _parts(own, held.others)]
    if held.counted:
        return [(own, each) for each in _parts(wanted, other.others)]
    return [] if own is None or wanted is None else [(own, wanted)]


def _parts(index: Any, others: Mapping[Hashable, Any]) -> list[Any]:
    """Return an index, or each of its levels, and coordinates."""
    if index is None or getattr(index, "nlevels", 1) == 1:
        return [*([] if index is None else [index]), *others.values()]
    return [*(index.get_level_values(i) for i in range(index.nlevels)), *others.values()]


def _numbered(held: Held) -> Any:
    """Return the index of rows, also one that only numbers them; None for none."""
    index = held.noted if held.rows is None else held.rows
    return np.arange(n_rows(held)) if index is None and held.counted else index


def sorting(*indexes: Any) -> str:
    """Return the call that sorts rows by the numbers of an index, which text has in its digits."""
    text = any(getattr(each, "inferred_type", None) == "string" for each in indexes)
    return ".sort_index(key=lambda each: each.astype(float))" if text else ".sort_index()"


def moves_numbers(numbers: Order, start: int = 0) -> bool:
    """Tell whether these are so many numbers from `start` on, in another order."""
    return not in_place(numbers - start) and in_place(np.sort(numbers) - start)


def row_numbers(index: Any) -> Order | None:
    """Return the values of an index as whole numbers, whatever their type; None if they are not."""
    numbers = []
    for value in _only_level(index).tolist():
        number = _whole_number(value)
        if number is None:
            return None
        numbers.append(number)
    return np.array(numbers, dtype=np.intp)


def _only_level(index: Any) -> Any:
    """Return the only level of an index that differs from row to row, where it has several."""
    if not hasattr(index, "levels"):
        return index
    levels = [index.get_level_values(i) for i in range(index.nlevels)]
    levels = [each for each in levels if each.nunique() > 1]
    return levels[0] if len(levels) == 1 else index


def _whole_number(value: Any) -> int | None:
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if isinstance(value, str):
        value = re.sub(r"\.0+$", "", value.strip())
        return int(value) if value.isdecimal() and len(value) < 16 else None
    if isinstance(value, Decimal) and not value.is_finite():
        return None
    if isinstance(value, int | float | Decimal) and 0 <= value < 2**53:
        return int(value) if value == int(value) else None
    return None


def unmatched(argument: str, found: str, between: str) -> ValueError:
    """Build the error for rows that nothing matches with one of two orders."""
    return bad_value(
        argument,
        f"rows with {found}",
        f"an index or coordinates: rows of {between} stand in different orders, and nothing says "
        f"which of them {argument} has",
        "give it the index of its rows, or bring all into one order first",
    )
