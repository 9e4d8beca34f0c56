"""The checker passes every right generator, and names the law that a wrong one violates."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from propercal.generators import (
    BregmanGenerator,
    Brier,
    ItakuraSaito,
    Log,
    Quadratic,
    Spherical,
    Tsallis,
    from_function,
)
from propercal.testing import GeneratorCheckError, check_generator, parametrize_with_checks
from propercal.testing.checker import examine
from propercal.testing.laws import LAWS

Vector = npt.NDArray[np.float64]
ROOT = np.random.default_rng(5).normal(size=(3, 3)).round(2)
FORM = ROOT.T @ ROOT

RIGHT: list[tuple[BregmanGenerator, tuple[int, ...]]] = [
    (Log(), (2, 3, 5)),
    (Brier(), (2, 3, 5)),
    (Spherical(), (2, 3, 5)),
    (ItakuraSaito(), (2, 3, 5)),
    (Tsallis(0.5), (2, 3, 5)),
    (Tsallis(1.5), (2, 3, 5)),
    (Tsallis(3), (2, 3, 5)),
    (Tsallis(0.01), (2, 3, 5)),  # ∇F of the order of 1e297 near a face
    (Tsallis(1 + 1e-5), (2, 3, 5)),  # loses five digits
    (Quadratic((FORM + FORM.T) / 2), (3,)),
    (2 * Log() + Brier(), (2, 3, 5)),
    (1e-9 * Log(), (2, 3)),
    (1e9 * Spherical(), (2, 3)),
    (0.5 * ItakuraSaito() + Tsallis(3), (2, 10)),
]


@pytest.mark.parametrize(("generator", "n_classes"), RIGHT, ids=lambda value: repr(value)[:40])
def test_passes_what_is_right(generator: BregmanGenerator, n_classes: tuple[int, ...]) -> None:
    report = check_generator(generator, n_classes=n_classes)
    steep = "ItakuraSaito" in repr(generator)
    assert report.passed
    assert report.is_strictly_convex
    assert report.is_finite_at_vertices is not steep
    assert report.is_normalised is not steep


def test_passes_functions_differentiated_by_torch() -> None:
    torch = pytest.importorskip("torch")
    functions: list[Callable[[Any], Any]] = [
        lambda p: (p**3).sum(-1),
        lambda p: (p * torch.where(p > 0, p, 1.0).log()).sum(-1),
        lambda p: -p.log().sum(-1),
    ]
    reports = [check_generator(from_function(F), max_examples=40) for F in functions]
    assert [report.is_finite_at_vertices for report in reports] == [True, True, False]
    assert [report.is_normalised for report in reports] == [False, True, False]
    assert all(outcome.verdict == "pass" for report in reports for outcome in report.outcomes)


def test_finds_that_the_gradient_of_xlogy_is_nan_at_zero() -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(GeneratorCheckError, match="gradient-not-nan"):
        check_generator(from_function(lambda p: torch.special.xlogy(p, p).sum(-1)), max_examples=20)


class Cubic(BregmanGenerator):
    """Right, in NumPy alone; what is wrong below is wrong in one method."""

    def value(self, p: Any) -> Any:
        return np.sum(p**3, axis=-1) - 1

    def gradient(self, p: Any) -> Any:
        return 3 * p**2

    def hessian(self, p: Any) -> Any:
        return 6 * p[..., None] * np.eye(p.shape[-1], dtype=p.dtype)


class SignError(Cubic):
    def gradient(self, p: Any) -> Any:
        return -3 * p**2


class MissingComponent(Cubic):
    def gradient(self, p: Any) -> Any:
        slope = 3 * p**2
        slope[..., -1] = 0
        return slope


class ShortGradient(Cubic):
    def gradient(self, p: Any) -> Any:
        return (3 * p**2)[..., :-1]


class SmallError(Cubic):
    def gradient(self, p: Any) -> Any:
        return 3 * p**2 * (1 + p * np.asarray(1e-4, dtype=p.dtype))


class DoubledHessian(Cubic):
    def hessian(self, p: Any) -> Any:
        return 2 * super().hessian(p)


class SkewHessian(Cubic):
    def hessian(self, p: Any) -> Any:
        return super().hessian(p) + np.triu(np.ones(2 * p.shape[-1:], dtype=p.dtype), 1)


class Concave(Cubic):
    def value(self, p: Any) -> Any:
        return -super().value(p)

    def gradient(self, p: Any) -> Any:
        return -super().gradient(p)

    def hessian(self, p: Any) -> Any:
        return -super().hessian(p)


class Wavy(BregmanGenerator):
    """‖p‖² with waves, each derivative right: convex in places."""

    def value(self, p: Any) -> Any:
        return np.sum(p**2 + np.asarray(0.01, p.dtype) * np.cos(20 * p), axis=-1)

    def gradient(self, p: Any) -> Any:
        return 2 * p - np.asarray(0.2, p.dtype) * np.sin(20 * p)

    def hessian(self, p: Any) -> Any:
        return (2 - 4 * np.cos(20 * p))[..., None] * np.eye(p.shape[-1], dtype=p.dtype)


class NanAtVertex(BregmanGenerator):
    """Negative entropy, right but for ∇F = p log p / p + 1."""

    def value(self, p: Any) -> Any:
        return np.sum(p * np.log(np.where(p > 0, p, 1)), axis=-1)

    def gradient(self, p: Any) -> Any:
        return p * np.log(p) / p + 1

    def hessian(self, p: Any) -> Any:
        return np.eye(p.shape[-1], dtype=p.dtype) / p[..., None]


class NanValueAtVertex(NanAtVertex):
    def value(self, p: Any) -> Any:
        return np.sum(p * np.log(p), axis=-1)


class OrderOfBatch(Cubic):
    def value(self, p: Any) -> Any:
        first = p.reshape(-1, p.shape[-1])[0, 0]
        return np.sum(p**3, axis=-1) - first


class ChangesInput(Cubic):
    def value(self, p: Any) -> Any:
        p **= 3
        return np.sum(p, axis=-1) - 1


class ChangesInputOfGradient(Cubic):
    def gradient(self, p: Any) -> Any:
        p *= p
        return 3 * p


class LowPrecision(Cubic):
    def value(self, p: Any) -> Any:
        return super().value(p.astype(np.float32))


class HighPrecision(Cubic):
    def gradient(self, p: Any) -> Any:
        return super().gradient(p.astype(np.float64))


class Unbounded(Cubic):
    def value(self, p: Any) -> Any:
        return np.sum(np.log(p), axis=-1)


class WrongFromLog(Cubic):
    def gradient_from_log(self, log_p: Any) -> Any:
        return 2 * np.exp(2 * log_p)


class WrongProduct(Cubic):
    def hessian_times(self, p: Any, v: Any) -> Any:
        return 3 * p * v


class WrongDiagonal(Cubic):
    def hessian_diagonal(self, p: Any) -> Any:
        return 6 * p[..., ::-1]


class WrongDivergence(Cubic):
    def _divergence(self, p: Any, q: Any, log_q: Any) -> Any:
        return super()._divergence(q, p, log_q)


class Raises(Cubic):
    def value(self, p: Any) -> Any:
        if (p == 0).any():
            raise RuntimeError("log of zero")
        return super().value(p)


class TorchDiffers(BregmanGenerator):
    def value(self, p: Any) -> Any:
        return (p**2).sum(-1) - (1 if isinstance(p, np.ndarray | np.generic) else 2)

    def gradient(self, p: Any) -> Any:
        return 2 * p

    def hessian(self, p: Any) -> Any:
        return 2 * np.ones_like(p)[..., None] * np.eye(p.shape[-1], dtype=p.dtype)


WRONG: list[tuple[BregmanGenerator, str]] = [
    (SignError(), "gradient"),
    (MissingComponent(), "gradient"),
    (ShortGradient(), "shapes"),
    (SmallError(), "gradient"),
    (DoubledHessian(), "hessian"),
    (SkewHessian(), "hessian-symmetry"),
    (Concave(), "convexity"),
    (NanAtVertex(), "gradient-not-nan"),
    (NanValueAtVertex(), "value-range"),
    (OrderOfBatch(), "batch-independence"),
    (ChangesInput(), "input-unchanged"),
    (ChangesInputOfGradient(), "input-unchanged"),
    (LowPrecision(), "dtype"),
    (HighPrecision(), "dtype"),
    (Unbounded(), "value-range"),
    (WrongFromLog(), "gradient-from-log"),
    (WrongProduct(), "hessian-products"),
    (WrongDiagonal(), "hessian-products"),
    (WrongDivergence(), "three-point-identity"),
    (Raises(), "shapes"),
]


def test_the_generator_that_they_are_made_from_is_right() -> None:
    report = check_generator(Cubic())
    assert report.is_strictly_convex
    skipped = {outcome.law.name for outcome in report.outcomes if outcome.verdict == "skip"}
    assert skipped <= {"torch", "autodiff"}


@pytest.mark.parametrize(("generator", "law"), WRONG, ids=lambda value: value if isinstance(value, str) else repr(value))
def test_names_the_law_that_is_violated(generator: BregmanGenerator, law: str) -> None:
    with pytest.raises(GeneratorCheckError) as caught:
        check_generator(generator)
    counterexample = caught.value.counterexample
    assert counterexample.law.name == law
    message = str(caught.value)
    assert message.startswith(f"{generator!r} violates the law {law!r}: {counterexample.law.formula}\n")
    assert str(counterexample).splitlines()[0] in message


def test_finds_where_a_generator_is_not_convex() -> None:
    """Which of the two conditions shows it first depends on the points drawn."""
    assert examine(Wavy()).failures[0].law.name in {"convexity", "hessian-psd"}


def test_torch_and_numpy_must_agree() -> None:
    pytest.importorskip("torch")
    assert [each.law.name for each in examine(TorchDiffers()).failures] == ["torch"]


@pytest.mark.parametrize(
    ("generator", "points"),
    [
        (SignError(), {"p": [0.5, 0.5]}),
        (NanAtVertex(), {"p": [1.0, 0.0]}),
        (Concave(), {"p": [0.5, 0.5], "q": [0.25, 0.75]}),
        (ChangesInput(), {"p": [0.5, 0.5], "q": [0.5, 0.5]}),
    ],
    ids=repr,
)
def test_counterexamples_are_simple(generator: BregmanGenerator, points: dict[str, list[float]]) -> None:
    """The sign error is invisible at (1/2, 1/2), where both slopes along the simplex are 0."""
    (counterexample, *_) = examine(generator).failures
    found = {name: p.tolist() for name, p in counterexample.points.items() if name in points}
    if isinstance(generator, SignError):
        assert len(found["p"]) == 2
        assert all(float(16 * x).is_integer() for x in found["p"])
    else:
        assert {name: sorted(p) for name, p in found.items()} == {name: sorted(p) for name, p in points.items()}


def evaluate(code: str, generator: BregmanGenerator) -> Any:
    *assignments, expression = [line for line in code.splitlines() if not line.startswith("#")]
    names: dict[str, Any] = {"np": np, "generator": generator}
    exec("\n".join(assignments), names)  # noqa: S102
    return eval(expression, names)  # noqa: S307


@pytest.mark.parametrize(
    "generator",
    [SignError(), MissingComponent(), DoubledHessian(), SkewHessian(), Concave(), Wavy(), WrongFromLog(), OrderOfBatch(), LowPrecision(), ShortGradient(), NanAtVertex(), WrongDivergence()],
    ids=repr,
)
def test_every_counterexample_can_be_pasted_into_python(generator: BregmanGenerator) -> None:
    failures = [each for each in examine(generator, max_examples=50).failures if each.violation.cause is None]
    assert failures
    for counterexample in failures:
        with np.errstate(all="ignore"):
            found = evaluate(str(counterexample), generator)
        if counterexample.law.name in {"dtype", "shapes"}:
            assert found == counterexample.violation.found
        else:
            expected = np.asarray(counterexample.violation.found)
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-15)


def test_the_cause_of_an_exception_is_kept() -> None:
    with pytest.raises(GeneratorCheckError, match="RuntimeError: log of zero") as caught:
        check_generator(Raises())
    assert isinstance(caught.value.__cause__, RuntimeError)


class Linear(BregmanGenerator):
    def value(self, p: Any) -> Any:
        return np.sum(p * np.arange(1, p.shape[-1] + 1, dtype=p.dtype), axis=-1)

    def gradient(self, p: Any) -> Any:
        return np.zeros_like(p) + np.arange(1, p.shape[-1] + 1, dtype=p.dtype)

    def hessian(self, p: Any) -> Any:
        return np.zeros((*p.shape, p.shape[-1]), dtype=p.dtype)


def test_a_linear_generator_passes_with_a_warning() -> None:
    with pytest.warns(UserWarning, match="lacks the property 'strict-convexity'") as caught:
        report = check_generator(Linear())
    assert len(caught) == 1
    assert report.passed
    assert report.is_strictly_convex is False
    assert "warn  strict-convexity" in str(report)
    assert "calibration error of 0" in str(caught[0].message)


def test_a_direction_without_curvature_is_found() -> None:
    """vvᵀ with v = (1, 2, 4) is flat along (2, −3, 1), a line that random pairs do not hit."""
    v = np.asarray([1.0, 2.0, 4.0])
    with pytest.warns(UserWarning, match="strict-convexity") as caught:
        check_generator(Quadratic(np.outer(v, v)), n_classes=[3])
    (p, q) = (np.asarray(eval(text)) for text in re.findall(r"np\.array\((.*)\)", str(caught[0].message))[:2])  # noqa: S307
    np.testing.assert_allclose((p - q) @ v, 0, atol=1e-12)


def test_the_same_seed_gives_the_same_report() -> None:
    reports = [str(examine(DoubledHessian(), max_examples=20, random_state=state)) for state in (None, None, 3, 3)]
    assert reports[0] == reports[1]
    assert reports[2] == reports[3]


def test_noise_is_no_counterexample() -> None:
    """At 1e-300, 1 / p² − 1 / p and its derivatives overflow to NaN, with warnings under NumPy's defaults."""

    class Steep(BregmanGenerator):
        def value(self, p: Any) -> Any:
            return np.sum(np.where(p > 0, 1 / p**2 - 1 / p, np.inf), axis=-1)

        def gradient(self, p: Any) -> Any:
            return -2 / p**3 + 1 / p**2

        def hessian(self, p: Any) -> Any:
            return (6 / p**4 - 2 / p**3)[..., None] * np.eye(p.shape[-1], dtype=p.dtype)

    with np.errstate(all="ignore"):
        assert np.isnan(Steep().gradient(np.asarray([1.0, 1e-300]))).any()
    with warnings.catch_warnings(), np.errstate(all="warn"):
        warnings.simplefilter("error")
        assert check_generator(Steep(), random_state=2).is_finite_at_vertices is False


