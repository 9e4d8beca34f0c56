"""The classical checks of calibration agree with their formulas, with slow loops, and with other packages.

Source: Cox (1958); Hosmer & Lemeshow (1980); Spiegelhalter (1986); Guo et al. (2017); Błasiok & Nakkiran (2023).
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

import propercal
from propercal.classical import calibration_slope, expected_calibration_error, hosmer_lemeshow, spiegelhalter_test
from propercal.simulation import TemperatureScaledSimplex
from theory_tests.instances import calibrated

few = settings(max_examples=max(5, settings().max_examples // 5))
SEEDS = st.integers(0, 2**32 - 1)


def sigmoid(z: Any) -> Any:
    return 1 / (1 + np.exp(-z))


def logit(p: Any) -> Any:
    return np.log(p / (1 - p))


def binary(n: int, seed: Any = 0, slope: float = 0.7, intercept: float = 0.2) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    z = 1.5 * rng.standard_normal(n)
    return (rng.random(n) < sigmoid(intercept + slope * z)).astype(int), sigmoid(z)


# ------------------------------------------------------------------ slope and intercept


@few
@given(seed=SEEDS, weighted=st.booleans())
def test_the_slope_is_the_most_likely_one_with_the_errors_of_the_sandwich(seed: int, weighted: bool) -> None:
    y, p = binary(60, seed)
    assume(0 < y.sum() < 60)
    weight = np.random.default_rng(seed).uniform(0.2, 2, 60) if weighted else np.ones(60)
    found = calibration_slope(y, p, sample_weight=weight)
    w, x = weight / weight.sum(), np.stack([np.ones(60), logit(p)], axis=1)

    def loss(b: Any) -> Any:
        return w @ (np.logaddexp(0, x @ b) - y * (x @ b))

    best = optimize.minimize(loss, [0.0, 1.0], method="BFGS", options={"gtol": 1e-10})
    b = np.array([found.intercept, found.slope])
    np.testing.assert_allclose(b, best.x, atol=1e-5)
    assert abs(w @ (y - sigmoid(x @ b))) < 1e-12
    assert abs((w * (y - sigmoid(x @ b))) @ x[:, 1]) < 1e-12
    bread = np.linalg.inv(
        sum(w[h] * sigmoid(x[h] @ b) * (1 - sigmoid(x[h] @ b)) * np.outer(x[h], x[h]) for h in range(60))
    )
    meat = sum((w[h] * (y[h] - sigmoid(x[h] @ b))) ** 2 * np.outer(x[h], x[h]) for h in range(60))
    covariance = bread @ meat @ bread * 60 / 59
    np.testing.assert_allclose(
        [found.standard_errors["intercept"], found.standard_errors["slope"]], np.sqrt(np.diag(covariance)), rtol=1e-8
    )
    moved = b - [0, 1]
    assert found.pvalue == pytest.approx(stats.chi2.sf(moved @ np.linalg.inv(covariance) @ moved, 2), rel=1e-6)
    # Calibration in the large: as many events as were predicted, once moved.
    assert abs(w @ (y - sigmoid(logit(p) + found.intercept_in_the_large))) < 1e-12


@few
@given(seed=SEEDS, factor=st.sampled_from((0.1, 0.5, 3.0)), shift=st.sampled_from((-1.0, 0.0, 2.0)))
def test_the_slope_of_moved_logits(seed: int, factor: float, shift: float) -> None:
    y, p = binary(80, seed)
    found, moved = calibration_slope(y, p), calibration_slope(y, logit(p) * factor + shift, from_logits=True)
    assert moved.slope == pytest.approx(found.slope / factor, rel=1e-7)
    assert moved.intercept == pytest.approx(found.intercept - found.slope * shift / factor, rel=1e-6, abs=1e-9)
    assert moved.standard_errors["slope"] == pytest.approx(found.standard_errors["slope"] / factor, rel=1e-6)


def test_classes_against_the_rest_and_the_other_way_round() -> None:
    y, p = binary(200)
    names = np.array(["no", "yes"])
    one, other = (calibration_slope(names[y], np.stack([1 - p, p], axis=1), event=event) for event in ("yes", "no"))
    assert other.slope == pytest.approx(one.slope, rel=1e-9)
    assert other.intercept == pytest.approx(-one.intercept, rel=1e-8)
    assert one.event == "class yes"
    assert calibration_slope(y, p).slope == pytest.approx(one.slope)
    y, p, _ = TemperatureScaledSimplex(4).sample(300, random_state=0)
    third = calibration_slope(y, p, event=2)
    assert third.slope == pytest.approx(calibration_slope(y == 2, p[:, 2]).slope, rel=1e-9)
    top = calibration_slope(y, p, notion="top-label")
    assert top.slope == pytest.approx(calibration_slope(p.argmax(axis=1) == y, p.max(axis=1)).slope, rel=1e-9)
    assert "right first choice" in str(top)


def test_the_interval_of_the_slope_covers() -> None:
    missed = np.zeros(2)
    for seed in range(300):
        found = calibration_slope(*binary(250, seed))
        missed += [
            not low <= true <= high
            for (low, high), true in zip(map(found.interval, ("slope", "intercept")), (0.7, 0.2), strict=True)
        ]
    # 5 % of 300 is 15; 4 standard deviations above are 30.
    assert (missed <= 30).all()


def test_groups_make_errors_of_their_sums() -> None:
    y, p = binary(60)
    once = calibration_slope(y, p)
    twice = calibration_slope(np.repeat(y, 2), np.repeat(p, 2), groups=np.repeat(np.arange(60), 2))
    for name, error in once.standard_errors.items():
        assert twice.standard_errors[name] == pytest.approx(error, rel=1e-8)
    assert twice.n_groups == 60
    z = spiegelhalter_test(y, p, groups=np.arange(60) // 2).statistic
    g = np.stack([1 - p, p], axis=1)
    rows = np.bincount(np.arange(60) // 2, 2 * ((g**2).sum(axis=1) - g[np.arange(60), y])) / 60
    assert z == pytest.approx(rows.sum() / np.sqrt(((rows - rows.mean()) ** 2).sum() * 30 / 29), rel=1e-9)


def test_slope_and_errors_are_those_of_statsmodels() -> None:
    api = pytest.importorskip("statsmodels.api")
    y, p = binary(500)
    design = api.add_constant(logit(p))
    found, likely = calibration_slope(y, p), calibration_slope(y, p, covariance="likelihood")
    model = api.Logit(y, design).fit(disp=0, tol=1e-14)
    np.testing.assert_allclose([found.intercept, found.slope], model.params, rtol=1e-8)
    np.testing.assert_allclose([likely.standard_errors[name] for name in ("intercept", "slope")], np.sqrt(np.diag(model.cov_params())), rtol=1e-8)
    robust = np.sqrt(np.diag(api.Logit(y, design).fit(disp=0, tol=1e-14, cov_type="HC0").cov_params()) * 500 / 499)
    np.testing.assert_allclose([found.standard_errors[name] for name in ("intercept", "slope")], robust, rtol=1e-8)
    large = api.GLM(y, np.ones(500), family=api.families.Binomial(), offset=logit(p)).fit(tol=1e-14)
    assert likely.intercept_in_the_large == pytest.approx(large.params[0], rel=1e-8)
    assert likely.standard_errors["intercept_in_the_large"] == pytest.approx(float(np.sqrt(large.cov_params()[0][0])), rel=1e-8)


def test_certain_predictions_and_what_has_no_slope_are_refused() -> None:
    y, p = binary(40)
    q = p.copy()
    q[[3, 5]] = [1.0, 0.0]
    with pytest.raises(
        ValueError, match=r"^y_proba = probabilities of exactly 0 or 1 at rows 3, 5: .*a logit is infinite there"
    ):
        calibration_slope(y, q)
    certain = np.where(p > 0.5, 40.0, -40.0) + logit(p)
    assert np.isfinite(calibration_slope(y, certain, from_logits=True).slope)
    for labels, proba, words in (
        (np.ones(40, dtype=int), p, "by which class 1 always occurs"),
        (y, np.full(40, 0.3), "the same probability 0.3 in all rows"),
        ((p > 0.5).astype(int), p, "predictions that separate"),
        ((p < 0.5).astype(int), p, "predictions that separate"),
    ):
        with pytest.raises(ValueError, match=words):
            calibration_slope(labels, proba, pos_label=1)
    three = calibrated(40, 3)
    for call in (calibration_slope, hosmer_lemeshow):
        with pytest.raises(ValueError, match=r"^y_proba = 3 classes: .*event=.*\[0, 1, 2\].*top-label"):
            call(*three)
        with pytest.raises(ValueError, match=r"^event = 7: expected one of the classes"):
            call(*three, event=7)
        with pytest.raises(ValueError, match=r"^event = 1: expected None with notion='top-label'"):
            call(*three, event=1, notion="top-label")
    with pytest.raises(ValueError, match=r"^covariance = 'likelihood': expected 'sandwich'"):
        calibration_slope(y, p, covariance="likelihood", sample_weight=1 + p)
    with pytest.raises(ValueError, match=r"did you mean 'sandwich'"):
        calibration_slope(y, p, covariance="sandwiches")
    with pytest.raises(ValueError, match=r"^groups = 2 groups: expected 20"):
        calibration_slope(y, p, groups=np.arange(40) % 2)
    with pytest.raises(ValueError, match=r"did you mean 'slope'"):
        calibration_slope(y, p).interval("slop")


# ------------------------------------------------------------------ Hosmer and Lemeshow


def test_bins_hold_equal_numbers_of_rows_and_equal_predictions() -> None:
    y, p = binary(200)
    found = hosmer_lemeshow(y, p, n_bins=7)
    assert found.size.min() >= 28
    assert found.size.max() <= 29
    order = np.argsort(p)
    ends = np.cumsum(found.size)
    statistic = 0.0
    for low, high, seen, expected in zip(ends - found.size, ends, found.observed, found.expected, strict=True):
        rows = order[low:high]
        assert y[rows].sum() == seen
        assert p[rows].sum() == pytest.approx(expected)
        statistic += (seen - expected) ** 2 / (expected * (1 - expected / len(rows)))
    assert found.statistic == pytest.approx(statistic, rel=1e-12)
    assert found.pvalue == pytest.approx(stats.chi2.sf(statistic, 7), rel=1e-9)
    fitted = hosmer_lemeshow(y, p, n_bins=7, fitted=True)
    assert fitted.pvalue == pytest.approx(stats.chi2.sf(statistic, 5), rel=1e-9)
    ties = p.round(1).clip(0.1, 0.9)
    tied = hosmer_lemeshow(y, ties, n_bins=30)
    assert set(np.cumsum(tied.size)) <= set(np.cumsum(np.unique(ties, return_counts=True)[1]))
    assert "p-value" in str(tied)
    assert "<table>" in tied._repr_html_()
    assert tied.to_xarray().observed.sum() == y.sum()


def test_what_is_certain_adds_nothing_or_everything() -> None:
    y, p = binary(90)
    certain = np.concatenate([np.zeros(30), p])
    for first, statistic in (
        (0, hosmer_lemeshow(np.r_[np.zeros(30, int), y], certain, n_bins=4)),
        (1, hosmer_lemeshow(np.r_[1, np.zeros(29, int), y], certain, n_bins=4)),
    ):
        assert np.isinf(statistic.statistic) == bool(first)
        assert (statistic.pvalue == 0) == bool(first)
    with pytest.raises(ValueError, match=r"^sample_weight = weights that differ"):
        hosmer_lemeshow(y, p, sample_weight=1 + p)
    assert hosmer_lemeshow(y, p, sample_weight=(np.arange(90) % 2) * 3.0).n_samples == 45
    with pytest.raises(ValueError, match=r"^n_bins = 2: .*no degree of freedom"):
        hosmer_lemeshow(y, p, n_bins=2, fitted=True)
    for bad in (1, 2.5, True, "10"):
        with pytest.raises(ValueError, match=r"^n_bins = "):
            hosmer_lemeshow(y, p, n_bins=bad)  # type: ignore[arg-type]


def test_hosmer_lemeshow_and_spiegelhalter_keep_their_level() -> None:
    rejected = np.zeros(2)
    for seed in range(400):
        y, p = binary(300, seed, slope=1.0, intercept=0.0)
        rejected += [hosmer_lemeshow(y, p).pvalue < 0.05, spiegelhalter_test(y, p).pvalue < 0.05]
    # 20 of 400; 4 standard deviations are 17.
    assert (rejected <= 37).all()
    assert (rejected >= 4).all()


# ------------------------------------------------------------------ Spiegelhalter


@few
@given(seed=SEEDS, k=st.integers(2, 4))
def test_z_is_the_brier_score_less_its_mean_over_its_deviation(seed: int, k: int) -> None:
    y, p = calibrated(7, k, seed)
    weight = np.random.default_rng(seed).uniform(0.2, 2, 7)
    w = weight / weight.sum()
    scores = ((p[:, None, :] - np.eye(k)) ** 2).sum(axis=2)
    mean = (p * scores).sum(axis=1)
    variance = (p * (scores - mean[:, None]) ** 2).sum(axis=1)
    found = spiegelhalter_test(y, p, sample_weight=weight)
    assert found.brier_score == pytest.approx(w @ scores[np.arange(7), y], rel=1e-12)
    assert found.expected == pytest.approx(w @ mean, rel=1e-12)
    z = w @ (scores[np.arange(7), y] - mean) / np.sqrt(w**2 @ variance)
    assert found.statistic == pytest.approx(z, rel=1e-9)
    assert found.pvalue == pytest.approx(2 * stats.norm.sf(abs(z)), rel=1e-9)


def test_for_two_classes_z_is_the_published_one() -> None:
    y, p = binary(100)
    z = ((y - p) * (1 - 2 * p)).sum() / np.sqrt(((1 - 2 * p) ** 2 * p * (1 - p)).sum())
    found = spiegelhalter_test(y, p)
    assert found.statistic == pytest.approx(z, rel=1e-12)
    assert "z = " in str(found)
    assert "Brier" in found._repr_html_()
    assert float(found.to_xarray().statistic) == found.statistic
    for proba in (np.full((40, 4), 0.25), np.eye(4)[np.arange(40) % 4]):
        with pytest.raises(ValueError, match=r"under which the Brier score does not vary"):
            spiegelhalter_test(np.arange(40) % 4, proba)


# ------------------------------------------------------------------ expected calibration errors


def slow_error(occurred: Any, p: Any, w: Any, n_bins: int) -> float:
    total = 0.0
    for b in range(n_bins):
        inside = [h for h in range(len(p)) if b / n_bins < p[h] <= (b + 1) / n_bins or (b == 0 and p[h] == 0)]
        total += abs(sum(w[h] * (occurred[h] - p[h]) for h in inside))
    return total


@few
@given(seed=SEEDS, k=st.integers(2, 4), n_bins=st.integers(1, 20), weighted=st.booleans())
def test_an_expected_calibration_error_is_that_of_loops(seed: int, k: int, n_bins: int, weighted: bool) -> None:
    y, p = calibrated(40, k, seed, power=1.5)
    weight = np.random.default_rng(seed).uniform(0.2, 2, 40) if weighted else np.ones(40)
    w = weight / weight.sum()
    options: dict[str, Any] = {"sample_weight": weight, "n_resamples": 3}
    top = expected_calibration_error(y, p, n_bins=n_bins, **options)
    assert top.value == pytest.approx(slow_error(p.argmax(axis=1) == y, p.max(axis=1), w, n_bins), abs=1e-12)
    each = [slow_error(y == i, p[:, i], w, n_bins) for i in range(k)]
    by_class = expected_calibration_error(y, p, kind="classwise", n_bins=n_bins, **options)
    assert by_class.value == pytest.approx(np.mean(each), abs=1e-12)
    marked = expected_calibration_error(np.eye(k, dtype=int)[y], p * 0.85, kind="classwise", n_bins=n_bins, **options)
    assert marked.value == pytest.approx(
        np.mean([slow_error(y == i, p[:, i] * 0.85, w, n_bins) for i in range(k)]), abs=1e-12
    )


@pytest.mark.parametrize(
    ("kind", "k"), [("top-label", 2), ("top-label", 3), ("classwise", 2), ("classwise", 3), ("smooth", 2)]
)
def test_what_a_calibrated_model_has_is_the_mean_over_all_labels(kind: str, k: int) -> None:
    """Of 5 rows: all label sets, with their probabilities."""
    _, p = calibrated(5, k, 1)
    total, spread = 0.0, 0.0
    for labels in itertools.product(range(k), repeat=5):
        y = np.array(labels)
        value = expected_calibration_error(y, p, kind=kind, n_bins=4, n_resamples=1, labels=list(range(k))).value
        chance = p[np.arange(5), y].prod()
        total, spread = total + chance * value, spread + chance * value**2
    found = expected_calibration_error(np.arange(5) % k, p, kind=kind, n_bins=4, n_resamples=500)
    error = np.sqrt((spread - total**2) / 500)
    assert found.if_calibrated.mean == pytest.approx(total, abs=4 * error)
    assert found.if_calibrated.quantile >= found.if_calibrated.mean


def test_the_p_value_of_an_expected_calibration_error_is_uniform() -> None:
    found = [
        expected_calibration_error(*calibrated(60, 3, seed), n_resamples=19).if_calibrated.pvalue for seed in range(300)
    ]
    # P(p ≤ 0.2) is 0.2: 60 of 300, with a standard deviation of 7.
    assert abs(np.sum(np.array(found) <= 0.2 + 1e-9) - 60) <= 28


@few
@given(seed=SEEDS)
def test_the_smooth_error_is_a_fixed_point_of_smoothed_residuals(seed: int) -> None:
    y, p = binary(25, seed)
    found = expected_calibration_error(y, p, kind="smooth", n_resamples=1).value
    t = (np.arange(2000) + 0.5) / 2000
    smoothed = np.zeros(2000)
    for period, sign in itertools.product(range(-3, 4), (-1, 1)):
        smoothed += stats.norm.pdf(t[:, None], 2 * period + sign * p, found) @ (y - p) / 25
    assert np.abs(smoothed).mean() == pytest.approx(found, rel=1e-5)
    # Between calibration in the large, and residuals that are not smoothed at all.
    assert abs((y - p).mean()) - 1e-9 <= found <= np.abs(y - p).mean() + 1e-9
    turned = expected_calibration_error(1 - y, 1 - p, kind="smooth", n_resamples=1).value
    assert turned == pytest.approx(found, rel=1e-9)


def test_the_smooth_error_of_residuals_that_are_none_is_0() -> None:
    y = np.arange(30) % 2
    found = expected_calibration_error(y, y.astype(float), kind="smooth", n_resamples=9)
    assert (found.value, *found.if_calibrated) == (0.0, 0.0, 0.0, 1.0)
    y, p, _ = TemperatureScaledSimplex(3).sample(100, random_state=0)
    top = expected_calibration_error(y, p, kind="smooth", n_resamples=9)
    pair = expected_calibration_error(p.argmax(axis=1) == y, p.max(axis=1), kind="smooth", n_resamples=9)
    assert top.value == pytest.approx(pair.value, rel=1e-12)


def test_texts_and_datasets_of_errors_say_what_the_numbers_are() -> None:
    y, p = calibrated(80, 3)
    for kind in ("top-label", "classwise", "smooth"):
        found = expected_calibration_error(y, p, kind=kind, n_resamples=20)
        assert f"{found.value:.6g}" in str(found)
        assert f"{found.if_calibrated.mean:.6g}" in found._repr_html_()
        data = found.to_xarray()
        assert float(data.value) == found.value
        assert float(data.quantile_if_calibrated) == found.if_calibrated.quantile
        assert ("n_bins" in data.attrs) == (kind != "smooth")
        assert expected_calibration_error(y, p, kind=kind, n_resamples=20).if_calibrated == found.if_calibrated
    with pytest.raises(ValueError, match=r"did you mean 'top-label'"):
        expected_calibration_error(y, p, kind="toplabel")
    with pytest.raises(ValueError, match=r"^n_resamples = 0"):
        expected_calibration_error(y, p, n_resamples=0)
    slope = calibration_slope(*binary(50))
    assert f"{slope.slope:.4g}" in str(slope)
    assert f"{slope.slope:.4g}" in slope._repr_html_()
    assert slope.to_xarray().slope_interval.to_numpy().tolist() == list(slope.interval("slope"))


# ------------------------------------------------------------------ other packages


def test_values_are_those_of_calzone() -> None:
    metrics = pytest.importorskip("calzone.metrics")
    y, p = binary(600)
    g = np.stack([1 - p, p], axis=1)
    assert spiegelhalter_test(y, p).statistic == pytest.approx(metrics.spiegelhalter_z_test(y, g)[0], rel=1e-9)
    found = hosmer_lemeshow(y, p, fitted=True)
    theirs = metrics.hosmer_lemeshow_test(found.observed / found.size, found.expected / found.size, found.size)
    np.testing.assert_allclose([found.statistic, found.pvalue, found.df], theirs, rtol=1e-8)
    slope, intercept, *_ = metrics.cox_regression_analysis(y, g, class_to_calculate=1, print_results=False)
    np.testing.assert_allclose(
        [calibration_slope(y, p).slope, calibration_slope(y, p).intercept], [slope, intercept], rtol=1e-5
    )


def test_errors_are_those_of_torchmetrics() -> None:
    metrics = pytest.importorskip("torchmetrics.functional.classification")
    torch = pytest.importorskip("torch")
    y, p, _ = TemperatureScaledSimplex(4).sample(700, random_state=0)
    theirs = float(
        metrics.multiclass_calibration_error(torch.tensor(p), torch.tensor(y), num_classes=4, n_bins=15, norm="l1")
    )
    # They sum up in single precision.
    assert expected_calibration_error(y, p, n_resamples=1).value == pytest.approx(theirs, abs=1e-6)


def test_errors_are_those_of_probmetrics() -> None:
    module = pytest.importorskip("probmetrics.metrics")
    torch = pytest.importorskip("torch")
    pytest.importorskip("torchmetrics")
    y, p, _ = TemperatureScaledSimplex(4).sample(700, random_state=0)
    metrics = module.Metrics.from_names(["ece-15", "brier"])
    theirs = metrics.compute_all_from_labels_probs(torch.tensor(y), torch.tensor(p))
    assert expected_calibration_error(y, p, n_resamples=1).value == pytest.approx(float(theirs["ece-15"]), abs=1e-6)
    risk = propercal.decompose(y, p, generator="brier", method="risk", bandwidth=0.1).risk
    assert risk == pytest.approx(float(theirs["brier"]), rel=1e-6)


def test_errors_are_those_of_netcal() -> None:
    metrics = pytest.importorskip("netcal.metrics")
    y, p, _ = TemperatureScaledSimplex(4).sample(700, random_state=0)
    assert expected_calibration_error(y, p, n_resamples=1).value == pytest.approx(
        float(metrics.ECE(15).measure(p, y)), abs=1e-9
    )


def test_the_smooth_error_is_that_of_relplot() -> None:
    relplot = pytest.importorskip("relplot.metrics")
    y, p = binary(700)
    # Their search of σ ends after ten halvings, and predictions are rounded to a grid.
    assert expected_calibration_error(y, p, kind="smooth", n_resamples=1).value == pytest.approx(
        float(relplot.smECE(p, y)), rel=0.02
    )


def test_all_are_names_of_the_package() -> None:
    for name in propercal.classical.__all__:
        assert name == "IfCalibrated" or getattr(propercal, name) is getattr(propercal.classical, name)
