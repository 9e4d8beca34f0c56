"""Refinement = uncertainty − sharpness.

E[−F(E[Y | g(X)])] = −F(E Y) − E D_F(E[Y | g(X)], E Y): the linear term of the divergence has mean 0, as
E[E[Y | g(X)]] = E Y. With the decomposition of the risk: risk = uncertainty − sharpness + calibration error.

Source: paper, section 5.1, "− SHARP = F(E Y) + refinement"; DeGroot & Fienberg (1981).
"""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given

from propercal.generators import BregmanGenerator
from propercal.information import sharpness_divergence, statistical_information
from theory_tests.laws.populations import EPS, Population, populations, rounding


@given(populations())
def test_refinement_is_uncertainty_minus_sharpness(case: tuple[BregmanGenerator, Population]) -> None:
    generator, population = case
    refinement, uncertainty = population.refinement(generator), population.uncertainty(generator)
    tolerance = rounding(generator, population.joint)
    sharpness = population.sharpness(generator)
    slope = np.abs(generator.gradient(population.prior))
    # ⟨∇F(E Y), r − E Y⟩ averages to 0 up to ulps of a slope that is large where a class is rare; an
    # infinite one belongs to an absent class, whose r − E Y is exactly 0.
    tolerance += 50 * EPS * float(slope[np.isfinite(slope)].max(initial=0.0))
    assert abs(refinement - (uncertainty - sharpness)) <= tolerance
    assert abs(refinement - (uncertainty - sharpness_divergence(generator, population.merged[0]))) <= tolerance


@given(populations())
def test_risk_is_uncertainty_minus_sharpness_plus_calibration_error(case: tuple[BregmanGenerator, Population]) -> None:
    generator, population = case
    risk, error = population.risk(generator), population.calibration_error(generator)
    sharpness = statistical_information(generator, population.merged[0])
    if math.isinf(risk):
        assert error == math.inf
        return
    expected = population.uncertainty(generator) - sharpness + error
    assert abs(risk - expected) <= rounding(generator, population.joint) + 100 * EPS * (abs(risk) + error)
