"""Every row, corrected as was chosen for its fold: one pass over the kernel, or none."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from propercal._array import namespace, to_numpy
from propercal._kernels.kernels import BilinearKernel, Features
from propercal._methods.candidates import (
    Choice,
    all_residuals,
    corrected_variance,
    homogeneity,
    losses_of,
)
from propercal._methods.correction import correct
from propercal._methods.cross_fitting import CrossFits
from propercal._methods.fold_sums import FoldSums, Sources, fold_sums
from propercal._methods.grouped_sums import grouped_row_sums
from propercal._methods.label_noise import noise_of
from propercal._methods.terms import OneStepRows
from propercal._methods.variance import half_spread
from propercal._typing import Array
from propercal.generators.base import BregmanGenerator
from propercal.recalibration.descent import Floats
from propercal.recalibration.points import Points

Rows = npt.NDArray[np.int64]


def rows_as_chosen(
    fits: CrossFits,
    stacks: Sequence[Sequence[Floats]],
    generators: Sequence[BregmanGenerator],
    choices: Sequence[Sequence[Choice]],
    kernel: Kernel | None = None,
) -> list[OneStepRows]:
    """Return what each row adds to the refinement under each generator.

    `choices` are the corrections by generator, then by fold.
    """
    xp = namespace(fits.sources.label)
    found: list[list[OneStepRows]] = [[] for _ in generators]
    for e, rows in enumerate(fits.sources.folds):
        points, label = fits.sources.points.part(rows), fits.sources.label[rows]
        # By fold that is left out, then by generator.
        fitted = [fits.combined(frozenset({f}), each, points) for f, each in enumerate(stacks)]
        sums = {}
        if kernel is not None:
            sums = kernel.sums(e, fits, stacks, [by_fold[e].bandwidth for by_fold in choices])
        for i, generator in enumerate(generators):
            base = fitted[e][i]
            spread = half_spread(generator, [by_generator[i] for by_generator in fitted])
            base_loss = losses_of(generator, base, label) - spread
            if i not in sums:
                noise = noise_of(generator, base, points.log_prob)
                found[i].append(OneStepRows(base_loss, spread, base_loss, noise, base))
                continue
            residuals = all_residuals(sums[i], sums[i].columns[:, :-1])
            corrected = correct(base, residuals, choices[i][e].prior)
            alike = homogeneity(residuals, sums[i])
            variance = corrected_variance(generator, corrected, spread, alike)
            loss = losses_of(generator, corrected.prob, label) - variance
            noise = noise_of(generator, corrected.prob, points.log_prob)
            found[i].append(OneStepRows(loss, variance, base_loss, noise, corrected.prob))
    return [
        OneStepRows(*(xp.concat(parts) for parts in zip(*(r[:5] for r in each), strict=True)))
        for each in found
    ]


def squares_of(bases: Sequence[Array]) -> Array:
    """(n, m) Σ_i b_i² of m bases (n, k)."""
    xp = namespace(bases[0])
    return xp.stack([xp.sum(base * base, axis=1) for base in bases], axis=1)


class Kernel:
    """Sums of a kernel over some sources for all rows, of the bandwidths that were chosen.

    Parameters
    ----------
    kernel : BilinearKernel
        Which one.
    sources : Sources
        What is summed over.
    numbers : array (m,)
        Their numbers among all rows.
    n_rows : int
        How many rows there are.
    """

    def __init__(
        self, kernel: BilinearKernel, sources: Sources, numbers: Rows, n_rows: int
    ) -> None:
        self._kernel = kernel
        # Folds are not told apart any more.
        order = np.argsort(to_numpy(sources.label), kind="stable")
        pooled = sources.take(order)
        self._sources = replace(pooled, fold=np.zeros_like(pooled.fold), n_folds=1)
        self._number = np.full(n_rows, -1)
        self._number[numbers[order]] = np.arange(len(order))
        self._features: dict[float, Features] = {}

    def sums(
        self, e: int, fits: CrossFits, stacks: Sequence[Sequence[Floats]], gammas: Sequence[float]
    ) -> dict[int, FoldSums]:
        """Return the sums for the rows of fold `e` of the bandwidth of each generator, if any.

        The columns are the base of the fold, and its Σ_i b_i².
        """
        some = [gamma for gamma in gammas if math.isfinite(gamma)]
        if not some:
            return {}
        xp = namespace(fits.sources.label)
        rows = fits.sources.folds[e]
        base = fits.combined(frozenset({e}), stacks[e], self._sources.points)
        k = self._sources.n_classes
        result = {}
        for gamma in dict.fromkeys(some):
            which = [i for i, other in enumerate(gammas) if other == gamma]
            bases = [base[i] for i in which]
            columns = xp.concat([*bases, squares_of(bases)], axis=1)
            points = fits.sources.points.part(rows)
            if fits.sources.group is None:
                found = self._sum(gamma, points, self._number[rows], columns)
            else:
                found = self._sum_of_others(gamma, points, fits.sources.group[rows], columns)
            squares = found.columns[:, k * len(which) :]
            for j, i in enumerate(which):
                own = [found.columns[:, j * k : (j + 1) * k], squares[:, j : j + 1]]
                result[i] = found._replace(columns=xp.concat(own, axis=1))
        return result

    def _sum(self, gamma: float, points: Points, numbers: Rows, columns: Array) -> FoldSums:
        target = self._kernel.features(points.prob, points.log_prob, gamma).target
        return fold_sums(self._of_sources(gamma), self._sources, numbers, columns, target)

    def _sum_of_others(self, gamma: float, points: Points, group: Rows, columns: Array) -> FoldSums:
        target = self._kernel.features(points.prob, points.log_prob, gamma).target
        return grouped_row_sums(self._of_sources(gamma), self._sources, group, columns, target)

    def _of_sources(self, gamma: float) -> Features:
        if gamma not in self._features:
            self._features[gamma] = self._sources.features(self._kernel, gamma)
        return self._features[gamma]
