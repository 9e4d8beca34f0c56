"""What a law is: a formula that must hold at every point, and how it is found to be violated."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from propercal.generators import BregmanGenerator
from propercal.testing._methods import METHODS, is_from_autodiff, raised_by
from propercal.testing._numerics import Vector


@dataclass(frozen=True)
class Violation:
    """What was found in place of what was expected, at the points that a law was given.

    Attributes
    ----------
    expression : str
        What was computed, in Python, from `generator` and the names of the points.
    found : object
        Its result.
    expected : object
        What it must be.
    points : mapping of str to ndarray
        Further arrays that `expression` names, or other values for the points.
    cause : Exception, optional
        What the generator raised.
    """

    expression: str
    found: object
    expected: object
    points: Mapping[str, Vector] = field(default_factory=dict)
    cause: Exception | None = None


def always(generator: BregmanGenerator, n_classes: int) -> str:  # noqa: ARG001
    """Say that a law applies to every generator."""
    return ""


@dataclass(frozen=True)
class Law:
    """A statement about every generator.

    Attributes
    ----------
    name : str
    formula : str
        The statement, in one line.
    source : str
        Where it is proved or defined.
    point_names : str
        Names of the points of the simplex that it is about, a letter each.
    check : callable
        Returns the violation at given points, or None.
    reason_to_skip : callable
        Says why the law does not apply to a generator; an empty string if it does.
    is_required : bool
        Whether a violation is a failure rather than a warning.
    takes_methods : bool
        Whether `check` takes the names of the methods that the generator has, as `methods`.
    """

    name: str
    formula: str
    source: str
    point_names: str
    check: Callable[..., Violation | None]
    reason_to_skip: Callable[[BregmanGenerator, int], str] = always
    is_required: bool = True
    takes_methods: bool = False

    def violation(
        self,
        generator: BregmanGenerator,
        points: tuple[Vector, ...],
        methods: tuple[str, ...] = METHODS,
    ) -> Violation | None:
        """Check copies of the first of `points`; what a generator raises violates its law."""
        options = {"methods": methods} if self.takes_methods else {}
        used = [p.copy() for p in points[: len(self.point_names)]]
        try:
            # Infinity is a right answer at the boundary, so its noise is no sign of a fault.
            with np.errstate(all="ignore"):
                return self.check(generator, *used, **options)
        except ImportError:
            raise
        except Exception as error:  # noqa: BLE001 - a user's generator may raise anything
            found, expected = f"{type(error).__name__}: {error}", "no exception"
            if is_from_autodiff(error):
                name = raised_by(error) or "derivative"
                expected = (
                    f"a {name} derived by torch, since the generator has none: give {name}(p), or "
                    "write what it is derived from with operators and torch functions"
                )
            return Violation(f"# checking the law {self.name!r}", found, expected, cause=error)
