"""Laws that cannot be checked, since a method raises or has no derivative, are said to be so."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from propercal.generators import BregmanGenerator, Brier
from propercal.testing.checker import examine
from theory_tests.contracts.wrong_generators import WRONG
from theory_tests.instances import written


def weights(p: Any) -> Any:
    return 1 / np.arange(1, p.shape[-1] + 1, dtype=p.dtype)


class NumpyWeights(BregmanGenerator):
    """Σ p_i² / i, in code that takes no tensors, without a Hessian."""

    def value(self, p: Any) -> Any:
        return np.einsum("...i,...i->...", weights(p) * p, p)

    def gradient(self, p: Any) -> Any:
        return 2 * weights(p) * p


SIGN_ERROR = written("SignError", NumpyWeights, gradient=lambda p: -2 * weights(p) * p)
SHORT_GRADIENT = written("ShortGradient", NumpyWeights, gradient=lambda p: (2 * weights(p) * p)[..., :-1])
VALUE_ONLY = written("ValueOnly", value=lambda p: np.einsum("...i,...i->...", p, p))


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


@pytest.mark.parametrize(("generator", "law"), [(SIGN_ERROR, "gradient"), (SHORT_GRADIENT, "shapes")], ids=str)
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
    assert [each.law.name for each in examine(WRONG["Raises"]).failures] == ["shapes"]


def test_a_gradient_that_torch_cannot_derive_is_one_failure() -> None:
    pytest.importorskip("torch")
    (failure,) = examine(VALUE_ONLY, max_examples=30).failures
    assert "numpy" in str(failure.violation.found)
    assert "give gradient(p), or write what it is derived from with operators" in str(failure)
