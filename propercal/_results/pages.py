"""Tables of results in a notebook: one form, in the colours of the page, with names escaped."""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

#: What turns the direction of the text that follows.
_TURNS = set("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


class Page(NamedTuple):
    """A table in words."""

    title: str
    rows: Sequence[Sequence[str]]
    """The first cell of each names it."""
    notes: Sequence[str] = ()
    head: Sequence[str] = ()
    """What the columns are, where that has to be said."""


def as_page(page: Page) -> str:
    """Return a table as HTML, without colours of its own: light and dark pages keep theirs."""
    head = "".join(f"<th>{escaped(cell)}</th>" for cell in page.head)
    body = "".join(_row(row) for row in page.rows)
    notes = "<br>".join(map(escaped, page.notes))
    return (
        f"<table><caption>{escaped(page.title)}</caption>"
        f"{f'<tr>{head}</tr>' if head else ''}{body}</table>"
        f"{f'<small>{notes}</small>' if notes else ''}"
    )


def _row(cells: Sequence[str]) -> str:
    name, *rest = map(escaped, cells)
    columns = "".join(f"<td>{cell}</td>" for cell in rest)
    return f"<tr><th style='text-align:left'>{name}</th>{columns}</tr>"


def escaped(text: object) -> str:
    """Return text that a page shows and does not obey, in one line."""
    words = " ".join(str(text).split()) if str(text).strip() else str(text)
    return html.escape("".join(map(_shown, words)))


def _shown(letter: str) -> str:
    if unicodedata.category(letter) in ("Cc", "Cs") or letter in _TURNS:
        return letter.encode("unicode_escape", "surrogatepass").decode("ascii")
    return letter
