"""Checks of settings: flags, bandwidths, seeds, levels and lists of names."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from propercal._data.messages import bad_value
from propercal._data.reading import USUAL_NAMES, Names, is_missing, read_numpy


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
    try:
        np.random.default_rng(random_state)
        seeds = not isinstance(random_state, bool | np.bool_)
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


def names_given(labels: Any) -> npt.NDArray[Any]:
    """Return names of classes in NumPy; arrays of pyarrow copy no text unless they are asked to."""
    return read_numpy("labels", labels.to_pylist() if hasattr(labels, "to_pylist") else labels)


def check_names(
    labels: object, n_classes: int, called: Names = USUAL_NAMES
) -> tuple[Any, ...] | None:
    """Return the names of classes as a tuple, or raise."""
    if labels is None:
        return None
    values = names_given(labels)
    names = tuple(np.atleast_1d(values).tolist())
    hashable = all(type(each).__hash__ is not None and not is_missing(each) for each in names)
    if not hashable or values.ndim != 1 or len(names) != n_classes or len(set(names)) != len(names):
        raise bad_value(
            "labels",
            list(names) if values.ndim else names[0],
            f"a list of {n_classes} different names, one per column of {called.proba}",
            "list the class of every column, in the order of the columns",
        )
    return names


def check_whole_number(argument: str, value: object, smallest: int, usual: str) -> int:
    """Return a whole number that is not too small, or raise."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or int(value) < smallest:  # type: ignore[call-overload]
        raise bad_value(argument, repr(value), f"a whole number of at least {smallest}", usual)
    return int(value)  # type: ignore[call-overload,no-any-return]
