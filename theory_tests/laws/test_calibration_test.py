"""Labels drawn from the predictions and the observed ones are exchangeable if these are calibrated.

So P(p ≤ j / (B + 1)) ≤ j / (B + 1) for every statistic, with equality where it has no ties. The statistic is
the largest of standardised quadratic forms, checked here against sums over all rows and pairs.

Source: Vaicenavicius et al. (2019), "Evaluating model calibration in classification", for the resampling;
Phipson and Smyth (2010), doi:10.2202/1544-6115.1585, for the p-value; score tests: Rao (1948).
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from propercal._data.predictions.notions import as_notion
from propercal._data.predictions.predictions import validate
from propercal._kernels.kernels import BANDWIDTHS
from propercal.generators import Brier, Log
from propercal.inference import calibration_test
from propercal.inference.hellinger import kernel_features
from propercal.inference.quadratic_forms import QuadraticForms, normalised_kernels, quadratic_forms
from propercal.inference.residuals import Rows, Table
from theory_tests.instances import labels_of, softmax
from theory_tests.laws.samples import fewer

FALSE_ALARM = 1e-6


class Forms(NamedTuple):
    """The forms of predictions as a function of label sets."""

    residuals: Rows | Table
    forms: QuadraticForms

    @property
    def names(self) -> tuple[str, ...]:
        return self.forms.names

    def __call__(self, y: Any) -> Any:
        return self.forms(self.residuals.residuals(np.asarray(y)))


def forms_of(g: Any, generator: Any = "log", weight: Any = None, seed: int = 0, make: Any = None) -> Forms:
    """By default of rows for several classes and of a table for two, as the test takes them."""
    y = np.zeros(len(g), dtype=int)
    (problem,) = as_notion("canonical").problems(validate(y, g, sample_weight=weight))
    residuals = (make or (Table if problem.n_classes == 2 else Rows)).of(problem)
    at = residuals.at if isinstance(residuals, Rows) else residuals.sums.at
    chosen = {"log": Log(), "brier": Brier()}[generator]
    return Forms(residuals, quadratic_forms(at, chosen, np.random.default_rng(seed)))


# ------------------------------------------------------------------ size and power
def check_uniform(p_values: list[float], n_resamples: int) -> None:
    """Each level is met as often as it should be."""
    for j in (1, 2, 5, 10, 15):
        level = j / (n_resamples + 1)
        count = np.count_nonzero(np.asarray(p_values) <= level + 1e-9)
        low, high = (binom.ppf(q, len(p_values), level) for q in (FALSE_ALARM / 2, 1 - FALSE_ALARM / 2))
        assert low <= count <= high, (level, count)


@pytest.mark.slow
@pytest.mark.parametrize("notion", ["canonical", "classwise", "top-label", "multi-label"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_p_value_of_calibrated_predictions_is_uniform(notion: str, weighted: bool) -> None:
    n, n_samples, n_resamples = 20, 150, 19
    rng = np.random.default_rng(1)
    p_values = []
    for _ in range(n_samples):
        g = softmax(1.5 * rng.standard_normal((n, 3)))
        # Separate columns whose rows sum to 1 would be taken for one class a row without its label.
        g = 0.85 * g if notion == "multi-label" else g
        y = labels_of(g, rng) if notion != "multi-label" else (rng.random(g.shape) < g).astype(int)
        weight = rng.uniform(0.1, 2, n) if weighted else None
        name = "classwise" if notion == "multi-label" else notion
        p_values.append(
            calibration_test(y, g, notion=name, n_resamples=n_resamples, sample_weight=weight, random_state=rng).pvalue
        )
    check_uniform(p_values, n_resamples)


@pytest.mark.parametrize("notion", ["canonical", "classwise", "top-label"])
def test_what_is_obviously_miscalibrated_is_rejected(notion: str) -> None:
    rng = np.random.default_rng(2)
    g = softmax(3 * rng.standard_normal((300, 4)))
    y = labels_of(0.5 * g + 0.125, rng)
    found = calibration_test(y, g, notion=notion, n_resamples=99, random_state=0)
    assert found.pvalue == 0.01
    assert found.statistic == max(found.components.values()) > 5


def test_what_no_score_can_mend_is_seen_by_the_kernels() -> None:
    """Two classes that are taken for each other, with a sign that is a fast sine of the third's probability."""
    rng = np.random.default_rng(3)
    g = rng.dirichlet([1.0] * 3, 2000)
    shift = 0.9 * g[:, :2].min(axis=1) * np.sin(18 * g[:, 2])
    y = labels_of(g + np.stack([shift, -shift, 0 * shift], axis=1), rng)
    found = calibration_test(y, g, n_resamples=99, random_state=0)
    kernels = {name: z for name, z in found.components.items() if name.startswith("kernel")}
    assert found.pvalue == 0.01
    assert kernels["kernel 0.006"] > 6 > max(z for name, z in found.components.items() if name not in kernels)


