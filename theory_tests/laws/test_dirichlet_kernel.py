"""The Dirichlet kernel is the density of a Dirichlet distribution around the source.

k_γ(t; x) = Γ(Σ α) / Π Γ(α_i) · Π t_i^{α_i − 1} with α = x / γ + 1. As a density in t it integrates to 1 over
the simplex; for two classes it is the beta kernel. In u = x / γ and λ = t / γ it is proportional to a product
of Poisson probabilities u ↦ λ^u e^{−λ} / Γ(u + 1), each of which exceeds its value at u = λ by a factor of at
most exp(max_λ [log Γ(λ + 1) − λ log λ]) = exp(0.2533...) < exp(0.26), at u = 0. So
log k(t; x) ≤ log k(t; t) + 0.26 k for all t and x, which keeps sums of kernel values from overflowing.

Source: paper, Eq. 10 and appendix D.1; Ouimet & Tolosana-Delgado (2022), doi:10.1016/j.jmva.2021.104832;
Chen (1999), doi:10.1016/S0167-9473(99)00010-9; the bound is derived in propercal._kernels.kernels.
"""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import given, target
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import gamma as gamma_function
from scipy.special import gammaln, logsumexp
from scipy.stats import beta, dirichlet

from propercal._data.predictions.notions import Problem
from propercal._kernels.conditional import kernel_mean
from propercal._kernels.kernels import HEADROOM, DirichletKernel, _stirling_residual
from propercal.testing.strategies import simplex_points
from theory_tests.laws.populations import EPS, Floats, conditional_mean

LOG_ZERO = float(np.log(5e-324))


def logarithm(p: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(p))


def log_kernel(t: Floats, x: Floats, gamma: float) -> Floats:
    """log k_γ of every target row and source row, as the package's sums see it."""
    kernel = DirichletKernel()
    targets = kernel.features(t, logarithm(t), gamma)
    sources = kernel.features(x, logarithm(x), gamma)
    return np.asarray(targets.log_scale[:, None] + targets.target @ sources.source)


def exponents(points: Floats, gamma: float) -> Floats:
    features = DirichletKernel().features(points, logarithm(points), gamma)
    return np.asarray(features.target @ features.source)


def magnitude(t: Floats, x: Floats, gamma: float) -> float:
    """Size of the largest term of log k: its rounding error is a few ulps of it."""
    return float(1e3 + (1 + np.abs(np.maximum(logarithm(t), LOG_ZERO)).max()) * 2 / gamma + x.size)


# ------------------------------------------------------------- a density
SOURCES = (0.0, 0.03, 0.5, 0.8, 1.0)


@pytest.mark.parametrize("gamma", [1.0, 0.1, 0.01])
@pytest.mark.parametrize("first", SOURCES)
def test_integral_over_the_segment_is_one(gamma: float, first: float) -> None:
    # The trapezoid rule in the logit of t, where the integrand is analytic and dies off exponentially.
    u = np.arange(-45, 45, 0.05)
    t = np.stack([1 / (1 + np.exp(-u)), 1 / (1 + np.exp(u))], axis=1)
    density = np.exp(log_kernel(t, np.array([[first, 1 - first]]), gamma)[:, 0])
    assert 0.05 * float(density @ (t[:, 0] * t[:, 1])) == pytest.approx(1, abs=1e-10)


@pytest.mark.parametrize("gamma", [1.0, 0.1, 0.02])
@pytest.mark.parametrize("source", [(1 / 3, 1 / 3, 1 / 3), (0.7, 0.2, 0.1), (0.5, 0.5, 0.0), (0.0, 0.0, 1.0)])
def test_integral_over_the_triangle_is_one(gamma: float, source: tuple[float, ...]) -> None:
    # t = (a, (1 − a) b, (1 − a)(1 − b)), the trapezoid rule in the logits of a and b.
    step = 0.15
    u = np.arange(-35, 35, step)
    s, rest = 1 / (1 + np.exp(-u)), 1 / (1 + np.exp(u))
    t = np.stack([np.repeat(s, u.size), np.outer(rest, s).ravel(), np.outer(rest, rest).ravel()], axis=1)
    area = np.outer(s * rest * rest, s * rest).ravel()
    density = np.exp(log_kernel(t, np.array([source]), gamma)[:, 0])
    assert step**2 * float(density @ area) == pytest.approx(1, abs=1e-9)


@given(t=simplex_points(2), x=simplex_points(2), gamma=st.sampled_from((0.1, 1.0, 0.01, 1e-3)))
def test_two_classes_are_the_beta_kernel(t: Floats, x: Floats, gamma: float) -> None:
    found = log_kernel(t[None], x[None], gamma)[0, 0]
    a, b = x / gamma + 1
    # From logarithms where t is below the resolution of 1 − t; scipy's pdf would round it away.
    log_t = np.maximum(logarithm(t), LOG_ZERO)
    expected = (a - 1) * log_t[0] + (b - 1) * log_t[1] + gammaln(a + b) - gammaln(a) - gammaln(b)
    tolerance = 20 * EPS * magnitude(t, x, gamma)
    assert abs(found - expected) <= tolerance
    if (t > 1e-3).all():
        assert abs(found - beta.logpdf(t[0], a, b)) <= tolerance


