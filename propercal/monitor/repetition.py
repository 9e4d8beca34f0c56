"""Rows of an update that were seen before: windows that overlap, a batch or a loop that came twice.

The first and the last rows are kept as numbers made of their predictions and labels. That a run of
rows repeats them, with different predictions and labels that differ, is no chance.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from propercal._data.words.messages import warn
from propercal.monitor.state import Rows
from propercal.sketch.digests import LEAST, are_telling, row_digests
from propercal.sketch.repetition import Known, Trace, label_digests

Whole = npt.NDArray[np.int64]

#: Rows that are kept.
MOST = 64


def digests_of(rows: Rows) -> Whole:
    """(n,) numbers below 2^53 that rows of other predictions or labels do not share."""
    log_prob, label = rows
    n = label.shape[1]
    return row_digests(np.moveaxis(log_prob, 1, 0).reshape(n, -1), label.T)


def last_of(before: tuple[int, ...], new: Whole) -> tuple[int, ...]:
    """Return those of the last rows."""
    return (*before, *new[-MOST:].tolist())[-MOST:]


def first_after(first: Known, new: Whole, rows: Rows, *, told: bool) -> Known:
    """Return what the first rows are known by after an update; warn where that repeats them.

    `told` says that a warning said so of the last ones. It does not depend on how rows came.
    """
    labels = label_digests(rows.label.T[:MOST])
    trace = Trace(None, tuple(new.tolist()), labels, len(new))
    return first.after(trace, "evidence of the same rows counts twice", told=told)


def look_for_repetition(before: tuple[int, ...], new: Whole, rows: Rows) -> bool:
    """Warn, and tell, where an update holds the last rows that were seen, or begins with some."""
    found = _repeated(np.array(before, dtype=np.int64), new)
    if found is None:
        return False
    label = rows.label[:, found]
    _, times = np.unique(label, axis=1, return_counts=True)
    n = label.shape[1]
    telling = are_telling(new[found].tolist(), int(n - times.max()))
    if telling:
        warn(
            f"y_proba and y_true repeat the last {n} rows that were seen, one by one: evidence of "
            "the same rows counts twice. Pass each row once; reset() begins anew."
        )
    return telling


def _repeated(before: Whole, new: Whole) -> slice | None:
    """Return the rows of an update that were the last ones before it; None if there are none."""
    most = min(len(before), len(new))
    for size in range(most, LEAST - 1, -1):
        if np.array_equal(before[-size:], new[:size]):
            return slice(0, size)
    # Of more rows than are kept, they may stand further back.
    for end in np.flatnonzero(new == before[-1]) + 1 if len(before) >= LEAST else ():
        start = int(end) - len(before)
        if start > 0 and np.array_equal(before, new[start:end]):
            return slice(start, int(end))
    return None