def test_the_p_value_is_the_probability_of_label_sets_at_least_as_extreme() -> None:
    """All 3^4 label sets, with their probabilities, against draws of them."""
    rng = np.random.default_rng(4)
    g = rng.dirichlet([1.0] * 3, 4)
    sets = np.array(list(itertools.product(range(3), repeat=4)))
    probability = g[np.arange(4), sets].prod(axis=1)
    forms = forms_of(g)(sets)
    mean = forms @ probability
    scores = (forms - mean[:, None]) / np.sqrt((forms - mean[:, None]) ** 2 @ probability)[:, None]
    statistic = scores.max(axis=0)
    n_resamples = 4000
    for i in (0, 13, 40, 77):
        expected = probability[statistic >= statistic[i] - 1e-9].sum()
        found = calibration_test(sets[i], g, n_resamples=n_resamples, random_state=0)
        low, high = (binom.ppf(q, n_resamples, expected) for q in (FALSE_ALARM, 1 - FALSE_ALARM))
        # The moments are those of the draws: sets whose statistics nearly tie may change places.
        near = probability[np.abs(statistic - statistic[i]) < 0.1].sum()
        near -= probability[np.abs(statistic - statistic[i]) < 1e-9].sum()
        assert low / n_resamples - near <= found.pvalue <= (high + 1) / n_resamples + near
        assert found.statistic == pytest.approx(statistic[i], rel=0.1)


def test_the_classes_of_a_row_are_drawn_jointly() -> None:
    """Of two classes, either tells the other: class-wise forms are twice the canonical ones, in every label set.

    Drawn independently, their sum would vary by a factor √2 less, and so be that many more deviations off.
    """
    rng = np.random.default_rng(8)
    g = rng.dirichlet([1.0] * 2, 60)
    y = labels_of(softmax(0.4 * np.log(g)), rng)
    found = {}
    for notion in ("canonical", "classwise"):
        options: Any = {"notion": notion, "n_resamples": 4000, "random_state": 0}
        found[notion] = calibration_test(y, g, **options).components
    assert max(found["canonical"].values()) > 2
    assert found["classwise"] == pytest.approx(found["canonical"], rel=0.2, abs=0.1)


# ------------------------------------------------------------------ the forms, from their definitions
def score_form(features: Any, g: Any, y: Any, weight: Any, ridge: Any) -> float:
    """Zᵀ (Σ w² Cov + ridge)⁻¹ Z of features (d, n, k), one row after the other."""
    d = len(features)
    z, information = np.zeros(d), np.diag(np.asarray(ridge, dtype=float))
    for h, p in enumerate(g):
        a = features[:, h, :]
        z += weight[h] * (a[:, y[h]] - a @ p)
        information += weight[h] ** 2 * (a * p @ a.T - np.outer(a @ p, a @ p))
    return float(z @ np.linalg.solve(information, z))


def class_features(values: list[Any]) -> Any:
    """Features that are one of `values` (n, k) for one class and 0 for the others."""
    k = values[0].shape[1]
    return np.array([v * np.eye(k)[i] for i in range(k) for v in values])


@pytest.mark.parametrize("k", [2, 3, 4])
@pytest.mark.parametrize("weighted", [False, True])
def test_score_tests(k: int, weighted: bool) -> None:
    rng = np.random.default_rng(5)
    n = 12
    g = rng.dirichlet([1.0] * k, n)
    weight = rng.uniform(0.5, 2, n) if weighted else np.ones(n)
    weight *= n / weight.sum()
    log_g = np.log(g)
    forms = forms_of(g, weight=weight)
    y = rng.integers(0, k, (3, n))
    found = dict(zip(forms.names, forms(y), strict=True))
    square = (g**2).sum(axis=1, keepdims=True)
    slopes = [log_g / log_g.std(), np.ones_like(g)]
    waves = [np.cos(np.pi * s * g) for s in range(1, 6)]
    tests = {
        "temperature": (log_g[None], [1e-3]),
        "equivariant": (np.array([log_g, g, log_g * square]), [1e-3, 0.25, 0.25]),
        "vector": (class_features(slopes), [1.0] * (2 * k)),
        "smooth": (class_features(slopes + waves), [0.5, 0.5, 0.5, 2.0, 4.5, 8.0, 12.5] * k),
    }
    for name, (features, ridge) in tests.items():
        expected = [score_form(features, g, labels, weight, ridge) for labels in y]
        np.testing.assert_allclose(found[name], expected, rtol=1e-8, err_msg=name)


