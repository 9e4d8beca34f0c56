"""The rows of a file in chunks, in their order, for what is updated as they come."""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from propercal._data.inputs.holders import is_default
from propercal._data.rows.times import fall, times_of
from propercal._files import formats, objects, pooled, predicted
from propercal._files.arrays import labels_of
from propercal._files.columns import Columns, check_categories, check_classes, find_label_column
from propercal._files.formats import SEPARATORS
from propercal._files.left_out import left_out
from propercal._files.left_out_times import Times, times_left_out
from propercal._files.listed_classes import with_classes
from propercal._files.names import listed
from propercal._files.numbers import numbers_of
from propercal._files.prediction_file import SCORE_KEYS, is_listed
from propercal._files.quoted import fields
from propercal._files.reading import holds_arrays
from propercal._files.spread_objects import spread
from propercal._files.standard_input import STANDARD_INPUT, suffix_of
from propercal._files.tables import numbers_of_lists
from propercal._files.values import in_table, texts_of, value_of
from propercal.cli.each_file import read

if TYPE_CHECKING:
    import pandas as pd


class Chunk(NamedTuple):
    """Some rows in a row, as the holders of data that say the names of classes."""

    y_true: Any
    y_proba: Any
    from_logits: bool
    is_counted: bool = False
    """Whether labels, which have the names of columns, were numbers of these, or a caller alone
    gave the columns their names."""
    in_order: bool = True
    """Whether columns are no keys of objects of JSON, which have no order."""
    ids: Sequence[str] = ()
    """What tells rows apart."""
    times: Times | None = None
    """The first and the last time of rows, where a column that is left out says them."""


def chunks(path: Path, options: argparse.Namespace, size: int) -> Iterator[Chunk]:
    """Yield the rows of a file; those of standard input as they come."""
    suffix, packed = formats.format_of(path)
    whole = suffix not in (*SEPARATORS, ".jsonl", ".parquet")
    if path != STANDARD_INPUT and (holds_arrays(path) or whole):
        yield from _of_arrays(path, options, size)
        return
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
    lines: Iterable[str]
    if path == STANDARD_INPUT:
        suffix, lines = _standard_input(path)
    elif suffix == ".parquet":
        yield from _of_parquet(path, columns, size)
        return
    else:
        lines = io.StringIO(formats.read_text(path, packed=packed))
    for table in _tables(path, suffix, lines, size):
        yield _chunk(path, table, columns)._replace(in_order=suffix != ".jsonl")


def _of_parquet(path: Path, columns: Columns, size: int) -> Iterator[Chunk]:
    """Yield the rows of a parquet file, which is read as a whole."""
    with formats.damage_said(path, "parquet"):
        found = formats.read_parquet(path)
        table, rows = columns.with_levels(found.table) if found.indexed else (found.table, None)
        rows = None if rows is None or is_default(rows) else rows
        for start in range(0, len(table), size):
            part = slice(start, start + size)
            own = None if rows is None else rows[part]
            yield _chunk(path, table.iloc[part], columns, own, found.lost)


def _of_arrays(path: Path, options: argparse.Namespace, size: int) -> Iterator[Chunk]:
    """Yield the rows of a file of arrays, under the names of classes that it has."""
    import pandas as pd

    data = read(path, options)
    names, y_proba = list(data.class_names), data.y_proba
    labels: Any = data.y_true
    if y_proba.ndim == 1 or y_proba.shape[1] == 1:
        # What labels mean beside one column is settled by all files together.
        labels = labels_of(path)
    elif data.names_of_labels:
        labels = np.array(names)[labels] if labels.ndim == 1 else labels
    counted = data.is_counted or is_listed(data)
    ids = None if data.ids is None else pd.Index(data.ids)
    index = None if ids is None or not (times_of(ids) or fall(ids)) else ids
    with left_out(data) as others:
        times = times_left_out(
            path, {name: others[name]() for name in others if name != options.id_column}
        )
    for start in range(0, len(y_proba), size):
        part = slice(start, start + size)
        rows = None if index is None else index[part]
        proba = _table(y_proba[part], names, rows)
        # The columns of marks are those of predictions.
        own = names if labels.ndim == 2 and data.names_of_labels else []
        said = () if data.ids is None else data.ids[part].tolist()
        y_true = _table(labels[part], own, rows)
        yield Chunk(y_true, proba, data.from_logits, counted, ids=said, times=times)


