"""What a holder of data says: values, names of columns, labels of rows, names of classes.

Arrays and tensors say values alone. Tables are read through narwhals, whatever library made them,
and labelled arrays by their dimensions. Numbers that a library gives of its own accord (columns
0, 1, 2, ..., a default range index) are not names.
"""

from __future__ import annotations

import re
import sys
from collections import UserList, deque
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from propercal._array import is_array, is_numpy, like, namespace
from propercal._data.inputs.attributes import Lists, lists_of
from propercal._data.inputs.codes import codes_of, members_of
from propercal._data.inputs.named_rows import labels_of_rows, names_of_rows
from propercal._data.inputs.noted_indexes import index_columns, noted_range
from propercal._data.inputs.reading import WIDE, is_missing, read_array
from propercal._data.words.messages import bad_value
from propercal._data.words.tokens import count_up, named
from propercal._typing import Array


@dataclass(frozen=True)
class Held:
    """Data, and what their holder says about them."""

    values: Array
    """As they are if they are a dense array or tensor, else in NumPy."""
    columns: tuple[Any, ...] | None = None
    """Names of columns, where they are more than numbers from 0."""
    numbered: bool = False
    """Whether names of columns are numbers from 0, which are more than a library's own count."""
    codes: Mapping[Hashable, Sequence[Any]] = field(default_factory=dict)
    """Coordinates of other names that number the columns of a labelled array, and do not ascend.

    Under None stand the codes of a categorical index of columns."""
    rows: Any = None
    """A pandas index of the rows, where it is more than a default range."""
    counted: bool = False
    """Whether the rows have a default range index."""
    counted_as: Any = None
    """The name of that index."""
    noted: Any = None
    """Another range that a table of pyarrow notes of one of pandas: rows may since have moved."""
    others: Mapping[Hashable, Any] = field(default_factory=dict)
    """Coordinates of other names along the rows, of a labelled array."""
    dim: Hashable = None
    """The dimension of a labelled array that its columns lie along."""
    name: Any = None
    """The name of a single column."""
    members: Mapping[Any, str] = field(default_factory=dict)
    """The names of values that are those of members of an Enum."""
    table: bool = False
    """Whether that column is a table."""
    first: bool = False
    """Whether its name is 0 because tables number their columns: it may be the only one, or the
    first of several."""
    categories: tuple[Any, ...] | None = None
    """The names of all classes, of a categorical column that orders them."""
    ordered: bool = False
    """Whether its type says that this order means something."""
    unordered: tuple[Any, ...] | None = None
    """The names of all classes, of a categorical column in an order that may mean nothing."""
    places: npt.NDArray[np.intp] | None = None
    """Where each row was in the caller's argument; None where all stand as they did."""

    units: str | None = None
    """What a labelled array says of its units."""
    lists: Lists = field(default_factory=dict)
    """Attributes of a labelled array that list words, which may be classes."""
    along: Hashable | None = None
    """What the axis of the columns is called."""
    turned: tuple[Any, ...] | None = None
    """Names of columns as the caller has them, where they were brought into another order."""

    def __post_init__(self) -> None:
        """Leave out a name that is a missing value."""
        if self.name is not None and is_missing(self.name):
            object.__setattr__(self, "name", None)

    def take(self, index: Any) -> Held:
        """Return rows by their numbers."""
        xp = namespace(self.values)
        rows = None if self.rows is None else self.rows[index]
        others = {name: each[index] for name, each in self.others.items()}
        values = xp.take(self.values, like(index, self.values), axis=0)
        places = np.asarray(index) if self.places is None else self.places[index]
        return replace(self, values=values, rows=rows, others=others, places=places)

    def given(self, rows: Any) -> npt.NDArray[np.intp]:
        """Return the numbers that rows had in the caller's argument."""
        return as_given(rows, self.places)


