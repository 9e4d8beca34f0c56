"""Generators made of others, or derived from less than F, ∇F and ∇²F, equal those in closed form."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from propercal.generators import BregmanGenerator, Brier, Log, Spherical, from_function
from theory_tests.instances import NoGradient, NoHessian, squares
from theory_tests.laws.every import for_every
from theory_tests.laws.points import K, Vector, anywhere, interior


def _everything(p: Vector, q: Vector, y: Vector) -> list[Callable[[BregmanGenerator], Any]]:
    with np.errstate(divide="ignore"):
        log_p = np.log(p)
    return [
        lambda f: f.value(p),
        lambda f: f.gradient(p),
        lambda f: f.hessian(p),
        lambda f: f.gradient_from_log(log_p),
        lambda f: f.divergence(p, q),
        lambda f: f.loss(q, y),
    ]


@given(p=interior, q=interior, a=st.floats(0.1, 10), b=st.floats(0.1, 10))
def test_composition_is_linear(p: Vector, q: Vector, a: float, b: float) -> None:
    mixed = a * (Log() + Spherical() * b) + Brier()
    parts = ((a, Log()), (a * b, Spherical()), (1.0, Brier()))
    for of in _everything(p, q, np.eye(K)):
        expected = sum(w * of(f) for w, f in parts)
        np.testing.assert_allclose(of(mixed), expected, rtol=1e-11, atol=1e-12)


def test_sum_of_generators() -> None:
    assert sum([Log(), Brier()]) == Log() + Brier()


@pytest.mark.parametrize("weight", [0, -1, float("inf"), float("nan")])
def test_weights_must_be_positive_and_finite(weight: float) -> None:
    with pytest.raises(ValueError, match=r"weight = .*positive finite number"):
        weight * Log()


@pytest.mark.parametrize("other", ["2", None, 1])
def test_only_numbers_multiply_and_only_generators_add(other: Any) -> None:
    with pytest.raises(TypeError):
        Log() + other
    if not isinstance(other, int):
        with pytest.raises(TypeError):
            Log() * other


@given(p=anywhere, q=anywhere)
@for_every([from_function(squares), NoGradient(), NoHessian()])
def test_derived_generators_equal_the_closed_form(generator: BregmanGenerator, p: Vector, q: Vector) -> None:
    pytest.importorskip("torch")
    p, q = np.stack([p, q]), np.stack([q, q])
    y = np.eye(K)[:2]
    for of in _everything(p, q, y):
        np.testing.assert_allclose(of(generator), of(Brier()), rtol=1e-12, atol=1e-14)


def test_a_linear_function_has_no_curvature() -> None:
    pytest.importorskip("torch")
    p = np.asarray([0.25, 0.75])
    linear = from_function(lambda p: 2 * p[..., 0])
    np.testing.assert_array_equal(linear.gradient(p), [2, 0])
    np.testing.assert_array_equal(linear.hessian(p), np.zeros((2, 2)))


def test_a_function_must_give_one_value_for_each_point() -> None:
    pytest.importorskip("torch")
    with pytest.raises(ValueError, match=r"F = .*\(4, 2\) to \(\)"):
        from_function(lambda p: p.sum()).gradient(np.full((4, 2), 0.5))


def test_without_torch_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    p = np.asarray([0.5, 0.5])
    asked = from_function(squares).value, NoGradient().gradient, NoHessian().hessian
    for ask in asked:
        with pytest.raises(ImportError, match=r'pip install "propercal\[torch\]"'):
            ask(p)
    assert Log().value(p) < 0
