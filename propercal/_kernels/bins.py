"""Means within the cells of a partition of the simplex (the binning kernel)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from propercal._array import like, to_numpy
from propercal._data.predictions.notions import Problem
from propercal._data.words.messages import some_rows, warn
from propercal._kernels.kernels import BinningKernel
from propercal._typing import Array


def cell_means(
    problem: Problem, kernel: BinningKernel, bandwidth: float, *, exclude_self: bool
) -> Array:
    """Return the weighted share of each class in the cell of every point, (n, k).

    Where no label counts in the cell of a point (it is alone and excluded itself, or has weight 0),
    the share among all others stands in, with a warning.
    """
    prob, label, weight = (to_numpy(x) for x in (problem.prob, problem.label, problem.weight))
    cells = _cells(prob, weight, kernel, n_bins=max(1, round(1 / bandwidth)))
    n = len(prob)
    own = np.zeros((n, problem.n_classes))
    own[np.arange(n), label] = weight
    everyone = np.zeros_like(cells)
    if exclude_self:
        values, fallback = _others(cells, own), _others(everyone, own)
        count = _totals(cells, own > 0) - (own > 0)
    else:
        values, fallback = _totals(cells, own), _totals(everyone, own)
        count = _totals(cells, own > 0)
    # A difference of equal sums is not exactly 0: counts say where it must be.
    values[count == 0] = 0.0
    alone = np.flatnonzero(count.sum(axis=1) == 0)
    if alone.size:
        warn(
            f"bandwidth = {bandwidth:.4g} leaves {some_rows(alone)} alone in a bin: the share of "
            "each class among all other rows is used there. A larger bandwidth makes wider bins."
        )
        values[alone] = fallback[alone]
    return like(values / values.sum(axis=1, keepdims=True), problem.prob)


def _totals(cells: npt.NDArray[np.intp], values: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return, at every point, the sum of `values` (n, k) over its cell."""
    sums: npt.NDArray[np.float64] = np.zeros((int(cells.max()) + 1, values.shape[1]))
    np.add.at(sums, cells, values)
    return sums[cells]


def _others(cells: npt.NDArray[np.intp], own: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the sum over the cell of every point without the point itself.

    A difference of nearly equal sums has no digits: where one weight is most of a sum, the others
    are added up by themselves.
    """
    total = _totals(cells, own)
    dominates = 2 * own > total
    return np.where(dominates, _totals(cells, np.where(dominates, 0.0, own)), total - own)


def _cells(
    prob: npt.NDArray[np.float64],
    weight: npt.NDArray[np.float64],
    kernel: BinningKernel,
    n_bins: int,
) -> npt.NDArray[np.intp]:
    """Return the number of the cell that each point lies in."""
    # Of a pair (1 − p, p) one coordinate says all.
    coordinates = prob[:, 1:] if prob.shape[1] == 2 else prob
    if kernel.spacing == "uniform":
        position: npt.NDArray[Any] = coordinates
    else:
        position = np.stack([_mid_rank(column, weight) for column in coordinates.T], axis=1)
    bins = bin_numbers(position, n_bins)
    return np.unique(bins, axis=0, return_inverse=True)[1].ravel()


def bin_numbers(
    position: npt.NDArray[Any], n_bins: int, *, closed_above: bool = False
) -> npt.NDArray[np.int64]:
    """Return i where i / n ≤ position < (i + 1) / n, and n − 1 at 1.

    The product position · n may round to the other side of an edge, 0.29 · 100 to less than 29; the
    quotient i / n is the double nearest to the edge, which is what 0.29 is. Bins that are
    `closed_above` have their upper edge in place of the lower one.
    """
    single = bool((position == position.astype(np.float32)).all())

    def edge(number: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        edges: npt.NDArray[np.float64] = number / n_bins
        # In single precision 0.9 is less than the double next to it, which would be the edge.
        return edges.astype(np.float32).astype(np.float64) if single else edges

    number = np.minimum((position * n_bins).astype(np.int64), n_bins - 1)
    number = np.where(position < edge(number), number - 1, number)
    number = np.where(position >= edge(number + 1), number + 1, number)
    if closed_above:
        number = np.where(position == edge(number), number - 1, number)
    return np.clip(number, 0, n_bins - 1)


def _mid_rank(
    values: npt.NDArray[np.float64], weight: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return the weight of smaller values and half that of equal ones: ties share a bin.

    The ranks of 1 − p mirror those of p, so it does not matter which class of two is looked at.
    """
    uniques, inverse = np.unique(values, return_inverse=True)
    mass = np.bincount(inverse.ravel(), weights=weight, minlength=len(uniques)).astype(np.float64)
    rank: npt.NDArray[np.float64] = np.cumsum(mass) - mass / 2
    return rank[inverse.ravel()]
