"""Kernel sums in one dimension, in linear time and to a stated tolerance.

Sources are moved onto the nodes of :mod:`propercal._kernels.panels` once, the kernel is summed
between nodes, and the sums, which are smooth in the target, are interpolated: O(n), whatever their
number. Where a sum without the point itself is next to nothing beside what was moved around it,
the point is summed by itself.
"""

from __future__ import annotations

import math
from contextlib import nullcontext

import numpy as np
import numpy.typing as npt

from propercal._array import (
    contiguous,
    device,
    floored_exp,
    is_numpy,
    namespace,
    one_hot,
    slices,
    sum_last,
    to_numpy,
    tracks_gradient,
)
from propercal._data.predictions.notions import Problem
from propercal._data.words.messages import bad_value
from propercal._kernels import tiles
from propercal._kernels.kernels import HEADROOM, BilinearKernel, Kernel
from propercal._kernels.panels import Grid, Panels, Placement, make_panels
from propercal._kernels.tiles import (
    EXPONENT_FLOOR,
    ClassSums,
)
from propercal._threads import one_blas_thread
from propercal._typing import Array

#: What the sums are exact to unless a user asks for another tolerance.
TOLERANCE = 1e-10
#: A sum of less than this share of its surroundings is taken again without nodes.
_SMALL_SHARE = 0.01
#: In units of √γ: kernels further than this apart in θ are below e^{−2·36}.
REACH = 6.0
_BLOCK = 256
#: By how much the sum of a pair may miss 1: what rounding of single-precision predictions leaves.
_ROUNDING = 1e-6


def nodes_for(tolerance: float) -> int:
    """Return the nodes a panel needs, so that sums are exact to `tolerance` · _SMALL_SHARE."""
    return max(8, math.ceil(4 - 1.8 * math.log10(tolerance)))


def panels_for(log_prob: Array, bandwidth: float, tolerance: float = TOLERANCE) -> Panels:
    """Return the panels for a bandwidth that reach down to the smallest of `log_prob` (n, 2)."""
    xp = namespace(log_prob)
    lowest = float(xp.min(xp.where(log_prob > -xp.inf, log_prob, 0.0)))
    return make_panels(bandwidth, nodes_for(tolerance), lowest)


def obstacle(kernel: Kernel, prob: Array, log_prob: Array) -> str | None:
    """Say what stands in the way of sums over nodes at points (n, m), if anything does."""
    if kernel.obstacle_to_nodes is not None:
        return kernel.obstacle_to_nodes
    if tracks_gradient(prob, log_prob):
        return "a tensor that tracks a gradient, which sums over nodes do not pass on"
    xp = namespace(prob)
    if prob.shape[1] != 2 or xp.max(xp.abs(sum_last(prob) - 1)) > _ROUNDING:
        return "points that are no pairs (1 − p, p)"
    return None


def check_possible(kernel: Kernel, prob: Array, log_prob: Array) -> None:
    """Raise if sums over nodes are not possible."""
    found = obstacle(kernel, prob, log_prob)
    if found is not None:
        raise bad_value(
            "algorithm",
            f"'linear' with {found}",
            'the Dirichlet kernel on pairs, as of notion="classwise" or "top-label"',
            'use algorithm="auto" or "exact"',
        )


def wins(log_prob: Array, bandwidth: float) -> bool:
    """Tell whether sums over nodes are expected to take less time than over all points (n, 2)."""
    n = log_prob.shape[0]
    # In kernel values; moving a point to the nodes and back costs as much as a hundred.
    if 100 * n > n * n / 4:
        return False
    panels = panels_for(log_prob, bandwidth)
    m = panels.n_panels * panels.order
    return bool(m * min(m, 16 * panels.order) + 100 * n < n * n / 4)


