"""The rows of the largest losses, and what was said of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from propercal._array import to_numpy
from propercal._data.inputs.held import as_given
from propercal._data.predictions.predictions import Predictions
from propercal.result import Decomposition

#: Rows of a table.
MOST = 10


class CostlyRow(NamedTuple):
    """A row of a large loss; None stands for what is not known."""

    row: int
    """Its number in the predictions, from 0."""
    name: str | None
    """What it is called there."""
    loss: float
    label: Any
    """Number of the class that occurred, or its name where predictions are not at hand."""
    given: float | None
    """The probability that it had."""
    first_choice: int | None
    stated: float | None
    """The probability of that."""


class Costly(NamedTuple):
    """The rows of the largest losses, and their share of the whole."""

    rows: list[CostlyRow]
    share: float
    """NaN where losses are infinite or below 0."""
    n: int


def costly_rows(
    result: Decomposition, predictions: Predictions | None, row_names: Sequence[Any] | None = None
) -> Costly | None:
    """Return the rows of the largest losses; None if nobody knows which they are.

    `row_names` are names of all rows, where a file has them.
    """
    if result._kept_rows is None or result._kept_rows.in_any_order:
        return None
    rows = result.contributions()
    loss, weight = rows["risk"].values, rows["weight"].values
    cost = loss * weight
    order = np.lexsort((rows["row"].values, -cost))[:MOST]
    finite = np.isfinite(cost).all() and (cost >= 0).all() and cost.sum() > 0
    share = float(cost[order].sum() / cost.sum()) if finite else math.nan
    names = _names(rows)
    labels = rows["label"].values if "label" in rows.coords else None
    places = _places(predictions)
    found = []
    for i in order.tolist():
        said = _said(predictions, int(places[i])) if predictions is not None else None
        label, given, first, stated = said or (None, None, None, None)
        if said is None and labels is not None:
            label = labels[i]
        name = None if names is None else names(i)
        number = int(rows["row"].values[i])
        if row_names is not None:
            name = str(row_names[number])
        found.append(CostlyRow(number, name, float(loss[i]), label, given, first, stated))
    return Costly(found, share, len(loss))


def _names(rows: Any) -> Any:
    """Return what names a row by its place, where the data have an index."""
    known = {"row", "weight", "label", "class", "term"}
    levels = [name for name in rows.coords if name not in known and rows[name].dims == ("sample",)]
    if not levels:
        return None

    def name(i: int) -> str:
        parts = [str(rows[level].values[i]) for level in levels]
        if levels == ["sample"]:
            return parts[0]
        return ", ".join(f"{level} {part}" for level, part in zip(levels, parts, strict=True))

    return name


def _places(predictions: Predictions | None) -> Sequence[int] | Any:
    """Return which row of predictions each row of the contributions is."""
    if predictions is None:
        return ()
    return np.argsort(as_given(np.asarray(predictions.rows), predictions.places), kind="stable")


def _said(predictions: Predictions, i: int) -> tuple[Any, Any, Any, Any] | None:
    """Return what occurred, its probability, the first choice and that of it."""
    if predictions.multilabel:
        return None
    prob = to_numpy(predictions.prob[i, :])
    label = int(to_numpy(predictions.label)[i])
    first = int(to_numpy(predictions.log_prob[i, :]).argmax())
    return label, float(prob[label]), first, float(prob[first])
