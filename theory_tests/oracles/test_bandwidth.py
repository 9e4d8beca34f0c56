"""The selected bandwidth against the criteria of the transcription, on a fine grid."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import logsumexp

import propercal
from theory_tests.instances import Floats
from theory_tests.oracles.transcription import (
    BRIER,
    LOG,
    Plain,
    assert_agree,
    conditional_mean,
    expected,
    log_kernel,
    problems,
)


def criterion_value(
    p: Floats, y: NDArray[np.int64], notion: str, criterion: str, plain: Plain, bandwidth: float
) -> float:
    """Mean over a notion's problems of what the criterion asks to be small."""
    values = []
    for q, Y in problems(p, y, notion):
        if criterion == "risk":
            r = conditional_mean(q, Y, bandwidth, np.ones(len(y)))
            values.append(plain.L(r, Y).mean())
        else:
            log_w = log_kernel(q, q, bandwidth)
            np.fill_diagonal(log_w, -np.inf)
            values.append(-(logsumexp(log_w, axis=1) - math.log(len(y) - 1)).mean())
    return float(np.mean(values))


def miscalibrated(n: int, k: int, seed: int) -> tuple[Floats, NDArray[np.int64]]:
    """Over-confident predictions: labels follow p, predictions are p sharpened."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(k), size=n)
    y = (rng.uniform(size=(n, 1)) > p.cumsum(1)).sum(1).clip(0, k - 1)
    g = p**1.7
    return g / g.sum(1, keepdims=True), y


@pytest.mark.parametrize("notion", ["canonical", "classwise", "top-label"])
@pytest.mark.parametrize("criterion", ["risk", "likelihood"])
@pytest.mark.parametrize("plain", [LOG, BRIER], ids=repr)
def test_selected_bandwidth_is_as_good_as_a_fine_grid(plain: Plain, criterion: str, notion: str) -> None:
    p, y = miscalibrated(200, 3, 21)
    selected = propercal.select_bandwidth(y, p, generator=plain.name, notion=notion, criterion=criterion)
    assert isinstance(selected, float)
    best = min(criterion_value(p, y, notion, criterion, plain, gamma) for gamma in np.geomspace(2e-3, 1.0, 40))
    # The search may stop within a few per cent of the minimiser; there the criterion is flat, and the
    # loss it gives away is second order. Its own standard error here is about 0.03.
    assert criterion_value(p, y, notion, criterion, plain, selected) <= best + 1e-4


@pytest.mark.filterwarnings("ignore:y_proba has columns, read as those of the classes")
@pytest.mark.parametrize(
    ("coarse", "fine", "frequency", "wanted"), [(0.25, 0.22, 60, "fine"), (0.28, 0.2, 100, "coarse")]
)
def test_selection_is_not_caught_in_the_wrong_valley(coarse: float, fine: float, frequency: int, wanted: str) -> None:
    """E[Y | g] on two scales makes the risk criterion bimodal in the bandwidth."""
    x = np.linspace(0.02, 0.98, 481)
    share = 0.5 + coarse * np.sin(2 * np.pi * x) + fine * np.sign(np.sin(frequency * np.pi * x))
    y = (np.random.default_rng(1).uniform(size=x.size) < share).astype(np.int64)
    p = np.stack([1 - x, x], 1)
    grid = np.geomspace(3e-5, 1.0, 50)
    values = [criterion_value(p, y, "canonical", "risk", BRIER, gamma) for gamma in grid]
    valleys = [i for i in range(1, 49) if values[i] < min(values[i - 1], values[i + 1])]
    assert len(valleys) == 2
    # Predictions that are so wrong would be taken for those of other classes.
    selected = propercal.select_bandwidth(y, p, generator="brier", notion="canonical", criterion="risk", labels=[0, 1])
    assert (selected < 3e-3) == (wanted == "fine")
    assert criterion_value(p, y, "canonical", "risk", BRIER, selected) <= min(values) + 1e-4


def test_auto_is_the_risk_criterion() -> None:
    p, y = miscalibrated(150, 3, 22)
    for notion in ("canonical", "classwise"):
        found = propercal.decompose(y, p, generator="brier", notion=notion, method="risk", bandwidth="auto")
        selected = propercal.select_bandwidth(y, p, generator="brier", notion=notion, criterion="risk")
        assert found.bandwidth == selected
        assert_agree(found, expected(p, y, BRIER, notion, "risk", selected))
