"""Families of recalibrations that take their shape from the data: waves, and shared values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from propercal._array import device, like, namespace, to_numpy
from propercal._typing import Array
from propercal.recalibration.families import Scores, equivariant, vector
from propercal.recalibration.family import Recalibration, TrainingSets
from propercal.recalibration.points import Points, pooled, standing
from propercal.recalibration.terms import DifferenceTerms, MakeTerms

#: Frequencies at which blocks of waves end, each block about a fifth longer than the last.
_BLOCKS = (1, 2, 3, 5, 7, 9, 12, 15, 18, 22, 27, 32, 38, 45)
#: Waves of up to this frequency are slow.
_SLOW = 12
#: So weakly drawn to 0, waves show what they are without being damped.
_FREE = 0.05
#: What a block has to exceed its noise by to be kept. Of pure noise a third would be kept at 1.
_THRESHOLD = 1.5
#: Waves that do not are drawn to 0 by the inverse of this variance.
_NONE = 1e-4
#: A prediction that this share of the rows has is an atom.
_ATOM = 0.01
#: But no fewer rows than this.
_FEWEST = 5.0
#: What agrees in these decimals is equal.
_DIGITS = 9
#: Rows, as the rest of the fit expects them, that are added to an atom.
_PRIOR = 5.0

Floats = npt.NDArray[np.float64]


def adaptive(train: TrainingSets) -> Scores:
    """Vector scaling of two classes plus waves of the rank, as strong as they prove to be.

    Blocks of neighbouring frequencies are shrunk by an estimate of what they have beyond noise, so
    that one family follows smooth maps and narrow shapes alike (blockwise shrinkage: Cai 1999,
    doi:10.1214/aos/1018031262).
    """
    base = train.fit(vector)
    waves = _waves(train)
    xp = namespace(base.coefficients)
    zero = 0 * xp.broadcast_to(base.coefficients[:, :1], (train.counts.shape[0], _BLOCKS[-1]))
    free = train.fit(_free)
    ridge = _damping(train, free)
    return Scores.fitted(train, waves, start=zero, ridge=ridge, base=base, near=free)


def _free(train: TrainingSets) -> Scores:
    base = train.fit(vector)
    xp = namespace(base.coefficients)
    zero = 0 * xp.broadcast_to(base.coefficients[:, :1], (train.counts.shape[0], _BLOCKS[-1]))
    return Scores.fitted(train, _waves(train), start=zero, ridge=zero + _FREE, base=base)


def _damping(train: TrainingSets, free: Scores) -> Array:
    """(b, d) the inverse of the mean square of a block's coefficients beyond noise."""
    information = free.information(train)
    xp = namespace(information)
    eye = xp.eye(_BLOCKS[-1], dtype=information.dtype, device=device(information))
    noise = np.diagonal(to_numpy(xp.linalg.inv(information + _FREE * eye)), axis1=1, axis2=2)
    squares = to_numpy(free.coefficients) ** 2 - _THRESHOLD * noise
    result = np.empty_like(squares)
    for low, high in pairwise((0, *_BLOCKS)):
        beyond = squares[:, low:high].mean(axis=1)
        result[:, low:high] = 1 / np.maximum(beyond, _NONE)[:, None]
    return like(result, information)


def _waves(train: TrainingSets, low: int = 0, high: int = _BLOCKS[-1]) -> _Waves:
    seen = train.reference

    def make() -> _Waves:
        return _Waves(*_ranks(seen), low, high)

    return seen.once((_waves, low, high), make)


def _ranks(seen: TrainingSets) -> tuple[Floats, Floats]:
    """Return log-odds, ascending, and their ranks: of what stands for nearly equal predictions."""

    def make() -> tuple[Floats, Floats]:
        log_odds, each = _occurring(*pooled(seen.points, seen.counts))
        before = np.cumsum(each)
        return log_odds, (before - each / 2) / before[-1]

    return seen.once(_ranks, make)


def wave_terms() -> list[Callable[[TrainingSets], MakeTerms]]:
    """Return the blocks of waves, each by itself, then the slow waves together, and all."""
    ends = [*pairwise((0, *_BLOCKS)), (0, _SLOW), (0, _BLOCKS[-1])]
    return [partial(_waves, low=low, high=high) for low, high in ends]


