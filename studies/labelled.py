"""Numbers of cells, with the names of their axes, as a dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import xarray as xr


def labelled(
    values: Mapping[str, Any],
    dims: Mapping[str, Sequence[str]],
    long_names: Mapping[str, str],
    coords: Mapping[str, Any],
) -> xr.Dataset:
    """Return a variable for each entry of `dims`; those with a loss for an axis have its units."""

    def described(name: str) -> dict[str, str]:
        units = "log: nats" if "generator" in dims[name] else "1"
        return {"long_name": long_names[name], "units": units}

    return xr.Dataset(
        {name: (of, values[name], described(name)) for name, of in dims.items()}, coords
    )
