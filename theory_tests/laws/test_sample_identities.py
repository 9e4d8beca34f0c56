"""On every sample, for every method: risk = calibration error + refinement, refinement = uncertainty − sharpness.

Source: paper, section 4.1 (Eq. 12 defines the calibration error through the refinement) and section 5.1.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given

from propercal.estimators import METHODS
from theory_tests.laws.populations import EPS, decompose
from theory_tests.laws.samples import TERMS, Sample, fewer, samples


def agree(left: float, right: float, size: float) -> bool:
    """Whether both are the same infinity, or equal up to ulps of the terms that they are made of."""
    # Each term is a mean over at most 4 problems of numbers that satisfy the identity to one ulp.
    return left == right or abs(left - right) <= 10 * EPS * size


@pytest.mark.parametrize("method", METHODS)
@fewer
@given(sample=samples())
def test_terms_add_up(method: str, sample: Sample) -> None:
    result = decompose(*sample.arguments, method=method, **sample.options)
    terms = [getattr(result, term) for term in TERMS]
    assert not np.isnan(terms).any()
    size = 1 + sum(abs(term) for term in terms if math.isfinite(term))
    assert agree(result.risk, result.calibration_error + result.refinement, size)
    assert agree(result.refinement, result.uncertainty - result.sharpness, size)
    assert math.isfinite(result.uncertainty)
    if math.isinf(result.risk):
        # Through the risk, r̂ has a finite F. The direct estimate is finite if r̂, which leaves the outcome
        # out, did not see it; the rest is then the refinement.
        assert result.calibration_error == math.inf or (method == "direct" and result.refinement == math.inf)


@fewer
@given(sample=samples())
def test_risk_and_uncertainty_are_means_of_losses(sample: Sample) -> None:
    if sample.settings["notion"] != "canonical":
        return
    y, g = sample.arguments
    result = decompose(y, g, **sample.options)
    outcome = np.eye(g.shape[1])[y]
    loss = sample.generator.loss(g, outcome)
    positive = sample.weight > 0
    expected = float(np.sum(sample.weight[positive] * loss[positive]))
    assert result.risk == pytest.approx(expected, rel=1e-13, abs=1e-13)
    share = sample.weight @ outcome
    constant = sample.generator.loss(np.broadcast_to(share, outcome.shape), outcome)
    expected = float(np.sum(sample.weight[positive] * constant[positive]))
    # The entropy of the shares is the loss of predicting them; ∇F grows where a share is small.
    assert result.uncertainty == pytest.approx(expected, rel=1e-12, abs=1e-12)
