"""A journal of finished cells, from which a killed study resumes, and the dataset it becomes."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from propercal._data.messages import bad_value

if TYPE_CHECKING:
    import xarray as xr


class CellResult(NamedTuple):
    """Numbers of one cell."""

    cell: Any
    """The levels of the factors between cells: a Cell, or what a journal has of it, a tuple."""
    numbers: dict[str, Any]
    """Nested lists of numbers by name."""


class Journal:
    """Append-only lines of JSON: a header that names the study, then one finished cell a line.

    Each line reaches the disk before the next cell is taken up. A last line that a crash cut short
    is dropped, and its cell computed again.
    """

    def __init__(self, path: Path, header: dict[str, str]) -> None:
        self.path = path
        self._header = header
        self.finished = list(self._read())

    def _read(self) -> Iterator[CellResult]:
        if not self.path.exists():
            return
        content = self.path.read_bytes()
        complete = content[: content.rfind(b"\n") + 1]
        if len(complete) < len(content):
            os.truncate(self.path, len(complete))
        lines = complete.decode().splitlines()
        if not lines:
            return
        try:
            header, *records = [json.loads(line) for line in lines]
            results = [CellResult(tuple(r["cell"]), r["numbers"]) for r in records]
        except (ValueError, KeyError, TypeError) as error:
            raise bad_value(
                "path",
                f"{self.path.name} (not readable: {error})",
                "the journal of a study",
                "delete it to start over",
            ) from error
        different = [key for key in self._header if header.get(key) != self._header[key]]
        if different:
            raise bad_value(
                "path",
                self.path.name,
                "the journal of this very study, but it has another " + ", ".join(different),
                "finish that study with the code that began it, choose another path, or delete the "
                "journal to start over",
            )
        yield from results

    def __enter__(self) -> Self:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self.path.open("a", encoding="utf-8")
        if self.path.stat().st_size == 0:
            self._write(self._header)
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
        self._write({"cell": result.cell, "numbers": result.numbers})

    def _write(self, record: dict[str, Any]) -> None:
        # repr of a double, which json writes, reads back to the same double.
        self._file.write(json.dumps(record) + "\n")
        self._file.flush()
        os.fsync(self._file.fileno())


def write_dataset(dataset: xr.Dataset, path: Path) -> None:
    """Write netCDF so that `path` holds a whole dataset or what it held before."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.partial")
    encoding: dict[Any, dict[str, Any]] = {
        name: {"zlib": True, "complevel": 9, "shuffle": True, "_FillValue": None}
        for name, variable in dataset.data_vars.items()
        if variable.dtype.kind == "f" and variable.ndim
    }
    try:
        dataset.to_netcdf(temporary, engine="h5netcdf", encoding=encoding)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def read_dataset(path: Path) -> xr.Dataset:
    """Read a dataset into memory and close the file."""
    import xarray as xr

    return xr.load_dataset(path, engine="h5netcdf")
