"""What a family of recalibrations is: a function of training rows that returns a fitted map."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from propercal._typing import Array
from propercal.recalibration.points import Points


class Recalibration(Protocol):
    """A fitted recalibration."""

    def __call__(self, points: Points) -> Array:
        """(n, k) recalibrated probabilities."""


@dataclass(frozen=True)
class TrainingSet:
    """Rows on which families are fitted; what one family needs of another is fitted once."""

    points: Points
    outcome: Array
    """(n, k) one-hot labels."""
    label: Array
    """(n,) class numbers."""
    weight: Array
    """(n,) weights, in units of rows."""
    uniform: bool
    """Whether all weights are equal."""
    _fitted: dict[Any, Any] = field(default_factory=dict)

    def fit(self, family: Family) -> Any:
        """Return the recalibration of a family, fitted to these rows."""
        if family not in self._fitted:
            self._fitted[family] = family(self)
        return self._fitted[family]


Family = Callable[[TrainingSet], Recalibration]
