"""Families of recalibrations: ways in which a prediction may have to be corrected.

Each family is fitted by penalised maximum likelihood, drawn towards a simpler one, so that a small
sample moves it little. They are meant to be averaged (:mod:`propercal.recalibration.stacking`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from propercal._array import device, like, namespace, to_numpy
from propercal._typing import Array
from propercal.recalibration import logit
from propercal.recalibration.descent import Numbers
from propercal.recalibration.family import Recalibration, TrainingSets
from propercal.recalibration.points import SMALLEST, Points, softmax
from propercal.recalibration.terms import ClassTerms, MakeTerms, SharedTerms

#: More coefficients are not fitted; the families that need them are left out.
MOST_COEFFICIENTS = 10_000
#: The smooth functions of each class need so many at most, or their noise is all that they add.
_MOST_SMOOTH = 512
_N_WAVES = 5
#: How strongly coefficients are drawn to the simpler family.
EQUIVARIANT_RIDGE = (1e-3, 0.25, 0.25)
SMOOTH_RIDGE = (0.5, 0.5, *(0.5 * s * s for s in range(1, _N_WAVES + 1)))
_MIXTURE_STEPS = 30
#: So many rows, or up to twice as many, are enough to tell where a step should lead; with fewer,
#: the curvature of each step is that of all of them.
_CURVATURE_ROWS = 2000
_MIXTURE_TOLERANCE = 1e-4


def vector_fits(n_classes: int) -> bool:
    """Tell whether two coefficients a class are few enough to be fitted."""
    return 2 * n_classes <= MOST_COEFFICIENTS


def smooth_fits(n_classes: int) -> bool:
    """Tell whether the coefficients of a smooth function of each class are few enough."""
    return len(SMOOTH_RIDGE) * n_classes <= _MOST_SMOOTH


def identity(_: TrainingSets) -> Recalibration:
    """No change."""
    return lambda points: points.prob[None, ...]


def temperature(train: TrainingSets) -> Scores:
    """Scores a log g_i (Guo et al. 2017, arXiv:1706.04599)."""
    one = namespace(train.counts).ones_like(train.counts[:, :1, 0])
    return Scores.fitted(train, _temperature_terms, start=one, ridge=1e-3 * one)


def equivariant(train: TrainingSets) -> Scores:
    """Scores a log g_i + b g_i + c ‖g‖² log g_i, the same for every class."""
    slope = train.fit(temperature).coefficients
    start = slope * like([[1.0, 0.0, 0.0]], slope, slope.dtype)
    ridge = _each(train, EQUIVARIANT_RIDGE)
    return Scores.fitted(train, equivariant_terms, start=start, ridge=ridge)


def vector(train: TrainingSets) -> Scores:
    """Scores a_i log g_i + c_i, drawn to temperature scaling (Guo et al. 2017)."""
    slope = train.fit(temperature).coefficients
    start = slope * _each(train, (1.0, 0.0) * train.n_classes)
    return Scores.fitted(train, vector_terms, start=start, ridge=0 * start + 1.0)


def smooth(train: TrainingSets) -> Scores:
    """Equivariant scores plus a smooth function of g_i for each class, as a cosine series.

    The coefficient of log g_i is drawn to 0 in units of the spread of these logarithms.
    """
    k = train.n_classes
    ridge = _each(train, SMOOTH_RIDGE * k)
    in_logs = _each(train, (1.0, *(0.0 for _ in SMOOTH_RIDGE[1:])) * k)
    ridge = ridge * (1 + in_logs * (spreads(train)[:, None] ** 2 - 1))
    base = train.fit(equivariant)
    return Scores.fitted(train, smooth_terms, start=0 * ridge, ridge=ridge, base=base)


def mixture(train: TrainingSets) -> Recalibration:
    """Mix classes, r_i = Σ_c g_c M_ci, as confusions between labels do."""
    return _Mixture(mixing(train, train.points.prob[None, ...]))


def tempered_mixture(train: TrainingSets) -> Recalibration:
    """Mix what temperature scaling gives."""
    tempered = train.fit(temperature)
    return _Mixture(mixing(train, tempered(train.points)), before=tempered)


@dataclass(frozen=True, eq=False)
class Scores:
    """Softmax of scores that are linear in coefficients (b, d), on top of those of `base`."""

    make_terms: MakeTerms
    coefficients: Array
    base: Scores | None = None

    @classmethod
    def fitted(
        cls,
        train: TrainingSets,
        make_terms: MakeTerms,
        *,
        start: Array,
        ridge: Array,
        base: Scores | None = None,
        near: Scores | None = None,
    ) -> Scores:
        """Fit the coefficients of a family, drawn to `start`.

        The search begins at `near` if that is given, else at `start`. Its first steps take their
        curvature from there: never from a fit to other rows, on whose labels this one would then
        depend in its last digits.
        """
        terms = train.points.terms(make_terms)
        few = start.shape[1] <= logit.LARGEST_SYSTEM
        curvature = None
        if near is not None:
            curvature = logit.Curvature(near.information(train))
        elif train.counts.shape[0] == 1 and few and train.points.prob.shape[0] > _CURVATURE_ROWS:
            curvature = _curvature_at(start, train, make_terms, base)
        coefficients = logit.fit(
            terms,
            train.by_class,
            start=start,
            ridge=ridge,
            offset=None if base is None else base.scores_of(train),
            begin=None if near is None else near.coefficients,
            curvature=curvature,
        )
        return cls(make_terms, coefficients, base)

    def information(self, train: TrainingSets) -> Array:
        """(b, d, d) Fisher information of the coefficients in the sets that they were fitted to."""
        xp = namespace(train.counts)
        prob, _ = logit.softmax_of(self.scores(train.points))
        return train.points.terms(self.make_terms).information(prob, xp.sum(train.by_class, axis=1))

    def scores_of(self, train: TrainingSets) -> Array:
        """(b, k, n) scores of the points of training sets."""
        return train.once((self, "scores"), lambda: self.scores(train.points))

    def scores(self, points: Points) -> Array:
        """(b, k, n)."""
        scores = points.terms(self.make_terms).scores(self.coefficients)
        return scores if self.base is None else self.base.scores(points) + scores

    def __call__(self, points: Points) -> Array:
        """(b, n, k) recalibrated probabilities."""
        scores = self.scores(points)
        xp = namespace(scores)
        prob, _ = logit.softmax_of(scores)
        if float(xp.min(prob)) < SMALLEST:
            return softmax(xp.permute_dims(self.scores(points), (0, 2, 1)))
        return xp.permute_dims(prob, (0, 2, 1))


def _curvature_at(
    start: Array, train: TrainingSets, make_terms: MakeTerms, base: Scores | None
) -> logit.Curvature:
    """Return the curvature at `start`, by some of the rows: it decides where steps lead alone."""

    def make() -> logit.Curvature:
        some, step = train.once(_some_of, lambda: _some_of(train))
        terms = some.points.terms(make_terms)
        scores = terms.scores(start)
        scores = scores if base is None else base.scores_of(some) + scores
        prob, _ = logit.softmax_of(scores)
        weight = namespace(prob).sum(some.by_class, axis=1)
        return logit.Curvature(step * terms.information(prob, weight), rough=True)

    # Families that differ in how strongly they are drawn to where they start have the same.
    return train.once((make_terms, base, to_numpy(start).tobytes()), make)


def _some_of(train: TrainingSets) -> tuple[TrainingSets, int]:
    """Return as many points as tell the curvature, and how many each of them stands for."""
    xp = namespace(train.counts)
    n = int(train.points.prob.shape[0])
    step = max(1, n // _CURVATURE_ROWS)
    rows = like(np.arange(0, n, step), train.counts)
    counts = xp.take(train.counts, rows, axis=1)
    return TrainingSets(train.points.take(rows), counts, train.uniform), step


@dataclass(frozen=True)
class _Mixture:
    matrix: Array
    """(b, k, k)."""
    before: Recalibration | None = None

    def __call__(self, points: Points) -> Array:
        prob = points.prob[None, ...] if self.before is None else self.before(points)
        return namespace(prob).matmul(prob, self.matrix)


def _each(train: TrainingSets, values: tuple[float, ...]) -> Array:
    """(b, d) the same values for each training set."""
    xp = namespace(train.counts)
    one = like(values, train.counts, train.counts.dtype)
    return xp.broadcast_to(one[None, :], (train.counts.shape[0], len(values)))


def _temperature_terms(points: Points) -> SharedTerms:
    return SharedTerms(points.log_by_class[None, ...])


def equivariant_terms(points: Points) -> SharedTerms:
    """Log g, g and ‖g‖² log g."""
    xp = namespace(points.prob)
    g, log_g = points.prob_by_class, points.log_by_class
    square = xp.sum(g * g, axis=0, keepdims=True)
    return SharedTerms(xp.stack([log_g, g, log_g * square]))


def vector_terms(points: Points) -> ClassTerms:
    """Log g_i and 1, for each class."""
    xp = namespace(points.prob)
    log_g = points.log_by_class
    return ClassTerms(xp.stack([log_g, xp.ones_like(log_g)], axis=1))


def smooth_terms(points: Points, scale: float = 1.0) -> ClassTerms:
    """(log g) / scale, 1, and cosines of g, of growing frequency, for each class."""
    xp = namespace(points.prob)
    g, log_g = points.prob_by_class, points.log_by_class
    waves = [xp.cos(math.pi * s * g) for s in range(1, _N_WAVES + 1)]
    return ClassTerms(xp.stack([log_g / scale, xp.ones_like(g), *waves], axis=1))


def spread(values: Array) -> float:
    """Return the standard deviation over rows and classes, a unit for all classes."""
    return max(float(namespace(values).std(values)), 1e-6)


def spreads(train: TrainingSets) -> Array:
    """(b,) standard deviation over rows and classes of log g."""
    xp = namespace(train.counts)
    log_g, weight = train.points.log_prob, xp.sum(train.counts, axis=2)
    total = xp.sum(weight, axis=1, keepdims=True)
    weight = weight / xp.where(total > 0, total, 1.0)
    mean = xp.mean(weight @ log_g, axis=1)
    away = log_g[None, ...] - mean[:, None, None]
    variance = xp.sum(weight * xp.mean(away * away, axis=2), axis=1)
    return xp.clip(xp.sqrt(variance), min=1e-6)


def mixing(train: TrainingSets, prob: Array, drawn_to: Array | None = None) -> Array:
    """Fit matrices M (b, d, k) by expectation maximisation to points (b or 1, n, d).

    The prior is one label on the diagonal of each, or labels (b, d, k) that are given.
    """
    xp = namespace(prob)
    k = train.n_classes
    if drawn_to is None:
        eye = xp.eye(k, dtype=prob.dtype, device=device(prob))
        prior = eye + 0.2 / k
        matrix = xp.broadcast_to(0.9 * eye + 0.1 / k, (train.counts.shape[0], k, k))
    else:
        prior = drawn_to
        matrix = prior / xp.sum(prior, axis=2, keepdims=True)
    settled = xp.zeros((train.counts.shape[0], 1, 1), dtype=xp.bool, device=device(prob))
    seen = list(_seen_by_class(train, prob))
    for _ in range(_MIXTURE_STEPS):
        columns = [
            transposed @ (counts / (there @ matrix[:, :, j : j + 1]))
            for j, (there, transposed, counts) in enumerate(seen)
        ]
        expected = matrix * xp.concat(columns, axis=2) + prior
        new = expected / xp.sum(expected, axis=2, keepdims=True)
        change = xp.max(xp.abs(new - matrix), axis=(1, 2), keepdims=True)
        # What has come to rest stays, whatever the other sets still need.
        matrix = xp.where(settled, matrix, new)
        settled = settled | (change < _MIXTURE_TOLERANCE)
        if bool(xp.all(settled)):
            break
    return matrix


def _seen_by_class(train: TrainingSets, prob: Array) -> Iterator[tuple[Array, Array, Array]]:
    """Yield for each class the points at which it was seen, and how often.

    These are (b or 1, m, k), their transpose (b or 1, k, m), and counts (b, m, 1).
    """
    xp = namespace(prob)
    rows, label, ends = train.once(_rows_by_class, lambda: _rows_by_class(train))
    there = xp.take(prob, like(rows, prob), axis=1)
    counts = train.once((_rows_by_class, "counts"), lambda: _counts_of(train, rows, label))
    for a, b in pairwise(ends):
        part = there[:, a:b, :]
        yield part, xp.permute_dims(part, (0, 2, 1)), counts[:, a:b, None]


def _rows_by_class(train: TrainingSets) -> tuple[Numbers, Numbers, list[int]]:
    """Return points and labels that occur there, class by class, and where classes begin."""
    seen = to_numpy(namespace(train.counts).sum(train.counts, axis=0)) > 0
    label, rows = np.nonzero(seen.T)
    return rows, label, np.searchsorted(label, np.arange(train.n_classes + 1)).tolist()


def _counts_of(train: TrainingSets, rows: Numbers, label: Numbers) -> Array:
    """(b, m) how often labels were seen at points."""
    xp = namespace(train.counts)
    at = like(rows * train.n_classes + label, train.counts)
    return xp.take(xp.reshape(train.counts, (train.counts.shape[0], -1)), at, axis=1)
