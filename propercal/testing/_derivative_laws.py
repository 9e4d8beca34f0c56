"""Laws on F, ∇F and ∇²F: convexity, and each the derivative of the one before.

On the simplex only the directions v with Σ v = 0 matter. A gradient that is off by one constant in
all its components, such as log p_i in place of log p_i + 1, has the same loss and divergence. So ∇F
and ∇²F are checked along e_i − e_m, for m the most probable class.
"""

from __future__ import annotations

import numpy as np

from propercal.generators import BregmanGenerator
from propercal.testing._law import Law, Violation
from propercal.testing._methods import no_hessian
from propercal.testing._numerics import (
    DERIVATIVE,
    HALF_DIGITS,
    INTERIOR,
    NOISE,
    Vector,
    derivatives,
    directions,
    magnitude,
    may_overflow,
    scale,
)


def _convexity(generator: BregmanGenerator, p: Vector, q: Vector) -> Violation | None:
    middle = (p + q) / 2
    found = float(generator.value(middle))
    chord = float((generator.value(p) + generator.value(q)) / 2)
    if not np.isfinite(chord) or found <= chord + HALF_DIGITS * magnitude(generator, p, q):
        return None
    return Violation("generator.value((p + q) / 2)", found, f"at most {chord!r}")


def _gradient_not_nan(generator: BregmanGenerator, p: Vector) -> Violation | None:
    found = generator.gradient(p)
    is_lenient = not np.isfinite(generator.value(p)) or may_overflow(generator, p)
    if is_lenient or not np.isnan(found).any():
        return None
    value = float(generator.value(p))
    return Violation("generator.gradient(p)", found, f"no NaN, since F(p) = {value!r} is finite")


def _gradient(generator: BregmanGenerator, p: Vector) -> Violation | None:
    face = _Face(generator, p)
    slopes, truncation = derivatives(
        lambda x: generator.value(x)[..., None], p, face.along, face.room
    )
    gradient = face.restrict(generator.gradient(p))
    noise = NOISE * magnitude(generator, p) / face.step
    tolerance = DERIVATIVE * np.abs(gradient).max() + 8 * truncation[:, 0] + noise
    found = face.along @ gradient
    wrong = ~(np.abs(found - slopes[:, 0]) <= tolerance)
    if not wrong.any():
        return None
    i = int(wrong.argmax())
    return Violation(
        "generator.gradient(p) @ v", float(found[i]), float(slopes[i, 0]), {"v": face.along[i]}
    )


def _gradient_from_log(generator: BregmanGenerator, p: Vector) -> Violation | None:
    if not np.isfinite(generator.value(p)) or may_overflow(generator, p):
        return None
    pivot = p.argmax()
    expected, found = generator.gradient(p), generator.gradient_from_log(np.log(p))
    # Up to a constant in all components, which does not matter.
    steps = [slope - slope[pivot] for slope in (found, expected)]
    size = np.abs(expected) + np.abs(expected[pivot]) + np.abs(found[pivot])
    tolerance = np.where(np.isfinite(size), HALF_DIGITS * size, 0.0)
    if ((steps[0] == steps[1]) | (np.abs(steps[0] - steps[1]) <= tolerance)).all():
        return None
    return Violation("generator.gradient_from_log(np.log(p))", found, expected)


def _hessian_symmetry(generator: BregmanGenerator, p: Vector) -> Violation | None:
    face = _Face(generator, p)
    form = face.form(generator.hessian(p))
    tolerance = HALF_DIGITS * np.max(np.abs(form), initial=0) + NOISE * scale(generator, len(p))
    return face.mismatch(form, form.T, tolerance)


def _hessian_psd(generator: BregmanGenerator, p: Vector) -> Violation | None:
    face = _Face(generator, p)
    form = face.form(generator.hessian(p))
    if not np.isfinite(form).all() or not form.size:
        return None
    curvatures, vectors = np.linalg.eigh((form + form.T) / 2)
    tolerance = HALF_DIGITS * np.abs(curvatures).max() + NOISE * scale(generator, len(p))
    if curvatures[0] >= -tolerance:
        return None
    # One of the simple directions, if it will do, is easier to read than an eigenvector.
    lowest = int(np.diag(form).argmin())
    is_simple = form[lowest, lowest] < -tolerance
    weights = np.eye(len(form))[lowest] if is_simple else vectors[:, 0]
    return Violation(
        "v @ generator.hessian(p) @ v",
        float(weights @ form @ weights),
        "0 or more",
        {"v": weights @ face.along},
    )


def _hessian(generator: BregmanGenerator, p: Vector) -> Violation | None:
    face = _Face(generator, p)
    form = face.form(generator.hessian(p))
    change, truncation = derivatives(
        lambda x: face.restrict(generator.gradient(x)) @ face.along.T, p, face.along, face.room
    )
    slope = np.abs(face.restrict(generator.gradient(p))).max()
    noise = NOISE * (scale(generator, len(p)) + slope) / face.step
    # A column of ∇²F is one direction of differentiation, with a magnitude of its own.
    tolerance = DERIVATIVE * np.max(np.abs(form), axis=0, initial=0) + 8 * truncation.T + noise
    return face.mismatch(form, change.T, tolerance)


