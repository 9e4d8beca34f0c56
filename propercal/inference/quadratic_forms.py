r"""Quadratic forms in the residuals y − g that tell miscalibrated predictions from calibrated ones.

Every form is computed from linear statistics Z = Σ_h w_h A_h (y_h − g_h), which are one matrix
product for many label sets at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np

from propercal._array import device, like, namespace
from propercal._data.messages import bad_value
from propercal._data.notions import Problem
from propercal._kernels.kernels import BANDWIDTHS
from propercal._typing import Array
from propercal.generators.base import BregmanGenerator
from propercal.inference.hellinger import kernel_features
from propercal.recalibration.families import (
    EQUIVARIANT_RIDGE,
    LARGEST_SYSTEM,
    SMOOTH_RIDGE,
    equivariant_terms,
    smooth_fits,
    smooth_terms,
    spread,
    vector_fits,
)
from propercal.recalibration.logit import ClassTerms
from propercal.recalibration.points import Points, interior

#: Kernel features of all bandwidths, times classes.
_LARGEST_NUMBER = 4096
#: Added to each probability where the curvature of F is taken, which may be infinite at 0.
_SMOOTHING = 0.02


@dataclass(frozen=True)
class Part:
    """Forms that share linear statistics."""

    names: tuple[str, ...]
    matrices: list[tuple[Array, ...]]
    """For each residual column, (d, n) in one or more parts: what outcomes are multiplied with."""
    offsets: list[Array]
    """For each column, (d,): what the predictions would give."""
    combine: Callable[[list[Array]], Array]
    """From the statistics (d, sets) of each column to the forms (names, sets)."""
    scales: list[Array] | None = None
    """For each column, (n,) factors of the outcomes, so that columns may share a matrix."""
    diagonals: Array | None = None
    """(b, n) what squares of scaled residuals are multiplied with, in the last b statistics."""

    def statistics(self, j: int, outcome: Array, *, binary: bool = True) -> Array:
        """Return the statistics (d, sets) of column number `j` for its outcomes (sets, n).

        Matrices are those of `binary` outcomes, which are their own squares.
        """
        if not binary and self.diagonals is not None:
            assert self.scales is not None  # noqa: S101
            xp = namespace(outcome)
            excess = ((outcome**2 - outcome) * self.scales[j] ** 2) @ self.diagonals.T
            found = self.statistics(j, outcome)
            n_linear = found.shape[0] - excess.shape[1]
            return xp.concat([found[:n_linear, :], found[n_linear:, :] + excess.T], axis=0)
        if self.scales is not None:
            outcome = outcome * self.scales[j]
        # In this order of the factors OpenBLAS is many times as fast.
        found = [outcome @ matrix.T for matrix in self.matrices[j]]
        return (namespace(outcome).concat(found, axis=1) - self.offsets[j]).T


@dataclass(frozen=True)
class QuadraticForms:
    """The forms of one problem, to be evaluated on many label sets."""

    columns: tuple[int, ...]
    """The classes whose residuals are looked at: two classes have one residual."""
    parts: tuple[Part, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the forms."""
        return tuple(name for part in self.parts for name in part.names)

    prob: Array
    """(n, k) the predictions."""

    def __call__(self, label: Array, weight: Array | None = None) -> Array:
        """Evaluate all forms on label sets (sets, n): an array (forms, sets).

        Residuals are multiplied by `weight` (sets, n) beside the weights of the problem.
        """
        xp = namespace(label)
        statistics: list[list[Array]] = [[] for _ in self.parts]
        for j, i in enumerate(self.columns):
            outcome = xp.astype(label == i, xp.float64)
            if weight is not None:
                g = self.prob[:, i]
                outcome = g + weight * (outcome - g)
            for part, found in zip(self.parts, statistics, strict=True):
                found.append(part.statistics(j, outcome, binary=weight is None))
        forms = [part.combine(found) for part, found in zip(self.parts, statistics, strict=True)]
        return xp.concat(forms, axis=0)


def quadratic_forms(
    problem: Problem, generator: BregmanGenerator, rng: np.random.Generator
) -> QuadraticForms:
    """Prepare the forms of a problem, whose labels are not looked at.

    Parameters
    ----------
    problem : Problem
        Predictions and weights.
    generator : BregmanGenerator
        F, whose curvature is the metric of the kernel forms.
    rng : numpy.random.Generator
        Draws the points on which the kernel features rest.
    """
    points = interior(problem.log_prob)
    weight = problem.weight * problem.weight.shape[0]
    k = problem.n_classes
    parts = [_shared_part(points, weight)]
    if vector_fits(k):
        parts.append(_class_part(points, weight))
    if k * k <= LARGEST_SYSTEM:
        parts.append(_mixture_part(points, weight))
    parts.append(_kernel_part(points, weight, generator, rng))
    return QuadraticForms(_columns(k), tuple(parts), points.prob)


def _columns(k: int) -> tuple[int, ...]:
    return (1,) if k == 2 else tuple(range(k))


def _part(
    names: tuple[str, ...],
    matrices: list[Array],
    prob: Array,
    combine: Callable[[list[Array]], Array],
) -> Part:
    columns = _columns(prob.shape[1])
    offsets = [matrix @ prob[:, i] for matrix, i in zip(matrices, columns, strict=True)]
    return Part(names, [(matrix,) for matrix in matrices], offsets, combine)


def _ridge_inverse(information: Array, ridge: Array) -> Array:
    xp = namespace(information)
    eye = xp.eye(ridge.shape[0], dtype=information.dtype, device=device(information))
    return xp.linalg.inv(information + eye * ridge)


