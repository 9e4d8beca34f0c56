"""Names of classes in short: F for female, mal for malignant."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from propercal._data.words.tokens import (
    OF_NO_CLASS,
    Token,
    after_use,
    are_alike,
    content,
    distinct,
    tokens,
)

#: Letters that a single column may have for a word. Others are of models (a, b), subscripts (i, k),
#: uses (p, y) and truth (t).
_INITIALS = set("defghlmnorsuvwz")
#: Of these, what a small one is in a formula, f(x), g or p_n; a capital may be false or no.
_OF_FORMULAS = set("fghn")
#: As many letters of a word say which it is.
_LEAST = 3
#: Letters of columns that are no initials of anything that 0 and 1 are named after.
_OF_YES_AND_NO = [{"y", "n"}, {"t", "f"}, {"p", "n"}]


def bearers(columns: Sequence[Any], name: Any) -> list[int]:
    """Return the places of columns that `name` speaks of.

    Those are the columns with words or numbers of their own that it has; else, with one like them,
    or in short for one.
    """
    own = [set(said) for said in distinct(columns)]
    words = set(content(name))
    for found in (
        [i for i, each in enumerate(own) if each & words],
        [i for i, each in enumerate(own) if each & set(tokens(name))],
        [i for i, each in enumerate(own) if any(are_alike(a, b) for a in each for b in words)],
        _in_short(own, {str(each) for each in words - OF_NO_CLASS}),
    ):
        if found:
            return found
    return []


def _in_short(own: Sequence[set[Token]], words: set[str]) -> list[int]:
    """Return the places of columns whose only word is the initial, or the beginning, of others."""
    short = [str(*each) if len(each) == 1 else "" for each in own]
    if not all(each.isalpha() for each in short):
        return []
    if {len(each) for each in short} == {1}:
        if are_in_a_row(short) or set(short) in _OF_YES_AND_NO:
            return []
    elif min(map(len, short)) < _LEAST:
        return []
    return [i for i, each in enumerate(short) if any(is_initial(each, word) for word in words)]


def are_in_a_row(letters: Sequence[str]) -> bool:
    """Tell whether letters follow each other in the alphabet, in some order: they count classes."""
    first = min(map(ord, letters))
    return set(map(ord, letters)) == set(range(first, first + len(letters)))


def initials_differ(words: Sequence[Any], letters: Sequence[Any]) -> bool:
    """Tell whether names that are letters are the initials of the others, in another order."""
    short = [after_use(tokens(each)) for each in letters]
    own = [[each for each in said if isinstance(each, str)] for said in distinct(words)]
    if any(len(each) != 1 for each in (*short, *own)):
        return False
    found, initials = ([str(*each) for each in said] for said in (short, own))
    if any(len(each) != 1 or not each.isalpha() for each in found) or are_in_a_row(found):
        return False
    initials = [each[0] for each in initials if len(each) > 1]
    known = len(set(found)) == len(found)
    return known and sorted(initials) == sorted(found) and initials != found


def letter_in(name: Any) -> str | None:
    """Return the letter that a name such as P(y=M) has for a class; None if it may be another."""
    said = after_use(tokens(name))
    if len(said) != 1 or said[0] not in _INITIALS:
        return None
    written = re.search(r"[^\W\d_](?=[\W_]*$)", str(name))
    capital = written is not None and written[0].isupper()
    of_formula = len(tokens(name)) == 1 or said[0] in _OF_FORMULAS
    return str(said[0]) if capital or not of_formula else None


def is_initial(short: str, name: Any) -> bool:
    """Tell whether a name begins with a letter, or several, and is longer."""
    return len(str(name)) > len(short) and str(name).lower().startswith(short)


def are_short_for(first: str, second: str) -> bool:
    """Tell whether one word is the initial of the other, and of nothing like false or no."""
    short, long = sorted((first, second), key=len)
    return short in _INITIALS - _OF_FORMULAS and is_initial(short, long)
