"""The simulated model's truth and limits, against independent integrals and Monte Carlo."""

from __future__ import annotations

import itertools
import math
import warnings
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import integrate
from scipy.special import betaln, gammaln, roots_legendre

from propercal import decompose
from propercal.generators import BregmanGenerator, Brier, ItakuraSaito, Log, Quadratic
from propercal.simulation import SimulatedSample, TemperatureScaledSimplex
from theory_tests.instances import generators

# Two-sided, 1e-5: no test here repeats more than a hundred comparisons.
Z = 4.4
GENERATORS = generators("log", "brier", "spherical", "tsallis-1.5")


@cache
def big_sample(k: int) -> SimulatedSample:
    return TemperatureScaledSimplex(k).sample(400_000, random_state=k)


def pair(x: Any) -> NDArray[np.float64]:
    return np.stack([1 - np.asarray(x), np.asarray(x)], axis=-1)


def share(q: float, power: float) -> float:
    return float(1 / (1 + ((1 - q) / q) ** power))


@pytest.mark.parametrize("generator", GENERATORS, ids=repr)
@pytest.mark.parametrize("notion", ["canonical", "classwise"])
@pytest.mark.parametrize("temperatures", [(0.9, 0.6), (0.5, 1.7)])
def test_truth_of_two_classes_is_the_integral_over_a_uniform_q(
    generator: BregmanGenerator, notion: str, temperatures: tuple[float, float]
) -> None:
    one, two = temperatures

    def integrand(q: float) -> float:
        p, g = share(q, 1 / one), share(q, 1 / (one * two))
        return float(generator.divergence(pair(p), pair(g)))

    expected, precision = integrate.quad(integrand, 0, 0.5, epsabs=1e-12, epsrel=1e-9)
    truth = TemperatureScaledSimplex(2, one, two).truth(generator, notion)
    assert abs(truth.value - 2 * expected) <= truth.error + 2 * precision + 1e-10
    assert truth.error <= 1e-4 * truth.value


@pytest.mark.parametrize("generator", [Log(), Brier()], ids=repr)
def test_canonical_truth_of_three_classes_is_an_integral_over_the_triangle(generator: BregmanGenerator) -> None:
    # Gauss-Legendre on the square, mapped to one sixth of the triangle q_1 > q_2 > q_3.
    node, weight = np.polynomial.legendre.leggauss(200)
    x, y = np.meshgrid(0.5 + 0.5 * node, (0.5 + 0.5 * node) ** 3)
    w = np.outer(weight * 1.5 * (0.5 + 0.5 * node) ** 2, weight / 2)
    corners = np.array([[1, 0, 0], [0.5, 0.5, 0], [1 / 3, 1 / 3, 1 / 3]])
    # Duffy's map; y is the distance from the face q_3 = 0, where the integrand is not smooth.
    q = (1 - y)[..., None] * ((1 - x)[..., None] * corners[0] + x[..., None] * corners[1])
    q = q + y[..., None] * corners[2]
    p, g = (q**c / (q**c).sum(-1, keepdims=True) for c in (1 / 0.9, 1 / 0.54))
    expected = float(2 * np.sum(w * (1 - y) * generator.divergence(p, g)))
    truth = TemperatureScaledSimplex(3).truth(generator, "canonical")
    assert abs(truth.value - expected) <= truth.error + 1e-6 * expected


@pytest.mark.parametrize(("k", "generator"), [*((k, g) for k in (3, 5) for g in GENERATORS), (10, Log())], ids=str)
def test_canonical_truth_is_the_mean_divergence_of_a_sample(k: int, generator: BregmanGenerator) -> None:
    _, g, p = big_sample(k)
    divergence = generator.divergence(p[:100_000], g[:100_000])
    truth = TemperatureScaledSimplex(k).truth(generator, "canonical")
    se = divergence.std() / math.sqrt(divergence.size)
    assert abs(divergence.mean() - truth.value) < Z * se + truth.error
    assert truth.error <= 1e-4 * truth.value


