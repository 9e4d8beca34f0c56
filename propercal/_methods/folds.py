"""Folds for cross-fitting."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from propercal._array import namespace, safe_log, to_numpy
from propercal._typing import Array

#: Rows whose logarithms of 1 − Σ g² agree in these decimals are equally confident.
_DIGITS = 9


def assign_folds(
    prob: Array, n_folds: int, random_state: Any, groups: npt.NDArray[np.int64] | None = None
) -> npt.NDArray[np.int64]:
    """Return the fold, 0 to n_folds − 1, of each row.

    Rows are sorted by how confident their prediction is, and each run of `n_folds` neighbours is
    dealt to the folds at random: every fold sees the same range of predictions, and neither the
    order of the classes nor, unless rows are equally confident, that of the rows matters. Labels
    take no part. Folds balanced by label would give training and held-out rows the same noise in
    the share of each class, so that a recalibration that fits it would seem to be right.

    Of `groups` (n,), numbers of the group of each row, all rows come into one fold: groups are
    dealt as rows are, by the mean of their doubt.
    """
    order_by = doubt(prob)
    if groups is not None:
        order_by = (np.bincount(groups, order_by) / np.bincount(groups)).round(_DIGITS)
    n = len(order_by)
    deal = _dealt_once if isinstance(random_state, int | np.integer) else _dealt
    folds = np.empty(n, dtype=np.int64)
    folds[np.argsort(-order_by, kind="stable")] = deal(n, n_folds, random_state)
    return folds if groups is None else folds[groups]


def _dealt(n: int, n_folds: int, random_state: Any) -> npt.NDArray[np.int64]:
    """(n,) the folds, in runs that have each of them once."""
    rng = np.random.default_rng(random_state)
    runs = np.tile(np.arange(n_folds), (-(-n // n_folds), 1))
    return rng.permuted(runs, axis=1).ravel()[:n]


#: Problems of the same rows, such as one of each class, are dealt alike.
_dealt_once = lru_cache(maxsize=1)(_dealt)


def doubt(prob: Array) -> npt.NDArray[np.float64]:
    """(n,) log Σ g (1 − g), the same for all last digits of a g near 1."""
    xp = namespace(prob)
    top = prob == xp.max(prob, axis=1, keepdims=True)
    rest = xp.sum(xp.where(top, 0.0, prob), axis=1, keepdims=True)
    # Only a class that is the most probable by itself can be near 1.
    alone = top & (prob > 0.5)
    doubt = xp.sum(prob * xp.where(alone, rest, 1 - prob), axis=1)
    return to_numpy(safe_log(doubt)).round(_DIGITS)
