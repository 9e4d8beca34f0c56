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
from theory_tests.contracts.wrong_generators import CUBIC, TORCH_DIFFERS, VIOLATED, WAVY, WRONG
from theory_tests.instances import written

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


@pytest.mark.slow
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


def test_the_generator_that_they_are_made_from_is_right() -> None:
    report = check_generator(CUBIC)
    assert report.is_strictly_convex
    skipped = {outcome.law.name for outcome in report.outcomes if outcome.verdict == "skip"}
    assert skipped <= {"torch", "autodiff"}


@pytest.mark.parametrize(("name", "law"), VIOLATED.items())
def test_names_the_law_that_is_violated(name: str, law: str) -> None:
    generator = WRONG[name]
    with pytest.raises(GeneratorCheckError) as caught:
        check_generator(generator)
    counterexample = caught.value.counterexample
    assert counterexample.law.name == law
    message = str(caught.value)
    assert message.startswith(f"{generator!r} violates the law {law!r}: {counterexample.law.formula}\n")
    assert str(counterexample).splitlines()[0] in message


def test_finds_where_a_generator_is_not_convex() -> None:
    """Which of the two conditions shows it first depends on the points drawn."""
    assert examine(WAVY).failures[0].law.name in {"convexity", "hessian-psd"}


def test_torch_and_numpy_must_agree() -> None:
    pytest.importorskip("torch")
    assert [each.law.name for each in examine(TORCH_DIFFERS).failures] == ["torch"]


@pytest.mark.parametrize(("name", "points"), [
    ("SignError", {"p": [0.5, 0.5]}),
    ("NanAtVertex", {"p": [1.0, 0.0]}),
    ("Concave", {"p": [0.5, 0.5], "q": [0.25, 0.75]}),
    ("ChangesInput", {"p": [0.5, 0.5], "q": [0.5, 0.5]}),
])
def test_counterexamples_are_simple(name: str, points: dict[str, list[float]]) -> None:
    """The sign error is invisible at (1/2, 1/2), where both slopes along the simplex are 0."""
    (counterexample, *_) = examine(WRONG[name]).failures
    found = {each: p.tolist() for each, p in counterexample.points.items() if each in points}
    if name == "SignError":
        assert len(found["p"]) == 2
        assert all(float(16 * x).is_integer() for x in found["p"])
    else:
        assert {each: sorted(p) for each, p in found.items()} == {each: sorted(p) for each, p in points.items()}


def evaluate(code: str, generator: BregmanGenerator) -> Any:
    *assignments, expression = [line for line in code.splitlines() if not line.startswith("#")]
    names: dict[str, Any] = {"np": np, "generator": generator}
    exec("\n".join(assignments), names)  # noqa: S102
    return eval(expression, names)  # noqa: S307


PASTED = (
    "SignError", "MissingComponent", "DoubledHessian", "SkewHessian", "Concave", "WrongFromLog", "OrderOfBatch",
    "LowPrecision", "ShortGradient", "NanAtVertex", "WrongDivergence",
)


@pytest.mark.parametrize("generator", [WAVY, *(WRONG[name] for name in PASTED)], ids=repr)
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
        check_generator(WRONG["Raises"])
    assert isinstance(caught.value.__cause__, RuntimeError)


LINEAR = written(
    "Linear",
    value=lambda p: np.sum(p * np.arange(1, p.shape[-1] + 1, dtype=p.dtype), axis=-1),
    gradient=lambda p: np.zeros_like(p) + np.arange(1, p.shape[-1] + 1, dtype=p.dtype),
    hessian=lambda p: np.zeros((*p.shape, p.shape[-1]), dtype=p.dtype),
)


def test_a_linear_generator_passes_with_a_warning() -> None:
    with pytest.warns(UserWarning, match="lacks the property 'strict-convexity'") as caught:
        report = check_generator(LINEAR)
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
    reports = [str(examine(WRONG["DoubledHessian"], max_examples=20, random_state=state)) for state in (None, None, 3, 3)]
    assert reports[0] == reports[1]
    assert reports[2] == reports[3]


def test_noise_is_no_counterexample() -> None:
    """At 1e-300, 1 / p² − 1 / p and its derivatives overflow to NaN, with warnings under NumPy's defaults."""
    steep = written(
        "Steep",
        value=lambda p: np.sum(np.where(p > 0, 1 / p**2 - 1 / p, np.inf), axis=-1),
        gradient=lambda p: -2 / p**3 + 1 / p**2,
        hessian=lambda p: (6 / p**4 - 2 / p**3)[..., None] * np.eye(p.shape[-1], dtype=p.dtype),
    )
    with np.errstate(all="ignore"):
        assert np.isnan(steep.gradient(np.asarray([1.0, 1e-300]))).any()
    with warnings.catch_warnings(), np.errstate(all="warn"):
        warnings.simplefilter("error")
        assert check_generator(steep, random_state=2).is_finite_at_vertices is False


def test_a_fixed_number_of_classes_is_said() -> None:
    with pytest.raises(GeneratorCheckError, match="an array with 2 classes: expected 3"):
        check_generator(Quadratic(np.eye(3)))


@pytest.mark.parametrize(("arguments", "message"), [
    ({"n_classes": ()}, r"n_classes = \(\): expected"),
    ({"n_classes": (1, 2)}, r"n_classes = \(1, 2\): expected"),
    ({"n_classes": (2.5,)}, r"n_classes = \(2.5,\): expected"),
    ({"max_examples": 0}, "max_examples = 0: expected 1 or more"),
    ({"generator": "lgo"}, "did you mean 'log'"),
])
def test_bad_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_generator(**{"generator": "log", **arguments})


def test_a_missing_torch_is_an_import_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    with pytest.raises(ImportError, match=r"propercal\[torch\]"):
        check_generator(from_function(lambda p: (p**2).sum(-1)))


def test_laws_have_names_formulas_and_sources() -> None:
    assert len({law.name for law in LAWS}) == len(LAWS) >= 18
    assert all(law.formula and law.source and set(law.point_names) <= set("pqr") for law in LAWS)


@parametrize_with_checks([Brier(), "log"])
def test_parametrized(check: Callable[[], None]) -> None:
    check()
