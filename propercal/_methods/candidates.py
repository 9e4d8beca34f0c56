"""Choosing, for each fold, the kernel correction that does best on the others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from propercal._array import by_rows, namespace, one_hot, to_numpy
from propercal._methods.correction import (
    Corrected,
    Residuals,
    correct,
    residuals,
    without_fold,
)
from propercal._methods.fold_sums import FoldSums
from propercal._methods.label_noise import label_moments, temperature_moments
from propercal._methods.misfit import NOTHING, Misfit
from propercal._methods.terms import OneStepRows
from propercal._methods.variance import half_spread, half_trace
from propercal._typing import Array
from propercal.generators.base import BregmanGenerator


class Bases(NamedTuple):
    """Stacked recalibrations of the judged rows of one fold, for one generator."""

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
    kernel_rows: int | None = None
    """Rows that the kernel was summed over; None without one."""
    training_rows: int | None = None
    """Rows that the recalibrations were fitted to."""
    misfit: Misfit = NOTHING
    """What the recalibrations leave unexplained."""


class Choice(NamedTuple):
    """A kernel correction."""

    bandwidth: float
    """inf for none."""
    prior: float


#: Labels of less variance are as good as known, up to rounding.
_NO_VARIANCE = 1e-9
#: The base alone.
NO_CORRECTION = Choice(math.inf, math.inf)


class Candidates:
    """Losses and corrections of every candidate, and how well each does without each fold.

    The first candidate is the base alone; then come all bandwidths and priors.

    Parameters
    ----------
    generator : BregmanGenerator
        The convex function F.
    labels, weights : sequence of array (r,)
        Labels and weights of the judged rows of each fold.
    log_probs : sequence of array (r, k)
        Logarithms of their predictions.
    missing : float
        Share of all rows that is not judged.
    """

    def __init__(
        self,
        generator: BregmanGenerator,
        labels: Sequence[Array],
        weights: Sequence[Array],
        log_probs: Sequence[Array],
        missing: float = 0.0,
    ) -> None:
        self._generator = generator
        self._labels = labels
        self._weights = weights
        self._log_probs = log_probs
        self._missing = missing
        n_folds = len(labels)
        # By candidate, then by fold.
        self._loss: list[list[Any]] = []
        self._correction: list[list[Any]] = []
        self._moments: list[list[Any]] = []
        self._probs: list[list[Any]] = []
        # (judged fold, fold left out) for each candidate: weighted loss.
        self._inner: list[np.ndarray[Any, Any]] = []
        # The same: variance of its difference to the base that rows which are not judged leave.
        self._noise: list[np.ndarray[Any, Any]] = []
        self._base_losses: list[Any] = [None] * n_folds
        self._choices: list[Choice] = []
        self._spread: list[Any] = [None] * n_folds

    def add_base(self, fold: int, bases: Bases) -> None:
        """Add the base alone for the rows of a fold."""
        self._spread[fold] = half_spread(self._generator, bases.others)
        prob = namespace(bases.own).concat([bases.own, *bases.inner], axis=0)
        self._add(0, NO_CORRECTION, fold, prob, self._spread[fold])

    def add_corrected(
        self,
        fold: int,
        bases: Bases,
        sums: FoldSums,
        bandwidth: float,
        priors: Sequence[float],
        first: int,
    ) -> None:
        """Add the corrections by one kernel, as candidates `first` and following.

        The columns of `sums` are the base of the fold at all sources, then for every fold f (but
        itself) that of f, 0 at the sources of f; the last one is Σ_i b_i² of the first.
        """
        xp = namespace(bases.own)
        k = bases.own.shape[1]

        def columns(i: int) -> Array:
            return sums.columns[:, i * k : (i + 1) * k]

        found = [all_residuals(sums, columns(0))]
        found += [without_fold(sums, f, columns(1 + i)) for i, f in enumerate(self._others(fold))]
        # One after the other, so that each step is taken once for all of them.
        base = xp.concat([bases.own, *bases.inner], axis=0)
        joined = Residuals(*(xp.concat(parts, axis=0) for parts in zip(*found, strict=True)))
        r = bases.own.shape[0]
        alike = homogeneity(found[0], sums)
        for j, prior in enumerate(priors):
            corrected = correct(base, joined, prior)
            own = Corrected(*(part[:r, ...] for part in corrected))
            variance = corrected_variance(self._generator, own, self._spread[fold], alike)
            self._add(first + j, Choice(bandwidth, prior), fold, corrected.prob, variance)

    def choose(self) -> list[Choice]:
        """Return for each fold the candidate that does best on the others."""
        return [self._choices[j] for j in self._best()]

    def rows(self) -> OneStepRows:
        """Return what the choices make of the judged rows."""
        xp = namespace(self._weights[0])
        loss, correction, base, moments, probs = [], [], [], [], []
        for f, j in enumerate(self._best()):
            loss.append(self._loss[j][f] - self._correction[j][f])
            correction.append(self._correction[j][f])
            base.append(self._loss[0][f] - self._correction[0][f])
            moments.append(self._moments[j][f])
            probs.append(self._probs[j][f])
        of_temperature = [temperature_moments(self._generator, each) for each in self._log_probs]
        noise = xp.concat([xp.concat(moments), xp.concat(of_temperature)], axis=1)
        return OneStepRows(
            xp.concat(loss), xp.concat(correction), xp.concat(base), noise, xp.concat(probs)
        )

    def _best(self) -> list[int]:
        weights = [to_numpy(weight) for weight in self._weights]
        spread = np.array(
            [
                [w @ to_numpy(v) for w, v in zip(weights, by_fold, strict=True)]
                for by_fold in self._correction
            ]
        )
        inner, noise = np.array(self._inner), np.array(self._noise)
        best = []
        for f in range(len(weights)):
            others = self._others(f)
            # Loss less V estimates the refinement; half of V is kept as the price of variance.
            score = inner[:, others, f].sum(axis=1) - 0.5 * spread[:, others].sum(axis=1)
            j = int(np.argmin(score))
            # To do better on a sample is not yet to do better than no correction on all rows.
            sure = score[j] + math.sqrt(noise[j, others, f].sum()) <= score[0]
            best.append(j if sure else 0)
        return best

    def _others(self, fold: int) -> list[int]:
        return [f for f in range(len(self._labels)) if f != fold]

    def _add(
        self, candidate: int, choice: Choice, fold: int, prob: Array, correction: Array
    ) -> None:
        """Add a candidate for the rows of a fold; `prob` are its own, then those for each other."""
        n_folds = len(self._labels)
        if candidate == len(self._loss):
            self._loss.append([None] * n_folds)
            self._correction.append([None] * n_folds)
            self._moments.append([None] * n_folds)
            self._probs.append([None] * n_folds)
            self._inner.append(np.zeros((n_folds, n_folds)))
            self._noise.append(np.zeros((n_folds, n_folds)))
            self._choices.append(choice)
        xp = namespace(prob)
        label = xp.concat([self._labels[fold]] * n_folds)
        losses = xp.reshape(losses_of(self._generator, prob, label), (n_folds, -1))
        self._loss[candidate][fold] = losses[0, :]
        self._correction[candidate][fold] = correction
        own = prob[: correction.shape[0], :]
        self._moments[candidate][fold] = label_moments(self._generator, own, self._log_probs[fold])
        if self._missing == 0:
            # Of the rows of this fold alone: a view would keep those for the others too.
            self._probs[candidate][fold] = xp.asarray(own, copy=True)
        weight, others = self._weights[fold], self._others(fold)
        self._inner[candidate][fold, others] = to_numpy(losses[1:, :] @ weight)
        if self._missing == 0:
            return
        if candidate == 0:
            self._base_losses[fold] = losses[1:, :]
        gain = losses[1:, :] - self._base_losses[fold]
        gain = gain - (gain @ (weight / xp.sum(weight)))[:, None]
        variance = self._missing * (gain * gain) @ (weight * weight)
        self._noise[candidate][fold, others] = to_numpy(variance)


def losses_of(generator: BregmanGenerator, prob: Array, label: Array) -> Array:
    """(r,) losses of predictions (r, k) of labels (r,)."""
    k = prob.shape[1]

    def losses(prob: Array, label: Array) -> Array:
        return generator.loss(prob, one_hot(label, k, prob.dtype))

    return by_rows(losses, prob, label)


def all_residuals(sums: FoldSums, columns: Array) -> Residuals:
    """Return the residuals from the sources of all folds, of a base with sums `columns` (r, k)."""
    xp = namespace(columns)
    return residuals(xp.sum(sums.labels, axis=1), xp.sum(sums.squares, axis=1), columns)


def homogeneity(found: Residuals, sums: FoldSums) -> Array:
    """(r,) the variance of labels around each target, as a share of that of labels all alike.

    Labels of probabilities b have the mean variance 1 − ‖b‖², and less than that of their mean.
    """
    xp = namespace(found.expected)
    some = found.size[:, 0] > 0
    total = xp.where(some, xp.sum(sums.labels, axis=(1, 2)), 1.0)
    mean = found.expected / xp.where(some, found.size[:, 0], 1.0)[:, None]
    of_mean = 1 - xp.sum(mean * mean, axis=1)
    of_each = 1 - sums.columns[:, -1] / total
    known = some & (of_mean > _NO_VARIANCE)
    share = xp.where(known, of_each, 1.0) / xp.where(known, of_mean, 1.0)
    return xp.clip(share, min=0.0, max=1.0)


def corrected_variance(
    generator: BregmanGenerator, corrected: Corrected, spread: Array, alike: Array
) -> Array:
    """(r,) V of corrected recalibrations, given that of their bases and the homogeneity."""
    own = alike * half_trace(generator, corrected)
    return own + spread * (1 - corrected.reliance) ** 2
