"""Blocks of neighbours: how long they are, and whether rows stand in the order of a series."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from propercal._data.inputs.held import Held
from propercal._data.inputs.holders import hold, is_labelled
from propercal._data.inputs.reading import USUAL_NAMES, Names
from propercal._data.predictions.alignment import align, align_in_order
from propercal._data.predictions.several_models import layout_for
from propercal._data.rows.dimensions import Dimensions
from propercal._data.rows.indexes import some_of
from propercal._data.rows.layout import USUAL_LAYOUT, Layout
from propercal._data.rows.rows_of import rows_of
from propercal._data.rows.times import fall, is_ordered, kept, run_back, times_of
from propercal._data.words.messages import bad_value


def block_length(blocks: object, n: int) -> int:
    """Return the number of rows of a block, or raise."""
    if isinstance(blocks, str) and blocks == "auto":
        return math.ceil(round(math.cbrt(n), 9))
    whole = isinstance(blocks, int | np.integer) and not isinstance(blocks, bool)
    length = int(blocks) if whole else 0  # type: ignore[call-overload]
    if not 1 <= length <= n:
        raise bad_value(
            "blocks",
            repr(blocks),
            f'a whole number of rows from 1 to {n}, or "auto"',
            "take blocks longer than what is dependent; auto is the cube root of the number of "
            "rows",
        )
    return length


def check_all_series(
    blocks: object,
    y_true: object,
    y_proba: Sequence[object],
    layout: Layout,
    called: Sequence[Names],
    sample_weight: object = None,
) -> None:
    """Raise if there are blocks, and :func:`check_series` refuses one of several predictions."""
    for each, names in zip(y_proba, called, strict=True) if blocks is not None else ():
        own = layout_for(layout, y_true, each, y_proba)
        check_series(blocks, y_true, each, own, names, sample_weight)


def check_series(
    blocks: object,
    y_true: object,
    y_proba: object,
    layout: Layout,
    called: Names,
    sample_weight: object = None,
) -> None:
    """Raise if rows are known not to stand in the order of one series.

    Where neither labels nor predictions say, weights may.
    """
    several = [size for size in _sizes(y_true, y_proba, layout, called) if size > 1]
    (labels, proba, _), moved = align_in_order(y_true, y_proba, layout=layout, called=called)
    index = labels.rows if proba.rows is None else proba.rows
    if index is not None and index.nlevels > 1:
        levels = [index.get_level_values(i) for i in range(index.nlevels)]
        levels = [each for each in levels if each.nunique() > 1]
        several = several if len(levels) < 2 else [each.nunique() for each in levels]
        index = levels[0] if levels else None
    if len(several) > 1:
        raise bad_value(
            "blocks",
            f"{blocks!r} beside rows of {len(several)} dimensions",
            "one series, whose neighbours depend on each other",
            "pass groups=, such as a number for each stretch of each series",
        )
    times = [each for each in (*_named(labels), *_named(proba)) if times_of(each)]
    if index is None and times:
        index = times[0]
    of_weight = None if index is not None else _index_of_weight(sample_weight, called)
    index = of_weight if index is None else index
    ordered = None if index is None else is_ordered(index)
    if ordered is False or (ordered is None and moved):
        where = "" if index is None else f" of the index {some_of(index)}"
        where += "" if of_weight is None else f", as {called.weight} has it"
        raise bad_value(
            "blocks",
            f"{blocks!r} beside rows{where}"
            + ("" if ordered is False else f", in which {called.labels} stand in another order"),
            "the order of the series, whose neighbours depend on each other",
            f"sort {called.labels} and {called.proba} by time, such as by .sort_index(), or call "
            ".reset_index(drop=True) on both if rows are in order (xarray: .sortby, .drop_vars)",
        )


def _named(held: Held) -> list[Any]:
    """Return coordinates along the rows, each under its name."""
    return [each.rename(name) for name, each in held.others.items()]


def _index_of_weight(sample_weight: object, called: Names) -> Any:
    """Return the index of weights, where they have one of one level; else None."""
    said = None if sample_weight is None else rows_of(called.weight, sample_weight)
    index = None if said is None else said.rows
    return None if index is None or index.nlevels > 1 else index


def _sizes(y_true: object, y_proba: object, layout: Layout, called: Names) -> list[int]:
    """Return the sizes of the axes of samples, where these are known."""
    if layout.class_axis is not None:
        shape = list(hold(called.proba, y_proba).values.shape)
        return [size for i, size in enumerate(shape) if i != layout.class_axis % len(shape)]
    if not (is_labelled(y_true) or is_labelled(y_proba)):
        return []
    dimensions = Dimensions.of(y_true, y_proba, layout, called)
    return [int(dimensions.reference.sizes[dim]) for dim in dimensions.samples]


def times_in_order(y_true: object, y_proba: object, called: Names = USUAL_NAMES) -> Any:
    """Return an index of the times of rows, None if they have none, or raise if it goes back."""
    said = rows_of(called.labels, y_true), rows_of(called.proba, y_proba)
    if all(each is None for each in said):
        return None
    labels, proba, _ = align(y_true, y_proba, called=called)
    index = labels.rows if proba.rows is None else proba.rows
    sizes = [size for size in _sizes(y_true, y_proba, USUAL_LAYOUT, called) if size > 1]
    # Several series have no order in common.
    others = [*_named(labels), *_named(proba)] if len(sizes) < 2 else []
    number = range(0 if index is None else index.nlevels)
    levels = [(i, index.get_level_values(i)) for i in number]
    if len(levels) > 1:
        levels = [each for each in levels if each[1].nunique() > 1] or levels[:1]
    several = len(levels) > 1
    for place, each in levels:
        # Of several series each has an order.
        falls = not several and fall(each)
        if falls or run_back(each, index.droplevel(place) if several else None):
            name = place if each.name is None else each.name
            raise _goes_back(each, called, f"level={name!r}" if index.nlevels > 1 else "")
    for each in others:
        if run_back(each):
            raise _goes_back(each, called)
    found = [each for _, each in levels if not (several and run_back(each))]
    found += [] if several else others
    return next((times for times in map(kept, found) if times is not None), None)


def _goes_back(times: Any, called: Names, level: str = "") -> ValueError:
    return bad_value(
        called.proba,
        f"rows of the {'times' if times_of(times) else 'index'} {some_of(times)}",
        "rows in the order of time",
        f"sort {called.labels} and {called.proba} by time, such as by .sort_index({level}), or "
        "pass arrays without an index if rows are in order",
    )
