"""Groups of rows that depend on each other: read, matched with the rows, and numbered.

Groups are matched with rows by the rules of weights (:mod:`propercal._data.predictions.alignment`).
Blocks are groups of neighbours in the order of the rows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from propercal._array import to_numpy
from propercal._data.dependence.blocks import block_length, check_series
from propercal._data.dependence.group_names import (
    check_not_rounded,
    check_present,
    decoded,
    exact,
    named_alike,
    warn_of_unknown,
)
from propercal._data.dependence.sorted_labels import doubt_order_of_time
from propercal._data.inputs.held import Held
from propercal._data.inputs.lazy_tables import collected, step_in_any_order
from propercal._data.inputs.masks import check_fills, filled
from propercal._data.inputs.reading import USUAL_NAMES, Names, is_hashable, is_missing, read_numpy
from propercal._data.predictions.alignment import Aligned, align
from propercal._data.predictions.other_rows import doubt_rows, have_index_of_one
from propercal._data.predictions.predictions import Predictions, validate
from propercal._data.rows.layout import Layout
from propercal._data.rows.rows import check_others, in_order_of
from propercal._data.words.messages import bad_value, in_any_order, some_rows

Numbers = npt.NDArray[np.int64]

#: Fewer are too few for the spread of their sums to be known.
SMALLEST_NUMBER = 20


def validate_groups(
    y_true: object,
    y_proba: object,
    *,
    groups: object = None,
    blocks: object = None,
    sample_weight: object = None,
    names: Names = USUAL_NAMES,
    argument: str = "groups",
    **options: Any,
) -> Predictions:
    """Return the predictions that :func:`validate` makes, with groups or blocks if any are given.

    Where each row has a group of its own, there is nothing to keep apart, and `groups` stays None.
    `argument` is what the caller calls the groups.
    """
    check_groups(groups, blocks, y_true, y_proba)
    unordered = step_in_any_order(y_true, y_proba) is not None
    y_true, y_proba, sample_weight, groups = collected(y_true, y_proba, sample_weight, groups)
    with in_any_order(unordered):
        found = validate(y_true, y_proba, sample_weight=sample_weight, names=names, **options)
    found = replace(found, in_any_order=unordered)
    if groups is None and blocks is None:
        return found
    # Masked entries of rows that count were refused; of groups they are looked at with these.
    y_true, y_proba, groups = filled(y_true, y_proba, groups)
    layout = Layout(*(options.get(name) for name in ("class_axis", "class_dim", "sample_dims")))
    called = replace(names, weight=argument)
    groups = exact(argument, groups)
    if blocks is not None:
        check_series(blocks, y_true, y_proba, layout, names, sample_weight)
    held = align(y_true, y_proba, groups, layout=layout, called=called)
    n = int(held.proba.values.shape[0])
    if blocks is not None:
        doubt_order_of_time(
            found,
            "blocks of rows that follow each other are then blocks of one label",
            "Pass rows in the order in which they came; of rows without one leave blocks out.",
        )
        return numbered_groups(found, np.arange(n) // block_length(blocks, n), "blocks")
    assert held.weight is not None  # noqa: S101  # groups take its place
    if sample_weight is not None:
        weight = align(y_true, y_proba, sample_weight, layout=layout, called=names).weight
        assert weight is not None  # noqa: S101
        check_in_one_order(held.weight, weight, argument, names.weight, names)
    doubt_order(found, held, called)
    with in_any_order(unordered):
        labels = labels_of_rows(held.weight, n, found, argument)
    return numbered_groups(found, labels, argument)


def doubt_order(found: Predictions, held: Aligned, called: Names) -> None:
    """Warn where rows of which one side has an index are rather in the order of groups.

    Groups are what `held` has as weights.
    """
    told = held.weight is None or held.weight.places is None
    if told or found.classes.codes is None or not have_index_of_one(held.labels, held.proba):
        return
    n = found.classes.n_samples
    used = np.zeros(n, dtype=bool)
    used[found.rows] = True
    log_prob = np.zeros((n, found.n_classes))
    log_prob[found.rows] = to_numpy(found.log_prob)
    doubt_rows((log_prob, None), found.classes, used, held, called)


def check_groups(groups: object, blocks: object, *data: object) -> None:
    """Raise if both are given, or blocks beside data whose rows come in any order."""
    if groups is not None and blocks is not None:
        raise bad_value(
            "blocks",
            repr(blocks),
            "None beside groups=, which say what depends on what",
            "pass one of the two; for series of several subjects, groups that are unions of blocks",
        )
    odd = None if blocks is None else step_in_any_order(*data)
    if odd:
        raise bad_value(
            "blocks",
            f"{blocks!r} beside a lazy table whose rows are in any order, or drawn ({odd})",
            "the order of the series, whose neighbours depend on each other",
            "call .collect() once on a query of all columns, sorted by time, and pass columns of "
            "it",
        )


def check_in_one_order(
    held: Held, other: Held, argument: str, other_argument: str, names: Names
) -> None:
    """Refuse two that are in different orders by an index that only they have."""
    if in_order_of(held, other, argument, other_argument).order is not None:
        raise bad_value(
            argument,
            "rows in another order than those of " + other_argument,
            f"one order, since neither {names.labels} nor {names.proba} has an index",
            "bring both into the order of the predictions",
        )
    check_others(held, other, argument, other_argument)


#: What to do with rows without a label, of groups that depend on each other within.
_ALONE = "give rows that depend on no others a label of their own, or drop them"


def labels_of_rows(
    held: Held,
    n: int,
    predictions: Predictions,
    argument: str = "groups",
    of_none: str = _ALONE,
) -> npt.NDArray[Any]:
    """Return the labels of groups (n,), those of all rows that count being there, or raise.

    `of_none` says what to do with rows that have none.
    """
    counted = np.zeros(n, dtype=bool)
    counted[predictions.rows] = True
    if len(held.values) == n:
        check_fills(argument, held, counted)
    values = read_numpy(argument, held.values)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.shape != (n,):
        raise bad_value(
            argument,
            f"an array of shape {values.shape}",
            f"one label for each row, of shape ({n},)",
            "pass the group of each row, such as the patient or the document that it is of",
        )
    values, rows = decoded(values), predictions.rows
    used = values[rows]
    if values.dtype.kind in "biuSU":
        check_present(argument, used, rows, held)
        return named_alike(argument, values, used) if values.dtype.kind == "U" else values
    if values.dtype.kind == "f":
        odd = np.isnan(used)
    else:
        odd = np.array([is_missing(each) for each in used.tolist()], dtype=bool)
        values_used = zip(odd, used.tolist(), strict=True)
        bad = [
            i for i, (none, each) in enumerate(values_used) if not none and not is_hashable(each)
        ]
        if bad:
            raise bad_value(
                argument,
                f"a {type(used[bad[0]]).__name__} at {some_rows(held.given(rows[bad]))}",
                "one label for each row",
                "pass numbers or strings",
            )
    if odd.any():
        raise bad_value(
            argument,
            f"missing values at {some_rows(held.given(rows[odd]))}",
            "a group for each row",
            of_none,
        )
    check_present(argument, used, rows, held)
    if values.dtype.kind == "f":
        check_not_rounded(argument, used, rows, held)
        return values
    return named_alike(argument, values, used)


def numbered_groups(
    predictions: Predictions, values: npt.NDArray[Any], argument: str
) -> Predictions:
    """Return predictions with groups numbered by first appearance, whatever they are called."""
    used = values[predictions.rows]
    if used.dtype.kind == "O":
        codes: dict[Any, int] = {}
        number = np.array([codes.setdefault(each, len(codes)) for each in used.tolist()])
        n_groups = len(codes)
    else:
        _, first, inverse = np.unique(used, return_index=True, return_inverse=True)
        rank = np.argsort(np.argsort(first))
        number, n_groups = rank[inverse.ravel()], len(first)
    warn_of_unknown(argument, used, number)
    if n_groups < 2:
        raise bad_value(
            argument,
            "1 block of all rows" if argument == "blocks" else "1 group of all rows",
            "several that are independent of each other",
            "dependence within a single one cannot be told from miscalibration",
        )
    single = n_groups == predictions.n_samples
    groups = None if single else number.astype(np.int64)
    return replace(predictions, groups=groups, n_groups=n_groups, grouped_by=argument)


def check_number(n_groups: int | None, what: str, argument: str, where: str = "") -> None:
    """Raise if groups are too few, in all or in the part of the rows that `where` names.

    `argument` is what the caller calls them.
    """
    smaller = "shorter blocks" if argument == "blocks" else f"smaller {argument} or blocks"
    if n_groups is not None and n_groups < SMALLEST_NUMBER:
        raise bad_value(
            argument,
            f"{n_groups} {argument}{where}",
            f"{SMALLEST_NUMBER} or more for {what}: only {argument} are independent of each other",
            f"collect more, or use {smaller} if these are independent",
        )
