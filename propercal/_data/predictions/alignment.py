"""Which row is which: labels, predictions and weights in one order of rows, or an error.

Where two of them carry an index, or coordinates, their rows are matched by it; labels and
predictions of which one has none stand side by side. Weights without one are never matched with two
whose rows stand in different orders.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from propercal._array import namespace
from propercal._data.inputs.held import Held
from propercal._data.inputs.holders import hold, is_labelled
from propercal._data.inputs.lazy_tables import collected
from propercal._data.inputs.masks import filled
from propercal._data.inputs.named_rows import check_no_outputs
from propercal._data.inputs.reading import USUAL_NAMES, Names
from propercal._data.rows.coordinates import in_any_order
from propercal._data.rows.dimensions import Dimensions
from propercal._data.rows.indexes import Order, in_place
from propercal._data.rows.layout import USUAL_LAYOUT, Layout
from propercal._data.rows.rows import check_others, in_order_of, n_rows
from propercal._data.rows.rows_of_weights import check_weight_follows, check_weight_not_shuffled
from propercal._data.words.messages import bad_value
from propercal._typing import Array


class Aligned(NamedTuple):
    """Labels, predictions and weights of the same rows, in the order of the predictions."""

    labels: Held
    proba: Held
    weight: Held | None

    def take(self, order: Order) -> Aligned:
        """Return rows by their numbers."""
        weight = None if self.weight is None else self.weight.take(order)
        return Aligned(self.labels.take(order), self.proba.take(order), weight)

    @property
    def n_rows(self) -> int | None:
        """The number of rows; None where the three have different ones."""
        found = {n_rows(each) for each in self if each is not None}
        return found.pop() if len(found) == 1 else None


class Placed(NamedTuple):
    """Aligned data, and where their rows were among the caller's labels."""

    rows: Aligned
    places: Order | None
    """None where labels stand as they are given."""

    @property
    def moved(self) -> bool:
        """Whether labels and predictions were given in different orders."""
        orders = self.places, self.rows.proba.places
        return any(each is not None and not in_place(each) for each in orders)


def align(
    y_true: object,
    y_proba: object,
    sample_weight: object = None,
    *,
    layout: Layout = USUAL_LAYOUT,
    called: Names = USUAL_NAMES,
) -> Aligned:
    """Read the three and bring them into one order of rows, or raise."""
    y_true, y_proba, sample_weight = collected(y_true, y_proba, sample_weight)
    rows = align_placed(y_true, y_proba, sample_weight, layout, called).rows
    check_weights([rows], called)
    return rows


def align_in_order(
    y_true: object,
    y_proba: object,
    *,
    layout: Layout = USUAL_LAYOUT,
    called: Names = USUAL_NAMES,
) -> tuple[Aligned, bool]:
    """Read labels and predictions, and tell whether labels were moved."""
    rows, places = align_placed(y_true, y_proba, None, layout, called)
    places = rows.labels.places if places is None else places
    return rows, places is not None and not in_place(places)


def align_placed(
    y_true: object, y_proba: object, sample_weight: object, layout: Layout, called: Names
) -> Placed:
    places = None
    if sample_weight is not None:
        # Rows that do not count may lack values.
        y_true, y_proba = filled(y_true, y_proba)
    check_no_outputs(called.proba, y_proba if layout.class_axis is None else None)
    if layout.class_axis is not None:
        y_true, y_proba, sample_weight = _flattened(
            y_true, y_proba, sample_weight, layout.class_axis, called
        )
    elif any(is_labelled(each) for each in (y_true, y_proba, sample_weight)):
        y_true, y_proba, sample_weight = map(in_any_order, (y_true, y_proba, sample_weight))
        dimensions = Dimensions.of(y_true, y_proba, layout, called)
        places = dimensions.places(y_true)
        read = dimensions.read(y_true, y_proba, sample_weight)
        places = read[0].places if places is None else places
        y_true, y_proba, sample_weight = read
    elif layout.given:
        name = layout.called if layout.class_dim is not None else "sample_dims"
        raise bad_value(
            name,
            repr(layout.class_dim if layout.class_dim is not None else layout.sample_dims),
            f"{called.proba} with named dimensions",
            "pass a DataArray of xarray, or class_axis=... for an array",
        )
    proba, labels = hold(called.proba, y_proba), hold(called.labels, y_true)
    for argument, each in ((called.labels, labels), (called.proba, proba)):
        # What no predictions are is named where they are read.
        if each.values.ndim == 0 and (each is labels or str(each.values.dtype) != "object"):
            found, fix = "an array of shape ()", "pass a list, of shape (1,) if it is the only one"
            raise bad_value(argument, found, "shape (n,) or (n, k), one for each row", fix)
    labels, order = in_order_of(labels, proba, called.labels, called.proba)
    if order is not None:
        places = order if places is None else places[order]
    weight = None if sample_weight is None else hold(called.weight, sample_weight)
    if weight is not None:
        if order is not None:
            between = f"{called.labels} and {called.proba}"
            check_weight_follows(weight, labels, called.weight, between)
        weight = in_order_of(weight, proba, called.weight, called.proba).held
        if proba.rows is None:
            weight = in_order_of(weight, labels, called.weight, called.labels).held
        check_others(weight, proba, called.weight, called.proba)
        check_others(weight, labels, called.weight, called.labels)
    check_others(labels, proba, called.labels, called.proba)
    return Placed(Aligned(labels, proba, weight), places)


def check_weights(found: Sequence[Aligned], called: Names) -> None:
    """Refuse weights that were shuffled where nothing says whether the rows of others were."""
    weight = found[0].weight
    if weight is not None:
        others = (each for rows in found for each in (rows.labels, rows.proba))
        beside = f"{called.labels} or {called.proba}"
        check_weight_not_shuffled(weight, *others, argument=called.weight, beside=beside)


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
        array = other.values
        named = is_labelled(given) or not other.rows is other.columns is None
        if array.ndim > 1 and named and min(array.shape) > 1:
            raise bad_value(
                argument,
                f"a {type(given).__name__}, whose axes have names",
                f"an array beside {called.proba}, whose axes have none",
                "pass .to_numpy() of it, if its axes are in the same order",
            )
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