def test_a_fixed_number_of_classes_is_said() -> None:
    with pytest.raises(GeneratorCheckError, match="an array with 2 classes: expected 3"):
        check_generator(Quadratic(np.eye(3)))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_classes": ()}, r"n_classes = \(\): expected"),
        ({"n_classes": (1, 2)}, r"n_classes = \(1, 2\): expected"),
        ({"n_classes": (2.5,)}, r"n_classes = \(2.5,\): expected"),
        ({"max_examples": 0}, "max_examples = 0: expected 1 or more"),
        ({"generator": "lgo"}, "did you mean 'log'"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_generator(**{"generator": "log", **arguments})


def test_a_missing_torch_is_an_import_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    with pytest.raises(ImportError, match=r"propercal\[torch\]"):
        check_generator(from_function(lambda p: (p**2).sum(-1)))


class NumpyWeights(BregmanGenerator):
    """Σ p_i² / i, in code that takes no tensors, without a Hessian."""

    def _weights(self, p: Any) -> Any:
        return 1 / np.arange(1, p.shape[-1] + 1, dtype=p.dtype)

    def value(self, p: Any) -> Any:
        return np.einsum("...i,...i->...", self._weights(p) * p, p)

    def gradient(self, p: Any) -> Any:
        return 2 * self._weights(p) * p


class NumpyWeightsSignError(NumpyWeights):
    def gradient(self, p: Any) -> Any:
        return -super().gradient(p)


class NumpyWeightsShortGradient(NumpyWeights):
    def gradient(self, p: Any) -> Any:
        return super().gradient(p)[..., :-1]


class NumpyValueOnly(BregmanGenerator):
    def value(self, p: Any) -> Any:
        return np.einsum("...i,...i->...", p, p)


class Typo(NumpyWeights):
    def value(self, p: Any) -> Any:
        return np.sum(undefined * p, axis=-1)  # type: ignore[name-defined]  # noqa: F821


class TypoInValueOnly(BregmanGenerator):
    def value(self, p: Any) -> Any:
        return (undefined * p).sum(-1)  # type: ignore[name-defined]  # noqa: F821


class TypoInGradient(NumpyWeights):
    def gradient(self, p: Any) -> Any:
        return undefined * p  # type: ignore[name-defined]  # noqa: F821


class TypoInHessian(NumpyWeights):
    def hessian(self, p: Any) -> Any:
        return undefined * p  # type: ignore[name-defined]  # noqa: F821


SECOND_ORDER = {"hessian-symmetry", "hessian", "hessian-products", "hessian-psd"}


def reasons(generator: BregmanGenerator) -> dict[str, str]:
    outcomes = examine(generator, max_examples=30).outcomes
    return {each.law.name: each.reason_to_skip for each in outcomes if each.verdict == "skip"}


@pytest.mark.parametrize("generator", [NumpyWeights(), 2 * NumpyWeights() + Brier()], ids=repr)
def test_a_hessian_that_torch_cannot_derive_is_not_checked(generator: BregmanGenerator) -> None:
    pytest.importorskip("torch")
    assert examine(generator, max_examples=30).is_strictly_convex
    skipped = reasons(generator)
    assert set(skipped) == SECOND_ORDER | {"torch", "autodiff"}
    for law in SECOND_ORDER:
        assert re.fullmatch(
            r"no hessian: torch cannot differentiate this gradient \(TypeError: .+\); "
            r"give hessian\(p\), or write it with operators, to have it checked",
            skipped[law],
        )
    assert skipped["torch"].startswith("value(p) takes no tensors (")


@pytest.mark.parametrize(
    ("generator", "law"), [(NumpyWeightsSignError(), "gradient"), (NumpyWeightsShortGradient(), "shapes")], ids=str
)
def test_the_other_laws_are_checked_without_a_hessian(generator: BregmanGenerator, law: str) -> None:
    assert examine(generator).failures[0].law.name == law


@pytest.mark.parametrize(
    ("generator", "method"),
    [(Typo(), "value"), (TypoInValueOnly(), "value"), (TypoInGradient(), "gradient"), (TypoInHessian(), "hessian")],
    ids=repr,
)
def test_an_exception_is_one_failure(generator: BregmanGenerator, method: str) -> None:
    report = examine(generator, max_examples=30)
    (failure,) = report.failures
    assert failure.law.name == "shapes"
    assert failure.violation.found == "NameError: name 'undefined' is not defined"
    not_checked = {name for name, reason in reasons(generator).items() if reason == f"{method} raises"}
    assert "batch-independence" in not_checked
    assert ("value-range" in not_checked) is (method == "value")
    assert ("gradient-not-nan" in not_checked) is (method != "hessian")
    assert report.is_strictly_convex is None


def test_an_exception_at_the_boundary_alone_is_one_failure() -> None:
    assert [each.law.name for each in examine(Raises()).failures] == ["shapes"]


def test_a_gradient_that_torch_cannot_derive_is_one_failure() -> None:
    pytest.importorskip("torch")
    (failure,) = examine(NumpyValueOnly(), max_examples=30).failures
    assert "numpy" in str(failure.violation.found)
    assert "give gradient(p), or write what it is derived from with operators" in str(failure)


def test_laws_have_names_formulas_and_sources() -> None:
    assert len({law.name for law in LAWS}) == len(LAWS) >= 18
    assert all(law.formula and law.source and set(law.point_names) <= set("pqr") for law in LAWS)


@parametrize_with_checks([Brier(), "log"])
def test_parametrized(check: Callable[[], None]) -> None:
    check()
