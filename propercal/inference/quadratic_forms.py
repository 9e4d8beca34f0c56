r"""Quadratic forms in the residuals y − g that tell miscalibrated predictions from calibrated ones.

Every form is computed from linear statistics Z = Σ_h w_h A(g_h) (y_h − g_h), which are one matrix
product for many label sets at a time. Rows of the same prediction have the same A, so that label
sets count through the sums of residuals at each point.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate
from operator import add
from typing import Any, NamedTuple

import numpy as np

from propercal._array import contiguous, device, like, namespace
from propercal._data.words.messages import bad_value
from propercal._kernels.kernels import BANDWIDTHS
from propercal._typing import Array
from propercal.generators.base import BregmanGenerator
from propercal.inference.hellinger import kernel_features
from propercal.recalibration.families import (
    EQUIVARIANT_RIDGE,
    SMOOTH_RIDGE,
    equivariant_terms,
    smooth_fits,
    smooth_terms,
)
from propercal.recalibration.logit import LARGEST_SYSTEM
from propercal.recalibration.points import Points
from propercal.recalibration.terms import ClassTerms

#: Kernel features of all bandwidths, times classes.
_LARGEST_NUMBER = 4096
#: Share of the pairs h = j below which a sum over all others is that of no pairs.
_ROUNDING = 1e-10
#: Added to each probability where the curvature of F is taken, which may be infinite at 0.
_SMOOTHING = 0.02


@dataclass(frozen=True)
class WeightedPoints:
    """Where the factors A of the residuals are taken, and what rows of the data are there."""

    points: Points
    """m points of the simplex."""
    count: Array
    """(m,) the number of rows."""
    square: Array
    """(m,) the sum of their squared weights."""
    scale: float
    """Spread of the logarithms of the probabilities, over rows and classes."""


class Residuals(NamedTuple):
    """What label sets leave at each point, of one class."""

    linear: Array
    """(sets, m) sums of w (y − g) over the rows there."""
    square: Array | None = None
    """(sets, m) sums of w² (y − g)², of two classes; None where each point is one row."""


@dataclass(frozen=True)
class Part:
    """Forms that share linear statistics."""

    names: tuple[str, ...]
    size: int
    """How many statistics d of each column are theirs."""
    combine: Callable[[list[Array]], Array]
    """From the statistics (d, sets) of each column to the forms (names, sets)."""


@dataclass(frozen=True)
class KernelPart:
    """U-statistics Σ_{h≠j} w_h w_j K_hj Σ_i f_hi f_ji e_hi e_ji of e = y − g, f² = diag ∇²F."""

    sizes: list[int]
    """How many features belong to each bandwidth."""
    features: Array
    """(f, m) of all bandwidths, times f where there is one column."""
    diagonals: Array
    """(b, m) sums of squares of the features of each bandwidth."""
    scales: Array | None
    """(columns, m) f, where there are several columns: so they share the features."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the forms."""
        # The widest Hellinger kernel sees the whole simplex, the narrowest ±0.08 at most.
        return tuple(f"kernel {bandwidth:g}" for bandwidth in BANDWIDTHS)

    def combine(self, statistics: list[Array], own: Array) -> Array:
        """Return the forms (b, sets) from (f, sets) of each column and what pairs h = j add."""
        xp = namespace(own)
        blocks = _blocks(self.sizes)
        squares = [
            xp.stack([xp.sum(z[block, :] ** 2, axis=0) for block in blocks]) for z in statistics
        ]
        pairs = reduce(add, squares) - own
        # Of points that see no others rounding is left, which is not to be put in its own units.
        return xp.where(xp.abs(pairs) > _ROUNDING * own, pairs, 0.0)


