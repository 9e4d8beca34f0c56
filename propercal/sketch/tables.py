"""Tables that add up: rows of a problem by point, fold and label.

The points are the predictions where few are distinct, else bins of a grid that does not depend on
the data (:mod:`propercal._kernels.binning`). Which of the two, and all sums, depend on the rows
alone, not on the order or the grouping in which they came; to which fold a row was dealt does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from propercal._kernels.binning import (
    JOINED,
    LARGE_SHARE,
    LARGEST_EXACT,
    MANY,
    few_distinct,
    grid_numbers,
    joined,
    without_gaps,
)
from propercal._methods.table import Cells, Table, points_at, table_of
from propercal.recalibration.points import LOG_FLOOR

Floats = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.intp]
AnyArray = np.ndarray[Any, Any]


@dataclass(frozen=True)
class PointSums:
    """Sums over the rows of one problem."""

    exact: bool
    """Whether the points are the predictions themselves."""
    keys: Floats
    """(m,) ascending: log-odds z of the points, or numbers of their bins."""
    total: Floats
    """(m,) Σ w z."""
    low: Floats
    """(m,) the least z."""
    high: Floats
    """(m,) the largest z."""
    size: Whole
    """(m, folds, 2) rows by fold and label."""
    weight: Floats | None
    """(m, folds, 2) Σ w; None where each weight is 1."""
    squares: Floats | None
    """(m, folds, 2) Σ w²."""

    @classmethod
    def empty(cls, n_folds: int) -> Self:
        """Return the sums over no rows."""
        size = np.zeros((0, n_folds, 2), dtype=np.int64)
        none = np.zeros(0)
        return cls(True, none, none, none, none, size, None, None)

    @classmethod
    def of_rows(
        cls, log_odds: Floats, label: Whole, fold: Whole, n_folds: int, weight: Floats | None
    ) -> Self:
        """Return the sums over rows of these log-odds (n,), and of positive weights."""
        # There is one 0.
        z = log_odds + 0.0
        found = few_distinct(z)
        exact = found is not None
        if found is not None:
            number, keys = found
        else:
            bins = grid_numbers(z)
            first = bins.min()
            number = without_gaps(bins - first)
            keys = (np.flatnonzero(np.bincount(bins - first)) + first).astype(np.float64)
        m, shape = len(keys), (len(keys), n_folds, 2)
        cell = (number * n_folds + fold) * 2 + label

        def by_cell(values: Floats | None) -> Floats:
            return np.asarray(np.bincount(cell, values, int(np.prod(shape))).reshape(shape), float)

        low, high = np.full(m, np.inf), np.full(m, -np.inf)
        np.minimum.at(low, number, z)
        np.maximum.at(high, number, z)
        return cls(
            exact,
            keys,
            np.asarray(np.bincount(number, z if weight is None else weight * z, m), float),
            low,
            high,
            by_cell(None).astype(np.int64),
            None if weight is None else by_cell(weight),
            None if weight is None else by_cell(weight**2),
        )

    @property
    def counts(self) -> Whole:
        """(2,) rows of each label."""
        return np.asarray(self.size.sum(axis=(0, 1)))

    @property
    def weights(self) -> Floats:
        """(m, folds, 2) Σ w."""
        return self.size.astype(np.float64) if self.weight is None else self.weight

    @property
    def square_sums(self) -> Floats:
        """(m, folds, 2) Σ w²."""
        return self.size.astype(np.float64) if self.squares is None else self.squares

    @property
    def nodes(self) -> Floats:
        """(m,) mean of z over the rows of each point."""
        if self.exact:
            return self.keys
        return np.asarray(np.clip(self.total / self.weights.sum(axis=(1, 2)), self.low, self.high))

    def plus(self, other: PointSums) -> PointSums:
        """Return the sums over the rows of both.

        The folds of the other are renamed where that makes sizes more equal: few rows alone are
        always dealt to the same.
        """
        if len(other.keys) == 0:
            return self
        if len(self.keys) == 0:
            return other
        mine = self
        if mine.exact and other.exact:
            keys = np.union1d(mine.keys, other.keys)
            if len(keys) > LARGEST_EXACT:
                mine, other = mine.binned(), other.binned()
        elif mine.exact or other.exact:
            mine, other = mine.binned(), other.binned()
        keys = np.union1d(mine.keys, other.keys)
        places = np.searchsorted(keys, mine.keys), np.searchsorted(keys, other.keys)
        renamed = np.empty(mine.size.shape[1], dtype=np.intp)
        renamed[np.argsort(mine.size.sum(axis=(0, 2)), kind="stable")] = np.argsort(
            -other.size.sum(axis=(0, 2)), kind="stable"
        )

        def added(a: AnyArray, b: AnyArray) -> AnyArray:
            result = np.zeros((len(keys), *a.shape[1:]), dtype=a.dtype)
            result[places[0]] = a
            result[places[1]] += b[:, renamed, :] if b.ndim == 3 else b
            return result

        low, high = np.full(len(keys), np.inf), np.full(len(keys), -np.inf)
        for part, place in zip((mine, other), places, strict=True):
            low[place] = np.minimum(low[place], part.low)
            high[place] = np.maximum(high[place], part.high)
        uniform = mine.weight is None and other.weight is None
        return PointSums(
            mine.exact,
            keys,
            added(mine.total, other.total),
            low,
            high,
            added(mine.size, other.size),
            None if uniform else added(mine.weights, other.weights),
            None if uniform else added(mine.square_sums, other.square_sums),
        )

    def binned(self) -> PointSums:
        """Return these sums by bins."""
        return self._grouped(grid_numbers(self.keys)) if self.exact else self

    def coarser(self) -> PointSums:
        """Return these sums by bins of twice the width; as they are if no bins."""
        return self if self.exact else self._grouped(joined(self.keys.astype(np.intp)))

    def as_in_memory(self) -> PointSums:
        """Return these sums by bins that are joined as long as there are many, as in memory."""
        sums = self
        for _ in range(JOINED):
            if sums.exact or len(sums.keys) <= MANY:
                break
            sums = sums.coarser()
        return sums

    def _grouped(self, numbers: AnyArray) -> PointSums:
        """Add up points of equal numbers (m,), which ascend."""
        keys, start = np.unique(numbers, return_index=True)
        if len(keys) == 0:
            return self
        end = np.append(start[1:], len(numbers)) - 1

        def added(values: AnyArray) -> AnyArray:
            return np.asarray(np.add.reduceat(values, start, axis=0))

        return PointSums(
            False,
            keys.astype(np.float64),
            added(self.total),
            self.low[start],
            self.high[end],
            added(self.size),
            None if self.weight is None else added(self.weight),
            None if self.squares is None else added(self.squares),
        )

    def table(self, *, uniform: bool) -> Table:
        """Return the table that estimates take, `uniform` if all weights are equal."""
        _, n_folds, k = self.size.shape

        def by_fold(values: AnyArray) -> Floats:
            return np.moveaxis(values, 0, 2).ravel().astype(np.float64)

        size = by_fold(self.size)
        used = np.flatnonzero(size)
        weight = squares = size = size[used]
        if not uniform:
            weight, squares = (by_fold(each)[used] for each in (self.weights, self.square_sums))
            # Squares of sums may underflow where weights do not.
            unit = float((squares / weight).max())
            weight, squares = weight / unit, squares / unit**2
        return table_of(
            points_at(self.nodes),
            Cells(used, size, weight, squares),
            n_folds,
            k,
            row_cell=np.empty(0, dtype=np.intp),
            exact=self.exact,
        )

    def crowded(self) -> tuple[float, float, float] | None:
        """Return the share of rows in the largest bin and its ends in log-odds, if too many.

        In memory, a bin of so many rows is divided.
        """
        rows = self.size.sum(axis=(1, 2))
        if self.exact or not len(rows):
            return None
        # What is as good as certain is told apart by nothing.
        inside = (self.low > LOG_FLOOR) & (self.high < -LOG_FLOOR)
        apart = np.where(inside & (self.low < self.high), rows, 0)
        i = int(np.argmax(apart))
        share = float(apart[i] / rows.sum())
        return (share, float(self.low[i]), float(self.high[i])) if share > LARGE_SHARE else None
