"""What the command line shows: a row of a table or an object of JSON for a result, a message."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from propercal._data.messages import some_rows
from propercal._saved import as_mapping, intervals
from propercal.result import TERMS

if TYPE_CHECKING:
    from propercal import BregmanGenerator, Decomposition


def one_line(message: object) -> str:
    """Return a message without its line breaks."""
    return " ".join(str(message).split())


def shown(text: object) -> str:
    """Return text that a terminal shows and does not obey: control characters are escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(text))


class Table:
    """Rows of fixed width, printed as the results come."""

    def __init__(self, paths: Iterable[Path], generators: Iterable[BregmanGenerator]) -> None:
        self._path_width = max(len("file"), *(len(shown(path)) for path in paths))
        self._name_width = max(len("generator"), *(len(each.name) for each in generators))
        self._has_header = False

    def print_row(self, path: Path, result: Decomposition) -> None:
        """Print a result, below the header if it is the first."""
        if not self._has_header:
            heads = ["risk", "cal. error", "refinement", "sharpness", "uncertainty", "bandwidth"]
            cells = [f"{head:>11}" for head in heads]
            if "calibration_error" in result.standard_errors:
                cells.insert(2, f"{f'{result.confidence_level:.0%} interval':>22}")
            numbers = "  ".join(cells)
            self._print("file", "generator", f"{numbers}  {'n':>7}  {'k':>4}  notes")
            self._has_header = True
        cells = [f"{float(getattr(result, term)):>11.6f}" for term in TERMS]
        if "calibration_error" in result.standard_errors:
            ends = intervals(result).get("calibration_error", ())
            cells.insert(2, f"{', '.join(f'{end:.6f}' for end in ends):>22}")
        numbers = "  ".join(cells)
        size = f"{result.n_samples:>7}  {result.n_classes:>4}"
        line = f"{numbers}  {result.bandwidth:>11.4g}  {size}  {_notes(result)}"
        self._print(shown(path), result.generator.name, line)

    def _print(self, path: str, name: str, rest: str) -> None:
        print(f"{path:<{self._path_width}}  {name:<{self._name_width}}  {rest}".rstrip())
        sys.stdout.flush()


def _notes(result: Decomposition) -> str:
    rows = result.infinite_loss_rows
    notes = [] if result.n_groups is None else [f"{result.n_groups} groups"]
    return "; ".join([*notes, *([f"infinite loss at {some_rows(rows)}"] if rows else [])])


def record(path: Path, result: Decomposition, notes: list[str]) -> dict[str, Any]:
    """Return a result as an object for JSON."""
    return {"file": str(path), **as_mapping(result), "notes": notes}
