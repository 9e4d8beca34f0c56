"""Laws on the divergence D_F and the loss L_F that a generator defines."""

from __future__ import annotations

import numpy as np

from propercal.generators import BregmanGenerator
from propercal.testing._law import Law, Violation
from propercal.testing._numerics import HALF_DIGITS, NOISE, Vector, dot, magnitude, may_overflow

# Far beyond any divergence that is meant to be finite: one of two ways to compute it may overflow.
_HUGE = 1e200


def _nonnegative(generator: BregmanGenerator, p: Vector, q: Vector) -> Violation | None:
    size = magnitude(generator, p, q)
    if not np.isfinite(size) or may_overflow(generator, p, q):
        return None
    tolerance = HALF_DIGITS * (size + _size(generator.gradient(q), p - q))
    found = float(generator.divergence(p, q))
    if found >= (-tolerance if np.isfinite(tolerance) else 0.0):
        return None
    return Violation("generator.divergence(p, q)", found, "0 or more, or +inf")


def _zero_for_equals(generator: BregmanGenerator, p: Vector) -> Violation | None:
    if not np.isfinite(generator.value(p)):
        return None
    found = float(generator.divergence(p, p.copy()))
    return None if found == 0 else Violation("generator.divergence(p, p)", found, 0.0)


def _three_points(generator: BregmanGenerator, p: Vector, q: Vector, r: Vector) -> Violation | None:
    slope_q, slope_r = generator.gradient(q), generator.gradient(r)
    size = magnitude(generator, p, q, r) + sum(
        _size(slope, step) for slope in (slope_q, slope_r) for step in (p - q, q - r, p - r)
    )
    divergence = generator.divergence
    found = float(divergence(p, r) - divergence(p, q) - divergence(q, r))
    expected = dot(slope_q, p - q) - dot(slope_r, p - q)
    is_decidable = np.isfinite([size, expected, found]).all()
    if not is_decidable or abs(found - expected) <= HALF_DIGITS * size:
        return None
    return Violation(
        "generator.divergence(p, r) - generator.divergence(p, q) - generator.divergence(q, r)",
        found,
        expected,
    )


def _propriety(generator: BregmanGenerator, p: Vector, q: Vector) -> Violation | None:
    size = magnitude(generator, p, q)
    if not np.isfinite(size) or may_overflow(generator, p, q):
        return None
    expected_loss = []
    for prediction in (p, q):
        slope = generator.gradient(prediction)
        terms = 0.0
        for weight, outcome in zip(q, np.eye(len(q)), strict=True):
            if weight > 0:
                terms += weight * float(generator.loss(prediction, outcome))
                size += weight * _size(slope, outcome - prediction)
        expected_loss.append(terms)
    excess, divergence = expected_loss[0] - expected_loss[1], float(generator.divergence(q, p))
    is_close = np.isfinite(size) and abs(excess - divergence) <= HALF_DIGITS * size
    if is_close or min(excess, divergence) > _HUGE:
        return None
    return Violation(
        "sum(q[y] * (generator.loss(p, e) - generator.loss(q, e)) "
        "for y, e in enumerate(np.eye(len(p))) if q[y] > 0)",
        excess,
        f"generator.divergence(q, p) = {divergence!r}",
    )


def _strict(
    generator: BregmanGenerator, p: Vector, q: Vector, methods: tuple[str, ...]
) -> Violation | None:
    # A random pair lies on a line on which F is linear only if F is linear on whole regions.
    pairs = [(p, q), *([_along_flattest(generator, p)] if "hessian" in methods else [])]
    for a, b in pairs:
        gap = (generator.value(a) + generator.value(b)) / 2 - generator.value((a + b) / 2)
        is_flat = np.isfinite(gap) and gap <= NOISE / 64 * magnitude(generator, a, b)
        if is_flat and np.abs(a - b).max() >= 1 / 16:
            found = float(generator.divergence(a, b))
            return Violation("generator.divergence(p, q)", found, "more than 0", {"p": a, "q": b})
    return None


def _along_flattest(generator: BregmanGenerator, p: Vector) -> tuple[Vector, Vector]:
    """Return `p` and a point half the way to the boundary in the direction of least curvature."""
    hessian = generator.hessian(p)
    if p.min() <= 0 or not np.isfinite(hessian).all():
        return p, p
    centred = np.eye(len(p)) - 1 / len(p)
    form = centred @ hessian @ centred
    # The added constant makes (1, ..., 1), which leaves the simplex, the direction of most.
    v = np.linalg.eigh(form + np.abs(form).max() + 1)[1][:, 0]
    v -= v.mean()
    room = np.divide(p, -v, out=np.full_like(p, np.inf), where=v < 0)
    return p, p + room.min() / 2 * v


def _size(slope: Vector, step: Vector) -> float:
    return dot(np.abs(slope), np.abs(step))


LAWS = (
    Law(
        "divergence-of-equals",
        "D_F(p, p) = 0, wherever F(p) is finite",
        "definition of the Bregman divergence",
        "p",
        _zero_for_equals,
    ),
    Law(
        "divergence-nonnegative",
        "D_F(p, q) = F(p) − F(q) − ⟨∇F(q), p − q⟩ ≥ 0",
        "first-order condition of convexity",
        "pq",
        _nonnegative,
    ),
    Law(
        "three-point-identity",
        "D_F(p, r) = D_F(p, q) + D_F(q, r) + ⟨∇F(q) − ∇F(r), p − q⟩",
        "Banerjee et al. (2005), jmlr.org/papers/v6/banerjee05b.html",
        "pqr",
        _three_points,
    ),
    Law(
        "propriety",
        "Σ_y q_y L_F(p, e_y) − Σ_y q_y L_F(q, e_y) = D_F(q, p)",
        "Gneiting and Raftery (2007), theorem 1, doi:10.1198/016214506000001437",
        "pq",
        _propriety,
    ),
)
"""Tolerance: 1.5e-8, relative to the sum of the sizes of all terms; nothing where F is infinite."""

STRICT = Law(
    "strict-convexity",
    "D_F(p, q) > 0 for p ≠ q",
    "Gneiting and Raftery (2007), section 2.1, doi:10.1198/016214506000001437",
    "pq",
    _strict,
    is_required=False,
    takes_methods=True,
)
"""Violated by points at least 1/16 apart with D_F = 0 to within 1e-14 of the size of F and ∇F."""
