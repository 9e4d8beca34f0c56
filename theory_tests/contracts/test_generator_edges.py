"""Generators at the edges: arrays of two libraries, sums with numbers, zeros, results of a wrong shape."""

from __future__ import annotations

import re
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
            with pytest.raises(ValueError, match=r"^[qyv] = a(n)? .*: expected a(n)? .*, as [pq] is"):
                function(*pair)


def frames(values: Any) -> dict[str, Any]:
    pd, xr, pl = (pytest.importorskip(name) for name in ("pandas", "xarray", "polars"))
    return {
        "a DataFrame": pd.DataFrame(values, columns=["b", "a"]),
        "a DataArray": xr.DataArray(values, dims=("row", "class")),
        "a DataFrame of polars": pl.DataFrame(values, schema=["b", "a"]),
        "a Series": pd.Series(values[0]),
    }


NO_POINTS: dict[str, Any] = {
    "a list": P.tolist(),
    "a tuple": tuple(P[0].tolist()),
    # The class warns that it is no longer recommended.
    "a matrix": P.view(np.matrix),
    "a float": 0.5,
    "a NoneType": None,
    "a str": "x",
    "one number": np.array(0.5),
    "masked entries": np.ma.masked_array(P, P > 0.6),
    "values of type int64": np.eye(2, dtype=np.int64),
    "values of type uint8": np.eye(2, dtype=np.uint8),
    "values of type bool": np.eye(2, dtype=bool),
    "values of type object": P.astype(object),
    "values of type complex128": P + 0j,
}


@pytest.mark.parametrize("generator", [*GENERATORS, NoHessian()], ids=repr)
def test_what_is_no_array_of_points_is_refused_by_every_method(generator: BregmanGenerator) -> None:
    """A list is repeated where it is multiplied, uint8 wraps around, and masked entries are left out of sums."""
    for found, odd in {**NO_POINTS, **frames(P)}.items():
        said = re.escape(found.removesuffix(" of polars"))
        for name in ("value", "gradient", "hessian", "hessian_diagonal", "gradient_from_log"):
            with pytest.raises(ValueError, match=rf"^(log_)?p = {said}"):
                getattr(generator, name)(odd)
        for name, others in (("divergence", "pq"), ("loss", "q"), ("hessian_times", "pv")):
            method = getattr(generator, name)
            for i, argument in enumerate(others):
                with pytest.raises(ValueError, match=f"^{argument} = {said}"):
                    method(*((odd, Q) if i == 0 else (P, odd)))
        if not found.startswith(("values of type int", "values of type uint", "values of type bool")):
            with pytest.raises(ValueError, match=f"^y = {said}"):
                generator.loss(P, odd)
        if odd is not None:
            with pytest.raises(ValueError, match=f"^log_q = {said}"):
                generator.loss(P, Q, log_q=odd)


def test_a_table_says_in_which_order_its_columns_have_to_be() -> None:
    pd = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match=r"pass q\.to_numpy\(\), with its last axis in the order of the classes"):
        Log().loss(pd.DataFrame(P), np.eye(2))


def test_outcomes_are_one_hot_rows() -> None:
    right = Log().loss(P, np.eye(2))
    for kind in (bool, int, np.uint8, np.float32):
        np.testing.assert_array_equal(Log().loss(P, np.eye(2, dtype=kind)), right)
    square = np.full((3, 3), 1 / 3)
    # Class numbers of as many rows as there are classes would be taken for one outcome of all.
    with pytest.raises(ValueError, match="y = whole numbers such as 2: expected one-hot rows"):
        Log().loss(square, np.array([0, 2, 1]))
    with pytest.raises(ValueError, match=r"y = an array of shape \(5,\): expected as many classes .* as q has, 3"):
        Log().loss(np.full((5, 3), 1 / 3), np.ones(5))
    with pytest.raises(ValueError, match=r"q = an array of shape \(2, 3\): expected as many classes .* as p has, 2"):
        Log().divergence(P, np.full((2, 3), 1 / 3))
    # Points broadcast.
    assert Log().divergence(P[:, None], Q[0]).shape == (2, 1)


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
