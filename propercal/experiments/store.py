"""A journal of finished cells, from which a killed study resumes."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from propercal._data.words.messages import bad_value
from propercal.experiments import datasets
from propercal.experiments.sources import differences


class CellResult(NamedTuple):
    """Numbers of one cell."""

    cell: Any
    """The levels of the factors between cells: a Cell, or what a journal has of it, a tuple."""
    numbers: dict[str, Any]
    """Nested lists of numbers by name."""


class Journal:
    """Append-only lines of JSON: a header that names the study, then one finished cell a line.

    Each line reaches the disk before the next cell is taken up. It begins with a checksum of itself
    and the header, so that a line that was cut short, changed or put here from another journal is
    noticed: it is dropped, and its cell computed again.

    Parameters
    ----------
    path : Path
    header : mapping
        What has to be equal for the journal to be of this study and of this code.
    cells : mapping, optional
        The cells of the study by their levels; any by default.
    """

    def __init__(
        self, path: Path, header: Mapping[str, str], cells: Mapping[Any, Any] | None = None
    ) -> None:
        self.path = path
        self._header = dict(header)
        self._key = json.dumps(self._header)
        self.damaged = 0
        self.finished = list(self._read(cells))

    def _read(self, cells: Mapping[Any, Any] | None) -> Iterator[CellResult]:
        if not self.path.exists():
            return
        # What follows the last newline was cut short, or is nothing.
        first, *lines = self.path.read_bytes().split(b"\n")
        if not lines:
            self.damaged = bool(first)
            return
        header = _record(first, "")
        if header is None:
            self.damaged += 1
        else:
            self._check(header)
            self._key = json.dumps(header)
        seen: set[Any] = set()
        for line in lines:
            record = _record(line, self._key)
            if record is None:
                self.damaged += bool(line)
                continue
            cell = tuple(record["cell"])
            if not (cells is None or cell in cells):
                self.damaged += 1
            elif cell not in seen:
                seen.add(cell)
                yield CellResult(cell if cells is None else cells[cell], record["numbers"])
        if header is None and not seen:
            raise bad_value(
                "path",
                f"{self.path.name} (not readable)",
                "the journal of this study",
                "delete it to start over",
            )

    def _check(self, header: Mapping[str, Any]) -> None:
        different = differences(header, self._header)
        if different:
            raise bad_value(
                "path",
                self.path.name,
                "the journal of this very study, but it has another " + ", ".join(different),
                "finish that study with the code that began it, choose another path, or delete the "
                "journal to start over",
            )

    def __enter__(self) -> Self:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if self.damaged:
            self._mend()
        self._file = self.path.open("ab")
        if self.path.stat().st_size == 0:
            self._write(self._header, "")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()

    def append(self, result: CellResult) -> None:
        """Record a finished cell for good."""
        self._write(_contents(result), self._key)

    def _mend(self) -> None:
        """Write the lines that are whole to a new file, and put it in the place of the old one."""
        lines = "1 line was" if self.damaged == 1 else f"{self.damaged} lines were"
        datasets.say(f"{self.path.name}: {lines} damaged; what they held is computed anew.")
        lines_kept = [_line(json.loads(self._key), "")]
        lines_kept += [_line(_contents(result), self._key) for result in self.finished]
        part = self.path.with_name(f".{self.path.name}.partial")
        try:
            datasets.write_file(part, b"".join(lines_kept))
            part.replace(self.path)
        finally:
            part.unlink(missing_ok=True)

    def _write(self, record: Mapping[str, Any], key: str) -> None:
        self._file.write(_line(record, key))
        self._file.flush()
        os.fsync(self._file.fileno())


def _contents(result: CellResult) -> dict[str, Any]:
    return {"cell": result.cell, "numbers": result.numbers}


def _checksum(key: str, text: str) -> str:
    return hashlib.sha256(f"{key}\n{text}".encode()).hexdigest()[:16]


def _line(record: Mapping[str, Any], key: str) -> bytes:
    # repr of a double, which json writes, reads back to the same double.
    text = json.dumps(record)
    return f"{_checksum(key, text)} {text}\n".encode()


def _record(line: bytes, key: str) -> dict[str, Any] | None:
    """Return what a line holds, or None if it is not what was written."""
    try:
        given, _, text = line.decode().partition(" ")
        found = json.loads(text) if given == _checksum(key, text) else None
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