@pytest.mark.parametrize("generator", ["log", "brier"])
@pytest.mark.parametrize("k", [2, 3])
def test_kernel_forms_and_the_mixture(k: int, generator: str) -> None:
    """Three distinct predictions, so that the features of the narrow kernels are exact."""
    rng = np.random.default_rng(6)
    points = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.05, 0.05, 0.9]])
    points = points if k == 3 else np.stack([1 - points[:, 1], points[:, 1]], axis=1)
    g = points[rng.integers(0, 3, 9)]
    weight = rng.uniform(0.5, 2, 9)
    weight *= 9 / weight.sum()
    forms = forms_of(g, generator=generator, weight=weight)
    y = rng.integers(0, k, (4, 9))
    found = dict(zip(forms.names, forms(y), strict=True))
    smoothed = (g + 0.02) / (1 + 0.02 * k)
    curvature = 1 / smoothed if generator == "log" else np.full_like(g, 2.0)
    if k == 2:
        # One residual, seen twice, is looked at once.
        curvature = curvature.sum(axis=1, keepdims=True) * [0, 1]
    for bandwidth in BANDWIDTHS[2:]:
        kernel = np.exp((np.sqrt(g[:, None, :] * g).sum(axis=2) - 1) / bandwidth)
        row_sums = kernel.sum(axis=1)
        expected = []
        for labels in y:
            e = weight[:, None] * np.sqrt(curvature) * (np.eye(k)[labels] - g)
            expected.append(
                sum(
                    kernel[h, j] / np.sqrt(row_sums[h] * row_sums[j]) * (e[h] @ e[j])
                    for h, j in itertools.permutations(range(9), 2)
                )
            )
        np.testing.assert_allclose(found[f"kernel {bandwidth:g}"], expected, rtol=1e-8, atol=1e-8)
    for s, labels in enumerate(y):
        e = weight[:, None] * (np.eye(k)[labels] - g)
        variance = (weight[:, None] * g).T ** 2 @ (g * (1 - g))
        terms = (g.T @ e) ** 2 / (variance + 1)
        expected_mixture = terms.sum() if k > 2 else terms[:, 1].sum()
        assert found["mixture"][s] == pytest.approx(expected_mixture, rel=1e-8)


@fewer
@given(seed=st.integers(0, 2**32 - 1), bandwidth=st.sampled_from(BANDWIDTHS), n=st.integers(2, 40))
def test_features_never_exceed_the_kernel(seed: int, bandwidth: float, n: int) -> None:
    rng = np.random.default_rng(seed)
    root = np.sqrt(rng.dirichlet([0.5] * 3, n))
    kernel = np.exp((root @ root.T - 1) / bandwidth)
    features, left_out = kernel_features(root, bandwidth, n, rng)
    rest = kernel - features.T @ features
    assert np.linalg.eigvalsh(rest).min() > -1e-9
    assert np.trace(rest) / n == pytest.approx(left_out, abs=1e-9)
    assert left_out <= 0.01
    few, more_left_out = kernel_features(root, bandwidth, 2, rng)
    assert few.shape[0] <= 2
    assert more_left_out <= 1


def test_what_features_miss_is_not_made_up_for() -> None:
    """Row sums, of K_hh = 1 and more, divide the kernel: no diagonal entry grows, however few features see the point."""
    root = np.sqrt(np.random.default_rng(9).dirichlet([1.0] * 6, 500))
    rng, same = np.random.default_rng(0), np.random.default_rng(0)
    for bandwidth, found in zip(BANDWIDTHS, normalised_kernels(root**2, rng, 25), strict=True):
        features, _ = kernel_features(root, bandwidth, found.shape[0], same)
        assert found.shape == features.shape
        assert ((found**2).sum(axis=0) <= (features**2).sum(axis=0) + 1e-12).all()


# ------------------------------------------------------------------ what leaves the forms alone
@fewer
@given(seed=st.integers(0, 2**32 - 1), k=st.integers(2, 5), generator=st.sampled_from(("log", "brier")))
def test_the_order_of_classes_leaves_the_forms_alone(seed: int, k: int, generator: str) -> None:
    """With labels renamed alike. Two classes have their residual in column 1, so the mixture counts it there."""
    rng = np.random.default_rng(seed)
    g, y, order = rng.dirichlet([1.0] * k, 15), rng.integers(0, k, (3, 15)), rng.permutation(k)
    forms = forms_of(g, generator)
    expected = forms(y)
    found = forms_of(g[:, order], generator)(np.argsort(order)[y])
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


@fewer
@given(seed=st.integers(0, 2**32 - 1), k=st.integers(2, 5))
def test_the_order_of_samples_leaves_the_score_tests_alone(seed: int, k: int) -> None:
    """The kernel forms depend on it through the points drawn for their features."""
    rng = np.random.default_rng(seed)
    g, y, order = rng.dirichlet([1.0] * k, 15), rng.integers(0, k, (3, 15)), rng.permutation(15)
    n_scores = len(forms_of(g).names) - len(BANDWIDTHS)
    expected = forms_of(g)(y)[:n_scores]
    found = forms_of(g[order])(y[:, order])[:n_scores]
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)


def test_only_ratios_of_weights_matter_and_weight_0_is_absence() -> None:
    rng = np.random.default_rng(7)
    g, y, weight = rng.dirichlet([1.0] * 3, 40), rng.integers(0, 3, 40), rng.uniform(0.5, 2, 40)

    def components(y: Any, g: Any, weight: Any) -> Any:
        found = calibration_test(y, g, sample_weight=weight, n_resamples=19, random_state=0)
        return list(found.components.values())

    expected = components(y, g, weight)
    np.testing.assert_allclose(components(y, g, 7 * weight), expected, rtol=1e-8)
    np.testing.assert_allclose(components(np.r_[y, 0], np.r_[g, g[:1]], np.r_[weight, 0]), expected, rtol=1e-12)
