"""The same class in other words: numbers that are spelt out, abbreviations, plurals.

Such names do not match columns with classes, which would be a guess; but where they say another
order than the one that columns would be read in, that order is refused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from propercal._data.words.short_names import initials_differ
from propercal._data.words.tokens import (
    Token,
    are_alike,
    ascending,
    content,
    distinct,
    is_negation,
    numberings,
)

Numbers = tuple[float | None, ...]

#: From 0 on.
_CARDINALS, _ORDINALS, _ROMAN = (
    re.findall(r"\w+", words)
    for words in (
        "zero one two three four five six seven eight nine ten eleven twelve",
        "zeroth first second third fourth fifth sixth seventh eighth ninth tenth",
        "_ i ii iii iv v vi vii viii ix x xi xii",
    )
)
#: Words of the class of what occurred.
_OF_EVENTS = {"pos", "positive", "true", "yes"}
#: Columns of which each is compared with each class.
_MOST = 300


def spelt(names: Sequence[Any]) -> list[Numbers]:
    """Return the numbers of columns that all names spell out, as words or in Roman."""
    found = [_spelt(names, words) for words in (_CARDINALS, _ORDINALS, _ROMAN)]
    return [each for each in found if each is not None]


def spelt_as_counted(names: Sequence[Any]) -> list[Numbers]:
    """Return those that may start with 0, as the numbers of classes do."""
    found = _spelt(names, _CARDINALS)
    return [] if found is None else [found]


def _spelt(names: Sequence[Any], words: Sequence[str]) -> Numbers | None:
    own = [[each for each in said if each in words] for said in distinct(names)]
    if not names or any(len(each) != 1 for each in own):
        return None
    said = [str(each) for (each,) in own]
    if len(set(said)) < len(said) or (words is _ROMAN and max(map(len, said)) < 2):
        # Letters may be no numerals.
        return None
    return tuple(float(words.index(each)) for each in said)


def say_another_order(names: Sequence[Any]) -> bool:
    """Tell whether names are numbered, in digits or words, and do not ascend."""
    return not all(map(ascending, [*numberings(names), *spelt(names)]))


def contradict(columns: Sequence[Any], names: Sequence[Any]) -> bool:
    """Tell whether columns are named after other classes than `names`, in this order."""
    of_names = _numbers(names)
    for of_columns in (_numbers(columns), _from_0(columns)):
        if None not in (of_columns, of_names) and {*(of_columns or ())} == {*(of_names or ())}:
            return of_columns != of_names
    if _are_glued_in_another_order(columns, names):
        return True
    wanted = [set(each) for each in distinct(names)]
    agree = True
    for own, here in zip(map(set, distinct(columns)), wanted, strict=True):
        if here and here <= own:
            continue
        if any(each and each <= own for each in wanted):
            return True
        agree = False
    if agree:
        return False
    if len(names) == 2:
        negated, other = _negated(*columns), _negated(*names)
        if None not in (negated, other) and negated != other:
            return True
    if any(map(_is_shuffled_count, [*numberings(columns), *spelt(columns)])):
        return True
    if initials_differ(columns, names) or initials_differ(names, columns):
        return True
    return _fit_others(columns, names)


def _are_glued_in_another_order(columns: Sequence[Any], names: Sequence[Any]) -> bool:
    """Tell whether columns are names with one text before or after each, as pdog and pcat are."""
    own, wanted = ([str(each).lower() for each in given] for given in (columns, names))
    first = own[0]
    for name in wanted:
        before, after = first.removesuffix(name), first.removeprefix(name)
        for glued in ([before + each for each in wanted], [each + after for each in wanted]):
            if name and first in glued and glued != own and sorted(glued) == sorted(own):
                return True
    return False


def are_negative_and_positive(first: Any, second: Any) -> bool:
    """Tell whether names of two columns say that an event is that of the second: no and yes."""
    numbered = [*numberings((first, second)), *spelt((first, second))]
    if any(None not in each and ascending(each) and each[0] != each[1] for each in numbered):
        return True
    return _negated(first, second) == 0 or bool(_OF_EVENTS & set(content(second)))


def _numbers(names: Sequence[Any]) -> Numbers | None:
    """Return the one way in which all names are numbered, if there is one."""
    found = [each for each in (*numberings(names), *spelt(names)) if None not in each]
    return found[0] if len(found) == 1 else None


def _from_0(names: Sequence[Any]) -> Numbers | None:
    """Return numbers that cannot start with 0, less 1: those that classes may have."""
    found = [each for each in spelt(names) if each not in spelt_as_counted(names)]
    return tuple(each - 1 for each in found[0] if each is not None) if len(found) == 1 else None


def _fit_others(columns: Sequence[Any], names: Sequence[Any]) -> bool:
    """Tell whether a column is in words like those of another class, and unlike its own."""
    wanted = distinct(names)
    if len(wanted) > _MOST:
        return False

    def fit(own: Sequence[Token], each: Sequence[Token]) -> bool:
        return any(_is_like(a, b) for a in own for b in each)

    pairs = zip(distinct(columns), wanted, strict=True)
    odd = [own for own, here in pairs if not fit(own, here)]
    return any(fit(own, each) for own in odd for each in wanted)


def _is_like(first: Token, second: Token) -> bool:
    if not (isinstance(first, str) and isinstance(second, str)):
        return first == second
    short, long = sorted((first, second), key=len)
    if not short.isascii():
        # Scripts without blanks between words.
        return short in long
    return are_alike(first, second) or (len(short) > 1 and long.startswith(short))


def _negated(first: Any, second: Any) -> int | None:
    """Return the place of the name that negates the other one."""
    places = [
        i
        for i, is_one in enumerate((is_negation(second, first), is_negation(first, second)))
        if is_one
    ]
    return places[0] if len(places) == 1 else None


def _is_shuffled_count(numbers: Sequence[float | None]) -> bool:
    """Tell whether these are k numbers from 0 or 1 on, in another order."""
    if None in numbers or ascending(numbers):
        return False
    known = sorted(each for each in numbers if each is not None)
    return known in (list(range(len(known))), list(range(1, len(known) + 1)))
