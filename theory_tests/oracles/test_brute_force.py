"""The package against the transcription of the paper's formulas, on random samples."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import logsumexp

import propercal
from theory_tests.oracles.transcription import (
    ATOL,
    BRIER,
    FINITE,
    INTERIOR,
    ITAKURA_SAITO,
    LOG,
    RTOL,
    SMALLEST_LOG,
    TERMS,
    Floats,
    Plain,
    conditional_mean,
    expected,
    log_kernel,
    problems,
)


# ---------------------------------------------------------------- samples
@dataclass(frozen=True)
class Sample:
    p: Floats
    y: NDArray[np.int64]
    weights: Floats | None
    bandwidth: float


@st.composite
def samples(draw: st.DrawFn, *, boundary: bool) -> Sample:
    """Predictions inside the simplex, or on a grid that holds vertices, faces and ties."""
    n, k = draw(st.integers(3, 25)), draw(st.integers(2, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    if boundary:
        p = rng.multinomial(8, rng.dirichlet(np.full(k, 0.3)), size=n) / 8
    else:
        p = rng.dirichlet(np.full(k, draw(st.sampled_from([0.3, 1.0, 5.0]))), size=n)
        p = np.maximum(p, 1e-12)
        p /= p.sum(1, keepdims=True)
    weights = rng.uniform(0.1, 3, n) if draw(st.booleans()) else None
    return Sample(p, rng.integers(0, k, n), weights, 10 ** draw(st.floats(-4, 0)))


def assert_agree(found: propercal.Decomposition, wanted: dict[str, float]) -> None:
    for term in TERMS:
        np.testing.assert_allclose(
            getattr(found, term), wanted[term], rtol=RTOL, atol=ATOL, err_msg=term
        )


@pytest.mark.parametrize("notion", ["canonical", "classwise", "top-label"])
@pytest.mark.parametrize("method", ["direct", "risk"])
@settings(deadline=None, max_examples=25)
@given(sample=samples(boundary=False), exclude_self=st.booleans())
def test_decompose_inside_the_simplex(
    method: str, notion: str, sample: Sample, exclude_self: bool
) -> None:
    k = sample.p.shape[1] if notion == "canonical" else 2
    found = propercal.decompose(
        sample.y,
        sample.p,
        generator=[plain.make(k) for plain in INTERIOR],
        notion=notion,
        method=method,
        bandwidth=sample.bandwidth,
        sample_weight=sample.weights,
        exclude_self=exclude_self,
    )
    for plain, result in zip(INTERIOR, found, strict=True):
        wanted = expected(
            sample.p,
            sample.y,
            plain,
            notion,
            method,
            sample.bandwidth,
            sample.weights,
            exclude_self=exclude_self,
        )
        assert_agree(result, wanted)


@pytest.mark.parametrize("notion", ["canonical", "classwise"])
@pytest.mark.parametrize("method", ["direct", "risk"])
@settings(deadline=None, max_examples=25)
@given(sample=samples(boundary=True), exclude_self=st.booleans())
def test_decompose_on_vertices_faces_and_ties(
    method: str, notion: str, sample: Sample, exclude_self: bool
) -> None:
    # Top-label is left out: a tie for the largest entry has no unique top label.
    k = sample.p.shape[1] if notion == "canonical" else 2
    found = propercal.decompose(
        sample.y,
        sample.p,
        generator=[plain.make(k) for plain in FINITE],
        notion=notion,
        method=method,
        bandwidth=sample.bandwidth,
        sample_weight=sample.weights,
        exclude_self=exclude_self,
    )
    for plain, result in zip(FINITE, found, strict=True):
        wanted = expected(
            sample.p,
            sample.y,
            plain,
            notion,
            method,
            sample.bandwidth,
            sample.weights,
            exclude_self=exclude_self,
        )
        assert_agree(result, wanted)


@pytest.mark.parametrize("notion", ["canonical", "classwise"])
@settings(deadline=None, max_examples=25)
@given(sample=samples(boundary=True))
def test_log_by_way_of_the_risk_on_vertices_and_faces(notion: str, sample: Sample) -> None:
    # The direct estimate is left out: whether r̂ is 1e-320 or 0 where g is 0 decides between +inf and 0.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found = propercal.decompose(
            sample.y,
            sample.p,
            generator="log",
            notion=notion,
            method="risk",
            bandwidth=sample.bandwidth,
            sample_weight=sample.weights,
        )
    wanted = expected(sample.p, sample.y, LOG, notion, "risk", sample.bandwidth, sample.weights)
    assert_agree(found, wanted)


@pytest.mark.parametrize("notion", ["canonical", "classwise", "top-label"])
@pytest.mark.parametrize("method", ["direct", "risk"])
def test_itakura_saito_with_its_infinite_boundary(method: str, notion: str) -> None:
    # A wide bandwidth keeps every r̂ away from 0, where this F is infinite.
    rng = np.random.default_rng(3)
    p, y = rng.dirichlet(np.full(3, 4.0), size=40), rng.integers(0, 3, 40)
    found = propercal.decompose(
        y, p, generator="itakura-saito", notion=notion, method=method, bandwidth=0.3
    )
    wanted = expected(p, y, ITAKURA_SAITO, notion, method, 0.3)
    assert_agree(found, wanted)


@pytest.mark.parametrize("notion", ["canonical", "classwise", "top-label"])
@pytest.mark.parametrize("method", ["direct", "risk"])
def test_generator_by_automatic_differentiation(method: str, notion: str) -> None:
    pytest.importorskip("torch", reason="derivatives of a bare function come from torch")
    rng = np.random.default_rng(4)
    p, y = rng.dirichlet(np.full(3, 2.0), size=40), rng.integers(0, 3, 40)

    def cubic(q: Any) -> Any:
        return (q**3).sum(-1) - 1

    plain = Plain(
        "cubic",
        lambda k: cubic,
        lambda q: (q**3).sum(-1) - 1,
        lambda a, b: (a**3 - b**3 - 3 * b**2 * (a - b)).sum(-1),
        lambda q, o: 1 - (q**3).sum(-1) - (3 * q**2 * (o - q)).sum(-1),
    )
    found = propercal.decompose(y, p, generator=cubic, notion=notion, method=method, bandwidth=0.05)
    assert_agree(found, expected(p, y, plain, notion, method, 0.05))


# ---------------------------------------------------------------- conditional mean
@pytest.mark.parametrize("exclude_self", [True, False])
@settings(deadline=None, max_examples=25)
@given(sample=st.booleans().flatmap(lambda boundary: samples(boundary=boundary)))
def test_conditional_mean(exclude_self: bool, sample: Sample) -> None:
    n, k = sample.p.shape
    w = np.ones(n) if sample.weights is None else sample.weights
    found = propercal.conditional_mean(
        sample.y,
        sample.p,
        notion="canonical",
        kernel="dirichlet",
        bandwidth=sample.bandwidth,
        exclude_self=exclude_self,
        sample_weight=sample.weights,
    )
    wanted = conditional_mean(
        sample.p, np.eye(k)[sample.y], sample.bandwidth, w, exclude_self=exclude_self
    )
    assert found.shape == (n, k)
    np.testing.assert_allclose(found, wanted, rtol=RTOL, atol=ATOL)


@settings(deadline=None, max_examples=15)
@given(sample=samples(boundary=False))
def test_conditional_mean_class_by_class(sample: Sample) -> None:
    n, k = sample.p.shape
    w = np.ones(n) if sample.weights is None else sample.weights
    found = propercal.conditional_mean(
        sample.y,
        sample.p,
        notion="classwise",
        kernel="dirichlet",
        bandwidth=sample.bandwidth,
        sample_weight=sample.weights,
    )
    wanted = [
        conditional_mean(q, Y, sample.bandwidth, w)[:, 1]
        for q, Y in problems(sample.p, sample.y, "classwise")
    ]
    assert found.shape == (n, k)
    np.testing.assert_allclose(found, np.stack(wanted, 1), rtol=RTOL, atol=ATOL)


@settings(deadline=None, max_examples=15)
@given(sample=samples(boundary=False))
def test_conditional_mean_of_the_top_label(sample: Sample) -> None:
    n = len(sample.y)
    w = np.ones(n) if sample.weights is None else sample.weights
    found = propercal.conditional_mean(
        sample.y,
        sample.p,
        notion="top-label",
        kernel="dirichlet",
        bandwidth=sample.bandwidth,
        sample_weight=sample.weights,
    )
    ((q, Y),) = problems(sample.p, sample.y, "top-label")
    wanted = conditional_mean(q, Y, sample.bandwidth, w)[:, 1]
    assert found.shape == (n,)
    np.testing.assert_allclose(found, wanted, rtol=RTOL, atol=ATOL)


@pytest.mark.parametrize("bandwidth", [1e-4, 1e-2, 1.0])
def test_conditional_mean_against_fifty_digits(bandwidth: float) -> None:
    """The double-precision transcription above is itself checked, along with the package."""
    rng = np.random.default_rng(8)
    p, y = rng.dirichlet(np.full(3, 0.5), size=10), rng.integers(0, 3, 10)
    p[4] = [1.0, 0.0, 0.0]  # the float zeros of a vertex are read as the smallest double
    with mpmath.workdps(50):
        gamma = mpmath.mpf(bandwidth)
        x = [[mpmath.mpf(float(v)) for v in row] for row in p]
        smallest = mpmath.mpf(SMALLEST_LOG)
        wanted = np.empty((10, 3))
        for h in range(10):
            logs = [mpmath.log(v) if v > 0 else smallest for v in x[h]]
            weight = [
                mpmath.exp(
                    mpmath.loggamma(sum(x[j]) / gamma + 3)
                    - sum(mpmath.loggamma(v / gamma + 1) for v in x[j])
                    + sum(v / gamma * t for v, t in zip(x[j], logs, strict=True))
                )
                for j in range(10)
            ]
            weight[h] = mpmath.mpf(0)
            for c in range(3):
                part = sum(weight[j] for j in range(10) if y[j] == c)
                wanted[h, c] = float(part / sum(weight))
    found = propercal.conditional_mean(
        y, p, notion="canonical", kernel="dirichlet", bandwidth=bandwidth
    )
    np.testing.assert_allclose(found, wanted, rtol=RTOL, atol=ATOL)
    plain = conditional_mean(p, np.eye(3)[y], bandwidth, np.ones(10))
    np.testing.assert_allclose(plain, wanted, rtol=RTOL, atol=ATOL)


# ---------------------------------------------------------------- binning
def bin_mean(x: Floats, hit: Floats, edges: Floats, w: Floats, *, exclude_self: bool) -> Floats:
    """Weighted mean of the others in one's bin, one bin at a time."""
    place = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, len(edges) - 2)
    r = np.empty(len(x))
    for h in range(len(x)):
        mates = place == place[h]
        if exclude_self:
            mates[h] = False
        r[h] = (w * hit)[mates].sum() / w[mates].sum()
    return r