@pytest.mark.parametrize("k", [3, 5])
@given(data=st.data(), gamma=st.sampled_from((0.1, 1.0, 0.01)))
def test_it_is_the_dirichlet_density(k: int, data: st.DataObject, gamma: float) -> None:
    t = data.draw(simplex_points(k, boundary=False))
    x = data.draw(simplex_points(k))
    expected = dirichlet.logpdf(t / t.sum(), x / gamma + 1)
    assert abs(log_kernel(t[None], x[None], gamma)[0, 0] - expected) <= 50 * EPS * magnitude(t, x, gamma)


# ------------------------------------------------------------- in log space
@given(
    points=st.integers(2, 4).flatmap(lambda k: st.lists(simplex_points(k, boundary=False), min_size=3, max_size=6)),
    data=st.data(),
    gamma=st.sampled_from((0.1, 0.05, 1.0)),
)
def test_log_space_is_the_plain_formula_where_that_is_in_range(
    points: list[Floats], data: st.DataObject, gamma: float
) -> None:
    g = np.asarray(points)
    n, k = g.shape
    y = np.asarray(data.draw(st.lists(st.integers(0, k - 1), min_size=n, max_size=n)))
    alpha = g / gamma + 1
    powers = np.prod(g[:, None, :] ** (alpha - 1)[None, :, :], axis=2)
    kernel = gamma_function(alpha.sum(axis=1)) / np.prod(gamma_function(alpha), axis=1) * powers
    # Γ stays below 1e40 for these bandwidths, and t^20 above 1e-60: nothing underflows.
    assert (kernel > 0).all()
    tolerance = 50 * EPS * magnitude(g, g, gamma)
    np.testing.assert_allclose(np.exp(log_kernel(g, g, gamma)), kernel, rtol=tolerance)
    np.fill_diagonal(kernel, 0)
    expected = kernel @ np.eye(k)[y] / kernel.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(conditional_mean(y, g, bandwidth=gamma), expected, rtol=2 * tolerance)


def test_log_space_works_where_the_plain_formula_underflows() -> None:
    # Distances of 0.1 at a bandwidth of 1e-5 make kernel values of e^-1000: the nearest point decides.
    p = np.array([0.1, 0.2, 0.32, 0.6])
    g = np.stack([1 - p, p], axis=1)
    y = np.array([0, 1, 0, 1])
    found = conditional_mean(y, g, bandwidth=1e-5)[:, 1]
    log_k = log_kernel(g, g, 1e-5)
    assert log_k[0, 1] - log_k[0, 0] < -2000
    np.fill_diagonal(log_k, -np.inf)
    expected = np.exp(log_k - logsumexp(log_k, axis=1, keepdims=True)) @ y
    np.testing.assert_allclose(found, expected, atol=1e-6)
    np.testing.assert_allclose(found, [1, 0, 1, 0], atol=1e-6)


# ------------------------------------------------------------- the bound
def test_the_constant_of_the_bound() -> None:
    def excess(log_mean: float) -> float:
        """The log-excess of a Poisson probability at count 0 over the one at its mean."""
        mean = np.exp(log_mean)
        return float(gammaln(mean + 1) - mean * log_mean)

    worst = minimize_scalar(lambda x: -excess(x), bounds=(-6, 2), method="bounded")
    assert 0.25 < -worst.fun < 0.26
    # No other count does worse: over all means, the largest term of each.
    mean = np.exp(np.linspace(-8, 12, 400))[:, None]
    count = np.concatenate([np.zeros((400, 1)), mean * np.exp(np.linspace(-5, 5, 400))], axis=1)
    log_p = count * np.log(mean) - gammaln(count + 1)
    at_mean = mean * np.log(mean) - gammaln(mean + 1)
    assert (log_p - at_mean).max() <= -worst.fun + 1e-6


@given(
    points=st.integers(2, 5).flatmap(lambda k: st.lists(simplex_points(k), min_size=2, max_size=5)),
    log_gamma=st.floats(-11.5, 2.3),
)
def test_no_kernel_value_exceeds_the_bound(points: list[Floats], log_gamma: float) -> None:
    g, gamma = np.asarray(points), float(np.exp(log_gamma))
    found = exponents(g, gamma)
    # Rounding: ulps of S log S at small bandwidths.
    assert (found <= HEADROOM + 10 * EPS * magnitude(g, g, gamma)).all()
    # At the target itself the exponent is the headroom less the allowance, exactly.
    expected = HEADROOM - 0.26 * g.shape[1]
    assert np.abs(np.diagonal(found) - expected).max() <= 10 * EPS * magnitude(g, g, gamma)
    # Hypothesis climbs towards the bound.
    target(float((found - HEADROOM).max()))


