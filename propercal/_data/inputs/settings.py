"""Checks of settings: flags, bandwidths, seeds, levels and lists of names."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from propercal._data.inputs.codes import members_of
from propercal._data.inputs.holders import is_labelled
from propercal._data.inputs.reading import USUAL_NAMES, Names, is_hashable, is_missing, read_numpy
from propercal._data.words.messages import bad_value, some_names
from propercal._data.words.tokens import key, plain


def check_flag(argument: str, value: object) -> None:
    """Raise unless `value` is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise bad_value(argument, repr(value), "True or False", "pass one of the two")


def check_bandwidth(bandwidth: object) -> float:
    """Return the bandwidth as a float within its limits, or raise."""
    try:
        value = float(bandwidth)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        value = math.nan
    if not 1e-9 <= value <= 1e9 or isinstance(bandwidth, str | bool):
        raise bad_value(
            "bandwidth",
            repr(bandwidth),
            'a positive number between 1e-9 and 1e9, in units of probability, or "auto" where it '
            "can be selected",
            "values between 0.0001 and 0.1 are usual",
        )
    return value


def check_random_state(random_state: Any) -> Any:
    """Return `random_state` if NumPy takes it as a seed or a generator, or raise."""
    # NumPy makes rows of a matrix for ever.
    seeds = not isinstance(random_state, bool | np.bool_ | np.matrix)
    try:
        np.random.default_rng(random_state if seeds else None)
    except (TypeError, ValueError):
        seeds = False
    if not seeds:
        raise bad_value(
            "random_state",
            repr(random_state),
            "an integer ≥ 0, a numpy.random.Generator, a SeedSequence or None",
            "pass a seed, such as 0",
        )
    return random_state


def check_confidence_level(confidence_level: object) -> float:
    """Return the level as a float between 0 and 1, or raise."""
    if not isinstance(confidence_level, Real) or not 0 < float(confidence_level) < 1:
        raise bad_value(
            "confidence_level", repr(confidence_level), "a number between 0 and 1", "0.95 is usual"
        )
    return float(confidence_level)


class Known(tuple[Any, ...]):
    """Classes of columns that are known by names, or by whoever made both: they are not doubted."""

    __slots__ = ()


def taken_at_word(labels: Any) -> Any:
    """Return classes that a caller lists for predictions that may yet be bad, as in training."""
    return Known(labels) if isinstance(labels, list | tuple) else labels


def names_given(labels: Any) -> npt.NDArray[Any]:
    """Return names of classes in NumPy, or raise if their index numbers them in another order.

    Arrays of pyarrow copy no text unless they are asked to.
    """
    if isinstance(labels, Mapping):
        raise bad_value(
            "labels",
            f"a {type(labels).__name__}",
            "a list of the class of every column, in the order of the columns",
            "pass [labels[i] for i in range(len(labels))] of names by number, or the list of keys "
            "if these are the classes in order",
        )
    values = read_numpy("labels", labels.to_pylist() if hasattr(labels, "to_pylist") else labels)
    index = _index_of(labels)
    numbers = [plain(each) for each in index or ()]
    if all(isinstance(each, int) for each in numbers) and numbers != sorted(numbers):
        first, k = min(numbers), len(numbers)
        # Numbers of the rows that names were found in say nothing.
        if first in (0, 1) and sorted(numbers) == list(range(first, first + k)):
            raise bad_value(
                "labels",
                f"{values.tolist()} under the numbers {index}",
                "the class of every column, in the order of the columns",
                "call .sort_index() if these are numbers of columns, and .to_numpy() if they "
                "say nothing",
            )
    return values


def _index_of(labels: Any) -> list[Any] | None:
    """Return what a series, a labelled array, or an Enum calls the places of its values."""
    if is_labelled(labels):
        return labels.indexes[labels.dims[0]].tolist() if len(labels.indexes) == 1 else None
    if members := members_of(labels):
        return [members[each] for each in np.ravel(read_numpy("labels", labels)).tolist()]
    index = getattr(labels, "index", None) if hasattr(type(labels), "iloc") else None
    return None if index is None else list(index.tolist())


def check_names(
    labels: object,
    n_classes: int,
    called: Names = USUAL_NAMES,
    columns: Sequence[Any] | None = None,
) -> tuple[Any, ...] | None:
    """Return the names of classes as a tuple, or raise.

    `columns` are the names of the columns, which an index of `labels` may have in another order.
    """
    if labels is None:
        return None
    values = names_given(labels)
    given, known = _index_of(labels) or [], list(columns or [])
    own, wanted = (
        [each.lower() if isinstance(each, str) else each for each in map(key, names)]
        for names in (given, known)
    )
    if own != wanted and set(own) == set(wanted):
        raise bad_value(
            "labels",
            f"{values.tolist()} of the columns {some_names(given)}",
            f"the order of those of {called.proba}, {some_names(known)}",
            "bring both into one order",
        )
    names = tuple(np.atleast_1d(values).tolist())
    hashable = all(is_hashable(each) and not is_missing(each) for each in names)
    if not hashable or values.ndim != 1 or len(names) != n_classes or len(set(names)) != len(names):
        raise bad_value(
            "labels",
            list(names) if values.ndim else names[0],
            f"a list of {n_classes} different names, one per column of {called.proba}",
            "list the class of every column, in the order of the columns",
        )
    return Known(names) if isinstance(labels, Known) else names


def check_whole_number(argument: str, value: object, smallest: int, usual: str) -> int:
    """Return a whole number that is not too small, or raise."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or int(value) < smallest:  # type: ignore[call-overload]
        raise bad_value(argument, repr(value), f"a whole number of at least {smallest}", usual)
    return int(value)  # type: ignore[call-overload,no-any-return]
