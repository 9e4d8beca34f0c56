"""The difference of two CRPS is a paired t-test of the rows, or of sums over groups of them.

A forecast of two values, 0 and 1, is one of an event, and its CRPS its Brier score: with the probability p = 1 − F(0) of y = 1,

    ∫ (F(z) − 1[y ≤ z])² dz = ∫₀¹ ((1 − p) − (1 − y))² dz = (p − y)².

The Brier loss of the package is the sum over both classes, (p − y)² + ((1 − p) − (1 − y))² = 2 (p − y)².
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t, ttest_rel

from propercal import CRPSDifference, crps_decomposition, crps_difference, paired_difference

NUMBERS = ("difference", "standard_error", "pvalue", "degrees_of_freedom", "risk_a", "risk_b")


def data(n: int = 60, seed: int = 0) -> tuple[Any, Any, Any]:
    """Outcomes, and ensembles of five and of nine members."""
    rng = np.random.default_rng(seed)
    mean = rng.normal(size=n)
    return mean + rng.normal(size=n), mean[:, None] + 0.4 * rng.normal(size=(n, 5)), mean[:, None] + rng.normal(size=(n, 9))


def crps_of_rows(y: Any, x: Any) -> Any:
    """E |X − y| − ½ E |X − X'|, by both sums."""
    return np.abs(x - y[:, None]).mean(axis=1) - np.abs(x[:, :, None] - x[:, None]).mean(axis=(1, 2)) / 2


def numbers(found: CRPSDifference) -> list[float]:
    return [getattr(found, name) for name in NUMBERS]


