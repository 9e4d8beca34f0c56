"""What the command line prints: messages, and results as a table, JSON, csv or markdown."""

from __future__ import annotations

import csv
import json
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from propercal._files.names import one_line, shown
from propercal.cli.words import in_words

#: Columns of a terminal.
WIDTH = 100


def reason(error: BaseException) -> str:
    """Return what an error says."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or "not enough memory"


def named_reason(error: BaseException) -> str:
    """Return what an error says, after the file that one of the system is about."""
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}"
    return reason(error)


def say(path: object, note: str) -> None:
    """Print one line on standard error that names the file once."""
    line = one_line(in_words(note.removeprefix(f"{path}: ")))
    print(f"propercal: {shown(path)}: {shown(line)}", file=sys.stderr)


def say_plainly(note: str) -> None:
    """Print one line on standard error."""
    print(f"propercal: {shown(one_line(in_words(note)))}", file=sys.stderr)


def finite(value: Any) -> Any:
    """Return a value as JSON has it, which knows no number that is not finite."""
    if isinstance(value, Mapping):
        return {str(name): finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [finite(each) for each in value]
    if hasattr(value, "item"):
        value = value.item()
    if not isinstance(value, float) or math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def print_records(
    records: Sequence[Mapping[str, Any]], form: str, brief: Sequence[str] | None = None
) -> None:
    """Print objects as JSON, csv or markdown.

    `brief` are the columns of markdown, which is for people; JSON and csv have all.
    """
    if form == "json":
        print(json.dumps(finite(records), indent=2, allow_nan=False))
        return
    rows = [_flat(record) for record in records]
    names = list(dict.fromkeys(name for row in rows for name in row))
    if form == "csv":
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(names)
        writer.writerows([_cell(row.get(name)) for name in names] for row in rows)
        return
    print_markdown(rows, names if brief is None else [each for each in brief if each in names])


def print_markdown(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> None:
    """Print a table of markdown, numbers on the right."""
    numeric = [any(isinstance(row.get(name), float | int) for row in rows) for name in names]
    print(f"| {' | '.join(name.replace('_', ' ') for name in names)} |")
    print(f"|{'|'.join('---:' if right else '---' for right in numeric)}|")
    for row in rows:
        print(f"| {' | '.join(_in_markdown(row.get(name)) for name in names)} |")


def _flat(record: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return an object as one row: intervals as two columns, other lists as text."""
    row: dict[str, Any] = {}
    for name, value in record.items():
        if isinstance(value, Mapping):
            inner = "" if name == "intervals" else f"{name}_"
            row |= _flat(value, f"{prefix}{inner}")
        elif isinstance(value, list | tuple) and len(value) == 2 and _are_numbers(value):
            row[f"{prefix}{name}_lower"], row[f"{prefix}{name}_upper"] = value
        elif isinstance(value, list | tuple):
            row[f"{prefix}{name}"] = "; ".join(map(str, value))
        else:
            row[f"{prefix}{name}"] = value
    return row


def _are_numbers(values: Sequence[Any]) -> bool:
    return all(isinstance(each, float) for each in values)


def _cell(value: Any) -> str:
    """Return a cell of csv, from which the same number is read."""
    if value is None:
        return ""
    value = finite(value)
    return repr(value) if isinstance(value, float) else shown(value)


def _in_markdown(value: Any) -> str:
    if value is None:
        return ""
    text = number(value) if isinstance(value, float) else shown(value)
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")


def number(value: float) -> str:
    """Return a number in eight characters or little more."""
    if not math.isfinite(value) or value == 0 or abs(value) >= 1e-3:
        return f"{value:.5f}"
    return f"{value:#.3g}"


def end_of_interval(value: float) -> str:
    """Return an end of an interval, which needs fewer digits than what it is of."""
    if value == 0 or abs(value) >= 1e-2:
        return f"{value:.4f}"
    return f"{value:#.2g}"


def file_of(path: Path | str) -> str:
    """Return the name of a file for an object of JSON."""
    return str(path)
