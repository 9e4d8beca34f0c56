"""On every sample, direct − risk = mean ⟨∇F(g), y − r̂⟩.

The direct estimate is mean D_F(r̂, g), the one through the risk mean F(r̂) + mean L_F(g, y). Written out,
D_F(r̂, g) − F(r̂) − L_F(g, y) = −⟨∇F(g), r̂ − g⟩ + ⟨∇F(g), y − g⟩ = ⟨∇F(g), y − r̂⟩. In expectation it is 0
where r̂ is E[Y | g]. Class-wise and for the top label it holds on pairs (1 − p, p).

Source: paper, appendix D.4 (its last but one line has mean 0 there), for Eq. 7 and Eq. 12.
"""

from __future__ import annotations

import numpy as np
from hypothesis import given

from theory_tests.laws.populations import EPS, Floats, conditional_mean, decompose
from theory_tests.laws.samples import Sample, fewer, samples


def pairs(p: Floats) -> Floats:
    return np.stack([1 - p, p], axis=-1)


def correction(sample: Sample) -> tuple[float, float]:
    """Mean ⟨∇F(g), y − r̂⟩, and the mean of the absolute terms."""
    y, g = sample.arguments
    r = conditional_mean(y, g, sample_weight=sample.data.sample_weight, **sample.settings)
    outcome = np.eye(g.shape[1])[y]
    notion = sample.settings["notion"]
    if notion == "classwise":
        g, outcome, r = pairs(g), pairs(outcome), pairs(r)
    elif notion == "top-label":
        top = g.argmax(axis=1)
        g, outcome, r = pairs(g.max(axis=1)), pairs((y == top).astype(float)), pairs(r)
    terms = sample.generator.gradient(g) * (outcome - r)
    if notion == "classwise":
        terms = terms.mean(axis=1)
    return float(sample.weight @ terms.sum(axis=-1)), float(sample.weight @ np.abs(terms).sum(axis=-1))


@fewer
@given(samples(boundary=False))
def test_direct_minus_risk_is_the_mean_of_gradient_times_residual(sample: Sample) -> None:
    direct, risk = (
        decompose(*sample.arguments, method=method, **sample.options).calibration_error for method in ("direct", "risk")
    )
    expected, size = correction(sample)
    # r̂ of a row of weight 0 is not part of the estimate, and its weight here is 0. Kernel weights carry
    # the rounding error of log k, about 1/γ ulps; F and its slopes are below 100 inside the simplex.
    tolerance = 100 * EPS * (1 / sample.settings["bandwidth"] + 10) * (1 + size)
    assert abs(direct - risk - expected) <= tolerance
