"""The index of a table of pandas, as a table of pyarrow that was made from it notes it."""

from __future__ import annotations

from typing import Any


def index_columns(values: Any) -> list[str]:
    """Return the columns of a table of pyarrow that are the index of one of pandas."""
    found = [each for each in _noted(values) if isinstance(each, str)]
    return [each for each in found if each in values.column_names]


def noted_range(values: Any) -> Any:
    """Return the range index that a table of pyarrow notes of one of pandas, else None."""
    ranges = [each for each in _noted(values) if isinstance(each, dict)]
    if len(ranges) != 1 or ranges[0].get("kind") != "range":
        return None
    import pandas as pd

    start, stop, step = (ranges[0][name] for name in ("start", "stop", "step"))
    found = pd.RangeIndex(start, stop, step, name=ranges[0].get("name"))
    # Of other rows than those that are left.
    return found if len(found) == values.num_rows else None


def _noted(values: Any) -> list[Any]:
    metadata = getattr(getattr(values, "schema", None), "pandas_metadata", None) or {}
    return list(metadata.get("index_columns", []))
