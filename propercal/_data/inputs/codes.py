"""Values that have names: the codes of a categorical index, and those of members of an Enum."""

from __future__ import annotations

from collections import UserList, deque
from collections.abc import Hashable, Mapping, Sequence
from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt

from propercal._data.words.tokens import key, number_otherwise


def codes_of(names: Any) -> dict[Hashable, Sequence[Any]]:
    """Return the codes of a categorical index of names, if they do not ascend."""
    codes = getattr(names, "codes", None) if hasattr(names, "categories") else None
    return {} if codes is None or not number_otherwise(codes.tolist()) else {None: codes.tolist()}


def members_of(values: Any) -> dict[Any, str]:
    """Return the name of each value of the Enum whose members `values` are; empty for others."""
    if hasattr(type(values), "to_numpy") and str(getattr(values, "dtype", "")) == "object":
        values = values.to_numpy()
    if isinstance(values, np.ndarray):
        values = values.ravel()[:1].tolist()
    if not isinstance(values, list | tuple | deque | UserList):
        return {}
    first = next(iter(values), None)
    while isinstance(first, list | tuple) and len(first) == 1:
        first = first[0]
    members = type(first) if isinstance(first, Enum) else ()
    return {each.value: each.name for each in members if isinstance(each.value, Hashable)}


def by_names(
    values: npt.NDArray[Any], members: Mapping[Any, str], target: Sequence[Any]
) -> npt.NDArray[Any]:
    """Return the names of members as `target` writes them, if it has names rather than values."""
    written = {each.lower(): each for each in target if isinstance(each, str)}
    names = {value: name.lower() for value, name in members.items()}
    if written.keys().isdisjoint(names.values()):
        return values
    given = values.tolist()
    if {key(each) for each in given} <= {key(each) for each in target}:
        return values
    found = [written.get(names.get(each, ""), members.get(each, each)) for each in given]
    return np.array(found, dtype=object)
