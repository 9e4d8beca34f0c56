"""The contract of a method of estimation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import MISSING, fields
from typing import Any, ClassVar

from propercal._data.predictions.notions import Problems
from propercal._methods.terms import Terms
from propercal.generators.base import BregmanGenerator


class Method(ABC):
    """How the terms of a decomposition are estimated.

    A method is a frozen dataclass whose fields are the settings that it heeds. A new one is a
    subclass that is passed as ``method=MyMethod(...)``; it gives :meth:`terms` and a name.
    """

    name: ClassVar[str]
    """What results call the method."""
    measures_divergence: ClassVar[bool] = False
    """Whether the calibration error has an estimate of its own, which leaves the refinement of the
    risk; else it is the other way round."""
    corrects_bias: ClassVar[bool] = False
    """Whether the bias of order 1/n is taken away, so that every term has an interval."""
    estimates_refinement: ClassVar[bool] = True
    """Whether there are terms beside those that are means of losses; else these are NaN."""

    @abstractmethod
    def terms(self, problems: Problems, generators: Sequence[BregmanGenerator]) -> list[Terms]:
        """Estimate the terms of each generator, averaged over the problems.

        Parameters
        ----------
        problems : iterable of Problem
            Problems of the same rows, which can be gone through more than once.
        generators : sequence of BregmanGenerator
            Each F; what they can share is computed once.

        Returns
        -------
        list of Terms
            One for each generator.
        """

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        """Return the settings that the method heeds, and their defaults."""
        return {each.name: each.default for each in fields(cls)}  # type: ignore[arg-type]

    def given(self) -> dict[str, Any]:
        """Return the settings that are not at their defaults."""
        return {
            name: value
            for name, default in self.defaults().items()
            if not is_default(value := getattr(self, name), default)
        }

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self.given().items())
        return f"{type(self).__name__}({shown})"


def is_default(value: object, default: object) -> bool:
    """Tell whether a setting has its default value, of the same type."""
    if default is MISSING or default is None or value is None:
        return value is default
    return type(value) is type(default) and bool(value == default)