@dataclass(frozen=True, eq=False)
class _Waves:
    """Cosines of the share of the rows below a prediction, half of those that equal it included."""

    log_odds: Floats
    rank: Floats
    low: int
    high: int

    def __call__(self, points: Points) -> DifferenceTerms:
        rank = np.interp(_log_odds(standing(points)), self.log_odds, self.rank)
        number = np.arange(self.low + 1, self.high + 1)
        values = like(np.cos(np.pi * number[:, None] * rank), points.prob)
        return DifferenceTerms(values) if self.low else _AllWaves(values)


@dataclass(frozen=True)
class _AllWaves(DifferenceTerms):
    r"""Waves of all frequencies from 1 on, whose products are waves again.

    .. math:: \cos i x \cos j x = \tfrac12 (\cos (i + j) x + \cos (i - j) x)
    """

    def rows(self, rows: slice | Array) -> _AllWaves:
        return _AllWaves(super().rows(rows).values)

    def information(self, prob: Array, weight: Array) -> Array:
        xp = namespace(prob)
        sums = (weight * prob[:, 0, :] * prob[:, 1, :]) @ self._up_to_twice.T
        number = np.arange(self.n_terms) + 1
        places = (number[:, None] + number, np.abs(number[:, None] - number))
        plus, minus = (xp.take(sums, like(at.ravel(), prob), axis=1) for at in places)
        return xp.reshape((plus + minus) / 2, (prob.shape[0], self.n_terms, self.n_terms))

    @cached_property
    def _up_to_twice(self) -> Array:
        """(2 d + 1, n) waves of the frequencies 0 to 2 d."""
        xp = namespace(self.values)
        slow = xp.concat([xp.ones_like(self.values[:1, :]), self.values], axis=0)
        return xp.concat([slow, 2 * slow[-1:, :] * slow[1:, :] - xp.flip(slow[:-1, :], axis=0)])


def _log_odds(points: Points) -> Floats:
    return to_numpy(points.log_prob[:, 1] - points.log_prob[:, 0])


def _occurring(points: Points, counts: Array) -> tuple[Floats, Floats]:
    """Return the log-odds that occur, ascending, and their weights in rows."""
    weight = to_numpy(namespace(counts).sum(counts, axis=(0, 2)))
    values, place = np.unique(_log_odds(points).round(_DIGITS), return_inverse=True)
    return values, np.bincount(place, weight).astype(np.float64)


def atoms(train: TrainingSets) -> Recalibration:
    """Fit simple scores, but for predictions that many rows share, which have own means.

    A default for missing inputs is such a prediction: what happens there tells nothing of its
    neighbours, so that vector scaling of two classes, or equivariant scores of more, are fitted
    without it.
    """
    whole = train.reference
    simple = vector if train.n_classes == 2 else equivariant
    shared = whole.once(atoms, lambda: _shared(whole))
    if len(shared.keys) == 0:
        found: Recalibration = train.fit(simple)
        return found
    xp = namespace(train.counts)
    there = shared.one_hot(train.points)
    alone = 1 - xp.sum(there, axis=1)
    base = TrainingSets(train.points, train.counts * alone[:, None], train.uniform).fit(simple)
    expected = base(train.points)
    # At an atom all points are one, whose expectation is that of any of them.
    seen = xp.matmul(there.T, train.counts)
    size = xp.maximum(xp.sum(there, axis=0), xp.ones_like(there[0, :]))
    prior = xp.matmul(there.T, expected) / size[:, None]
    own = (_PRIOR * prior + seen) / (_PRIOR + xp.sum(seen, axis=2, keepdims=True))

    def recalibration(points: Points) -> Array:
        there = shared.one_hot(points)
        return xp.matmul(there, own) + (1 - xp.sum(there, axis=1))[:, None] * base(points)

    return recalibration


def _shared(whole: TrainingSets) -> _Atoms:
    weight = to_numpy(namespace(whole.counts).sum(whole.counts, axis=(0, 2)))
    keys, place = np.unique(_keys(whole.points), return_inverse=True)
    each = np.bincount(place, weight)
    return _Atoms(keys[each >= max(_ATOM * each.sum(), _FEWEST)])


def _keys(points: Points) -> Floats:
    """(n,) numbers that agree where all probabilities do."""
    return (to_numpy(points.log_prob) @ np.sqrt(np.arange(2, points.prob.shape[1] + 2))).round(
        _DIGITS
    )


@dataclass(frozen=True)
class _Atoms:
    """Predictions that many rows have."""

    keys: Floats

    def one_hot(self, points: Points) -> Array:
        """(n, a) whether a point has each of the values."""
        return like((_keys(points)[:, None] == self.keys).astype(float), points.prob)
