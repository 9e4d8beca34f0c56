"""Groups of too few rows, put together so that the others can be shown."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from propercal.reporting.words import name_of


def without_small(subgroups: Any, least: int) -> tuple[Any, tuple[str, ...]]:
    """Return labels in which small groups are one, and the names of these.

    What is no plain list of labels is returned as it is.
    """
    values = _plain(subgroups)
    if values is None:
        return subgroups, ()
    sizes = Counter(values)
    small = _small(sizes, least)
    if len(small) < 2:
        return subgroups, ()
    names = tuple(name_of(each) for each in small)
    together = f"{len(small)} small groups"
    while together in sizes:
        together += " together"
    made = np.empty(len(values), dtype=object)
    made[:] = [together if each in small else str(each) for each in values]
    if hasattr(type(subgroups), "iloc"):
        return type(subgroups)(made, index=subgroups.index), names
    return made, names


def _plain(subgroups: Any) -> list[Any] | None:
    """Return labels of which one stands for each row; None for anything else."""
    is_list = isinstance(subgroups, list | tuple | np.ndarray) or hasattr(type(subgroups), "iloc")
    if not is_list or np.ndim(subgroups) != 1:
        return None
    values = np.asarray(subgroups).tolist()
    known = all(isinstance(each, str | int | bool) for each in values)
    # Numbers and words that look alike stay as they are.
    return values if known and len(set(map(str, values))) == len(set(values)) else None


def _small(sizes: Counter[Any], least: int) -> set[Any]:
    """Return the groups that are too small, and so many more that together they are not."""
    small = {name for name, size in sizes.items() if size < least}
    if not small or len(small) == len(sizes):
        return small
    for name, size in sorted(sizes.items(), key=lambda each: (each[1], str(each[0]))):
        if sum(sizes[each] for each in small) >= least:
            break
        if size >= least and len(small) < len(sizes) - 1:
            small.add(name)
    return small
