"""Sums over all rows of a sketch, which no table holds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Totals:
    """Sums over rows of weights w and losses ℓ, which are averaged over problems.

    Predictions below the floor of tables have the loss ℓ' at it instead, and ℓ − ℓ' is its excess.
    """

    sums: Floats
    """(8,) Σ w, w², w ℓ, w² ℓ, w² ℓ², w ℓ', w² (ℓ − ℓ'), w² (ℓ − ℓ')²."""
    bounds: Floats
    """(3,) the least weight, the negative of the largest, the least loss."""
    zeros: Whole
    """(problems, 2) predictions that give probability 0 to each outcome."""
    rows: Whole
    """(3,) rows; those of yes-or-no problems that need not mark one class; those of infinite loss.
    """

    @classmethod
    def empty(cls, n_problems: int) -> Self:
        """Return the sums over no rows."""
        return cls(
            np.zeros(8),
            np.full(3, np.inf),
            np.zeros((n_problems, 2), dtype=np.int64),
            np.zeros(3, dtype=np.int64),
        )

    @classmethod
    def of(
        cls, loss: Floats, inner: Floats, weight: Floats | None, zeros: Whole, n_odd: int
    ) -> Self:
        """Return the sums over rows of losses, and of losses at the floor."""
        w = np.ones(len(loss)) if weight is None else weight
        with np.errstate(invalid="ignore"):
            excess = np.where(loss == inner, 0.0, loss - inner)
            sums = [
                each.sum()
                for each in (
                    w, w**2, w * loss, w**2 * loss, (w * loss) ** 2,
                    w * inner, w**2 * excess, (w * excess) ** 2,
                )
            ]  # fmt: skip
        return cls(
            np.array(sums),
            np.array([w.min(), -w.max(), loss.min()]),
            zeros,
            np.array([len(loss), n_odd, np.count_nonzero(np.isinf(loss))]),
        )

    def plus(self, other: Totals) -> Totals:
        """Return the sums over the rows of both."""
        with np.errstate(invalid="ignore"):
            sums = self.sums + other.sums
        return Totals(
            sums,
            np.minimum(self.bounds, other.bounds),
            self.zeros + other.zeros,
            self.rows + other.rows,
        )

    @property
    def n_samples(self) -> int:
        """Rows seen."""
        return int(self.rows[0])

    @property
    def uniform(self) -> bool:
        """Whether all weights are equal."""
        return bool(self.bounds[0] == -self.bounds[1])

    @property
    def effective(self) -> float:
        """(Σ w)² / Σ w²."""
        return float(self.sums[0] / self.sums[1] * self.sums[0])

    def risk(self) -> float:
        """Return the mean of ℓ."""
        return float(self.sums[2] / self.sums[0])

    def inner_risk(self) -> float:
        """Return the mean of ℓ'."""
        return float(self.sums[5] / self.sums[0])

    def risk_error(self) -> float:
        """Return the standard error of the mean of ℓ."""
        return self._error(self.risk(), self.sums[3], self.sums[4])

    def excess_error(self) -> float:
        """Return that of the mean of ℓ − ℓ'."""
        with np.errstate(invalid="ignore"):
            mean = float((self.sums[2] - self.sums[5]) / self.sums[0])
        return self._error(mean, self.sums[6], self.sums[7]) if self.sums[7] else 0.0

    def _error(self, mean: float, linear: float, square: float) -> float:
        n = self.n_samples
        if not np.isfinite([mean, linear, square]).all():
            return math.inf
        spread = max(0.0, square - 2 * mean * linear + mean**2 * self.sums[1])
        return math.sqrt(spread * n / (n - 1)) / float(self.sums[0])