def as_given(rows: Any, places: npt.NDArray[np.intp] | None) -> npt.NDArray[np.intp]:
    """Return the numbers of rows of an argument, in its order, that stood in these places."""
    given: npt.NDArray[np.intp] = np.asarray(rows, dtype=np.intp)
    return given if places is None else np.asarray(places[given])


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
        return Held(_stacked(argument, read_array(argument, values)))
    if is_labelled(values):
        held = Held(_stacked(argument, read_array(argument, values)), name=values.name)  # type: ignore[attr-defined]
        units = values.attrs.get("units")  # type: ignore[attr-defined]
        held = replace(held, units=units if isinstance(units, str) else None)
        held = replace(held, lists=lists_of(values.attrs))  # type: ignore[attr-defined]
        return _categorical(argument, held, values)
    if hasattr(type(values), "toarray") and hasattr(values, "nnz"):
        return Held(read_array(argument, values.toarray()))  # type: ignore[attr-defined]
    if hasattr(type(values), "iloc") and hasattr(type(values), "index"):
        return _of_pandas(argument, values)
    native = _of_arrow(values)
    if native is not None and index_columns(values):
        return _of_arrow_with_index(argument, values)
    if native is not None:
        held = _with_dictionary(argument, _of_table(argument, native), values)
        noted = noted_range(values)
        counted = noted is not None and is_default(noted)
        name = noted.name if counted else None
        return replace(held, counted=counted, counted_as=name, noted=None if counted else noted)
    if is_table(values):
        return _of_table(argument, values)
    # An index of pandas may be a column that became one.
    name = values.name if hasattr(type(values), "nlevels") else None  # type: ignore[attr-defined]
    held = Held(_stacked(argument, read_array(argument, values)), name=name)
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
        _stacked(argument, read_array(argument, values)),
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
        return _with_dictionary(argument, held, own.__arrow_array__())
    categories = getattr(dtype, "categories", None)
    if categories is None:
        return held
    return _of_all(held, tuple(categories.tolist()), ordered=bool(getattr(dtype, "ordered", False)))


def _of_all(held: Held, names: tuple[Any, ...], *, ordered: bool) -> Held:
    """Note the names of all classes, which may be ordered by their type, or as is usual."""
    numbers = all(isinstance(each, Real) for each in names)
    usual = sorted(names) if numbers else sorted(names, key=str)
    if ordered or (names == tuple(usual) and count_up(names)):
        return replace(held, categories=names, ordered=ordered)
    return replace(held, unordered=names)


def index_of(values: Any) -> Any:
    """Return the index of a table of pandas, or of one with such an index, as pandas has it."""
    return values.index.to_pandas() if hasattr(values.index, "to_pandas") else values.index


def is_default(index: Any) -> bool:
    """Tell whether an index of pandas numbers its places from 0."""
    kind = type(index).__name__
    return kind == "RangeIndex" and index.start == 0 and index.step == 1


def _of_arrow(values: object) -> Any:
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
        plain = [_of_arrow(each) for each in values.columns]
        return pa.table(plain, names=values.column_names) if plain else values
    return None


def as_whole_table(values: object) -> object:
    """Return a batch of pyarrow as a table, and other data as they are."""
    pa: Any = sys.modules.get("pyarrow")
    if pa is not None and isinstance(values, pa.RecordBatch):
        return pa.Table.from_batches([values])
    return values


def _of_arrow_with_index(argument: str, values: Any) -> Held:
    names = index_columns(values)
    index = values.select(names).to_pandas().index
    held = hold(argument, values.select([n for n in values.column_names if n not in names]))
    default = is_default(index)
    return replace(held, rows=None if default else index, counted=default)


def _with_dictionary(argument: str, held: Held, values: Any) -> Held:
    """Note the names of all classes, where pyarrow has them in a dictionary."""
    pa: Any = sys.modules["pyarrow"]
    if isinstance(values, pa.Table | pa.RecordBatch):
        one = values.num_columns == 1
        return _with_dictionary(argument, held, values.column(0)) if one else held
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
    noted = _of_all(held, names, ordered=ordered)
    if noted.unordered is None:
        return noted
    # Encoding lists what occurs in the order in which it came up, which means nothing.
    codes = (chunk.indices.drop_null().unique().to_pylist() for chunk in chunks)
    came_up = list(dict.fromkeys(chain.from_iterable(codes))) == list(range(len(names)))
    return held if came_up else noted


def _of_table(argument: str, values: Any) -> Held:
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
    return Held(_stacked(argument, read_array(argument, values)), name=name)


def _stacked(argument: str, values: Array) -> Array:
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