def binary_sample(n: int, seed: int) -> tuple[Floats, NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 1, n)
    return np.stack([1 - x, x], 1), (rng.uniform(size=n) < x**2).astype(np.int64)


@pytest.mark.parametrize("exclude_self", [True, False])
@pytest.mark.parametrize("kernel", ["uniform-bins", "quantile-bins"])
@pytest.mark.parametrize("method", ["direct", "risk"])
def test_bins_of_a_binary_problem(method: str, kernel: str, exclude_self: bool) -> None:
    p, y = binary_sample(200, 12)
    w = np.random.default_rng(5).uniform(0.5, 2, 200) if kernel == "uniform-bins" else np.ones(200)
    x = p[:, 1]
    edges = (
        np.linspace(0, 1, 11) if kernel == "uniform-bins" else np.quantile(x, np.arange(11) / 10)
    )
    hit = bin_mean(x, y.astype(float), edges, w, exclude_self=exclude_self)
    r = np.stack([1 - hit, hit], 1)
    found = propercal.decompose(
        y,
        p,
        generator="brier",
        notion="classwise",
        method=method,
        kernel=kernel,
        bandwidth=0.1,
        sample_weight=w,
        exclude_self=exclude_self,
    )
    mean, Y = w / w.sum(), np.eye(2)[y]
    ce = mean @ BRIER.D(r, p) if method == "direct" else mean @ (BRIER.L(p, Y) + BRIER.F(r))
    # Only sums of a few hundred numbers near 1 separate the two.
    np.testing.assert_allclose(found.calibration_error, ce, rtol=1e-10, atol=1e-13)


