"""Lines of objects of JSON: read as columns, and what is within them as it was."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from propercal._files.formats import check_distinct
from propercal._files.names import listed, reason


class Pairs(list[tuple[str, Any]]):
    """An object of JSON as the pairs that it has, of which two may have one name."""


def plain(value: Any) -> Any:
    """Return what is within an object of JSON as it was, to be written again."""
    if isinstance(value, Pairs):
        return {name: plain(each) for name, each in value}
    return [plain(each) for each in value] if isinstance(value, list) else value


def read_objects(path: Path, text: str) -> dict[str, list[Any]]:
    """Return the columns of a jsonl file, in which each line is an object with the same names."""
    columns: dict[str, list[Any]] = {}
    n_lines = 0
    # Other marks that Python ends lines at may stand in text.
    for number, line in enumerate(re.split(r"\r\n|\r|\n", text), start=1):
        if not line.strip():
            continue
        n_lines += 1
        try:
            pairs = json.loads(line, object_pairs_hook=Pairs)
        except (ValueError, RecursionError) as error:
            raise ValueError(
                f"{path}: line {number} is no object of JSON ({reason(error)}); write one object "
                "a line."
            ) from error
        if not isinstance(pairs, Pairs):
            raise ValueError(f"{path}: line {number} is no object of JSON; write one a line.")
        check_distinct(path, [name for name, _ in pairs])
        if n_lines == 1:
            columns = {name.strip(): [] for name, _ in pairs}
        if {name.strip() for name, _ in pairs} != set(columns):
            names = [name for name, _ in pairs]
            raise ValueError(
                f"{path}: line {number} has the names {listed(names)}: expected those of the first "
                f"line, {listed(list(columns))}; give each line all of them."
            )
        for name, value in pairs:
            columns[name.strip()].append(value)
    if not n_lines:
        raise ValueError(f"{path}: no line: expected one object of JSON a line.")
    return columns