def _hessian_products(generator: BregmanGenerator, p: Vector) -> Violation | None:
    face = _Face(generator, p)
    hessian = generator.hessian(p)
    form = face.form(hessian)
    if not np.isfinite(form).all() or not form.size:
        return None
    tolerance = HALF_DIGITS * np.abs(form).max() + NOISE * scale(generator, len(p))
    points = np.broadcast_to(p, face.along.shape)
    products = face.along @ face.restrict(generator.hessian_times(points, face.along)).T
    call = "v @ generator.hessian_times(p, w)"
    found = face.mismatch(products, form, tolerance, call)
    if found is not None:
        return found
    expected, diagonal = np.diag(hessian), generator.hessian_diagonal(p)
    wrong = ~(np.abs(diagonal - expected) <= HALF_DIGITS * np.abs(expected)) & (p >= INTERIOR)
    return Violation("generator.hessian_diagonal(p)", diagonal, expected) if wrong.any() else None


class _Face:
    """The tangent directions `along` which F can be differentiated at p: none where F is infinite.

    Components whose p_i is small or zero are left out, since ∇F and ∇²F may be infinite there.
    """

    def __init__(self, generator: BregmanGenerator, p: Vector) -> None:
        is_finite = np.isfinite(generator.value(p))
        along, room = directions(p)
        self.along, self.room = (along, room) if is_finite else (along[:0], room[:0])
        self.step = self.room / 64
        self._kept = p >= INTERIOR

    def restrict(self, gradient: Vector) -> Vector:
        """Set to 0 the components of ∇F that `along` does not touch."""
        return np.where(self._kept, gradient, 0.0)

    def form(self, hessian: Vector) -> Vector:
        """Return vᵀ ∇²F w for all pairs of directions."""
        kept = self._kept[:, None] & self._kept
        return self.along @ np.where(kept, hessian, 0.0) @ self.along.T

    def mismatch(
        self,
        found: Vector,
        expected: Vector,
        tolerance: Vector | float,
        call: str = "v @ generator.hessian(p) @ w",
    ) -> Violation | None:
        wrong = ~(np.abs(found - expected) <= tolerance)
        if not wrong.any():
            return None
        i, j = np.unravel_index(int(wrong.argmax()), wrong.shape)
        return Violation(
            call,
            float(found[i, j]),
            float(expected[i, j]),
            {"v": self.along[i], "w": self.along[j]},
        )


LAWS = (
    Law(
        "convexity",
        "F((p + q) / 2) ≤ (F(p) + F(q)) / 2",
        "Jensen's inequality",
        "pq",
        _convexity,
    ),
    Law(
        "gradient-not-nan",
        "∇F(p) may be infinite but is not NaN, wherever F(p) is finite",
        "0 · ∞ = 0 in the loss needs a definite slope; Gneiting and Raftery (2007), section 2.1",
        "p",
        _gradient_not_nan,
    ),
    Law(
        "gradient",
        "⟨∇F(p), v⟩ = d/dt F(p + t v) at t = 0, for every v that sums to 0",
        "definition of the derivative, by central differences of order 8",
        "p",
        _gradient,
    ),
    Law(
        "gradient-from-log",
        "gradient_from_log(log p) = ∇F(p), up to one constant in all components",
        "definition of a BregmanGenerator",
        "p",
        _gradient_from_log,
    ),
    Law(
        "hessian-symmetry",
        "⟨v, ∇²F(p) w⟩ = ⟨w, ∇²F(p) v⟩, for all v and w that sum to 0",
        "Schwarz's theorem",
        "p",
        _hessian_symmetry,
        no_hessian,
    ),
    Law(
        "hessian",
        "⟨v, ∇²F(p) w⟩ = d/dt ⟨∇F(p + t w), v⟩ at t = 0, for all v and w that sum to 0",
        "definition of the derivative, by central differences of order 8",
        "p",
        _hessian,
        no_hessian,
    ),
    Law(
        "hessian-products",
        "hessian_times(p, v) = ∇²F(p) v for every v that sums to 0; hessian_diagonal its diagonal",
        "definition of a BregmanGenerator",
        "p",
        _hessian_products,
        no_hessian,
    ),
    Law(
        "hessian-psd",
        "⟨v, ∇²F(p) v⟩ ≥ 0, for every v that sums to 0",
        "second-order condition of convexity",
        "p",
        _hessian_psd,
        no_hessian,
    ),
)
"""Tolerances, relative to F and ∇F: 1.5e-8 for convexity, gradient-from-log and the Hessian's form.

For derivatives 1e-6, and on top rounding of 1e-12 divided by the step (p_i / 64) and 8 times the
truncation error, as estimated from two steps; so nothing is said of F where it has a kink nearby.
Directions in which p_i < 1e-4 are left out.
"""
