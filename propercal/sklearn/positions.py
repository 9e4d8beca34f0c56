"""Rows that are told by their positions, as in scikit-learn, and indexes that say they are wrong.

An index says nothing else. So a default one says nothing, but that the same numbers in another
order were shuffled before or after.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from propercal._data.inputs.held import Held
from propercal._data.rows.indexes import in_place, order_of, some_of
from propercal._data.rows.rows import check_not_shuffled, check_others, n_rows
from propercal._data.rows.rows_of import rows_of
from propercal._data.rows.times import is_ordered
from propercal._data.words.messages import bad_value


def check_in_one_order(**given: Any) -> None:
    """Raise where an index says that rows of two arguments stand in different orders."""
    known = [
        (name, rows) for name, each in given.items() if (rows := rows_of(name, each)) is not None
    ]
    for (first, one), (second, other) in combinations(known, 2):
        _check(first, one, second, other)


def check_predicted(X: Any, predicted: Any) -> None:
    """Raise where predictions have an index of their own, whose order is not that of X."""
    rows = rows_of("predictions", predicted)
    if rows is not None and not rows.counted:
        check_in_one_order(X=X, predictions=rows)


def _check(first: str, one: Held, second: str, other: Held) -> None:
    if n_rows(one) != n_rows(other):
        # Which has its own error.
        return
    if one.rows is None or other.rows is None:
        check_not_shuffled(other, one, second, first)
    else:
        _check_indexes(first, one.rows, second, other.rows)
    check_others(other, one, second, first)


def _check_indexes(first: str, one: Any, second: str, other: Any) -> None:
    order = order_of(one, other)
    if order is not None and in_place(order):
        return
    if order is None and not _share_rows(one, other):
        return
    raise bad_value(
        second,
        f"rows of the index {some_of(other)}",
        f"the order of {first}, {some_of(one)}, as rows are told by their positions",
        f"bring both into one order, such as by {second}.loc[{first}.index]"
        if order is not None
        else "select the same rows of both, or call .reset_index(drop=True) on both if they are in "
        "one order",
    )


def _share_rows(one: Any, other: Any) -> bool:
    """Tell whether two indexes of different rows have some in common, so that one is of others.

    Numbers and times that go up and down together may number the same rows in two ways, such as
    from 0 and from 1, of which folds keep a part.
    """
    ordered = all(is_ordered(each) is not None for each in (one, other))
    if ordered and np.array_equal(*(each.argsort(kind="stable") for each in (one, other))):
        return False
    try:
        return not set(one.tolist()).isdisjoint(other.tolist())
    except TypeError:
        # Of values that are not hashable.
        return False
