"""Families of recalibrations: ways in which a prediction may have to be corrected.

Each family is fitted by penalised maximum likelihood, drawn towards a simpler one, so that a small
sample moves it little. They are meant to be averaged (:mod:`propercal.recalibration.stacking`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from propercal._array import device, like, namespace
from propercal._typing import Array
from propercal.recalibration import logit
from propercal.recalibration.family import Recalibration, TrainingSet
from propercal.recalibration.points import Points, softmax

#: Larger systems of equations are not solved; the families that need one are left out.
LARGEST_SYSTEM = 512
_N_WAVES = 5
#: How strongly coefficients are drawn to the simpler family.
EQUIVARIANT_RIDGE = (1e-3, 0.25, 0.25)
SMOOTH_RIDGE = (0.5, 0.5, *(0.5 * s * s for s in range(1, _N_WAVES + 1)))
_MIXTURE_STEPS = 30
_MIXTURE_TOLERANCE = 1e-4


def vector_fits(n_classes: int) -> bool:
    """Tell whether two coefficients a class are few enough to be fitted."""
    return 2 * n_classes <= LARGEST_SYSTEM


def smooth_fits(n_classes: int) -> bool:
    """Tell whether the coefficients of a smooth function of each class are few enough."""
    return len(SMOOTH_RIDGE) * n_classes <= LARGEST_SYSTEM


def identity(_: TrainingSet) -> Recalibration:
    """No change."""
    return lambda points: points.prob


def temperature(train: TrainingSet) -> _Scores:
    """Scores a log g_i (Guo et al. 2017, arXiv:1706.04599)."""
    terms = _temperature_terms(train.points)
    one = like([1.0], train.outcome)
    return _fitted(train, _temperature_terms, terms, start=one, ridge=1e-3 * one)


def equivariant(train: TrainingSet) -> _Scores:
    """Scores a log g_i + b g_i + c ‖g‖² log g_i, the same for every class."""
    (slope,) = train.fit(temperature).coefficients
    start = namespace(train.outcome).stack([slope, 0 * slope, 0 * slope])
    ridge = like(EQUIVARIANT_RIDGE, train.outcome)
    return _fitted(
        train, equivariant_terms, equivariant_terms(train.points), start=start, ridge=ridge
    )


def vector(train: TrainingSet) -> _Scores:
    """Scores a_i log g_i + c_i, drawn to temperature scaling (Guo et al. 2017)."""
    (slope,) = train.fit(temperature).coefficients
    k = train.outcome.shape[1]
    start = like([1.0, 0.0] * k, train.outcome) * slope
    return _fitted(
        train, _vector_terms, _vector_terms(train.points), start=start, ridge=0 * start + 1.0
    )


def smooth(train: TrainingSet) -> _Scores:
    """Equivariant scores plus a smooth function of g_i for each class, as a cosine series."""
    scale = spread(train.points.log_prob)

    def make_terms(points: Points) -> logit.ClassTerms:
        return smooth_terms(points, scale)

    k = train.outcome.shape[1]
    base = train.fit(equivariant)
    return _fitted(
        train,
        make_terms,
        make_terms(train.points),
        start=like([0.0] * (len(SMOOTH_RIDGE) * k), train.outcome),
        ridge=like(SMOOTH_RIDGE * k, train.outcome),
        base=base,
    )


def mixture(train: TrainingSet) -> Recalibration:
    """Mix classes, r_i = Σ_c g_c M_ci, as confusions between labels do."""
    return _Mixture(_mixing(train, train.points.prob))


def tempered_mixture(train: TrainingSet) -> Recalibration:
    """Mix what temperature scaling gives."""
    tempered = train.fit(temperature)
    return _Mixture(_mixing(train, tempered(train.points)), before=tempered)


@dataclass(frozen=True)
class _Scores:
    """Softmax of scores that are linear in coefficients, on top of those of `base`."""

    make_terms: Callable[[Points], logit.Terms]
    coefficients: Array
    base: _Scores | None = None

    def scores(self, points: Points) -> Array:
        scores = self.make_terms(points).scores(self.coefficients)
        return scores if self.base is None else self.base.scores(points) + scores

    def __call__(self, points: Points) -> Array:
        return softmax(self.scores(points))


@dataclass(frozen=True)
class _Mixture:
    matrix: Array
    before: Recalibration | None = None

    def __call__(self, points: Points) -> Array:
        return (points.prob if self.before is None else self.before(points)) @ self.matrix


def _fitted(
    train: TrainingSet,
    make_terms: Callable[[Points], Any],
    terms: logit.Terms,
    *,
    start: Array,
    ridge: Array,
    base: _Scores | None = None,
) -> _Scores:
    coefficients = logit.fit(
        terms,
        train.outcome,
        train.weight,
        start=start,
        ridge=ridge,
        offset=None if base is None else base.scores(train.points),
    )
    return _Scores(make_terms, coefficients, base)


def _temperature_terms(points: Points) -> logit.SharedTerms:
    return logit.SharedTerms(points.log_prob[None, ...])


def equivariant_terms(points: Points) -> logit.SharedTerms:
    """Log g, g and ‖g‖² log g."""
    xp = namespace(points.prob)
    g, log_g = points.prob, points.log_prob
    square = xp.sum(g * g, axis=1, keepdims=True)
    return logit.SharedTerms(xp.stack([log_g, g, log_g * square]))


def _vector_terms(points: Points) -> logit.ClassTerms:
    xp = namespace(points.prob)
    log_g = points.log_prob.T
    return logit.ClassTerms(xp.stack([log_g, xp.ones_like(log_g)], axis=2))


def smooth_terms(points: Points, scale: float) -> logit.ClassTerms:
    """(log g) / scale, 1, and cosines of g, of growing frequency, for each class."""
    xp = namespace(points.prob)
    g, log_g = points.prob.T, points.log_prob.T
    waves = [xp.cos(math.pi * s * g) for s in range(1, _N_WAVES + 1)]
    return logit.ClassTerms(xp.stack([log_g / scale, xp.ones_like(g), *waves], axis=2))


def spread(values: Array) -> float:
    """Return the standard deviation over rows and classes, a unit for all classes."""
    return max(float(namespace(values).std(values)), 1e-6)


def _mixing(train: TrainingSet, prob: Array) -> Array:
    """Fit the matrix M by expectation maximisation, with a prior of one label on its diagonal."""
    xp = namespace(prob)
    k = prob.shape[1]
    eye = xp.eye(k, dtype=prob.dtype, device=device(prob))
    prior = eye + 0.2 / k
    matrix = 0.9 * eye + 0.1 / k
    weighted = train.outcome * train.weight[:, None]
    for _ in range(_MIXTURE_STEPS):
        share = prob * xp.take(matrix, train.label, axis=1).T
        share = share / xp.sum(share, axis=1, keepdims=True)
        counts = share.T @ weighted + prior
        new = counts / xp.sum(counts, axis=1, keepdims=True)
        change = float(xp.max(xp.abs(new - matrix)))
        matrix = new
        if change < _MIXTURE_TOLERANCE:
            break
    return matrix
