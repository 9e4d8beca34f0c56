"""The one-vs-rest risk has a class-wise calibration error and a class-wise sharpness.

(1/k) Σ_i R_i(g_i) = (1/k) Σ_i −F(P(Y = i)) + CWCE_F(g_1, ..., g_k) − SHARP_F(g_1, ..., g_k), where class i
is a binary problem of its own that conditions on g_i alone; the g_i need not sum to 1. In terms of pairs
(1 − q, q), F(q) = q² has D_F = ½ ‖·‖², so the Brier score of pairs has twice CWCE_2².

Source: paper, appendix C.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from propercal.generators import BregmanGenerator, Brier
from propercal.information import sharpness_divergence
from propercal.testing.strategies import generators, joint_tables
from theory_tests.laws.populations import EPS, Floats, Population, decompose, rounding
from theory_tests.laws.samples import fewer

BINS = 1 / 16


@st.composite
def one_vs_rest(draw: st.DrawFn) -> tuple[BregmanGenerator, Population]:
    """Binary predictions in eighths for each class, which need not sum to 1."""
    k = draw(st.integers(2, 4))
    joint = draw(joint_tables(k))
    eighth = st.integers(0, 8).map(lambda count: count / 8)
    rows = st.lists(eighth, min_size=k, max_size=k)
    scores: Floats = np.asarray(draw(st.lists(rows, min_size=len(joint), max_size=len(joint))))
    return draw(generators(n_classes=2, finite_at_vertices=True)), Population(joint, scores)


def mean_over_classes(population: Population, term: str, generator: BregmanGenerator) -> float:
    parts = [population.one_vs_rest(i) for i in range(population.joint.shape[1])]
    return float(np.mean([getattr(part, term)(generator) for part in parts]))


@given(one_vs_rest())
def test_the_one_vs_rest_risk_decomposes(case: tuple[BregmanGenerator, Population]) -> None:
    generator, population = case
    risk, error = (mean_over_classes(population, term, generator) for term in ("risk", "calibration_error"))
    if math.isinf(risk):
        assert error == math.inf
        return
    uncertainty = mean_over_classes(population, "uncertainty", generator)
    k = population.joint.shape[1]
    sharpness = np.mean([sharpness_divergence(generator, population.one_vs_rest(i).merged[0]) for i in range(k)])
    tolerance = rounding(generator, np.ones((1, 2))) + 100 * EPS * (abs(risk) + error)
    assert abs(risk - (uncertainty + error - sharpness)) <= tolerance


@fewer
@given(one_vs_rest())
def test_the_class_wise_notion_is_the_one_vs_rest_decomposition(case: tuple[BregmanGenerator, Population]) -> None:
    generator, population = case
    cells = np.argwhere(population.joint > 0)
    if len(cells) < 2:
        return
    found = decompose(
        np.eye(population.joint.shape[1], dtype=int)[cells[:, 1]],
        population.prediction[cells[:, 0]],
        sample_weight=population.joint[tuple(cells.T)],
        generator=generator,
        notion="classwise",
        kernel="uniform-bins",
        bandwidth=BINS,
        exclude_self=False,
    )
    for term in ("risk", "calibration_error", "refinement", "sharpness", "uncertainty"):
        expected = mean_over_classes(population, term, generator)
        # A Hessian of up to 32 amplifies the ulps of r̂; infinite terms are equal.
        assert getattr(found, term) == pytest.approx(expected, rel=1e-12, abs=1e-12), term


@given(one_vs_rest())
def test_the_brier_score_of_pairs_has_twice_the_squared_class_wise_error(
    case: tuple[BregmanGenerator, Population],
) -> None:
    _, population = case
    k = population.joint.shape[1]
    squared = []
    for i in range(k):
        scores = population.prediction[:, i]
        mean = 0.0
        for value in np.unique(scores):
            rows = population.joint[scores == value]
            mean += rows.sum() * (rows[:, i].sum() / rows.sum() - value) ** 2
        squared.append(mean)
    found = mean_over_classes(population, "calibration_error", Brier())
    assert found == pytest.approx(2 * np.mean(squared), abs=20 * EPS)
