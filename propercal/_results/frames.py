"""Datasets as tables of pandas."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

from propercal._results.flat import BOUND, ERROR, INTERVAL, numbers_of, stem

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr


def as_frame(data: xr.Dataset, along: str | None) -> pd.DataFrame:
    """Return a row for each place along a dimension, or for each number, by its key."""
    frame = _by_number(data) if along is None else _by_place(data, along)
    frame.attrs = dict(data.attrs)
    return frame


def _by_place(data: xr.Dataset, along: Hashable) -> pd.DataFrame:
    import pandas as pd

    columns: dict[str, Any] = {}
    for name, variable in data.data_vars.items():
        if variable.dims == (along,):
            columns[str(name)] = variable.to_numpy()
        elif set(variable.dims) == {along, BOUND}:
            for bound in data[BOUND].to_numpy().tolist():
                called = f"{stem(str(name))}_{bound}".lstrip("_")
                columns[called] = variable.sel({BOUND: bound}).to_numpy()
    return pd.DataFrame(columns, index=pd.Index(data[along].to_numpy(), name=along))


def _by_number(data: xr.Dataset) -> pd.DataFrame:
    import pandas as pd

    known = set(map(str, data.data_vars))
    rows: dict[str, dict[str, Any]] = {}
    for each in numbers_of(data):
        of, column = each.variable, "value"
        if each.bound:
            of, column = of.removesuffix(INTERVAL), each.bound
        elif of.endswith(ERROR) and of.removesuffix(ERROR) in known:
            of, column = of.removesuffix(ERROR), ERROR.lstrip("_")
        elif of.endswith("_error") and of.removesuffix("_error") in known:
            of, column = of.removesuffix("_error"), ERROR.lstrip("_")
        key = "/".join((*each.place, of))
        rows.setdefault(key, {})[column] = each.value
    columns = [
        name
        for name in ("value", ERROR.lstrip("_"), "lower", "upper")
        if any(name in row for row in rows.values())
    ]
    index = pd.Index(list(rows), name="quantity")
    return pd.DataFrame(list(rows.values()), index=index, columns=columns).astype(float)
