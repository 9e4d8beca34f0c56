"""Degenerate samples, and predictions at vertices and on faces, give the right numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

import propercal
from propercal.generators import ItakuraSaito
from theory_tests.instances import (
    NOTIONS,
    P_HARD,
    PLAIN_METHODS,
    TERMS,
    Y_HARD,
    Floats,
    by_risk,
    calibrated,
    risk_of,
    same,
    terms,
)

N = 60


# ---------------------------------------------------------------- degenerate samples
@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("method", PLAIN_METHODS)
def test_two_samples_are_enough(method: str, notion: str) -> None:
    """Each one's estimate is the other's label."""
    p = np.array([[0.7, 0.2, 0.1], [0.2, 0.7, 0.1]])
    found = terms(np.array([0, 1]), p, notion=notion, method=method, generator="brier")
    assert np.isfinite(found).all()
    if notion == "canonical" and method == "direct":
        wanted = np.mean([((np.eye(3)[1] - p[0]) ** 2).sum(), ((np.eye(3)[0] - p[1]) ** 2).sum()])
        assert found[1] == pytest.approx(wanted, rel=1e-14)


@pytest.mark.parametrize("generator", ["log", "brier", "spherical"])
@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("method", PLAIN_METHODS)
def test_a_class_that_never_occurs(method: str, notion: str, generator: str) -> None:
    y, p = calibrated(N, concentration=0.8)
    y = np.where(y == 2, 0, y)
    found = terms(y, p, notion=notion, method=method, generator=generator)
    assert np.isfinite(found).all()
    if notion == "canonical" and generator == "log":
        share = np.bincount(y, minlength=3)[:2] / N
        assert found[4] == pytest.approx(-(share * np.log(share)).sum(), rel=1e-13)


@pytest.mark.parametrize("generator", ["log", "brier", "spherical"])
@pytest.mark.parametrize("notion", ["canonical", "classwise"])
@pytest.mark.parametrize("method", PLAIN_METHODS)
def test_one_class_only(method: str, notion: str, generator: str) -> None:
    """r̂ is a vertex everywhere, so nothing is uncertain and the whole risk is miscalibration."""
    _, p = calibrated(N, concentration=0.8)
    y = np.full(N, 1)
    risk, error, *rest = terms(y, p, notion=notion, method=method, generator=generator)
    assert risk > 0.01
    assert error == pytest.approx(risk, rel=1e-12)
    np.testing.assert_allclose(rest, 0, atol=1e-12)


@pytest.mark.parametrize("generator", ["log", "brier"])
@pytest.mark.parametrize("bandwidth", [1e-4, 0.05, 1.0])
def test_one_prediction_for_all(bandwidth: float, generator: str) -> None:
    """All kernel weights are equal: r̂ is the mean of the other labels, whatever the bandwidth."""
    y = np.array([1] * 7 + [0] * 13)
    p = np.tile([0.4, 0.6], (20, 1))
    r = (7 - y) / 19
    if generator == "log":
        refinement = -np.mean(r * np.log(r) + (1 - r) * np.log(1 - r))
        risk = -np.mean(np.log(np.where(y == 1, 0.6, 0.4)))
    else:
        refinement = np.mean(2 * r * (1 - r))
        risk = np.mean(2 * np.where(y == 1, 0.4, 0.6) ** 2)
    for notion in ("canonical", "classwise"):
        found = terms(y, p, notion=notion, generator=generator, bandwidth=bandwidth)
        # The equal weights come out of exp(log k) with 1e-11 at γ = 1e-4, see the brute-force test.
        np.testing.assert_allclose(found[[0, 2]], [risk, refinement], rtol=1e-9)


def test_perfect_and_sharp() -> None:
    """Right with probability 1 everywhere: no loss, no error, all uncertainty resolved."""
    y = np.arange(12) % 3
    p = np.eye(3)[y]
    for generator in ("log", "brier", "spherical"):
        for notion in ("canonical", "classwise"):
            for method in PLAIN_METHODS:
                found = terms(y, p, notion=notion, method=method, generator=generator)
                np.testing.assert_allclose(found[:3], 0, atol=1e-12)
                assert found[3] == pytest.approx(found[4], rel=1e-12)
                assert found[4] > 0.1


# ---------------------------------------------------------------- vertices, faces, zero-probability events
def on_the_boundary() -> tuple[NDArray[np.int64], Floats]:
    """Vertices and faces, each occupied often enough, where only what has probability > 0 occurs."""
    y, p = calibrated(80, seed=5, concentration=0.8)
    p[:8] = [1.0, 0.0, 0.0]
    y[:8] = 0
    p[8:14] = [0.0, 1.0, 0.0]
    y[8:14] = 1
    p[14:30] = [0.5, 0.5, 0.0]
    y[14:30] = np.arange(16) % 2
    p[30:40] = [0.0, 0.25, 0.75]
    y[30:40] = 1 + np.arange(10) % 2
    return y, p


@pytest.mark.parametrize("bandwidth", [1e-3, 0.05, 0.5])
@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("generator", ["log", "brier", "spherical"])
def test_the_boundary_is_finite(generator: str, notion: str, bandwidth: float) -> None:
    y, p = on_the_boundary()
    found = propercal.decompose(y, p, generator=generator, notion=notion, bandwidth=bandwidth)
    assert all(math.isfinite(getattr(found, term)) for term in TERMS)
    assert found.infinite_loss_rows == ()


@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("method", PLAIN_METHODS)
def test_the_boundary_has_no_infinite_brier_score(method: str, notion: str) -> None:
    y, p = on_the_boundary()
    y[:4] = 2  # impossible events cost a Brier score of 2, no more
    found = terms(y, p, notion=notion, method=method, generator="brier")
    assert np.isfinite(found).all()


@pytest.mark.parametrize("method", PLAIN_METHODS)
def test_an_impossible_event_makes_the_log_loss_infinite(method: str) -> None:
    y, p = on_the_boundary()
    y[[5, 17]] = 2
    with pytest.warns(UserWarning, match="(?i)row.*infinite|infinite.*row"):
        found = propercal.decompose(y, p, generator="log", method=method, bandwidth=0.05)
    assert found.risk == math.inf
    if method == "risk":
        assert found.infinite_loss_rows == (5, 17)
    else:
        # Rows count too at which r̂ gives weight to a class that g rules out.
        assert {5, 17} <= set(found.infinite_loss_rows)
    assert found.calibration_error == math.inf
    # What does not depend on the losses stays a number, and nothing becomes NaN.
    for term in ("refinement", "sharpness", "uncertainty"):
        assert math.isfinite(getattr(found, term))
    assert "inf" in str(found)


def test_an_infinite_divergence_is_not_called_an_outcome() -> None:
    """Directly, D_F(r̂, g) is infinite where r̂ spreads onto a class that g rules out.

    Nothing impossible occurred here: the losses are finite, and the words must fit that.
    """
    y, p = on_the_boundary()
    with pytest.warns(UserWarning, match=r"(?i)row") as caught:
        found = propercal.decompose(y, p, generator="log", method="direct", bandwidth=0.5)
    assert found.calibration_error == math.inf
    assert math.isfinite(found.risk)
    assert len(caught) == 1
    assert "occurred" not in str(caught[0].message)
    assert "the risk" not in str(caught[0].message).lower()


def test_an_impossible_event_class_by_class() -> None:
    y, p = on_the_boundary()
    y[[5, 17]] = 2
    with pytest.warns(UserWarning, match=r"(?is)(?=.*\b5\b)(?=.*\b17\b)(?=.*row)"):
        found = propercal.decompose(y, p, generator="log", notion="classwise", method="risk", bandwidth=0.05)
    assert found.risk == math.inf
    assert found.infinite_loss_rows == (5, 17)


def test_an_impossible_event_at_the_top_label() -> None:
    """Row 5 was certain and wrong; row 17 hedged its top label, so its loss there is finite."""
    y, p = on_the_boundary()
    p[14:30, :2] = [0.55, 0.45]
    y[[5, 17]] = 2
    with pytest.warns(UserWarning, match=r"(?i)\b5\b"):
        found = propercal.decompose(y, p, generator="log", notion="top-label", method="risk", bandwidth=0.05)
    assert found.risk == math.inf
    assert found.infinite_loss_rows == (5,)


def test_rows_are_numbered_as_the_caller_sees_them() -> None:
    """Rows of weight 0 in front must not shift the numbers."""
    y, p = on_the_boundary()
    y[17] = 2
    w = np.ones(80)
    w[:3] = 0
    with pytest.warns(UserWarning, match=r"\b17\b"):
        found = propercal.decompose(y, p, generator="log", bandwidth=0.05, sample_weight=w)
    assert found.infinite_loss_rows == (17,)


def test_many_impossible_events_are_all_listed_but_not_all_shouted() -> None:
    y, p = calibrated(400, concentration=0.8)
    p[:100] = [0.5, 0.5, 0.0]
    y[:100] = 2
    with pytest.warns(UserWarning, match="100|95 more") as caught:
        found = propercal.decompose(y, p, generator="log", bandwidth=0.05)
    assert found.infinite_loss_rows == tuple(range(100))
    assert len(str(caught[0].message)) < 500


def test_only_the_generator_with_infinite_losses_warns() -> None:
    y, p = on_the_boundary()
    y[17] = 2
    with pytest.warns(UserWarning, match="infinite") as caught:
        log, brier = propercal.decompose(y, p, generator=["log", "brier"], bandwidth=0.05)
    assert len(caught) == 1
    assert log.infinite_loss_rows == (17,)
    assert brier.infinite_loss_rows == ()
    assert math.isfinite(brier.risk)


def test_a_lone_vertex_far_from_all_others() -> None:
    """All its kernel weights underflow; in log space the nearest point still wins."""
    rng = np.random.default_rng(9)
    p = rng.dirichlet([50.0, 50.0, 1.0], size=40)
    y = rng.integers(0, 2, 40)
    p[0], y[0] = [0.0, 0.0, 1.0], 2
    mean = propercal.conditional_mean(y, p, notion="canonical", kernel="dirichlet", bandwidth=1e-3)
    assert np.isfinite(mean).all()
    np.testing.assert_allclose(mean.sum(1), 1, rtol=1e-12)


def test_weight_zero_removes_an_impossible_event_too() -> None:
    """0 × ∞: a row that counts for nothing cannot make the log loss infinite, nor earn a warning."""
    y, p = calibrated(N, concentration=0.8)
    p[7], y[7] = [0.5, 0.5, 0.0], 2
    w = np.ones(N)
    w[7] = 0
    keep = w > 0
    for notion in NOTIONS:
        same(terms(y, p, notion=notion, sample_weight=w), terms(y[keep], p[keep], notion=notion))


@pytest.mark.parametrize(
    ("kernel", "bandwidth"), [("dirichlet", 1e-9), ("dirichlet", 1e9), ("quantile-bins", 1e-9), ("quantile-bins", 1.0)]
)
@pytest.mark.filterwarnings("ignore:y_proba has rows that sum", "ignore:bandwidth = .* alone")
def test_extreme_bandwidths_and_rows_off_by_a_tenth(kernel: str, bandwidth: float) -> None:
    p = P_HARD * np.random.default_rng(1).uniform(0.91, 1.09, len(Y_HARD))[:, None]
    found = by_risk(Y_HARD, np.minimum(p, 1), generator="brier", bandwidth=bandwidth, kernel=kernel)
    assert -2 <= found.calibration_error <= 4
    mean = propercal.conditional_mean(Y_HARD, np.minimum(p, 1), bandwidth=bandwidth, kernel=kernel)
    np.testing.assert_allclose(mean.sum(axis=1), 1, rtol=1e-12)


def test_infinite_terms_are_never_silent() -> None:
    y = np.repeat([0, 1, 2], 20)
    p = np.repeat([[0.98, 0.01, 0.01], [0.01, 0.98, 0.01], [0.01, 0.01, 0.98]], 20, axis=0)
    with pytest.warns(UserWarning, match="estimated probability is 0"):
        found = by_risk(y, p, generator=ItakuraSaito(), bandwidth=1e-4)
    assert found.refinement == -np.inf


def test_callers_who_raise_on_underflow() -> None:
    with np.errstate(all="raise"):
        assert risk_of(Y_HARD, P_HARD, bandwidth=1e-3) == risk_of(Y_HARD, P_HARD, bandwidth=1e-3)
        propercal.select_bandwidth(Y_HARD, P_HARD, generator="brier")
        propercal.conditional_mean(Y_HARD, P_HARD, bandwidth=1e-3)