@pytest.mark.parametrize("k", [3, 5, 10])
def test_true_conditional_probability_is_the_regression_of_p_on_g(k: int) -> None:
    _, g, p = big_sample(k)
    r = TemperatureScaledSimplex(k).conditional_probability(g, "classwise")
    for i in (0, k - 1):
        edges = np.quantile(g[:, i], np.linspace(0, 1, 41)[1:-1])
        bins = np.searchsorted(edges, g[:, i])
        residual = p[:, i] - r[:, i]
        count = np.bincount(bins)
        mean = np.bincount(bins, residual) / count
        se = np.sqrt(np.bincount(bins, residual**2)) / count
        assert np.all(np.abs(mean) < Z * se + 1e-5)
        # And p itself is not that regression: it scatters around r.
        assert np.mean(residual**2) > 1e-5


@pytest.mark.parametrize("k", [3, 5, 10])
def test_classwise_brier_truth_is_the_product_of_neighbours(k: int) -> None:
    # E[(r − v)²] = E[(p − v)(p' − v')] for neighbours v ≈ v', which needs no model of r.
    _, g, p = big_sample(k)
    order = np.argsort(g[:, 0])
    d = (p[:, 0] - g[:, 0])[order]
    products = 2 * d[:-1:2] * d[1::2]
    truth = TemperatureScaledSimplex(k).truth("brier", "classwise")
    se = products.std() / math.sqrt(products.size)
    assert abs(products.mean() - truth.value) < Z * se + truth.error
    assert truth.error <= 1e-4 * truth.value
    naive = Brier().divergence(pair(p[:, 0]), pair(g[:, 0])).mean()
    assert naive > 1.01 * truth.value


@pytest.mark.parametrize("k", [3, 5, pytest.param(10, marks=pytest.mark.slow)])
def test_classwise_log_truth_is_the_loss_that_true_recalibration_saves(k: int) -> None:
    y, g, _ = big_sample(k)
    r = TemperatureScaledSimplex(k).conditional_probability(g, "classwise")
    outcome = np.eye(k)[y]
    saved = (Log().loss(pair(g), pair(outcome)) - Log().loss(pair(r), pair(outcome))).mean(axis=1)
    truth = TemperatureScaledSimplex(k).truth("log", "classwise")
    assert abs(saved.mean() - truth.value) < Z * saved.std() / math.sqrt(saved.size) + truth.error
    assert truth.error <= 1e-4 * truth.value


@pytest.mark.slow
def test_itakura_saito_truth_comes_from_the_faces() -> None:
    # D is a sum over classes of p/g − log(p/g) − 1; each is a double integral over (q_1, q_2/q_3).
    def inner(s: float) -> float:
        q1 = 1 / (1 + math.exp(-s))

        def over_share(w: float) -> float:
            rest = np.array([w, 1 - w]) * (1 - q1)
            a, b = 1 / 0.9, 1 / 0.54
            p = q1**a / (q1**a + (rest**a).sum())
            g = q1**b / (q1**b + (rest**b).sum())
            return float(p / g - math.log(p / g) - 1)

        # q_1 has density 2 (1 − q_1), and dq_1 = q_1 (1 − q_1) ds.
        value: float = integrate.quad(over_share, 0, 0.5, epsrel=1e-5)[0]
        return 2 * value * 2 * (1 - q1) ** 2 * q1

    expected = 3 * integrate.quad(inner, -70, 30, epsrel=1e-5, limit=200)[0]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"the canonical calibration error for ItakuraSaito\(\) is known to", UserWarning)
        truth = TemperatureScaledSimplex(3).truth(ItakuraSaito(), "canonical")
    assert abs(truth.value - expected) <= truth.error + 1e-5 * expected
    assert truth.error < 1e-3 * expected


def test_a_generator_that_tells_classes_apart_weighs_exchangeable_classes() -> None:
    model = TemperatureScaledSimplex(3)
    weighted, brier = (model.truth(Quadratic(np.diag([3.0, 1, 1])), "canonical"), model.truth("brier", "canonical"))
    assert abs(weighted.value - 5 / 3 * brier.value) <= weighted.error + 5 / 3 * brier.error


@pytest.mark.slow
@pytest.mark.parametrize("notion", ["canonical", "classwise"])
def test_a_score_temperature_of_one_is_calibrated(notion: str) -> None:
    model = TemperatureScaledSimplex(3, score_temperature=1.0)
    truth = model.truth("log", notion)
    assert abs(truth.value) <= truth.error + 1e-12
    # Smoothing alone makes an error of it.
    assert abs(model.limit("log", notion, "risk", 0.05).value) > 0.001


