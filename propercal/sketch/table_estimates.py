"""The debiased estimate from the tables of a sketch, which is that of rows in memory.

In memory each row has what its cell has, but for where in its bin it lies; here the mean of that is
known, since the mean loss of the rows is summed up beside the tables.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from propercal._array import one_hot
from propercal._data.words.messages import warn
from propercal._kernels.algorithm import joint_algorithm
from propercal._methods.candidates import OneStep
from propercal._methods.debiased import check_curvature, check_size, warn_unequal_weights
from propercal._methods.doubts import events, warn_few_events, warn_few_rows, warn_of_kernel
from propercal._methods.label_noise import (
    detection_floor,
    noise_floor,
    of_problems,
    variance_of_labels,
)
from propercal._methods.misfit import joint_misfit
from propercal._methods.one_step import of_table
from propercal._methods.recipe import Recipe, lower_median
from propercal._methods.standard_errors import debiased_errors
from propercal._methods.table import Table
from propercal._results.intervals import error_of_mean
from propercal._threads import one_blas_thread
from propercal.generators.base import BregmanGenerator
from propercal.sketch.state import State
from propercal.sketch.tables import PointSums

Floats = npt.NDArray[np.float64]


class Cells(NamedTuple):
    """What the cells of a problem add to the terms."""

    weight: Floats
    """(c,) of their rows, 1 in sum."""
    squares: Floats
    """(c,) Σ of the squares of these, row by row."""
    at_nodes: Floats
    """(c,) loss of the points."""
    marginal: Floats
    """(c,) loss of the share of each label."""
    step: OneStep
    """The one-step estimate, by cells."""

    @property
    def beyond(self) -> float:
        """By how much the refinement exceeds the mean loss of the points."""
        return float(self.weight @ (self.step.rows.loss - self.at_nodes))

    def errors(self, n: int) -> dict[str, float]:
        """Return standard errors of means over n rows."""
        rows = self.step.rows
        values = {
            "calibration_error": self.at_nodes - rows.loss,
            "refinement": rows.loss,
            "sharpness": self.marginal - rows.loss,
            "kernel": rows.base_loss - rows.loss,
        }
        of_labels = variance_of_labels(np.asarray(rows.noise), self.squares)
        return {
            name: error_of_mean(each, self.weight, self.squares, n) for name, each in values.items()
        } | {"labels": math.sqrt(of_labels)}

    @property
    def floor(self) -> float:
        """The noise floor of the calibration error."""
        return noise_floor(np.asarray(self.step.rows.noise), self.weight, self.squares)


class Found(NamedTuple):
    """The estimates of a sketch."""

    refinement: float
    errors: dict[str, Any]
    """Standard errors, lower bound and share of the kernel."""
    settings: dict[str, Any]
    """What was used."""


def cells_of(
    state: State, generators: Sequence[BregmanGenerator], recipe: Recipe
) -> list[list[Cells]]:
    """Return the cells of each generator and problem, or raise what the method raises in memory."""
    return _cells(state, state.tables, generators, recipe)


def debiased(state: State, found: Sequence[Cells], recipe: Recipe, extra_variance: float) -> Found:
    """Return the refinement, and how exactly it is known, from the cells of each problem."""
    totals = state.totals
    refined = _refinement(state, found)
    parts = [each.errors(totals.n_samples) for each in found]
    # The standard error of a mean over problems is at most the mean of theirs.
    errors = {name: _mean([each[name] for each in parts]) for name in parts[0]}
    errors["calibration_error"] += totals.excess_error()
    completed = debiased_errors(
        totals.risk() - refined,
        _mean([each.weight @ (each.step.rows.base_loss - each.step.rows.loss) for each in found]),
        _mean([each.weight @ each.step.rows.correction for each in found]),
        errors,
        extra_variance,
    )
    completed["noise_floor"] = _mean([each.floor for each in found])
    completed["detection_floor"] = _detection_floor(state, found)
    misfit = joint_misfit([each.step.misfit for each in found])
    used = {
        "misfit_pvalue": misfit.p_value,
        "missed": misfit.missed,
        "kernel": recipe.kernel_name,
        "bandwidth": lower_median([gamma for each in found for gamma in each.step.bandwidths]),
        "algorithm": joint_algorithm(each.step.algorithm for each in found),
    }
    return Found(refined, completed, used)


def _detection_floor(state: State, found: Sequence[Cells]) -> float:
    """Return it from the cells of all problems, one after the other."""
    if state.totals.rows[1]:
        # As in memory: how labels of a row go together is not known.
        return math.nan
    noise = np.concatenate([np.asarray(each.step.rows.noise) for each in found])
    weight, squares = (
        np.concatenate([getattr(each, name) for each in found]) for name in ("weight", "squares")
    )
    return detection_floor(of_problems(noise, len(found)), weight, squares, len(found))


def change_by_width(state: State, generator: BregmanGenerator, recipe: Recipe) -> float:
    """Return by how much bins of twice the width change the refinement."""
    fine = [each.as_in_memory() for each in state.tables if not each.exact]
    coarse = [each.coarser() for each in fine]
    (one,), (two,) = (_cells(state, each, [generator], recipe) for each in (fine, coarse))
    return abs(sum(a.beyond - b.beyond for a, b in zip(one, two, strict=True))) / len(state.tables)


def warn_doubtful(state: State, generator: BregmanGenerator, kernel_share: float) -> None:
    """Say where the estimate may be off, as in memory, or more than there."""
    totals = state.totals
    if not totals.uniform:
        warn_unequal_weights(totals.effective, totals.n_samples)
    warn_of_kernel(kernel_share, generator)
    unbounded = np.isinf(generator.loss(np.eye(2)[0], np.eye(2)[1]))
    finite, said = np.isfinite(totals.sums).all(), False
    if unbounded and finite and totals.bounds[2] >= 0 and totals.sums[2] > 0:
        few = float(totals.sums[2] / totals.sums[4] * totals.sums[2])
        said = warn_few_rows(few, totals.effective, generator)
    if finite and not said:
        warn_few_events(_events(state), generator)
    crowded = [
        (*found, i)
        for i, table in enumerate(state.tables)
        if (found := table.as_in_memory().crowded()) is not None
    ]
    if crowded:
        share, low, high, i = max(crowded)
        of_class = f" of class {i}" if len(state.tables) > 1 else ""
        ends = " and ".join(f"{1 / (1 + np.exp(-z)):.6g}" for z in (low, high))
        warn(
            f"{share:.0%} of the predictions{of_class} lie between {ends}, which a sketch does not "
            "tell apart: a recalibration that bends there is not seen. Use decompose() if the data "
            "fit into memory."
        )


def _events(state: State) -> int:
    """Count rows whose outcome was given one half or less, as in memory."""
    found = 0
    for each in state.tables:
        table = each.as_in_memory().table(uniform=state.totals.uniform)
        prob, label = np.asarray(table.sources.points.prob), np.asarray(table.sources.label)
        rows = events(prob, label, len(state.tables))
        found += int(np.asarray(table.sources.count)[rows].sum())
    return found


def _refinement(state: State, found: Sequence[Cells]) -> float:
    return state.totals.inner_risk() + _mean([each.beyond for each in found])


def _cells(
    state: State,
    tables: Sequence[PointSums],
    generators: Sequence[BregmanGenerator],
    recipe: Recipe,
) -> list[list[Cells]]:
    for generator in generators:
        check_curvature(generator, np.full((1, 2), 0.5))
    check_size(state.n_samples)
    result: list[list[Cells]] = [[] for _ in generators]
    for each in tables:
        table = each.as_in_memory().table(uniform=state.totals.uniform)
        # Products are small here: threads of BLAS would wait for each other more than they compute.
        with one_blas_thread:
            steps = of_table(table, generators, recipe)
        for cells, generator, step in zip(result, generators, steps, strict=True):
            cells.append(_of_step(table, generator, step))
    return result


def _of_step(table: Table, generator: BregmanGenerator, step: OneStep) -> Cells:
    points, label = table.sources.points, np.asarray(table.sources.label)
    total = float(table.weight.sum())
    weight = np.asarray(table.weight) / total
    outcome = one_hot(label, 2, np.float64)
    share = np.bincount(label, weight, 2)
    marginal = np.asarray(generator.loss(np.broadcast_to(share, (2, 2)), np.eye(2)))
    return Cells(
        weight,
        np.asarray(table.squares) / total**2,
        np.asarray(generator.loss(points.prob, outcome, log_q=points.log_prob)),
        marginal[label],
        step,
    )


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))
