"""What a page is made of: sections of paragraphs, figures and tables, without any markup."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple


class Cell(NamedTuple):
    """What stands in a table."""

    text: str
    note: str = ""
    """Smaller, below it."""
    bar: float | None = None
    """Length of a bar beside the number, of 1."""


@dataclass(frozen=True)
class Paragraph:
    """Sentences."""

    kind: ClassVar[str] = "paragraph"
    text: str
    role: str = "plain"
    """"plain", "lead" for the one sentence to be repeated, or "small"."""


@dataclass(frozen=True)
class Items:
    """Sentences of equal rank."""

    kind: ClassVar[str] = "items"
    texts: Sequence[str]
    role: str = "plain"
    """"plain", or "caution"."""


@dataclass(frozen=True)
class Figure:
    """A picture, and what it shows in words for those who do not see it."""

    kind: ClassVar[str] = "figure"
    key: str
    svg: str
    title: str
    description: str
    caption: str


@dataclass(frozen=True)
class Table:
    """Rows of cells, the first of which names its row."""

    kind: ClassVar[str] = "table"
    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    words: frozenset[int] = frozenset({0})
    """Columns of words; the others are of numbers."""


@dataclass(frozen=True)
class Terms:
    """Words and what they mean."""

    kind: ClassVar[str] = "terms"
    pairs: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Code:
    """Lines of Python."""

    kind: ClassVar[str] = "code"
    text: str


Block = Paragraph | Items | Figure | Table | Terms | Code


@dataclass(frozen=True)
class Section:
    """A part of the page with a title."""

    key: str
    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Page:
    """All that is said."""

    title: str
    subtitle: str
    date: str | None
    sections: Sequence[Section]
    version: str
