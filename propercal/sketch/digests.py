"""Numbers by which rows are known again, and which rows are no others by chance."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.uint64]

#: Of digests, so that floating point holds them.
BITS = 53
#: The fewest rows that tell, different ones among them, and those of other labels than the most
#: frequent one.
LEAST, DIFFERENT, OTHERS = 20, 10, 3


def row_digests(values: Floats, labels: npt.NDArray[np.integer[Any] | np.bool_]) -> Whole:
    """(n,) numbers below 2^53 of rows of values (n, m), labels (n, l); other rows have others."""
    bits = np.ascontiguousarray(values + 0.0).view(np.uint64)
    parts = np.concatenate([bits, labels.astype(np.uint64)], axis=1)
    mixed = (parts ^ (parts >> np.uint64(29))) * _factors(parts.shape[1])
    found = (mixed ^ (mixed >> np.uint64(32))).sum(axis=1, dtype=np.uint64)
    numbers: Whole = (found >> np.uint64(64 - BITS)).astype(np.int64)
    return numbers


@lru_cache(maxsize=64)
def _factors(n: int) -> Numbers:
    odd: Numbers = 2 * np.random.default_rng(0).integers(1 << 63, size=n, dtype=np.uint64) + 1
    odd.flags.writeable = False
    return odd


def are_digests(written: object, most: int) -> bool:
    """Tell whether these are some, of so many at most."""
    return (
        isinstance(written, list)
        and len(written) <= most
        and all(type(each) is int and 0 <= each < 1 << BITS for each in written)
    )


def are_telling(digests: Sequence[int], n_others: int) -> bool:
    """Tell whether rows are too different to be equal to others by chance.

    `n_others` counts those that do not have the most frequent label.
    """
    return len(digests) >= LEAST and n_others >= OTHERS and len({*digests}) >= DIFFERENT
