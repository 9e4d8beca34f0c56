"""Plain arrays from whatever holds the caller's data, or an error that says why not.

Every data argument is read here, so that masks, missing values, units of a decimal type or lazy
containers mean the same for labels, probabilities and weights.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence, Sized
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from propercal._array import is_array, is_jax, is_numpy, is_torch, to_numpy
from propercal._data.inputs.written_lists import READ_LISTS, are_lists
from propercal._data.words.messages import bad_value, columns_at, some_rows
from propercal._typing import Array


@dataclass(frozen=True)
class Names:
    """What the caller calls the data, for errors and warnings to say."""

    labels: str = "y_true"
    proba: str = "y_proba"
    weight: str = "sample_weight"
    model: str | None = None
    """The name of the model whose predictions these are, where the caller gives it one."""
    rows_before: bool = False
    """Whether rows before have named the classes, which no argument of the caller lists."""


#: Arguments whose values are names, as times are too.
_OF_NAMES = {"groups", "clusters"}
#: What models and trainers return beside other things.
_PARTS = ("predictions", "logits", "probs", "probabilities", "label_ids", "labels")
#: Integers that NumPy has no type for.
WIDE = {"Int128", "UInt128"}
#: As most functions call them.
USUAL_NAMES = Names()


def check_scalar(argument: str, value: Any) -> None:
    """Raise if `value` is not the name of one class, a number, or None."""
    if isinstance(value, str | bytes | tuple) or value is None:
        return
    if not is_hashable(value) or np.ndim(value) or isinstance(value, Sized):
        raise bad_value(argument, f"a {type(value).__name__}", "one value", "pass a single one")


def is_hashable(value: object) -> bool:
    """Tell whether a value can be a name: a list cannot, nor can a NaN that signals."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


def is_missing(value: Any) -> bool:
    """Tell whether `value` is None, NaN, or what pandas has for no value."""
    if isinstance(value, Decimal):
        return value.is_nan()
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    return (
        value is None
        or type(value).__name__ in ("NAType", "NaTType")
        or (isinstance(value, float | np.floating) and bool(np.isnan(value)))
    )


def read_array(argument: str, values: object) -> Array:
    """Return `values` as they are if they are a dense array or tensor, else as a NumPy array."""
    if isinstance(values, np.ndarray | np.generic):
        return _plain(argument, np.asarray(_unmasked(argument, values)))
    if is_torch(values):
        check_tensor(argument, values)
        return values
    if is_jax(values):
        return _traced(argument, values)
    if (
        not isinstance(values, type)
        and hasattr(values, "compute")
        and not hasattr(type(values), "to_numpy")
    ):
        fix = "select one variable, and call .compute() if it is lazy"
        if hasattr(values, "data_vars"):
            fix += "; if each variable is a class, pass .to_array('class'), with class_dim='class'"
        raise bad_value(argument, f"a {type(values).__name__}", "one array in memory", fix)
    if hasattr(type(values), "dims") and not hasattr(type(values), "coords"):
        raise bad_value(
            argument,
            f"a {type(values).__name__} of xarray, whose dimensions have names",
            "a DataArray, which is read by them",
            "pass xarray.DataArray(values), or .to_numpy() of it to be read by position",
        )
    if is_array(values):
        return values
    if isinstance(values, dict | set | frozenset | type) or not _is_arraylike(values):
        raise bad_value(
            argument,
            f"a {type(values).__name__}",
            "an array, a tensor, a series or a list",
            _conversion(values),
        )
    if isinstance(values, list | tuple):
        _check_masks_of_rows(argument, values)
    try:
        given = as_python(values)
        plain = np.asarray(given.to_numpy() if hasattr(given, "to_numpy") else given)
    except (ValueError, TypeError, RuntimeError) as error:
        raise _ragged(argument, values) from error
    if plain.dtype.kind in "US" and not hasattr(values, "dtype"):
        plain = _texts(values, plain)
    return _plain(argument, plain)


def _conversion(values: object) -> str:
    """Say how to make an array of what is none."""
    if parts := _parts_of(values):
        return f"pass one of its parts, {' or '.join(parts)}"
    if isinstance(values, dict):
        return "convert it to one, a dict of columns by pandas.DataFrame"
    if isinstance(values, set | frozenset):
        return "pass a list in the order that is meant: a set has none"
    return "convert it to one"


def _parts_of(values: object) -> list[str]:
    """Name what predictions and labels are called in what models and trainers return."""
    if isinstance(values, type):
        return []
    if isinstance(values, dict):
        return [f"[{name!r}]" for name in _PARTS if name in values]
    return [f".{name}" for name in _PARTS if hasattr(values, name)]


def as_python(values: Any) -> Any:
    """Return integers that NumPy has no type for as those of Python, and other data as they are."""
    wide = str(getattr(values, "dtype", "")) in WIDE
    return np.array(values.to_list(), dtype=object) if wide else values


