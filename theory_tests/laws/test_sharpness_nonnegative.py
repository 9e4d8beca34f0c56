"""The sharpness is not negative, and 0 if and only if prediction and label are independent.

Where F is strongly convex on the simplex, D_F(p, q) ≥ c ‖p − q‖², so SHARP_F ≥ c E ‖E[Y | g] − E Y‖², which
is 0 under independence alone. On the simplex c is: Brier 1. Log ½ and Itakura–Saito ½ (∇² = diag(1/p),
diag(1/p²) ≥ 1). Tsallis α/2 for α ≤ 2 (∇² = diag(α p^{α−2})). Spherical 1 / (2 √k (1 + √k)²): its
divergence is ‖p‖ ‖u − v‖² / 2 for the unit vectors u, v of p, q, where ‖p‖ ≥ 1/√k, and u ↦ u / ‖u‖₁ has the
Lipschitz constant 1 + √k on the unit vectors (‖u‖₁ ≥ 1).

Source: paper, section 5.1, "I_f ≥ 0"; the constants are derived above.
"""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from propercal.generators import BregmanGenerator, Brier, ItakuraSaito, Log, Spherical, Tsallis
from propercal.information import sharpness_divergence, statistical_information
from propercal.testing.strategies import generators, joint_tables, simplex_points
from theory_tests.laws.populations import Case, Floats, rounding, tables


def modulus(generator: BregmanGenerator, k: int) -> float:
    if isinstance(generator, Spherical):
        return 1 / (2 * math.sqrt(k) * (1 + math.sqrt(k)) ** 2)
    if isinstance(generator, Tsallis):
        return generator.alpha / 2
    return 1.0 if isinstance(generator, Brier) else 0.5


@given(tables())
def test_not_negative(case: Case) -> None:
    generator, joint = case
    for measure in (sharpness_divergence, statistical_information):
        assert measure(generator, joint) >= -rounding(generator, joint)


@given(
    st.sampled_from([Log(), Brier(), Spherical(), Tsallis(0.5), Tsallis(1.5), ItakuraSaito()]),
    st.integers(2, 4).flatmap(joint_tables),
)
def test_dependence_is_seen(generator: BregmanGenerator, joint: Floats) -> None:
    if isinstance(generator, ItakuraSaito):
        # Infinite at a zero cell, however dependent the rest.
        joint = (joint + 0.25 / joint.size) / 1.25
    prior, marginal = joint.sum(axis=0), joint.sum(axis=1)
    spread = float(marginal @ np.sum((joint / marginal[:, None] - prior) ** 2, axis=1))
    least = modulus(generator, len(prior)) * spread
    assert sharpness_divergence(generator, joint) >= least - rounding(generator, joint)


@st.composite
def independent(draw: st.DrawFn) -> Case:
    k, m = draw(st.integers(2, 4)), draw(st.integers(2, 5))
    prior, marginal = draw(simplex_points(k)), draw(simplex_points(m))
    return draw(generators(n_classes=k, finite_at_vertices=True)), np.outer(marginal, prior)


@given(independent())
def test_independence_has_none(case: Case) -> None:
    generator, joint = case
    for measure in (sharpness_divergence, statistical_information):
        assert abs(measure(generator, joint)) <= rounding(generator, joint)
