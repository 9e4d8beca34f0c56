"""The order that names of classes have by quantities, sizes and days: 30 min, 1 hour; S, M, L."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from propercal._data.words.tokens import Token, distinct, tokens

#: Units by what they measure, each as so many of the smallest.
_UNITS: tuple[dict[str, float], ...] = (
    {
        **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1),
        **dict.fromkeys(("min", "mins", "minute", "minutes"), 60),
        **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 3600),
        **dict.fromkeys(("d", "day", "days"), 86400),
        **dict.fromkeys(("w", "wk", "week", "weeks"), 7 * 86400),
        **dict.fromkeys(("mo", "month", "months"), 30.4 * 86400),
        **dict.fromkeys(("y", "yr", "yrs", "year", "years"), 365 * 86400),
    },
    {"mg": 1, "g": 1e3, "kg": 1e6, "t": 1e9, "tons": 1e9, "tonnes": 1e9},
    {"mm": 1, "cm": 10, "m": 1e3, "km": 1e6},
    {"kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12},
)
_THOUSANDS = {"k": 1e3}
#: What lies just below, or above, a number; words between two, and signs, that say no more.
_BELOW, _ABOVE = {"<"}, {">", "+"}
_PLAIN = {"to", "and", "or", "than", "up"} | _BELOW | _ABOVE
_NEXT = 1e-6
_SIZES = ("xxs", "xs", "s", "m", "l", "xl", "xxl", "xxxl")
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_DAY = re.compile(r"(mon|tue|wed|thu|fri|sat|sun)(?:day|s|sday|nesday|rsday|urday)?")
_VERSION = re.compile(r"[vV]\d+(?:\.\d+)+")


def quantities(names: Sequence[Any]) -> tuple[float, ...] | None:
    """Return numbers in the order of what all names say, in units or in words; None of others."""
    for read in (_measured, _in_steps, _of_sizes, _of_days, _of_versions):
        found = read(names)
        if found is not None and len(set(found)) == len(found):
            return found
    return None


def _measured(names: Sequence[Any]) -> tuple[float, ...] | None:
    """Return what names measure: numbers under units, or above and below of each other."""
    said = [tokens(each) for each in names]
    words = {each for own in said for each in own if isinstance(each, str)}
    shared = set.intersection(*map(set, said)) if said else set()
    for units in (*_UNITS, _THOUSANDS, dict[str, float]()):
        told = words & (units.keys() | _BELOW | _ABOVE) - shared
        if told and words <= units.keys() | _PLAIN | shared:
            found = [_value(own, units, needed=units not in ({}, _THOUSANDS)) for own in said]
            if None not in found:
                return tuple(each for each in found if each is not None)
    return None


def _value(said: Sequence[Token], units: dict[str, float], *, needed: bool) -> float | None:
    numbers = [each for each in said if not isinstance(each, str)]
    own = [units[each] for each in said if isinstance(each, str) and each in units]
    if not numbers or (needed and not own):
        return None
    value = float(numbers[0]) * (own[0] if own else 1)
    beside = abs(value) * _NEXT + _NEXT
    return value + beside * (bool(_ABOVE & set(said)) - bool(_BELOW & set(said)))


def _in_steps(names: Sequence[Any]) -> tuple[float, ...] | None:
    """Return places of letters with numbers, such as A1, A2, B1."""
    said = [tuple(each) for each in distinct(names)]
    pairs = all(len(e) == 2 and len(str(e[0])) == 1 and not isinstance(e[1], str) for e in said)
    letters = {each[0] for each in said} if pairs else set()
    if not all(isinstance(each, str) for each in letters) or len(letters) in (0, len(said)):
        return None
    return tuple(float(sorted(said).index(each)) for each in said)


def _of_sizes(names: Sequence[Any]) -> tuple[float, ...] | None:
    own = [each[0] if len(each) == 1 else None for each in distinct(names)]
    if not all(each in _SIZES for each in own) or "m" not in own:
        return None
    return tuple(float(_SIZES.index(str(each))) for each in own)


def _of_days(names: Sequence[Any]) -> tuple[float, ...] | None:
    """Return days from Monday on, or from Sunday, or another for all, if they are in order then."""
    found = [_DAY.fullmatch(str(each[0])) if len(each) == 1 else None for each in distinct(names)]
    days = [_DAYS.index(each[1]) for each in found if each is not None]
    if len(days) < len(names) or not days:
        return None
    # A week may begin on Sunday, and all of it anywhere.
    for first in (0, 6) if len(days) < len(_DAYS) else range(len(_DAYS)):
        number = tuple(float((each - first) % 7) for each in days)
        if list(number) in (sorted(number), sorted(number, reverse=True)):
            break
    return number


def _of_versions(names: Sequence[Any]) -> tuple[float, ...] | None:
    """Return places of versions, such as v1.9, v1.10."""
    if not all(map(_VERSION.fullmatch, map(str, names))):
        return None
    parts = [[int(each) for each in re.findall(r"\d+", str(name))] for name in names]
    return tuple(float(sorted(parts).index(each)) for each in parts)
