"""Labels and predictions of several models, or layers, in one order of rows and of columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, permutations
from typing import Any

import numpy as np
import numpy.typing as npt

from propercal._array import like, namespace, to_numpy
from propercal._data.classes.columns import (
    OtherColumnsError,
    check_one_beside_two,
    check_single_columns,
    is_shuffled,
    keys,
    name_columns,
    order_of_columns,
)
from propercal._data.classes.model_names import check_model_names
from propercal._data.inputs.held import Held
from propercal._data.inputs.holders import is_labelled
from propercal._data.inputs.lazy_tables import collected
from propercal._data.inputs.reading import Names, is_hashable, is_missing
from propercal._data.inputs.settings import names_given
from propercal._data.predictions.alignment import Aligned, Placed, align_placed, check_weights
from propercal._data.rows.dimensions import Dimensions
from propercal._data.rows.indexes import in_place, some_of
from propercal._data.rows.layout import USUAL_LAYOUT, Layout
from propercal._data.rows.rows import check_others, in_order_of, n_rows, unmatched
from propercal._data.words.messages import bad_value, columns_said, some_names


def align_models(
    y_true: object,
    y_proba: Sequence[object],
    sample_weight: object,
    *,
    layout: Layout,
    called: Sequence[Names],
    labels: object = None,
) -> list[Aligned]:
    """Read several predictions of the same rows and classes, and bring all into one order.

    `labels` are the classes that the caller lists, of columns without names.
    """
    y_true, sample_weight, first, *others = collected(y_true, sample_weight, *y_proba)
    aligned = align_all(y_true, (first, *others), sample_weight, layout=layout, called=called)
    check_model_names((first, *others), [each.proba for each in aligned], called)
    a, *rest = _beside_single_columns(aligned)
    for (one, names), (two, others_names) in permutations(zip((a, *rest), called, strict=True), 2):
        if not _are_listed(two.proba, labels):
            check_one_beside_two(one.proba, two.proba, two.labels, (names, others_names))
    for (one, names), (two, others_names) in combinations(zip((a, *rest), called, strict=True), 2):
        check_single_columns(one.proba, two.proba, one.labels, (names, others_names))
    return [
        a,
        *(
            each._replace(proba=_with_columns_of(each.proba, a, (called[0], names), labels))
            for each, names in zip(rest, called[1:], strict=True)
        ),
    ]


def _beside_single_columns(models: list[Aligned]) -> list[Aligned]:
    """Return columns 1, 0 as 0, 1, and yes, no as no, yes, beside single columns, by their names.

    A single column has no order that could be another one. Several without names have.
    """
    single = [tuple(each.proba.values.shape)[1:] in ((), (1,)) for each in models]
    named = [each.proba.columns is not None for each in models]
    if not any(single) or not all(map(any, zip(single, named, strict=True))):
        return models
    found = []
    for each in models:
        names, values = each.proba.columns, each.proba.values
        turned = names is not None and len(names) == 2 and is_shuffled(names)
        if names is not None and turned and name_columns(each.labels, names):
            values = namespace(values).take(values, like([1, 0], values), axis=1)
            each = each._replace(proba=replace(each.proba, values=values, columns=names[::-1]))
        found.append(each)
    return found


def align_all(
    y_true: object,
    y_proba: Sequence[object],
    sample_weight: object,
    *,
    layout: Layout = USUAL_LAYOUT,
    called: Sequence[Names],
) -> list[Aligned]:
    """Read several predictions of the same rows, and bring the rows of all into one order.

    Each is matched with the labels by itself, and follows them into the order of the first.
    """
    y_true, sample_weight, first, *others = collected(y_true, sample_weight, *y_proba)
    layout = layout.beside(y_true, first, *others)
    for i, each in enumerate(others):
        if is_labelled(first) and is_labelled(each) and set(first.dims) == set(each.dims):
            dimensions = Dimensions.of(y_true, first, layout, called[0])
            dimensions.check_beside(y_true, each, called[i + 1])
            others[i] = each.transpose(*first.dims)
    y_proba = first, *others
    placed = [
        align_placed(y_true, each, sample_weight, layout_for(layout, y_true, each, y_proba), names)
        for each, names in zip(y_proba, called, strict=True)
    ]
    _check_placed(placed, y_true, y_proba, called)
    placed = _with_weights_told(placed)
    check_weights([each.rows for each in placed], called[0])
    found = [_carried(each, placed[0]) for each in placed]
    for (a, names_a), (b, names_b) in combinations(zip(found, called, strict=True), 2):
        _check_same_rows(a, b, (names_a, names_b))
    return found


def _check_placed(
    placed: Sequence[Placed],
    y_true: object,
    y_proba: Sequence[object],
    called: Sequence[Names],
) -> None:
    """Refuse rows without names beside labels and predictions in different orders."""
    moved = [each.moved for each in placed]
    if not any(moved):
        return
    several = is_labelled(y_true) and y_true.ndim > 1  # type: ignore[attr-defined]
    other = called[moved.index(True)].proba
    for own, each, given, names in zip(moved, placed, y_proba, called, strict=True):
        proba = each.rows.proba
        # Of several dimensions, names say which is which.
        named = several and is_labelled(given) and given.ndim > 2  # type: ignore[attr-defined]
        if not own and not named and proba.rows is None and not proba.others:
            found = "a default index" if proba.counted else "no index"
            raise unmatched(names.proba, found, f"{names.labels} and {other}")


def layout_for(layout: Layout, y_true: object, y_proba: object, others: Sequence[object]) -> Layout:
    """Leave out what is said of dimensions that others have, and neither of these two."""
    if is_labelled(y_proba) or not any(is_labelled(each) for each in others):
        return layout
    if not is_labelled(y_true):
        return replace(layout, class_dim=None, sample_dims=None)
    known = layout.class_dim in set(y_true.dims)  # type: ignore[attr-defined]
    return layout if known else replace(layout, class_dim=None)


def _with_weights_told(placed: list[Placed]) -> list[Placed]:
    """Return data with weights in the order of predictions that have an index, side by side.

    Labels without one stand beside all predictions.
    """
    beside = [each for each in placed if each.places is None and each.rows.labels.rows is None]
    told = [each.rows.weight for each in beside if each.rows.proba.rows is not None]
    if not told or told[0] is None or told[0].rows is None:
        return placed
    return [
        each._replace(rows=each.rows._replace(weight=told[0]))
        if any(each is x for x in beside) and each.rows.proba.rows is None
        else each
        for each in placed
    ]


def _carried(given: Placed, first: Placed) -> Aligned:
    """Bring rows into the order of the first, by where they were among the labels."""
    n = given.rows.n_rows
    if n is None or n != first.rows.n_rows or given.places is first.places:
        return given.rows
    places, wanted = (
        np.arange(n) if each is None else each for each in (given.places, first.places)
    )
    order = np.argsort(places)[wanted]
    return given.rows if in_place(order) else given.rows.take(order)


def _check_same_rows(a: Aligned, b: Aligned, called: tuple[Names, Names]) -> None:
    """Refuse predictions in orders that labels without an index cannot both have, or weights."""
    order = in_order_of(b.proba, a.proba, called[1].proba, called[0].proba).order
    if order is not None:
        raise bad_value(
            called[1].proba,
            f"rows of the index {some_of(b.proba.rows)}",
            f"the order of {called[0].proba}, {some_of(a.proba.rows)}, since {called[0].labels} "
            "has no index",
            "bring both into the order of the labels",
        )
    check_others(b.proba, a.proba, called[1].proba, called[0].proba)
    if a.weight is None or b.weight is None or n_rows(a.weight) != n_rows(b.weight):
        return
    of_a, of_b = to_numpy(a.weight.values), to_numpy(b.weight.values)
    if not _are_equal(of_a, of_b):
        raise unmatched(
            called[0].weight,
            "an index that only one of them has",
            f"{called[0].proba} and {called[1].proba}",
        )


def _are_equal(first: npt.NDArray[Any], second: npt.NDArray[Any]) -> bool:
    """Tell whether values are the same, or missing on both sides."""
    if first.dtype.kind != "O":
        return bool(((first == second) | (first != first)).all())
    pairs = zip(first.ravel().tolist(), second.ravel().tolist(), strict=True)
    # What pandas has for no value is neither equal to anything nor different.
    return all(
        a is b or (is_missing(b) if is_missing(a) else not is_missing(b) and a == b)
        for a, b in pairs
    )


def _with_columns_of(
    held: Held, first: Aligned, called: tuple[Names, Names], labels: object
) -> Held:
    """Return `held` with its columns in the order of those of the first, where both have names."""
    held, other = _as_listed(held, first.proba, labels), _as_listed(first.proba, held, labels)
    _check_order_of_labels(held, other, first.labels, called[::-1])
    _check_order_of_labels(other, held, first.labels, called)
    try:
        order = order_of_columns(other.columns, held.columns)
    except OtherColumnsError as error:
        raise bad_value(
            called[1].proba,
            columns_said(held.columns),
            f"those of {called[0].proba}, {columns_said(other.columns, '')}",
            "name the columns of both alike, or pass both without names",
        ) from error
    if order is None:
        return held
    if not name_columns(first.labels, other.columns or ()):
        raise bad_value(
            called[1].proba,
            f"columns {list(held.columns or ())}",
            f"the order of {called[0].proba}, {list(other.columns or ())}, since "
            f"{called[0].labels} names none of them, but counts columns",
            "bring the columns of both into one order",
        )
    values = namespace(held.values).take(held.values, like(order, held.values), axis=1)
    return replace(held, values=values, columns=other.columns, turned=held.columns)


def _check_order_of_labels(
    held: Held, other: Held, labels: Held, called: tuple[Names, Names]
) -> None:
    """Refuse columns without names beside names and labels that have classes in two orders."""
    said = labels.columns if labels.categories is None else labels.categories
    names = None if held.columns is not None else other.columns
    if said is None or names is None or keys(said) == keys(names):
        return
    if len(said) == len(names) and {*keys(said)} == {*keys(names)}:
        raise bad_value(
            called[0].proba,
            "columns without names",
            f"names: {called[0].labels} has classes in the order {some_names(said)}, "
            f"{called[1].proba} in that of {some_names(names)}, and nothing says which it has",
            "name its columns by classes",
        )


def _are_listed(held: Held, labels: object) -> bool:
    """Tell whether the caller lists classes by the names of columns."""
    listed = [] if labels is None else np.atleast_1d(names_given(labels)).tolist()
    names = keys([each for each in listed if is_hashable(each)])
    return bool(set(keys(held.columns or ())) & set(names))


def _as_listed(held: Held, other: Held, labels: object) -> Held:
    """Return columns without names under those that the caller lists, if the other has these."""
    if labels is None or held.columns is not None or other.columns is None:
        return held
    listed = tuple(np.atleast_1d(names_given(labels)).tolist())
    names = keys(listed) if all(map(is_hashable, listed)) else []
    shape = tuple(held.values.shape)
    if shape[1:] != (len(names),) or sorted(map(str, names)) != sorted(
        map(str, keys(other.columns))
    ):
        return held
    return replace(held, columns=listed, listed=True)