# ../shared/design/statistics.md, measured there by quadrature; four decimals.
LIMITS = {
    (0.1, "direct"): (0.0354, 0.0044),
    (0.1, "risk"): (0.0592, 0.0367),
    (0.02, "direct"): (0.0276, 0.0084),
    (0.02, "risk"): (0.0551, 0.0280),
    (0.005, "direct"): (0.0316, 0.0113),
    (0.005, "risk"): (0.0453, 0.0189),
    (0.001, "direct"): (0.0349, 0.0123),
    (0.001, "risk"): (0.0394, 0.0144),
}


@pytest.mark.parametrize(("gamma", "method"), LIMITS)
@pytest.mark.parametrize("notion", ["canonical", "classwise"])
def test_limits_of_two_classes_are_the_published_table(gamma: float, method: str, notion: str) -> None:
    model = TemperatureScaledSimplex(2)
    for generator, expected in zip(("log", "brier"), LIMITS[gamma, method], strict=True):
        limit = model.limit(generator, notion, method, gamma)
        assert round(limit.value, 4) == expected
        assert limit.error < 1e-8


@pytest.mark.parametrize("gamma", [0.1, 0.005])
def test_limit_of_two_classes_is_a_nested_integral(gamma: float) -> None:
    node, weight = roots_legendre(1000)
    q, w = 0.5 + 0.5 * node, weight / 2
    p, g = (q**c / (q**c + (1 - q) ** c) for c in (1 / 0.9, 1 / 0.54))
    log_kernel = np.log(g)[:, None] * (g / gamma) + np.log(1 - g)[:, None] * ((1 - g) / gamma)
    kernel = np.exp(log_kernel - betaln(g / gamma + 1, (1 - g) / gamma + 1))
    r = kernel @ (w * p) / (kernel @ w)
    model = TemperatureScaledSimplex(2)
    direct = w @ Log().divergence(pair(r), pair(g))
    assert model.limit("log", "classwise", "direct", gamma).value == pytest.approx(direct, abs=2e-6)
    risk = w @ (Log().value(pair(r)) - Log().value(pair(p)) + Log().divergence(pair(p), pair(g)))
    assert model.limit("log", "classwise", "risk", gamma).value == pytest.approx(risk, abs=2e-6)


def test_limit_reaches_bandwidths_of_one_in_ten_thousand() -> None:
    model = TemperatureScaledSimplex(3)
    for method in ("direct", "risk"):
        truth = model.truth("brier", "classwise")
        distances = [
            abs(model.limit("brier", "classwise", method, gamma).value - truth.value)
            for gamma in (1e-3, 5e-4, 2e-4, 1e-4)
        ]
        # The smoothing bias vanishes about like γ: a grid too coarse for γ would not show it.
        ratios = [a / b for a, b in itertools.pairwise(distances)]
        for ratio, step in zip(ratios, (2, 2.5, 2), strict=True):
            assert 0.75 * step < ratio < 1.25 * step


@pytest.mark.parametrize(("k", "gamma"), [(3, 0.1), (3, 0.02), (5, 0.1), (5, 0.03)])
def test_canonical_limit_is_a_kernel_average_over_the_model(k: int, gamma: float) -> None:
    _, sources, p_sources = (x[:20_000] for x in big_sample(k))
    _, targets, p = TemperatureScaledSimplex(k).sample(400, random_state=99)
    counts = sources / gamma
    log_kernel = np.log(targets) @ counts.T - gammaln(counts + 1).sum(axis=1)
    kernel = np.exp(log_kernel - log_kernel.max(axis=1, keepdims=True))
    r = kernel @ p_sources / kernel.sum(axis=1, keepdims=True)
    model = TemperatureScaledSimplex(k)
    for generator in (Log(), Brier()):
        truth = model.truth(generator, "canonical").value
        for method, difference in (
            ("direct", generator.divergence(r, targets) - generator.divergence(p, targets)),
            ("risk", generator.value(r) - generator.value(p)),
        ):
            limit = model.limit(generator, "canonical", method, gamma)
            se = difference.std() / math.sqrt(difference.size)
            assert abs(truth + difference.mean() - limit.value) < Z * se + limit.error
            assert limit.error < 0.02 * truth


