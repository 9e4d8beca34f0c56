"""torch gives the gradient of every published estimate: right against differences, and finite everywhere."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import propercal
from propercal import generators
from theory_tests.instances import NOTIONS, PLAIN_METHODS, Floats, scored


@pytest.fixture
def torch() -> Any:
    return pytest.importorskip("torch", reason="gradients come from torch")


def check_gradients(torch: Any, f: Callable[[Any], list[Any]], z: Floats, *, step: float = 1e-5) -> Floats:
    """Compare the gradients of several values of f with central differences, entry by entry."""
    x = torch.tensor(z, requires_grad=True)
    found = np.stack([torch.autograd.grad(value, x, retain_graph=True)[0].numpy() for value in f(x)])
    numeric = np.empty_like(found)
    for place in np.ndindex(*z.shape):
        up, down = z.copy(), z.copy()
        up[place] += step
        down[place] -= step
        above, below = (np.array([value.item() for value in f(torch.tensor(at))]) for at in (up, down))
        numeric[:, *place] = (above - below) / (2 * step)
    # Truncation h² f‴/6 with f‴ up to 1/γ³ = 1e3 and |f'| near 1/n: about 1e-8; rounding 1e-11.
    np.testing.assert_allclose(found, numeric, rtol=1e-5, atol=1e-7)
    assert (np.abs(found).max(axis=(1, 2)) > 1e-3).all()
    return found


@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("method", PLAIN_METHODS)
def test_gradient(method: str, notion: str, torch: Any) -> None:
    """Of every term that depends on the predictions, for several generators at once."""
    rng = np.random.default_rng(51)
    z, y = rng.normal(size=(8, 3)), rng.integers(0, 3, 8)
    y[:3] = [0, 1, 2]
    args: dict[str, Any] = {
        "generator": ["log", "brier", "spherical", generators.Tsallis(alpha=1.5)],
        "method": method,
        "notion": notion,
        "bandwidth": 0.1,
    }

    def values(results: list[propercal.Decomposition]) -> list[Any]:
        names = ("risk", "calibration_error", "refinement", "sharpness")
        return [getattr(result, name) for result in results for name in names]

    def from_probabilities(x: Any) -> list[Any]:
        return values(propercal.decompose(y, torch.softmax(x, 1), **args))

    found = check_gradients(torch, from_probabilities, z)
    x = torch.tensor(z, requires_grad=True)
    from_logits = values(propercal.decompose(y, x, from_logits=True, **args))
    for a, value in zip(found, from_logits, strict=True):
        (b,) = torch.autograd.grad(value, x, retain_graph=True)
        np.testing.assert_allclose(a, b.numpy(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("method", PLAIN_METHODS)
def test_gradient_with_weights_and_self(method: str, notion: str, torch: Any) -> None:
    rng = np.random.default_rng(52)
    z, y, w = rng.normal(size=(8, 3)), rng.integers(0, 3, 8), rng.uniform(0.2, 2, 8)
    w[2] = 0

    def f(x: Any) -> list[Any]:
        value = propercal.calibration_error(
            y, torch.softmax(x, 1), sample_weight=w, exclude_self=False, notion=notion, method=method, bandwidth=0.1
        )
        return [value]

    (gradient,) = check_gradients(torch, f, z)
    np.testing.assert_allclose(gradient[2], 0, atol=1e-15)


def test_gradient_of_a_generator_by_automatic_differentiation(torch: Any) -> None:
    """The gradient of F is itself a gradient here, so this one is of second order."""
    rng = np.random.default_rng(53)
    z, y = rng.normal(size=(8, 3)), rng.integers(0, 3, 8)

    def f(x: Any) -> list[Any]:
        p = torch.softmax(x, 1)
        args: dict[str, Any] = {"method": "direct", "bandwidth": 0.1}
        return [propercal.calibration_error(y, p, generator=lambda q: (q**3).sum(-1) - 1, **args)]

    check_gradients(torch, f, z)


@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("method", PLAIN_METHODS)
def test_gradient_across_tiles(method: str, notion: str, torch: Any) -> None:
    """A sample of many blocks, along one random direction."""
    rng = np.random.default_rng(54)
    z, y, d = rng.normal(size=(700, 3)), rng.integers(0, 3, 700), rng.normal(size=(700, 3))

    def f(x: Any) -> Any:
        return propercal.calibration_error(y, x, from_logits=True, notion=notion, method=method, bandwidth=0.05)

    x = torch.tensor(z, requires_grad=True)
    (gradient,) = torch.autograd.grad(f(x), x)
    slope = float((gradient.numpy() * d).sum())
    step = 1e-5
    numeric = (f(torch.tensor(z + step * d)) - f(torch.tensor(z - step * d))).item() / (2 * step)
    # The kink where another class becomes the top label is missed by most, not all, directions.
    assert slope == pytest.approx(numeric, rel=1e-2 if notion == "top-label" else 1e-5, abs=1e-7)


def boundary(kind: str) -> tuple[NDArray[np.int64], Floats]:
    y, p = scored(n=30, seed=55)
    if kind == "vertices":
        p[:4], y[:4] = [1.0, 0.0, 0.0], 0
        p[4:8], y[4:8] = [0.0, 1.0, 0.0], 1
    elif kind == "faces":
        p[:6], y[:6] = [0.5, 0.0, 0.5], [0, 2, 0, 2, 0, 2]
        p[6:9], y[6:9] = [0.0, 0.3, 0.7], [1, 2, 2]
    elif kind == "absent class":
        y = np.where(y == 1, 0, y)
    elif kind == "one class":
        y = np.zeros_like(y)
    elif kind == "class of one sample":
        y = np.where(y == 1, 0, y)
        y[11] = 1
    elif kind == "duplicates":
        p[:15] = p[0]
    return y, p


@pytest.mark.parametrize(
    "kind", ["vertices", "faces", "absent class", "one class", "class of one sample", "duplicates"]
)
@pytest.mark.parametrize("bandwidth", [1e-3, 0.1])
@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("method", PLAIN_METHODS)
@pytest.mark.parametrize("generator", ["log", "brier", "spherical"])
def test_gradients_stay_finite(
    generator: str, method: str, notion: str, bandwidth: float, kind: str, torch: Any
) -> None:
    y, p = boundary(kind)
    x = torch.tensor(p, requires_grad=True)
    with warnings.catch_warnings():
        # The direct log estimate is infinite where r̂ spreads off a face: ∞ has no gradient.
        warnings.simplefilter("ignore", UserWarning)
        value = propercal.calibration_error(
            y, x, generator=generator, method=method, notion=notion, bandwidth=bandwidth
        )
    (gradient,) = torch.autograd.grad(value, x)
    infinite = (generator, method) == ("log", "direct") and kind in ("vertices", "faces")
    assert math.isfinite(value.item()) or infinite
    if math.isfinite(value.item()):
        assert torch.isfinite(gradient).all()


@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("method", PLAIN_METHODS)
def test_gradients_of_saturated_logits_stay_finite(method: str, notion: str, torch: Any) -> None:
    y, p = scored(n=30, seed=56)
    for scale in (50.0, 2000.0):
        x = torch.tensor(np.log(p) * scale, requires_grad=True)
        value = propercal.calibration_error(y, x, from_logits=True, method=method, notion=notion, bandwidth=0.05)
        (gradient,) = torch.autograd.grad(value, x)
        assert math.isfinite(value.item())
        assert torch.isfinite(gradient).all()


def test_gradient_of_the_saturated_risk(torch: Any) -> None:
    """The log loss of logits (0, z), y = 0, is log(1 + e^z): its slope is 1 at z = 1000."""
    z = torch.tensor([[0.0, 1000.0], [0.0, 1.0], [0.0, -1.0]], dtype=torch.float64)
    z.requires_grad_()
    found = propercal.decompose([0, 1, 0], z, from_logits=True, method="risk", bandwidth=0.1)
    (gradient,) = torch.autograd.grad(found.risk, z)
    np.testing.assert_allclose(gradient[0].numpy(), [-1 / 3, 1 / 3], rtol=1e-14)


def test_gradient_with_the_chosen_bandwidth(torch: Any) -> None:
    """γ is a choice, not a function to differentiate: the gradient is that at a fixed γ."""
    y, p = scored(n=80, seed=57)
    y = (p.cumsum(1) < np.random.default_rng(0).uniform(size=(80, 1))).sum(1).clip(0, 2)
    x = torch.tensor(p, requires_grad=True)
    auto = propercal.decompose(y, x, generator="brier", method="risk", bandwidth="auto")
    fixed = propercal.decompose(y, x, generator="brier", method="risk", bandwidth=auto.bandwidth)
    (a,) = torch.autograd.grad(auto.calibration_error, x)
    (b,) = torch.autograd.grad(fixed.calibration_error, x)
    np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-12)


def test_gradient_in_float32(torch: Any) -> None:
    y, p = scored(n=40, seed=58)
    for dtype in (torch.float32, torch.float64):
        x = torch.tensor(p, dtype=dtype, requires_grad=True)
        propercal.calibration_error(y, x, method="risk", bandwidth=0.1).backward()
        assert x.grad.dtype == dtype
        if dtype == torch.float32:
            narrow = x.grad.double().numpy()
    np.testing.assert_allclose(narrow, x.grad.numpy(), rtol=1e-4, atol=1e-6)


def test_training_on_the_calibration_error_lowers_it(torch: Any) -> None:
    """What the gradient is for: a few steps on one temperature undo an over-confident scaling."""
    rng = np.random.default_rng(59)
    true = rng.normal(0, 1.5, (200, 3))
    share = np.exp(true) / np.exp(true).sum(1, keepdims=True)
    y = (rng.uniform(size=(200, 1)) > share.cumsum(1)).sum(1).clip(0, 2)
    logits = torch.tensor(true * 3)
    log_temperature = torch.zeros((), dtype=torch.float64, requires_grad=True)
    errors = []
    for _ in range(15):
        error = propercal.calibration_error(
            y, logits * torch.exp(-log_temperature), from_logits=True, method="direct", bandwidth=0.05
        )
        errors.append(error.item())
        (slope,) = torch.autograd.grad(error, log_temperature)
        with torch.no_grad():
            log_temperature -= 1.0 * slope
    assert errors[-1] < 0.5 * errors[0]
    assert 1.5 < math.exp(log_temperature.item()) < 5


def test_a_gradient_does_not_keep_the_tiles() -> None:
    """What the graph holds grows like n: the tiles of 2000² pairs alone would take 30 MiB."""
    torch = pytest.importorskip("torch")

    def nodes(n: int) -> int:
        rng = np.random.default_rng(0)
        p = torch.tensor(rng.uniform(size=n), requires_grad=True)
        value = propercal.calibration_error(rng.integers(0, 2, n), p, method="risk", bandwidth=0.05)
        seen, stack = set(), [value.grad_fn]
        while stack:
            node = stack.pop()
            if node is not None and node not in seen:
                seen.add(node)
                stack += [parent for parent, _ in node.next_functions]
        return len(seen)

    assert nodes(2048) < 2.5 * nodes(1024)
