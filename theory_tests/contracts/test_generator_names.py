"""Generators by name, and what the makers of generators refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from propercal.generators import BregmanGenerator, Log, Quadratic, Tsallis, as_generator, available, register, registry
from theory_tests.instances import NoGradient, NoHessian, squares
from theory_tests.laws.points import RANKED


def test_as_generator() -> None:
    log = Log()
    assert as_generator(log) is log
    assert as_generator("log") == as_generator(Log) == log
    assert as_generator(squares).name == "squares"


@pytest.mark.parametrize(("spec", "message"), [
    ("spheric", r"generator = 'spheric'.*did you mean 'spherical'"),
    ("KL", r"generator = 'KL'.*'log', 'brier', 'spherical', 'itakura-saito'"),
    (Tsallis, r"Tsallis.*pass an instance, Tsallis\(alpha=\.\.\.\)"),
    (BregmanGenerator, r"BregmanGenerator.*defines value\(p\)"),
    (3, r"generator = 3.*a name, a BregmanGenerator or a function"),
    (int, r"generator = <class 'int'>.*a name, a BregmanGenerator or a function"),
])
def test_as_generator_refuses(spec: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        as_generator(spec)


def test_registered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_registry", dict(registry._registry))
    register("no-gradient")(NoGradient)
    assert available()[-1] == "no-gradient"
    assert as_generator("no-gradient").name == "no-gradient"
    assert NoHessian().name == "NoHessian()"
    # As after a reload: another object, the same module and name.
    again = type("NoGradient", (NoGradient,), {"__module__": NoGradient.__module__})
    register("no-gradient")(again)
    assert type(as_generator("no-gradient")) is again
    with pytest.raises(ValueError, match=r"name = 'log'.*not taken.*Log\(\)"):
        register("log")(NoGradient)
    with pytest.raises(ValueError, match=r"Tsallis\(alpha=\.\.\.\)"):
        register("tsallis")(Tsallis)
    assert available()[-1] == "no-gradient"
    del NoGradient._registered_name


@pytest.mark.parametrize("alpha", [0, -1, float("inf"), float("nan"), 1])
def test_tsallis_refuses(alpha: float) -> None:
    with pytest.raises(ValueError, match=r"alpha = .*(positive finite number|use Log\(\))"):
        Tsallis(alpha)


@pytest.mark.parametrize(("matrix", "message"), [
    ([[1.0, 2.0]], r"shape \(1, 2\)"),
    ([[1.0]], r"shape \(1, 1\)"),
    ([1.0, 2.0], r"shape \(2,\)"),
    ([[1.0, np.nan], [np.nan, 1.0]], "NaN or inf"),
    ([[1.0, 2.0], [0.0, 1.0]], r"differs from its transpose by up to 2.*\(A \+ A.T\) / 2"),
    ([[-1.0, 0.0], [0.0, 0.5]], "curvature -0.25"),
])
def test_quadratic_refuses(matrix: list[Any], message: str) -> None:
    with pytest.raises(ValueError, match=rf"matrix = .*{message}"):
        Quadratic(matrix)


def test_quadratic_needs_curvature_along_the_simplex_only() -> None:
    # Indefinite, but 1 on the one direction (1, -1) that the simplex has.
    assert Quadratic([[-1.0, -2.0], [-2.0, -1.0]]).value(np.asarray([0.5, 0.5])) == -0.5


def test_quadratic_refuses_another_number_of_classes() -> None:
    with pytest.raises(ValueError, match=r"p = an array with 2 classes.*3 classes"):
        Quadratic(RANKED).value(np.asarray([0.5, 0.5]))
