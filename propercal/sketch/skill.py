"""The standard error of the skill score of a sketch, from its tables."""

from __future__ import annotations

import numpy as np

from propercal._array import one_hot
from propercal._methods.standard_errors import skill_score_error
from propercal._results.intervals import error_of_mean
from propercal.generators.base import BregmanGenerator
from propercal.sketch.state import State


def skill_score_error_of(
    state: State,
    generator: BregmanGenerator,
    uncertainty: float,
    extra_variance: float,
    marginal_error: float | None,
) -> float | None:
    """Return the standard error; None where the score has no interval.

    The loss of a row is that of its cell, so that its covariance with what occurred is known. The
    standard error of a mean over problems is at most the mean of theirs, and that of a sum at most
    the sum of those of risk and uncertainty, of which `marginal_error` is the latter, if known.
    """
    tables = [
        each.as_in_memory().table(uniform=state.totals.uniform)
        for each in state.tables
        if len(each.keys)
    ]

    def error(of_loss: float, of_marginal: float) -> float:
        found = []
        for table in tables:
            points, label = table.sources.points, np.asarray(table.sources.label)
            total = float(table.weight.sum())
            weight = np.asarray(table.weight) / total
            share = np.bincount(label, weight, 2)
            loss = generator.loss(points.prob, one_hot(label, 2, np.float64), log_q=points.log_prob)
            marginal = np.asarray(generator.loss(np.broadcast_to(share, (2, 2)), np.eye(2)))
            rows = of_loss * np.asarray(loss) + of_marginal * marginal[label]
            squares = np.asarray(table.squares) / total**2
            found.append(error_of_mean(rows, weight, squares, state.n_samples))
        of_cells = float(np.mean(found)) + abs(of_loss) * state.totals.excess_error()
        if marginal_error is None:
            return of_cells
        of_sums = abs(of_loss) * state.totals.risk_error() + abs(of_marginal) * marginal_error
        return min(of_cells, of_sums)

    return skill_score_error(state.totals.risk(), uncertainty, extra_variance, error)
