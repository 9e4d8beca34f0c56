"""What a kernel sees in the residuals of a recalibration, and the correction it suggests."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from propercal._array import device, floored_exp, is_numpy, namespace, one_hot
from propercal._typing import Array
from propercal.conditional.exact import EXPONENT_FLOOR, Groups, row_sums, weighted_features
from propercal.debiasing.points import Points
from propercal.kernels import HEADROOM, BilinearKernel, Features

#: Kernel values are squared, so their exponents may be half as large.
_HEADROOM = HEADROOM / 2
#: A share of the kernel sum below this is rounding: nothing is left when a fold is taken away.
_NOTHING_LEFT = 1e-6


@dataclass(frozen=True)
class Sources:
    """Rows sorted by fold, and by class within folds, as sources of kernel sums."""

    points: Points
    label: Array
    """(n,)."""
    weight: Array | None
    """(n,) or None where all are equal."""
    fold: np.ndarray[Any, Any]
    """(n,) in ascending order."""
    n_folds: int
    n_classes: int

    @property
    def folds(self) -> list[slice]:
        """The rows of each fold."""
        ends = np.searchsorted(self.fold, np.arange(self.n_folds + 1))
        return [slice(int(a), int(b)) for a, b in pairwise(ends)]

    def features(self, kernel: BilinearKernel, bandwidth: float) -> Features:
        """Return the features of all rows for :func:`fold_sums`."""
        return weighted_features(
            self.points.prob, self.points.log_prob, self.weight, kernel, bandwidth
        )


class FoldSums(NamedTuple):
    """Leave-one-out kernel sums over the rows of each fold, each row up to a factor of its own."""

    labels: Array
    """(r, folds, k) Σ K_hj y_j."""
    squares: Array
    """(r, folds) Σ K_hj²."""
    columns: Array
    """(r, m) Σ K_hj x_j over all folds, of the columns x."""


def fold_sums(features: Features, sources: Sources, rows: slice, columns: Array) -> FoldSums:
    """Sum the kernel for the targets `rows` over all sources, by fold and class, and of columns.

    Parameters
    ----------
    features : Features
        Of all rows.
    sources : Sources
        The rows.
    rows : slice
        The targets.
    columns : array (n, m)
        Values at the sources whose kernel-weighted sums are wanted.
    """
    xp = namespace(columns)
    n_folds, k = sources.n_folds, sources.n_classes
    n_cells = n_folds * k
    n_columns = columns.shape[1]
    cell = xp.asarray(sources.fold, device=device(columns)) * k + sources.label
    groups = Groups(cell, n_cells)
    target = features.target[rows, :]
    target = xp.concat([target[:, :-1], target[:, -1:] - (HEADROOM - _HEADROOM)], axis=1)

    def add(result: Array | None, tile: Array, part: slice, _: Groups, in_place: bool) -> Array:
        values = floored_exp(tile, EXPONENT_FLOOR, in_place=in_place)
        if not is_numpy(tile):
            indicators = one_hot(groups.label[part], n_cells, tile.dtype)
            sums = values @ xp.concat([indicators, columns[part, :]], axis=1)
            squares = (values * values) @ indicators
            new = xp.concat([sums[:, :n_cells], squares, sums[:, n_cells:]], axis=1)
            return new if result is None else result + new
        if result is None:
            result = np.zeros((tile.shape[0], 2 * n_cells + n_columns))
        for i, place in groups.parts(part):
            piece = values[:, place]
            result[:, i] += piece @ np.ones(piece.shape[1])
            result[:, n_cells + i] += np.einsum("ij,ij->i", piece, piece)
        result[:, 2 * n_cells :] += values @ columns[part]
        return result

    ids = xp.arange(rows.start, rows.stop, device=device(columns))
    sums, _ = row_sums(
        add, n_cells, target, ids, features.source, groups, exclude_self=True, headroom=_HEADROOM
    )
    by_fold = (sums.shape[0], n_folds, k)
    return FoldSums(
        xp.reshape(sums[:, :n_cells], by_fold),
        xp.sum(xp.reshape(sums[:, n_cells : 2 * n_cells], by_fold), axis=2),
        sums[:, 2 * n_cells :],
    )


class Residuals(NamedTuple):
    """Effective counts near each target: what was observed, and what the base expected."""

    observed: Array
    """(r, k)."""
    expected: Array
    """(r, k)."""
    size: Array
    """(r, 1) effective number of rows 1 / ΣW², 0 where no source is within reach."""


def residuals(labels: Array, squares: Array, columns: Array) -> Residuals:
    """Turn kernel sums of labels (r, k), squares (r,) and a base (r, k) into effective counts."""
    xp = namespace(labels)
    total = xp.sum(labels, axis=1)
    some = (total > 0) & (squares > 0)
    safe = xp.where(some, total, 1.0)
    size = xp.where(some, safe * safe / xp.where(some, squares, 1.0), 0.0)
    scale = (size / safe)[:, None]
    return Residuals(labels * scale, columns * scale, size[:, None])


def without_fold(sums: FoldSums, fold: int, columns: Array) -> Residuals:
    """Return the residuals that remain when a fold is taken away; `columns` are already so."""
    xp = namespace(columns)
    keep = [f for f in range(sums.squares.shape[1]) if f != fold]
    labels = sum(sums.labels[:, f, :] for f in keep)
    squares = sum(sums.squares[:, f] for f in keep)
    left = xp.sum(labels, axis=1) > _NOTHING_LEFT * xp.sum(sums.labels, axis=(1, 2))
    labels = xp.where(left[:, None], labels, 0.0)
    return residuals(labels, squares, columns)


class Corrected(NamedTuple):
    """A corrected recalibration, and what its variance is computed from."""

    prob: Array
    """(r, k) r̂ ∝ b (a + observed) / (a + expected)."""
    gain: Array
    """(r, k) v, by which a change of the kernel mean of each label moves r̂."""
    share: Array
    """(r, k) m, the share of each label that r̂ expects among the sources near the target."""
    reliance: Array
    """(r,) c, the share of the base that the kernel replaces."""
    size: Array
    """(r, 1) effective number of rows."""


def correct(base: Array, found: Residuals, prior: float) -> Corrected:
    """Multiply a base (r, k) by the observed over the expected counts, each plus `prior`.

    The result is positive wherever the base is, and equals it where nothing is observed.
    """
    xp = namespace(base)
    denominator = prior + found.expected
    ratio = (prior + found.observed) / denominator
    product = base * ratio
    total = xp.sum(product, axis=1, keepdims=True)
    prob = product / total
    some = found.size > 0
    size = xp.where(some, found.size, 1.0)
    return Corrected(
        prob,
        gain=base * found.size / (denominator * total),
        share=xp.where(some, ratio * found.expected / size, 0.0),
        reliance=xp.sum(prob * found.expected / denominator, axis=1),
        size=found.size,
    )
