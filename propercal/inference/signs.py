"""Quadratic forms of residuals whose signs change, those of a group together.

If predictions are calibrated, the sum of residuals of a group has the mean 0, however the labels
within it depend on each other; with random signs it keeps its variance. (A wild bootstrap: Wu 1986;
by group: Cameron, Gelbach & Miller 2008.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from propercal._array import is_numpy, slices, to_numpy
from propercal._data.notions import Notion
from propercal._data.predictions import Predictions
from propercal._progress import steps
from propercal._threads import map_threads
from propercal._typing import Array
from propercal.generators.base import BregmanGenerator
from propercal.inference.quadratic_forms import quadratic_forms
from propercal.inference.residuals import Rows, Table

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

#: Numbers of a block of sets, and how many sets it has at least and at most.
_BLOCK_SIZE, _FEWEST, _MOST = 2**21, 16, 128

_Forms = Callable[[Floats], Array]
"""From signs (sets, n) to forms (names, sets)."""


@dataclass(frozen=True)
class _Signs:
    """1 + B sets of signs, the first of them all 1."""

    groups: Integers
    drawn: npt.NDArray[np.int8]
    """(B, G)."""

    @classmethod
    def draw(cls, groups: Integers, n_sets: int, rng: np.random.Generator) -> _Signs:
        """Draw as many sets beside that of the observed residuals."""
        bits = rng.integers(0, 2, size=(n_sets, int(groups.max()) + 1), dtype=np.int8)
        return cls(groups, 2 * bits - 1)

    def rows(self, sets: slice) -> Floats:
        """Return the sign of each row in some of the sets, (sets, n)."""
        of_groups = np.concatenate([np.ones_like(self.drawn[:1]), self.drawn])[sets]
        return of_groups[:, self.groups].astype(np.float64)


def forms_of_signs(
    predictions: Predictions,
    notion: Notion,
    generator: BregmanGenerator,
    n_resamples: int,
    rng: np.random.Generator,
) -> tuple[tuple[str, ...], Floats]:
    """Return names and forms (names, 1 + B), added up over the problems, the observed ones first.

    All problems of a notion have the same signs.
    """
    assert predictions.groups is not None  # noqa: S101  # else labels are drawn
    signs = _Signs.draw(predictions.groups, n_resamples, rng)
    step = min(_MOST, max(_FEWEST, _BLOCK_SIZE // predictions.n_samples))
    blocks = slices(1 + n_resamples, step)
    total: Any = 0.0
    names: tuple[str, ...] = ()
    for of_problem, forms in _problems(predictions, notion, generator, rng):
        names = of_problem

        def one_block(block: slice, forms: _Forms = forms) -> Floats:
            return to_numpy(forms(signs.rows(block)))

        in_threads = is_numpy(predictions.prob)
        found = map_threads(one_block, blocks) if in_threads else map(one_block, blocks)
        total = total + np.concatenate(list(found), axis=1)
    return names, total


def _problems(
    predictions: Predictions, notion: Notion, generator: BregmanGenerator, rng: np.random.Generator
) -> Iterator[tuple[tuple[str, ...], _Forms]]:
    """Yield the names of the forms of each problem, and what takes signs to the forms."""
    for problem in steps(notion.problems(predictions)):
        label = to_numpy(problem.label)
        data: Rows | Table = Rows.of(problem) if problem.n_classes > 2 else Table.of(problem)
        at = data.at if isinstance(data, Rows) else data.sums.at
        found = quadratic_forms(at, generator, rng)

        def forms(signs: Floats, data: Any = data, found: Any = found, label: Any = label) -> Array:
            return found(data.residuals(label[None, :], signs))

        yield found.names, forms
