r"""What recalibrations leave unexplained, looked for on rows that took no part in their fits.

With ψ_h = Σ_i x_hi (y_hi − b_hi) for functions x of the prediction, a second-order U-statistic over
pairs of rows h ≠ j,

.. math:: U = \tfrac12 \sum_{h \ne j} w_h w_j ψ_h^\top M ψ_j, \qquad
    M = G^{-1} G_F G^{-1}, \qquad G_F = \sum_h w_h x_h^\top J ∇^2F(b) J x_h,

estimates the part of E D_F(r, b) that lies in the span of the J x, J = diag b − b bᵀ, to third
order (Robins et al. 2008, doi:10.1214/193940307000000527); G is that of the log loss. Both rows of
a pair take a base that was fitted without the folds of both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from propercal._array import device, namespace, one_hot, slices, to_numpy
from propercal._typing import Array
from propercal.generators.base import BregmanGenerator, curved
from propercal.generators.closed_form import Log
from propercal.recalibration.terms import Terms

#: A misfit is reported if its p-value is below this. Directions overlap, and more than the noise of
#: the base is taken off: in simulations chance reports one in 3 % of samples of two classes, and in
#: fewer than 1 % of more.
LEVEL = 0.2
#: Squares of residuals that are rounding, beside the loss.
_ROUNDING = 1e-24
#: Quantile of the normal law: what is left may be larger than it looks by as many errors.
_UPPER = 1.6448536269514722
#: Rows that each coefficient of a direction is drawn to 0 by.
_RIDGE = 1.0
#: Fits to three of five folds in place of four have a larger variance.
_FEWER_ROWS = 4 / 3
#: Products that a form of a direction takes: its functions, squared, times rows and functions.
LARGEST_DIRECTION = 8_000_000_000
#: Numbers of all functions, at the rows whose forms are summed together.
_BLOCK = 4_000_000

Floats = npt.NDArray[np.float64]


class Misfit(NamedTuple):
    """Evidence that recalibrated predictions are not calibrated."""

    p_value: float
    """Whether chance shows as much in any direction; 1 where nothing was looked for."""
    missed: float
    """What E D_F(r, b) may exceed its estimate V by: 0 where chance shows as much."""


#: Of a problem in which nothing is found.
NOTHING = Misfit(1.0, 0.0)


@dataclass(frozen=True, eq=False)
class JudgedRows:
    """The rows of one fold, with bases that never saw them."""

    label: Array
    """(r,)."""
    weight: Array
    """(r,) of all rows these sum to 1."""
    squares: Array
    """(r,) sums of the squares of the weights of what each row stands for."""
    own: Array
    """(r, k) base fitted without this fold."""
    outer: Sequence[Array]
    """(r, k) base fitted without each fold in turn, this one too."""
    inner: Sequence[Array]
    """(r, k) for each other fold, fitted without both."""
    group: npt.NDArray[np.int64] | None = None
    """(r,) groups of rows that depend on each other."""

    @cached_property
    def residuals(self) -> _Residuals:
        """What the bases leave of the labels, for all directions."""
        return _Residuals.of(self)


class _Direction(NamedTuple):
    """U-statistic in one set of functions."""

    value: float
    error: float
    dimension: float
    """Of the law of chi-square that has its first two moments."""
    noise: float
    """What the variance of the base adds to it: the jackknife over folds, in this direction."""


def find_misfit(
    generator: BregmanGenerator,
    rows: Sequence[JudgedRows],
    terms: Sequence[Sequence[Terms]],
) -> Misfit:
    """Look for a misfit in several directions.

    Parameters
    ----------
    generator : BregmanGenerator
        The convex function F.
    rows : sequence of JudgedRows
        By fold.
    terms : sequence of sequence of Terms
        For each direction its functions at the rows of each fold.
    """
    found = [_direction(generator, rows, each) for each in terms]
    most = _most(generator, rows)
    # Functions that are the same for all classes change nothing but by rounding.
    found = [each for each in found if each.error > _ROUNDING * most]
    if not found:
        return NOTHING
    p_values = np.array([_p_value(each) for each in found])
    p_value = min(1.0, float(p_values.min()) * len(found))
    if p_value >= LEVEL:
        return Misfit(p_value, 0.0)
    missed: float = max(
        each.value - each.noise + _UPPER * each.error
        for each, p in zip(found, p_values, strict=True)
        if p * len(found) < LEVEL
    )
    return Misfit(p_value, min(float(missed), most))


def _most(generator: BregmanGenerator, rows: Sequence[JudgedRows]) -> float:
    """Return what E D_F(r, b) is at most: E L_F(b, y) less the loss of the best certain prediction.

    Where labels occur to which b gives next to no probability, the quadratic U is far above it.
    """
    k = rows[0].own.shape[1]
    xp = namespace(rows[0].own)
    losses = (generator.loss(each.own, one_hot(each.label, k, each.own.dtype)) for each in rows)
    total = sum(float(xp.sum(each.weight * loss)) for each, loss in zip(rows, losses, strict=True))
    corners = generator.value(xp.eye(k, dtype=rows[0].own.dtype, device=device(rows[0].own)))
    return total + float(xp.max(corners))


def joint_misfit(found: Sequence[Misfit]) -> Misfit:
    """Return the misfit of the mean over problems."""
    n = len(found)
    p_value = min(1.0, n * min(each.p_value for each in found))
    missed = sum(each.missed for each in found if each.p_value * n < LEVEL) / n
    return Misfit(p_value, missed if p_value < LEVEL else 0.0)


def _p_value(found: _Direction) -> float:
    from scipy.special import chdtrc

    excess = math.sqrt(2 * found.dimension) * (found.value - found.noise) / found.error
    return float(chdtrc(found.dimension, max(found.dimension + excess, 0.0)))


def _direction(
    generator: BregmanGenerator,
    rows: Sequence[JudgedRows],
    terms: Sequence[Terms],
) -> _Direction:
    parts = [_Part.of(generator, *each) for each in zip(rows, terms, strict=True)]
    information, curvature = (sum(each) for each in zip(*(p.forms for p in parts), strict=True))
    d = information.shape[0]
    n = 1 / sum(part.squares for part in parts)
    inverse = np.linalg.inv(information + _RIDGE / n * np.eye(d))
    metric = inverse @ curvature @ inverse
    total = 0.0
    for f, part in enumerate(parts):
        total += part.own @ metric @ part.own - float(np.sum(metric * part.covariance))
        for e, other in enumerate(parts):
            if e != f:
                total += part.without(e, f) @ metric @ other.without(f, e)
    moved = np.stack([sum(each) for each in zip(*(part.outer for part in parts), strict=True)])
    moved = moved - moved.mean(axis=0)
    noise = 0.5 * _FEWER_ROWS * float(np.sum((moved @ metric) * moved))
    # Where few labels are surprising, those that occurred are a poor sample of those that could.
    laws = [
        _law(metric @ sum(each)) for each in zip(*(part.variances for part in parts), strict=True)
    ]
    error, dimension = max(laws)
    return _Direction(0.5 * total, error, dimension, noise)


def _law(product: Floats) -> tuple[float, float]:
    """Return the standard deviation and the dimension of half a form with this M A."""
    square = float(np.sum(product * product.T))
    if not square > 0:
        return 0.0, 1.0
    return math.sqrt(0.5 * square), float(np.trace(product)) ** 2 / square


class _Residuals(NamedTuple):
    """Labels of a fold less their bases."""

    own: Array
    """(k, r)."""
    weighted: Array
    """(b, k, r) of the own base, then the inner, then the outer ones."""
    prob: Array
    """(2, k, r) the own base, twice."""
    weights: Array
    """(2, r) weights, then squares."""

    @classmethod
    def of(cls, rows: JudgedRows) -> _Residuals:
        xp, own = namespace(rows.own), rows.own.T
        outcome = one_hot(rows.label, rows.own.shape[1], rows.own.dtype).T
        bases = xp.stack([base.T for base in (rows.own, *rows.inner, *rows.outer)])
        return cls(
            outcome - own,
            (outcome - bases) * rows.weight,
            xp.stack([own, own]),
            xp.stack([rows.weight, rows.squares]),
        )


class _Part(NamedTuple):
    """Sums over the rows of one fold."""

    own: Floats
    """(d,) Σ w ψ."""
    inner: list[Floats]
    """The same without each other fold."""
    outer: list[Floats]
    """The same with bases fitted without each fold in turn."""
    covariance: Floats
    """(d, d) Σ w² ψ ψᵀ of the labels that occurred."""
    expected: Floats
    """(d, d) the same of labels drawn from the base."""
    forms: tuple[Floats, Floats]
    """(d, d) those of the log loss and of F."""
    squares: float
    """Σ w² of the rows, or of the groups."""

    @property
    def variances(self) -> tuple[Floats, Floats]:
        """The covariance, and what was to be expected of it."""
        return self.covariance, self.expected

    def without(self, fold: int, own: int) -> Floats:
        """Return the sums under the base that saw neither `fold` nor the `own` fold."""
        return self.inner[fold - (fold > own)]

    @classmethod
    def of(cls, generator: BregmanGenerator, rows: JudgedRows, terms: Terms) -> _Part:
        residuals = rows.residuals
        sums = list(to_numpy(terms.products(residuals.weighted)))
        information, expected = to_numpy(terms.information(residuals.prob, residuals.weights))
        return cls(
            sums[0],
            sums[1 : 1 + len(rows.inner)],
            sums[1 + len(rows.inner) :],
            _covariance(terms.by_point(residuals.own), rows),
            expected,
            (information, _curvature(generator, rows, terms, information)),
            _squares(rows),
        )


def _curvature(
    generator: BregmanGenerator, rows: JudgedRows, terms: Terms, information: Floats
) -> Floats:
    """(d, d) the form of F, given that of the log loss."""
    if isinstance(generator, Log):
        return information
    xp, r = namespace(rows.own), rows.own.shape[0]
    total: Any = 0.0
    for part in slices(r, max(1, _BLOCK // (rows.own.shape[1] * terms.n_terms))):
        base = rows.own[part, :]

        def bend(vectors: Array, base: Array = base) -> Array:
            bent = curved(generator, base, xp.permute_dims(vectors, (0, 2, 1)))
            return xp.permute_dims(bent, (0, 2, 1))

        total = total + terms.rows(part).curvature(base.T, rows.weight[part], bend)
    return to_numpy(total)


def _squares(rows: JudgedRows) -> float:
    if rows.group is None:
        return float(namespace(rows.squares).sum(rows.squares))
    number = np.unique(rows.group, return_inverse=True)[1]
    return float(np.sum(np.bincount(number, to_numpy(rows.weight)) ** 2))


def _covariance(psi: Array, rows: JudgedRows) -> Floats:
    """(d, d) Σ w² ψ ψᵀ, or Σ over groups of what Σ w ψ of each gives."""
    if rows.group is None:
        return to_numpy((psi * rows.squares) @ psi.T)
    number = np.unique(rows.group, return_inverse=True)[1]
    weighted = to_numpy(psi * rows.weight)
    sums = np.stack([np.bincount(number, each) for each in weighted])
    return np.asarray(sums @ sums.T)
