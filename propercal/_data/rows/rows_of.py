"""What a holder of data says of its rows, without reading its values."""

from __future__ import annotations

from collections import UserList, deque
from collections.abc import Hashable
from typing import Any

import numpy as np

from propercal._data.inputs.held import Held
from propercal._data.inputs.holders import index_of, is_default, is_labelled
from propercal._data.inputs.named_rows import labels_of_rows
from propercal._data.inputs.noted_indexes import index_columns, noted_range
from propercal._data.rows.coordinates import coordinate, others_along


def rows_of(argument: str, values: Any) -> Held | None:
    """Return what `values` say of their rows, which are those of the first axis; None for nothing.

    The rows that are returned have no values.
    """
    if isinstance(values, Held):
        return values
    if type(values).__module__.partition(".")[0] == "narwhals":
        values = values.to_native()
    if isinstance(values, deque | UserList):
        values = list(values)
    if isinstance(values, list | tuple):
        return _numbered(labels_of_rows(argument, values))
    if is_labelled(values):
        return _along(values, values.dims[0]) if values.ndim else None
    if hasattr(type(values), "iloc") and hasattr(type(values), "index"):
        return _numbered(index_of(values))
    if names := index_columns(values):
        return _numbered(values.select(names).to_pandas().index)
    noted = noted_range(values)
    if noted is None or is_default(noted):
        return _numbered(noted)
    return Held(np.empty((len(noted), 0)), noted=noted)


def _numbered(index: Any) -> Held | None:
    if index is None:
        return None
    counted = is_default(index)
    name = index.name if counted else None
    rows = None if counted else index
    return Held(np.empty((len(index), 0)), rows=rows, counted=counted, counted_as=name)


def _along(values: Any, dim: Hashable) -> Held | None:
    rows, others = coordinate(values, dim), others_along(values, dim)
    if rows is None and not others:
        return None
    return Held(np.empty((values.sizes[dim], 0)), rows=rows, others=others)
