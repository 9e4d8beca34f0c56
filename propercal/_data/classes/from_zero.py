"""Labels from 1 on, read as numbers of columns from 0: a warning where class 0 is missed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from propercal._data.classes.other_readings import LEAST, evidence
from propercal._data.words.messages import warn
from propercal._data.words.other_words import spelt_as_counted
from propercal._data.words.tokens import numberings

#: Rows of class 0, by their predictions, that are hardly ever all missing by chance (e⁻⁷).
_MANY = 7.0


def are_in_doubt(occurring: set[int], n_classes: int) -> bool:
    """Tell whether all classes but the first occur, which may be counted from 1."""
    return occurring == set(range(1, n_classes))


def are_numbered_from_0(columns: Sequence[Any] | None) -> bool:
    """Tell whether names of columns say in numbers that the first is class 0."""
    names = columns or ()
    return any(
        numbers[0] == 0 and all(each in (None, i) for i, each in enumerate(numbers))
        for numbers in (*numberings(names), *spelt_as_counted(names))
    )


def evidence_of_shift(prob: npt.NDArray[np.floating[Any]], label: npt.NDArray[np.int64]) -> float:
    """Return how many nats more probable labels without a 0 are one column before their number."""
    rows = np.arange(len(label))
    return evidence(prob[rows, label], prob[rows, label - 1])


def warn_of_no_zero(expected: float, n_classes: int, labels: str, proba: str) -> bool:
    """Say, and tell, how labels were read if predictions let `expected` rows be of class 0."""
    if expected >= _MANY:
        occurring = range(1, n_classes)
        _warn(labels, occurring, f"{proba} lets {expected:.0f} rows be of class 0", n_classes)
    return expected >= _MANY


def warn_of_shift(
    nats: float, occurring: Collection[int], n_classes: int, labels: str, proba: str
) -> bool:
    """Say, and tell, how labels were read if there is evidence that they count from 1."""
    if nats >= LEAST:
        times = f"by {proba} they are e^{nats:.0f} times as probable if counted from 1"
        _warn(labels, occurring, times, n_classes)
    return nats >= LEAST


def _warn(labels: str, occurring: Collection[int], though: str, n_classes: int) -> None:
    numbers = sorted(occurring)
    several = len(numbers) > 1 and numbers == list(range(1, len(numbers) + 1))
    found = f"1 to {numbers[-1]}" if several else ", ".join(map(str, numbers[:5]))
    found += ", ..." if not several and len(numbers) > 5 else ""
    warn(
        f"{labels} holds {found} and no 0: read as numbers of columns, counted from "
        f"0, though {though}. Pass "
        f"labels=list(range(1, {n_classes + 1})) if classes are counted from 1, and "
        f"labels=list(range({n_classes})) if no row is of class 0."
    )
