"""Quotation marks in csv and tsv: text that begins with one must not swallow the rows that follow.

Files of texts are often written without quoting. A mark at the beginning of a field then opens one
that ends at the next mark, perhaps some rows later.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

_NUMBER = re.compile(r"\s*[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?\s*")
#: Blanks after a field in quotation marks.
_BLANKS = re.compile(r'(?<=") +')


def fields(path: Path, lines: Iterable[str], separator: str) -> Iterator[list[str]]:
    """Yield the fields of each row of a csv or tsv file, or raise where a field holds rows."""
    taken: list[str] = []

    def noted() -> Iterator[str]:
        for line in lines:
            taken.append(line)
            yield line

    width, numbers = 0, set[int]()
    reader = csv.reader(noted(), delimiter=separator, skipinitialspace=True)
    for row in reader:
        text = "".join(taken)
        taken.clear()
        width = width or len(row)
        if not numbers and len(row) == width:
            numbers = {i for i, each in enumerate(row) if _NUMBER.fullmatch(each)}
        if '"' in text and (
            not _is_closed(text, separator) or _holds_rows(row, separator, width, numbers)
        ):
            raise ValueError(
                f"{path}: the row that ends in line {reader.line_num} has a field that begins with "
                "a quotation mark, and what follows it is no single field: expected a mark at its "
                "end too, and marks within it twice; write the table anew, as csv.writer or "
                "DataFrame.to_csv do, or leave such marks out."
            )
        yield row


def _is_closed(text: str, separator: str) -> bool:
    """Tell whether each field that begins with a mark ends with one."""
    options = {"delimiter": separator, "skipinitialspace": True, "strict": True}
    for given in (text, _BLANKS.sub("", text)):
        try:
            for _ in csv.reader(given.splitlines(keepends=True), **options):  # type: ignore[arg-type]
                pass
        except csv.Error:
            continue
        return True
    return False


def _holds_rows(row: Sequence[str], separator: str, width: int, numbers: set[int]) -> bool:
    """Tell whether the lines of one field are rows of so many fields, with numbers in their places.

    Text of several lines has none there.
    """
    for place, field in enumerate(row):
        first, *others = field.split("\n")
        if not others:
            continue
        rows = [
            [*row[:place], *first.split(separator)],
            *(each.split(separator) for each in others[:-1]),
            [*others[-1].split(separator), *row[place + 1 :]],
        ]
        wanted = numbers - {place} if len(row) == width else numbers
        if wanted and all(
            len(each) == width and all(_NUMBER.fullmatch(each[i]) for i in wanted) for each in rows
        ):
            return True
    return False
