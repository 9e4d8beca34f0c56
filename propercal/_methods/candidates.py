"""Choosing, for each fold, the kernel correction that does best on the others."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from propercal._array import by_rows, namespace, to_numpy
from propercal._methods.correction import (
    Corrected,
    Residuals,
    correct,
    residuals,
    without_fold,
)
from propercal._methods.fold_sums import FoldSums
from propercal._methods.terms import OneStepRows
from propercal._methods.variance import half_spread, half_trace
from propercal._typing import Array
from propercal.generators.base import BregmanGenerator


class Bases(NamedTuple):
    """Stacked recalibrations of the rows of one fold, for one generator."""

    own: Array
    """(r, k) fitted without this fold."""
    inner: list[Array]
    """(r, k) for every other fold f, fitted without this fold and f, combined as for f."""
    others: list[Array]
    """(r, k) fitted without each fold in turn."""


class OneStep(NamedTuple):
    """Estimate of the refinement by rows, and where it comes from."""

    rows: OneStepRows
    bandwidths: tuple[float, ...]
    """The bandwidth that each fold chose, inf for no kernel correction."""
    algorithm: str = "none"
    """How the kernel was summed: "exact", or "linear" for one bandwidth or more."""


class Candidates:
    """Losses and corrections of every candidate, and how well each does without each fold.

    The first candidate is the base alone; then come all bandwidths and priors.

    Parameters
    ----------
    generator : BregmanGenerator
        F.
    outcome, weight : array (n, k), (n,)
        One-hot labels and weights, sorted by fold.
    rows : list of slice
        The rows of each fold.
    """

    def __init__(
        self, generator: BregmanGenerator, outcome: Array, weight: Array, rows: list[slice]
    ) -> None:
        self._generator = generator
        self._outcome = outcome
        self._weight = weight
        self._rows = rows
        n_folds = len(rows)
        # By candidate, then by fold.
        self._loss: list[list[Any]] = []
        self._correction: list[list[Any]] = []
        # (judged fold, fold left out) for each candidate: weighted loss.
        self._inner: list[np.ndarray[Any, Any]] = []
        self._bandwidths: list[float] = []
        self._spread: list[Any] = [None] * n_folds

    def add_base(self, fold: int, bases: Bases) -> None:
        """Add the base alone for the rows of a fold."""
        self._spread[fold] = half_spread(self._generator, bases.others)
        prob = namespace(bases.own).concat([bases.own, *bases.inner], axis=0)
        self._add(0, math.inf, fold, prob, self._spread[fold])

    def add_corrected(
        self, fold: int, bases: Bases, sums: FoldSums, bandwidth: float, priors: Any, first: int
    ) -> None:
        """Add the corrections by one kernel, as candidates `first` and following.

        The columns of `sums` are the base of the fold at all sources, then for every fold f (but
        itself) that of f, 0 at the sources of f.
        """
        xp = namespace(bases.own)
        k = bases.own.shape[1]

        def columns(i: int) -> Array:
            return sums.columns[:, i * k : (i + 1) * k]

        labels, squares = xp.sum(sums.labels, axis=1), xp.sum(sums.squares, axis=1)
        found = [residuals(labels, squares, columns(0))]
        found += [without_fold(sums, f, columns(1 + i)) for i, f in enumerate(self._others(fold))]
        # One after the other, so that each step is taken once for all of them.
        base = xp.concat([bases.own, *bases.inner], axis=0)
        joined = Residuals(*(xp.concat(parts, axis=0) for parts in zip(*found, strict=True)))
        r = bases.own.shape[0]
        for j, prior in enumerate(priors):
            corrected = correct(base, joined, prior)
            own = Corrected(*(part[:r, ...] for part in corrected))
            variance = half_trace(self._generator, own)
            variance = variance + self._spread[fold] * (1 - own.reliance) ** 2
            self._add(first + j, bandwidth, fold, corrected.prob, variance)

    def choose(self) -> OneStep:
        """Take for each fold the candidate that does best on the others."""
        xp = namespace(self._weight)
        n_folds = len(self._rows)
        weights = [to_numpy(self._weight[rows]) for rows in self._rows]
        spread = np.array(
            [
                [w @ to_numpy(v) for w, v in zip(weights, by_fold, strict=True)]
                for by_fold in self._correction
            ]
        )
        inner = np.array(self._inner)
        loss, correction, base, bandwidths = [], [], [], []
        for f in range(n_folds):
            others = self._others(f)
            # Loss less V estimates the refinement; half of V is kept as the price of variance.
            score = inner[:, others, f].sum(axis=1) - 0.5 * spread[:, others].sum(axis=1)
            j = int(np.argmin(score))
            loss.append(self._loss[j][f] - self._correction[j][f])
            correction.append(self._correction[j][f])
            base.append(self._loss[0][f] - self._correction[0][f])
            bandwidths.append(self._bandwidths[j])
        rows = OneStepRows(xp.concat(loss), xp.concat(correction), xp.concat(base))
        return OneStep(rows, tuple(bandwidths))

    def _others(self, fold: int) -> list[int]:
        return [f for f in range(len(self._rows)) if f != fold]

    def _add(
        self, candidate: int, bandwidth: float, fold: int, prob: Array, correction: Array
    ) -> None:
        """Add a candidate for the rows of a fold; `prob` are its own, then those for each other."""
        n_folds = len(self._rows)
        if candidate == len(self._loss):
            self._loss.append([None] * n_folds)
            self._correction.append([None] * n_folds)
            self._inner.append(np.zeros((n_folds, n_folds)))
            self._bandwidths.append(bandwidth)
        xp = namespace(prob)
        rows = self._rows[fold]
        outcome = xp.concat([self._outcome[rows, :]] * n_folds, axis=0)
        losses = xp.reshape(by_rows(self._generator.loss, prob, outcome), (n_folds, -1))
        self._loss[candidate][fold] = losses[0, :]
        self._correction[candidate][fold] = correction
        means = losses[1:, :] @ self._weight[rows]
        self._inner[candidate][fold, self._others(fold)] = to_numpy(means)
