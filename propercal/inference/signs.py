"""Quadratic forms of residuals whose signs change, those of a group together.

If predictions are calibrated, the sum of residuals of a group has the mean 0, however the labels
within it depend on each other; with random signs it keeps its variance. (A wild bootstrap: Wu 1986;
by group: Cameron, Gelbach & Miller 2008.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from propercal._array import is_numpy, like, namespace, slices, to_numpy
from propercal._data.predictions.notions import Notion, Problem
from propercal._data.predictions.predictions import Predictions
from propercal._progress import steps
from propercal._threads import map_threads
from propercal._typing import Array
from propercal.generators.base import BregmanGenerator
from propercal.inference.quadratic_forms import QuadraticForms, Residuals, quadratic_forms
from propercal.inference.residuals import Rows, Table

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

#: Sets that are evaluated together, and numbers of a tile of their signs.
_SETS, _TILE = 128, 2**17

_Evaluation = Callable[[Floats], Array]
"""From signs of groups (sets, G) to forms (names, sets)."""


def signs_of_groups(n_groups: int, n_resamples: int, rng: np.random.Generator) -> Floats:
    """Draw the signs (1 + B, groups) of residuals, those of the observed ones being 1."""
    bits = rng.integers(0, 2, size=(1 + n_resamples, n_groups))
    signs = 2 * bits.astype(np.float64) - 1
    signs[0] = 1
    return signs


def forms_of_signs(
    predictions: Predictions,
    notion: Notion,
    generator: BregmanGenerator,
    signs: Floats,
    rng: np.random.Generator,
) -> tuple[tuple[str, ...], Floats]:
    """Return names and forms (names, 1 + B), added up over the problems, the observed ones first.

    All problems of a notion have the same signs.
    """
    groups = predictions.groups
    assert groups is not None  # noqa: S101  # else labels are drawn
    blocks = slices(len(signs), _SETS)
    total: Any = 0.0
    names: tuple[str, ...] = ()
    for problem in steps(notion.problems(predictions)):
        names, evaluate = _evaluation(problem, groups, generator, rng)

        def one_block(block: slice, evaluate: _Evaluation = evaluate) -> Floats:
            return to_numpy(evaluate(signs[block]))

        in_threads = is_numpy(predictions.prob)
        found = map_threads(one_block, blocks) if in_threads else map(one_block, blocks)
        total = total + np.concatenate(list(found), axis=1)
    return names, total


def _evaluation(
    problem: Problem, groups: Integers, generator: BregmanGenerator, rng: np.random.Generator
) -> tuple[tuple[str, ...], _Evaluation]:
    """Return the names of the forms of a problem, and what takes signs to the forms."""
    if problem.n_classes > 2:
        rows = Rows.of(problem)
        forms = quadratic_forms(rows.at, generator, rng)
        return forms.names, _of_rows(rows, forms, to_numpy(problem.label), groups)
    table = Table.of(problem)
    forms = quadratic_forms(table.sums.at, generator, rng)
    return forms.names, _of_table(table, forms, to_numpy(problem.label), groups)


def _of_table(
    table: Table, forms: QuadraticForms, event: Integers, groups: Integers
) -> _Evaluation:
    """Return forms of a problem of two classes: sums by point are sums of those of each group."""
    from scipy.sparse import csr_array

    residual = event - table.prob
    residual = residual if table.weight is None else residual * table.weight
    reference, size = table.sums.at.count, table.sums.size
    by_group = csr_array((residual, (table.number, groups)), shape=(size, int(groups.max()) + 1))
    # A sign does not change a square.
    square = like(np.bincount(table.number, residual**2, size)[None, :], reference)

    def evaluate(signs: Floats) -> Array:
        linear = like(np.asarray(by_group @ signs.T).T, reference)
        squares = namespace(linear).broadcast_to(square, linear.shape)
        return forms([Residuals(linear, squares)])

    return evaluate


def _of_rows(rows: Rows, forms: QuadraticForms, label: Integers, groups: Integers) -> _Evaluation:
    """Return forms of a problem of several classes, whose rows are added up a tile at a time."""

    def evaluate(signs: Floats) -> Array:
        total: list[Any] = []
        for part in slices(len(label), max(1, _TILE // len(signs))):
            residuals = rows.residuals(label[None, part], signs[:, groups[part]], part)
            found = forms.statistics(residuals, part)
            total = [a + b for a, b in zip(total, found, strict=True)] if total else found
        return forms.combine(total)

    return evaluate