@dataclass(frozen=True)
class QuadraticForms:
    """The forms of one problem, to be evaluated on many label sets."""

    columns: tuple[int, ...]
    """The classes whose residuals are looked at: two classes have one residual."""
    parts: tuple[Part, ...]
    matrices: Array
    """(columns, d, m) what residuals are multiplied with in all parts."""
    kernel: KernelPart

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the forms."""
        return (*(name for part in self.parts for name in part.names), *self.kernel.names)

    def __call__(self, residuals: Iterable[Residuals]) -> Array:
        """Evaluate all forms on the residuals of each column: an array (forms, sets)."""
        return self.combine(self.statistics(residuals))

    def statistics(
        self, residuals: Iterable[Residuals], points: slice = slice(None)
    ) -> list[Array]:
        """Return what some of the points add to the statistics, to be added up."""
        kernel, found = self.kernel, []
        features = kernel.features[:, points].T
        own: Any = None
        for j, (linear, square) in enumerate(residuals):
            # In this order of the factors OpenBLAS is many times as fast.
            found.append(linear @ self.matrices[j, :, points].T)
            scaled = linear if kernel.scales is None else linear * kernel.scales[j, points]
            found.append(scaled @ features)
            squares = scaled**2 if square is None else square
            own = squares if own is None else own + squares
        return [*found, own @ kernel.diagonals[:, points].T]

    def combine(self, statistics: list[Array]) -> Array:
        """Return the forms (forms, sets) from statistics of all points."""
        *columns, own = (each.T for each in statistics)
        forms = []
        start = 0
        for part in self.parts:
            end = start + part.size
            forms.append(part.combine([z[start:end, :] for z in columns[::2]]))
            start = end
        forms.append(self.kernel.combine(columns[1::2], own))
        return namespace(own).concat(forms, axis=0)


def quadratic_forms(
    at: WeightedPoints, generator: BregmanGenerator, rng: np.random.Generator
) -> QuadraticForms:
    """Prepare the forms of a problem, whose labels are not looked at.

    Parameters
    ----------
    at : WeightedPoints
        Predictions and weights.
    generator : BregmanGenerator
        F, whose curvature is the metric of the kernel forms.
    rng : numpy.random.Generator
        Draws the points on which the kernel features rest.
    """
    k = at.points.prob.shape[1]
    parts = [_shared_part(at)]
    if 2 * k <= LARGEST_SYSTEM:
        parts.append(_class_part(at))
    if k * k <= LARGEST_SYSTEM:
        parts.append(_mixture_part(at))
    matrices = namespace(at.count).concat([of_part for _, of_part in parts], axis=1)
    kernel = _kernel_part(at, generator, rng)
    return QuadraticForms(_columns(k), tuple(part for part, _ in parts), matrices, kernel)


def _columns(k: int) -> tuple[int, ...]:
    return (1,) if k == 2 else tuple(range(k))


def _ridge_inverse(information: Array, ridge: Array) -> Array:
    xp = namespace(information)
    eye = xp.eye(ridge.shape[0], dtype=information.dtype, device=device(information))
    return xp.linalg.inv(information + eye * ridge)


def _quadratic(z: Array, inverse: Array) -> Array:
    return namespace(z).sum(z * (inverse @ z), axis=0)


def _shared_part(at: WeightedPoints) -> tuple[Part, Array]:
    """Score tests of temperature scaling and of scores a log g + b g + c ‖g‖² log g."""
    g = at.points.prob
    xp = namespace(g)
    family = equivariant_terms(at.points)
    terms, information = (
        family.values,
        family.information(g.T[None, ...], at.square[None, :])[0, ...],
    )
    ridge = like(EQUIVARIANT_RIDGE, g)
    temperature = _ridge_inverse(information[:1, :1], ridge[:1])
    equivariant = _ridge_inverse(information, ridge)

    def combine(statistics: list[Array]) -> Array:
        z = reduce(add, statistics)
        return xp.stack([_quadratic(z[:1, :], temperature), _quadratic(z, equivariant)])

    two = g.shape[1] == 2
    matrices = (
        (terms[:, 1, :] - terms[:, 0, :])[None, ...] if two else xp.permute_dims(terms, (1, 0, 2))
    )
    return Part(("temperature", "equivariant"), terms.shape[0], combine), matrices


def _class_part(at: WeightedPoints) -> tuple[Part, Array]:
    """Score tests of a slope and a shift, and of a smooth function of g, for each class."""
    g, k = at.points.prob, at.points.prob.shape[1]
    xp = namespace(g)
    terms = smooth_terms(at.points, at.scale).values
    ridges: list[tuple[float, ...]] = [(1.0, 1.0)]
    if smooth_fits(k):
        ridges.append(SMOOTH_RIDGE)
    n_terms = len(ridges[-1])
    terms = terms[:, :n_terms, :]
    inverses = [
        _ridge_inverse(
            ClassTerms(terms[:, : len(ridge), :]).information(g.T[None, ...], at.square[None, :])[
                0, ...
            ],
            like(ridge * k, g),
        )
        for ridge in ridges
    ]

    def combine(statistics: list[Array]) -> Array:
        # Two classes have their terms in one column.
        z = xp.reshape(xp.concat(statistics, axis=0), (k, n_terms, -1))
        return xp.stack(
            [
                _quadratic(xp.reshape(z[:, : len(ridge), :], (k * len(ridge), -1)), inverse)
                for ridge, inverse in zip(ridges, inverses, strict=True)
            ]
        )

    matrices = terms
    if k == 2:
        matrices = xp.concat([-terms[0, :, :], terms[1, :, :]], axis=0)[None, ...]
    names = ("vector", "smooth")[: len(ridges)]
    return Part(names, matrices.shape[1], combine), matrices


def _mixture_part(at: WeightedPoints) -> tuple[Part, Array]:
    """Whether y_i is more often than predicted where another class is probable."""
    g = at.points.prob
    xp = namespace(g)
    columns = _columns(g.shape[1])
    variance = (g**2 * at.square[:, None]).T @ (g * (1 - g))

    def combine(statistics: list[Array]) -> Array:
        forms = [
            xp.sum(z**2 / (variance[:, i] + 1)[:, None], axis=0)
            for z, i in zip(statistics, columns, strict=True)
        ]
        return reduce(add, forms)[None, :]

    matrices = xp.broadcast_to(g.T[None, ...], (len(columns), *g.T.shape))
    return Part(("mixture",), g.shape[1], combine), matrices


def _kernel_part(
    at: WeightedPoints, generator: BregmanGenerator, rng: np.random.Generator
) -> KernelPart:
    """Prepare the kernel forms, whose features are drawn."""
    g, k = at.points.prob, at.points.prob.shape[1]
    xp = namespace(g)
    columns = _columns(k)
    curvature = generator.hessian_diagonal((g + _SMOOTHING) / (1 + k * _SMOOTHING))
    if not bool(xp.all(xp.isfinite(curvature))):
        raise bad_value(
            "generator",
            repr(generator),
            "a Hessian that is finite inside the simplex",
            "correct it; propercal.testing.check_generator finds such errors",
        )
    # F need not be convex off the simplex, where the diagonal may be negative.
    curvature = xp.clip(curvature, min=0.0)
    kernels = normalised_kernels(g, rng, _LARGEST_NUMBER // len(columns), at.count)
    features = xp.concat(kernels, axis=0)
    scales = None
    if k == 2:
        # One residual has the curvature of both classes.
        features = features * xp.sqrt(xp.sum(curvature, axis=1))
    else:
        scales = contiguous(xp.sqrt(curvature).T)
    sizes = [each.shape[0] for each in kernels]
    diagonals = [xp.sum(features[block, :] ** 2, axis=0) for block in _blocks(sizes)]
    return KernelPart(sizes, features, xp.stack(diagonals), scales)


def _blocks(sizes: list[int]) -> list[slice]:
    """Return where features of each bandwidth are among all."""
    ends = list(accumulate(sizes))
    return [slice(end - size, end) for size, end in zip(sizes, ends, strict=True)]


def normalised_kernels(
    g: Array, rng: np.random.Generator, most: int, count: Array | None = None
) -> list[Array]:
    """Return features of the kernel D^(−1/2) K D^(−1/2), D its row sums, for each bandwidth.

    `count` says how many rows each point stands for, one by default.
    """
    xp = namespace(g)
    root = xp.sqrt(g)
    count = xp.ones_like(g[:, 0]) if count is None else count
    kernels = []
    for b, bandwidth in enumerate(BANDWIDTHS):
        allowed = max(1, most // (len(BANDWIDTHS) - b))
        features, _ = kernel_features(root, bandwidth, allowed, rng, count)
        most -= features.shape[0]
        # A point is at least as near to itself as 1, which the features may have left out.
        density = xp.clip((features @ count) @ features, min=1.0)
        kernels.append(features / xp.sqrt(density))
    return kernels
