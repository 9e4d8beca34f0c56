"""Numbers of missing values in archives of forecasts and outcomes, and in one column of logits."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from propercal._data.inputs.held import Held
from propercal._data.words.messages import some_rows, warn

#: Of stations and models (with decimals too, as weather stations write them), of integers of 16 and
#: 32 bits, of models of the climate, the largest numbers of single precision, and netCDF's own.
_WRITTEN = np.array(
    [
        *(sign * (10.0**digits - 1) for digits in range(3, 8) for sign in (-1, 1)),
        *(sign * (10.0**digits - 0.1) for digits in range(2, 5) for sign in (-1, 1)),
        *(sign * (10.0**digits - 0.01) for digits in range(2, 5) for sign in (-1, 1)),
        *(-(10.0**digits - 1) * each / 9 for digits in range(3, 6) for each in (7, 8)),
        *(-99.0, -32768.0, 32767.0, -32767.0, -2147483648.0, 2147483647.0, -2147483647.0),
        *(sign * each for each in (1e15, 1e20, 1e30, 1e34, 1e35) for sign in (-1, 1)),
        *(1e36, 9.999e20, -9.99e8, -9.99e33),
        *(sign * each for each in (3.4e38, 3.4028235e38) for sign in (-1, 1)),
        *(sign * float(np.finfo(np.float32).max) for sign in (-1, 1)),
        *(9.969209968386869e36, 9.96921e36),
    ]
)
#: As programs hand them over, in whichever precision they were before.
_CODES = np.unique(np.concatenate([_WRITTEN, _WRITTEN.astype(np.float32).astype(np.float64)]))
#: How many times the range of all other values such a number is away from them.
_FAR = 3.0


#: Of surveys and tables, beside what forecasts have; −1 is that of categories.
_NEGATIVE = np.concatenate([_CODES[_CODES < 0], [-1.0, -8.0, -9.0, -88.0]])


def negative_codes(values: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """(n,) which numbers stand for none, where all others are from 0: all that are below are codes.

    Nowhere where none is from 0.
    """
    below = values < 0
    codes = np.isin(np.unique(values[below]), _NEGATIVE)
    return np.asarray(below & bool(len(codes) and codes.all() and not below.all()))


def warn_of_codes(
    values: npt.NDArray[np.float64], argument: str, held: Held, rows: npt.NDArray[Any]
) -> None:
    """Say so where what usually stands for a missing value is far from all others (n, m)."""
    are_codes = np.isin(values, _CODES)
    if not are_codes.any():
        return
    others = values[~are_codes & np.isfinite(values)]
    if others.size < 2:
        return
    low, high = float(others.min()), float(others.max())
    away = np.maximum(low - values, values - high)
    odd = are_codes & (away > _FAR * (high - low)) & (high > low)
    if odd.any():
        where = some_rows(held.given(rows[odd.any(axis=1)]))
        warn(
            f"{argument} is {values[odd][0]:g} at {where}, which usually stands for a missing "
            f"value, and is far from all others ({low:.4g} to {high:.4g}). It is read as a number: "
            "leave such rows out, or give them weight 0, if it does."
        )
