"""A table of decompositions in 100 columns: a line for each file, and one for each loss below."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from propercal._data.words.messages import some_rows
from propercal._files.names import shortened, shown
from propercal._results.estimates import intervals
from propercal._results.saved import as_mapping
from propercal.cli.output import WIDTH, end_of_interval, number

if TYPE_CHECKING:
    from propercal import BregmanGenerator, Decomposition

#: Heads of columns, with the least width of each.
_HEADS = {
    "risk": 8,
    "cal. error": 10,
    "interval": 16,
    "refinement": 10,
    "sharpness": 9,
    "uncertainty": 11,
    "skill": 7,
}


class Table:
    """Results of one file after the other, printed as they come."""

    def __init__(self, generators: Iterable[BregmanGenerator]) -> None:
        self._name_width = max(len("loss") + 2, *(len(shown(each.name)) for each in generators))
        self._has_header = False

    def print_file(self, path: Path, results: Sequence[Decomposition]) -> None:
        """Print the results of a file, below the header if it is the first."""
        first = results[0]
        has_interval = "calibration_error" in first.standard_errors
        if not self._has_header:
            print(_title(first))
            self._print_row("loss", self._heads(first), has_interval=has_interval)
            self._has_header = True
        size = _size(first)
        print(f"{shortened(path, WIDTH - len(size) - 2)}: {size}")
        for result in results:
            self._print_row(f"  {shown(result.generator.name)}", _cells(result), has_interval)
        for note in _notes(results):
            print(f"    {note}")
        sys.stdout.flush()

    def _heads(self, result: Decomposition) -> dict[str, str]:
        return {head: head for head in _HEADS} | {
            "interval": f"{100 * result.confidence_level:.4g}% interval"
        }

    def _print_row(self, name: str, cells: dict[str, str], has_interval: bool) -> None:
        texts = [
            f"{cells[head]:>{width}}"
            for head, width in _HEADS.items()
            if has_interval or head != "interval"
        ]
        print(f"{name:<{self._name_width + 2}} {'  '.join(texts)}".rstrip())


def _title(result: Decomposition) -> str:
    return f"{result.notion} calibration, method {result.method}, kernel {result.kernel}"


def _size(result: Decomposition) -> str:
    groups = "" if result.n_groups is None else f" in {result.n_groups} groups"
    return f"{result.n_samples} rows{groups}, {result.n_classes} classes"


def _cells(result: Decomposition) -> dict[str, str]:
    ends = intervals(result).get("calibration_error", ())
    names = {"cal. error": "calibration_error", "skill": "skill_score"}
    terms = [head for head in _HEADS if head != "interval"]
    values = {head: float(getattr(result, names.get(head, head))) for head in terms}
    cells = {head: number(value) for head, value in values.items()}
    return cells | {
        "interval": ", ".join(map(end_of_interval, ends)),
        "skill": f"{values['skill']:.4f}",
    }


def _notes(results: Sequence[Decomposition]) -> list[str]:
    infinite = [
        f"infinite {result.generator.name} loss at {some_rows(rows)}"
        for result in results
        if (rows := result.infinite_loss_rows)
    ]
    return [_bandwidths(results), *infinite]


def _bandwidths(results: Sequence[Decomposition]) -> str:
    if all(math.isinf(result.bandwidth) for result in results):
        return "no kernel correction"
    found = {
        result.generator.name: "none" if math.isinf(result.bandwidth) else f"{result.bandwidth:.4g}"
        for result in results
    }
    if len(set(found.values())) == 1:
        return f"bandwidth {next(iter(found.values()))}"
    return "bandwidth " + ", ".join(f"{value} ({name})" for name, value in found.items())


def record(path: Path, result: Decomposition, notes: list[str]) -> dict[str, Any]:
    """Return a result as an object for JSON."""
    skill = float(result.skill_score)
    more = {} if math.isnan(skill) else {"skill_score": skill}
    return {"file": str(path), **more, **as_mapping(result), "notes": notes}
