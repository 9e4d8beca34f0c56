"""Generators at the edges: arrays of two libraries, sums with numbers, zeros, results of a wrong shape."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from propercal.generators import BregmanGenerator, Brier, ItakuraSaito, Log, Quadratic, Tsallis, from_function
from propercal.generators.base import curvature_width, curved
from theory_tests.instances import P_HARD, Y_HARD, NoHessian, generators, risk_of, squares, written

GENERATORS = generators(
    "log", "brier", "spherical", "tsallis-0.5", "tsallis-1.5", "tsallis-3", "itakura-saito", "rps", "of two classes", "sum"
)
P, Q = np.array([[0.3, 0.7], [0.6, 0.4]]), np.array([[0.5, 0.5], [0.1, 0.9]])


@pytest.mark.parametrize("generator", GENERATORS, ids=repr)
def test_arrays_of_two_libraries_are_refused(generator: BregmanGenerator) -> None:
    strict = pytest.importorskip("array_api_strict")
    other_p, other_q = strict.asarray(P), strict.asarray(Q)
    for function in (generator.divergence, generator.loss, generator.hessian_times):
        for pair in ((P, other_q), (other_p, Q)):
            with pytest.raises(TypeError):
                function(*pair)


@pytest.mark.parametrize("number", [1, 1.0, -2, True])
def test_only_zero_may_be_added_to_a_generator(number: float) -> None:
    with pytest.raises(TypeError):
        number + Log()
    assert 0 + Log() == Log()


@pytest.mark.parametrize("generator", [Log(), Tsallis(0.5), Tsallis(1.5), Tsallis(3.0), ItakuraSaito()], ids=repr)
def test_no_curvature_counts_where_a_direction_does_not_move(generator: BregmanGenerator) -> None:
    """∇²F is infinite, or 0, at a zero, and 0 · ∞ = 0."""
    p, v = np.array([[0.0, 0.25, 0.75]]), np.array([[0.0, 1.0, -1.0]])
    found = generator.hessian_times(p, v)
    assert found[0, 0] == 0
    inside = generator.hessian(np.array([[0.2, 0.25, 0.75]])) @ v[0]
    np.testing.assert_allclose(found[0, 1:], inside[0, 1:], rtol=1e-12)


class WrongShape(BregmanGenerator):
    """What one method returns has a shape of its own choice."""

    name = "wrong"

    def __init__(self, method: str) -> None:
        self.method = method

    def value(self, p: Any) -> Any:
        return p if self.method == "value" else (p**2).sum(-1)

    def gradient(self, p: Any) -> Any:
        return p[..., 0] if self.method == "gradient" else 2 * p


@pytest.mark.parametrize(("method", "shape"), [("value", r"\(2, 2\)"), ("gradient", r"\(2,\)")])
def test_a_result_of_a_wrong_shape_is_named(method: str, shape: str) -> None:
    with pytest.raises(ValueError, match=rf"^{method}\(p\) = a result of shape {shape} and type float64: "):
        WrongShape(method).loss(P, np.eye(2))


def test_a_matrix_of_whole_numbers_is_one_of_real_numbers() -> None:
    whole, real = Quadratic([[2, 1], [1, 3]]), Quadratic([[2.0, 1.0], [1.0, 3.0]])
    assert whole == real
    assert repr(whole) == repr(real)
    np.testing.assert_array_equal(whole.gradient(P), real.gradient(P))


def cubes(p: Any, power: int = 3) -> Any:
    return (p**power).sum(-1) - 1


def test_a_function_without_a_name_makes_a_custom_generator() -> None:
    pytest.importorskip("torch")
    assert from_function(partial(cubes, power=4)).name == "custom"


@pytest.mark.parametrize("generator", [Log(), Tsallis(0.5)], ids=repr)
def test_an_infinite_slope_in_a_direction_that_is_not_taken_counts_nothing(generator: BregmanGenerator) -> None:
    """At a zero of q with y = 0 the product is ∞ · 0; where y > 0 it decides."""
    q = np.array([[0.0, 0.4, 0.6], [0.0, 0.4, 0.6]])
    y = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    loss = generator.loss(q, y)
    near = generator.loss(np.array([[1e-14, 0.4, 0.6 - 1e-14]]), y[:1])
    assert loss[0] == pytest.approx(near[0], rel=1e-5)
    assert loss[1] == np.inf


OF_WRONG_RESULTS = [
    written("OneValue", NoHessian, value=lambda p: (p**2).sum() - 1),
    written("PythonFloat", NoHessian, value=lambda p: 1.0),
    written("OneGradient", NoHessian, gradient=lambda p: 2 * p.mean(axis=0)),
    written("Complex", NoHessian, value=lambda p: squares(p) + 0j),
]


@pytest.mark.parametrize("generator", OF_WRONG_RESULTS)
def test_a_generator_of_the_wrong_shape_or_type(generator: BregmanGenerator) -> None:
    with pytest.raises(ValueError, match="check_generator"):
        risk_of(Y_HARD, P_HARD, generator=generator)


def test_a_generator_cannot_change_the_data() -> None:
    class Halving(NoHessian):
        def value(self, p: Any) -> Any:
            p *= 0.5
            return (p**2).sum(-1) - 1

    before = P_HARD.copy()
    with pytest.raises(ValueError, match="read-only"):
        risk_of(Y_HARD, P_HARD, generator=Halving())
    np.testing.assert_array_equal(P_HARD, before)


class Uncertain(BregmanGenerator):
    """F whose rounding is another at every call."""

    def __init__(self) -> None:
        self.calls = 0

    def value(self, p: Any) -> Any:
        self.calls += 1
        return (p**2).sum(-1) + 1e-12 * self.calls

    def gradient(self, p: Any) -> Any:
        return 2 * p


def test_equal_points_do_not_diverge_by_rounding() -> None:
    p = np.array([[0.2, 0.8], [0.5, 0.5]])
    found = Uncertain().divergence(p, p[[0, 0]])
    assert found[0] == 0.0
    assert found[1] == pytest.approx(2 * 0.3**2)


class WithDiagonal(Uncertain):
    """A product with the matrix is inherited, its diagonal is not."""

    def hessian_diagonal(self, p: Any) -> Any:
        return 2 + 0 * p


class WithProduct(Uncertain):
    """The other way about."""

    def hessian_times(self, p: Any, v: Any) -> Any:
        return 2 * v + 0 * p


@pytest.mark.parametrize("generator", [Uncertain(), WithDiagonal(), WithProduct(), NoHessian()], ids=lambda g: type(g).__name__)
def test_what_inherits_a_part_of_the_curvature_forms_a_matrix(generator: BregmanGenerator) -> None:
    assert curvature_width(Log(), 7) == curvature_width(Log() + Brier(), 7) == 7
    assert curvature_width(generator, 7) == curvature_width(Log() + generator, 7) == curvature_width(2.0 * generator, 7) == 49


def test_curved_is_the_product_with_the_matrix_and_linear_in_the_generator() -> None:
    rng = np.random.default_rng(0)
    p, v = rng.dirichlet(np.ones(4), 5), rng.normal(size=(3, 5, 4))
    chosen = [Log(), Brier(), Tsallis(1.5), Quadratic(np.diag([1.0, 2.0, 3.0, 4.0]) + 0.5)]
    single = [curved(each, p, v) for each in chosen]
    for each, found in zip(chosen, single, strict=True):
        np.testing.assert_allclose(found, np.einsum("nij,mnj->mni", each.hessian(p), v), rtol=1e-10, atol=1e-12)
    whole = 2.0 * Log() + 0.5 * Brier() + Tsallis(1.5)
    np.testing.assert_allclose(curved(whole, p, v), 2 * single[0] + 0.5 * single[1] + single[2], rtol=1e-12, atol=1e-14)