def kernel_sums(
    target: Grid,
    source: Grid,
    kernel: BilinearKernel,
    weights: Array,
    power: int = 1,
) -> Array:
    """Sum kernel values, to a power, over the nodes of `source` at those of `target`.

    Parameters
    ----------
    target, source : Grid
        Nodes of the same panels.
    kernel : BilinearKernel
        The kernel, in units of its largest value at each target, or a little more (see
        :meth:`BilinearKernel.own`).
    weights : array (m, q)
        At the nodes of the sources.
    power : int
        1 or 2.

    Returns
    -------
    array (m', q)
        Σ_m k(t; x_m)^power weights_m.
    """
    xp = namespace(weights)
    panels = source.panels
    left = kernel.features(target.prob, target.log_prob, panels.bandwidth)
    left = left.shifted(-HEADROOM).power(power).target
    right = kernel.features(source.prob, source.log_prob, panels.bandwidth).source
    reach = REACH * math.sqrt(panels.bandwidth)
    lower, upper = panels.angles(target.numbers)
    from_, to = panels.angles(source.numbers)
    p = panels.order
    parts = []
    with one_blas_thread if is_numpy(weights) else nullcontext():
        for block in slices(len(target.numbers), max(1, _BLOCK // p)):
            first = int(np.searchsorted(to, lower[block.start] - reach))
            last = int(np.searchsorted(from_, upper[block.stop - 1] + reach, side="right"))
            rows, columns = slice(block.start * p, block.stop * p), slice(first * p, last * p)
            exponents = left[rows, :] @ contiguous(right[:, columns])
            values = floored_exp(exponents, EXPONENT_FLOOR, in_place=is_numpy(exponents))
            parts.append(values @ weights[columns, :])
    return xp.concat(parts, axis=0)


def class_sums(
    problem: Problem,
    kernel: BilinearKernel,
    bandwidth: float,
    *,
    exclude_self: bool,
    tolerance: float = TOLERANCE,
) -> ClassSums:
    """Sum the kernel over the sources of each class, at every one of points that are pairs.

    Sums over the other class are exact to `tolerance` of the sum over both, those over the class
    of the point itself to `tolerance` of themselves.
    """
    xp = namespace(problem.prob)
    check_possible(kernel, problem.prob, problem.log_prob)
    k = problem.n_classes
    points = Placement(
        panels_for(problem.log_prob, bandwidth, tolerance), problem.prob, problem.log_prob
    )
    outcome = one_hot(problem.label, k, problem.prob.dtype)
    weight = xp.ones_like(problem.weight) if problem.uniform else problem.weight
    own = outcome * weight[:, None] * kernel.own(2)
    grid = points.grid
    at_nodes = kernel_sums(grid, grid, kernel, points.spread(outcome * weight[:, None]))
    log_scale = kernel.features(grid.prob, grid.log_prob, bandwidth).log_scale + HEADROOM
    found = points.interpolate(xp.concat([at_nodes, log_scale[:, None]], axis=1))
    sums, log_scale = found[:, :k], found[:, k]
    if exclude_self:
        sums = sums - own
    rows = small_sums(points, at_nodes, sums, kernel.own(2) * float(xp.mean(weight)), outcome)
    sums = xp.clip(sums, min=0.0)
    if rows.size == 0:
        return ClassSums(sums, log_scale)
    again = tiles.class_sums(problem, kernel, bandwidth, exclude_self=exclude_self, rows=rows)
    return ClassSums(replaced(sums, rows, again.values), replaced(log_scale, rows, again.log_scale))


def small_sums(
    points: Placement, at_nodes: Array, sums: Array, own: float, which: Array | None = None
) -> npt.NDArray[np.intp]:
    """Return the rows in which a sum (n, q) is next to nothing beside those around it.

    `at_nodes` (m, q) are the sums at the nodes, `own` is what an average source adds at itself;
    `which` (n, q) is 1 where a sum has to be exact by itself, 0 elsewhere.
    """
    xp = namespace(sums)
    largest = xp.abs(xp.reshape(at_nodes, (-1, points.grid.panels.order, at_nodes.shape[1])))
    largest = xp.max(largest, axis=1)
    small = xp.astype(sums < _SMALL_SHARE * points.per_point(largest + own), sums.dtype)
    return np.flatnonzero(to_numpy(sum_last(small if which is None else small * which)))


def replaced(values: Array, rows: npt.NDArray[np.intp], new: Array) -> Array:
    """Return `values` with some rows replaced, in an array of its own."""
    xp = namespace(values)
    n = values.shape[0]
    choice = np.arange(n)
    choice[rows] = n + np.arange(rows.size)
    index = xp.asarray(choice, device=device(values))
    return xp.take(xp.concat([values, new], axis=0), index, axis=0)