@pytest.mark.parametrize("k", [2, 3, 5, 10])
def test_a_search_for_the_worst_case_stays_below_the_bound(k: int) -> None:
    # The worst mean of a Poisson count is 0.31, and its worst count 0: targets with small coordinates near
    # 0.31 γ, sources with zeros there. The last coordinate takes the rest.
    rng = np.random.default_rng(k)
    largest = -np.inf
    for gamma in np.exp(np.linspace(np.log(1e-5), np.log(1.0), 25)):
        small = np.minimum(rng.uniform(0.2, 0.45, size=(40, k - 1)) * gamma, 0.9 / k)
        t = np.concatenate([small, 1 - small.sum(axis=1, keepdims=True)], axis=1)
        x = np.where(rng.uniform(size=t.shape) < 0.8, 0.0, t)
        x[:, -1] = t[:, -1] + (t - x)[:, :-1].sum(axis=1)
        found = exponents(np.concatenate([t, x]), float(gamma))[:40, 40:]
        largest = max(largest, float(found.max()))
        assert largest <= HEADROOM + 10 * EPS * magnitude(t, x, float(gamma))
    # The search was close: all k − 1 small coordinates at their worst would use 0.2533 of the 0.26 each.
    assert largest >= HEADROOM - 0.26 * k + 0.2 * (k - 1)


@pytest.mark.parametrize("u", [0.0, 1e-3, 0.5, 3.0, 15.99, 16.0, 16.01, 17.0, 20.0, 64.0, 1e4])
def test_the_residual_of_stirlings_formula_has_all_its_digits(u: float) -> None:
    with mpmath.workdps(40):
        x = mpmath.mpf(u)
        wanted = mpmath.loggamma(x + 1) - (x * mpmath.log(x) if u else 0) + x
    # Below 16 it is a difference of two numbers of up to 45.
    found = float(_stirling_residual(np.array([u]))[0])
    assert found == pytest.approx(float(wanted), abs=2e-14 if u < 16 else 2e-15)


@pytest.mark.parametrize("total", [1.0, 0.93, 1.06])
@pytest.mark.parametrize("gamma", [1.0, 0.05, 1e-3])
def test_features_give_the_formula_also_for_rows_that_do_not_sum_to_one(total: float, gamma: float) -> None:
    rng = np.random.default_rng(4)
    prob = rng.dirichlet([1.0] * 3, 12)
    prob[::2] *= total
    features = DirichletKernel().features(prob, np.log(prob), gamma)
    found = features.log_scale[:, None] + features.target @ features.source
    u = prob / gamma
    wanted = gammaln(u.sum(axis=1) + 3)[None, :] - gammaln(u + 1).sum(axis=1)[None, :] + np.log(prob) @ u.T
    np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-11 / gamma)
    assert (features.target @ features.source).max() <= HEADROOM


def test_features_of_a_weighted_a_shifted_and_a_squared_kernel() -> None:
    """Exponents log k + log w, log k + c and 2 log k; a source of weight 0 counts nothing."""
    rng = np.random.default_rng(5)
    prob = rng.dirichlet([1.0] * 3, 9)
    features = DirichletKernel().features(prob, np.log(prob), 0.1)
    exponent, weight = features.target @ features.source, np.where(np.arange(9) == 4, 0.0, rng.uniform(0.1, 3, 9))
    column = rng.normal(size=(9, 1))
    for changed, wanted in (
        (features.weighted(weight), exponent + logarithm(weight)),
        (features.shifted(2.5), exponent + 2.5),
        (features.shifted(column), exponent + column),
        (features.power(2), 2 * exponent),
        (features.weighted(weight).shifted(column).power(2), 2 * (exponent + logarithm(weight) + column)),
    ):
        np.testing.assert_allclose(changed.target @ changed.source, wanted, rtol=1e-12, atol=1e-11)
        np.testing.assert_array_equal(changed.log_scale, features.log_scale)


@pytest.mark.parametrize("exclude_self", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("algorithm", ["exact", "linear"])
def test_the_density_is_the_weighted_mean_of_the_kernel(algorithm: str, weighted: bool, exclude_self: bool) -> None:
    rng = np.random.default_rng(2)
    p = rng.uniform(0.01, 0.99, 40)
    prob = np.stack([1 - p, p], axis=1)
    weight = rng.uniform(0.5, 2, 40) if weighted else np.ones(40)
    problem = Problem(prob, np.log(prob), rng.integers(0, 2, 40), weight / weight.sum(), not weighted, 2)
    found = kernel_mean(problem, DirichletKernel(), 0.05, exclude_self=exclude_self, algorithm=algorithm)
    kernel = np.array([beta.pdf(p, x / 0.05 + 1, (1 - x) / 0.05 + 1) for x in p]).T
    counts = weight * (1 - np.eye(40)) if exclude_self else np.tile(weight, (40, 1))
    wanted = (kernel * counts).sum(axis=1) / counts.sum(axis=1)
    assert found.log_density is not None
    np.testing.assert_allclose(found.log_density, np.log(wanted), rtol=0, atol=1e-9)
