"""Coordinates that are lazy: what has to be known of them, and no more, is computed."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import xarray as xr


def settled(
    arrays: Mapping[str, xr.DataArray], classes: Hashable | None
) -> dict[str, xr.DataArray]:
    """Return arrays of which coordinates are in memory that name classes, or that may differ.

    The others are one and the same in all arrays, as those of a dataset are, and say nothing.
    """
    tokens: dict[Hashable, set[str]] = {}
    for values in arrays.values():
        for name, each in values.coords.items():
            token = getattr(each.data, "name", "in memory") if each.chunks is not None else ""
            tokens.setdefault(name, set()).add(str(token))
    return {
        argument: values.assign_coords(
            {
                name: each.compute()
                for name, each in values.coords.items()
                if each.chunks is not None and (classes in each.dims or len(tokens[name]) > 1)
            }
        )
        for argument, values in arrays.items()
    }


def without_lazy(values: xr.DataArray) -> xr.DataArray:
    """Return an array with the coordinates alone that are in memory."""
    return values.drop_vars([n for n, each in values.coords.items() if each.chunks is not None])
