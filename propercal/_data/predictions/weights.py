"""Weights of rows, and rows that do not count."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from propercal._array import like, namespace
from propercal._data.classes.label_values import read_values
from propercal._data.inputs.held import Held, as_given
from propercal._data.inputs.holders import hold
from propercal._data.inputs.masks import check_fills
from propercal._data.inputs.reading import USUAL_NAMES, Names, check_scalar, is_missing, read_numpy
from propercal._data.inputs.texts import seems_equal
from propercal._data.words.messages import bad_value, some_rows, warn
from propercal._data.words.tokens import key
from propercal._typing import Array

Floats = npt.NDArray[np.float64]
_FOR_EACH = "pass one finite weight ≥ 0 per row"
_FIX = f"{_FOR_EACH}, at least two of them positive"


def weights_given(
    sample_weight: object,
    n: int,
    ignore_index: Any = None,
    labels: Held | None = None,
    smallest: int = 2,
    called: Names = USUAL_NAMES,
) -> Floats | None:
    """Return weights as they are given, 0 where the label is to be ignored; None for none."""
    name = called.weight
    # Rows of a stream may have no weight, as long as others of it have some.
    fix = _FIX if smallest > 1 else _FOR_EACH
    weight = None if sample_weight is None else _numbers(sample_weight, n, name, fix)
    check_scalar("ignore_index", ignore_index)
    if ignore_index is not None and labels is not None:
        ignored = _ignored(labels, ignore_index, called)
        if len(ignored) == n and ignored.any():
            weight = np.where(ignored, 0.0, 1.0 if weight is None else weight)
            name = called.labels
    if weight is None:
        return None
    positive = int(np.count_nonzero(weight))
    if positive < smallest:
        raise bad_value(name, f"{positive} positive weights", "two or more", _FIX)
    return weight


def weighted_by_both(
    before: frozenset[bool], after: frozenset[bool], called: Names = USUAL_NAMES
) -> frozenset[bool]:
    """Return whether some rows of a stream had weights, and others none; warn where both is so.

    What was said before is not said again.
    """
    if before and after and len(before | after) > max(len(before), len(after)):
        given, without = ("these rows", "rows before")[:: 1 if True in after else -1]
        warn(
            f"{called.weight} is given for {given}, and not for {without}, which count as rows of "
            f"weight 1 beside them. Pass {called.weight} in each update: numpy.ones(n) where each "
            "row has weight 1."
        )
    return before | after


def normalised(
    weight: Floats | None,
    n: int,
    prob: Array,
    keep_weightless: bool,
    smallest: int = 2,
    name: str = USUAL_NAMES.weight,
    places: npt.NDArray[np.intp] | None = None,
) -> tuple[Array, bool, Array | None]:
    """Return weights that sum to 1, whether they are equal, and the rows to keep (None: all).

    `places` are where rows were in the caller's argument.
    """
    xp = namespace(prob)
    if weight is None:
        return xp.ones_like(prob[:, 0]) / n, True, None
    given = weight > 0
    # Scaled by the largest first, so that the sum cannot overflow.
    weight = weight / weight.max()
    weight = weight / weight.sum()
    weight = np.where(weight < xp.finfo(prob.dtype).smallest_normal, 0.0, weight)
    positive = np.flatnonzero(weight)
    if len(positive) < np.count_nonzero(given):
        lost = np.flatnonzero(given & (weight == 0))
        warn(
            f"{name} at {some_rows(as_given(lost, places))} is nothing beside the largest in {n} "
            "rows (a part of less than the smallest number of its type): counted as 0."
        )
    if len(positive) < smallest:
        raise bad_value(name, f"{len(positive)} positive weights", "two or more", _FIX)
    uniform = bool((weight == weight[0]).all())
    keep = None if keep_weightless or len(positive) == n else positive
    return like(weight, prob), uniform, keep


def read_weights(
    sample_weight: object, n: int, prob: Array, name: str = USUAL_NAMES.weight
) -> tuple[Array, bool, Array | None]:
    """Return weights that sum to 1, whether they are equal, and the rows to keep (None: all)."""
    held = None if sample_weight is None else hold(name, sample_weight)
    given = weights_given(held, n, called=Names(weight=name))
    places = None if held is None else held.places
    return normalised(given, n, prob, keep_weightless=False, name=name, places=places)


def _numbers(sample_weight: object, n: int, name: str, fix: str) -> Floats:
    held = hold(name, sample_weight)
    given = read_numpy(name, held.values)
    given = given[:, 0] if given.ndim == 2 and given.shape[1] == 1 else given
    if given.dtype.kind not in "biuf" or given.shape != (n,):
        raise bad_value(
            name,
            f"an array of shape {given.shape} and type {given.dtype}",
            f"numbers of shape ({n},)",
            fix,
        )
    weight = given.astype(np.float64)
    check_fills(name, held)
    odd = ~(np.isfinite(weight) & (weight >= 0))
    if odd.any():
        rows = np.flatnonzero(odd)
        found = f"{weight[rows[0]]} at {some_rows(held.given(rows))}"
        raise bad_value(name, found, "finite weights ≥ 0", fix)
    return weight


def _ignored(labels: Held, ignore_index: Any, called: Names) -> npt.NDArray[np.bool_]:
    values = read_values(labels, called)
    if values.ndim != 1:
        raise bad_value(
            "ignore_index",
            f"{ignore_index!r} with {called.labels} of shape {tuple(values.shape)}",
            "one label for each row",
            "pass class_axis=1 for an axis of classes; in an indicator matrix, a weight of 0 for "
            "these rows",
        )
    check_ignored(ignore_index, any(isinstance(each, bool) for each in values.tolist()), called)
    if is_missing(ignore_index):
        return np.array([is_missing(each) for each in values.tolist()], dtype=bool)
    if values.dtype.kind in "biuf" and isinstance(ignore_index, Real):
        numbers: npt.NDArray[np.bool_] = values == ignore_index
        return numbers
    # A number and its digits are the same name.
    given = values.tolist()
    wanted = key(ignore_index)
    odd = [each for each in dict.fromkeys(given) if seems_equal(each, ignore_index)]
    if odd and ignore_index not in given:
        raise bad_value(
            "ignore_index",
            repr(ignore_index),
            f"a label of {called.labels}, which has {odd[0]!r}",
            "write it with the same capitals, blanks and form of letters",
        )
    ignored = {each for each in set(given) if not is_missing(each) and key(each) == wanted}
    return np.array([each in ignored for each in given], dtype=bool)


def check_ignored(ignore_index: Any, booleans: bool, called: Names) -> None:
    """Raise where a boolean is to be ignored, though no labels are `booleans`: it is no number."""
    if isinstance(ignore_index, bool | np.bool_) and not booleans:
        raise bad_value(
            "ignore_index",
            repr(ignore_index),
            f"None, or a label of {called.labels}, which are no booleans",
            "leave it out to ignore none, or pass the number that marks rows without a label",
        )


def in_rows(weight: Array) -> Array:
    """Return weights in units of rows: their sum is the effective number of rows."""
    return weight / namespace(weight).sum(weight * weight)
