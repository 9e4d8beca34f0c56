"""How laws are compared in floating-point numbers: directions, magnitudes, tolerances."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from propercal.generators import BregmanGenerator

Vector = npt.NDArray[np.float64]

HALF_DIGITS = float(np.sqrt(np.finfo(np.float64).eps))
"""Tolerance of exact identities, relative to the terms that are added: √eps, half the digits."""

DERIVATIVE = 64 * HALF_DIGITS
"""Tolerance of derivatives, relative to the largest component: about 1e-6."""

NOISE = 2.0**-40
"""Rounding error that F and ∇F may have, relative to their size: about 1e-12."""

INTERIOR = 1e-4
"""Smallest coordinate in whose direction finite differences are taken."""

TINY = 1e-60
"""Below it, F and ∇F of a generator that is infinite at a vertex may overflow."""

_STEPS = np.arange(1, 5)
# Central differences of order 8: f'(0) ≈ Σ c_j (f(jh) − f(−jh)) / h.
_WEIGHTS = np.asarray(
    [float(Fraction(n, d)) for n, d in ((4, 5), (-1, 5), (4, 105), (-1, 280))], dtype=np.float64
)


def directions(p: Vector) -> tuple[Vector, Vector]:
    """Return directions e_i − e_m, for m the largest coordinate, and the p_i that shrink along.

    They span the tangent space of the face of those classes whose p_i is not small.
    """
    pivot = int(p.argmax())
    moved = [i for i in np.flatnonzero(p >= INTERIOR) if i != pivot]
    identity = np.eye(len(p))
    return identity[moved] - identity[pivot], p[moved]


def derivatives(
    function: Callable[[Vector], Vector], p: Vector, along: Vector, room: Vector
) -> tuple[Vector, Vector]:
    """Differentiate `function`, from (..., k) to (..., m), at `p` in each of d directions.

    Returns the derivatives (d, m) and an estimate of their truncation error, which is large where
    `function` is not smooth within room / 8.
    """
    coarse, fine = (_central(function, p, along, room * scale) for scale in (1 / 32, 1 / 64))
    return fine, np.abs(fine - coarse)


def _central(
    function: Callable[[Vector], Vector], p: Vector, along: Vector, step: Vector
) -> Vector:
    shift = _STEPS[:, None, None] * step[:, None] * along
    difference = function(p + shift) - function(p - shift)
    total: Vector = np.tensordot(_WEIGHTS, difference, axes=1)
    return total / step[:, None]


def scale(generator: BregmanGenerator, n_classes: int) -> float:
    """Return the largest of |F| and |∂F/∂p_i| well inside the simplex.

    It is the size of the numbers that F is computed from, to which its rounding error is relative.
    """
    inside = (np.eye(n_classes) + 1 / n_classes) / 2
    reference = [np.abs(generator.value(inside)), np.abs(generator.gradient(inside))]
    return max(float(np.max(x, initial=0.0, where=np.isfinite(x))) for x in reference)


def magnitude(generator: BregmanGenerator, *points: Vector) -> float:
    """Return :func:`scale` plus |F| at each of `points`."""
    values = [abs(float(generator.value(p))) for p in points]
    return scale(generator, len(points[0])) + sum(values)


def dot(slope: Vector, step: Vector) -> float:
    """⟨slope, step⟩ with ∞ · 0 = 0."""
    return float(np.sum(np.where(step == 0, 0.0, slope * step)))


def may_overflow(generator: BregmanGenerator, *points: Vector) -> bool:
    """Tell whether F or ∇F may be too large for a float at `points`, close to an infinite vertex.

    A convex F that is finite at the vertices is bounded, and its slope at p_i is at most of the
    order of 1 / p_i: it can overflow nowhere.
    """
    if not any(((p > 0) & (p < TINY)).any() for p in points):
        return False
    return not np.isfinite(generator.value(np.eye(len(points[0])))).all()
