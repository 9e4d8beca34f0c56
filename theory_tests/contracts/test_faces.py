"""What happens exactly at 0, at 1 and at the edges of bins: one-sided gradients, and the bin that an edge begins."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import propercal
from propercal._kernels.bins import bin_numbers
from propercal.plotting import reliability_diagram

# ---------------------------------------------------------------- edges of bins


@given(n=st.integers(1, 1000), i=st.integers(0, 1000))
def test_an_edge_begins_its_bin(n: int, i: int) -> None:
    """i / n ≤ p < (i + 1) / n for the double p nearest to an edge, and for its neighbours."""
    edge = min(i, n) / n
    p = np.array([edge, np.nextafter(edge, 0), np.nextafter(edge, 1)])
    found = bin_numbers(p, n)
    edges = np.array([j / n for j in range(n + 1)])
    expected = np.clip(np.searchsorted(edges, p, side="right") - 1, 0, n - 1)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 10, 15, 100, 1000])
def test_decimals_fall_where_their_digits_say(n: int) -> None:
    values = [Fraction(j, 1000) for j in range(1001)]
    found = bin_numbers(np.array([float(value) for value in values]), n)
    np.testing.assert_array_equal(found, [min(int(value * n), n - 1) for value in values])


@pytest.mark.parametrize("p", [0.29, 0.57, 0.58])
def test_bins_of_the_kernel_and_of_the_diagram(p: float) -> None:
    """Of 100 bins, p begins one: what lies a hair below it is in the bin before, and did not occur."""
    y, proba = np.array([1, 1, 0, 0]), np.array([p, p, p - 0.002, p - 0.002])
    mean = propercal.conditional_mean(y, proba, kernel="uniform-bins", bandwidth=0.01, exclude_self=False)
    np.testing.assert_array_equal(mean[:, 1], [1, 1, 0, 0])
    import matplotlib as mpl

    mpl.use("Agg")
    ax = reliability_diagram(y, proba, event=1, curve="equal-bins", n_bins=100)
    bars = {round(bar.get_x(), 6): bar.get_height() for bar in ax.patches[:2]}  # type: ignore[attr-defined]
    assert bars == {round(p - 0.01, 6): 0.0, round(p, 6): 1.0}


def test_a_diagram_of_weights_is_one_of_copies() -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    rng = np.random.default_rng(0)
    p = rng.uniform(size=40)
    y = (rng.uniform(size=40) < p).astype(int)
    times = rng.integers(0, 4, 40)
    weighted = reliability_diagram(y, p, event=1, curve="equal-bins", n_bins=5, sample_weight=times / 7)
    copied = reliability_diagram(np.repeat(y, times), np.repeat(p, times), event=1, curve="equal-bins", n_bins=5)
    heights = [[bar.get_height() for bar in ax.patches] for ax in (weighted, copied)]  # type: ignore[attr-defined]
    assert heights[0] == pytest.approx(heights[1], rel=1e-12)
    # An interval knows that a weight is no number of rows.
    halves = [np.ptp(np.concatenate([np.asarray(line.get_segments())[..., 1] for line in ax.containers[-1][2]]), axis=1) for ax in (weighted, copied)]
    assert (halves[0] > halves[1]).all()


# ---------------------------------------------------------------- gradients at 0 and 1

RNG = np.random.default_rng(0)
POINTS = RNG.uniform(0.3, 0.7, 20)
POINTS[3], POINTS[7] = 0.0, 1.0
OUTCOMES = (RNG.uniform(size=20) < POINTS).astype(int)


def value(p: Any, term: str, two: bool, **options: Any) -> Any:
    import torch

    given_ = torch.stack([1 - p, p], dim=1) if two else p
    return getattr(propercal.decompose(OUTCOMES, given_, **options), term)


def one_sided(p: Any, row: int, term: str, two: bool, **options: Any) -> float:
    """The derivative from inside at a row of 0 or 1, extrapolated from two steps."""
    import torch

    sign: float = 1.0 if p[row] == 0 else -1.0

    def slope(step: float) -> float:
        moved = p.copy()
        moved[row] += sign * step
        risen = (float(value(torch.tensor(moved), term, two, **options)) - float(value(torch.tensor(p), term, two, **options))) / (sign * step)
        return float(risen)

    return float(2 * slope(1e-6) - slope(2e-6))


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("two", [False, True])
@pytest.mark.parametrize("notion", ["canonical", "classwise", "top-label"])
@pytest.mark.parametrize("method", ["risk", "direct"])
@pytest.mark.parametrize("generator", ["log", "brier", "spherical"])
@pytest.mark.parametrize("term", ["risk", "calibration_error", "sharpness"])
def test_gradients_at_0_and_1_are_one_sided(term: str, generator: str, method: str, notion: str, two: bool) -> None:
    """At γ = 0.02 powers g^(g/γ) of the kernel have slope 0 at 0, so that the derivative is finite."""
    torch = pytest.importorskip("torch")
    options: dict[str, Any] = {"generator": generator, "method": method, "notion": notion, "bandwidth": 0.02}
    p = torch.tensor(POINTS, requires_grad=True)
    (found,) = torch.autograd.grad(value(p, term, two, **options), p)
    for row in (3, 7):
        assert float(found[row]) == pytest.approx(one_sided(POINTS, row, term, two, **options), rel=1e-3, abs=1e-5)


@pytest.mark.parametrize("combined", [False, True])
def test_the_log_loss_of_a_sure_prediction_has_a_slope(combined: bool) -> None:
    """−log(1 − p) at p = 0 has derivative 1, −log p at p = 1 has −1, and the Brier score 4 (p − y) none."""
    torch = pytest.importorskip("torch")
    log = propercal.generators.Log()
    generator = 1.0 * log + propercal.generators.Brier() if combined else log
    p = torch.tensor([0.0, 1.0, 0.5, 0.5], dtype=torch.float64, requires_grad=True)
    found = propercal.decompose([0, 1, 0, 1], p, generator=generator, method="risk", bandwidth=0.02).risk
    (gradient,) = torch.autograd.grad(found, p)
    np.testing.assert_allclose(gradient[:2], [1 / 4, -1 / 4], rtol=1e-12)


@pytest.mark.parametrize("row", [0, 1])
def test_a_source_at_0_has_the_risenof_its_kernel(row: int) -> None:
    """Of two sources, at 0 and at 0.6, that a target t is near: their kernels' logarithms have slopes
    (log t − log(1 − t)) / γ + ψ(1 / γ + 1 − g / γ) − ψ(g / γ + 1), which the mean combines."""
    torch = pytest.importorskip("torch")
    from scipy.special import betaln

    gamma, t = 0.25, 0.4
    sources = np.array([0.0, 0.6, t])
    sources[row] = 0.0 if row == 0 else 1.0

    def log_kernel(g: float) -> float:
        return float(g / gamma * np.log(t) + (1 - g) / gamma * np.log1p(-t) - betaln(g / gamma + 1, (1 - g) / gamma + 1))

    def mean(points: Any) -> float:
        k = np.exp([log_kernel(points[0]), log_kernel(points[1])])
        return float(k[0] / k.sum())

    step = 1e-6 if row == 0 else -1e-6
    moved = sources.copy()
    moved[row] += step
    expected = (mean(moved) - mean(sources)) / step
    p = torch.tensor(sources, requires_grad=True)
    found = propercal.conditional_mean([1, 0, 0], p, bandwidth=gamma)[2, 1]
    (gradient,) = torch.autograd.grad(found, p)
    assert float(found.detach()) == pytest.approx(mean(sources), rel=1e-10)
    assert float(gradient[row]) == pytest.approx(expected, rel=1e-4)