# ---------------------------------------------------------------- bandwidth
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
def test_selected_bandwidth_is_as_good_as_a_fine_grid(
    plain: Plain, criterion: str, notion: str
) -> None:
    p, y = miscalibrated(200, 3, 21)
    selected = propercal.select_bandwidth(
        y, p, generator=plain.name, notion=notion, criterion=criterion
    )
    assert isinstance(selected, float)
    best = min(
        criterion_value(p, y, notion, criterion, plain, gamma)
        for gamma in np.geomspace(2e-3, 1.0, 40)
    )
    # The search may stop within a few per cent of the minimiser; there the criterion is flat, and the
    # loss it gives away is second order. Its own standard error here is about 0.03.
    assert criterion_value(p, y, notion, criterion, plain, selected) <= best + 1e-4


@pytest.mark.parametrize(
    ("coarse", "fine", "frequency", "wanted"), [(0.25, 0.22, 60, "fine"), (0.28, 0.2, 100, "coarse")]
)
def test_selection_is_not_caught_in_the_wrong_valley(
    coarse: float, fine: float, frequency: int, wanted: str
) -> None:
    """E[Y | g] on two scales makes the risk criterion bimodal in the bandwidth."""
    x = np.linspace(0.02, 0.98, 481)
    share = 0.5 + coarse * np.sin(2 * np.pi * x) + fine * np.sign(np.sin(frequency * np.pi * x))
    y = (np.random.default_rng(1).uniform(size=x.size) < share).astype(np.int64)
    p = np.stack([1 - x, x], 1)
    grid = np.geomspace(3e-5, 1.0, 50)
    values = [criterion_value(p, y, "canonical", "risk", BRIER, gamma) for gamma in grid]
    valleys = [i for i in range(1, 49) if values[i] < min(values[i - 1], values[i + 1])]
    assert len(valleys) == 2
    selected = propercal.select_bandwidth(
        y, p, generator="brier", notion="canonical", criterion="risk"
    )
    assert (selected < 3e-3) == (wanted == "fine")
    assert criterion_value(p, y, "canonical", "risk", BRIER, selected) <= min(values) + 1e-4


def test_auto_is_the_risk_criterion() -> None:
    p, y = miscalibrated(150, 3, 22)
    for notion in ("canonical", "classwise"):
        found = propercal.decompose(
            y, p, generator="brier", notion=notion, method="risk", bandwidth="auto"
        )
        selected = propercal.select_bandwidth(
            y, p, generator="brier", notion=notion, criterion="risk"
        )
        assert found.bandwidth == selected
        assert_agree(found, expected(p, y, BRIER, notion, "risk", selected))
