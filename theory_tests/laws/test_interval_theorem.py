"""The law of the one-step estimate: normal away from calibration, a quadratic form at it.

Proofs: book/derivations/intervals.md. A binary model has 60 log-odds z between −3 and 3, all as frequent, and is off by a
factor a: logit r = a z. Means over z are sums.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, logit

from propercal import decompose
from propercal._results.intervals import half_width

#: Recalibrations are off by known amounts here, or looked at very often; that has a warning of its own.
#: Of a test whose assertion is true, over its random seeds.
FALSE_ALARM = 1e-6
FACTOR, WIDTH, N_ROWS = 0.6, 3.0, 2000
Z = np.linspace(-WIDTH, WIDTH, 60)


class Known:
    """A recalibrator that multiplies log-odds."""

    def __init__(self, factor: float) -> None:
        self.factor = factor

    def fit(self, *_: Any) -> Known:
        return self

    def predict_proba(self, X: Any) -> Any:
        r = expit(self.factor * logit(X[:, 1]))
        return np.stack([1 - r, r], axis=1)


class OneStep(Known):
    """The first step of Newton's method to the factor of least log loss, from 1."""

    def __init__(self) -> None:
        super().__init__(1.0)

    def fit(self, X: Any, y: Any) -> OneStep:
        z = logit(X[:, 1])
        self.factor = 1 + z @ (y - X[:, 1]) / (z**2 @ (X[:, 1] * X[:, 0]))
        return self


def log_loss(z: Any, y: int) -> Any:
    return np.logaddexp(0, -z if y else z)


def mean_divergence(a: float, b: float) -> float:
    """E D_F(r_a, r_b) for the log loss, with logit r_c = c z."""
    return float(np.mean(sum(p * (log_loss(b * Z, y) - log_loss(a * Z, y)) for y, p in both(a))))


def both(a: float) -> Any:
    return ((0, expit(-a * Z)), (1, expit(a * Z)))


def influence_deviation() -> float:
    """Standard deviation of L(g, y) − L(r, y)."""
    saved = [log_loss(Z, y) - log_loss(FACTOR * Z, y) for y in (0, 1)]
    first, second = (sum(p * saved[y] ** m for y, p in both(FACTOR)).mean() for m in (1, 2))
    return math.sqrt(second - first**2)


def standardised(factor: float, n_draws: int, seed: int) -> Any:
    """√n (T − CE) / σ where every row is recalibrated by `factor`."""
    rng = np.random.default_rng(seed)
    truth, sigma = mean_divergence(FACTOR, 1.0), influence_deviation()
    found = []
    for _ in range(n_draws):
        z = rng.choice(Z, N_ROWS)
        y = (rng.uniform(size=N_ROWS) < expit(FACTOR * z)).astype(int)
        result = decompose(y, expit(z), recalibrator=Known(factor), kernel=None, n_folds=3)
        found.append(float(result.calibration_error) - truth)
    return np.array(found) * math.sqrt(N_ROWS) / sigma


@pytest.mark.slow
def test_the_estimate_is_normal_where_the_recalibration_is_right() -> None:
    """By the inequality of Dvoretzky, Kiefer and Wolfowitz, and that of Berry and Esseen at n = 2000 (.01 with room)."""
    found = standardised(FACTOR, 200, seed=1)
    bound = math.sqrt(math.log(2 / FALSE_ALARM) / (2 * len(found))) + 0.01
    assert stats.kstest(found, "norm").statistic < bound


@pytest.mark.slow
def test_what_is_left_is_the_divergence_of_the_recalibration() -> None:
    """A recalibration off by ε shifts the mean by −√n E D_F(r, r̂)/σ: four times as much for 2 ε, and no noise is added.

    The first-order term of r̂ − r has the mean 0 and a standard deviation of the order of ε.
    """
    n_draws, quantile = 100, stats.norm.isf(FALSE_ALARM / 4)
    shifts = []
    for step in (0.1, 0.2):
        found = standardised(FACTOR + step, n_draws, seed=2)
        shift = math.sqrt(N_ROWS) * mean_divergence(FACTOR, FACTOR + step) / influence_deviation()
        assert found.mean() == pytest.approx(-shift, abs=quantile * found.std() / math.sqrt(n_draws))
        shifts.append(shift)
    assert 3.4 < shifts[1] / shifts[0] < 4
    # It is as large as the noise here, and no interval of the noise can cover it.
    assert shifts[1] > 1


@pytest.mark.slow
def test_the_estimate_of_a_calibrated_model_is_a_difference_of_chi_squares() -> None:
    """One parameter and three folds: n T → ½ (χ²₁ − χ²₂ / 2), and n δ̄ → ½ χ²₁ − 5/8 χ²₂."""
    rng, n, n_draws = np.random.default_rng(3), 500, 200
    found, bounds = [], []
    for _ in range(n_draws):
        z = rng.choice(Z, n)
        y = (rng.uniform(size=n) < expit(z)).astype(int)
        result = decompose(y, expit(z), recalibrator=OneStep(), kernel=None, n_folds=3)
        found.append(n * float(result.calibration_error))
        bounds.append(n * float(result.lower_bound or 0.0))
    u, w = rng.chisquare(1, 400_000), rng.chisquare(2, 400_000)
    # DKW for both samples, and .03 for the difference of the law at n = 500 from its limit.
    bound = math.sqrt(math.log(2 / FALSE_ALARM) / (2 * n_draws)) + math.sqrt(math.log(2 / FALSE_ALARM) / 800_000) + 0.03
    assert stats.ks_2samp(found, (u - w / 2) / 2).statistic < bound
    assert stats.ks_2samp(bounds, u / 2 - 5 / 8 * w).statistic < bound


@pytest.mark.parametrize("n_parameters", [1, 3, 30])
@pytest.mark.parametrize("n_folds", [3, 5, 20])
def test_the_interval_of_a_calibrated_model_reaches_zero(n_parameters: int, n_folds: int) -> None:
    """In the limit the lower end is above 0 for fewer than one calibrated sample in 2000."""
    rng, others = np.random.default_rng(4), n_folds - 1
    u = rng.chisquare(n_parameters, 200_000)
    w = rng.chisquare(n_parameters * others, 200_000)
    estimate = (u - w / others) / 2
    correction = n_folds / (2 * others**2) * w
    error = np.sqrt(u + w / others**2 + correction**2)
    assert np.mean(estimate > half_width(1.0, 0.95) * error) < 5e-4


def test_the_variance_under_the_brier_score_is_that_of_binned_estimates() -> None:
    """With U = y − g: Var(L(g, y) − L(r, y)) = E[4 Ūᵀ E[U Uᵀ | g] Ū − 3 ‖Ū‖⁴] − CE², Ū = E[U | g]."""
    rng = np.random.default_rng(5)
    g, r = (rng.dirichlet(np.ones(4), 50) for _ in range(2))
    residual = np.eye(4) - g[:, None, :]
    saved = (residual**2).sum(-1) - ((np.eye(4) - r[:, None, :]) ** 2).sum(-1)
    mean = (r * saved).sum(1).mean()
    expected = (r * saved**2).sum(1).mean() - mean**2
    bar = r - g
    second = np.einsum("hy,hyi,hyj->hij", r, residual, residual)
    square = (bar**2).sum(1)
    found = np.einsum("hi,hij,hj->h", bar, second, bar)
    assert (4 * found - 3 * square**2).mean() - square.mean() ** 2 == pytest.approx(expected, rel=1e-10)
