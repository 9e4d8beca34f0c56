"""Values of labels: one of each row, of one type, numbers being whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from propercal._data.inputs.held import Held
from propercal._data.inputs.holders import hold
from propercal._data.inputs.reading import USUAL_NAMES, Names, is_hashable, read_numpy
from propercal._data.words.messages import bad_value, some_rows

#: To as many bits numbers are whole in double precision, and in others of fewer.
_BITS = 53
_FEWER_BITS = {"bfloat16": 8, "float16": 11, "float32": 24}


def _bits(held: Held) -> int:
    """Return to how many bits the type of labels has all whole numbers."""
    dtype = str(getattr(held.values, "dtype", "")).rpartition(".")[2]
    return _FEWER_BITS.get(dtype, _BITS)


def read_values(y_true: object, called: Names = USUAL_NAMES) -> npt.NDArray[Any]:
    """Return labels in NumPy, a single column as a vector."""
    held = hold(called.labels, y_true)
    values = read_numpy(called.labels, held.values)
    if values.dtype.kind == "O" and values.ndim == 1:
        odd = next((i for i, v in enumerate(values) if not is_hashable(v)), None)
        if odd is not None:
            raise bad_value(
                called.labels,
                f"a {type(values[odd]).__name__} at {some_rows(held.given([odd]))}",
                "one label for each row",
                "pass the class that occurred, or a one-hot matrix",
            )
    return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values


def checked_values(
    values: npt.NDArray[Any],
    held: Held,
    called: Names,
    are_names: Callable[[list[float]], bool] = lambda _: False,
) -> npt.NDArray[Any]:
    """Return labels of one type, whole numbers as integers, or raise.

    `are_names` tells whether numbers, of which some are not whole, are names of classes.
    """
    if values.dtype.kind == "f":
        values, fractions = _as_written(values)
        if fractions.any() and are_names(np.unique(values[np.isfinite(values)]).tolist()):
            _check_whole(values, ~fractions, held, called)
            return values
        _check_whole(values, np.ones(len(values), dtype=bool), held, called)
        values = values.astype(np.int64)
    if values.dtype.kind not in "biuOU" or (
        values.dtype.kind == "O" and not all(isinstance(v, str | int | bool) for v in values)
    ):
        raise bad_value(
            called.labels,
            _odd_value(values, held)
            if values.dtype.kind == "O"
            else f"values of type {values.dtype}",
            "integers, booleans, strings or a one-hot matrix",
            "convert the labels, and drop rows whose label is missing",
        )
    if values.dtype.kind == "O" and len({isinstance(v, str) for v in values}) > 1:
        raise bad_value(
            called.labels,
            "a mix of strings and numbers",
            "labels of one type",
            "convert the class names to strings, or all labels to class numbers",
        )
    return values


def _odd_value(values: npt.NDArray[Any], held: Held) -> str:
    row, odd = next((i, v) for i, v in enumerate(values) if not isinstance(v, str | int | bool))
    return f"values of type {type(odd).__name__} ({odd!r}) at {some_rows(held.given([row]))}"


def _as_written(
    values: npt.NDArray[Any],
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """Return numbers in double precision, and which are not whole; .1 in single one stays .1."""
    with np.errstate(invalid="ignore"):
        fractions = np.isfinite(values) & (values != np.round(values))
    if values.dtype.itemsize >= 8 or not fractions.any():
        return values.astype(np.float64), fractions
    found, inverse = np.unique(values, return_inverse=True)
    return np.array([float(str(each)) for each in found])[inverse], fractions


def _check_whole(
    values: npt.NDArray[np.float64], some: npt.NDArray[np.bool_], held: Held, called: Names
) -> None:
    """Raise unless these of the numbers are whole, and as they were."""
    bits = _bits(held)
    with np.errstate(invalid="ignore"):
        odd = ~(np.isfinite(values) & (values == np.round(values)) & (np.abs(values) < 2.0**bits))
    odd &= some
    if odd.any():
        row = int(np.flatnonzero(odd)[0])
        expected = "whole class numbers without missing values"
        fix = "drop rows whose label is missing; pass the class that occurred, not a probability"
        if np.isfinite(values[row]) and abs(values[row]) < 2.0**bits:
            fix += ", or labels=[...] if these numbers name the classes of the columns in order"
        elif np.isfinite(values[row]):
            what = f"{held.values.dtype} has not all that are larger"
            what = what if bits < _BITS else "floating point and decimals are read"
            expected = f"class numbers below 2**{bits}, as {what}"
            fix = "pass integers, such as [int(each) for each in y], or names as text"
        raise bad_value(
            called.labels,
            f"{float(values[row])} at {some_rows(held.given(np.flatnonzero(odd)))}",
            expected,
            fix,
        )
