r"""All differences between several models at once, by the largest of their t-statistics.

With e_gi what group g of rows contributes to the estimate of model i, less its mean, a draw of
signs s and of normal numbers ξ gives

.. math::

    T^*_{ij} = \frac{\sum_g s_g (e_{gi} - e_{gj}) + V_i ξ_i - V_j ξ_j}
    {\sqrt{\widehat{\mathrm{Var}}^*_{ij} + V_i^2 + V_j^2}},

which are correlated as the differences are (a wild bootstrap, see :mod:`propercal.inference.signs`;
V is what an estimate is uncertain by beside its rows). Their maxima take the place of the normal
law where several questions are asked: step-down (Westfall & Young 1993; Romano & Wolf 2005), and
with the best (Hsu 1981).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from propercal._array import slices
from propercal._results.student import quantile, upper_tail
from propercal.inference.contributions import Contributions

Floats = npt.NDArray[np.float64]

#: With more groups of rows, sums of signs are as good as normal.
_SIGNED = 5000
#: Numbers that are worked on together.
_TILE = 2**20


class MaxT(NamedTuple):
    """What the largest t-statistics say of M models, whose K pairs i < j are in order."""

    errors: Floats
    """(M, M) standard errors of differences."""
    pair_pvalues: Floats
    """(K,) familywise, two-sided; NaN where a difference is infinite."""
    best_pvalues: Floats
    """(M,) that no model is better than this one."""
    maxima: Floats
    """(B,) the largest |T*| of each draw, in ascending order."""
    n_pairs: int
    """Pairs whose difference is finite."""
    degrees_of_freedom: float

    def critical_value(self, confidence_level: float) -> float:
        """Return what no |t| exceeds, with this probability, where nothing differs.

        No less than for a single pair, and no more than Bonferroni's.
        """
        if self.n_pairs == 0:
            return math.inf
        rest, freedom = (1 - confidence_level) / 2, self.degrees_of_freedom
        single, bound = (quantile(1 - rest / pairs, freedom) for pairs in (1, self.n_pairs))
        place = math.ceil(confidence_level * (len(self.maxima) + 1)) - 1
        drawn = float(self.maxima[place]) if place < len(self.maxima) else bound
        return max(single, min(drawn, bound))


def max_t(found: Contributions, n_resamples: int) -> MaxT:
    """Compare all pairs of models.

    Draws come from a seed of their own, and rows are brought into an order that does not depend on
    the one they are given in, so that the same models always have the same p-values.
    """
    n = len(found.estimates)
    errors = np.stack([found.errors(i) for i in range(n)])
    finite = np.isfinite(found.estimates) & np.isfinite(found.sums).all(axis=0)
    worse = 1.0 if found.term.less_is_better else -1.0
    observed = _observed(worse * found.estimates, errors)
    i, j = np.triu_indices(n, 1)
    usable = finite[i] & finite[j]
    absolute = np.abs(observed[i, j])[usable]
    order = np.argsort(-absolute, kind="stable")
    excess = np.where(finite, np.where(finite, observed, -np.inf).max(axis=1), np.inf)
    maxima, as_large, as_bad = [], np.zeros(len(order)), np.zeros(n)
    for drawn in _drawn(found, errors, finite, n_resamples):
        of_pairs = np.abs(drawn[:, i[usable], j[usable]])[:, order]
        # The largest of a pair and of all that follow it.
        largest = np.maximum.accumulate(of_pairs[:, ::-1], axis=1)[:, ::-1]
        as_large += np.count_nonzero(largest >= absolute[order], axis=0)
        maxima.append(of_pairs.max(axis=1, initial=0.0))
        as_bad += np.count_nonzero(drawn.max(axis=2) >= excess, axis=0)
    freedom = found.degrees_of_freedom
    pair_pvalues = np.full(len(i), np.nan)
    pair_pvalues[np.flatnonzero(usable)[order]] = _step_down(
        absolute[order], (1 + as_large) / (n_resamples + 1), freedom
    )
    return MaxT(
        errors,
        pair_pvalues,
        np.where(
            finite,
            _of_best(excess, (1 + as_bad) / (n_resamples + 1), int(finite.sum()) - 1, freedom),
            # An infinite loss is worse than any other, for certain; among infinite ones none is.
            np.where(finite.any() & (worse * found.estimates > 0), 0.0, 1.0),
        ),
        np.sort(np.concatenate(maxima)),
        len(order),
        freedom,
    )


def _observed(estimates: Floats, errors: Floats) -> Floats:
    """(M, M) t-statistics of model i less model j; 0 where they do not differ."""
    with np.errstate(invalid="ignore", divide="ignore"):
        difference = estimates[:, None] - estimates[None, :]
        t = difference / errors
    return np.where((difference == 0) | np.isnan(t), 0.0, t)


def _step_down(absolute: Floats, drawn: Floats, freedom: float) -> Floats:
    """Return p-values of pairs in descending order of |t|, from the shares of the draws.

    Holm's bound is finer than draws where nothing is as large as what was observed.
    """
    left = np.arange(len(absolute), 0, -1)
    single = np.array([2 * upper_tail(t, freedom) for t in absolute])
    pvalues = np.minimum(drawn, np.minimum(1.0, left * single))
    # Two models that are the same cannot differ.
    pvalues = np.where(absolute == 0, 1.0, np.maximum(pvalues, single))
    return np.maximum.accumulate(pvalues)


def _of_best(excess: Floats, drawn: Floats, n_others: int, freedom: float) -> Floats:
    """Return p-values from the largest t-statistic of each model, and the shares of the draws."""
    single = np.array([upper_tail(t, freedom) for t in excess])
    bound = np.minimum(1.0, n_others * single)
    return np.where(excess <= 0, 1.0, np.maximum(single, np.minimum(drawn, bound)))


def _drawn(
    found: Contributions, errors: Floats, finite: npt.NDArray[np.bool_], n_resamples: int
) -> Iterator[Floats]:
    """Yield (b, M, M) draws of t-statistics, 0 between models that do not differ."""
    rng = np.random.default_rng(0)
    n_groups, n = found.sums.shape
    sums = np.where(finite, found.sums, 0.0)
    sums = sums[_canonical_order(sums)]
    noise = found.noise**2
    own = noise[:, None] + noise[None, :]
    factor = n_groups / (n_groups - 1)
    rows = np.maximum(np.where(np.isfinite(errors), errors, 0.0) ** 2 - own, 0.0) / factor
    root = _root(sums) if n_groups > _SIGNED else None
    for part in slices(n_resamples, max(1, _TILE // max(n_groups, n * n))):
        b = part.stop - part.start
        if root is None:
            of_rows = (2.0 * rng.integers(0, 2, size=(b, n_groups)) - 1) @ sums
        else:
            of_rows = rng.standard_normal((b, n)) @ root
        change = of_rows[:, :, None] - of_rows[:, None, :]
        # Signs change no square: only the mean of a draw is taken from its variance.
        variance = np.maximum(rows - change**2 / found.effective, 0.0) * factor + own
        others = rng.standard_normal((b, n)) * found.noise
        change += others[:, :, None] - others[:, None, :]
        with np.errstate(invalid="ignore", divide="ignore"):
            t = change / np.sqrt(variance)
        yield np.where((errors > 0) & np.isfinite(errors) & ~np.isnan(t), t, 0.0)


def _canonical_order(sums: Floats) -> npt.NDArray[np.intp]:
    """Return an order of rows that is the same for all orders in which they come."""
    mixed = sums @ (np.random.default_rng(1).random(sums.shape[1]) + 0.5)
    return np.argsort(mixed, kind="stable")


def _root(sums: Floats) -> Floats:
    """(M, M) symmetric root of the covariance."""
    values, vectors = np.linalg.eigh(sums.T @ sums)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)
