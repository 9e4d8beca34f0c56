"""Recalibrations that never saw the rows they are used on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Protocol, TypeVar

import numpy as np

from propercal._array import is_numpy, like, namespace, one_hot, take_rows, to_numpy
from propercal._data.predictions.weights import in_rows
from propercal._methods.dependence import intraclass_correlation
from propercal._methods.fold_sums import Sources, effect_of_groups
from propercal._methods.table import Table
from propercal._progress import steps
from propercal._threads import map_threads
from propercal._typing import Array
from propercal.generators.base import BregmanGenerator
from propercal.recalibration.descent import Floats
from propercal.recalibration.families import identity
from propercal.recalibration.family import Family, Recalibration, TrainingSets
from propercal.recalibration.points import Points
from propercal.recalibration.stacking import stacking_weights

#: With fewer probabilities, threads wait for the interpreter longer than they compute.
_FEWEST_THREADED = 150_000
THREADED_NUMBERS = 2_000_000
#: Nats of the whole sample that a family has to save to be used at all. Without a price, the noise
#: of a dozen families doubles the divergence from predictions that are calibrated.
_PRICE = 2.0

LeftOut = frozenset[int]
_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


class Fits(Protocol):
    """Families, fitted without some folds at a time."""

    def predicted(self, left_out: LeftOut, families: Sequence[int], points: Points) -> list[Array]:
        """Return what some families, fitted without `left_out`, make of points."""


@dataclass(frozen=True)
class CrossFits:
    """Every family, fitted without each fold and without each pair of folds.

    A fold's own prediction may use all others. Whatever is chosen for it, such as weights or a
    bandwidth, has to be judged on the others by fits that saw neither it nor the judged fold.
    """

    sources: Sources
    trained: Sources
    """Those of them that the families were fitted to."""
    n_families: int
    first_is_identity: bool
    fits: Fits
    whole: TrainingSets
    """All that the families were fitted to, as one set."""
    table: Table | None = None
    """What the families were fitted to, if not to rows."""

    def stacks(self, generators: Sequence[BregmanGenerator]) -> list[list[Floats]]:
        """Return the weights of the families for each fold, chosen on the others, by generator."""
        trained, rows = self.trained, self.trained.folds
        xp = namespace(trained.label)
        every = range(self.n_families)
        dtype = trained.points.prob.dtype

        def of_fold(f: int) -> list[Floats]:
            others = [e for e in range(len(rows)) if e != f]
            # Classes before rows, in which order families predict.
            parts = [
                xp.stack([prob.T for prob in self.fits.predicted(frozenset({f, e}), every, at)])
                for e, at in ((e, trained.points.part(rows[e])) for e in others)
            ]
            candidates = xp.permute_dims(xp.concat(parts, axis=2), (0, 2, 1))
            label = xp.concat([trained.label[rows[e]] for e in others])
            outcome = one_hot(label, trained.n_classes, dtype)
            weight = xp.concat([weights_of(trained)[rows[e]] for e in others])
            weight = weight / xp.sum(weight)
            price = self._price([rows[e] for e in others])
            return [stacking_weights(g, candidates, outcome, weight, price) for g in generators]

        return map_some(of_fold, range(len(rows)), trained.points.prob, share=0.2)

    def _price(self, rows: Sequence[slice]) -> float:
        """Return the price of any change, for weights chosen on some rows."""
        if not self.first_is_identity:
            return 0.0
        weight = weights_of(self.trained) if self.table is None else self.table.weight
        squares = weight**2 if self.table is None else self.table.squares
        total = namespace(weight).sum
        sums = [sum(float(total(each[part])) for part in rows) for each in (squares, weight)]
        return _PRICE * self._effect * sums[0] / sums[1] ** 2

    @property
    def _effect(self) -> float:
        return effect_of_groups(self.trained, None if self.table is None else self.table.squares)

    def with_correlation(self) -> CrossFits:
        """Return these with what groups share beyond the recalibrations: without their own fold.

        The mean of all families is the same whatever the generator is.
        """
        sources = self.sources
        if sources.group is None:
            return self
        every = range(self.n_families)
        parts = []
        for e, rows in enumerate(sources.folds):
            found = self.fits.predicted(frozenset({e}), every, sources.points.part(rows))
            outcome = one_hot(sources.label[rows], sources.n_classes, found[0].dtype)
            parts.append(to_numpy(outcome - sum(found) / len(found)))
        weight = to_numpy(weights_of(sources))
        squares = weight**2
        if self.table is not None:
            total = float(namespace(self.table.weight).sum(self.table.weight))
            squares = to_numpy(self.table.squares) / total**2
        correlation = intraclass_correlation(np.concatenate(parts), sources.group, weight, squares)
        known = replace(sources, correlation=correlation)
        table = None if self.table is None else replace(self.table, sources=known)
        return replace(self, sources=known, table=table)

    def combined(self, left_out: LeftOut, weights: Sequence[Floats], points: Points) -> list[Array]:
        """(m, k) means of the families at points, fitted without `left_out`, for each `weights`."""
        used = [i for i in range(self.n_families) if any(each[i] > 0 for each in weights)]
        found = dict(zip(used, self.fits.predicted(left_out, used, points), strict=True))
        return [
            sum(float(each[i]) * prob for i, prob in found.items() if each[i] > 0)
            for each in weights
        ]


@dataclass(frozen=True)
class _OfRows:
    """Fits to rows, which are evaluated where they are asked for."""

    fits: Mapping[LeftOut, list[Recalibration]]

    def predicted(self, left_out: LeftOut, families: Sequence[int], points: Points) -> list[Array]:
        return [self.fits[left_out][i](points)[0, ...] for i in families]


@dataclass(frozen=True)
class _OfTable:
    """Fits to a table, evaluated at its points once."""

    number: Mapping[LeftOut, int]
    at_points: list[Array]
    """(b or 1, m, k) for each family."""

    def predicted(self, left_out: LeftOut, families: Sequence[int], points: Points) -> list[Array]:
        place, b = points.group, self.number[left_out]
        found = [self.at_points[i] for i in families]
        return [take_rows(prob[min(b, prob.shape[0] - 1), ...], place) for prob in found]


def map_some(
    function: Callable[[_Item], _Result], items: Sequence[_Item], prob: Array, share: float = 1.0
) -> list[_Result]:
    """Return what a function makes of each item, in threads where rows are many but not too many.

    `prob` (n, k) are the points that it works on; threads of more would take too much memory.
    """
    n, k = prob.shape
    if is_numpy(prob) and _FEWEST_THREADED <= n * k <= THREADED_NUMBERS:
        return map_threads(function, items, share)
    return [function(item) for item in steps(items, share)]


def _left_out(n_folds: int) -> list[LeftOut]:
    folds = range(n_folds)
    return [frozenset({f}) for f in folds] + [frozenset(each) for each in combinations(folds, 2)]


def weights_of(sources: Sources) -> Array:
    """(n,) their weights, which sum to 1."""
    xp = namespace(sources.label)
    weight = sources.weight
    if weight is None:
        weight = xp.ones_like(sources.points.prob[:, 0])
    return weight / xp.sum(weight)


def cross_fit_rows(sources: Sources, trained: Sources, families: Sequence[Family]) -> CrossFits:
    """Fit the families without each fold and without each pair of folds."""
    left_out = _left_out(trained.n_folds)
    xp = namespace(trained.label)
    in_counts = in_rows(weights_of(trained)) / effect_of_groups(trained)
    outcome = one_hot(trained.label, trained.n_classes, in_counts.dtype)

    whole = TrainingSets(
        trained.points, (outcome * in_counts[:, None])[None, ...], uniform=trained.weight is None
    )

    def fitted(out: LeftOut) -> list[Recalibration]:
        rows = like(np.flatnonzero(~np.isin(trained.fold, list(out))), outcome)
        counts = xp.take(outcome, rows, axis=0) * xp.take(in_counts, rows)[:, None]
        train = TrainingSets(
            trained.points.take(rows), counts[None, ...], trained.weight is None, whole
        )
        return [train.fit(family) for family in families]

    if is_numpy(outcome) and outcome.size >= _FEWEST_THREADED:
        fits = map_threads(fitted, left_out, share=0.3)
    else:
        fits = [fitted(out) for out in steps(left_out, share=0.3)]
    found = _OfRows(dict(zip(left_out, fits, strict=True)))
    return CrossFits(sources, trained, len(families), families[0] is identity, found, whole)


def cross_fit_table(table: Table, families: Sequence[Family]) -> CrossFits:
    """Do the same for a table, all fits of a family side by side."""
    left_out = _left_out(table.sources.n_folds)
    whole = TrainingSets(table.points, table.counts_without([frozenset()]), uniform=False)
    train = TrainingSets(table.points, table.counts_without(left_out), False, whole)
    at_points = [train.fit(family)(table.points) for family in families]
    number = {out: i for i, out in enumerate(left_out)}
    found = _OfTable(number, at_points)
    return CrossFits(
        table.sources, table.sources, len(families), families[0] is identity, found, whole, table
    )
