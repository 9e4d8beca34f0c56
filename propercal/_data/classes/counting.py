"""Which class each column is of where columns have no names that labels bear: by their order.

Numbers 0 to k − 1 count the columns; −1 and 1, or k distinct numbers from 1 on, stand for them in
ascending order, and strings in alphabetical order, unless their type lists them in another.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from propercal._data.inputs.held import Held
from propercal._data.inputs.reading import Names
from propercal._data.words.messages import bad_value, some_names
from propercal._data.words.tokens import count_up, is_number, key

Given = tuple[Any, ...]


def without_void(held: Held, k: int, ignore_index: Any) -> Held:
    """Return labels whose type lists more than k classes without the one that is no class."""

    def left(names: Given | None) -> Given | None:
        if ignore_index is None or names is None or len(names) <= k:
            return names
        return tuple(each for each in names if key(each) != key(ignore_index))

    return replace(held, categories=left(held.categories), unordered=left(held.unordered))


def in_order(uniques: Sequence[Any], held: Held, k: int, called: Names) -> Given:
    """Return the names of k columns that have none, by the order of the labels that occur."""
    if not any(isinstance(each, str) for each in uniques):
        return counted_names(uniques, held, k, called)
    own = held.categories or held.unordered or ()
    if held.categories is not None and len(own) == k:
        return own
    # Of more categories than columns those that occur are meant, if their order is no question.
    known = list(own) if len(own) == k else [each for each in own if each in set(uniques)]
    if known != sorted(known, key=str) or not count_up(uniques):
        raise _unordered(known or uniques, called)
    if len(uniques) == k:
        return tuple(uniques)
    raise bad_value(
        called.labels,
        f"{len(uniques)} different names ({', '.join(map(repr, uniques[:5]))}, ...)"
        if len(uniques) > 5
        else f"the names {list(uniques)}",
        f"{k} classes, as {called.proba} has columns",
        "pass a column for each class"
        if len(uniques) > k
        else "pass labels=[...], the class of every column in the order of the columns",
    )


def counted_names(uniques: Sequence[Any], held: Held, k: int, called: Names) -> Given:
    """Return the numbers that columns stand for, as their type lists them or by counting."""
    own: Given = tuple(map(_whole, held.categories or held.unordered or ()))
    numbers = all(map(is_number, own))
    if held.categories is not None and len(own) == k and numbers:
        # A negative number that does not occur may mean "no label".
        if min(own) >= 0 or set(own) == set(uniques):
            return own
        raise _unordered(own, called)
    if not numbers:
        raise _unordered(own, called)
    surplus = len(own) > k and min(own) > 0 and len(uniques) < k
    if own != tuple(sorted(own)) or surplus:
        raise _unordered(own, called)
    return _numbers(uniques, k)


def _numbers(uniques: Sequence[Any], k: int) -> Given:
    if k == 2 and all(isinstance(each, bool) for each in uniques):
        return (False, True)
    # Numbers from 0 are counted; among them another would be a mistake, or mean "no label".
    others = len(uniques) == k and (min(uniques) >= 1 or set(uniques) == {-1, 1})
    if others and max(uniques) >= k:
        return tuple(uniques)
    return tuple(uniques) if others and min(uniques) < 0 else tuple(range(k))


def _unordered(names: Sequence[Any], called: Names) -> ValueError:
    return bad_value(
        called.labels,
        f"the names {some_names(names)}",
        "to know their order: alphabetical, or another",
        "pass labels=[...], the class of every column in the order of the columns",
    )


def _whole(name: Any) -> Any:
    return int(name) if isinstance(name, float) and name.is_integer() else name


def check_codes(
    codes: Mapping[Hashable, Sequence[Any]], uniques: Sequence[Any], called: Names
) -> None:
    """Raise where numbers would count columns that a coordinate numbers in another order."""
    for name, each in codes.items():
        if {key(value) for value in uniques} <= {key(value) for value in each}:
            drop = f".sortby({name!r}), drop it by .drop_vars({name!r})"
            index = ("a categorical index", ".sort_index(axis=1)")
            what, how = index if name is None else (f"a coordinate {name!r}", drop)
            raise bad_value(
                called.proba,
                f"{what} that numbers classes as {some_names(each)}",
                f"classes in the order of these numbers, as {called.labels} counts them",
                f"select them in that order, such as by {how}, or pass labels=[...], the class "
                "of every column",
            )
