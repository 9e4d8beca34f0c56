"""The order of columns that were named before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from propercal._data.tokens import ascending, key, numberings


class OtherColumnsError(LookupError):
    """Columns cannot be matched with those before."""


def order_of_columns(
    known: Sequence[Any] | None, given: Sequence[Any] | None, *, words: bool = False
) -> list[int] | None:
    """Return the place among `given` of each column `known`; None if they stand in that order.

    Columns without names stand as they do in any table: they are not matched with names that say
    another order, such as 2, 1, 0. `words` says that labels are names too, of which those of
    columns without names stand in alphabetical order.

    Raises
    ------
    OtherColumnsError
        If these are other columns, or nothing says in which order they stand.
    """
    if known is None or given is None:
        names = given if known is None else known
        if names is not None and is_shuffled(names, words=words):
            raise OtherColumnsError
        return None
    place = {key(name): i for i, name in enumerate(given)}
    wanted = [key(name) for name in known]
    if set(wanted) != set(place) or not len(place) == len(wanted) == len(given):
        raise OtherColumnsError
    order = [place[each] for each in wanted]
    return None if order == list(range(len(order))) else order


def is_shuffled(names: Sequence[Any], *, words: bool = False) -> bool:
    """Tell whether names are numbered, or are words, and do not ascend."""
    found = numberings(names)
    if not all(map(ascending, found)):
        return True
    if any(None not in numbers for numbers in found):
        return False
    return words and list(map(str, names)) != sorted(map(str, names))
