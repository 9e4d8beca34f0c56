"""Label sets: the observed one, and those that are drawn from the predictions.

They are made a few at a time, whenever they are asked for, so that memory does not grow with their
number. Each has a place of its own in one stream of random numbers: how many are made at a time,
and in which thread, changes none of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from propercal._array import slices

#: Random numbers that are drawn at a time, few enough for the processor's cache.
_BLOCK_SIZE = 2**17
#: Among more classes a search by halves is faster than a comparison with each limit.
_FEW_CLASSES = 64

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.integer[Any]]


class LabelSets:
    """1 + B sets of n classes, the first of them the observed one."""

    def __init__(
        self, prob: Floats, observed: Integers, n_resamples: int, rng: np.random.Generator
    ) -> None:
        n, k = prob.shape
        self._observed = observed
        self._n_resamples = n_resamples
        self._seed = np.random.SeedSequence(rng.integers(2**63, size=4).tolist())
        self._dtype = np.int8 if k <= 2**7 else np.int16 if k <= 2**15 else np.int32
        self._few = k <= _FEW_CLASSES
        size = k - 1 if self._few else 2 ** (k - 1).bit_length()
        # No random number reaches what is above the limits of all classes.
        limits = np.full((n, size), 2.0)
        cumulated = np.cumsum(prob, axis=1)
        # Where the last probabilities are 0, the ones before them are exactly 1 now.
        np.divide(cumulated[:, :-1], cumulated[:, -1:], out=limits[:, : k - 1])
        self._limits = np.ascontiguousarray(limits.T) if self._few else limits

    def __len__(self) -> int:
        return 1 + self._n_resamples

    @property
    def n_samples(self) -> int:
        """Number of rows n."""
        return len(self._observed)

    def classes(self, sets: slice) -> Integers:
        """Return some of the sets, (sets, n)."""
        n = self.n_samples
        found = np.zeros((sets.stop - sets.start, n), dtype=self._dtype)
        drawn, first = found, sets.start - 1
        if sets.start == 0:
            found[0], drawn, first = self._observed, found[1:], 0
        stream = np.random.PCG64(self._seed)
        # One number of the stream makes one uniform number.
        stream.advance(first * n)
        rng = np.random.Generator(stream)
        for block in slices(len(drawn), max(1, _BLOCK_SIZE // n)):
            self._draw(rng.random((block.stop - block.start, n)), drawn[block])
        return found

    def _draw(self, uniform: Floats, classes: Integers) -> None:
        """Write how many limits of its row each uniform number reaches."""
        if self._few:
            for limit in self._limits:
                classes += uniform >= limit
            return
        limits, size = self._limits.ravel(), self._limits.shape[1]
        start = np.arange(self.n_samples) * size - 1
        place = np.broadcast_to(start, uniform.shape).copy()
        step = size // 2
        while step:
            place += step * (uniform >= limits[place + step])
            step //= 2
        classes[:] = place - start
