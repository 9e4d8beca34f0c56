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
    """Return a variable for each entry of `dims`."""
    return xr.Dataset(
        {
            name: (of, values[name], {"long_name": long_names[name], "units": "log: nats"})
            for name, of in dims.items()
        },
        coords,
    )