@pytest.mark.parametrize("method", ["direct", "risk"])
@pytest.mark.parametrize(("k", "notion"), [(2, "canonical"), (3, "canonical"), (3, "classwise")])
def test_estimates_tend_to_the_limit(k: int, notion: str, method: str) -> None:
    model, n, gamma = TemperatureScaledSimplex(k), 2500, 0.1
    differences = []
    for seed in range(8):
        y, g, _ = model.sample(n, random_state=1000 * k + seed)
        r = model.conditional_probability(g, notion)
        outcome = np.eye(k)[y]
        if notion == "classwise":
            g_loss, r_loss = Log().loss(pair(g), pair(outcome)), Log().loss(pair(r), pair(outcome))
        else:
            g_loss, r_loss = Log().loss(g, outcome), Log().loss(r, outcome)
        estimate = decompose(y, g, notion=notion, method=method, bandwidth=gamma)
        # The loss saved by the true r has the truth as its mean, and shares the noise.
        differences.append(float(estimate.calibration_error) - float(np.mean(g_loss - r_loss)))
    limit = model.limit("log", notion, method, gamma)
    mean = np.mean(differences) + model.truth("log", notion).value
    se = np.std(differences, ddof=1) / math.sqrt(8)
    # The bias itself is about 2/n in one dimension, 10/n in two.
    assert abs(mean - limit.value) < 5 * se + limit.error + 10 / n
    assert abs(limit.value - model.truth("log", notion).value) > 10 / n or method == "direct"


@pytest.mark.parametrize("k", [2, 3, 50])
def test_sample_has_the_model_s_law(k: int) -> None:
    n = 100_000
    y, g, p = TemperatureScaledSimplex(k).sample(n, random_state=5)
    assert y.shape == (n,)
    assert g.shape == p.shape == (n, k)
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-13)
    # Labels follow p, also given which p: E (1{Y = 1} − p_1) h(p) = 0.
    residual = (y == 0) - p[:, 0]
    for h in (np.ones(n), p[:, 0], p[:, 1]):
        assert abs((residual * h).mean()) < Z * (residual * h).std() / math.sqrt(n)
    # p^0.9 is uniform on the simplex up to scale: its first share is Beta(1, k − 1).
    q = p**0.9 / (p**0.9).sum(axis=1, keepdims=True)
    assert abs(q[:, 0].mean() - 1 / k) < Z * q[:, 0].std() / math.sqrt(n)
    np.testing.assert_allclose(g, p ** (1 / 0.6) / (p ** (1 / 0.6)).sum(axis=1, keepdims=True), rtol=1e-10, atol=1e-300)


def test_random_state_takes_seeds_sequences_and_generators() -> None:
    model = TemperatureScaledSimplex(3)
    by_seed = model.sample(5, 7)
    for state in (np.random.SeedSequence(7), np.random.default_rng(7)):
        np.testing.assert_array_equal(model.sample(5, state).y_proba, by_seed.y_proba)


def test_unknown_notions_name_those_whose_truth_is_known() -> None:
    model = TemperatureScaledSimplex(3)
    with pytest.raises(ValueError, match=r"top-label.*'canonical', 'classwise'"):
        model.truth("log", "top-label")
    with pytest.raises(ValueError, match=r"top-label.*'canonical', 'classwise'"):
        model.limit("log", "top-label", "risk", 0.1)
    with pytest.raises(ValueError, match="'risk'"):
        model.limit("log", "canonical", "rsik", 0.1)
    with pytest.raises(ValueError, match="bandwidth"):
        model.limit("log", "canonical", "risk", 0.0)


@pytest.mark.parametrize(
    ("arguments", "name"), [((1,), "n_classes"), ((2.5,), "n_classes"), ((3, 0.0), "label"), ((3, 1, -1), "score")]
)
def test_a_model_out_of_range_is_refused(arguments: Any, name: str) -> None:
    with pytest.raises(ValueError, match=name):
        TemperatureScaledSimplex(*arguments)
