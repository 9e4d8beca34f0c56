"""Generators on every array library: same numbers, same dtype and device, right gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from propercal.generators import BregmanGenerator, Brier, Log, Quadratic, from_function
from theory_tests.conftest import Backend
from theory_tests.instances import P_HARD, Y_HARD, generators, risk_of

# Interior points, a near-vertex, a vertex and a face; q meets p in the fourth row.
P = np.asarray([[0.2, 0.3, 0.5], [0.6, 0.1, 0.3], [1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.5, 0.5, 0.0]])
Q = np.asarray([[0.5, 0.25, 0.25], [1e-6, 0.5, 0.5], [0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [1, 0.0, 0.0]])
Y = np.eye(3)[[0, 1, 2, 0, 0]]
GENERATORS = generators(
    "log", "brier", "spherical", "tsallis-0.5", "tsallis-1.5", "tsallis-2", "tsallis-3", "itakura-saito", "rps",
    "ranked", "sum",
)
every_generator = pytest.mark.parametrize("generator", GENERATORS, ids=repr)

METHODS: dict[str, Callable[[BregmanGenerator, Any, Any, Any], Any]] = {
    "value": lambda f, p, q, y: f.value(p),
    "gradient": lambda f, p, q, y: f.gradient(p),
    "hessian": lambda f, p, q, y: f.hessian(p),
    "divergence": lambda f, p, q, y: f.divergence(p, q),
    "loss": lambda f, p, q, y: f.loss(q, y),
}


def _cubic(p: Any) -> Any:
    return (p**3).sum(-1)


@every_generator
@pytest.mark.parametrize("method", METHODS)
def test_same_numbers_in_every_library(generator: BregmanGenerator, method: str, xp: Backend) -> None:
    arrays = [xp.array(a) for a in (P, Q, Y)]
    result = METHODS[method](generator, *arrays)
    expected = METHODS[method](generator, P, Q, Y)
    assert type(result) is type(arrays[0])
    assert result.dtype == xp.float_type
    assert result.device == arrays[0].device
    # What is subtracted in a divergence of near points is of order 1.
    np.testing.assert_allclose(xp.numpy(result), expected, rtol=xp.tolerance, atol=xp.tolerance)
    for array, original in zip(arrays, (P, Q, Y), strict=True):
        np.testing.assert_array_equal(xp.numpy(array), original.astype(xp.dtype))


@pytest.mark.parametrize("generator", [*GENERATORS, from_function(_cubic)], ids=repr)
def test_single_precision_stays_single(generator: BregmanGenerator) -> None:
    pytest.importorskip("torch")
    p, q, y = (a.astype(np.float32) for a in (P, Q, Y))
    for method in METHODS.values():
        result = method(generator, p, q, y)
        assert result.dtype == np.float32
        np.testing.assert_allclose(result, method(generator, P, Q, Y), rtol=1e-5, atol=1e-5)


@every_generator
def test_logarithms_and_integer_outcomes(generator: BregmanGenerator, xp: Backend) -> None:
    q, y = xp.array(Q), xp.integers(Y)
    with np.errstate(divide="ignore"):
        log_q = xp.array(np.log(Q))
    result = generator.loss(q, y, log_q=log_q)
    assert result.dtype == xp.float_type
    np.testing.assert_allclose(xp.numpy(result), generator.loss(Q, Y), rtol=xp.tolerance * 10)


def test_shapes_broadcast(xp: Backend) -> None:
    p, q = xp.array(P[None, :2]), xp.array(Q[:2, None])
    for generator in GENERATORS:
        expected = [[float(generator.divergence(a, b)) for a in P[:2]] for b in Q[:2]]
        result = xp.numpy(generator.divergence(p, q))
        np.testing.assert_allclose(result, expected, rtol=xp.tolerance, atol=xp.tolerance)
        assert generator.hessian(p).shape == (1, 2, 3, 3)


def test_function_in_every_library(xp: Backend) -> None:
    pytest.importorskip("torch")
    generator = from_function(lambda p: (p**2).sum(-1) - 1)
    arrays = [xp.array(a) for a in (P, Q, Y)]
    for method in METHODS.values():
        result = method(generator, *arrays)
        assert type(result) is type(arrays[0])
        assert result.dtype == xp.float_type
        expected = method(Brier(), P, Q, Y)
        np.testing.assert_allclose(xp.numpy(result), expected, rtol=xp.tolerance, atol=xp.tolerance)


# Gradients through torch
@pytest.mark.parametrize("generator", [*GENERATORS, from_function(_cubic)], ids=repr)
def test_gradients_are_right(generator: BregmanGenerator) -> None:
    torch = pytest.importorskip("torch")
    # The last pair agrees in one component.
    points = np.vstack([P[:2], [0.2, 0.3, 0.5]]), np.vstack([Q[:2], [0.2, 0.5, 0.3]])
    p, q = (torch.tensor(a.clip(0.05), requires_grad=True) for a in points)
    y = torch.tensor(Y[:3])
    check, check_twice = torch.autograd.gradcheck, torch.autograd.gradgradcheck
    assert check(generator.divergence, (p, q))
    assert check(lambda q: generator.loss(q, y), (q,))
    assert check(lambda q: generator.loss(q, y, log_q=q.log()), (q,))
    assert check(generator.value, (p,))
    assert check(generator.gradient, (p,))
    assert check(generator.hessian, (p,))
    assert check_twice(generator.divergence, (p, q))
    # The divergence has a curvature where it vanishes.
    same = p.detach().clone().requires_grad_()
    assert check_twice(lambda p: generator.divergence(p, same), (p,))


@every_generator
def test_gradients_are_finite_on_the_boundary(generator: BregmanGenerator) -> None:
    torch = pytest.importorskip("torch")
    for row in range(len(P)):
        p, q = (torch.tensor(a[row], requires_grad=True) for a in (P, Q))
        y = torch.tensor(Y[row])
        log_q = q.detach().log().requires_grad_()
        for result in (
            generator.value(p), generator.divergence(p, q), generator.loss(q, y),
            generator.loss(q, y, log_q=log_q),
        ):
            if torch.isfinite(result):
                gradients = torch.autograd.grad(result, (p, q, log_q), materialize_grads=True)
                assert all(torch.isfinite(g).all() for g in gradients), (row, result, gradients)


def test_log_probabilities_of_saturated_logits_have_the_right_gradient() -> None:
    torch = pytest.importorskip("torch")
    logits = torch.tensor([0.0, 1000.0], dtype=torch.float64, requires_grad=True)
    log_q = torch.log_softmax(logits, -1)
    y = torch.tensor([1.0, 0.0], dtype=torch.float64)
    (gradient,) = torch.autograd.grad(Log().loss(log_q.exp(), y, log_q=log_q), logits)
    # That of cross-entropy: softmax(logits) - y.
    np.testing.assert_allclose(gradient, [-1.0, 1.0], rtol=1e-14)


@pytest.mark.parametrize("generator", [Log(), from_function(_cubic)], ids=repr)
def test_graphs_are_kept_only_where_the_caller_has_one(generator: BregmanGenerator) -> None:
    torch = pytest.importorskip("torch")
    p = torch.tensor(P[:2])
    for method in METHODS.values():
        assert not method(generator, p, p, p).requires_grad
        assert not p.requires_grad
        tracked = p.clone().requires_grad_()
        assert method(generator, tracked, tracked, p).requires_grad
        with torch.no_grad():
            assert not method(generator, tracked, tracked, p).requires_grad


def test_a_quadratic_form_counts_on_vectors_that_sum_to_zero() -> None:
    """u 1ᵀ + 1 uᵀ vanishes there, however far from positive it makes the matrix; one direction of −1 does not."""
    u, ones = np.array([5.0, -7.0, 1.0]), np.ones(3)
    form = np.diag([1.0, 2.0, 3.0]) + np.outer(u, ones) + np.outer(ones, u)
    assert np.linalg.eigvalsh(form)[0] < -1
    p, q = np.array([0.2, 0.3, 0.5]), np.array([0.6, 0.3, 0.1])
    assert Quadratic(form).divergence(p, q) == pytest.approx(np.array([1.0, 2.0, 3.0]) @ (p - q) ** 2)
    v = np.array([1.0, -1.0, 0.0])
    with pytest.raises(ValueError, match="curvature"):
        Quadratic(form - 2 * np.outer(v, v))


def test_inference_mode_changes_no_number() -> None:
    torch = pytest.importorskip("torch")
    f = from_function(lambda q: (q * q).sum(-1) - 1)
    expected = risk_of(Y_HARD, P_HARD, generator="brier")
    with torch.inference_mode():
        assert risk_of(Y_HARD, P_HARD, generator=f) == pytest.approx(expected, rel=1e-12)
        assert risk_of(Y_HARD, torch.tensor(P_HARD), generator=f) == pytest.approx(expected, rel=1e-12)


def test_a_detached_function_is_no_function() -> None:
    pytest.importorskip("torch")
    f = from_function(lambda q: (q * q).detach().sum(-1))
    with pytest.raises(ValueError, match="does not depend on its argument"):
        risk_of(Y_HARD, P_HARD, generator=f)
