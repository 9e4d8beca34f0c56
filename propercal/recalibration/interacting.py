"""Families of recalibrations in which what happens to a class depends on the other classes.

All of them move scores that are linear in their coefficients. What a coefficient multiplies is a
function of the whole prediction: how confident it is, which classes compete, what rank a class has.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from propercal._array import like, namespace, to_numpy
from propercal._typing import Array
from propercal.recalibration.families import (
    MOST_COEFFICIENTS,
    Scores,
    equivariant,
    spreads,
    temperature,
)
from propercal.recalibration.family import Family, TrainingSets
from propercal.recalibration.points import Points
from propercal.recalibration.ranks import gaps_between, largest_logs, members, shares, steps
from propercal.recalibration.terms import ClassTerms, ContextTerms, MakeTerms, RankTerms
from propercal.recalibration.tied_terms import TiedTerms

#: How many of the largest probabilities a temperature may depend on.
_LARGEST = 4
#: How many of the most probable classes have scores by rank.
_RANKS = 3
#: Classes of which each pair may have a temperature of its own.
_MOST_PAIRED = 14
#: Classes of which each may have a temperature of its own.
_MOST_CONTEXT = 100
#: Classes of which each may be confused with each: k (k − 1) numbers a row.
_MOST_CONFUSED = 40
#: Of more classes, a misfit is looked for in so many of these numbers.
_MOST_COMPETING = 640
#: How strongly the temperature itself is drawn to that of temperature scaling.
_SLOPE_RIDGE = 1e-3


class _Interacting(Protocol):
    def terms(self, seen: TrainingSets) -> MakeTerms: ...

    def __call__(self, train: TrainingSets) -> Scores: ...


def interacting(n_classes: int) -> list[Family]:
    """Return the families that let classes interact, where there are three or more."""
    return [*_families(n_classes)]


def _families(n_classes: int) -> list[_Interacting]:
    k = n_classes
    if k < 3:
        return []
    families: list[_Interacting] = [
        VaryingTemperature(0.5, by_class=False),
        VaryingTemperature(0.5, by_class=False, fine=True),
        Ranks(0.5),
    ]
    if 3 * k <= MOST_COEFFICIENTS:
        families.append(ShiftsByConfidence(1.0))
    if k <= _MOST_CONTEXT:
        families += [VaryingTemperature(8.0), VaryingTemperature(0.5)]
    if k <= _MOST_PAIRED:
        families.append(LeadingPairs(0.5))
    if k <= _MOST_CONFUSED:
        families += [LogSums(8.0), LogSums(1.0)] if k <= _MOST_PAIRED else [LogSums(2.0)]
    return families


def interacting_terms(n_classes: int) -> list[Callable[[TrainingSets], MakeTerms]]:
    """Return what these families multiply by coefficients."""
    # A strong and a weak version multiply the same, and fine steps much the same as few.
    by_kind: dict[Any, Callable[[TrainingSets], MakeTerms]] = {}
    for each in _families(n_classes):
        by_kind.setdefault((type(each), getattr(each, "by_class", None)), each.terms)
    found = list(by_kind.values())
    if 3 < n_classes <= _MOST_CONFUSED:
        found.append(_of_pairs)
    if _MOST_CONFUSED < n_classes <= _MOST_COMPETING:
        found.append(_competing)
    return found


@dataclass(frozen=True)
class VaryingTemperature:
    """Scores log g_i times a function of g, the same for every class.

    The function is linear in the largest probabilities, steps of the largest, and, `by_class`, in
    every g_j, tanh of the centred log g_j, and of their differences, and which of two is larger.
    Fine steps are those of the two largest.
    """

    ridge: float
    by_class: bool = True
    fine: bool = False

    def terms(self, seen: TrainingSets) -> MakeTerms:
        """Return what the coefficients multiply, in units of what was seen."""
        kind = VaryingTemperature, self.by_class, self.fine
        return seen.once(kind, lambda: self._terms(seen))

    def _terms(self, seen: TrainingSets) -> _Context:
        largest = largest_logs(seen.points, 2 if self.fine else 1)
        at = [
            like(steps(seen, largest[j, :], fine=self.fine), largest)
            for j in range(largest.shape[0])
        ]
        return _Context(_scale(seen), namespace(largest).stack(at), self.by_class)

    def __call__(self, train: TrainingSets) -> Scores:
        """Fit the function, drawn to temperature scaling."""
        terms = self.terms(train.reference)
        slope = train.fit(temperature).coefficients
        d = train.points.part(slice(0, 1)).terms(terms).n_terms
        first = like([[1.0] + [0.0] * (d - 1)], slope, slope.dtype)
        ridge = self.ridge + (_SLOPE_RIDGE - self.ridge) * first + 0 * slope
        return Scores.fitted(train, terms, start=slope * first, ridge=ridge)


@dataclass(frozen=True, eq=False)
class _Context:
    scale: float
    steps: Array
    """(1 or 2, levels)."""
    by_class: bool

    def __call__(self, points: Points) -> ContextTerms:
        xp = namespace(points.prob)
        g, log_g = points.prob_by_class, points.log_by_class
        k = g.shape[0]
        largest = xp.flip(xp.sort(g, axis=0), axis=0)[: min(_LARGEST, k), :]
        logs = largest_logs(points, 2)
        above = [
            xp.astype(logs[j : j + 1, :] > self.steps[j, :][:, None], g.dtype)
            for j in range(self.steps.shape[0])
        ]
        parts = [xp.ones_like(g[:1, :]), largest, *above]
        if self.by_class:
            c = (log_g - xp.mean(log_g, axis=0, keepdims=True)) / self.scale
            parts += [xp.tanh(c), (g - 1 / k) * k**0.5]
            if k <= _MOST_PAIRED:
                i, j = (like(each, g) for each in np.triu_indices(k, 1))
                ahead = xp.take(c, i, axis=0) - xp.take(c, j, axis=0)
                parts += [xp.tanh(2 * ahead), xp.sign(ahead)]
        return ContextTerms(log_g, xp.concat(parts, axis=0))


@dataclass(frozen=True)
class _BesideEquivariant(ABC):
    """Terms of their own on top of equivariant scores."""

    ridge: float

    @abstractmethod
    def terms(self, seen: TrainingSets) -> MakeTerms:
        """Return what the coefficients multiply, in units of what was seen."""

    def __call__(self, train: TrainingSets) -> Scores:
        """Fit the coefficients, drawn to 0."""
        terms, base = self.terms(train.reference), train.fit(equivariant)
        d = train.points.part(slice(0, 1)).terms(terms).n_terms
        own = base.coefficients
        start = own[:, :1] * like([[0.0] * d], own, own.dtype)
        return Scores.fitted(train, terms, start=start, ridge=start + self.ridge, base=base)


@dataclass(frozen=True)
class LeadingPairs(_BesideEquivariant):
    """Equivariant scores plus c_ij times (log g_i − log g_j) / 2 where i and j are the first two.

    For pairs of classes of which a model cannot tell which it is, once it is one of them.
    """

    def terms(self, _: TrainingSets) -> MakeTerms:
        """Return what the coefficients multiply."""
        return _within_leading_pair


def _within_leading_pair(points: Points) -> ContextTerms:
    xp = namespace(points.prob)
    log_g = points.log_by_class
    k = log_g.shape[0]
    second = xp.sort(log_g, axis=0)[k - 2 : k - 1, :]
    # Several classes of equal probability are all leading, and so are all of their pairs.
    leads = xp.astype(log_g >= second, log_g.dtype)
    mean = xp.sum(leads * log_g, axis=0, keepdims=True) / xp.sum(leads, axis=0, keepdims=True)
    i, j = (like(each, log_g) for each in np.triu_indices(k, 1))
    pair = xp.take(leads, i, axis=0) * xp.take(leads, j, axis=0)
    return ContextTerms(leads * (log_g - mean), pair)


@dataclass(frozen=True)
class LogSums(_BesideEquivariant):
    """Equivariant scores plus Σ_j c_ij log((g_i + g_j) / g_i), for classes that are confused."""

    def terms(self, seen: TrainingSets) -> MakeTerms:
        """Return what the coefficients multiply, in units of what was seen."""
        k = seen.n_classes
        others = np.array([[j for j in range(k) if j != i] for i in range(k)])
        return seen.once(LogSums, lambda: _LogSums(_scale(seen), others))


def _of_pairs(seen: TrainingSets) -> MakeTerms:
    """Return these terms with c_ij = c_ji: half as many, for classes that belong together."""
    k = seen.n_classes
    make_terms = LogSums(0.0).terms(seen)
    first, second = np.triu_indices(k, 1)
    ties = np.zeros((len(first), k, k))
    pairs = np.arange(len(first))
    ties[pairs, first, second] = ties[pairs, second, first] = 1.0
    others = ~np.eye(k, dtype=bool)
    tied = like(ties[:, others], seen.points.prob, seen.points.prob.dtype)
    return lambda points: TiedTerms(make_terms(points), tied)


def _competing(seen: TrainingSets) -> MakeTerms:
    """Return these terms for the classes j of which g_i g_j is largest on average."""

    def make() -> MakeTerms:
        g, weight = to_numpy(seen.points.prob), shares(seen)
        together = (g * weight[:, None]).T @ g
        np.fill_diagonal(together, -1.0)
        most = _MOST_COMPETING // seen.n_classes
        others = np.argsort(-together, axis=1, kind="stable")[:, :most]
        return _LogSums(_scale(seen), np.sort(others, axis=1))

    return seen.once(_competing, make)


@dataclass(frozen=True, eq=False)
class _LogSums:
    scale: float
    others: npt.NDArray[np.intp]
    """(k, s) with which classes each may be confused."""

    def __call__(self, points: Points) -> ClassTerms:
        xp = namespace(points.prob)
        log_g = points.log_by_class
        k, s = self.others.shape
        them = xp.take(log_g, like(self.others.ravel(), log_g), axis=0)
        beyond = xp.reshape(them, (k, s, -1)) - log_g[:, None, :]
        # log(1 + exp(beyond)), without overflow.
        values = xp.clip(beyond, min=0.0) + xp.log1p(xp.exp(-xp.abs(beyond)))
        return ClassTerms(values / self.scale)


@dataclass(frozen=True)
class Ranks(_BesideEquivariant):
    """Equivariant scores plus those of the most probable classes by rank.

    The score of a rank is linear in the logarithm of its probability and in steps of the gaps
    between the logarithms of ranks.
    """

    def terms(self, seen: TrainingSets) -> MakeTerms:
        """Return what the coefficients multiply, in units of what was seen."""
        return seen.once(Ranks, lambda: self._terms(seen))

    def _terms(self, seen: TrainingSets) -> _RankScores:
        gaps = gaps_between(largest_logs(seen.points, _RANKS + 1))
        return _RankScores(namespace(gaps[0]).stack([like(steps(seen, gap), gap) for gap in gaps]))


@dataclass(frozen=True, eq=False)
class _RankScores:
    steps: Array
    """(gaps, steps)."""

    def __call__(self, points: Points) -> RankTerms:
        xp = namespace(points.prob)
        log_g = points.log_by_class
        largest = largest_logs(points, _RANKS + 1)
        above = [
            xp.astype(gap[None, :] > self.steps[j, :][:, None], log_g.dtype)
            for j, gap in enumerate(gaps_between(largest))
        ]
        common = xp.concat([xp.ones_like(log_g[:1, :]), *above], axis=0)
        n_ranks = min(_RANKS, log_g.shape[0])
        member = members(points, largest[:n_ranks, :])
        context = [xp.concat([common, largest[j : j + 1, :]], axis=0) for j in range(n_ranks)]
        return RankTerms(member, xp.stack(context))


@dataclass(frozen=True)
class ShiftsByConfidence:
    """Scores a_i log g_i + c_i + d_i max g: how frequent a class is depends on confidence."""

    ridge: float

    def terms(self, seen: TrainingSets) -> MakeTerms:
        """Return what the coefficients multiply, in units of what was seen."""
        return seen.once(ShiftsByConfidence, lambda: self._terms(seen))

    def _terms(self, seen: TrainingSets) -> _ByConfidence:
        share = like(shares(seen), seen.points.prob)
        top = namespace(share).max(seen.points.prob, axis=1)
        mean = float(share @ top)
        spread = max(float(share @ (top - mean) ** 2) ** 0.5, 1e-6)
        return _ByConfidence(mean, spread)

    def __call__(self, train: TrainingSets) -> Scores:
        """Fit the coefficients, drawn to temperature scaling."""
        slope = train.fit(temperature).coefficients
        start = slope * like([[1.0, 0.0, 0.0] * train.n_classes], slope, slope.dtype)
        terms = self.terms(train.reference)
        return Scores.fitted(train, terms, start=start, ridge=0 * start + self.ridge)


@dataclass(frozen=True, eq=False)
class _ByConfidence:
    mean: float
    spread: float

    def __call__(self, points: Points) -> ClassTerms:
        xp = namespace(points.prob)
        log_g = points.log_by_class
        top = (xp.max(points.prob, axis=1) - self.mean) / self.spread
        top = xp.broadcast_to(top[None, :], log_g.shape)
        return ClassTerms(xp.stack([log_g, xp.ones_like(log_g), top], axis=1))


def _scale(train: TrainingSets) -> float:
    """Return the spread of log g over rows and classes, a unit for all sets."""
    return train.once(_scale, lambda: float(namespace(train.counts).mean(spreads(train))))
