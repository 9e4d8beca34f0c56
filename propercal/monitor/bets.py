"""Recalibrations that are bet on: what a row multiplies the wealth of each by.

A bet on the recalibration r multiplies its wealth by r(y) / g(y), whose mean is 1 where y is drawn
from g. All is in logarithms, and a row's numbers do not depend on the rows beside it.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]

#: Exponents of the predictions: below 1 where they are too sure.
TEMPERATURES = np.delete(np.geomspace(0.2, 5.0, 21), 10)
#: Steps of the log-odds of one class.
SHIFTS = np.array([-2.0, -1.0, -0.5, 0.5, 1.0, 2.0])
#: Exponents beside each shift, where there are two outcomes.
TILTS = np.array([0.5, 0.75, 1.5, 2.0])


class Bets(NamedTuple):
    """The fixed recalibrations softmax(a log g + b) of problems of so many outcomes."""

    exponents: Floats
    """(m,) a of those that are computed from all outcomes together."""
    steps: Floats
    """(m, c) b of these."""
    shifts: Floats
    """(s,) steps of one class alone, for each class."""
    log_prior: Floats
    """(m + s c + 1,) logarithm of the first wealth of each; the last is the one that learns."""

    @classmethod
    @cache
    def of(cls, n_outcomes: int) -> Bets:
        """Return those of problems of `n_outcomes` outcomes."""
        exponents, steps = TEMPERATURES, np.zeros((len(TEMPERATURES), n_outcomes))
        shifts = SHIFTS
        if n_outcomes == 2:
            # A shift of one class is one of the other.
            tilted = [(a, s) for a in (*TILTS, 1.0) for s in SHIFTS]
            exponents = np.append(exponents, [a for a, _ in tilted])
            steps = np.concatenate([steps, [(0.0, s) for _, s in tilted]])
            shifts = SHIFTS[:0]
        n_temperatures = len(TEMPERATURES)
        n_others = len(exponents) - n_temperatures + len(shifts) * n_outcomes
        shares = [(0.5, n_temperatures), (0.25, n_others), (0.25, 1)]
        prior = np.concatenate([np.full(size, share / size) for share, size in shares])
        return cls(exponents, steps, shifts, np.log(prior))

    def log_ratios(self, log_prob: Floats, label: Whole) -> Floats:
        """(n, m + s c) log r(y) / g(y) of rows (n, c); +inf where g gave y no probability."""
        n, c = log_prob.shape
        own = log_prob[np.arange(n), label]
        possible = np.isfinite(own)
        safe = np.where(possible, label, log_prob.argmax(axis=1))
        at_label = log_prob[np.arange(n), safe]
        scores = self.exponents[:, None] * log_prob[:, None, :] + self.steps
        total = log_sum(scores)
        found = self.exponents * at_label[:, None] + self.steps[:, safe].T - total
        parts = [found - at_label[:, None]]
        if len(self.shifts):
            prob = np.exp(log_prob)[:, :, None]
            occurred = (np.arange(c) == safe[:, None])[:, :, None]
            moved = self.shifts * occurred - np.log1p(prob * np.expm1(self.shifts))
            parts.append(moved.reshape(n, -1))
        ratios: Floats = np.concatenate(parts, axis=1)
        ratios[~possible] = np.inf
        return ratios


def log_sum(values: Floats) -> Floats:
    """Logarithm of the sum of exp along the last axis; of −inf alone −inf, beside +inf +inf."""
    top = values.max(axis=-1)
    finite = np.isfinite(top)
    level = np.where(finite, top, 0.0)
    with np.errstate(divide="ignore", over="ignore"):
        found = level + np.log(np.exp(values - level[..., None]).sum(axis=-1))
    return np.asarray(np.where(finite, found, top))
