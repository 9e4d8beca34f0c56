"""What a family of recalibrations is: a function of training sets that returns fitted maps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from propercal._array import to_numpy
from propercal._typing import Array
from propercal.recalibration.points import Points, over_points

_T = TypeVar("_T")


class Recalibration(Protocol):
    """Fitted recalibrations, one for each training set."""

    def __call__(self, points: Points) -> Array:
        """(b, n, k) recalibrated probabilities; (1, n, k) where all training sets give the same."""


class TrainingRows(NamedTuple):
    """A training set as rows, for recalibrators that take nothing else."""

    prob: np.ndarray[Any, Any]
    """(n, k)."""
    label: np.ndarray[Any, Any]
    """(n,)."""
    weight: np.ndarray[Any, Any]
    """(n,)."""


@dataclass(frozen=True)
class TrainingSets:
    """Training sets of the same points, on which families are fitted side by side.

    What one family needs of another is fitted once.
    """

    points: Points
    """n points."""
    counts: Array
    """(b, n, k) weights of the labels seen at each point, in units of rows; a point without any is
    not in the set."""
    uniform: bool
    """Whether all rows have one weight."""
    whole: TrainingSets | None = None
    """All rows as one set, of which these are parts. Nothing may be taken of its labels."""
    _fitted: dict[Any, Any] = field(default_factory=dict)
    _made: dict[Any, Any] = field(default_factory=dict)

    @property
    def n_classes(self) -> int:
        """Number of classes k."""
        return int(self.counts.shape[2])

    @property
    def reference(self) -> TrainingSets:
        """What units and ranks are taken from, whatever part of it a set is: no labels are."""
        return self.whole or self

    @cached_property
    def by_class(self) -> Array:
        """(b, k, n) the counts, as fits of scores take them."""
        return over_points(self.counts)

    def rows(self) -> Iterator[TrainingRows]:
        """Yield each set as rows, those of a point in the order of their classes."""
        prob, counts = to_numpy(self.points.prob), to_numpy(self.counts)
        for each in counts:
            point, label = np.nonzero(each)
            yield TrainingRows(prob[point], label, each[point, label])

    def fit(self, family: Family) -> Any:
        """Return the recalibrations of a family, fitted to these sets."""
        if family not in self._fitted:
            self._fitted[family] = family(self)
        return self._fitted[family]

    def once(self, what: Any, make: Callable[[], _T]) -> _T:
        """Return what `make` returns, made once for all families that ask for `what`."""
        if what not in self._made:
            self._made[what] = make()
        found: _T = self._made[what]
        return found


Family = Callable[[TrainingSets], Recalibration]
