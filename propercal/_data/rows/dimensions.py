"""Dimensions by name: which are samples, which one is the classes, and how coordinates line up."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from propercal._array import namespace
from propercal._data.inputs.codes import codes_of
from propercal._data.inputs.held import Held
from propercal._data.inputs.holders import hold, is_labelled
from propercal._data.inputs.reading import Names, read_array, read_numpy
from propercal._data.rows.coordinates import (
    check_grids,
    classes_of,
    coordinate,
    index_of,
    order_along,
    order_by_levels,
    others_along,
    others_of_rows,
    tells,
)
from propercal._data.rows.indexes import Order, are_equal, in_place
from propercal._data.rows.layout import Layout, all_counted, listed, said, some_dims, told
from propercal._data.rows.rows import unmatched
from propercal._data.rows.scalars import check_selected, may_name_class, scalars_of, selected
from propercal._data.words.messages import bad_value
from propercal._data.words.tokens import named, number_otherwise


@dataclass(frozen=True)
class Dimensions:
    """Which dimensions of the predictions are samples, and which one is the classes."""

    samples: tuple[Hashable, ...]
    classes: Hashable | None
    called: Names
    reference: Any
    """The labelled array that has them all: predictions, or else labels; None for neither."""
    labels: Any = None
    """Labels, as they are given."""
    ordered: bool = False
    """Whether the caller says in which order the dimensions of samples are."""
    turned: bool = False
    """Whether no array has them in that order."""
    said: bool = False
    """Whether the caller says which dimension is which, though no array may name them."""

    @classmethod
    def of(cls, y_true: object, y_proba: object, layout: Layout, called: Names) -> Dimensions:
        """Decide, or raise where it cannot be told."""
        reference: Any = y_proba if is_labelled(y_proba) else y_true
        argument = called.proba if is_labelled(y_proba) else called.labels
        if not is_labelled(reference):
            return cls((), None, called, None, y_true)
        dims = tuple(reference.dims)
        for name, given in (
            (layout.called, [] if layout.class_dim is None else [layout.class_dim]),
            ("sample_dims", listed(layout.sample_dims)),
        ):
            if missing := [dim for dim in given if dim not in set(dims)]:
                raise bad_value(
                    name,
                    repr(missing[0]),
                    f"a dimension of {argument}: {some_dims(dims)}",
                    "name one",
                )
        is_said = layout.sample_dims is not None or layout.class_dim is not None
        if is_said:
            samples, classes = said(dims, layout, argument)
        else:
            other = y_true if reference is y_proba else None
            samples, classes = told(dims, reference, other, layout, argument, called)
        ordered = layout.sample_dims is not None
        turned = ordered and not layout.beside(y_true, y_proba).followed
        return cls(samples, classes, called, reference, y_true, ordered, turned, is_said)

    def read(self, y_true: object, y_proba: object, weight: object) -> tuple[Any, Any, Any]:
        """Return the three as rows."""
        called = self.called
        if is_labelled(y_true) and is_labelled(y_proba):
            check_selected(called.labels, y_true, y_proba, called.proba)
        labels, proba = self._rows(called.labels, y_true), self._rows(called.proba, y_proba)
        if weight is None:
            return labels, proba, None
        for name, other in ((called.labels, y_true), (called.proba, y_proba)):
            if is_labelled(weight) and is_labelled(other):
                check_selected(called.weight, weight, other, name, weight=True)
        held = self._weight(weight)
        told = self.reference is not None or not labels.rows is proba.rows is None
        if is_labelled(weight) and weight.ndim > 1 and not told:  # type: ignore[attr-defined]
            raise bad_value(
                called.weight,
                f"dimensions {some_dims(weight.dims)}",  # type: ignore[attr-defined]
                f"one of rows, as neither {called.labels} nor {called.proba} has names that tell "
                "the order of several",
                "pass an array of one value for each row, in their order",
            )
        moved = labels.places is not None or proba.places is not None
        if moved and not is_labelled(weight) and held.rows is None:
            raise unmatched(called.weight, "no index", f"{called.labels} and {called.proba}")
        return labels, proba, held

    def places(self, y_true: Any) -> Order | None:
        """Return where each row was among labels, None for labels without dimensions."""
        if not is_labelled(y_true):
            return None
        dims = tuple(y_true.dims)
        if 0 in y_true.shape:
            # Whoever needs rows says so.
            return None
        if self._by_order(dims):
            first = y_true.isel(dict.fromkeys(dims[1:], 0), drop=True)
        elif self.classes in dims:
            first = y_true.isel({self.classes: 0}, drop=True)
        else:
            first = y_true
        numbered = first.copy(data=np.arange(first.size).reshape(first.shape))
        found: Order = self._rows(self.called.labels, numbered).values
        return found

    def _by_order(self, dims: tuple[Hashable, ...]) -> bool:
        """Tell whether dimensions are read by their order, as no one has given them names."""
        others = tuple(self.reference.dims)
        # Names that xarray has given are names to who says one of them.
        said = self.said and len(dims) > 1 and set(dims) <= set(others)
        return (all_counted(dims) or all_counted(others)) and not said

    def _rows(self, argument: str, values: Any) -> Any:
        if not is_labelled(values):
            return self._unnamed(argument, values)
        dims = tuple(values.dims)
        if self.reference is None:
            coordinates = all(coordinate(values, dim) is not None for dim in dims)
            if len(dims) == 1 or coordinates:
                return self._held(argument, values, dims, None)
            return hold(argument, values)
        if self._by_order(dims):
            if dims and dims[:1] == self.samples:
                values = self._inorder_of(argument, values, dims[0])
            return self._held(argument, values, dims[:1], dims[1] if len(dims) == 2 else None)
        odd = [dim for dim in dims if dim not in (*self.samples, self.classes)]
        missing = [dim for dim in self.samples if dim not in dims]
        if odd or (missing and argument != self.called.weight):
            raise bad_value(
                argument,
                f"dimensions {some_dims(dims)}",
                f"those of the samples, {some_dims(self.samples)}",
                "rename them, or pass sample_dims=... and class_dim=...",
            )
        order = None
        for dim in self.samples:
            if dim in missing:
                along = coordinate(self.reference, dim)
                size = self.reference.sizes[dim]
                values = values.expand_dims({dim: size if along is None else along})
            else:
                order = order_along(argument, values, self.reference, dim, self._other)
                values = values if order is None else values.isel({dim: order})
        check_grids(argument, values, self.reference, self._other)
        classes = self.classes if self.classes in dims else None
        held = self._held(argument, values, self.samples, classes)
        # Of labels and predictions it is told otherwise.
        moved = argument == self.called.weight and dims == self.samples and len(dims) == 1
        return replace(held, places=order) if moved else held

    @property
    def _other(self) -> str:
        """What the reference is called."""
        return self.called.labels if self.reference is self.labels else self.called.proba

    def _inorder_of(self, argument: str, values: Any, dim: Hashable) -> Any:
        """Bring a dimension of samples into the order that the reference has."""
        order = order_along(argument, values, self.reference, dim, self._other)
        return values if order is None else values.isel({dim: order})

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
        others = others_of_rows(values, samples)
        rows = index_of(values, samples)
        held = replace(held, values=array, rows=rows, others=others, along=classes)
        if classes is None:
            return held if argument == self.called.weight else self._named(argument, held, values)
        held = replace(held, dim=classes)
        names = classes_of(argument, values, classes)
        if names is None:
            return held
        columns = named(tuple(names))
        if len(names) == 1:
            counted = columns is None and type(names).__name__ == "RangeIndex"
            return replace(held, name=None if counted else next(iter(names)))
        numbered = columns is None and type(names).__name__ != "RangeIndex"
        along = {name: each.tolist() for name, each in others_along(values, classes).items()}
        codes = {name: each for name, each in along.items() if number_otherwise(each)}
        return replace(held, columns=columns, numbered=numbered, codes=codes_of(names) | codes)

    def _named(self, argument: str, held: Held, values: Any) -> Held:
        """Note the class that a vector was selected by."""
        if not scalars_of(values):
            return held
        if argument == self.called.proba:
            occurred = _values(self.called.labels, self.labels)
            name = selected(argument, values, occurred, self.labels)
        else:
            other = None if self.reference is self.labels else self.reference
            words = may_name_class(values, other).values()
            said = [each for each in (held.name, *words) if isinstance(each, str)]
            name = " ".join(said) or None
        return held if name is None else replace(held, name=name)

    def _unnamed(self, argument: str, values: object) -> Held:
        """Read an array without names as samples, in the order of the reference."""
        held = hold(argument, values)
        if self.reference is None:
            return held
        sizes = tuple(self.reference.sizes[dim] for dim in self.samples)
        shape = tuple(held.values.shape)
        if self._has_levels(held) and shape[:1] == (prod(sizes),):
            index, order = order_by_levels(
                argument, held.rows, self.reference, self.samples, self._other
            )
            held = held if in_place(order) else held.take(order)
            return replace(held, rows=index)
        if self.turned and not self._has_index(held):
            raise self._turned(argument, shape)
        if len(sizes) > 1 and shape[: len(sizes)] == sizes:
            dims = tuple(self.reference.dims)
            both = shape == tuple(self.reference.shape) and dims[: len(sizes)] != self.samples
            if both:
                raise bad_value(
                    argument,
                    f"an array of shape {shape} without names of dimensions",
                    f"to know whether they are those of {self._other}, {some_dims(dims)}, in order",
                    "pass a DataArray of these dimensions",
                )
            if not held.rows is held.columns is None:
                raise bad_value(
                    argument,
                    f"a table of shape {shape}, whose axes have names",
                    f"dimensions by name, as {self._other} has {some_dims(self.samples)}, or an "
                    "array without names",
                    "pass a DataArray of these dimensions, or .to_numpy() if it is in their order",
                )
            array = namespace(held.values).reshape(held.values, (-1, *shape[len(sizes) :]))
            return replace(held, values=array)
        return held

    def _turned(self, argument: str, shape: tuple[int, ...]) -> ValueError:
        dims = [dim for dim in self.reference.dims if dim in self.samples]
        return bad_value(
            argument,
            f"an array of shape {shape} without names of dimensions",
            f"to know whether it is in the order of sample_dims, {some_dims(self.samples)}, or of "
            f"{self._other}, {some_dims(dims)}",
            "name sample_dims in that of the arrays, or pass a DataArray",
        )

    def _has_levels(self, held: Held) -> bool:
        """Tell whether rows have an index whose levels are the dimensions of samples."""
        names = [] if held.rows is None else list(held.rows.names)
        return len(names) > 1 and len(names) == len(self.samples) and set(names) == {*self.samples}

    # ------------------------------------------------------------ weights, and other predictions

    def _weight(self, weight: Any) -> Held:
        """Return weights as rows, or raise where labels were moved and weights cannot follow."""
        argument = self.called.weight
        y_true, between = self.labels, f"{self.called.labels} and {self.called.proba}"
        if not is_labelled(y_true) or self.reference is y_true:
            return self._rows(argument, weight)  # type: ignore[no-any-return]
        own = tuple(dim for dim in y_true.dims if dim in self.samples)
        moves = {
            dim: order_along(self.called.labels, y_true, self.reference, dim, self._other)
            for dim in own
        }
        if not is_labelled(weight):
            held = self._unnamed(argument, weight)
            transposed = own != self.samples and len(own) > 1 and not self.ordered
            moved = transposed or any(order is not None for order in moves.values())
            if moved and not self._has_index(held):
                raise unmatched(argument, "no index", between)
            return held
        for dim, order in moves.items():
            if dim not in weight.dims or tells(weight, self.reference, dim):
                continue
            along = None
            if tells(weight, y_true, dim):
                along = order_along(argument, weight, y_true, dim, self.called.labels)
            elif order is not None:
                raise unmatched(argument, f"no coordinates of {dim!r}", between)
            for each in (along, order):
                weight = weight if each is None else weight.isel({dim: each})
        return self._rows(argument, weight)  # type: ignore[no-any-return]

    def _has_index(self, held: Held) -> bool:
        """Tell whether rows have an index that the reference has too."""
        known = self._has_levels(held) or index_of(self.reference, self.samples) is not None
        if held.rows is None or known:
            return held.rows is not None
        along = others_along(self.reference, self.samples[0])
        return any(are_equal(each, held.rows) for each in along.values())

    def check_beside(self, y_true: object, other: Any, called: Names) -> None:
        """Refuse other predictions in an order that labels without names cannot have too."""
        by_name = is_labelled(y_true) or hold(called.labels, y_true).rows is not None
        for dim in self.samples:
            theirs = order_along(called.proba, other, self.reference, dim, self.called.proba)
            if theirs is None or (is_labelled(y_true) and tells(y_true, other, dim)):
                continue
            if is_labelled(y_true) or not by_name:
                raise unmatched(
                    called.labels,
                    f"no coordinates of {dim!r}",
                    f"{self.called.proba} and {called.proba}",
                )
        transposed = tuple(dim for dim in other.dims if dim in self.samples) != self.samples
        if transposed and not by_name and not self.ordered:
            raise unmatched(
                called.labels, "no dimensions", f"{self.called.proba} and {called.proba}"
            )


def of_rows(argument: str, values: Any, called: Names, labels: object = None) -> Held:
    """Return what any holder says of rows that are told by their positions.

    Those of a labelled array are its first dimension, and classes the second; `labels` are those of
    the rows, where they are known.
    """
    if not is_labelled(values) or values.ndim not in (1, 2):
        return hold(argument, values)
    rows, *others = values.dims
    if not others and labels is None:
        return hold(argument, values)
    classes = others[0] if others else None
    dimensions = Dimensions((rows,), classes, called, values, labels)
    return dimensions._held(argument, values, (rows,), classes)


def _values(argument: str, values: object) -> list[Any]:
    """Return the different values of labels, of any that can be told apart, or their columns."""
    held = hold(argument, values)
    if held.columns is not None:
        return list(held.columns)
    try:
        return list(set(np.ravel(read_numpy(argument, held.values)).tolist()))
    except TypeError:
        return []
