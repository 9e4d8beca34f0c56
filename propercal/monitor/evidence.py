"""The wealth of all bets on one problem, from the first row and from every later one.

With S the logarithm of a wealth, that of the bet that began after row s is S_t − S_s. So the sum of
the wealths over all beginnings and the largest of them follow from a running sum and a minimum.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from propercal.monitor.bets import Bets, log_sum
from propercal.monitor.learner import Learner

Floats = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]


class Evidence(NamedTuple):
    """Wealths of m bets after some rows."""

    wealth: Floats
    """(m,) S, the logarithm of the wealth of each, that began with 1."""
    starts: Floats
    """(m,) log Σ_{s < t} exp(−S_s); −inf before the first row."""
    lowest: Floats
    """(m,) min_{s < t} S_s; +inf before the first row."""
    since: Whole
    """(m,) the s of that minimum, a number of rows."""
    learner: Learner

    @classmethod
    def none(cls, n_outcomes: int) -> Evidence:
        """Return the state before any row."""
        m = len(Bets.of(n_outcomes).log_prior)
        empty = np.full(m, -np.inf)
        return cls(np.zeros(m), empty, -empty, np.zeros(m, np.int64), Learner.untaught(n_outcomes))

    def after(self, log_prob: Floats, label: Whole) -> tuple[Evidence, Path, Floats]:
        """Return it after rows of one block, what it was on the way, and log r of the rows."""
        bets = Bets.of(self.learner.n_outcomes)
        n = len(label)
        learnt = self.learner.recalibrated(log_prob)
        own = np.arange(n), label
        possible = np.isfinite(log_prob[own])
        base = np.where(possible, log_prob[own], 0.0)
        last = np.where(possible, learnt[own] - base, np.inf)
        ratios = np.concatenate([bets.log_ratios(log_prob, label), last[:, None]], axis=1)

        wealth = np.add.accumulate(np.concatenate([self.wealth[None], ratios]), axis=0)
        before, wealth = wealth[:-1], wealth[1:]
        begun = np.concatenate([self.starts[None], -before])
        starts = np.logaddexp.accumulate(begun, axis=0)[1:]
        lowest, since = self.lowest, self.since
        least = np.minimum.accumulate(np.concatenate([lowest[None], before]), axis=0)
        number = self.learner.n_rows + np.arange(n)
        new = np.where(before <= least[:-1], number[:, None], -1)
        since = np.maximum(since, new.max(axis=0))
        after = Evidence(
            wealth[-1],
            starts[-1],
            least[-1],
            since,
            self.learner.after(log_prob, learnt, label),
        )
        path = Path(log_sum(bets.log_prior + wealth), log_sum(bets.log_prior + wealth + starts))
        return after, path, learnt

    @property
    def log_e_value(self) -> float:
        """Logarithm of the mean wealth."""
        return float(log_sum(Bets.of(self.learner.n_outcomes).log_prior + self.wealth))

    @property
    def log_sum_of_starts(self) -> float:
        """Logarithm of the sum over all beginnings of the mean wealth since."""
        prior = Bets.of(self.learner.n_outcomes).log_prior
        return float(log_sum(prior + self.wealth + self.starts))

    def best_start(self) -> tuple[float, int]:
        """Return the largest log wealth of one bet from one beginning, and the rows before it."""
        prior = Bets.of(self.learner.n_outcomes).log_prior
        infinite = np.isinf(self.wealth)
        found = prior + np.where(infinite, np.inf, self.wealth - np.where(infinite, 0, self.lowest))
        best = int(found.argmax())
        return float(found[best]), int(self.since[best])

    def plus(self, later: Evidence) -> Evidence:
        """Return the state after the rows of both, those of `later` being the later ones."""
        infinite = np.isinf(self.wealth)
        moved = np.where(infinite, np.inf, self.wealth + later.lowest)
        taken = moved <= self.lowest
        return Evidence(
            self.wealth + later.wealth,
            np.logaddexp(self.starts, np.where(infinite, -np.inf, later.starts - self.wealth)),
            np.where(taken, moved, self.lowest),
            np.where(taken, self.learner.n_rows + later.since, self.since),
            self.learner.plus(later.learner),
        )


class Path(NamedTuple):
    """What the evidence was after each of some rows."""

    log_e_value: Floats
    """(n,)."""
    log_sum_of_starts: Floats
    """(n,)."""
