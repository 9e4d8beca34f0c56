"""Leave-one-out sums at a few targets of a one-dimensional problem, for any bandwidth.

Rows of a label that lie side by side have much the same sums, so that one of them stands for all;
a row that lies alone stands for itself. The sources are moved onto nodes once for every decade of
bandwidths (:mod:`propercal._kernels.panels`), and each target sums those within its reach.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from propercal._array import LOG_ZERO, floored_exp, like, one_hot, slices, sum_of_others, to_numpy
from propercal._data.predictions.notions import Problem
from propercal._kernels import tiles
from propercal._kernels.kernels import HEADROOM, BilinearKernel
from propercal._kernels.linear import REACH, nodes_for, panels_for
from propercal._kernels.panels import Floats, Panels, chebyshev, polynomials
from propercal._kernels.tiles import EXPONENT_FLOOR
from propercal._threads import one_blas_thread
from propercal._typing import Array

Numbers = npt.NDArray[np.intp]

#: Rows that are alike are cut into about so many groups.
_GROUPS = 512
#: What nodes may add to a sum, as for :mod:`propercal._kernels.linear`.
_TOLERANCE = 1e-5
#: A sum of less than this share of an average row's own kernel value is taken again from finer
#: sources, as is one of less than the other share of the row's own. Both are of sources that are as
#: coarse as they may be.
_SMALL_SHARE, _SMALL_BESIDE_OWN = 0.01, 1e-4
#: What rounding may add to a kernel value at bandwidth 1, and inversely to it at others.
_ROUNDING = 1e-15
#: Nodes replace sources where they are fewer than this share of them.
_FEWER = 0.5
#: Multiples of it are spread evenly over 0 to 1.
_GOLDEN = (math.sqrt(5) - 1) / 2
#: Targets that share the sources within their reach.
_BLOCK = 64


class Sums(NamedTuple):
    """Kernel sums at the targets of a :class:`Glance`."""

    values: Array
    """(g, c), by class, divided by exp(log_scale)."""
    log_density: Array
    """(g,) log of the kernel density of the predictions."""


@dataclass(frozen=True)
class _Sources:
    """Weighted points in ascending order."""

    prob: Floats
    """(m, 2)."""
    log_prob: Floats
    """(m, 2)."""
    weight: Floats
    """(m, c), by class."""
    angle: Floats
    """(m,) arcsin √p."""
    spacing: float
    """The bandwidth whose nodes these are; 0 for the rows themselves."""

    @classmethod
    def sorted(cls, prob: Floats, log_prob: Floats, weight: Floats, spacing: float) -> _Sources:
        """Put points (m, 2) into order."""
        angle = np.arctan2(np.sqrt(prob[:, 1]), np.sqrt(prob[:, 0]))
        order = np.argsort(angle, kind="stable")
        return cls(prob[order], log_prob[order], weight[order], angle[order], spacing)

    def error(self, bandwidth: float) -> float:
        """Return what these add to a kernel value, as a share of what nodes may add."""
        # A polynomial of the degree of the nodes misses a bell by a power of its curvature.
        by_nodes = float((self.spacing / bandwidth) ** (nodes_for(_TOLERANCE) / 2))
        return min(1.0, by_nodes + _ROUNDING / bandwidth / _TOLERANCE)


class Glance:
    """A few targets of a problem of pairs, and its sources in a form that is cheap to sum.

    Parameters
    ----------
    problem : Problem
        Points that are pairs (1 − p, p).
    finest : float
        The smallest bandwidth that will be asked for.
    """

    def __init__(self, problem: Problem, finest: float) -> None:
        n = problem.prob.shape[0]
        self._problem, self._finest = problem, finest
        prob, log_prob = _host(problem.prob), _host(problem.log_prob)
        # As the kernel reads a zero.
        log_prob = np.where(log_prob > -np.inf, log_prob, LOG_ZERO)
        label, weight = to_numpy(problem.label), _host(problem.weight)
        panels = panels_for(log_prob, finest, _TOLERANCE)
        number, place = panels.locate(prob, log_prob)
        groups = _grouped(number, place, label, None if problem.uniform else weight)
        rows = groups[0]
        # Targets in ascending order, as the sources are.
        angle = np.arctan2(np.sqrt(prob[rows, 1]), np.sqrt(prob[rows, 0]))
        order = np.argsort(angle, kind="stable")
        self.rows, self.weight, self.share = (x[order] for x in groups)
        """(g,) numbers of the rows that stand for others; the weight and the share of all rows that
        each stands for."""
        self._angle = angle[order]
        self._prob, self._log_prob = prob[self.rows], log_prob[self.rows]
        # In units of an average row.
        unit = np.ones(n) if problem.uniform else n * weight
        columns = unit[:, None] * one_hot(label, problem.n_classes, np.float64)
        self._weight = columns[self.rows]
        self._log_others = np.log(n * to_numpy(sum_of_others(problem.weight))[self.rows])
        finest_nodes = _on_nodes(panels, number, place, columns)
        self._levels = [finest_nodes or _Sources.sorted(prob, log_prob, columns, 0.0)]

    def sums(self, kernel: BilinearKernel, bandwidth: float) -> Sums:
        """Sum the kernel over the sources of each class, at each target, without the row itself."""
        features = kernel.features(self._prob, self._log_prob, bandwidth)
        left = features.shifted(-HEADROOM).target
        sums = np.empty_like(self._weight)
        targets = np.arange(self.rows.size)
        for sources in self._sources(bandwidth):
            sums[targets] = self._summed(sources, left, targets, kernel, bandwidth)
            targets = targets[self._too_small(sums, targets, kernel, sources.error(bandwidth))]
            if targets.size == 0:
                break
        sums, log_scale = np.maximum(sums, 0.0), features.log_scale + HEADROOM
        if targets.size > 0:
            targets = targets[np.argsort(self.rows[targets])]
            exact = tiles.class_sums(
                self._problem, kernel, bandwidth, exclude_self=True, rows=self.rows[targets]
            )
            scale = 1 if self._problem.uniform else self._problem.prob.shape[0]
            sums[targets] = scale * to_numpy(exact.values)
            log_scale[targets] = to_numpy(exact.log_scale)
        log_density = log_scale + np.log(sums.sum(axis=1)) - self._log_others
        reference = self._problem.prob
        return Sums(like(sums, reference), like(log_density, reference))

    def _summed(
        self,
        sources: _Sources,
        left: Floats,
        targets: Numbers,
        kernel: BilinearKernel,
        bandwidth: float,
    ) -> Floats:
        """(t, c) kernel sums at `targets`, ascending, whose features are among `left`."""
        right = kernel.features(sources.prob, sources.log_prob, bandwidth).source
        reach = REACH * math.sqrt(bandwidth)
        parts = []
        with one_blas_thread:
            for block in slices(targets.size, _BLOCK):
                rows = targets[block]
                ends = self._angle[rows[0]] - reach, self._angle[rows[-1]] + reach
                first, last = np.searchsorted(sources.angle, ends)
                exponents = left[rows] @ np.ascontiguousarray(right[:, first:last])
                values = floored_exp(exponents, EXPONENT_FLOOR, in_place=True)
                parts.append(values @ sources.weight[first:last])
        sums: Floats = np.concatenate(parts) - kernel.own(2) * self._weight[targets]
        return sums

    def _too_small(
        self, sums: Floats, targets: Numbers, kernel: BilinearKernel, error: float
    ) -> npt.NDArray[np.bool_]:
        """(t,) whether the sum over a target's own class is next to nothing beside errors."""
        weight = self._weight[targets]
        least = np.where(weight > 0, _SMALL_SHARE, -np.inf)
        least = kernel.own(2) * error * np.maximum(least, _SMALL_BESIDE_OWN * weight)
        found: npt.NDArray[np.bool_] = (sums[targets] < least).any(axis=1)
        return found

    def _sources(self, bandwidth: float) -> list[_Sources]:
        """Return the coarsest sources that are fine enough, and finer ones if there are."""
        level = max(0, math.floor(math.log10(bandwidth / self._finest) + 1e-9))
        while len(self._levels) <= level:
            finer = self._levels[-1]
            step = self._finest * 10.0 ** len(self._levels)
            panels = panels_for(self._log_prob, step, _TOLERANCE)
            place = panels.locate(finer.prob, finer.log_prob)
            self._levels.append(_on_nodes(panels, *place, finer.weight) or finer)
        coarse, finer = self._levels[level], self._levels[max(0, level - 1)]
        return [coarse] if finer is coarse else [coarse, finer]


