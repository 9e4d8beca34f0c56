"""Which sketches the rows of a sketch came by, so that none are merged twice.

The first rows of a sketch get a number at random, which copies and bytes of it keep, and whatever
it is merged into. Two sketches with a number in common share rows.
"""

from __future__ import annotations

import hashlib
import secrets
from typing import Any

from propercal._data.words.messages import bad_value

Origins = tuple[int, ...]

_BITS = 60
#: Numbers that are kept, the last ones, so that bytes stay small.
MOST = 1024


def new_origin() -> Origins:
    """Return a number that no other sketch has."""
    return (secrets.randbits(_BITS),)


def origin_of(data: bytes) -> Origins:
    """Return that of bytes of an earlier version, which hold none: the same of the same bytes."""
    return (int.from_bytes(hashlib.sha256(data).digest()) >> (256 - _BITS),)


def origins_of_both(
    mine: Origins, other: Origins, argument: str = "other", what: str = "sketch"
) -> Origins:
    """Return those of the rows of two sketches, or raise if they share some."""
    if not set(mine).isdisjoint(other):
        raise bad_value(
            argument,
            f"a {what} with rows that this one holds already",
            "rows that it does not hold, as they would count twice",
            f"merge each {what} once, and no copy of it or what was saved of it; reset() one that "
            "goes on after it was merged",
        )
    return (*mine, *other)[-MOST:]


def are_origins(written: list[Any]) -> bool:
    """Tell whether numbers that were written are such."""
    whole = all(type(each) is int and 0 <= each < 1 << _BITS for each in written)
    return whole and len(set(written)) == len(written) <= MOST
