"""Scales of words: low, mid, high; very bad, bad, ok, good; never, often; a, b, c; months."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

from propercal._data.words.tokens import distinct

#: Words of what is between two opposites.
_MIDDLE = set(
    re.findall(
        r"\w+",
        "mid middle medium moderate neutral neu draw tie unchanged ok okay average fair normal "
        "near same stable neither mild intermediate",
    )
)
#: Of these alone where both are steps away from what is normal, or neutral.
_HALFWAY = {"mid", "middle", "medium", "moderate", "intermediate"}
_STEPS = {("mild", "severe"), ("minor", "major"), ("weak", "strong"), ("early", "late")}
OPPOSITES = (
    *(("low", "high"), ("small", "large"), ("slow", "fast"), ("negative", "positive")),
    *(("home", "away"), ("loss", "win"), ("lose", "win"), ("disagree", "agree")),
    *(("down", "up"), ("bad", "good"), ("short", "long"), ("cold", "hot"), ("worse", "better")),
    *(("early", "late"), ("neg", "pos"), ("poor", "good"), ("weak", "strong"), ("minor", "major")),
    *(("below", "above"), ("dry", "wet"), ("mild", "severe")),
)
#: Words of more than two steps, each in its order; a bar is between those of two steps.
_SCALES = tuple(
    {word: rank for rank, step in enumerate(scale.split("|")) for word in step.split()}
    for scale in (
        "never|rarely seldom|occasionally sometimes|often frequently usually|always",
        "terrible|poor|fair|good|great|excellent",
        "none|some|most|all",
        "bronze|silver|gold|platinum",
        "primary|secondary|tertiary",
        "alpha|beta|gamma|delta|epsilon",
        "young|middle-aged|old",
        "a|b|c|d|f",
        "a1|a2|b1|b2|c1|c2",
    )
)
_VERY = re.compile(r"^(?:very|extremely|strongly|highly|much)[\W_]*(?=\w)")
#: In their order, by the letters that they begin with.
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_IN_CALENDAR = re.compile(
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|"
    r"sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)


def between(names: Sequence[Any], *, letters: bool = True) -> tuple[Any, Any, Any] | None:
    """Return a name that should be between two others, and these, if it stands elsewhere.

    Single `letters` may stand for anything.
    """
    written = [str(each).lower().strip() for each in names]
    if not letters and all(len(each) == 1 for each in written):
        return None
    # Of below_average, average, above_average the words that not all have.
    own = [
        " ".join(map(str, said)) or each
        for said, each in zip(distinct(names), written, strict=True)
    ]
    for ranks in (*_ranks(written), *_ranks(own)):
        known = sorted((rank, i) for i, rank in enumerate(ranks) if rank is not None)
        for (low, i), (middle, j), (high, k) in combinations(known, 3):
            if low < middle < high and not min(i, k) < j < max(i, k):
                return names[j], names[min(i, k)], names[max(i, k)]
    return None


def _ranks(names: Sequence[str]) -> Iterator[Sequence[int | None]]:
    """Yield the ranks of names, in each way; None for a name that has none."""
    for pair in OPPOSITES:
        yield [_rank(each, *pair) for each in names]
    for scale in (_letters(names), *_SCALES):
        if set(names) <= set(scale):
            yield [scale[each] for each in names]
    if all(map(_IN_CALENDAR.fullmatch, names)):
        places = [_MONTHS.index(each[:3]) for each in names]
        if not _turned(places):
            yield places


def _rank(name: str, low: str, high: str) -> int | None:
    word = _VERY.sub("", name)
    far = 1 if word == name else 2
    if word in {low, high}:
        return -far if word == low else far
    middle = _HALFWAY if (low, high) in _STEPS else _MIDDLE
    return 0 if word in middle and far == 1 else None


def _letters(names: Sequence[str]) -> dict[str, int]:
    """Return as many letters as there are names, from the first of these on."""
    first = min(names, default="")
    if len(first) != 1 or not "a" <= first <= "z":
        return {}
    return {chr(ord(first) + i): i for i in range(len(names))}


def _turned(places: Sequence[int]) -> bool:
    """Tell whether this is all of a year, from another month on."""
    first = places.index(0) if 0 in places else 0
    around = [*places[first:], *places[:first]]
    return around == list(range(len(_MONTHS)))
