"""The published estimates converge away from the boundary if the bandwidth falls slowly enough, whatever E[Y | g] is."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import propercal
from propercal._kernels.kernels import DirichletKernel

LOW, HIGH = 0.2, 0.8
BEFORE, AFTER = 0.7, 0.2  # E[Y | g] below and above the jump


def kernel(targets: np.ndarray, sources: np.ndarray, bandwidth: float) -> np.ndarray:
    """(n, m) kernel of targets and sources, probabilities of the second class."""

    def features(p: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        prob = np.stack([1 - p, p], axis=1)
        found = DirichletKernel().features(prob, np.log(prob), bandwidth)
        return found.target, found.source, found.log_scale

    target, _, log_scale = features(targets)
    source = features(sources)[1]
    values: np.ndarray = np.exp(target @ source + log_scale[:, None])
    return values


@pytest.mark.parametrize("bandwidth", [1e-2, 1e-3, 1e-4])
def test_the_kernel_is_a_bell_on_a_compact_part(bandwidth: float) -> None:
    """Stirling's formula with its first correction, uniformly, and so bounds by two normal densities."""
    x = np.linspace(LOW, HIGH, 41)
    t = x[:, None]
    divergence = x * np.log(x / t) + (1 - x) * np.log((1 - x) / (1 - t))
    stirling = np.exp(-divergence / bandwidth) / np.sqrt(2 * math.pi * bandwidth * x * (1 - x))
    seen = stirling > 1e-200
    ratio = kernel(x, x, bandwidth)[seen] / stirling[seen]
    # (ν + 1)/ν, and the corrections of three factorials.
    correction = bandwidth * (1 + (1 - 1 / x - 1 / (1 - x)) / 12)
    np.testing.assert_allclose(ratio, 1 + np.broadcast_to(correction, t.shape[:1] + x.shape)[seen], atol=0.2 * bandwidth**1.5 + 20 * bandwidth**2)
    assert (divergence >= 2 * (x - t) ** 2 - 1e-15).all()
    assert (divergence <= (x - t) ** 2 / (2 * LOW * (1 - LOW)) + 1e-15).all()


def rate(p: np.ndarray) -> np.ndarray:
    """E[Y | g], which jumps down in the middle."""
    return np.where(p < 0.5, BEFORE, AFTER)


def sample(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    p = rng.uniform(LOW, HIGH, n)
    return (rng.random(n) < rate(p)).astype(int), p


def bound(n: int, bandwidth: float) -> float:
    """Smoothing of the jump and noise of the labels, to first order, of the mean absolute error."""
    density = 1 / (HIGH - LOW)
    smoothing = density * (BEFORE - AFTER) * math.sqrt(bandwidth / 4) * math.sqrt(2 / math.pi)
    neighbours = n * density * math.sqrt(4 * math.pi * bandwidth / 4)
    return smoothing + math.sqrt(2 / math.pi * 0.25 / neighbours)


def test_both_estimates_converge_where_the_map_jumps() -> None:
    grid = LOW + (HIGH - LOW) * (np.arange(20_000) + 0.5) / 20_000
    r = rate(grid)
    truth = float((r * np.log(r / grid) + (1 - r) * np.log((1 - r) / (1 - grid))).mean())
    errors = []
    for n in (200, 3200, 51_200):
        bandwidth = n ** (-2 / 3)
        of_mean, of_estimates = [], []
        for seed in range(4):
            y, p = sample(n, seed)
            smooth = np.asarray(propercal.conditional_mean(y, p, pos_label=1, bandwidth=bandwidth))[:, 1]
            of_mean.append(np.abs(smooth - rate(p)).mean())
            for method in ("direct", "risk"):
                found = propercal.decompose(y, p, pos_label=1, method=method, bandwidth=bandwidth)
                of_estimates.append(abs(found.calibration_error - truth))
        assert np.mean(of_mean) < 1.15 * bound(n, bandwidth), n
        errors.append((np.mean(of_mean), np.mean(of_estimates)))
    # The bound falls like n^(−1/3), by 2.5 between the sizes.
    for before, after in itertools.pairwise(errors):
        assert after[0] < before[0] / 2
        assert after[1] < before[1] / 1.5
    assert errors[-1][1] < 0.01


def test_both_estimates_converge_for_three_classes() -> None:
    """Predictions are uniform on a small triangle, on two parts of which other classes are likely."""
    law = np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]])
    errors = []
    for n in (200, 3200):
        rng = np.random.default_rng(n)
        p = 0.15 + 0.55 * rng.dirichlet(np.ones(3), n)
        r = law[(p[:, 0] > p[:, 1]).astype(int)]
        y = (rng.random(n)[:, None] > r.cumsum(axis=1)).sum(axis=1)
        # n γ, which is n γ^((k − 1)/2), grows like √n.
        bandwidth = 0.5 * n**-0.5
        # Predictions that are so wrong would be taken for those of other classes.
        named: Any = {"bandwidth": bandwidth, "labels": [0, 1, 2]}
        smooth = np.asarray(propercal.conditional_mean(y, p, **named))
        # The divergences at the sample have its noise, and no estimate of them has less.
        truth = (r * np.log(r / p)).sum(axis=1).mean()
        direct = propercal.decompose(y, p, method="direct", notion="canonical", **named).calibration_error
        errors.append((np.abs(smooth - r).mean(), abs(direct - truth)))
        # The mean value theorem: the gradient in r is log(r/p), between r and its estimate.
        steepest = max(np.abs(np.log(r / p)).max(), np.abs(np.log(smooth / p)).max())
        assert errors[-1][1] <= steepest * np.abs(smooth - r).sum(axis=1).mean()
    (first, before), (last, after) = errors
    # Smoothing falls like √γ, by 2, and noise like 1/√(n γ), by 2.
    assert last < first / 1.7
    assert after < before / 1.5
