"""Tables and columns of any library but pandas, which narwhals and pyarrow read."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from propercal._array import is_numpy
from propercal._data.inputs.held import Held, of_all
from propercal._data.inputs.named_rows import names_of_rows
from propercal._data.inputs.reading import WIDE, read_array
from propercal._data.words.messages import bad_value
from propercal._data.words.tokens import named
from propercal._typing import Array


def of_arrow(values: object) -> Any:
    """Return pyarrow's data as a table or a chunked array without dictionaries; else None."""
    pa: Any = sys.modules.get("pyarrow")
    if pa is None:
        return None
    values = as_whole_table(values)
    if isinstance(values, pa.Array):
        values = pa.chunked_array([values])
    if isinstance(values, pa.ChunkedArray):
        return (
            values.cast(values.type.value_type) if pa.types.is_dictionary(values.type) else values
        )
    if isinstance(values, pa.Table):
        plain = [of_arrow(each) for each in values.columns]
        return pa.table(plain, names=values.column_names) if plain else values
    return None


def as_whole_table(values: object) -> object:
    """Return a batch of pyarrow as a table, and other data as they are."""
    pa: Any = sys.modules.get("pyarrow")
    if pa is not None and isinstance(values, pa.RecordBatch):
        return pa.Table.from_batches([values])
    return values


def with_dictionary(argument: str, held: Held, values: Any) -> Held:
    """Note the names of all classes, where pyarrow has them in a dictionary."""
    pa: Any = sys.modules["pyarrow"]
    if isinstance(values, pa.Table | pa.RecordBatch):
        one = values.num_columns == 1
        return with_dictionary(argument, held, values.column(0)) if one else held
    if not pa.types.is_dictionary(values.type):
        return held
    chunks = values.chunks if isinstance(values, pa.ChunkedArray) else [values]
    found = {tuple(chunk.dictionary.to_pylist()) for chunk in chunks}
    ordered = bool(values.type.ordered)
    if len(found) > 1 and ordered:
        raise bad_value(
            argument,
            "chunks whose dictionaries order different classes",
            "one order of classes",
            "call .unify_dictionaries(), or pass labels=[...] and text",
        )
    if len(found) != 1:
        return held
    names = found.pop()
    noted = of_all(held, names, ordered=ordered)
    if noted.unordered is None:
        return noted
    # Encoding lists what occurs in the order in which it came up, which means nothing.
    codes = (chunk.indices.drop_null().unique().to_pylist() for chunk in chunks)
    came_up = list(dict.fromkeys(chain.from_iterable(codes))) == list(range(len(names)))
    return held if came_up else noted


def of_table(argument: str, values: Any) -> Held:
    """Read a table of any library that narwhals knows."""
    import narwhals as nw

    try:
        table: Any = nw.from_native(values, allow_series=True)
        if isinstance(table, nw.LazyFrame):
            table = _computed(argument, table)
        columns = () if isinstance(table, nw.Series) else tuple(table.columns)
    except TypeError as error:
        raise bad_value(
            argument,
            f"a {type(values).__name__}",
            "an array, a tensor, a table, a series or a list",
            "convert it to one",
        ) from error
    except nw.exceptions.DuplicateError as error:
        raise bad_value(
            argument, "columns of equal names", "different names", "rename the columns"
        ) from error
    if isinstance(table, nw.Series):
        return _of_series(argument, table)
    check_no_index(argument, columns)
    if len(columns) == 1:
        return replace(_of_series(argument, table[columns[0]]), name=columns[0], table=True)
    parts = [_of_series(f"{argument}[{column!r}]", table[column]).values for column in columns]
    if not all(part.dtype.kind in "biuf" for part in parts):
        # Of numbers beside text, NumPy makes text.
        parts = [np.asarray(part, dtype=object) for part in parts]
    stacked = np.column_stack(parts) if parts else np.empty((len(table), 0))
    numbered = list(columns) == [str(i) for i in range(len(columns))]
    return Held(read_array(argument, stacked), columns=named(columns), numbered=numbered)


def check_no_index(argument: str, columns: Sequence[Any]) -> None:
    """Raise if a column is the index of a table of pandas that other tables were made from."""
    texts = [name for name in columns if isinstance(name, str)]
    index = [name for name in texts if re.fullmatch(r"__index_level_\d+__", name)]
    if index:
        raise bad_value(
            argument,
            f"a column {index[0]!r}, which is the index of a table of pandas",
            "classes alone" if argument != "groups" else "groups alone",
            "drop it, where rows are in order, or pass the table of pandas",
        )


def _computed(argument: str, table: Any) -> Any:
    try:
        return table.collect()
    except Exception as error:
        # Libraries raise what they like where a query fails.
        raise not_computed(argument, error) from error


def not_computed(argument: str, error: Exception) -> ValueError:
    """Build the error for a query that fails."""
    return bad_value(
        argument,
        f"a lazy table that cannot be computed ({' '.join(str(error).split())[:200]})",
        "a query that its library can run",
        "correct it, or call .collect() to see what fails",
    )


def _of_series(argument: str, series: Any) -> Held:
    import narwhals as nw

    dtype = series.dtype
    name = series.name or None
    if isinstance(dtype, nw.Enum):
        categories = tuple(dtype.categories)
        return replace(
            Held(read_array(argument, series.cast(nw.String).to_numpy()), name=name),
            categories=categories,
            ordered=True,
        )
    if isinstance(dtype, nw.Categorical):
        # In the order in which they came up, which means nothing.
        return Held(read_array(argument, series.cast(nw.String).to_numpy()), name=name)
    if isinstance(dtype, nw.List | nw.Array | nw.Struct) or str(dtype) in WIDE:
        values: Any = np.empty(len(series), dtype=object)
        values[:] = series.to_list()
    else:
        try:
            values = series.to_numpy()
        except (NotImplementedError, TypeError) as error:
            raise bad_value(
                argument, f"values of type {dtype}", "numbers or names", "convert them to one type"
            ) from error
    return Held(stacked(argument, read_array(argument, values)), name=name)


def stacked(argument: str, values: Array) -> Array:
    """Return a column of lists of equal length as a matrix."""
    if not is_numpy(values) or values.dtype.kind != "O" or values.ndim not in (1, 2):
        return values
    cells = values.ravel() if values.ndim == 1 or values.shape[1] == 1 else None
    if cells is None or not len(cells) or not _is_list(cells[0]):
        return values
    if names_of_rows(argument, cells) is not None:
        raise bad_value(
            argument,
            "a column of rows with names",
            "a column for each name",
            "pass a table made from these rows",
        )
    return read_array(argument, list(cells))


def _is_list(value: object) -> bool:
    return isinstance(value, list | tuple) or (is_numpy(value) and np.ndim(value) > 0)  # type: ignore[arg-type]
