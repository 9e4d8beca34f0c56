"""Bins of equal width: the bin of a score, and what the rows of each have in common."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from studies.data import Floats

N_BINS = 15


def bin_of(score: Floats) -> NDArray[np.intp]:
    """Return the number of the bin of each score."""
    return np.minimum((N_BINS * score).astype(np.intp), N_BINS - 1)


def bin_means(score: Floats, occurred: NDArray[np.bool_]) -> Floats:
    """Return rows, mean score and frequency of every bin, 0 where it is empty."""
    at = bin_of(score)
    count = np.bincount(at, minlength=N_BINS).astype(np.float64)
    means = [np.bincount(at, x, minlength=N_BINS) / np.maximum(count, 1) for x in (score, occurred)]
    return np.stack([count, *means])
