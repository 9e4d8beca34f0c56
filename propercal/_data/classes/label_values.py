"""Values of labels: one of each row, of one type, numbers being whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from propercal._data.inputs.held import Held
from propercal._data.inputs.holders import hold
from propercal._data.inputs.reading import USUAL_NAMES, Names, is_hashable, read_numpy
from propercal._data.words.messages import bad_value, some_rows


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


def checked_values(values: npt.NDArray[Any], held: Held, called: Names) -> npt.NDArray[Any]:
    """Return labels of one type, whole numbers as integers, or raise."""
    if values.dtype.kind == "f":
        values = _whole_numbers(values, held, called)
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


def _whole_numbers(values: npt.NDArray[Any], held: Held, called: Names) -> npt.NDArray[np.int64]:
    values = values.astype(np.float64, copy=False)
    with np.errstate(invalid="ignore"):
        odd = ~(np.isfinite(values) & (values == np.round(values)) & (np.abs(values) < 2.0**53))
    if odd.any():
        row = int(np.flatnonzero(odd)[0])
        expected = "whole class numbers without missing values"
        fix = "drop rows whose label is missing; pass the class that occurred, not a probability"
        if abs(values[row]) >= 2.0**53 and np.isfinite(values[row]):
            expected = "class numbers below 2**53, as floating point and decimals are read"
            fix = "pass integers, such as [int(each) for each in y], or names as text"
        raise bad_value(
            called.labels,
            f"{float(values[row])} at {some_rows(held.given(np.flatnonzero(odd)))}",
            expected,
            fix,
        )
    return values.astype(np.int64)
