"""Risk = calibration error + refinement.

E L_F(g(X), Y) = E D_F(E[Y | g(X)], g(X)) + E[−F(E[Y | g(X)])] for every convex F and every joint law of
prediction and label; equal predictions are one value of g(X).

Source: paper, section 3, "Calibration + Refinement"; Bröcker (2009), doi:10.1002/qj.456.
"""

from __future__ import annotations

import math

from hypothesis import given

from propercal.generators import BregmanGenerator
from theory_tests.laws.populations import EPS, Population, populations, rounding


@given(populations())
def test_risk_is_calibration_error_plus_refinement(case: tuple[BregmanGenerator, Population]) -> None:
    generator, population = case
    risk, error = population.risk(generator), population.calibration_error(generator)
    refinement = population.refinement(generator)
    assert math.isfinite(refinement)
    if math.isinf(risk) or math.isinf(error):
        # An outcome of predicted probability 0 has an infinite loss, and its divergence is infinite.
        assert risk == error == math.inf
        return
    # The terms are averages of ⟨∇F(g), ·⟩, which a prediction near a face makes large in both.
    tolerance = rounding(generator, population.joint) + 100 * EPS * (abs(risk) + abs(error))
    assert abs(risk - error - refinement) <= tolerance


@given(populations())
def test_calibrated_predictions_have_no_calibration_error(case: tuple[BregmanGenerator, Population]) -> None:
    generator, population = case
    calibrated = Population(population.merged[0], population.r)
    error = calibrated.calibration_error(generator)
    # r of merged equal r is r up to rounding, in which divergences near a face can be steep.
    assert abs(error) <= rounding(generator, population.joint)
    risk = calibrated.risk(generator)
    assert abs(risk - population.refinement(generator)) <= 2 * rounding(generator, population.joint)
