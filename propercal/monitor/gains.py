"""What a recalibration that is known before a row saves of its loss, and what the savings prove.

Its expectation is at most the calibration error, whatever the recalibration is. A recalibration is
drawn towards the prediction until it cannot lose more than a limit; then sums of savings and of
their squares give a lower bound that holds at all times at once.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from propercal._data.messages import bad_value
from propercal.generators import Brier, Log, Quadratic, RankedProbability
from propercal.generators.base import BregmanGenerator
from propercal.monitor.bets import log_sum

Floats = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]

#: Where the limit of the losses is unknown, half of all wealth is kept: log 2.
_OF_LOG = math.log(2.0)
#: Of the loss of a certain prediction of another class, the share that may be lost.
_SHARE = 0.25
#: Weights λ of the savings, in units of 1 / limit.
_WEIGHTS = np.geomspace(0.005, 0.95, 20)


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


def lower_bound(total: Floats, squares: Floats, n: Floats, limit: float, alpha: float) -> Floats:
    r"""Return lower bounds of a mean that hold together with probability 1 − alpha.

    With X ≥ −c, exp(λ x − ψ(λ) x²) ≤ 1 + λ x for ψ(λ) = (−log(1 − c λ) − c λ) / c², so that
    exp(λ Σ (X − μ) − ψ(λ) Σ X²) is a supermartingale, and a mean of several λ is one.

    Parameters
    ----------
    total, squares, n : ndarray of float, shape (m,)
        Σ X, Σ X² and the number of rows, at m times.
    limit : float
        c.
    alpha : float

    Returns
    -------
    ndarray of float, shape (m,)
        −inf before the first row, +inf where a saving was infinite.
    """
    weights = _WEIGHTS / limit
    scaled = weights * limit
    cost = (-np.log1p(-scaled) - scaled) / limit**2
    infinite, empty = np.isinf(total), n == 0
    some = ~(infinite | empty)
    total, squares, n = (np.where(some, x, y) for x, y in ((total, 0.0), (squares, 0.0), (n, 1.0)))

    # At m, log Σ exp(λ (S − n m) − ψ V) / 20 = log 1/α. Each λ alone gives a bound below that.
    threshold = math.log(len(weights) / alpha)
    alone = (total[:, None] - (cost * squares[:, None] + threshold) / weights) / n[:, None]
    low = alone.max(axis=1)
    high = low + math.log(len(weights)) / (weights[0] * n)
    for _ in range(60):
        middle = (low + high) / 2
        exponents = weights * (total - n * middle)[:, None] - cost * squares[:, None]
        above = log_sum(exponents) >= threshold
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.where(infinite, np.inf, np.where(empty, -np.inf, low))
