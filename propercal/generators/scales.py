"""Scales of words: low, mid, high; very bad, bad, ok, good; S, M, L; months; days of a week."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

#: Words of what is between two opposites.
_MIDDLE = set(
    re.findall(
        r"\w+", "mid middle medium moderate neutral neu draw tie unchanged ok okay average fair"
    )
)
OPPOSITES = (
    *(("low", "high"), ("small", "large"), ("slow", "fast"), ("negative", "positive")),
    *(("home", "away"), ("loss", "win"), ("lose", "win"), ("disagree", "agree")),
    *(("down", "up"), ("bad", "good"), ("short", "long"), ("cold", "hot"), ("worse", "better")),
    *(("early", "late"), ("neg", "pos"), ("poor", "good"), ("weak", "strong"), ("minor", "major")),
)
_VERY = re.compile(r"^(?:very|extremely|strongly|highly|much)[\W_]*(?=\w)")
#: In their order, by the letters that they begin with.
_SIZES = ("xxs", "xs", "s", "m", "l", "xl", "xxl", "xxxl")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_IN_CALENDAR = re.compile(
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|"
    r"sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?|"
    r"(?:mon|tue(?:s)?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?)"
)


def between(names: Sequence[Any]) -> tuple[Any, Any, Any] | None:
    """Return a name that should be between two others, and these, if it stands elsewhere."""
    for ranks in _ranks([str(each).lower().strip() for each in names]):
        known = sorted((rank, i) for i, rank in enumerate(ranks) if rank is not None)
        for (low, i), (middle, j), (high, k) in combinations(known, 3):
            if low < middle < high and not min(i, k) < j < max(i, k):
                return names[j], names[min(i, k)], names[max(i, k)]
    return None


def _ranks(names: Sequence[str]) -> Iterator[Sequence[int | None]]:
    """Yield the ranks of names, in each way; None for a name that has none."""
    for pair in OPPOSITES:
        yield [_rank(each, *pair) for each in names]
    for scale in (_SIZES, _letters(names)):
        if set(names) <= set(scale):
            yield [scale.index(each) for each in names]
    if all(map(_IN_CALENDAR.fullmatch, names)):
        for scale in (_MONTHS, _DAYS):
            starts = [each[:3] for each in names]
            if set(starts) <= set(scale) and not _turned([scale.index(x) for x in starts], scale):
                yield [scale.index(each) for each in starts]


def _rank(name: str, low: str, high: str) -> int | None:
    word = _VERY.sub("", name)
    far = 1 if word == name else 2
    if word in _MIDDLE:
        return 0 if far == 1 else None
    return -far if word == low else far if word == high else None


def _letters(names: Sequence[str]) -> Sequence[str]:
    """Return as many letters from a on as there are names."""
    return tuple(chr(ord("a") + i) for i in range(min(len(names), 26)))


def _turned(places: Sequence[int], scale: Sequence[str]) -> bool:
    """Tell whether this is all of the calendar, from another month or day on."""
    first = places.index(0) if 0 in places else 0
    around = [*places[first:], *places[:first]]
    return len(places) == len(scale) and around == list(range(len(scale)))
