"""Which row is which: labels, predictions and weights in one order of rows, or an error.

Where two of them carry an index, or coordinates, their rows are matched by it. A default range
index says nothing, unless the other one has the same numbers in another order: then rows were
shuffled before or after the one was made, and nobody but the caller knows which.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import NamedTuple

import numpy as np

from propercal._array import is_numpy, like, namespace
from propercal._data.columns import OtherColumnsError, order_of_columns
from propercal._data.dimensions import USUAL_LAYOUT, Dimensions, Layout, order_of, some_of
from propercal._data.holders import Held, hold, is_labelled
from propercal._data.messages import bad_value
from propercal._data.reading import USUAL_NAMES, Names
from propercal._typing import Array


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
    layout: Layout = USUAL_LAYOUT,
    called: Names = USUAL_NAMES,
) -> Aligned:
    """Read the three and bring them into one order of rows, or raise."""
    if layout.class_axis is not None:
        y_true, y_proba, sample_weight = _flattened(
            y_true, y_proba, sample_weight, layout.class_axis, called
        )
    elif any(is_labelled(each) for each in (y_true, y_proba, sample_weight)):
        y_true, y_proba, sample_weight = Dimensions.of(y_true, y_proba, layout, called).read(
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
            f"rows of the index {some_of(b.proba.rows)}",
            f"the order of {called[0].proba}, {some_of(a.proba.rows)}, since {called[0].labels} "
            "has no index",
            "bring both into the order of the labels",
        )
    words = is_numpy(a.labels.values) and a.labels.values.dtype.kind in "OSTU"
    return a, Aligned(a.labels, _with_columns_of(proba, a.proba, called, words), a.weight)


def _with_columns_of(held: Held, other: Held, called: tuple[Names, Names], words: bool) -> Held:
    """Return `held` with its columns in the order of those of `other`, where both have names."""
    try:
        order = order_of_columns(other.columns, held.columns, words=words)
    except OtherColumnsError as error:
        raise bad_value(
            called[1].proba,
            f"columns {list(held.columns or ['without names'])}",
            f"those of {called[0].proba}, {list(other.columns or ['without names'])}",
            "name the columns of both alike, or pass both without names",
        ) from error
    if order is None:
        return held
    values = namespace(held.values).take(held.values, like(order, held.values), axis=1)
    return replace(held, values=values, columns=other.columns)


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
    order = order_of(held.rows, other.rows)
    if order is None:
        raise bad_value(
            argument,
            f"rows of the index {some_of(held.rows)}",
            f"the rows of {other_argument}, {some_of(other.rows)}, each of them once",
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
            f"rows of the index {some_of(held.rows if held.rows is not None else usual)}",
            f"the order of {other_argument}, whose index is "
            f"{some_of(other.rows if other.rows is not None else usual)}",
            "call .sort_index() on the shuffled one if its rows are to be brought back into "
            "order, or .reset_index(drop=True) if rows stand side by side as they are",
        )


def _size(held: Held) -> int:
    return int(held.values.shape[0]) if held.values.ndim else 0


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
