"""Printed text for a page: prose in lines that fit, and wide tables in parts, one under another."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

#: Characters of output that fit a window of 1400 px.
WIDTH = 90
#: What begins a row of a table is repeated with each part of it: words, in one of so many columns.
_LEADING = 5
_GAP = re.compile(r" {2,}")
_WORD = re.compile(r"[^\W\d]")


def fitted(text: str, width: int = WIDTH) -> str:
    """Return a text whose lines have at most so many characters, and all of whose words are kept.

    A line with two gaps of two spaces or more is a row of a table, as its neighbours are that have
    some too.
    """
    found: list[str] = []
    for table in _blocks(text.splitlines()):
        if len(table) > 1 and max(map(len, table)) > width:
            table = _squeezed(table)
        if len(table) == 1 or max(map(len, table)) <= width:
            found += [part for line in table for part in _prose(line, width)]
        else:
            found += _parts(table, width)
    return "\n".join(found)


def _is_row(line: str) -> bool:
    return len(_GAP.findall(line.strip())) >= 2


def _blocks(lines: list[str]) -> Iterator[list[str]]:
    """Yield the rows of each table together, and each other line by itself."""
    rows: list[str] = []
    for line in lines:
        if _is_row(line):
            rows.append(line)
            continue
        if rows:
            yield rows
        rows = []
        yield [line]
    if rows:
        yield rows


def _prose(line: str, width: int) -> list[str]:
    if len(line) <= width:
        return [line]
    indent = " " * min(len(line) - len(line.lstrip()), width // 4)
    return textwrap.wrap(
        line.strip(),
        width,
        initial_indent=indent,
        subsequent_indent=indent + "  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _columns(table: list[str]) -> list[slice]:
    """Return where the columns are: they end with a word of the head, or before two blanks.

    What is right-aligned ends with its head, so that one blank in all rows is enough there.
    """
    length = max(map(len, table))
    rows = [row.ljust(length + 2) for row in table]
    enough = 0.8 * len(rows)
    blank = [sum(row[i] == " " for row in rows) >= enough for i in range(length + 2)]
    heads = {match.start() for match in _GAP.finditer(table[0])}
    ends = {i for i in range(1, length) if blank[i] and not blank[i - 1]}
    cuts = sorted(i for i in ends if i in heads or blank[i + 1])
    return [slice(a, b) for a, b in zip([0, *cuts], [*cuts, length], strict=True)]


def _squeezed(table: list[str]) -> list[str]:
    """Leave two of the blanks that all rows have side by side."""
    length = max(map(len, table))
    blank = [not any(row[i : i + 1].strip() for row in table) for i in range(length)]
    kept = [i for i in range(length) if not all(blank[max(i - 2, 0) : i + 1])]
    return ["".join(row.ljust(length)[i] for i in kept).rstrip() for row in table]


def _n_leading(table: list[str], columns: list[slice]) -> int:
    """Return how many columns say which row it is."""
    last = 1
    for number, column in enumerate(columns[:_LEADING], 1):
        cells = [cell for row in table[1:] if (cell := row[column].strip())]
        words = sum(bool(_WORD.match(cell)) for cell in cells)
        if cells and words >= 0.8 * len(cells):
            last = number
    return last


def _parts(table: list[str], width: int) -> list[str]:
    columns = _columns(table)
    # The few rows that are out of line have a place of their own.
    cuts = [column.start for column in columns[1:]]
    across = [row for row in table if any(row[i : i + 1].strip() for i in cuts)]
    table = [row for row in table if row not in across]
    n = _n_leading(table, columns)
    widths = [column.stop - column.start for column in columns]
    while n > 1 and columns[n - 1].stop + max(widths[n:], default=0) > width:
        n -= 1
    leading = slice(0, columns[n - 1].stop)
    parts: list[list[slice]] = [[]]
    room = width - leading.stop
    for column in columns[n:]:
        if parts[-1] and column.stop - parts[-1][0].start > room:
            parts.append([])
        parts[-1].append(column)
    found = []
    for part in parts:
        for row in table:
            cells = "".join(row[column].ljust(column.stop - column.start) for column in part)
            found.append((row[leading].ljust(leading.stop) + cells).rstrip())
        found.append("")
    return found[:-1] + [part for row in across for part in _prose(row, width)]
