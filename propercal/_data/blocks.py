"""Blocks of neighbours: how long they are, and whether rows stand in the order of a series."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from propercal._data.alignment import align_in_order, layout_for
from propercal._data.dimensions import Dimensions
from propercal._data.holders import hold, is_labelled
from propercal._data.layout import Layout
from propercal._data.messages import bad_value
from propercal._data.reading import Names
from propercal._data.rows import row_numbers, some_of

#: What pandas calls an index of values that have an order of their own.
_ORDERED = {
    "integer",
    "floating",
    "decimal",
    "mixed-integer-float",
    "datetime64",
    "datetime",
    "date",
    "timedelta64",
    "timedelta",
    "period",
    "interval",
}


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
) -> None:
    """Raise if there are blocks, and :func:`check_series` refuses one of several predictions."""
    for each, names in zip(y_proba, called, strict=True) if blocks is not None else ():
        check_series(blocks, y_true, each, layout_for(layout, y_true, each, y_proba), names)


def check_series(
    blocks: object, y_true: object, y_proba: object, layout: Layout, called: Names
) -> None:
    """Raise if rows are known not to stand in the order of one series."""
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
    times = [each for each in (*labels.others.values(), *proba.others.values()) if _is_time(each)]
    if index is None and times:
        index = times[0]
    ordered = None if index is None else is_ordered(index)
    if ordered is False or (ordered is None and moved):
        where = "" if index is None else f" of the index {some_of(index)}"
        raise bad_value(
            "blocks",
            f"{blocks!r} beside rows{where}"
            + ("" if ordered is False else f", in which {called.labels} stand in another order"),
            "the order of the series, whose neighbours depend on each other",
            f"sort {called.labels} and {called.proba} by time, such as by .sort_index(), or call "
            ".reset_index(drop=True) on both if rows are in order (xarray: .sortby, .drop_vars)",
        )


def _sizes(y_true: object, y_proba: object, layout: Layout, called: Names) -> list[int]:
    """Return the sizes of the axes of samples, where these are known."""
    if layout.class_axis is not None:
        shape = list(hold(called.proba, y_proba).values.shape)
        return [size for i, size in enumerate(shape) if i != layout.class_axis % len(shape)]
    if not (is_labelled(y_true) or is_labelled(y_proba)):
        return []
    dimensions = Dimensions.of(y_true, y_proba, layout, called)
    return [int(dimensions.reference.sizes[dim]) for dim in dimensions.samples]


def _is_time(index: Any) -> bool:
    return index.inferred_type in {"datetime64", "datetime", "date", "timedelta64", "period"}


def is_ordered(index: Any) -> bool | None:
    """Tell whether an index goes up, or down, all the way; None if it has no order of its own."""
    if index.inferred_type in _ORDERED:
        return bool(index.is_monotonic_increasing or index.is_monotonic_decreasing)
    if index.inferred_type != "string":
        return None
    numbers = row_numbers(index)
    if numbers is not None:
        steps = np.diff(numbers)
        return bool((steps >= 0).all() or (steps <= 0).all())
    if all(re.match(r"\d{4}-\d\d", each) for each in index.tolist()):
        return bool(index.is_monotonic_increasing or index.is_monotonic_decreasing)
    return None
