"""Groups of rows that depend on each other, as dimensions, coordinates and blocks say them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from propercal._data.dependence.blocks import block_length
from propercal._data.inputs.holders import is_labelled
from propercal._data.rows.coordinates import coordinate
from propercal._data.rows.layout import some_dims
from propercal._data.rows.times import is_ordered
from propercal._data.words.messages import bad_value
from propercal.xarray.division import Division

if TYPE_CHECKING:
    import xarray as xr


def groups_of(
    groups: object, blocks: object, arrays: Mapping[str, xr.DataArray], division: Division
) -> tuple[xr.DataArray | None, Any]:
    """Return groups as an array, and blocks that are left to the reader."""
    if groups is not None and blocks is not None:
        raise bad_value(
            "blocks", repr(blocks), "None beside groups=, which say what depends on what",
            "pass one of the two",
        )  # fmt: skip
    if isinstance(blocks, Mapping):
        return _along(blocks, arrays, division), None
    if groups is None or is_labelled(groups):
        return groups, blocks  # type: ignore[return-value]
    if not isinstance(groups, Hashable):
        raise bad_value(
            "groups",
            f"a {type(groups).__name__}",
            "the name of a dimension or coordinate, or a DataArray",
            "pass xarray.DataArray(groups, dims=[...])",
        )
    return _named(groups, arrays, division), None


def _named(name: Hashable, arrays: Mapping[str, xr.DataArray], division: Division) -> xr.DataArray:
    """Return the coordinate of a name, or the places along a dimension that has none."""
    import xarray as xr

    having = {argument: values for argument, values in arrays.items() if name in values.coords}
    for argument in having:
        _check_same(name, next(iter(having)), argument, having)
    for values in having.values():
        return _as_names(name, values.coords[name])
    for values in arrays.values():
        if name in values.dims:
            return xr.DataArray(np.arange(values.sizes[name]), dims=[name])
    known = {
        str(each): None for values in arrays.values() for each in (*values.dims, *values.coords)
    }
    raise bad_value(
        "groups",
        repr(name),
        f"a dimension that is averaged over, {some_dims(division.samples)}, or a coordinate: "
        f"{', '.join(map(repr, known))}",
        "name one of these, or pass a DataArray",
    )


def _check_same(
    name: Hashable, first: str, argument: str, arrays: Mapping[str, xr.DataArray]
) -> None:
    """Raise if a coordinate that is not the names of a dimension has other values elsewhere."""
    import xarray as xr

    found, values = arrays[first].coords[name], arrays[argument].coords[name]
    if name in found.dims or set(found.dims) != set(values.dims):
        return
    if any(
        dim not in found.indexes and found.sizes[dim] != values.sizes[dim] for dim in found.dims
    ):
        return
    own, others = xr.align(found, values, join="inner")
    if not own.variable.equals(others.transpose(*own.dims).variable):
        raise bad_value(
            "groups",
            f"{name!r}, whose values in {argument} are others than in {first}",
            "one group for each row",
            f"correct one of them, or drop it by .drop_vars({name!r})",
        )


def _as_names(name: Hashable, values: xr.DataArray) -> xr.DataArray:
    """Return values of a coordinate that groups can be called by: times and levels as numbers."""
    import xarray as xr

    found = values.to_numpy()
    levels = name in values.indexes and values.indexes[name].nlevels > 1
    if levels:
        found = np.arange(values.size)
    elif values.dtype.kind in "mM":
        if bool(values.isnull().any()):
            raise bad_value(
                "groups",
                f"{name!r}, which has places without a time",
                "a time for each row",
                "drop these rows",
            )
        found = np.unique(found, return_inverse=True)[1].reshape(values.shape)
    return xr.DataArray(found, dims=values.dims, coords=values.coords)


def _along(
    blocks: Mapping[Any, Any], arrays: Mapping[str, xr.DataArray], division: Division
) -> xr.DataArray:
    """Return the number of the block of each place along a dimension."""
    import xarray as xr

    if len(blocks) != 1 or (dim := next(iter(blocks))) not in division.samples:
        raise bad_value(
            "blocks",
            repr(dict(blocks)),
            f"one dimension that is averaged over, of {some_dims(division.samples)}, and its "
            "number of places",
            'pass {"time": 7}; rows at one time then are in one block, wherever they are',
        )
    for argument, values in arrays.items():
        along = coordinate(values, dim) if dim in values.dims else None
        if along is not None and is_ordered(along) is False:
            raise bad_value(
                "blocks",
                f"{dict(blocks)} beside {argument}, whose {dim!r} goes up and down",
                "the order of a series, whose neighbours depend on each other",
                f"sort it by .sortby({dim!r})",
            )
    values = next(each for each in arrays.values() if dim in each.dims)
    n = values.sizes[dim]
    number = np.arange(n) // block_length(blocks[dim], n)
    own = {dim: values.coords[dim]} if dim in values.coords else None
    return xr.DataArray(number, dims=[dim], coords=own)
