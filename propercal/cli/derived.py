"""Columns beside new predictions that were made of them, and are written as they were."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import expit, softmax

from propercal._data.words.messages import warn
from propercal._files.names import listed
from propercal._files.values import text_of

Floats = npt.NDArray[np.float64]

#: How far numbers are apart that are one, as files write them.
_ROUNDING = 1e-4


class Beside(NamedTuple):
    """What stands beside predictions."""

    others: Mapping[str, Sequence[Any]]
    """Other columns, by their names."""
    names: Sequence[str]
    """What the columns of the predictions are called, if anything."""


def warn_of_derived(
    path: Path, beside: Beside, before: Floats, after: Floats, *, from_logits: bool
) -> None:
    """Say which of the other columns say of predictions `before` what is not so `after`.

    Such are their complement, the largest one, what that lacks of 1, and its class.
    """
    if from_logits:
        before = expit(before) if _columns(before).shape[1] == 1 else softmax(before, axis=1)
    was, then, names = _columns(before), _columns(after), beside.names
    found = {name: _made_as(values, names, was, then) for name, values in beside.others.items()}
    odd = [name for name, made in found.items() if made is not None]
    if odd:
        first = f"{odd[0]!r} {found[odd[0]]}"
        warn(
            f"{path}: columns {listed(odd)} were made of the predictions ({first}), "
            "and are written as they were: make them anew, or leave them out."
        )


def _made_as(
    values: Sequence[Any], names: Sequence[str], before: Floats, after: Floats
) -> str | None:
    """Return in words what a column is of predictions, if it was so and is no more."""
    if len(values) != len(before):
        return None
    numbers = _numbers(values)
    was, then = _made_of(before), _made_of(after)
    for words, old in was.items():
        if numbers is not None and np.ptp(old) > _ROUNDING and _equal(numbers, old):
            return None if _equal(numbers, then[words]) else words
    classes = numbers is None and _were_classes(values, names, before, after)
    return "as the class of the largest one" if classes else None


def _made_of(proba: Floats) -> dict[str, Floats]:
    """Return what columns may be of probabilities, by what it is in words."""
    if proba.shape[1] == 1:
        return {"as 1 minus these": 1 - proba[:, 0]}
    largest = proba.max(axis=1)
    return {"as the largest one": largest, "as 1 minus the largest one": 1 - largest}


def _columns(proba: Floats) -> Floats:
    return proba.reshape(len(proba), -1)


def _equal(numbers: Floats, wanted: Floats) -> bool:
    return bool(np.abs(numbers - wanted).max() <= _ROUNDING)


def _numbers(values: Sequence[Any]) -> Floats | None:
    """Return finite numbers, None for others."""
    try:
        numbers = np.array([float(each) for each in values])
    except (TypeError, ValueError):
        return None
    return numbers if np.isfinite(numbers).all() else None


def _were_classes(
    values: Sequence[Any], names: Sequence[str], before: Floats, after: Floats
) -> bool:
    """Tell whether a column names the classes of the largest probabilities before, not after."""
    if len(names) != before.shape[1] or len(names) < 2:
        return False
    texts = np.array([text_of(each) for each in values])
    old, new = (np.array(names)[proba.argmax(axis=1)] for proba in (before, after))
    return bool((texts == old).all() and (texts != new).any())
