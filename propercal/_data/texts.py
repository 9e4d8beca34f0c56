"""Texts that stand for no value, or are equal but for what no eye sees.

Tables that were written and read again have such texts among names of classes and groups, where
each would be a class or a group of its own.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

#: What ``pandas.read_csv`` takes for missing, and what Python, R and databases write for it.
_NOTHING = {
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"),
    *("<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null", "NaT"),
    *("NA_character_", "\\N"),
}


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


def alike(texts: Iterable[str]) -> tuple[str, str] | None:
    """Return two of different texts that are equal but for blanks or the form of letters."""
    known: dict[str, str] = {}
    for text in texts:
        other = known.setdefault(as_seen(text), text)
        if other != text:
            return other, text
    return None
