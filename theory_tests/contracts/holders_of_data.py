"""Tables of predictions and columns of labels, in each of the libraries that hold data by name."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

Make = Callable[..., Any]


@dataclass(frozen=True)
class Holder:
    """How a library holds a table of predictions, and labels."""

    module: str
    table: Make
    """From values (n, k), names of columns, and labels of rows."""
    column: Make
    """From labels (n,), and labels of rows."""
    indexed: bool = False
    """Whether rows have labels that are heeded."""


def one_hot(labels: Any, columns: list[str]) -> Any:
    return (np.asarray(labels)[:, None] == np.array(columns)).astype(int)


def polars() -> Any:
    return importlib.import_module("polars")


def pyarrow() -> Any:
    return importlib.import_module("pyarrow")


def modin() -> Any:
    return importlib.import_module("modin.pandas")


def polars_table(values: Any, columns: list[str], _: Any) -> Any:
    return polars().DataFrame({name: values[:, i] for i, name in enumerate(columns)})


def arrow_table(values: Any, columns: list[str], _: Any) -> Any:
    return pyarrow().table({name: values[:, i] for i, name in enumerate(columns)})


def labelled(values: Any, columns: list[str], index: Any) -> Any:
    return xr.DataArray(values, dims=("row", "class"), coords={"row": index, "class": columns})


HOLDERS = {
    "pandas": Holder("pandas", lambda v, c, i: pd.DataFrame(v, i, c), lambda y, i: pd.Series(y, i, name="y"), indexed=True),
    "pandas, categorical": Holder("pandas", lambda v, c, i: pd.DataFrame(v, i, c), lambda y, i: pd.Series(y, i, dtype="category"), indexed=True),
    "pandas, arrow types": Holder("pyarrow", lambda v, c, i: pd.DataFrame(v, i, c).convert_dtypes(dtype_backend="pyarrow"), lambda y, i: pd.Series(y, i, dtype="string[pyarrow]"), indexed=True),
    "modin": Holder("modin", lambda v, c, i: modin().DataFrame(v, i, c), lambda y, i: modin().Series(y, i), indexed=True),
    "polars": Holder("polars", polars_table, lambda y, _: polars().Series("y", y)),
    "polars, lazy": Holder("polars", lambda v, c, i: polars_table(v, c, i).lazy(), lambda y, _: polars().DataFrame({"y": y}).lazy()),
    "polars, enum": Holder("polars", polars_table, lambda y, _: polars().Series("y", y, dtype=polars().Enum(sorted(set(y), reverse=True)))),
    "polars, categorical": Holder("polars", polars_table, lambda y, _: polars().Series("y", y, dtype=polars().Categorical)),
    "pyarrow": Holder("pyarrow", arrow_table, lambda y, _: pyarrow().array(list(y))),
    "pyarrow, dictionary": Holder("pyarrow", arrow_table, lambda y, _: pyarrow().chunked_array([pyarrow().array(list(y)).dictionary_encode()])),
    "pyarrow, batch": Holder("pyarrow", lambda v, c, i: arrow_table(v, c, i).to_batches()[0], lambda y, _: pyarrow().table({"y": list(y)})),
    "xarray": Holder("xarray", labelled, lambda y, i: xr.DataArray(y, dims="row", coords={"row": i}), indexed=True),
    "xarray, transposed": Holder("xarray", lambda v, c, i: labelled(v, c, i).T, lambda y, i: xr.DataArray(y, dims="row", coords={"row": i}), indexed=True),
    "xarray beside pandas": Holder("xarray", labelled, lambda y, i: pd.Series(y, i), indexed=True),
}