def _host(values: Array) -> Floats:
    return np.asarray(to_numpy(values), dtype=np.float64)


def _grouped(
    number: Numbers, place: Floats, label: Numbers, weight: Floats | None
) -> tuple[Numbers, Floats, Floats]:
    """Return rows that stand for their neighbours of the same label, their weights, their shares.

    No group reaches beyond a panel. The heaviest row stands for the others. Of equal ones
    it is any: the middle one would have more of its kind beside it than the others have.
    """
    n = number.size
    n_panels = int(number.max()) + 1
    key = label * n_panels + number + (place + 1) / 2 * (1 - 1e-12)
    order = np.argsort(key, kind="stable") if weight is None else np.lexsort((weight, key))
    cell = (label * n_panels + number)[order]
    starts = np.flatnonzero(np.r_[True, cell[1:] != cell[:-1]])
    sizes = np.diff(np.r_[starts, n])
    # A cell is cut into groups of equal numbers.
    n_groups = np.minimum(np.ceil(sizes * (_GROUPS / n)).astype(np.intp), sizes)
    of_cell = np.repeat(np.arange(starts.size), n_groups)
    within = np.arange(of_cell.size) - np.repeat(np.cumsum(n_groups) - n_groups, n_groups)
    starts = starts[of_cell] + sizes[of_cell] * within // n_groups[of_cell]
    sizes = np.diff(np.r_[starts, n])
    if weight is None:
        places = np.arange(1, sizes.size + 1) * _GOLDEN % 1
        return order[starts + (places * sizes).astype(np.intp)], sizes / n, sizes / n
    sorted_weight = weight[order]
    heaviest = np.repeat(np.maximum.reduceat(sorted_weight, starts), sizes)
    found = np.where(sorted_weight == heaviest, np.arange(n), n)
    chosen = order[np.minimum.reduceat(found, starts)]
    return chosen, np.add.reduceat(sorted_weight, starts), sizes / n


def _on_nodes(panels: Panels, number: Numbers, place: Floats, weight: Floats) -> _Sources | None:
    """Move points of some weight (m, c) onto the nodes of panels; None if these are not fewer."""
    order = np.argsort(number, kind="stable")
    occupied, starts = np.unique(number[order], return_index=True)
    if occupied.size * panels.order > _FEWER * number.size:
        return None
    bases = polynomials(place[order], panels.order)
    moments = [np.add.reduceat(bases * column[order], starts, axis=1).T for column in weight.T]
    transform = chebyshev(panels.order).transform
    on_nodes = np.stack([(moment @ transform).ravel() for moment in moments], axis=1)
    return _Sources.sorted(*panels.nodes(occupied), on_nodes, panels.bandwidth)
