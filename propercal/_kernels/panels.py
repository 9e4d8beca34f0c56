"""Panels of the unit interval within which the beta kernel is smooth, and points placed in them.

In the angle θ = arcsin √x the kernel looks like a bell of width √γ/2 wherever it sits, so panels of
length √γ in θ suit the middle. Towards the ends they are of equal ratio in x, where both the kernel
and an estimate of E[Y | g] are smooth in log x. Within a panel a function is replaced by the
polynomial through its values at Chebyshev nodes, of θ or of log x.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from propercal._array import LOG_ZERO, counts, free_memory, like, namespace, slices
from propercal._typing import Array

Floats = npt.NDArray[np.float64]

#: Logarithm of the smallest double: panels reach at least down to it.
_LOG_SMALLEST = -745.0
_RATIO = math.log(4.0)
#: Rows whose polynomials are in the cache at one time.
_CHUNK = 8192


@dataclass(frozen=True)
class Panels:
    """Panels between 0 and 1, numbered in ascending order, symmetric about ½."""

    bandwidth: float
    order: int
    """Nodes of a panel."""
    edges: Floats
    """(h + 1,) logarithms of the ends of the panels below ½, from ½ downwards."""
    n_angular: int
    """The first panels below ½, in which functions are polynomials of θ; in the others of log x."""

    @property
    def n_panels(self) -> int:
        """Number of panels 2 h."""
        return 2 * self._n_half

    @property
    def _n_half(self) -> int:
        return len(self.edges) - 1

    def ends(self) -> tuple[Floats, Floats]:
        """(h,) each: lower and upper end of the panels below ½, in their own variable."""
        variable = np.where(
            np.arange(len(self.edges)) <= self.n_angular, _angle(self.edges), self.edges
        )
        upper, lower = variable[:-1].copy(), variable[1:].copy()
        if self.n_angular < self._n_half:
            upper[self.n_angular] = self.edges[self.n_angular]
        return lower, upper

    def nodes(self, numbers: npt.NDArray[np.intp]) -> tuple[Floats, Floats]:
        """Return probabilities and logarithms (panels · order, 2) of the nodes of some panels."""
        place = np.tile(chebyshev(self.order).nodes, len(numbers))
        return self.points(np.repeat(numbers, self.order), place)

    def points(self, numbers: npt.NDArray[np.intp], place: Floats) -> tuple[Floats, Floats]:
        """Return probabilities and logarithms (n, 2) of places (n,) in panels (n,)."""
        half, right = self._halves(numbers)
        lower, upper = (end[half] for end in self.ends())
        variable = (lower + upper) / 2 + (upper - lower) / 2 * place
        angular = half < self.n_angular
        log_small = np.where(
            angular, 2 * np.log(np.sin(np.where(angular, variable, 1.0))), variable
        )
        small = np.exp(log_small)
        pair = np.stack([1 - small, small], axis=1)
        log_pair = np.stack([np.log1p(-small), log_small], axis=1)
        mirrored = right[:, None]
        return (
            np.where(mirrored, pair[:, ::-1], pair),
            np.where(mirrored, log_pair[:, ::-1], log_pair),
        )

    def angles(self, numbers: npt.NDArray[np.intp]) -> tuple[Floats, Floats]:
        """Return the lower and upper ends of some panels as angles."""
        angle = _angle(self.edges)
        half, right = self._halves(numbers)
        lower, upper = angle[half + 1], angle[half]
        return (
            np.where(right, math.pi / 2 - upper, lower),
            np.where(right, math.pi / 2 - lower, upper),
        )

    def _halves(
        self, numbers: npt.NDArray[np.intp]
    ) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.bool_]]:
        right = numbers >= self._n_half
        return np.where(right, numbers - self._n_half, self._n_half - 1 - numbers), right

    def locate(self, prob: Array, log_prob: Array) -> tuple[Array, Array]:
        """Return the panel (n,) of each point and its place in it, −1 to 1."""
        xp = namespace(prob)
        right = prob[:, 1] > prob[:, 0]
        small = xp.where(right, prob[:, 0], prob[:, 1])
        log_small = xp.where(right, log_prob[:, 0], log_prob[:, 1])
        # As the kernel reads a zero.
        log_small = xp.where(log_small > -xp.inf, log_small, LOG_ZERO)
        log_small = xp.clip(log_small, min=float(self.edges[-1]), max=float(self.edges[0]))
        half = xp.searchsorted(like(-self.edges[1:-1], prob), -log_small, side="right")
        variable = xp.where(half < self.n_angular, xp.asin(xp.sqrt(small)), log_small)
        lower, upper = self.ends()
        scale, shift = 2 / (upper - lower), (upper + lower) / (upper - lower)
        place = variable * xp.take(like(scale, prob), half) - xp.take(like(shift, prob), half)
        number = xp.where(right, half + self._n_half, self._n_half - 1 - half)
        return number, xp.clip(place, min=-1.0, max=1.0)


def make_panels(bandwidth: float, order: int, log_smallest: float = _LOG_SMALLEST) -> Panels:
    """Cut the interval for a bandwidth, down to probabilities of logarithm `log_smallest`."""
    log_smallest = min(log_smallest, _LOG_SMALLEST)
    step = math.sqrt(bandwidth)
    edges, angle = [math.log(0.5)], math.pi / 4
    while angle > step:
        lower = 2 * math.log(math.sin(angle - step))
        if edges[-1] - lower > _RATIO:
            break
        edges.append(lower)
        angle -= step
    n_angular = len(edges) - 1
    # Below `curved` no kernel changes with its source by more than a few percent, below `flat` by
    # nothing that a double holds.
    curved = math.log(bandwidth / -log_smallest) - 3.0
    flat = curved - 37.0
    while edges[-1] > log_smallest:
        last = edges[-1]
        edges.append(last - _RATIO * (1 if last > curved else 2) if last > flat else 2 * last)
    return Panels(bandwidth, order, np.array(edges), n_angular)


def _angle(log_small: Floats) -> Floats:
    return np.asarray(np.arcsin(np.exp(log_small / 2)))


class Grid(NamedTuple):
    """The nodes of some panels, as points of the simplex of two classes."""

    panels: Panels
    numbers: npt.NDArray[np.intp]
    """The panels, ascending."""
    prob: Array
    """(m, 2)."""
    log_prob: Array
    """(m, 2)."""

    @classmethod
    def of(cls, panels: Panels, numbers: npt.NDArray[np.intp], reference: Array) -> Grid:
        """Make the grid in the library and on the device of `reference`."""
        return cls(panels, numbers, *(like(x, reference) for x in panels.nodes(numbers)))


class Chebyshev(NamedTuple):
    """Interpolation at Chebyshev nodes."""

    nodes: Floats
    """(p,) ascending, within −1 to 1."""
    transform: Floats
    """(p, p), from values at the nodes to coefficients of Chebyshev polynomials."""


@cache
def chebyshev(order: int) -> Chebyshev:
    """Return nodes and transform of a number of nodes."""
    angle = (np.arange(order)[::-1] + 0.5) * math.pi / order
    transform = 2 / order * np.cos(np.arange(order)[:, None] * angle)
    transform[0] /= 2
    return Chebyshev(np.cos(angle), transform)


def polynomials(place: Array, order: int) -> Array:
    """(order, n) Chebyshev polynomials at places (n,)."""
    xp = namespace(place)
    twice = 2 * place
    rows = [xp.ones_like(place), place]
    while len(rows) < order:
        rows.append(twice * rows[-1] - rows[-2])
    return xp.stack(rows[:order])


class Placement:
    """Points sorted into panels, between which and their nodes functions and weights move.

    Parameters
    ----------
    panels : Panels
        The panels.
    prob, log_prob : array (n, 2)
        The points.
    """

    def __init__(self, panels: Panels, prob: Array, log_prob: Array) -> None:
        xp = namespace(prob)
        number, place = panels.locate(prob, log_prob)
        # Few bits sort fast.
        self._index = xp.argsort(
            xp.astype(number, xp.int16 if panels.n_panels < 2**15 else xp.int64)
        )
        self._sorted = xp.take(place, self._index)
        self.number = number
        """(n,) panels of the points."""
        self.place = place
        """(n,) places in them."""
        sizes = counts(number, panels.n_panels)
        self.grid = Grid.of(panels, np.flatnonzero(sizes), prob)
        """Nodes of the panels that hold points."""
        ends = np.cumsum(sizes[self.grid.numbers])
        self._parts = [slice(int(a), int(b)) for a, b in zip([0, *ends[:-1]], ends, strict=True)]

    def spread(self, columns: Array) -> Array:
        """Move values (n, q) at points onto the nodes, (m, q): Σ v f(x) is kept for smooth f."""
        xp = namespace(columns)
        columns = xp.take(columns, self._index, axis=0)
        moments = []
        for part in self._parts:
            total: Any = 0.0
            for rows in self._chunks(part):
                total = total + self._polynomials(rows) @ columns[rows, :]
            moments.append(total)
        transform = like(chebyshev(self.grid.panels.order).transform, columns)
        return xp.concat([transform.T @ moment for moment in moments], axis=0)

    def interpolate(self, values: Array) -> Array:
        """Return at each point (n, q) the polynomial through values (m, q) at the nodes."""
        xp = namespace(values)
        order = self.grid.panels.order
        transform = like(chebyshev(order).transform, values)
        parts = []
        for i, part in enumerate(self._parts):
            coefficients = transform @ values[i * order : (i + 1) * order, :]
            parts += [self._polynomials(rows).T @ coefficients for rows in self._chunks(part)]
        return self._unsorted(xp.concat(parts, axis=0))

    def per_point(self, values: Array) -> Array:
        """Return at each point (n, q) what belongs to its panel, of (panels with points, q)."""
        xp = namespace(values)
        parts = [
            xp.broadcast_to(values[i : i + 1, :], (part.stop - part.start, values.shape[1]))
            for i, part in enumerate(self._parts)
        ]
        return self._unsorted(xp.concat(parts, axis=0))

    def _chunks(self, part: slice) -> list[slice]:
        width = _CHUNK if free_memory(self._sorted) is None else 2**22
        return [
            slice(part.start + rows.start, part.start + rows.stop)
            for rows in slices(part.stop - part.start, width)
        ]

    def _polynomials(self, rows: slice) -> Array:
        return polynomials(self._sorted[rows], self.grid.panels.order)

    def _unsorted(self, values: Array) -> Array:
        return namespace(values).take(values, self._back, axis=0)

    @cached_property
    def _back(self) -> Array:
        return namespace(self._index).argsort(self._index)
