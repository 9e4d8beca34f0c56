"""Masked entries of NumPy: missing values, left out in rows that do not count, else refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from propercal._data.inputs.held import Held
from propercal._data.inputs.reading import USUAL_NAMES, Names, masked

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