def _quadratic(z: Array, inverse: Array) -> Array:
    return namespace(z).sum(z * (inverse @ z), axis=0)


def _shared_part(points: Points, weight: Array) -> Part:
    """Score tests of temperature scaling and of scores a log g + b g + c ‖g‖² log g."""
    xp = namespace(weight)
    g = points.prob
    family = equivariant_terms(points)
    terms, information = family.values, family.information(g, weight**2)
    ridge = like(EQUIVARIANT_RIDGE, g)
    temperature = _ridge_inverse(information[:1, :1], ridge[:1])
    equivariant = _ridge_inverse(information, ridge)

    def combine(statistics: list[Array]) -> Array:
        z = reduce(add, statistics)
        return xp.stack([_quadratic(z[:1, :], temperature), _quadratic(z, equivariant)])

    columns = _columns(g.shape[1])
    if len(columns) == 1:
        matrices = [(terms[:, :, 1] - terms[:, :, 0]) * weight]
    else:
        matrices = [terms[:, :, i] * weight for i in columns]
    return _part(("temperature", "equivariant"), matrices, g, combine)


def _class_part(points: Points, weight: Array) -> Part:
    """Score tests of a slope and a shift, and of a smooth function of g, for each class."""
    xp = namespace(weight)
    g, k = points.prob, points.prob.shape[1]
    terms = smooth_terms(points, spread(points.log_prob)).values
    ridges: list[tuple[float, ...]] = [(1.0, 1.0)]
    if smooth_fits(k):
        ridges.append(SMOOTH_RIDGE)
    n_terms = len(ridges[-1])
    terms = terms[:, :, :n_terms]
    inverses = [
        _ridge_inverse(
            ClassTerms(terms[:, :, : len(ridge)]).information(g, weight**2), like(ridge * k, g)
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

    matrices = [terms[i, :, :].T * weight for i in range(k)]
    if k == 2:
        matrices = [xp.concat([-matrices[0], matrices[1]], axis=0)]
    return _part(("vector", "smooth")[: len(ridges)], matrices, g, combine)


def _mixture_part(points: Points, weight: Array) -> Part:
    """Whether y_i is more often than predicted where another class is probable."""
    xp = namespace(weight)
    g = points.prob
    columns = _columns(g.shape[1])
    variance = ((g * weight[:, None]) ** 2).T @ (g * (1 - g))

    def combine(statistics: list[Array]) -> Array:
        forms = [
            xp.sum(z**2 / (variance[:, i] + 1)[:, None], axis=0)
            for z, i in zip(statistics, columns, strict=True)
        ]
        return reduce(add, forms)[None, :]

    matrix = (g * weight[:, None]).T
    return _part(("mixture",), [matrix] * len(columns), g, combine)


def _kernel_part(
    points: Points, weight: Array, generator: BregmanGenerator, rng: np.random.Generator
) -> Part:
    """U-statistics Σ_{h≠j} w_h w_j K_hj Σ_i f_hi f_ji e_hi e_ji of e = y − g, f² = diag ∇²F."""
    xp = namespace(weight)
    g, k = points.prob, points.prob.shape[1]
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
    if k == 2:
        curvature = xp.broadcast_to(xp.sum(curvature, axis=1)[:, None], g.shape)
    kernels = normalised_kernels(g, rng, _LARGEST_NUMBER // len(columns))
    diagonals = xp.stack([xp.sum(features**2, axis=0) for features in kernels]) * weight**2
    features = xp.concat(kernels, axis=0) * weight
    sizes = [features.shape[0] for features in kernels]
    blocks = [slice(sum(sizes[:b]), sum(sizes[: b + 1])) for b in range(len(sizes))]
    root = xp.sqrt(curvature)
    matrices, offsets = [], []
    for i in columns:
        # What pairs h = j add: f² (y − g)² = f² (1 − 2 g) y + f² g², of which f y comes scaled.
        matrices.append((features, diagonals * (root[:, i] * (1 - 2 * g[:, i]))))
        linear = features @ (root[:, i] * g[:, i])
        offsets.append(xp.concat([linear, -(diagonals @ (curvature[:, i] * g[:, i] ** 2))]))

    def combine(statistics: list[Array]) -> Array:
        forms = []
        for z in statistics:
            squares = [xp.sum(z[block, :] ** 2, axis=0) for block in blocks]
            forms.append(xp.stack(squares) - z[features.shape[0] :, :])
        return reduce(add, forms)

    # The widest Hellinger kernel sees the whole simplex, the narrowest ±0.08 at most.
    names = tuple(f"kernel {bandwidth:g}" for bandwidth in BANDWIDTHS)
    scales = [root[:, i] for i in columns]
    return Part(names, matrices, offsets, combine, scales, diagonals)


def normalised_kernels(g: Array, rng: np.random.Generator, most: int) -> list[Array]:
    """Return features of the kernel D^(−1/2) K D^(−1/2), D its row sums, for each bandwidth."""
    xp = namespace(g)
    root = xp.sqrt(g)
    kernels = []
    for b, bandwidth in enumerate(BANDWIDTHS):
        allowed = max(1, most // (len(BANDWIDTHS) - b))
        features, _ = kernel_features(root, bandwidth, allowed, rng)
        most -= features.shape[0]
        # A point is at least as near to itself as 1, which the features may have left out.
        density = xp.clip(xp.sum(features, axis=1) @ features, min=1.0)
        kernels.append(features / xp.sqrt(density))
    return kernels
