"""The rows of a file in chunks, in their order, for what is updated as they come."""

from __future__ import annotations

import argparse
import csv
import io
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from propercal._files import formats
from propercal._files.columns import (
    Columns,
    check_classes,
    find_label_column,
    numbers_of,
    text_of,
    values_of,
)
from propercal._files.formats import SEPARATORS
from propercal._files.names import listed
from propercal._files.reading import holds_arrays
from propercal._files.standard_input import STANDARD_INPUT, suffix_of
from propercal.cli.each_file import read

if TYPE_CHECKING:
    import pandas as pd


class Chunk(NamedTuple):
    """Some rows in a row, as the holders of data that say the names of classes."""

    y_true: Any
    y_proba: Any
    from_logits: bool


def chunks(path: Path, options: argparse.Namespace, size: int) -> Iterator[Chunk]:
    """Yield the rows of a file; those of standard input as they come."""
    suffix, packed = formats.format_of(path)
    columns = Columns(
        options.label_column,
        None,
        tuple(options.drop),
        options.from_logits,
        options.pos_label,
        None,
        options.id_column,
        tuple(options.classes),
    )
    if path != STANDARD_INPUT and (holds_arrays(path) or suffix not in (*SEPARATORS, ".jsonl")):
        yield from _of_whole(path, options, columns, size)
        return
    lines: Iterable[str]
    if path == STANDARD_INPUT:
        suffix, lines = _standard_input(path)
    else:
        lines = io.StringIO(formats.read_text(path, packed=packed))
    for table in _tables(path, suffix, lines, size):
        yield _chunk(path, table, columns)


def _of_whole(
    path: Path, options: argparse.Namespace, columns: Columns, size: int
) -> Iterator[Chunk]:
    """Yield the rows of a file that is read as a whole."""
    import pandas as pd

    data = read(path, options)
    if not holds_arrays(path) and len(data.class_names) == 1:
        # Labels as the file has them, as text has: who reads them is told of the positive class.
        table, _ = formats.read_parquet(path)
        for start in range(0, len(table), size):
            some = table.iloc[start : start + size].reset_index(drop=True)
            yield _chunk(path, some, columns)
        return
    y_true, y_proba = data.y_true, data.y_proba
    names = data.class_names
    known = data.labels is not None and len(names) > 1 and y_true.ndim == 1
    labels = np.array(names)[y_true] if known else y_true
    for start in range(0, len(y_proba), size):
        rows = slice(start, start + size)
        proba = pd.DataFrame(y_proba[rows], columns=list(names)) if known else y_proba[rows]
        yield Chunk(labels[rows], proba, data.from_logits)


def _standard_input(path: Path) -> tuple[str, Iterator[str]]:
    """Return the suffix of what is on standard input, and its lines as they come."""
    stream = sys.stdin
    first = stream.readline()
    if "\x00" in first or first.startswith("\x1f") or first[:2] == "PK":
        raise ValueError(
            f"{path}: no text on standard input: expected csv, tsv or jsonl, unpacked (zcat), so "
            "that rows can be read as they come."
        )
    first = first.removeprefix("\ufeff")

    def lines() -> Iterator[str]:
        yield first
        # Not `yield from`: a pipe is read ahead by that.
        while line := stream.readline():
            yield line

    return suffix_of(first.encode()), lines()


def _tables(path: Path, suffix: str, lines: Iterable[str], size: int) -> Iterator[pd.DataFrame]:
    """Yield tables of so many rows at most, of text or of objects of JSON."""
    import pandas as pd

    if suffix == ".jsonl":
        filled = (line for line in lines if line.strip())
        names: list[str] = []
        while some := list(islice(filled, size)):
            found = formats.read_objects(path, "".join(some))
            if names and set(found) != set(names):
                raise ValueError(
                    f"{path}: a line has the names {listed(list(found))}: expected "
                    f"{listed(names)}, as before; give each line all of them."
                )
            names = names or list(found)
            yield pd.DataFrame({name: found[name] for name in names}, dtype=object)
        return
    rows = csv.reader(lines, delimiter=SEPARATORS[suffix], skipinitialspace=True)
    with formats.damage_said(path, suffix.removeprefix(".")):
        header = [name.strip() for name in next(rows, [])]
        formats.check_distinct(path, header)
        filled_rows = (row for row in rows if row)
        while found_rows := list(islice(filled_rows, size)):
            _check_lengths(path, header, found_rows)
            yield pd.DataFrame(found_rows, columns=header, dtype=str)


def _check_lengths(path: Path, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    for row in rows:
        if len(row) != len(header):
            raise ValueError(
                f"{path}: a row of {len(row)} fields, {listed(row)}: expected {len(header)}, as "
                "the header has; write each row anew."
            )


def _chunk(path: Path, table: pd.DataFrame, columns: Columns) -> Chunk:
    """Return rows of a table with names of classes; what labels mean is for others to settle."""
    import pandas as pd

    names = list(table.columns)
    columns.check_drop(path, names)
    label = find_label_column(path, names, columns.label)
    labels = [text_of(value) for value in table[label]]
    if "" in labels:
        raise ValueError(
            f"{path}: no label in row {labels.index('')}: expected one in every row; leave out "
            "rows whose outcome is not known yet."
        )
    lists = [key for key in ("probs", "logits") if key in names and _is_list(table[key].iloc[0])]
    if lists:
        numbers = np.array(table[lists[0]].tolist(), dtype=np.float64)
        named = list(columns.classes) or [str(i) for i in range(numbers.shape[1])]
        proba: Any = pd.DataFrame(numbers, columns=named)
        return Chunk(values_of(labels), proba, lists[0] == "logits")
    columns.check_named(path, names)
    apart = (label, columns.id_among(names), *columns.drop)
    classes = list(columns.classes) or [name for name in names if name not in apart]
    check_classes(path, classes, labels)
    found = {name: numbers_of(path, table, name) for name in classes}
    if len(classes) == 1:
        proba = pd.Series(found[classes[0]], name=classes[0])
    else:
        proba = pd.DataFrame(found)
    return Chunk(values_of(labels), proba, columns.from_logits)


def _is_list(value: object) -> bool:
    return isinstance(value, list)
