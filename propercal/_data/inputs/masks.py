"""Masked entries of NumPy, and fill values of xarray: missing values.

They are left out in rows that do not count, and refused elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from propercal._array import to_numpy
from propercal._data.inputs.held import Held
from propercal._data.inputs.reading import USUAL_NAMES, Names, masked
from propercal._data.words.messages import bad_value, some_rows

Used = npt.NDArray[np.bool_] | None


def _mask(values: object) -> npt.NDArray[np.bool_] | None:
    """Return the mask of values that have entries in it, else None."""
    if not isinstance(values, np.ma.MaskedArray) or not values.ndim:
        return None
    mask = np.ma.getmaskarray(values)
    return mask if mask.any() else None


def filled(*data: Any) -> list[Any]:
    """Return data with what is missing in the place of masked entries: NaN, or None."""
    return [each if _mask(each) is None else _filled(each) for each in data]


def _filled(values: Any) -> npt.NDArray[Any]:
    floating = values.dtype.kind == "f"
    plain = np.ma.getdata(values).astype(values.dtype if floating else object)
    plain[np.ma.getmaskarray(values)] = np.nan if floating else None
    return plain


def check_masked(
    data: Sequence[object],
    held: Sequence[Held],
    used: Used,
    class_axis: int | None = None,
    names: Names = USUAL_NAMES,
) -> None:
    """Raise if rows of labels or predictions that count have masked entries.

    `held` are the two in the order of rows, and `used` (n,) says which count; None says that all
    do. With classes along another axis, rows are not those of the arrays: there NaN is refused.
    """
    for argument, values, each in zip((names.labels, names.proba), data, held, strict=True):
        check_fills(argument, each, used)
        if class_axis is None:
            _check(argument, values, each, used)


def _check(argument: str, values: object, held: Held, used: Used) -> None:
    mask = _mask(values)
    if mask is None:
        return
    rows = np.arange(len(mask)) if used is None else np.flatnonzero(used)
    odd = np.flatnonzero(mask.reshape(len(mask), -1).any(axis=1))
    found = np.intersect1d(odd, np.asarray(list(held.given(rows)), dtype=np.intp))
    if found.size:
        raise masked(argument, found)


def check_fills(argument: str, held: Held, used: Used = None) -> None:
    """Raise if rows that count (n,) have a value of which an attribute says that it is none."""
    values = to_numpy(held.values) if held.fills else np.empty(0)
    if values.dtype.kind not in "iuf" or not values.size:
        return
    missing = np.isin(values, held.fills) | np.isin(values, _as_dtype(held.fills, values.dtype))
    odd = missing.reshape(len(values), -1).any(axis=1)
    rows = np.flatnonzero(odd if used is None else odd & used)
    if rows.size:
        found = values[missing][0].item()
        raise bad_value(
            argument,
            f"{found:g} at {some_rows(held.given(rows))}, which is a missing value by the "
            "attribute '_FillValue' or 'missing_value'",
            "a value in each row",
            "drop these rows, or leave the attribute out (.drop_attrs()) if it is a value",
        )


def _as_dtype(fills: Sequence[float], dtype: Any) -> npt.NDArray[Any]:
    """Return those that a type of numbers has, rounded as it rounds."""
    with np.errstate(all="ignore"):
        return np.asarray(fills).astype(dtype) if dtype.kind == "f" else np.empty(0)