def check_same(found: CRPSDifference, wanted: CRPSDifference) -> None:
    np.testing.assert_allclose(numbers(found), numbers(wanted), rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(found.interval(0.8), wanted.interval(0.8), rtol=1e-9, atol=1e-14)


@pytest.mark.slow
@settings(max_examples=25)
@given(seed=st.integers(0, 999), weighted=st.booleans(), quantiles=st.booleans())
def test_it_is_the_difference_of_two_risks(seed: int, weighted: bool, quantiles: bool) -> None:
    y, a, b = data(40, seed)
    weight = np.random.default_rng(seed).uniform(0.2, 3, 40) if weighted else None
    levels = np.linspace(0.1, 0.9, 9).tolist()
    forecast: dict[str, Any] = {"quantiles": np.sort(b, axis=1), "levels": levels} if quantiles else {"ensemble": b}
    of_b = {f"{name}_b" if name != "levels" else name: value for name, value in forecast.items()}
    found = crps_difference(y, a, **of_b, sample_weight=weight)
    risks = crps_decomposition(y, a, sample_weight=weight).risk, crps_decomposition(y, **forecast, sample_weight=weight).risk
    assert (found.risk_a, found.risk_b) == pytest.approx(risks, rel=1e-12)
    assert found.difference == pytest.approx(risks[0] - risks[1], abs=1e-12)


@settings(max_examples=25)
@given(seed=st.integers(0, 999), n=st.integers(3, 50), level=st.sampled_from([0.5, 0.9, 0.95]))
def test_independent_rows_are_a_paired_t_test(seed: int, n: int, level: float) -> None:
    y, a, b = data(n, seed)
    found = crps_difference(y, a, b, confidence_level=level)
    wanted = ttest_rel(crps_of_rows(y, a), crps_of_rows(y, b))
    assert found.pvalue == pytest.approx(wanted.pvalue, rel=1e-8)
    assert found.difference / found.standard_error == pytest.approx(wanted.statistic, rel=1e-8)
    assert found.degrees_of_freedom == pytest.approx(wanted.df)
    interval = wanted.confidence_interval(level)
    np.testing.assert_allclose(found.interval(), (interval.low, interval.high), rtol=1e-8)


@pytest.mark.parametrize("options", [{}, {"blocks": 3}, {"groups": np.arange(60) % 23}, {"sample_weight": np.linspace(0.1, 2, 60)}])
def test_exchanged_forecasts_change_the_sign(options: Any) -> None:
    y, a, b = data()
    found, other = crps_difference(y, a, b, **options), crps_difference(y, b, a, **options)
    assert (found.difference, found.standard_error, found.pvalue) == (-other.difference, other.standard_error, other.pvalue)
    assert (found.risk_a, found.risk_b) == (other.risk_b, other.risk_a)
    assert found.interval() == (-other.interval()[1], -other.interval()[0])


def test_groups_of_one_row_are_none() -> None:
    y, a, b = data()
    found = crps_difference(y, a, b, groups=np.random.default_rng(0).permutation(60))
    check_same(found, crps_difference(y, a, b))
    check_same(crps_difference(y, a, b, blocks=1), found)
    assert (found.n_groups, crps_difference(y, a, b).n_groups) == (60, None)


@pytest.mark.parametrize("weighted", [False, True])
def test_repeated_rows_in_groups_are_single_rows(weighted: bool) -> None:
    y, a, b = data()
    weight = np.random.default_rng(1).uniform(0.5, 2, 60) if weighted else np.ones(60)
    rows = np.repeat(np.arange(60), 4)
    found = crps_difference(y[rows], a[rows], b[rows], groups=rows, sample_weight=weight[rows])
    check_same(found, crps_difference(y, a, b, sample_weight=weight))
    check_same(crps_difference(y[rows], a[rows], b[rows], blocks=4, sample_weight=weight[rows]), found)
    assert crps_difference(y[rows], a[rows], b[rows]).standard_error < 0.52 * crps_difference(y, a, b).standard_error


def test_groups_are_a_t_test_of_their_sums() -> None:
    """Of equal size, they are one of the means of groups."""
    y, a, b = data()
    group = np.random.default_rng(2).permutation(np.arange(60) // 4)
    means = [np.bincount(group, crps_of_rows(y, each)) / 4 for each in (a, b)]
    wanted = ttest_rel(means[0], means[1])
    found = crps_difference(y, a, b, groups=group)
    assert found.n_groups == 15
    assert found.degrees_of_freedom == pytest.approx(14)
    assert found.pvalue == pytest.approx(wanted.pvalue, rel=1e-8)
    np.testing.assert_allclose(found.interval(), wanted.confidence_interval(), rtol=1e-8)


def test_weights_have_no_scale_and_0_is_a_row_less() -> None:
    y, a, b = data()
    weight = np.random.default_rng(3).uniform(0, 2, 60)
    weight[::7] = 0
    kept = weight > 0
    found = crps_difference(y, a, b, sample_weight=weight)
    check_same(crps_difference(y, a, b, sample_weight=1e6 * weight), found)
    check_same(crps_difference(y[kept], a[kept], b[kept], sample_weight=weight[kept]), found)
    assert found.n_samples == kept.sum()
    check_same(crps_difference(y, a, b, sample_weight=np.full(60, 3.0)), crps_difference(y, a, b))
    w = weight / weight.sum()
    difference = crps_of_rows(y, a) - crps_of_rows(y, b)
    error = np.sqrt(np.sum(w[kept] ** 2 * (difference[kept] - w @ difference) ** 2) * kept.sum() / (kept.sum() - 1))
    freedom = 1 / np.sum(w**2) - 1
    assert (found.standard_error, found.degrees_of_freedom) == pytest.approx((error, freedom))
    assert found.pvalue == pytest.approx(2 * t.sf(abs(w @ difference) / error, freedom))


@settings(max_examples=20)
@given(shift=st.sampled_from([0.0, -3.5, 1e3]), scale=st.sampled_from([1.0, -0.01, 40.0]), seed=st.integers(0, 99))
def test_shifts_leave_and_scales_multiply(shift: float, scale: float, seed: int) -> None:
    y, a, b = data(40, seed)
    found, before = crps_difference(scale * y + shift, scale * a + shift, scale * b + shift), crps_difference(y, a, b)
    assert found.difference == pytest.approx(abs(scale) * before.difference, rel=1e-7, abs=1e-12)
    assert found.pvalue == pytest.approx(before.pvalue, rel=1e-7)


def test_members_and_rows_have_no_order() -> None:
    y, a, b = data()
    rng = np.random.default_rng(4)
    rows = rng.permutation(60)
    check_same(crps_difference(y[rows], rng.permuted(a, axis=1)[rows], rng.permuted(b, axis=1)[rows]), crps_difference(y, a, b))


@pytest.mark.parametrize("shift", [0.0, 300.0])
@pytest.mark.parametrize("copies", [2, 7, 300])
def test_what_differs_by_rounding_alone_does_not_differ(copies: int, shift: float) -> None:
    """Each member several times is the same forecast, and so are quantiles half-way between levels."""
    y, a, _ = data(seed=copies)
    y, a = y + shift, a + shift
    found = crps_difference(y, a, np.repeat(a, copies, axis=1))
    assert (found.difference, found.standard_error, found.pvalue, found.interval()) == (0, 0, 1, (0, 0))
    found = crps_difference(y, a, quantiles_b=np.sort(a, axis=1), levels=[0.1, 0.3, 0.5, 0.7, 0.9])
    assert (found.difference, found.pvalue) == (0, 1)
    assert crps_difference(y, a, a + 1e-9).difference != 0


@pytest.mark.filterwarnings("ignore:.* is 0 or 1 in each of 60 rows")
@pytest.mark.parametrize("members", [1, 8])
@pytest.mark.parametrize("options", [{}, {"groups": np.arange(60) // 2}, {"sample_weight": np.linspace(0.3, 2, 60)}])
def test_of_an_event_it_is_half_the_difference_of_brier_losses(members: int, options: Any) -> None:
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, 60)
    a, b = (rng.integers(0, 2, (60, m)) for m in (members, 5))
    found = crps_difference(y, a, b, **options)
    wanted = paired_difference(y, a.mean(axis=1), b.mean(axis=1), term="risk", generator="brier", **options)
    assert 2 * found.difference == pytest.approx(wanted.difference, rel=1e-12)
    assert 2 * found.standard_error == pytest.approx(wanted.standard_error, rel=1e-12)
    assert (found.pvalue, found.degrees_of_freedom) == pytest.approx((wanted.pvalue, wanted.degrees_of_freedom), rel=1e-10)
    np.testing.assert_allclose(2 * np.array(found.interval()), wanted.interval(), rtol=1e-10)


def of_days(rng: np.random.Generator, n_blocks: int, length: int) -> tuple[Any, Any, Any]:
    """Two forecasts that are equally good, each wrong in its own way for some days on end."""
    n = n_blocks * length
    mean = rng.normal(size=n)
    wrong = np.repeat(rng.normal(size=(2, n_blocks)), length, axis=1)
    a, b = (mean[:, None] + each[:, None] + rng.normal(size=(n, 9)) for each in wrong)
    return mean + rng.normal(size=n), a, b


@pytest.mark.slow
def test_size_where_days_depend_on_each_other() -> None:
    """Of 2000 comparisons of equally good forecasts 5 % are to be rejected, ± 3 binomial standard errors: 1.5 %."""
    rng = np.random.default_rng(6)
    rejected = np.zeros(2)
    for _ in range(2000):
        y, a, b = of_days(rng, 30, 7)
        rejected += [crps_difference(y, a, b, blocks=blocks).pvalue < 0.05 for blocks in (7, None)]
    by_blocks, by_rows = rejected / 2000
    assert by_blocks == pytest.approx(0.05, abs=0.015)
    assert by_rows == pytest.approx(0.24, abs=0.04)
