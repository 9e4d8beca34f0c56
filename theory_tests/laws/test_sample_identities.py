"""On every sample, for the published methods: risk = calibration error + refinement, refinement = uncertainty − sharpness.

Source: paper, section 4.1 (Eq. 12 defines the calibration error through the refinement) and section 5.1.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given

from propercal.methods import PUBLISHED_METHODS
from theory_tests.instances import TERMS
from theory_tests.laws.populations import EPS, decompose
from theory_tests.laws.samples import Sample, fewer, samples


def agree(left: float, right: float, size: float) -> bool:
    """Whether both are the same infinity, or equal up to ulps of the terms that they are made of."""
    # Each term is a mean over at most 4 problems of numbers that satisfy the identity to one ulp.
    return left == right or abs(left - right) <= 10 * EPS * size


@pytest.mark.parametrize("method", PUBLISHED_METHODS)
@fewer
@given(sample=samples())
def test_terms_add_up(method: str, sample: Sample) -> None:
    # One problem of several may have an infinite direct estimate: see the last test.
    assume(method == "risk" or sample.has_finite_slopes or sample.settings["notion"] != "classwise")
    result = decompose(*sample.arguments, method=method, **sample.options)
    terms = [getattr(result, term) for term in TERMS]
    assert not np.isnan(terms).any()
    assert math.isfinite(result.uncertainty)
    size = 1 + sum(abs(term) for term in terms if math.isfinite(term))
    assert agree(result.refinement, result.uncertainty - result.sharpness, size)
    if method == "direct" and math.isfinite(result.risk) and result.calibration_error == math.inf:
        # r̂ finds an outcome possible that has probability 0 in g and did not occur there: no number
        # added to ∞ makes a finite risk. The refinement is then the one of the other method.
        other = decompose(*sample.arguments, method="risk", **sample.options)
        assert result.refinement == other.refinement
        return
    assert agree(result.risk, result.calibration_error + result.refinement, size)
    if math.isinf(result.risk):
        # Through the risk, r̂ has a finite F. The direct estimate is finite if r̂, which leaves the outcome
        # out, did not see it; the rest is then the refinement.
        assert result.calibration_error == math.inf or (method == "direct" and result.refinement == math.inf)


@pytest.mark.filterwarnings("ignore:.*infinite")
def test_direct_terms_add_up_over_problems_of_which_one_is_infinite() -> None:
    # The outcome 0 has probability 0 in the last row, where r̂ finds 1 possible, and 0 not.
    y, g = [0, 1], [[1 / 3, 1 / 3, 1 / 3], [0, 0, 1]]
    result = decompose(y, g, generator="log", notion="classwise", method="direct", bandwidth=0.1)
    assert result.risk == result.calibration_error == math.inf
    assert math.isfinite(result.refinement)
    assert math.isfinite(result.sharpness)


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
