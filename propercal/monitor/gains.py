"""What a recalibration that is known before a row saves of its loss, and what the savings prove.

Its expectation is at most the calibration error, whatever the recalibration is. A recalibration is
drawn towards the prediction until it cannot lose more than a limit; then bets on the savings give
a lower bound that holds at all times at once.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from propercal._data.words.messages import bad_value
from propercal.generators import Brier, Log, Quadratic, RankedProbability
from propercal.generators.base import BregmanGenerator
from propercal.monitor.bets import log_sum

Floats = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]

#: Of the log loss, half of the probability stays where the model put it: log 2.
_OF_LOG = math.log(2.0)
#: Of the loss of a certain prediction of another class, the share that may be lost.
_SHARE = 0.125
#: Weights λ of the savings, in units of 1 / limit.
_WEIGHTS = np.geomspace(0.005, 0.95, 20)
_STEPS = 8


def n_weights() -> int:
    """Return how many bets there are on the savings."""
    return len(_WEIGHTS)


def largest_loss(generator: BregmanGenerator, n_outcomes: int) -> float:
    """Return what a bet of one row may lose at most, or raise where that is not known."""
    if isinstance(generator, Log):
        return _OF_LOG
    if not isinstance(generator, Brier | Quadratic | RankedProbability):
        raise bad_value(
            "generator",
            repr(generator),
            "the log loss or a quadratic one (brier, rps, Quadratic), which are convex in the "
            "prediction",
            'use generator="brier"; the e-value does not depend on it',
        )
    vertices = np.eye(n_outcomes)
    worst = float(generator.divergence(vertices[:, None], vertices[None]).max())
    if worst == 0:
        raise bad_value(
            "generator", repr(generator), "a loss that tells classes apart", "use another"
        )
    return _SHARE * worst


def savings(
    generator: BregmanGenerator, log_prob: Floats, log_recalibrated: Floats, label: Whole
) -> Floats:
    """(n,) L(g, y) − L(g + τ (r − g), y), τ such that it is not below −the limit whatever y is."""
    n, c = log_prob.shape
    rows = np.arange(n)
    if isinstance(generator, Log):
        possible = np.isfinite(log_prob)
        step = np.where(possible, log_recalibrated, 0.0) - np.where(possible, log_prob, 0.0)
        # A probability that rises from next to nothing is not told by a double; its log is.
        lowest = np.where(possible, step, np.inf).min(axis=1)
        share = np.minimum(1.0, -np.expm1(-_OF_LOG) / np.maximum(-np.expm1(lowest), 1e-300))
        with np.errstate(divide="ignore"):
            parts = np.stack([np.log1p(-share), np.log(share) + step[rows, label]], axis=1)
        return np.where(possible[rows, label], log_sum(parts), np.inf)
    g, r, outcomes = np.exp(log_prob), np.exp(log_recalibrated), np.eye(c)
    limit = largest_loss(generator, c)
    before = generator.loss(g[:, None], outcomes[None])
    lost = (generator.loss(r[:, None], outcomes[None]) - before).max(axis=1)
    share = np.minimum(1.0, limit / np.maximum(lost, limit))
    drawn = g + share[:, None] * (r - g)
    return np.asarray(before[rows, label] - generator.loss(drawn, outcomes[label]))


def bets_on(savings: Floats, limit: float) -> Floats:
    """(n, w) log(1 + λ x), for each of the weights λ."""
    with np.errstate(over="ignore"):
        return np.asarray(np.log1p(_WEIGHTS / limit * savings[:, None]))


def lower_bound(sums: Floats, n: Floats, limit: float, alpha: float) -> Floats:
    r"""Return lower bounds of a mean that hold together with probability 1 − alpha.

    With X ≥ −c and λ < 1 / c, E[1 + λ X] = 1 + λ μ ≤ exp(λ μ), so that Π (1 + λ X) / exp(λ Σ μ) is
    a supermartingale, whatever the means μ of the rows are, and an average over λ is one.

    Parameters
    ----------
    sums : ndarray of float, shape (m, w)
        Σ log(1 + λ X) at m times.
    n : ndarray of float, shape (m,)
        Numbers of rows.
    limit : float
        The limit c of a loss.
    alpha : float

    Returns
    -------
    ndarray of float, shape (m,)
        −inf before the first row, +inf where a saving was infinite.
    """
    weights = _WEIGHTS / limit
    infinite, empty = np.isinf(sums).any(axis=1), n == 0
    some = ~(infinite | empty)
    sums, n = np.where(some[:, None], sums, 0.0), np.where(some, n, 1.0)
    # Where log Σ exp(s − λ n m) − log(w / α) is 0. It is convex and falls in m: steps of Newton's
    # from where one λ alone reaches the level rise to it, and never pass it.
    threshold = math.log(len(weights) / alpha)
    bound = ((sums - threshold) / weights).max(axis=1) / n
    for _ in range(_STEPS):
        exponents = sums - weights * (n * bound)[:, None]
        level = log_sum(exponents)
        slope = (weights * np.exp(exponents - level[:, None])).sum(axis=1)
        bound = bound + np.maximum(level - threshold, 0.0) / (n * slope)
    return np.where(infinite, np.inf, np.where(empty, -np.inf, bound))
