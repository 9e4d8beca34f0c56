"""Datasets as objects that JSON knows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import xarray as xr


def as_plain(data: xr.Dataset) -> dict[str, Any]:
    """Return settings, coordinates and variables by name: numbers, strings, and lists of them."""
    found = {str(name): plain_value(value) for name, value in data.attrs.items()}
    for name, variable in (*data.coords.items(), *data.data_vars.items()):
        found[str(name)] = plain_value(variable.to_numpy().tolist())
    return found


def plain_value(value: Any) -> Any:
    """Return a value as JSON has it; numbers that are not finite, and other objects, as strings."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Mapping):
        return {str(name): plain_value(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain_value(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value if value is None or isinstance(value, str | bool | int | float) else str(value)
