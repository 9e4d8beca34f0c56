"""The sharpness is a multi-distribution f-divergence.

SHARP_F(g) = I_{F^Y}(P_1, ..., P_k ‖ P), with P_y the law of g(X) given Y = y, P its marginal, and
F^Y(x) = F(E[Y_1] x_1, ..., E[Y_k] x_k) − F(E Y), which is convex with F^Y(1, ..., 1) = 0.

Source: paper, section 5.2, "Sharpness as f-divergence", and its proof in appendix B.1.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import rel_entr

from propercal.information import f_divergence, sharpness_divergence, sharpness_function, statistical_information
from propercal.testing.strategies import simplex_points
from theory_tests.laws.populations import EPS, Case, rounding, tables


@given(tables())
def test_sharpness_is_the_divergence_of_class_conditional_laws(case: Case) -> None:
    generator, joint = case
    prior, marginal = joint.sum(axis=0), joint.sum(axis=1)
    r = joint / marginal[:, None]
    slope = np.abs(generator.gradient(prior))
    tolerance = rounding(generator, joint) + 50 * EPS * float(slope[np.isfinite(slope)].max(initial=0.0))
    # By its definition, E D_F(E[Y | g], E Y).
    definition = float(marginal @ generator.divergence(r, np.broadcast_to(prior, r.shape)))
    assert abs(sharpness_divergence(generator, joint) - definition) <= tolerance
    assert abs(statistical_information(generator, joint) - definition) <= tolerance
    # And by the two public pieces of the proposition, where every class occurs.
    if (prior > 0).all():
        assembled = f_divergence(sharpness_function(generator, prior), (joint / prior).T, marginal)
        assert abs(assembled - definition) <= tolerance


@given(tables(), st.data())
def test_the_function_is_convex_and_zero_at_one(case: Case, data: st.DataObject) -> None:
    generator, joint = case
    prior = joint.sum(axis=0)
    k = len(prior)
    function = sharpness_function(generator, prior)
    assert function(np.ones(k)) == 0
    # Where it is evaluated, Σ π_y x_y = 1: x = p / π, on the classes that occur.
    occurs = prior > 0
    p, q = (data.draw(simplex_points(k).filter(lambda p: p[occurs].sum() > 0.1)) for _ in range(2))
    x, y = (np.where(occurs, v, 0) / v[occurs].sum() / np.where(occurs, prior, 1) for v in (p, q))
    t = data.draw(st.floats(0, 1))
    chord = t * function(x) + (1 - t) * function(y)
    assert function(t * x + (1 - t) * y) <= chord + rounding(generator, joint)


def test_one_distribution_gives_the_usual_divergences() -> None:
    p, q = np.array([0.5, 0.3, 0.2, 0.0]), np.array([0.1, 0.3, 0.2, 0.4])

    def measured(f: object) -> float:
        return float(f_divergence(f, p[None, :], q))  # type: ignore[arg-type]

    assert measured(lambda x: rel_entr(x, 1).sum(-1)) == pytest.approx(rel_entr(p, q).sum(), rel=1e-14)
    assert measured(lambda x: np.abs(x - 1).sum(-1) / 2) == pytest.approx(np.abs(p - q).sum() / 2, rel=1e-14)
    assert measured(lambda x: ((x - 1) ** 2).sum(-1)) == pytest.approx(((p - q) ** 2 / q).sum(), rel=1e-14)
    # −log is infinite at 0, where P has lost some of Q.
    with np.errstate(divide="ignore"):
        assert measured(lambda x: -np.log(x).sum(-1)) == np.inf


def test_a_value_of_probability_zero_counts_nothing_where_f_is_infinite() -> None:
    p, q = np.array([[0.25, 0.75, 0.0]]), np.array([0.5, 0.5, 0.0])
    with np.errstate(divide="ignore"):
        found = f_divergence(lambda x: -np.log(x).sum(-1), p, q)
    assert found == pytest.approx(-0.5 * np.log(0.5 * 1.5), rel=1e-14)


@given(tables(min_values=2))
def test_values_of_probability_zero_count_nothing(case: Case) -> None:
    generator, joint = case
    padded = np.concatenate([np.zeros((1, joint.shape[1])), joint])
    # Adding zeros may change the order of a sum.
    for measure in (sharpness_divergence, statistical_information):
        assert abs(measure(generator, padded) - measure(generator, joint)) <= rounding(generator, joint)
