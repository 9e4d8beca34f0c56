"""The package against the transcription of the paper's formulas, on random samples."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import propercal
from theory_tests.instances import Floats
from theory_tests.oracles.transcription import (
    ATOL,
    BRIER,
    FINITE,
    INTERIOR,
    ITAKURA_SAITO,
    LOG,
    RTOL,
    SMALLEST_LOG,
    Plain,
    assert_agree,
    conditional_mean,
    expected,
    problems,
)

# ---------------------------------------------------------------- samples
# Labels are drawn without regard to predictions, which may be sorted, or those of no class.
pytestmark = pytest.mark.filterwarnings(
    "ignore:.*rows sorted by size, it seems",
    "ignore:.*that of the class that was predicted",
    "ignore:.*is the most probable class in each",
    "ignore:.*y_true itself, it seems",
)


@dataclass(frozen=True)
class Sample:
    p: Floats
    y: NDArray[np.int64]
    weights: Floats | None
    bandwidth: float

    @property
    def options(self) -> dict[str, Any]:
        return {"bandwidth": self.bandwidth, "sample_weight": self.weights}

    @property
    def weight(self) -> Floats:
        return np.ones(len(self.y)) if self.weights is None else self.weights


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


# Of 1 − p, for the first row, a fifth digit is rounding.
NEXT_TO_A_VERTEX = np.array([[4e-11, 1 - 4e-11], [0.9, 0.1], [0.3, 0.7], [0.6, 0.4]])


def check(sample: Sample, plains: tuple[Plain, ...], notion: str, method: str, *, exclude_self: bool = True) -> None:
    k = sample.p.shape[1] if notion == "canonical" else 2
    made = [plain.make(k) for plain in plains]
    options: dict[str, Any] = {"notion": notion, "method": method, "exclude_self": exclude_self, **sample.options}
    # Labels that are drawn without regard to the predictions may lack class 0.
    options["labels"] = list(range(sample.p.shape[1]))
    for plain, found in zip(plains, propercal.decompose(sample.y, sample.p, generator=made, **options), strict=True):
        settings = (notion, method, sample.bandwidth, sample.weights)
        assert_agree(found, expected(sample.p, sample.y, plain, *settings, exclude_self=exclude_self))


@pytest.mark.parametrize("notion", ["canonical", "classwise", "top-label"])
@pytest.mark.parametrize("method", ["direct", "risk"])
@settings(deadline=None, max_examples=25)
@given(sample=samples(boundary=False), exclude_self=st.booleans())
@example(sample=Sample(NEXT_TO_A_VERTEX, np.array([0, 0, 1, 1]), None, 1.0), exclude_self=False)
def test_decompose_inside_the_simplex(method: str, notion: str, sample: Sample, exclude_self: bool) -> None:
    check(sample, INTERIOR, notion, method, exclude_self=exclude_self)


@pytest.mark.parametrize("notion", ["canonical", "classwise"])
@pytest.mark.parametrize("method", ["direct", "risk"])
@settings(deadline=None, max_examples=25)
@given(sample=samples(boundary=True), exclude_self=st.booleans())
def test_decompose_on_vertices_faces_and_ties(method: str, notion: str, sample: Sample, exclude_self: bool) -> None:
    # Top-label is left out: a tie for the largest entry has no unique top label.
    check(sample, FINITE, notion, method, exclude_self=exclude_self)


@pytest.mark.parametrize("notion", ["canonical", "classwise"])
@settings(deadline=None, max_examples=25)
@given(sample=samples(boundary=True))
def test_log_by_way_of_the_risk_on_vertices_and_faces(notion: str, sample: Sample) -> None:
    # The direct estimate is left out: whether r̂ is 1e-320 or 0 where g is 0 decides between +inf and 0.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        check(sample, (LOG,), notion, "risk")


@pytest.mark.parametrize("notion", ["canonical", "classwise", "top-label"])
@pytest.mark.parametrize("method", ["direct", "risk"])
def test_itakura_saito_with_its_infinite_boundary(method: str, notion: str) -> None:
    # A wide bandwidth keeps every r̂ away from 0, where this F is infinite.
    rng = np.random.default_rng(3)
    p, y = rng.dirichlet(np.full(3, 4.0), size=40), rng.integers(0, 3, 40)
    found = propercal.decompose(y, p, generator="itakura-saito", notion=notion, method=method, bandwidth=0.3)
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
def package_mean(sample: Sample, notion: str, **more: Any) -> Floats:
    found: Floats = propercal.conditional_mean(
        sample.y, sample.p, notion=notion, kernel="dirichlet", **sample.options, **more
    )
    return found


@pytest.mark.parametrize("exclude_self", [True, False])
@settings(deadline=None, max_examples=25)
@given(sample=st.booleans().flatmap(lambda boundary: samples(boundary=boundary)))
def test_conditional_mean(exclude_self: bool, sample: Sample) -> None:
    found = package_mean(sample, "canonical", exclude_self=exclude_self)
    Y = np.eye(sample.p.shape[1])[sample.y]
    wanted = conditional_mean(sample.p, Y, sample.bandwidth, sample.weight, exclude_self=exclude_self)
    assert found.shape == sample.p.shape
    np.testing.assert_allclose(found, wanted, rtol=RTOL, atol=ATOL)


@settings(deadline=None, max_examples=15)
@given(sample=samples(boundary=False))
def test_conditional_mean_class_by_class(sample: Sample) -> None:
    found = package_mean(sample, "classwise")
    pairs = problems(sample.p, sample.y, "classwise")
    wanted = [conditional_mean(q, Y, sample.bandwidth, sample.weight)[:, 1] for q, Y in pairs]
    assert found.shape == sample.p.shape
    np.testing.assert_allclose(found, np.stack(wanted, 1), rtol=RTOL, atol=ATOL)


@settings(deadline=None, max_examples=15)
@given(sample=samples(boundary=False))
def test_conditional_mean_of_the_top_label(sample: Sample) -> None:
    found = package_mean(sample, "top-label")
    ((q, Y),) = problems(sample.p, sample.y, "top-label")
    assert found.shape == sample.y.shape
    np.testing.assert_allclose(
        found, conditional_mean(q, Y, sample.bandwidth, sample.weight)[:, 1], rtol=RTOL, atol=ATOL
    )


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
    found = propercal.conditional_mean(y, p, notion="canonical", kernel="dirichlet", bandwidth=bandwidth)
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


@pytest.mark.parametrize("exclude_self", [True, False])
@pytest.mark.parametrize("kernel", ["uniform-bins", "quantile-bins"])
@pytest.mark.parametrize("method", ["direct", "risk"])
def test_bins_of_a_binary_problem(method: str, kernel: str, exclude_self: bool) -> None:
    rng = np.random.default_rng(12)
    x = rng.uniform(0, 1, 200)
    p, y = np.stack([1 - x, x], 1), (rng.uniform(size=200) < x**2).astype(np.int64)
    w = np.random.default_rng(5).uniform(0.5, 2, 200) if kernel == "uniform-bins" else np.ones(200)
    edges = np.linspace(0, 1, 11) if kernel == "uniform-bins" else np.quantile(x, np.arange(11) / 10)
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