def _times_as_names(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return times as objects, days where they are no more than these; spans of time as text."""
    if values.dtype.kind == "M":
        days = values.astype("M8[D]")
        values = days if (np.isnat(values) | (days == values)).all() else values
    spans = values.dtype.kind == "m"
    names = np.empty(values.shape, dtype=object)
    names.reshape(-1)[:] = [
        None if np.isnat(each) else str(each) if spans else each for each in values.ravel()
    ]
    return names


def _texts(values: object, plain: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return texts as NumPy reads them, unless it would write what is no text, or not the same.

    It writes numbers among them, and the names of members of an Enum rather than their values.
    """
    given = np.array(values, dtype=object)
    if given.shape != plain.shape:
        return plain
    kinds = set(map(type, given.ravel().tolist()))
    if kinds <= {str, np.str_} or kinds <= {bytes, np.bytes_}:
        return plain
    texts = [str.__str__(x) if isinstance(x, str) else x for x in given.ravel().tolist()]
    given.reshape(-1)[:] = texts
    return given


def check_tensor(argument: str, values: Any) -> None:
    """Raise unless a tensor is dense, with values."""
    if type(values).__name__ == "MaskedTensor":
        raise bad_value(
            argument,
            "a masked tensor",
            "no missing values",
            "drop masked rows, and call .get_data()",
        )
    if str(values.layout) != "torch.strided" or values.device.type == "meta":
        raise bad_value(
            argument,
            f"a tensor of layout {values.layout} on {values.device}",
            "a dense tensor with values",
            "call .to_dense(), or materialise it",
        )
    if values.is_nested or values.is_quantized:
        raise bad_value(
            argument,
            "a nested or quantised tensor",
            "a dense tensor of numbers",
            "call torch.nested.to_padded_tensor, or .dequantize()",
        )


def _ragged(argument: str, values: Any) -> ValueError:
    """Build the error for rows that make no array, with the first row that differs."""
    expected = "a rectangular array, of shape (n,) or (n, k)"
    missing = [i for i, row in enumerate(values) if is_missing(row)]
    if missing:
        found = f"a {type(values).__name__} without values at {some_rows(missing)}"
        return bad_value(argument, found, expected, "drop these rows, or fill them in")
    if (error := _several(argument, values)) is not None:
        return error
    found = f"a {type(values).__name__} with rows of different lengths, or of odd objects"
    sizes = [len(row) if hasattr(row, "__len__") else None for row in values]
    odd = next((i for i, size in enumerate(sizes) if size != sizes[0]), None)
    if odd is None:
        fix = "convert it first, for example by numpy.asarray or torch.stack"
        return bad_value(argument, found, expected, fix)
    kinds = ["one value" if size is None else f"{size} values" for size in sizes]
    found += f" ({kinds[0]} at row 0, {kinds[odd]} at row {odd})"
    return bad_value(argument, found, expected, "give each row as many values, or drop it")


def _several(argument: str, values: Any) -> ValueError | None:
    """Build the error for several arrays of two axes or more: logits beside labels, or batches."""
    shapes = [tuple(getattr(row, "shape", ())) for row in values]
    known = [shape for shape in shapes if shape]
    if len(known) < 2 or max(map(len, known)) < 2:
        return None
    said = ", ".join(map(str, known[:4])) + (", ..." if len(known) > 4 else "")
    found = f"a {type(values).__name__} of arrays of shapes {said}"
    parts = _parts_of(values) or [f"{argument}[{i}]" for i, shape in enumerate(shapes) if shape]
    fix = f"pass one of them, {' or '.join(parts[:4])}"
    if len(known) == len(shapes) and len({shape[1:] for shape in known}) == 1:
        fix = f"join batches by numpy.concatenate({argument}), or torch.cat"
    return bad_value(argument, found, "one array, of shape (n,) or (n, k)", fix)


def _traced(argument: str, values: Any) -> npt.NDArray[Any]:
    """Return a JAX array in NumPy; what JAX traces has no values yet."""
    try:
        return _plain(argument, np.asarray(values))
    except TypeError as error:
        raise bad_value(
            argument,
            f"a {type(values).__name__} of JAX",
            "an array with values",
            "call this outside of jax.jit and jax.grad, which it does not support",
        ) from error


def read_numpy(argument: str, values: object) -> npt.NDArray[Any]:
    """Return `values` as a NumPy array, which carries no gradient."""
    array = read_array(argument, values)
    if is_torch(array) and array.requires_grad:
        raise bad_value(
            argument,
            "a tensor that requires a gradient",
            "a constant: no gradient passes through it",
            "call .detach()",
        )
    return to_numpy(array)


def _is_arraylike(values: object) -> bool:
    return hasattr(values, "to_numpy") or (
        hasattr(values, "__len__")
        and hasattr(values, "__getitem__")
        and not isinstance(values, str | bytes)
    )


def _check_masks_of_rows(argument: str, rows: Sequence[Any]) -> None:
    """Raise for masks, which NumPy drops where rows are put together."""
    # Of a million numbers there are few types.
    if not any(issubclass(kind, np.ma.MaskedArray) for kind in set(map(type, rows))):
        return
    odd = [i for i, row in enumerate(rows) if np.ndim(row) and np.ma.getmaskarray(row).any()]
    if odd:
        raise masked(argument, odd)


def masked(argument: str, rows: Iterable[int]) -> ValueError:
    """Build the error for masked entries in rows that count."""
    return bad_value(
        argument, f"masked entries at {some_rows(rows)}", "no missing values", "drop these rows"
    )


def _unmasked(argument: str, values: Any) -> npt.NDArray[Any]:
    mask = np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else None
    if mask is not None and mask.any():
        raise masked(argument, np.unique(np.argwhere(np.atleast_1d(mask))[:, 0]))
    return np.ma.getdata(values) if mask is not None else values


def _plain(argument: str, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Give numbers that came as Python objects (Decimal, Fraction, nullable) a numeric dtype."""
    if values.dtype.kind == "T":
        # Texts of any length, of which some may be missing.
        return values.astype(object)
    if values.dtype.kind in "mM" and argument in _OF_NAMES:
        return _times_as_names(values)
    if values.dtype.kind in "mMV":
        raise bad_value(
            argument,
            f"values of type {values.dtype}",
            "numbers or names",
            "make them a table, by pandas.DataFrame(...), or pass one field"
            if values.dtype.names
            else "convert them",
        )
    if not is_numpy(values) or values.dtype.kind != "O" or values.size == 0:
        return values
    flat = values.ravel().tolist()
    if any(issubclass(kind, Enum) for kind in set(map(type, flat))):
        return _plain(argument, _of_members(flat).reshape(values.shape))
    if all(isinstance(v, bool | np.bool_) for v in flat):
        return values.astype(bool)
    if all(isinstance(v, int | np.integer) for v in flat):
        # Integers too large for a machine word stay objects, to be refused with their value.
        return values.astype(np.int64) if all(abs(int(v)) < 2**62 for v in flat) else values
    if all(isinstance(v, Real) or hasattr(v, "as_tuple") for v in flat):
        # A NaN that signals is missing as any other is.
        odd = [math.nan if isinstance(v, Decimal) and v.is_nan() else v for v in flat]
        return np.array(odd, dtype=np.float64).reshape(values.shape)
    return values


def _of_members(values: list[Any]) -> npt.NDArray[Any]:
    """Return members of an Enum as their values."""
    found = np.empty(len(values), dtype=object)
    found[:] = [v.value if isinstance(v, Enum) else v for v in values]
    return found


def not_real(
    values: Array,
    given: Callable[[Any], Iterable[int]] = list,
    columns: Sequence[Any] | None = None,
    *,
    indexed: bool = False,
) -> tuple[str, str, str]:
    """Say what was found among values that are no real numbers, what was expected, what to do.

    `given` tells the number that a row had in the caller's argument, and `columns` are names;
    `indexed` says that rows have an index.
    """
    found, fix = f"values of type {values.dtype}", "convert them to floating point"
    if is_numpy(values) and values.dtype.kind in "OU" and are_lists(values.ravel().tolist()):
        return f"the text of lists, {str(values.ravel()[0])[:40]!r}", "real numbers", READ_LISTS
    if is_numpy(values) and values.dtype.kind == "O":
        values = np.atleast_1d(values)
        real = np.array([isinstance(each, Real) for each in values.ravel()]).reshape(values.shape)
        odd = next(iter(np.argwhere(~real)), None)
        if odd is not None:
            value, (row,) = values[tuple(odd)], given(odd[:1])
            said = f"{value!r}" if len(repr(value)) < 60 else f"a {type(value).__name__}"
            found += f", {said} at row {row}"
            elsewhere = values.ndim == 2 and real.all(axis=0).any()
            if elsewhere and not is_missing(value):
                place = columns_at([int(odd[1])], values.shape[1], columns)
                found += f" in {place}"
                fix = "leave it out if it is of no class, or convert it to floating point"
            if is_missing(value):
                fix = "drop rows whose prediction is missing"
            elif isinstance(value, dict):
                rows, instead = "[*column]", ", in polars by column.struct.unnest()"
                pair = _pair_of(value)
                if values.ndim == 2 and pair is not None:
                    name, number = map(repr, pair)
                    rows = f"[{{each[{name}]: each[{number}] for each in row}} for row in column]"
                    instead = ""
                index = ", index=column.index" if indexed else ""
                fix = f"make them columns, by pandas.DataFrame({rows}{index}){instead}"
                fix += "; in pyarrow, of column.to_pylist()"
    return found, "real numbers", fix


def _pair_of(value: dict[Any, Any]) -> tuple[Any, Any] | None:
    """Return under which keys a class and its probability are, where they are all there is."""
    names = [each for each, said in value.items() if isinstance(said, str | int)]
    numbers = [each for each, said in value.items() if isinstance(said, float)]
    return (names[0], numbers[0]) if len(names) == len(numbers) == 1 else None