def _table(values: npt.NDArray[Any], names: Sequence[str], rows: Any) -> Any:
    """Return values under the names of columns and of rows, where there are some."""
    import pandas as pd

    if not names and rows is None:
        return values
    if values.ndim == 1:
        return pd.Series(values, rows, name=names[0] if names else None)
    return pd.DataFrame(values, rows, list(names) or None)


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
            found = objects.read_objects(path, "".join(some))
            if names and set(found) != set(names):
                raise ValueError(
                    f"{path}: a line has the names {listed(list(found))}: expected "
                    f"{listed(names)}, as before; give each line all of them."
                )
            names = names or list(found)
            yield pd.DataFrame({name: found[name] for name in names}, dtype=object)
        return
    rows = fields(path, lines, SEPARATORS[suffix])
    with formats.damage_said(path, suffix.removeprefix(".")):
        header = [name.strip() for name in next(rows, [])]
        formats.check_separator(path, header, SEPARATORS[suffix])
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
                "the header has; write each row anew, numbers with points and not with commas."
            )


def _check_left_out(
    path: Path,
    table: pd.DataFrame,
    read: Collection[str | None],
    held: tuple[Any, Any],
    columns: Columns,
) -> Times | None:
    """Raise if what is left out contradicts how the rest is read; return the times of rows.

    Such are predicted classes, and times that go back.
    """
    others = {str(x): table[x] for x in table if x not in read}
    predicted.check_chunk(
        path,
        others,
        *held,
        from_logits=columns.from_logits,
        pos_label=value_of(columns.pos_label),
    )
    pooled.warn_of_pooled(path, others)
    return times_left_out(path, others)


def _chunk(
    path: Path,
    table: pd.DataFrame,
    columns: Columns,
    rows: Any = None,
    lost: Collection[str] = (),
) -> Chunk:
    """Return rows of a table with names of classes; what labels mean is for others to settle.

    `rows` are an index of their own, unless ids are times. `lost` are columns whose categories the
    file has not kept.
    """
    import pandas as pd

    table, columns = spread(path, table, columns)
    names = list(table.columns)
    columns.check_drop(path, names)
    label = find_label_column(path, names, columns.label)
    labels = texts_of(path, label, table[label])
    if "" in labels:
        raise ValueError(
            f"{path}: no label in row {labels.index('')}: expected one in every row; leave out "
            "rows whose outcome is not known yet."
        )
    own = columns.id_among(names)
    said = [] if own is None or own not in names else texts_of(path, own, table[own])
    ids = pd.Index(said)
    rows = ids if said and (times_of(ids) or fall(ids)) else rows
    # Under the name of their column, and in the order of its categories.
    y_true = in_table(labels, table[label], names)
    y_true.index = pd.RangeIndex(len(labels)) if rows is None else rows
    lists = [key for key in SCORE_KEYS if key in names and isinstance(table[key].iloc[0], list)]
    if lists:
        table, own_names = with_classes(path, table, lists[0], columns, labels)
        numbers = numbers_of_lists(path, table, lists, columns, label)
        proba: Any = _table(numbers, columns.classes or own_names, rows)
        times = _check_left_out(path, table, (label, own, *lists), (y_true, proba), columns)
        listed = bool(columns.classes) and not own_names
        return Chunk(y_true, proba, lists[0] == "logits", listed, ids=said, times=times)
    columns.check_named(path, names)
    apart = (label, own, *columns.drop)
    classes = list(columns.classes) or [name for name in names if name not in apart]
    check_classes(path, classes, labels)
    if label in lost:
        check_categories(path, label, labels, classes)
    found = {name: numbers_of(path, table, name) for name in classes}
    if len(classes) == 1:
        proba = pd.Series(found[classes[0]], rows, name=classes[0])
    else:
        proba = pd.DataFrame(found, rows)
    times = _check_left_out(path, table, (label, own, *classes), (y_true, proba), columns)
    return Chunk(y_true, proba, columns.from_logits, ids=said, times=times)
