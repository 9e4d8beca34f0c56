"""Dimensions by name: which are samples, which one is the classes, and how coordinates line up."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from propercal._array import namespace
from propercal._data.holders import Held, hold, is_labelled, named
from propercal._data.messages import bad_value
from propercal._data.reading import Names, read_array


@dataclass(frozen=True)
class Layout:
    """Where samples and classes lie in arrays of more than one axis."""

    class_axis: int | None = None
    class_dim: Hashable | None = None
    sample_dims: Hashable | Sequence[Hashable] | None = None

    @property
    def given(self) -> bool:
        """Whether anything is said."""
        return self != USUAL_LAYOUT


USUAL_LAYOUT = Layout()


def order_of(rows: Any, wanted: Any) -> Any:
    """Return where each of `wanted` is among `rows`; None if not each is there once."""
    if not (rows.is_unique and wanted.is_unique):
        return None
    order = rows.get_indexer(wanted)
    return None if (order < 0).any() else order


def some_of(index: Any) -> str:
    values = [str(value) for value in index[:4]]
    return ", ".join(values) + (", ..." if len(index) > len(values) else "")


@dataclass(frozen=True)
class Dimensions:
    """Which dimensions of the predictions are samples, and which one is the classes."""

    samples: tuple[Hashable, ...]
    classes: Hashable | None
    called: Names
    reference: Any
    """The labelled array that has them all: predictions, or else labels."""

    @classmethod
    def of(cls, y_true: object, y_proba: object, layout: Layout, called: Names) -> Dimensions:
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
            values = self._inorder_of(argument, values, dim)
        return self._held(
            argument, values, self.samples, self.classes if self.classes in dims else None
        )

    def _inorder_of(self, argument: str, values: Any, dim: Hashable) -> Any:
        """Bring a dimension of samples into the order of its coordinate in the reference."""
        own, wanted = _coordinate(values, dim), _coordinate(self.reference, dim)
        if own is None or wanted is None or len(own) != len(wanted) or own.equals(wanted):
            return values
        order = order_of(own, wanted)
        if order is None:
            raise bad_value(
                argument,
                f"coordinates {some_of(own)} of {dim!r}",
                f"those of {self.called.proba}, {some_of(wanted)}, each of them once",
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
        "pass class_dim=..., or sample_dims=..., which are all where each number is a sample",
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
