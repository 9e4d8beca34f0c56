"""Which row is which: labels, predictions and weights in one order of rows, or an error.

Where two of them carry an index, or coordinates, their rows are matched by it. A default range
index says nothing, unless the other one has the same numbers in another order: then rows were
shuffled before or after the one was made, and nobody but the caller knows which.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, NamedTuple

import numpy as np

from propercal._array import like, namespace
from propercal._data.holders import Held, hold, is_labelled, named
from propercal._data.messages import bad_value
from propercal._data.reading import USUAL_NAMES, Names, read_array
from propercal._typing import Array


@dataclass(frozen=True)
class Layout:
    """Where samples and classes lie in arrays of more than one axis."""

    class_axis: int | None = None
    class_dim: Hashable | None = None
    sample_dims: Hashable | Sequence[Hashable] | None = None

    @property
    def given(self) -> bool:
        """Whether anything is said."""
        return self != _USUAL


_USUAL = Layout()


class Aligned(NamedTuple):
    """Labels, predictions and weights of the same rows, in the order of the predictions."""

    labels: Held
    proba: Held
    weight: Held | None


def align(
    y_true: object,
    y_proba: object,
    sample_weight: object = None,
    *,
    layout: Layout = _USUAL,
    called: Names = USUAL_NAMES,
) -> Aligned:
    """Read the three and bring them into one order of rows, or raise."""
    if layout.class_axis is not None:
        y_true, y_proba, sample_weight = _flattened(
            y_true, y_proba, sample_weight, layout.class_axis, called
        )
    elif any(is_labelled(each) for each in (y_true, y_proba, sample_weight)):
        y_true, y_proba, sample_weight = _Dimensions.of(y_true, y_proba, layout, called).read(
            y_true, y_proba, sample_weight
        )
    elif layout.given:
        name = "class_dim" if layout.class_dim is not None else "sample_dims"
        raise bad_value(
            name,
            repr(layout.class_dim if layout.class_dim is not None else layout.sample_dims),
            f"{called.proba} with named dimensions",
            "pass a DataArray of xarray, or class_axis=... for an array",
        )
    proba, labels = hold(called.proba, y_proba), hold(called.labels, y_true)
    labels = in_order_of(labels, proba, called.labels, called.proba)
    weight = None if sample_weight is None else hold(called.weight, sample_weight)
    if weight is not None:
        weight = in_order_of(weight, proba, called.weight, called.proba)
        if proba.rows is None:
            weight = in_order_of(weight, labels, called.weight, called.labels)
    return Aligned(labels, proba, weight)


def align_pair(
    y_true: object,
    y_proba: tuple[object, object],
    sample_weight: object,
    *,
    layout: Layout,
    called: tuple[Names, Names],
) -> tuple[Aligned, Aligned]:
    """Read two predictions of the same rows, and bring rows and columns of both into one order."""
    first, second = y_proba
    if is_labelled(first) and is_labelled(second) and set(first.dims) == set(second.dims):  # type: ignore[attr-defined]
        second = second.transpose(*first.dims)  # type: ignore[attr-defined]
    a, b = (
        align(y_true, each, sample_weight, layout=layout, called=names)
        for each, names in zip((first, second), called, strict=True)
    )
    # Predictions without an index have the order of the labels.
    first_rows = a.labels if a.proba.rows is None else a.proba
    proba = in_order_of(b.proba, first_rows, called[1].proba, called[0].proba)
    if proba is not b.proba and a.labels.rows is None:
        raise bad_value(
            called[1].proba,
            f"rows of the index {_some(b.proba.rows)}",
            f"the order of {called[0].proba}, {_some(a.proba.rows)}, since {called[0].labels} has "
            "no index",
            "bring both into the order of the labels",
        )
    return a, Aligned(a.labels, _with_columns_of(proba, a.proba, called), a.weight)


def _with_columns_of(held: Held, other: Held, called: tuple[Names, Names]) -> Held:
    """Return `held` with its columns in the order of those of `other`, where both have names."""
    if held.columns is None or other.columns is None or held.columns == other.columns:
        return held
    if len(set(held.columns)) != len(held.columns) or set(held.columns) != set(other.columns):
        raise bad_value(
            called[1].proba,
            f"columns {list(held.columns)}",
            f"those of {called[0].proba}, {list(other.columns)}",
            "name the columns of both alike, or pass them without names",
        )
    xp = namespace(held.values)
    order = like([held.columns.index(column) for column in other.columns], held.values)
    return replace(held, values=xp.take(held.values, order, axis=1), columns=other.columns)


def in_order_of(held: Held, other: Held, argument: str, other_argument: str) -> Held:
    """Return `held` with its rows in the order of those of `other`, or raise."""
    if _size(held) != _size(other):
        # Whoever needs as many rows of both says so.
        return held
    if held.rows is None or other.rows is None:
        _check_not_shuffled(held, other, argument, other_argument)
        return held
    if held.rows.equals(other.rows):
        return held
    order = _order(held.rows, other.rows)
    if order is None:
        raise bad_value(
            argument,
            f"rows of the index {_some(held.rows)}",
            f"the rows of {other_argument}, {_some(other.rows)}, each of them once",
            "select the same rows of both, or call .reset_index(drop=True) on both (xarray: "
            ".drop_vars) if they are in the same order",
        )
    return replace(held.take(order), rows=other.rows)


def _check_not_shuffled(held: Held, other: Held, argument: str, other_argument: str) -> None:
    index, counted = (
        (held.rows, other.counted) if other.rows is None else (other.rows, held.counted)
    )
    if index is None or not counted:
        return
    numbers = np.asarray(index)
    usual = np.arange(len(numbers))
    if numbers.dtype.kind not in "iu" or not np.array_equal(np.sort(numbers), usual):
        return
    if not np.array_equal(numbers, usual):
        raise bad_value(
            argument,
            f"rows of the index {_some(held.rows if held.rows is not None else usual)}",
            f"the order of {other_argument}, whose index is "
            f"{_some(other.rows if other.rows is not None else usual)}",
            "call .sort_index() on the shuffled one if its rows are to be brought back into "
            "order, or .reset_index(drop=True) if rows stand side by side as they are",
        )


def _order(rows: Any, wanted: Any) -> Any:
    """Return where each of `wanted` is among `rows`; None if not each is there once."""
    if not (rows.is_unique and wanted.is_unique):
        return None
    order = rows.get_indexer(wanted)
    return None if (order < 0).any() else order


def _some(index: Any) -> str:
    values = [str(value) for value in index[:4]]
    return ", ".join(values) + (", ..." if len(index) > len(values) else "")


def _size(held: Held) -> int:
    return int(held.values.shape[0]) if held.values.ndim else 0


# ---------------------------------------------------------------- axes by number


def _flattened(
    y_true: object, y_proba: object, sample_weight: object, axis: int, called: Names
) -> tuple[object, object, object]:
    """Bring the classes to the last axis and all others into rows."""
    if is_labelled(y_proba):
        raise bad_value("class_axis", axis, "None for dimensions that have names", "use class_dim=")
    held = hold(called.proba, y_proba)
    values = held.values
    if isinstance(axis, bool) or not isinstance(axis, int | np.integer):
        raise bad_value("class_axis", repr(axis), "a whole number", "1 for shape (n, k, h, w)")
    if not -values.ndim <= axis < values.ndim:
        raise bad_value(
            "class_axis",
            axis,
            f"an axis of {called.proba}, which has shape {tuple(values.shape)}",
            "1 for shape (n, k, h, w)",
        )
    if values.ndim == 2 and axis in (1, -1):
        return y_true, held, sample_weight
    if held.columns is not None or held.rows is not None:
        raise bad_value("class_axis", axis, f"1, since {called.proba} is a table", "transpose it")
    shape = list(values.shape)
    k = shape.pop(axis)

    def rows(argument: str, given: object) -> Held | Array:
        other = hold(argument, given)
        array = other.values  # noqa: PD011
        if array.ndim == 1 and array.shape[0] == prod(shape):
            return other
        if tuple(array.shape) == tuple(values.shape):
            return _last(array, axis, k)
        if tuple(array.shape) not in (tuple(shape), (prod(shape),)):
            raise bad_value(
                argument,
                f"an array of shape {tuple(array.shape)}",
                f"shape {tuple(shape)}, that of {called.proba} without its axis of classes",
                "pass one value for each place",
            )
        return namespace(array).reshape(array, (-1,))

    weight = None if sample_weight is None else rows(called.weight, sample_weight)
    return rows(called.labels, y_true), _last(values, axis, k), weight


def _last(values: Array, axis: int, k: int) -> Array:
    xp = namespace(values)
    return xp.reshape(xp.moveaxis(values, axis, -1), (-1, k))


# ---------------------------------------------------------------- dimensions by name


@dataclass(frozen=True)
class _Dimensions:
    """Which dimensions of the predictions are samples, and which one is the classes."""

    samples: tuple[Hashable, ...]
    classes: Hashable | None
    called: Names
    reference: Any
    """The labelled array that has them all: predictions, or else labels."""

    @classmethod
    def of(cls, y_true: object, y_proba: object, layout: Layout, called: Names) -> _Dimensions:
        """Decide, or raise where it cannot be told."""
        reference: Any = y_proba if is_labelled(y_proba) else y_true
        argument = called.proba if is_labelled(y_proba) else called.labels
        if not is_labelled(reference):
            return cls((), None, called, None)
        dims = tuple(reference.dims)
        for name, given in (
            ("class_dim", [] if layout.class_dim is None else [layout.class_dim]),
            ("sample_dims", _listed(layout.sample_dims)),
        ):
            if missing := [dim for dim in given if dim not in dims]:
                raise bad_value(
                    name, repr(missing[0]), f"a dimension of {argument}: {_names(dims)}", "name one"
                )
        if layout.sample_dims is not None or layout.class_dim is not None:
            samples, classes = _said(dims, layout, argument)
        else:
            other = y_true if reference is y_proba else None
            samples, classes = _told(dims, reference, other, argument, called)
        return cls(samples, classes, called, reference)

    def read(self, y_true: object, y_proba: object, weight: object) -> tuple[Any, Any, Any]:
        """Return the three as rows."""
        called = self.called
        return (
            self._rows(called.labels, y_true),
            self._rows(called.proba, y_proba),
            None if weight is None else self._rows(called.weight, weight),
        )

    def _rows(self, argument: str, values: Any) -> Any:
        if self.reference is None:
            return hold(argument, values)
        if not is_labelled(values):
            return self._unnamed(argument, values)
        dims = tuple(values.dims)
        if _all_counted(dims) or _all_counted(tuple(self.reference.dims)):
            return self._held(argument, values, dims[:1], dims[1] if len(dims) == 2 else None)
        odd = [dim for dim in dims if dim not in (*self.samples, self.classes)]
        missing = [dim for dim in self.samples if dim not in dims]
        if odd or (missing and argument != self.called.weight):
            raise bad_value(
                argument,
                f"dimensions {_names(dims)}",
                f"those of the samples, {_names(self.samples)}",
                "rename them, or pass sample_dims=... and class_dim=...",
            )
        for dim in missing:
            values = values.expand_dims({dim: self.reference.sizes[dim]})
        for dim in self.samples:
            values = self._in_order(argument, values, dim)
        return self._held(
            argument, values, self.samples, self.classes if self.classes in dims else None
        )

    def _in_order(self, argument: str, values: Any, dim: Hashable) -> Any:
        """Bring a dimension of samples into the order of its coordinate in the reference."""
        own, wanted = _coordinate(values, dim), _coordinate(self.reference, dim)
        if own is None or wanted is None or len(own) != len(wanted) or own.equals(wanted):
            return values
        order = _order(own, wanted)
        if order is None:
            raise bad_value(
                argument,
                f"coordinates {_some(own)} of {dim!r}",
                f"those of {self.called.proba}, {_some(wanted)}, each of them once",
                f"select the same ones, or drop them by .drop_vars({dim!r})",
            )
        return values.isel({dim: order})

    def _held(
        self, argument: str, values: Any, samples: Sequence[Hashable], classes: Hashable | None
    ) -> Held:
        order = tuple(samples) if classes is None else (*samples, classes)
        if len(order) < values.ndim:
            # Of more axes than can be read, which is said where shapes are looked at.
            return Held(read_array(argument, values))
        values = values.transpose(*order)
        held = hold(argument, values)
        array = held.values
        if len(samples) != 1:
            size = prod(values.sizes[dim] for dim in samples)
            shape = (size,) if classes is None else (size, values.sizes[classes])
            array = namespace(array).reshape(array, shape)
        names = None if classes is None else _coordinate(values, classes, other_names=True)
        held = replace(held, values=array, rows=_index(values, samples))
        if names is None:
            return held
        columns = named(tuple(names))
        if len(names) == 1:
            return replace(held, name=None if columns is None else columns[0])
        return replace(held, columns=columns)

    def _unnamed(self, argument: str, values: object) -> Held:
        """Read an array without names as samples, in the order of the reference."""
        held = hold(argument, values)
        sizes = tuple(self.reference.sizes[dim] for dim in self.samples)
        shape = tuple(held.values.shape)
        if len(sizes) > 1 and shape[: len(sizes)] == sizes:
            array = namespace(held.values).reshape(held.values, (-1, *shape[len(sizes) :]))
            return replace(held, values=array)
        return held


def _said(
    dims: tuple[Hashable, ...], layout: Layout, argument: str
) -> tuple[tuple[Hashable, ...], Hashable | None]:
    if layout.sample_dims is None:
        return tuple(dim for dim in dims if dim != layout.class_dim), layout.class_dim
    samples = _listed(layout.sample_dims)
    rest = [dim for dim in dims if dim not in samples]
    classes = layout.class_dim if layout.class_dim is not None else rest[0] if rest else None
    if rest != ([] if classes is None else [classes]) or classes in samples:
        raise bad_value(
            "sample_dims",
            repr(layout.sample_dims),
            f"all dimensions of {argument} but that of the classes, of {_names(dims)}",
            "name each dimension once",
        )
    return tuple(samples), classes


def _told(
    dims: tuple[Hashable, ...], reference: Any, other: Any, argument: str, called: Names
) -> tuple[tuple[Hashable, ...], Hashable | None]:
    """Return the dimensions as the other array tells them, or by their order."""
    if len(dims) < 2:
        return dims, None
    by_order = dims[:-1], dims[-1]
    if _all_counted(dims):
        return by_order
    if is_labelled(other) and not _all_counted(tuple(other.dims)):
        others = tuple(other.dims)
        rest = [dim for dim in dims if dim not in others]
        if len(rest) == 1 and len(others) == len(dims) - 1:
            return tuple(dim for dim in dims if dim in others), rest[0]
        if len(dims) == 2 and others == dims:
            return by_order
        if not rest and len(others) == len(dims):
            raise _untold(dims, argument)
        raise bad_value(
            called.labels,
            f"dimensions {_names(others)}",
            f"those of {argument} without that of the classes, of {_names(dims)}",
            "rename them, or pass sample_dims=... and class_dim=...",
        )
    if len(dims) > 2 or reference.shape[0] == reference.shape[1]:
        raise _untold(dims, argument)
    return by_order


def _untold(dims: tuple[Hashable, ...], argument: str) -> ValueError:
    return bad_value(
        argument,
        f"dimensions {_names(dims)}",
        "to know which of them is that of the classes",
        "pass class_dim=..., or sample_dims=... with all the others",
    )


def _index(values: Any, samples: Sequence[Hashable]) -> Any:
    """Return an index of the rows, where all dimensions of samples have coordinates."""
    parts = [_coordinate(values, dim) for dim in samples]
    if not parts or any(part is None for part in parts):
        return None
    if len(parts) == 1:
        return parts[0]
    import pandas as pd

    return pd.MultiIndex.from_product(parts)


def _coordinate(values: Any, dim: Hashable, *, other_names: bool = False) -> Any:
    """Return the coordinate of a dimension as an index, also where xarray has made none of it.

    One of another name, the only one along the dimension, may stand for it.
    """
    if dim in values.indexes:
        return values.indexes[dim]
    along = [name for name, each in values.coords.items() if each.dims == (dim,)]
    if dim in along:
        along = [dim]
    elif not other_names or len(along) != 1:
        return None
    import pandas as pd

    return pd.Index(values.coords[along[0]].to_numpy())


def _all_counted(dims: Sequence[Hashable]) -> bool:
    """Tell whether dimensions have the names that xarray gives of its own accord."""
    return all(dim == f"dim_{i}" for i, dim in enumerate(dims))


def _listed(dims: Hashable | Sequence[Hashable] | None) -> list[Hashable]:
    if dims is None:
        return []
    return list(dims) if isinstance(dims, list | tuple) else [dims]


def _names(dims: Sequence[Hashable]) -> str:
    return ", ".join(map(repr, dims)) or "none"
