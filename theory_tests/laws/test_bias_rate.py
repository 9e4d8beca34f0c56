"""At a fixed bandwidth the bias of both estimators vanishes like 1/n: E[CE_n] = CE_γ + C/n + o(1/n).

CE_γ is the limit for n → ∞ at that bandwidth, from `TemperatureScaledSimplex.limit` (not the calibration
error itself, from which it differs by the smoothing bias). Two statements are tested for each estimator and
generator, on the means of independent replicates at sample sizes n, 2n, 4n, 8n:

1. the limit: the extrapolation 2 E[CE_2m] − E[CE_m], in which C/m cancels, is CE_γ at m = 4n;
2. the rate: the slope of log |E[CE_m] − CE_γ| in log m is −1.

Allowances for o(1/n): with E[CE_m] − CE_γ = C/m + D/m², statement 1 is off by D / (32 n²), and the slope by
D / (C m) at the smallest sizes. |D / C| is of the order of the number of kernel widths in the simplex, 1 / √γ = 3
(a sample of that size has no neighbours), so at n = 32 the slope is off by at most 0.1.

False alarms: each mean is of 400 replicates or more, so its error is normal; eight two-sided tests at z = 5.3
have a probability of 8 · 1.2e-7 < 1e-6 together. The seeds are fixed.

Source: paper, section 4.2, "bias converges as O(n⁻¹)"; Wolter (2007), theorem 6.2.5.
"""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest

from propercal import decompose
from propercal.generators import Brier, Log
from propercal.simulation import TemperatureScaledSimplex
from theory_tests.instances import generators
from theory_tests.laws.populations import Floats

GAMMA = 0.1
SIZES = (32, 64, 128, 256)
REPLICATES = (1000, 1000, 700, 400)
GENERATORS = generators("log", "brier")
Z = 5.3
MODEL = TemperatureScaledSimplex(2)


class Means(NamedTuple):
    """Means over replicates (sizes,) and their standard errors."""

    mean: Floats
    error: Floats


@cache
def estimates(method: str) -> dict[str, Means]:
    """E[CE_m] for each size, by generator; the noise of the risk is taken out.

    mean[L(g, y) − L(r, y)] has the true calibration error as its mean, exactly, and most of the noise of an
    estimate on the same sample.
    """
    results: dict[str, list[tuple[float, float]]] = {g.name: [] for g in GENERATORS}
    for size, n_replicates in zip(SIZES, REPLICATES, strict=True):
        y, g, p = MODEL.sample(size * n_replicates, random_state=size)
        outcome = np.eye(2)[y]
        saved = [f.loss(g, outcome) - f.loss(p, outcome) for f in GENERATORS]
        differences = np.empty((n_replicates, len(GENERATORS)))
        for i in range(n_replicates):
            rows = slice(i * size, (i + 1) * size)
            found = decompose(y[rows], g[rows], generator=GENERATORS, method=method, bandwidth=GAMMA)
            differences[i] = [
                float(result.calibration_error) - s[rows].mean() for result, s in zip(found, saved, strict=True)
            ]
        for f, column in zip(GENERATORS, differences.T, strict=True):
            truth = MODEL.truth(f, "canonical").value
            results[f.name].append((column.mean() + truth, column.std(ddof=1) / math.sqrt(n_replicates)))
    return {name: Means(*np.asarray(values).T) for name, values in results.items()}


@pytest.mark.slow
@pytest.mark.parametrize("generator", GENERATORS, ids=repr)
@pytest.mark.parametrize("method", ["direct", "risk"])
def test_bias_against_the_limit_vanishes_like_one_over_n(method: str, generator: Log | Brier) -> None:
    limit = MODEL.limit(generator, "canonical", method, GAMMA)
    mean, error = estimates(method)[generator.name]
    bias = mean - limit.value
    extrapolated, noise = 2 * mean[3] - mean[2], math.hypot(2 * error[3], error[2])
    # |D| ≤ 3 |C|, and the smallest size tells C.
    allowance = limit.error + 3 * abs(bias[0]) / (32 * SIZES[0])
    assert abs(extrapolated - limit.value) <= Z * noise + allowance
    if method == "risk":
        # The limit and the truth are not the same, and the samples can tell: 20 standard errors or so.
        truth = MODEL.truth(generator, "canonical").value
        assert abs(extrapolated - truth) > 10 * noise
    # Weighted least squares on the logarithms, whose errors are the relative ones.
    x, weight = np.log(SIZES), (bias / error) ** 2
    x = x - weight @ x / weight.sum()
    coefficient = weight * x / (weight @ x**2)
    slope, spread = float(coefficient @ np.log(np.abs(bias))), float((weight @ x**2) ** -0.5)
    assert abs(slope + 1) <= Z * spread + 0.1
    # A slope of −1/2, or of a floor, would not have passed.
    assert Z * spread + 0.1 < 0.4
