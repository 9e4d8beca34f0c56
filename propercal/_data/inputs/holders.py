"""What a holder of data says: values, names of columns, labels of rows, names of classes.

Arrays and tensors say values alone. Tables are read through narwhals, whatever library made them,
and labelled arrays by their dimensions. Numbers that a library gives of its own accord (columns
0, 1, 2, ..., a default range index) are not names.
"""

from __future__ import annotations

import sys
from collections import UserList, deque
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from propercal._array import is_array
from propercal._data.inputs.attributes import check_decoded, fills_of, lists_of
from propercal._data.inputs.codes import codes_of, members_of
from propercal._data.inputs.held import Held, of_all
from propercal._data.inputs.named_rows import labels_of_rows, names_of_rows
from propercal._data.inputs.noted_indexes import index_columns, noted_range
from propercal._data.inputs.reading import read_array
from propercal._data.inputs.tables import of_arrow, of_table, stacked, with_dictionary
from propercal._data.words.tokens import named


def hold(argument: str, values: object) -> Held:
    """Return what `values` hold, or raise."""
    if isinstance(values, Held):
        return values
    held, members = _hold(argument, values), members_of(values)
    return replace(held, members=members) if members else held


def _hold(argument: str, values: object) -> Held:
    if type(values).__module__.partition(".")[0] == "narwhals":
        # What it wraps may have an index.
        values = values.to_native()  # type: ignore[attr-defined]
    if isinstance(values, deque | UserList):
        values = list(values)
    if isinstance(values, list | tuple):
        return _of_list(argument, values)
    if isinstance(values, np.ndarray | np.generic | type) or is_array(values):
        # A column of lists that left its table is an array of objects.
        return Held(stacked(argument, read_array(argument, values)))
    if is_labelled(values):
        held = Held(stacked(argument, read_array(argument, values)), name=values.name)  # type: ignore[attr-defined]
        units = values.attrs.get("units")  # type: ignore[attr-defined]
        held = replace(held, units=units if isinstance(units, str) else None)
        said = values.attrs  # type: ignore[attr-defined]
        check_decoded(argument, said)
        held = replace(held, lists=lists_of(said), fills=fills_of(said))
        return _categorical(argument, held, values)
    if hasattr(type(values), "toarray") and hasattr(values, "nnz"):
        return Held(read_array(argument, values.toarray()))  # type: ignore[attr-defined]
    if hasattr(type(values), "iloc") and hasattr(type(values), "index"):
        return _of_pandas(argument, values)
    native = of_arrow(values)
    if native is not None and index_columns(values):
        return _of_arrow_with_index(argument, values)
    if native is not None:
        held = with_dictionary(argument, of_table(argument, native), values)
        noted = noted_range(values)
        counted = noted is not None and is_default(noted)
        name = noted.name if counted else None
        return replace(held, counted=counted, counted_as=name, noted=None if counted else noted)
    if is_table(values):
        return of_table(argument, values)
    # An index of pandas may be a column that became one.
    name = values.name if hasattr(type(values), "nlevels") else None  # type: ignore[attr-defined]
    held = Held(stacked(argument, read_array(argument, values)), name=name)
    return _categorical(argument, held, values)


def _of_list(argument: str, rows: Sequence[Any]) -> Held:
    """Read a list of numbers, or of rows, which may name their values."""
    names, index = names_of_rows(argument, rows), labels_of_rows(argument, rows)
    if all(map(is_labelled, rows)):
        rows = [row.to_numpy()[()] for row in rows]
    counted = index is not None and index.tolist() == list(range(len(rows)))
    held = Held(read_array(argument, rows), rows=None if counted else index, counted=counted)
    if names is None:
        return held
    if len(names) == 1:
        return replace(held, name=names[0])
    columns = named(names)
    own = getattr(rows[0], "index", None)
    numbered = columns is None and not is_default(own)
    return replace(held, columns=columns, numbered=numbered)


def is_labelled(values: object) -> bool:
    """Tell whether xarray made `values`."""
    xarray: Any = sys.modules.get("xarray")
    return xarray is not None and isinstance(values, xarray.DataArray)


def is_table(values: object) -> bool:
    """Tell whether narwhals may read `values`."""
    module = type(values).__module__.partition(".")[0]
    if module in ("builtins", "numpy", "torch", "dask", "dask_expr"):
        return False
    # Objects that can hand over columns are what narwhals is for.
    return hasattr(values, "__narwhals_dataframe__") or any(
        hasattr(values, name)
        for name in (
            "__arrow_c_stream__",
            "__narwhals_series__",
            "__narwhals_lazyframe__",
            "collect",
        )
    )


def _of_pandas(argument: str, values: Any) -> Held:
    """Read a table that has an index (pandas, modin, cuDF)."""
    index = index_of(values)
    counted = is_default(index)
    held = Held(
        stacked(argument, read_array(argument, values)),
        rows=None if counted else index,
        counted=counted,
        counted_as=index.name if counted else None,
    )
    if not hasattr(values, "columns"):
        return replace(_categorical(argument, held, values), name=values.name)
    columns = tuple(values.columns)
    if len(columns) == 1:
        # The one column may be categorical, or hold lists.
        first = _of_pandas(argument, values.iloc[:, 0])
        if is_default(values.columns):
            return replace(first, name=None, first=True)
        return replace(first, name=columns[0], table=True)
    found = named(columns)
    numbered = found is None and not is_default(values.columns)
    if getattr(values.columns, "ordered", False):
        held = replace(held, categories=tuple(values.columns.categories), ordered=True)
    return replace(
        held,
        columns=found,
        numbered=numbered,
        along=values.columns.name,
        codes=codes_of(values.columns),
    )


def _categorical(argument: str, held: Held, values: Any) -> Held:
    """Note the names of all classes, where the type of a pandas column has them."""
    dtype = getattr(values, "dtype", None)
    if hasattr(getattr(dtype, "pyarrow_dtype", None), "ordered"):
        # A series or a labelled array has an array that pyarrow reads; or it is one.
        own = getattr(values, "data" if is_labelled(values) else "array", values)
        return with_dictionary(argument, held, own.__arrow_array__())
    categories = getattr(dtype, "categories", None)
    if categories is None:
        return held
    return of_all(held, tuple(categories.tolist()), ordered=bool(getattr(dtype, "ordered", False)))


def index_of(values: Any) -> Any:
    """Return the index of a table of pandas, or of one with such an index, as pandas has it."""
    return values.index.to_pandas() if hasattr(values.index, "to_pandas") else values.index


def is_default(index: Any) -> bool:
    """Tell whether an index of pandas numbers its places from 0."""
    kind = type(index).__name__
    return kind == "RangeIndex" and index.start == 0 and index.step == 1


def _of_arrow_with_index(argument: str, values: Any) -> Held:
    names = index_columns(values)
    index = values.select(names).to_pandas().index
    held = hold(argument, values.select([n for n in values.column_names if n not in names]))
    default = is_default(index)
    return replace(held, rows=None if default else index, counted=default)
