r"""Kernel sums over the points of a sketch, of which only those within reach are looked at.

For a target t the exponent log k(t; x) is concave in the source x, and its mixed derivative with
respect to x and the log-odds of t is 1 / γ > 0. In ascending order of the points those that matter
to a target are therefore neighbours, and move up with it. Their number depends on the panels alone:
the time is O(m) for m points, not O(m²).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from propercal._array import floored_exp, slices
from propercal._kernels.kernels import HEADROOM, DirichletKernel, shifted
from propercal._kernels.panels import chebyshev
from propercal._threads import one_blas_thread
from propercal.sketch.weighted_points import WeightedPoints

Floats = npt.NDArray[np.float64]
Positions = npt.NDArray[np.intp]

#: Targets that share their sources.
_BLOCK = 64
#: What rounding of the exponents may be, with room to spare.
_MARGIN = 1.0
_ROUNDING = 1e-6
#: Coefficients at the end of a polynomial, which tell how much the next ones leave out.
TAIL = 3


def kernel_sums(
    mass: WeightedPoints, kernel: DirichletKernel, bandwidth: float, floor: float, *weights: Floats
) -> list[Floats]:
    """Sum powers of the kernel over all points but, at a single prediction, itself.

    Parameters
    ----------
    mass : WeightedPoints
        The m points.
    kernel : DirichletKernel
        The kernel.
    bandwidth : float
        Its bandwidth, that of the mass or a larger one.
    floor : float
        Logarithm of what a smaller kernel value, relative to the largest of its row, counts as:
        not 0, so that an F that is infinite there stays finite.
    *weights : array (m, q)
        The weights by which the kernel is summed, then those for its square, and so on.

    Returns
    -------
    list of array (m, q)
        For each power. Those at a single prediction are divided by the same power of its largest
        kernel value or a little less, so that the nearest points decide where all are far away.
    """
    m = len(mass.prob)
    ascending = np.argsort(mass.log_prob[:, 1] - mass.log_prob[:, 0], kind="stable")
    exponents = _Exponents.of(mass, kernel, bandwidth, ascending)
    alone = mass.single[ascending]
    scale = np.where(alone, exponents.of_neighbours(), 0.0)
    # The only point of all has no neighbour.
    scale = np.where(np.isfinite(scale), scale, 0.0)
    exponents = exponents.shifted(-scale)
    first, last = exponents.reach(floor - _MARGIN)
    placed = [each[ascending] for each in weights]
    running = [np.concatenate([np.zeros((1, w.shape[1])), w.cumsum(axis=0)]) for w in placed]
    results = [np.empty(w.shape) for w in weights]
    # Powers of what is at the floor underflow, as they may.
    with one_blas_thread, np.errstate(under="ignore"):
        for rows in slices(m, _BLOCK):
            columns = slice(int(first[rows].min()), int(last[rows].max()) + 1)
            values = exponents.tile(rows, columns)
            itself = np.flatnonzero(alone[rows])
            own = itself, itself + (rows.start - columns.start)
            # Scaled by a point far away it could overflow.
            values[own] = -np.inf
            # Of so few rows, each sixteenth does not tell whether others are below the floor.
            np.maximum(values, floor, out=values)
            values = floored_exp(values, floor, in_place=True)
            values[own] = 0.0
            power = values
            for i, (weight, total) in enumerate(zip(placed, running, strict=True)):
                if i:
                    power = power * values
                outside = total[-1] - (total[columns.stop] - total[columns.start])
                far = math.exp((i + 1) * floor) * outside
                results[i][ascending[rows]] = power @ weight[columns] + far
    return results


def unresolved(mass: WeightedPoints, kernel: DirichletKernel, bandwidth: float) -> Floats:
    """Estimate the relative error, up to 1, of the sums at single predictions; 0 at nodes.

    From a point that is far from all others, next to 0 above all, the kernel falls so steeply that
    within a panel it is no polynomial of the source: the predictions there may as well be anywhere
    in it.
    """
    n_nodes, order = int((~mass.single).sum()), mass.order
    alone = np.arange(n_nodes, len(mass.prob))
    result = np.zeros(len(mass.prob))
    if not (n_nodes and len(alone)):
        return result
    log_odds = mass.log_prob[:, 1] - mass.log_prob[:, 0]
    ascending = np.argsort(log_odds, kind="stable")
    position = np.argsort(ascending)
    exponents = _Exponents.of(mass, kernel, bandwidth, ascending)
    largest = exponents.of_neighbours()[position[alone]]
    # The exponent is concave in the source, largest near the target: panels beside it matter.
    panels = np.arange(n_nodes).reshape(-1, order)
    own = np.searchsorted(log_odds[panels[:, 0]], log_odds[alone]) - 1
    rows = np.abs(mass.weights[:n_nodes].sum(axis=1).reshape(-1, order).sum(axis=1))
    error, total, nearest = (np.zeros(len(alone)) for _ in range(3))
    for panel in (own - 1, own, own + 1):
        there = (panel >= 0) & (panel < len(panels))
        sources = exponents.source[:, position[panels[panel[there]]]]
        target = exponents.target[position[alone[there]]]
        relative = np.einsum("if,fij->ij", target, sources) - largest[there, None]
        values = np.exp(np.maximum(relative, -HEADROOM))
        tail = np.abs(values @ chebyshev(order).transform.T)[:, -TAIL:].max(axis=1)
        error[there] += rows[panel[there]] * tail
        total[there] += rows[panel[there]] * values.mean(axis=1)
        nearest[there] = np.maximum(nearest[there], values.max(axis=1))
    # Where no node is nearest, a single prediction adds 1.
    total += nearest < 1 - _ROUNDING
    result[alone] = np.minimum(error / total, 1.0)
    return result


class _Exponents(NamedTuple):
    """Logarithms of the kernel between points in ascending order."""

    target: Floats
    """(m, f)."""
    source: Floats
    """(f, m)."""

    @classmethod
    def of(
        cls, mass: WeightedPoints, kernel: DirichletKernel, bandwidth: float, ascending: Positions
    ) -> _Exponents:
        features = kernel.features(mass.prob[ascending], mass.log_prob[ascending], bandwidth)
        features = features.shifted(-HEADROOM)
        return cls(np.asarray(features.target), np.asarray(features.source))

    def shifted(self, by: Floats) -> _Exponents:
        """Return these with `by` (m,) added to the exponents of each target."""
        return self._replace(target=np.asarray(shifted(self.target, by[:, None])))

    def tile(self, rows: slice, columns: slice) -> Floats:
        return np.asarray(self.target[rows] @ np.ascontiguousarray(self.source[:, columns]))

    def at(self, targets: Positions, sources: Positions) -> Floats:
        return np.asarray(np.einsum("if,fi->i", self.target[targets], self.source[:, sources]))

    def of_neighbours(self) -> Floats:
        """(m,) the larger of the exponents at the two points next to each."""
        m = len(self.target)
        rows = np.arange(m)
        result = np.full(m, -np.inf)
        result[1:] = self.at(rows[1:], rows[:-1])
        result[:-1] = np.maximum(result[:-1], self.at(rows[:-1], rows[1:]))
        return result

    def reach(self, level: float) -> tuple[Positions, Positions]:
        """(m,) each: the first and the last source of an exponent of at least `level`."""
        rows = np.arange(len(self.target))

        def furthest(side: int, most: Positions) -> Positions:
            """Bisect for the number of points on a side that are within reach."""
            least = np.zeros_like(most)
            while (least < most).any():
                middle = (least + most + 1) // 2
                within = self.at(rows, rows + side * middle) >= level
                least, most = np.where(within, middle, least), np.where(within, most, middle - 1)
            return rows + side * least

        return furthest(-1, rows), furthest(1, rows[::-1])
