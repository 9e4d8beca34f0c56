"""Folds for cross-fitting."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from propercal._array import namespace, to_numpy
from propercal._typing import Array


def assign_folds(prob: Array, n_folds: int, random_state: Any) -> npt.NDArray[np.int64]:
    """Return the fold, 0 to n_folds − 1, of each row.

    Rows are sorted by how confident their prediction is, and each run of `n_folds` neighbours is
    dealt to the folds at random: every fold sees the same range of predictions, and neither the
    order of the rows nor that of the classes matters. Labels take no part. Folds balanced by label
    would give training and held-out rows the same noise in the share of each class, so that a
    recalibration that fits it would seem to be right.
    """
    xp = namespace(prob)
    rng = np.random.default_rng(random_state)
    n = int(prob.shape[0])
    confidence = to_numpy(xp.sum(prob**2, axis=1))
    n_runs = -(-n // n_folds)
    dealt = rng.permuted(np.tile(np.arange(n_folds), (n_runs, 1)), axis=1).ravel()[:n]
    folds = np.empty(n, dtype=np.int64)
    folds[np.argsort(confidence, kind="stable")] = dealt
    return folds
