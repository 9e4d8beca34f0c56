"""What makes F a Bregman generator: convexity, derivatives, divergence, propriety, and its values."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from mpmath import mp, mpf

from propercal.generators import (
    BregmanGenerator,
    Brier,
    ItakuraSaito,
    Log,
    Quadratic,
    RankedProbability,
    Spherical,
    Tsallis,
    as_generator,
    autodiff,
    available,
    from_function,
)
from theory_tests.instances import squares, written
from theory_tests.laws.every import for_every
from theory_tests.laws.points import RANKED, K, Vector, anywhere, interior, vertex

EPS = float(np.finfo(np.float64).eps)


def _norm(p: Sequence[Any]) -> Any:
    return mp.sqrt(sum(x * x for x in p))


def _quadratic(p: Sequence[Any]) -> Any:
    form = sum(RANKED[i][j] * p[i] * p[j] for i in range(K) for j in range(K))
    return form - sum(RANKED[i][i] * p[i] for i in range(K))


def _cumulated(p: Sequence[Any]) -> list[Any]:
    return [sum(p[: j + 1]) for j in range(len(p) - 1)]


# F in 50 digits, typed here from its definition.
EXACT: dict[BregmanGenerator, Callable[[Sequence[Any]], Any]] = {
    Log(): lambda p: sum(x * mp.log(x) if x else mpf(0) for x in p),
    Brier(): lambda p: sum(x * x for x in p) - 1,
    Spherical(): lambda p: _norm(p) - 1,
    Tsallis(0.25): lambda p: (1 - sum(x ** mpf(0.25) for x in p)) / mpf(0.75),
    Tsallis(1.5): lambda p: 2 * (sum(x ** mpf(1.5) for x in p) - 1),
    Tsallis(3): lambda p: (sum(x**3 for x in p) - 1) / 2,
    ItakuraSaito(): lambda p: -sum(mp.log(x) for x in p),
    Quadratic(RANKED): _quadratic,
    RankedProbability(): lambda p: -sum(c * (1 - c) for c in _cumulated(p)) + len(p) * (sum(p) - 1),
    2 * Log() + Spherical(): lambda p: 2 * EXACT[Log()](p) + _norm(p) - 1,
}
every_generator = pytest.mark.parametrize("generator", EXACT, ids=repr)
FINITE = [g for g in EXACT if g != ItakuraSaito()]


def _exact_divergence(generator: BregmanGenerator, p: Vector, q: Vector) -> Any:
    """Divergence in closed form, as the literature states it, for points that need not sum to 1."""
    pairs = [(mpf(a), mpf(b)) for a, b in zip(p.tolist(), q.tolist(), strict=True) if a or b]
    if isinstance(generator, Log):
        if any(not b for _, b in pairs):
            return mpf("inf")
        return sum((a * mp.log(a / b) if a else 0) - a + b for a, b in pairs)
    if isinstance(generator, Tsallis):
        alpha = mpf(generator.alpha)
        if alpha < 1 and any(not b for _, b in pairs):
            return mpf("inf")
        slope = [alpha * b ** (alpha - 1) if b else mpf(0) for _, b in pairs]
        terms = [a**alpha - b**alpha - s * (a - b) for (a, b), s in zip(pairs, slope, strict=True)]
        return sum(terms) / (alpha - 1)
    if isinstance(generator, ItakuraSaito):
        if any(not a or not b for a, b in pairs):
            return mpf("inf")
        return sum(a / b - mp.log(a / b) - 1 for a, b in pairs)
    if isinstance(generator, Spherical):
        a, b = [a for a, _ in pairs], [b for _, b in pairs]
        return _norm(a) - sum(x * y for x, y in pairs) / _norm(b)
    if isinstance(generator, Brier):
        return sum((a - b) ** 2 for a, b in pairs)
    if isinstance(generator, RankedProbability):
        return sum(c**2 for c in _cumulated([mpf(a) - mpf(b) for a, b in zip(p.tolist(), q.tolist(), strict=True)]))
    if isinstance(generator, Quadratic):
        d = [mpf(a) - mpf(b) for a, b in zip(p.tolist(), q.tolist(), strict=True)]
        return sum(RANKED[i][j] * d[i] * d[j] for i in range(K) for j in range(K))
    return 2 * _exact_divergence(Log(), p, q) + _exact_divergence(Spherical(), p, q)


def _rounding(generator: BregmanGenerator, p: Vector, q: Vector) -> float:
    """Bound on the rounding error of a divergence: ulps of the terms that are added."""
    if isinstance(generator, ItakuraSaito):
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            ratio = np.where(p == q, 1.0, p / q)
            return float(16 * EPS * (1 + ratio + np.abs(np.log(ratio))).sum())
    slope = np.where(p == q, 0.0, generator.gradient(q))
    step = float(np.abs(slope * (p - q)).sum())
    return 16 * EPS * (1 + abs(float(generator.value(p))) + abs(float(generator.value(q))) + step)


# Convexity and derivatives
@given(p=interior, q=interior, weight=st.floats(0, 1))
@for_every(EXACT)
def test_convex(generator: BregmanGenerator, p: Vector, q: Vector, weight: float) -> None:
    chord = weight * generator.value(p) + (1 - weight) * generator.value(q)
    assert generator.value(weight * p + (1 - weight) * q) <= chord + 1e-13 * (1 + abs(chord))


@given(p=interior)
@for_every(EXACT)
def test_value_and_gradient_equal_the_exact_ones(generator: BregmanGenerator, p: Vector) -> None:
    with mp.workdps(50):
        exact = EXACT[generator]
        point = [mpf(x) for x in p.tolist()]
        orders = np.eye(K, dtype=int).tolist()
        gradient = [mp.diff(lambda *x: exact(x), tuple(point), tuple(n)) for n in orders]
        np.testing.assert_allclose(generator.value(p), float(exact(point)), rtol=1e-13, atol=1e-14)
        np.testing.assert_allclose(generator.gradient(p), [float(g) for g in gradient], rtol=1e-13, atol=1e-14)


@given(p=interior)
@for_every(EXACT)
def test_closed_forms_equal_automatic_derivatives(generator: BregmanGenerator, p: Vector) -> None:
    pytest.importorskip("torch")
    np.testing.assert_allclose(generator.gradient(p), autodiff.gradient(generator.value, p), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(generator.hessian(p), autodiff.jacobian(generator.gradient, p), rtol=1e-12, atol=1e-13)


@every_generator
def test_gradient_from_log_equals_gradient(generator: BregmanGenerator) -> None:
    p = np.asarray([[0.2, 0.3, 0.5], [1e-200, 0.4, 0.6]])
    np.testing.assert_allclose(generator.gradient_from_log(np.log(p)), generator.gradient(p), rtol=1e-12)


@pytest.mark.parametrize(("generator", "value", "gradient", "curvature"), [
    (Log(), 0, [1, -np.inf, -np.inf], [1, np.inf, np.inf]),
    (Brier(), 0, [2, 0, 0], [2, 2, 2]),
    (Spherical(), 0, [1, 0, 0], [0, 1, 1]),
    (Tsallis(0.5), 0, [-1, -np.inf, -np.inf], [0.5, np.inf, np.inf]),
    (Tsallis(1.5), 0, [3, 0, 0], [1.5, np.inf, np.inf]),
    (Tsallis(2), 0, [2, 0, 0], [2, 2, 2]),
    (Tsallis(3), 0, [1.5, 0, 0], [3, 0, 0]),
    (ItakuraSaito(), np.inf, [-1, -np.inf, -np.inf], [1, np.inf, np.inf]),
    (Quadratic(RANKED), 0, [2, 1, 0], [4, 2, 0]),
    (3 * Log() + Brier(), 0, [5, -np.inf, -np.inf], [5, np.inf, np.inf]),
], ids=repr)
def test_limits_at_a_vertex(
    generator: BregmanGenerator, value: float, gradient: list[float], curvature: list[float]
) -> None:
    p = np.asarray([1.0, 0.0, 0.0])
    assert generator.value(p) == value
    np.testing.assert_array_equal(generator.gradient(p), gradient)
    np.testing.assert_array_equal(np.diagonal(generator.hessian(p)), curvature)
    assert np.isfinite(generator.hessian(p)[~np.eye(K, dtype=bool)]).all()


@pytest.mark.parametrize("generator", [Brier(), Tsallis(2), Tsallis(3)], ids=repr)
def test_bounded_derivatives_are_differentiated_at_a_vertex(generator: BregmanGenerator) -> None:
    pytest.importorskip("torch")
    p = np.asarray([1.0, 0.0, 0.0])
    hessian = generator.hessian(p)
    np.testing.assert_array_equal(autodiff.jacobian(generator.gradient, p), hessian)
    value_alone = from_function(generator.value)
    np.testing.assert_array_equal(value_alone.hessian(p), hessian)


def test_derivatives_beyond_the_largest_number_are_infinite_without_a_warning() -> None:
    p = np.asarray([1.0, 1e-310])
    np.testing.assert_array_equal(ItakuraSaito().gradient(p), [-1, -np.inf])
    for generator in (Log(), Tsallis(0.5), ItakuraSaito()):
        assert generator.hessian(p)[1, 1] == np.inf


@given(p=vertex)
@for_every(FINITE)
def test_value_is_zero_at_every_vertex(generator: BregmanGenerator, p: Vector) -> None:
    assert generator.value(p) == 0


# Divergence
@given(p=anywhere, q=anywhere)
@example(p=np.asarray([0.5, 0.5, 0.0]), q=np.asarray([0.25, 0.75, 0.0]))
@example(p=np.asarray([0.5, 0.5, 0.0]), q=np.asarray([1.0, 0.0, 0.0]))
@example(p=np.asarray([1.0, 1e-310, 0.0]), q=np.asarray([1.0, 2e-310, 0.0]))
@example(p=np.asarray([1.0, 1e-310, 0.0]), q=np.asarray([0.5, 0.5, 0.0]))
@example(p=np.asarray([0.5, 0.5, 0.0]), q=np.asarray([1.0, 1e-310, 0.0]))
@for_every(EXACT)
def test_divergence_equals_the_exact_one(generator: BregmanGenerator, p: Vector, q: Vector) -> None:
    with mp.workdps(400):
        exact = _exact_divergence(generator, p, q)
    value = float(generator.divergence(p, q))
    if np.isinf(float(exact)):
        assert value == np.inf
    else:
        bound = _rounding(generator, p, q)
        assert abs(value - float(exact)) <= bound
        assert value >= -bound


@given(p=anywhere)
@for_every(EXACT)
def test_divergence_of_a_point_from_itself_is_exactly_zero(generator: BregmanGenerator, p: Vector) -> None:
    strided = np.asfortranarray(np.stack([p, p[::-1]]))[0]
    assert generator.divergence(p, p) == 0
    assert generator.divergence(p, strided) == 0
    assert generator.divergence(p, p, log_q=np.where(p > 0, -1.0, -1000.0)) == 0


def test_any_infinite_generator_has_a_divergence_without_nan() -> None:
    barrier = written("Barrier", value=lambda p: -np.log(p).sum(-1), gradient=lambda p: -1 / p)
    p = np.asarray([[1.0, 0.0], [0.5, 0.5], [1.0, 0.0], [0.5, 0.5]])
    q = np.asarray([[1.0, 0.0], [1.0, 0.0], [0.5, 0.5], [0.5, 0.5]])
    np.testing.assert_array_equal(barrier.divergence(p, q), [0, np.inf, np.inf, 0])


@given(p=interior, direction=st.permutations([1.0, -1.0, 0.0]))
@for_every([Brier(), Spherical(), Quadratic(RANKED)])
def test_divergence_of_near_points_keeps_its_digits(
    generator: BregmanGenerator, p: Vector, direction: list[float]
) -> None:
    q = p + 1e-10 * np.asarray(direction)
    with mp.workdps(50):
        exact = float(_exact_divergence(generator, p, q))
    assert float(generator.divergence(p, q)) == pytest.approx(exact, rel=1e-4, abs=0)
    assert float((2 * generator).divergence(p, q)) == pytest.approx(2 * exact, rel=1e-4, abs=0)


@given(p=interior, q=interior, r=interior)
@for_every(EXACT)
def test_three_point_identity(generator: BregmanGenerator, p: Vector, q: Vector, r: Vector) -> None:
    d = generator.divergence
    cosine = (generator.gradient(q) - generator.gradient(r)) @ (p - q)
    assert float(d(p, r)) == pytest.approx(float(d(p, q) + d(q, r) + cosine), rel=1e-11, abs=1e-12)


# Loss
@given(p=interior, q=interior)
@for_every(EXACT)
def test_loss_is_proper(generator: BregmanGenerator, p: Vector, q: Vector) -> None:
    risk = p @ generator.loss(q, np.eye(K))
    least = p @ generator.loss(p, np.eye(K))
    assert least == pytest.approx(-float(generator.value(p)), rel=1e-12, abs=1e-12)
    assert risk - least == pytest.approx(float(generator.divergence(p, q)), rel=1e-10, abs=1e-12)
    assert float(generator.loss(q, p)) == pytest.approx(risk, rel=1e-12, abs=1e-12)


@given(q=anywhere, y=vertex)
@for_every(FINITE)
def test_loss_is_the_divergence_from_the_outcome(generator: BregmanGenerator, q: Vector, y: Vector) -> None:
    loss, divergence = float(generator.loss(q, y)), float(generator.divergence(y, q))
    assert loss == pytest.approx(divergence, rel=1e-13, abs=_rounding(generator, y, q) if loss < np.inf else 0)


FAMILIAR: list[tuple[BregmanGenerator, Callable[[Vector, int], float], tuple[int, ...]]] = [
    (Log(), lambda q, y: -np.log(q[y]), (2, 3, 7)),
    (Brier(), lambda q, y: ((q - np.eye(len(q))[y]) ** 2).sum(), (2, 3, 7)),
    (Spherical(), lambda q, y: 1 - q[y] / np.linalg.norm(q), (2, 3, 7)),
    (Tsallis(0.5), lambda q, y: np.sqrt(q).sum() + 1 / np.sqrt(q[y]) - 2, (2, 3, 7)),
    (ItakuraSaito(), lambda q, y: 1 / q[y] + np.log(q).sum() - len(q), (2, 3, 7)),
    # The ranked probability score.
    (Quadratic(RANKED), lambda q, y: ((np.cumsum(q) - (np.arange(3) >= y)) ** 2).sum(), (3,)),
]


@pytest.mark.parametrize(("generator", "familiar", "k"), [(g, loss, k) for g, loss, sizes in FAMILIAR for k in sizes])
def test_loss_is_the_familiar_one(
    generator: BregmanGenerator, familiar: Callable[[Vector, int], float], k: int
) -> None:
    q = np.random.default_rng(k).dirichlet(np.ones(k), size=5)
    y = np.arange(5) % k
    expected = [familiar(row, label) for row, label in zip(q, y.tolist(), strict=True)]
    for outcomes in (np.eye(k)[y], np.eye(k, dtype=np.int64)[y], np.eye(k, dtype=bool)[y]):
        np.testing.assert_allclose(generator.loss(q, outcomes), expected, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize(("generator", "right", "wrong"), [
    (Log(), 0, np.inf),
    (Brier(), 0, 2),
    (Spherical(), 0, 1),
    (Tsallis(0.5), 0, np.inf),
    (Tsallis(1.5), 0, 3),
    (ItakuraSaito(), -np.inf, np.inf),
    (Quadratic(RANKED), 0, 1),
    (Log() + ItakuraSaito(), -np.inf, np.inf),
], ids=repr)
def test_loss_of_a_certain_prediction(generator: BregmanGenerator, right: float, wrong: float) -> None:
    np.testing.assert_array_equal(generator.loss(np.asarray([1.0, 0.0, 0.0]), np.eye(K)[:2]), [right, wrong])


def test_log_probabilities_keep_what_underflows() -> None:
    log_q = np.asarray([0.0, -1000.0, -2000.0])
    q, p = np.exp(log_q), np.asarray([0.5, 0.25, 0.25])
    np.testing.assert_array_equal(Log().loss(q, np.eye(K), log_q=log_q), [0, 1000, 2000])
    assert Log().divergence(p, q, log_q=log_q) == pytest.approx(750 + p @ np.log(p), rel=1e-15)
    # The power q**-0.01 of exp(-1000) is exp(10), though exp(-1000) is 0 in double precision.
    loss = Tsallis(0.99).loss(q, np.eye(K)[1], log_q=log_q)
    others = 1 + np.exp(-990.0)
    assert loss == pytest.approx(others + 99 * np.exp(10.0) - 100, rel=1e-12)
    assert Tsallis(0.1).loss(q, np.eye(K)[1], log_q=log_q) == np.inf
    mixed = (Log() + Brier()).loss(q, np.eye(K)[1], log_q=log_q)
    assert mixed == pytest.approx(1002, rel=1e-15)


# Names
@every_generator
def test_repr_makes_an_equal_generator_and_pickle_too(generator: BregmanGenerator) -> None:
    made = eval(repr(generator))  # noqa: S307
    assert made == generator
    assert hash(made) == hash(generator)
    copy = pickle.loads(pickle.dumps(generator))  # noqa: S301
    p = np.asarray([0.2, 0.3, 0.5])
    assert copy == generator
    assert copy.value(p) == generator.value(p)


def test_repr_and_names() -> None:
    assert repr(2 * Log() + Brier()) == "2.0*Log() + Brier()"
    assert repr(Tsallis(2)) == "Tsallis(alpha=2.0)"
    assert [as_generator(name).name for name in available()] == list(available())
    assert Tsallis(1.5).name == "Tsallis(alpha=1.5)"
    assert (Log() + Brier()).name == "Log() + Brier()"
    assert from_function(lambda p: p.sum(-1)).name == "custom"
    assert from_function(squares).name == "squares"
    assert from_function(squares, name="norm").name == "norm"
