"""Coordinates of labelled arrays: what names their rows, and what names their classes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from propercal._data.inputs.holders import is_labelled
from propercal._data.inputs.named_rows import labels_of_rows, names_of_rows
from propercal._data.rows.indexes import (
    Order,
    agree,
    decimals_alike,
    in_place,
    order_of,
    some_of,
    times_apart,
    with_levels,
)
from propercal._data.rows.rows import check_same_times, of_two_names
from propercal._data.words.messages import bad_value
from propercal._data.words.tokens import named


def in_any_order(values: Any) -> Any:
    """Return a labelled array whose rows xarray can take, unlike text of pyarrow.

    A dictionary stays as it is, since it has the names of all classes.
    """
    if not is_labelled(values) or not hasattr(values.dtype, "storage"):
        return values
    if hasattr(getattr(values.dtype, "pyarrow_dtype", None), "ordered"):
        return values
    return values.copy(data=np.asarray(values.to_numpy(), dtype=object))


def coordinate(values: Any, dim: Hashable) -> Any:
    """Return the coordinate of a dimension as an index, also where xarray has made none of it."""
    if dim in values.indexes:
        return values.indexes[dim]
    return _as_index(values, dim) if dim in values.coords else None


def _as_index(values: Any, name: Hashable) -> Any:
    import pandas as pd

    return pd.Index(values.coords[name].to_numpy())


def others_along(values: Any, dim: Hashable) -> dict[Hashable, Any]:
    """Return the coordinates of other names along a dimension."""
    levels = set(getattr(values.indexes.get(dim), "names", ()))
    return {
        name: _as_index(values, name)
        for name, each in values.coords.items()
        if each.dims == (dim,) and name != dim and name not in levels
    }


def named_along(values: Any, dim: Hashable) -> dict[Hashable, Any]:
    """Return what names places along a dimension: other coordinates, and levels of its index."""
    index = values.indexes.get(dim)
    levels = list(index.names) if index is not None and index.nlevels > 1 else []
    return {n: index.get_level_values(n) for n in levels} | others_along(values, dim)


def others_of_rows(values: Any, samples: Sequence[Hashable]) -> dict[Hashable, Any]:
    """Return the coordinates of other names that name each row, of one or of more dimensions."""
    if len(samples) == 1:
        return others_along(values, samples[0])
    import pandas as pd

    found = {n: each for n, each in values.coords.items() if samples and {*each.dims} == {*samples}}
    return {n: pd.Index(each.transpose(*samples).to_numpy().ravel()) for n, each in found.items()}


def index_of(values: Any, samples: Sequence[Hashable]) -> Any:
    """Return an index of the rows, where all dimensions of samples have coordinates."""
    parts = [coordinate(values, dim) for dim in samples]
    if not parts or any(part is None for part in parts):
        return None
    if len(parts) == 1:
        return parts[0]
    import pandas as pd

    return pd.MultiIndex.from_product(parts, names=list(samples))


def order_by_levels(
    argument: str, rows: Any, values: Any, samples: Sequence[Hashable], other: str
) -> tuple[Any, Order]:
    """Return an index of the dimensions of samples, and where its rows are among `rows`, or raise.

    `rows` have levels of the names of these dimensions, some of which have no coordinates: such
    levels number their places, or rows stand in the order of the samples.
    """
    import pandas as pd

    levels = {dim: rows.get_level_values(dim).unique() for dim in samples}
    numbers = {dim: pd.RangeIndex(values.sizes[dim]) for dim in samples}
    own = {dim: coordinate(values, dim) for dim in samples}
    product = pd.MultiIndex.from_product([levels[dim] for dim in samples], names=list(samples))
    parts = [
        own[dim]
        if own[dim] is not None
        else levels[dim]
        if rows.equals(product) and order_of(levels[dim], numbers[dim]) is None
        else numbers[dim]
        for dim in samples
    ]
    index = pd.MultiIndex.from_product(parts, names=list(samples))
    order = order_of(rows, index)
    if order is None:
        raise bad_value(
            argument,
            f"rows of the index {some_of(rows)}, of levels {list(rows.names)}",
            f"coordinates of {other} that tell which of them is which, or numbers from 0",
            "give dimensions coordinates by .assign_coords, or pass data arrays of these "
            "dimensions",
        )
    return index, order


def classes_of(argument: str, values: Any, dim: Hashable) -> Any:
    """Return what names the classes along a dimension; None for nothing.

    A coordinate of another name may stand for one that is missing, or for class numbers if it is
    text.
    """
    own = coordinate(values, dim)
    if own is not None and named(tuple(own)) is not None:
        return own
    others = others_along(values, dim)
    if own is not None:
        others = {name: each for name, each in others.items() if is_text(each)}
    found = list(others.values())
    if not found:
        return own
    if any(not each.equals(found[0]) for each in found):
        raise bad_value(
            argument,
            f"coordinates {', '.join(map(repr, others))} of {dim!r}",
            "to know which of them names the classes",
            f"drop the others by .drop_vars, or make one of them the index: .set_xindex, or "
            f".rename to {dim!r}",
        )
    return found[0]


def axis_names(values: Any, axis: int) -> tuple[Any, ...] | None:
    """Return what a table or a labelled array calls the places along an axis; None for nothing.

    So may a list of rows that were taken from one.
    """
    found: Any
    if is_labelled(values):
        found = _only_names(values, values.dims[axis])
    elif isinstance(values, list | tuple):
        found = names_of_rows("rows", values) if axis == -1 else labels_of_rows("rows", values)
    elif hasattr(type(values), "iloc"):
        found = values.axes[axis]
    elif axis != -1:
        found = None
    elif hasattr(values, "collect_schema"):
        found = values.collect_schema().names()
    else:
        # Columns of pyarrow are what they hold.
        found = getattr(values, "column_names", getattr(values, "columns", None))
    return None if found is None else tuple(found)


def _only_names(values: Any, dim: Hashable) -> Any:
    """Return the names along a dimension: its own, or those of all other coordinates of text."""
    own = coordinate(values, dim)
    if own is not None and named(tuple(own)) is not None:
        return own
    others = [each for each in others_along(values, dim).values() if own is None or is_text(each)]
    alike = others and all(each.equals(others[0]) for each in others)
    return others[0] if alike else own


def is_text(index: Any) -> bool:
    """Tell whether all values of a coordinate are strings."""
    return all(isinstance(value, str) for value in index.tolist())


def class_dim_of(arrays: Sequence[Any], dims: Sequence[Hashable]) -> Hashable | None:
    """Return the one of two dimensions that is the classes, as sums or else coordinates tell it.

    All arrays are asked, so that few rows do not look like it by chance.
    """
    summed = [dim for dim in dims if all(_sums_to_1(each, dim) for each in arrays)]
    if len(summed) == 1:
        return summed[0]
    told = {_named_dim(each, dims, bool(summed)) for each in arrays} - {None}
    return told.pop() if len(told) == 1 else None


def _named_dim(values: Any, dims: Sequence[Hashable], summed: bool) -> Hashable | None:
    """Return the one of two dimensions whose coordinate names classes; None if that is not told.

    Names in words may be those of samples too, as dates and numbers may: unless sums are 1, they
    are told to be of classes where the other dimension is longer and has no names.
    """
    first, second = ([is_text(each) for each in _all_along(values, dim)] for dim in dims)
    if any(first) == any(second):
        return None
    dim, other = dims if any(first) else dims[::-1]
    longer = values.sizes[dim] < values.sizes[other] and not _all_along(values, other)
    return dim if summed or longer else None


def _all_along(values: Any, dim: Hashable) -> list[Any]:
    own = coordinate(values, dim)
    return [*([] if own is None else [own]), *others_along(values, dim).values()]


def _sums_to_1(values: Any, dim: Hashable) -> bool:
    """Tell whether all sums along a dimension are 1, as over classes."""
    try:
        numbers = np.asarray(values.to_numpy(), dtype=np.float64)
    except (TypeError, ValueError):
        return False
    sums = np.nansum(numbers, axis=values.dims.index(dim))
    return bool(np.allclose(sums, 1, rtol=0, atol=1e-3))


def _pair(values: Any, reference: Any, dim: Hashable) -> tuple[Any, Any]:
    """Return the coordinates of both along a dimension, also where one has levels as others."""
    own, wanted = coordinate(values, dim), coordinate(reference, dim)
    if own is None:
        own = with_levels(others_along(values, dim), wanted)
    elif wanted is None:
        wanted = with_levels(others_along(reference, dim), own)
    return own, wanted


def tells(values: Any, reference: Any, dim: Hashable) -> bool:
    """Tell whether both have coordinates along a dimension that match their places."""
    if all(each is not None for each in _pair(values, reference, dim)):
        return True
    return bool(set(named_along(values, dim)) & set(named_along(reference, dim)))


def order_along(
    argument: str, values: Any, reference: Any, dim: Hashable, other: str
) -> Order | None:
    """Return the order along a dimension that matches its coordinates with those of another array.

    None stands for the order there is. A coordinate of another name that both have tells where
    the dimension itself has none.
    """
    if values.sizes[dim] != reference.sizes[dim]:
        return None
    own, wanted = _pair(values, reference, dim)
    told: Hashable = dim if own is not None and wanted is not None else None
    order = None if told is None else _order(argument, own, wanted, dim, other)
    theirs = named_along(reference, dim)
    for name, each in named_along(values, dim).items():
        if name not in theirs:
            continue
        if told is None:
            order, told = _order(argument, each, theirs[name], name, other), name
            continue
        ordered = each if order is None else each[order]
        if not agree(ordered, theirs[name], same_name=True):
            drop = f".drop_vars({name!r}) or .drop_vars({told!r})"
            raise _contradiction(argument, (name, told), dim, other, drop)
        check_same_times(argument, ordered, theirs[name], name, other)
    if told is None:
        _check_other_names(argument, values, reference, dim, other)
    return order


def _check_other_names(
    argument: str, values: Any, reference: Any, dim: Hashable, other: str
) -> None:
    """Refuse coordinates that another array has under another name, and in another order."""
    own, wanted = coordinate(values, dim), coordinate(reference, dim)
    theirs = others_along(reference, dim) if own is not None else {}
    pairs = [((dim, own), each) for each in theirs.items()]
    if wanted is not None:
        pairs += [(each, (dim, wanted)) for each in others_along(values, dim).items()]
    if own is wanted is None:
        both = (others_along(each, dim) for each in (values, reference))
        pairs += [((a, each), (b, index)) for a, each, b, index in of_two_names(*both)]
    for (name, each), (its, index) in pairs:
        if not agree(each, index):
            drop = f".drop_vars({name!r}) from {argument}, or .drop_vars({its!r}) from {other}"
            raise _contradiction(argument, (name, its), dim, other, drop)


def _order(argument: str, own: Any, wanted: Any, name: Hashable, other: str) -> Order | None:
    order = order_of(own, wanted)
    decimals = decimals_alike(own, wanted) if order is None else None
    if decimals is not None:
        raise bad_value(
            argument,
            f"coordinates {some_of(own)} of {name!r}",
            f"those of {other}, {some_of(wanted)}, which are other numbers by rounding",
            f"round both alike: x.assign_coords({{{name!r}: "
            f'x[{name!r}].astype("float64").round({decimals})}})',
        )
    apart = times_apart(own, wanted) if order is None else None
    if apart is not None:
        why, fix = apart
        expected = f"those of {other}, {some_of(wanted)}, {why}"
        raise bad_value(argument, f"coordinates {some_of(own)} of {name!r}", expected, fix)
    if order is None:
        raise bad_value(
            argument,
            f"coordinates {some_of(own)} of {name!r}",
            f"those of {other}, {some_of(wanted)}, each of them once",
            "select the same ones of both, in one convention, such as of signs or of rounding; or "
            f"drop them by .drop_vars({name!r}) if rows stand in the same order",
        )
    return None if in_place(order) else order


def _contradiction(
    argument: str, names: tuple[Hashable, Hashable], dim: Hashable, other: str, drop: str
) -> ValueError:
    """Build the error for a coordinate of the first name beside the second one of another array."""
    return bad_value(
        argument,
        f"coordinates of {names[0]!r} in another order along {dim!r}",
        f"the order of {other}, as coordinates of {names[1]!r} say it",
        f"drop the wrong ones by {drop}",
    )


def check_grids(argument: str, values: Any, reference: Any, other: str) -> None:
    """Refuse coordinates along several dimensions that say another order of the same places."""
    import pandas as pd

    for name, each in values.coords.items():
        theirs = reference.coords.get(name)
        if theirs is None or len(each.dims) < 2 or set(each.dims) != set(theirs.dims):
            continue
        own, wanted = (
            pd.Index(x.transpose(*theirs.dims).to_numpy().ravel()) for x in (each, theirs)
        )
        if len(own) == len(wanted) and not agree(own, wanted, same_name=True):
            dims = ", ".join(map(str, each.dims))
            raise _contradiction(argument, (name, dims), dims, other, f".drop_vars({name!r})")
