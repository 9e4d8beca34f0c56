"""Recalibrations that never saw the rows they are used on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from propercal._array import is_numpy, like, namespace
from propercal._data.weights import in_rows
from propercal._methods.fold_sums import Sources
from propercal._progress import steps
from propercal._threads import map_threads
from propercal._typing import Array
from propercal.generators.base import BregmanGenerator
from propercal.recalibration.family import Family, Recalibration, TrainingSet
from propercal.recalibration.stacking import Floats, stacking_weights

#: With fewer rows, threads wait for the interpreter longer than they compute.
_THREADED_ROWS = 2048


@dataclass(frozen=True)
class CrossFits:
    """Every family, fitted without each fold and without each pair of folds.

    A fold's own prediction may use all others. Whatever is chosen for it, such as weights or a
    bandwidth, has to be judged on the others by fits that saw neither it nor the judged fold.
    """

    sources: Sources
    outcome: Array
    """(n, k) one-hot labels."""
    weight: Array
    """(n,) weights that sum to 1."""
    fits: dict[frozenset[int], list[Recalibration]]

    def stacks(self, generators: Sequence[BregmanGenerator]) -> list[list[Floats]]:
        """Return the weights of the families for each fold, chosen on the others, by generator."""
        xp = namespace(self.outcome)
        rows = self.sources.folds
        result = []
        for f in range(len(rows)):
            others = [e for e in range(len(rows)) if e != f]
            parts = [self._predictions(frozenset({f, e}), rows[e]) for e in others]
            candidates = xp.concat(parts, axis=1)
            outcome = xp.concat([self.outcome[rows[e], :] for e in others], axis=0)
            weight = xp.concat([self.weight[rows[e]] for e in others])
            weight = weight / xp.sum(weight)
            result.append([stacking_weights(g, candidates, outcome, weight) for g in generators])
        return result

    def combined(self, left_out: frozenset[int], weights: Sequence[Floats]) -> list[Array]:
        """(n, k) means of the families, fitted without `left_out`, for each of some `weights`."""
        used = {
            i: fit(self.sources.points)
            for i, fit in enumerate(self.fits[left_out])
            if any(each[i] > 0 for each in weights)
        }
        return [
            sum(float(each[i]) * prob for i, prob in used.items() if each[i] > 0)
            for each in weights
        ]

    def _predictions(self, left_out: frozenset[int], rows: slice) -> Array:
        """(m, r, k) what each family, fitted without `left_out`, makes of some rows."""
        points = self.sources.points.part(rows)
        return namespace(self.outcome).stack([fit(points) for fit in self.fits[left_out]])


def cross_fit(
    sources: Sources, outcome: Array, weight: Array, families: Sequence[Family]
) -> CrossFits:
    """Fit the families without each fold and without each pair of folds."""
    folds = range(sources.n_folds)
    left_out = [frozenset({f}) for f in folds]
    left_out += [frozenset(pair) for pair in combinations(folds, 2)]
    xp = namespace(outcome)
    counted = in_rows(weight)

    def fitted(out: frozenset[int]) -> list[Recalibration]:
        rows = like(np.flatnonzero(~np.isin(sources.fold, list(out))), outcome)
        train = TrainingSet(
            sources.points.take(rows),
            xp.take(outcome, rows, axis=0),
            xp.take(sources.label, rows),
            xp.take(counted, rows),
            sources.weight is None,
        )
        return [train.fit(family) for family in families]

    if is_numpy(outcome) and outcome.shape[0] >= _THREADED_ROWS:
        fits = map_threads(fitted, left_out, share=0.3)
    else:
        fits = [fitted(out) for out in steps(left_out, share=0.3)]
    return CrossFits(sources, outcome, weight, dict(zip(left_out, fits, strict=True)))
