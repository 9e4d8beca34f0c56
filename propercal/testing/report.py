"""What a check of a generator found, and how it is shown."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from propercal.generators import BregmanGenerator
from propercal.testing._law import Law, Violation
from propercal.testing._methods import METHODS
from propercal.testing._numerics import Vector

__all__ = ["Counterexample", "GeneratorCheckError", "GeneratorReport", "Outcome"]


@dataclass(frozen=True)
class Counterexample:
    """Points at which a law is violated; its `str` can be pasted into Python.

    Attributes
    ----------
    law : Law
    points : mapping of str to ndarray
        Points of the simplex, and directions.
    violation : Violation
        What was computed there, what was found, and what was expected.
    """

    law: Law
    points: Mapping[str, Vector]
    violation: Violation

    @classmethod
    def at(
        cls,
        law: Law,
        generator: BregmanGenerator,
        points: tuple[Vector, ...],
        methods: tuple[str, ...] = METHODS,
    ) -> Counterexample | None:
        """Return the violation of a law at `points`, if it is violated there."""
        violation = law.violation(generator, points, methods)
        if violation is None:
            return None
        named = dict(zip(law.point_names, points, strict=False))
        return cls(law, {**named, **violation.points}, violation)

    def __str__(self) -> str:
        lines = [f"{name} = {as_python(value)}" for name, value in self.points.items()]
        lines += [
            self.violation.expression,
            f"# found     {as_python(self.violation.found)}",
            f"# expected  {as_python(self.violation.expected)}",
        ]
        return "\n".join(lines)


@dataclass(frozen=True)
class Outcome:
    """A law, and how it went: violated, skipped for a reason, or neither."""

    law: Law
    counterexample: Counterexample | None
    reason_to_skip: str = ""

    @property
    def verdict(self) -> str:
        """One of pass, FAIL, warn and skip."""
        if self.reason_to_skip:
            return "skip"
        if self.counterexample is None:
            return "pass"
        return "FAIL" if self.law.is_required else "warn"


@dataclass(frozen=True)
class GeneratorReport:
    """What was found of a generator; its `str` is a table of the laws.

    Attributes
    ----------
    generator : BregmanGenerator
    n_classes : tuple of int
    max_examples : int
    outcomes : tuple of Outcome
        One for each law, in the order of :data:`propercal.testing.laws.LAWS`.
    is_finite_at_vertices : bool, optional
        Whether F is finite at every vertex; None if a law is violated.
    is_normalised : bool, optional
        Whether F is 0 at every vertex; None if a law is violated.
    """

    generator: BregmanGenerator
    n_classes: tuple[int, ...]
    max_examples: int
    outcomes: tuple[Outcome, ...]
    is_finite_at_vertices: bool | None
    is_normalised: bool | None

    @property
    def failures(self) -> tuple[Counterexample, ...]:
        """Counter-examples to required laws, the one that points to the cause first."""
        return tuple(
            outcome.counterexample
            for outcome in self.outcomes
            if outcome.counterexample is not None and outcome.law.is_required
        )

    @property
    def passed(self) -> bool:
        """Whether no required law is violated."""
        return not self.failures

    @property
    def is_strictly_convex(self) -> bool | None:
        """Whether no points were found between which F is linear; None if a law is violated."""
        if not self.passed:
            return None
        return not any(outcome.verdict == "warn" for outcome in self.outcomes)

    def __str__(self) -> str:
        sizes = ", ".join(map(str, self.n_classes))
        width = max(len(outcome.law.name) for outcome in self.outcomes)
        lines = [f"{self.generator!r} at {self.max_examples} triples of points, {sizes} classes"]
        for outcome in self.outcomes:
            remark = outcome.reason_to_skip or outcome.law.formula
            lines.append(f"{outcome.verdict}  {outcome.law.name:<{width}}  {remark}")
        facts = {
            "strictly convex": self.is_strictly_convex,
            "finite at vertices": self.is_finite_at_vertices,
            "normalised": self.is_normalised,
        }
        lines += ["", *(f"{name:<18}  {_ANSWERS[fact]}" for name, fact in facts.items())]
        for outcome in self.outcomes:
            if outcome.counterexample is not None:
                lines += ["", explain(self.generator, outcome.counterexample)]
        return "\n".join(lines)


class GeneratorCheckError(AssertionError):
    """A generator violates a law.

    Attributes
    ----------
    report : GeneratorReport
    counterexample : Counterexample
        Of the first law that is violated; the others are in ``report.failures``.
    """

    def __init__(self, report: GeneratorReport, counterexample: Counterexample) -> None:
        self.report, self.counterexample = report, counterexample
        others = [each.law.name for each in report.failures if each.law != counterexample.law]
        message = explain(report.generator, counterexample)
        if others:
            message += f"\n\nalso violated: {', '.join(others)}"
        super().__init__(message)
        self.__cause__ = counterexample.violation.cause


def explain(generator: BregmanGenerator, counterexample: Counterexample) -> str:
    """Name a violated law and its formula, and show where it is violated."""
    law = counterexample.law
    verb = "violates the law" if law.is_required else "lacks the property"
    consequence = "" if law.is_required else _NOT_STRICT
    code = textwrap.indent(str(counterexample), "    ")
    return (
        f"{generator!r} {verb} {law.name!r}: {law.formula}\n({law.source}){consequence}\n\n{code}"
    )


_ANSWERS = {True: "yes", False: "no", None: "unknown, since a law is violated"}

_NOT_STRICT = """
A divergence of 0 does not imply equality, nor a calibration error of 0 calibration."""


def as_python(value: object) -> str:
    """Write a number or an array so that Python reads it back exactly."""
    if isinstance(value, str):
        return value
    if isinstance(value, float | np.ndarray | np.generic):
        text = repr(np.asarray(value).tolist()).replace("nan", "np.nan").replace("inf", "np.inf")
        return f"np.array({text})" if np.ndim(value) else text
    return repr(value)
