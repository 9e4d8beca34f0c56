"""Texts that stand for no value, or are equal but for what no eye sees.

Tables that were written and read again have such texts among names of classes and groups, where
each would be a class or a group of its own.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np

from propercal._data.inputs.reading import is_missing
from propercal._data.inputs.written_lists import READ_LISTS, are_lists
from propercal._data.words.messages import bad_value
from propercal._data.words.tokens import distinct

#: What ``pandas.read_csv`` takes for missing, and what Python, R and databases write for it.
_NOTHING = {
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"),
    *("<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null", "NaT"),
    *("NA_character_", "\\N"),
}
#: A date that has the year first, otherwise than ISO 8601 writes it.
_DATE = re.compile(r"^(\d{4})[/.](\d\d)[/.](\d\d)(?!\d)")
_DIGITS = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)")


def is_nothing(text: object) -> bool:
    """Tell whether `text` is what is written for a missing value."""
    return isinstance(text, str) and text.strip() in _NOTHING


def as_seen(text: str) -> str:
    """Return a text without blanks around it, of one form of letters."""
    if text.isascii():
        return " ".join(text.split())
    # Marks without a width, such as that of the byte order.
    seen = "".join(each for each in text if unicodedata.category(each) != "Cf")
    return unicodedata.normalize("NFC", " ".join(seen.split()))


def seems_equal(one: object, other: object) -> bool:
    """Tell whether different texts are one number, or equal but for capitals, blanks, letters."""
    if not (isinstance(one, str) and isinstance(other, str)):
        return False
    alike = as_seen(one).casefold() == as_seen(other).casefold()
    return one != other and (alike or as_number(one) == as_number(other))


def as_number(text: str) -> Decimal | str:
    """Return the number that `text` is in digits, such as 01 and 1.0, or the text.

    One with an exponent may as well be a code, such as 1e2.
    """
    return Decimal(text) if _DIGITS.fullmatch(text) else text


def as_time(value: Any, *, zoned: bool = False) -> str | None:
    """Return a time, a date or a period, or text in the form of ISO 8601, as text; else None.

    Where it is not `zoned`, it is the time of the clock, whatever the zone.
    """
    if hasattr(value, "start_time"):
        value = value.start_time
    if isinstance(value, np.datetime64) and value == value.astype("M8[us]"):
        value = value.astype("M8[us]").item()
    if isinstance(value, str):
        try:
            text = _DATE.sub(r"\1-\2-\3", value.strip())
            value = datetime.fromisoformat(text) if "-" in text else None
        except ValueError:
            return None
    if not isinstance(value, date) or value != value:
        # What is missing is no time either.
        return None
    if not isinstance(value, datetime):
        return f"{value.isoformat()}T00:00:00"
    if zoned and value.tzinfo is not None:
        return value.astimezone(UTC).isoformat()
    return value.replace(tzinfo=None).isoformat()


def nearly_equal(texts: Iterable[str]) -> tuple[str, str, str] | None:
    """Return two of different texts that may well be meant as one, and what they are."""
    for kind, words in (
        (as_number, "one number"),
        (lambda text: as_time(text, zoned=True) or text, "one time"),
        (_folded, "equal but for capitals or the form of letters"),
    ):
        pair = _two_of(texts, kind)
        if pair is not None:
            return *pair, words
    return None


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", as_seen(text)).casefold()


def alike(texts: Iterable[str]) -> tuple[str, str] | None:
    """Return two of different texts that are equal but for blanks or the form of letters."""
    return _two_of(texts, as_seen)


def _but_for_capitals(texts: Iterable[str]) -> tuple[str, str] | None:
    """Return two texts that are equal but for capitals.

    A letter alone may be another small one: of an alphabet each is a class, with its own column.
    """
    return _two_of((text for text in texts if len(text) > 1), lambda text: as_seen(text).casefold())


def _one_number(texts: Iterable[str]) -> tuple[str, str] | None:
    """Return two different texts of one number, such as 1, 01 and 1.0."""
    return _two_of(texts, as_number)


def _two_of(texts: Iterable[str], kind: Callable[[str], Any]) -> tuple[str, str] | None:
    """Return the first two of different texts that are of one kind."""
    known: dict[Any, str] = {}
    for text in texts:
        other = known.setdefault(kind(text), text)
        if other != text:
            return other, text
    return None


def check_classes(argument: str, names: Iterable[Any], said: Iterable[Any] = ()) -> None:
    """Raise where labels stand for no class, or for another one; those that are `said` do not."""
    known = set(said)
    words = [each for each in names if isinstance(each, str)]
    odd = [each for each in words if is_nothing(each) and each not in known]
    if odd:
        raise bad_value(
            argument,
            f"{odd[0]!r}, which is written for a missing value",
            "a label in each row that counts",
            f"drop these rows, or pass ignore_index={odd[0]!r}, or pass labels=[...] if it is the "
            "name of a class",
        )
    if len(words) > 1 and known.isdisjoint(words) and are_lists(words):
        raise bad_value(
            argument,
            f"the text of lists, such as {words[0][:40]!r}",
            "a class for each row, or a one-hot matrix",
            f"{READ_LISTS}, or pass labels=[...] if these are names of classes",
        )
    numbers = _one_number(words)
    if numbers is not None and not known.issuperset(numbers):
        raise bad_value(
            argument,
            f"the names {numbers[0]!r} and {numbers[1]!r}, which are one number",
            "one text for each class",
            "write them in one way, such as by pandas.to_numeric, or pass labels=[...] if these "
            "are two classes",
        )
    pair = (alike(words) or _but_for_capitals(words)) if known.isdisjoint(words) else None
    if pair is not None:
        raise bad_value(
            argument,
            f"the names {pair[0]!r} and {pair[1]!r}",
            "one text for each class: these are equal but for blanks or the form of letters, or "
            "capitals",
            "strip them, and bring them into one form by unicodedata.normalize, or pass "
            "labels=[...] if these are two classes",
        )


def check_columns(argument: str, names: Iterable[Any]) -> None:
    """Raise where a column of a one-hot matrix marks missing labels, or two are of one class."""
    names = list(names)
    pairs = zip(names, distinct(names), strict=True)
    odd = [name for name, own in pairs if is_missing(name) or own in (("nan",), ("null",))]
    if odd:
        raise bad_value(
            argument,
            f"a column named {odd[0]!r}, which marks missing labels",
            "a column for each class",
            "drop it and its rows, or pass labels=[...] if it is the name of a class",
        )
    check_classes(argument, names)
