"""From the sums of a sketch to a decomposition."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from propercal._data.words.messages import bad_value, warn
from propercal._kernels.panels import Panels
from propercal._methods.completion import undefined_terms
from propercal._methods.doubts import warn_of_misfit
from propercal._methods.misfit import Misfit
from propercal._methods.recipe import Recipe
from propercal._methods.terms import by_identities
from propercal._methods.uncertainty import second_order_of_counts, second_order_of_sums
from propercal._results.intervals import error_of_mean
from propercal.generators.base import BregmanGenerator
from propercal.methods import Method
from propercal.result import Decomposition
from propercal.sketch.estimates import Estimate, estimate_problem
from propercal.sketch.nodes import Nodes
from propercal.sketch.skill import skill_score_error_of
from propercal.sketch.state import State
from propercal.sketch.table_estimates import (
    Cells,
    cells_of,
    change_by_width,
    debiased,
    warn_doubtful,
)
from propercal.sketch.weighted_points import weighted_points

#: Relative error of a term, from the nodes alone, that is not worth a warning.
_TOLERANCE = 1e-6
#: Absolute error of a term that rounding may leave.
_ROUNDING = 1e-12


class Question(NamedTuple):
    """What is asked of a sketch."""

    generator: BregmanGenerator
    method: Method
    recipe: Recipe | None
    """Of a method that corrects its bias."""
    panels: Panels | None
    """Of the nodes, for the others."""
    bandwidth: float | None
    cells: Sequence[Cells] | None = None
    """What the tables say, where that was computed for several generators."""


class Uncertainty(NamedTuple):
    """What the shares of the classes say."""

    value: float
    """−F of the shares."""
    bias: float
    variance: float
    """That of what is not linear in the shares."""
    error: float | None
    """Standard error of what is linear; None where rows may mark several classes."""


def published_estimates(state: State, asked: Question) -> list[Estimate]:
    """Estimate the refinement (direct: the calibration error) of each problem."""
    nodes, panels, gamma = state.nodes, asked.panels, asked.bandwidth
    if nodes is None or panels is None or gamma is None:
        raise bad_value(
            "bandwidth",
            None,
            f'that of the kernel, for method="{asked.method.name}"',
            'pass one to the sketch before its rows, or use method="debiased"',
        )
    found = []
    for i, each in enumerate(zip(nodes.cells, nodes.sizes, strict=True)):
        points = weighted_points(panels, gamma, *each)
        estimate = estimate_problem(points, asked.generator, asked.method)
        if asked.method.measures_divergence and _is_infinite(state, nodes, i, asked.generator):
            estimate = estimate._replace(mean=math.inf, error=0.0)
        found.append(estimate)
    return found


def _is_infinite(state: State, nodes: Nodes, i: int, generator: BregmanGenerator) -> bool:
    """Tell whether a prediction of 0 meets an outcome that is estimated to be possible."""
    inside, vertices = np.full((2, 2), 0.5), np.eye(2)[::-1]
    unbounded = np.isinf(generator.divergence(inside, vertices))
    return bool((unbounded & (state.totals.zeros[i] > 0) & (nodes.counts[i] > 0)).any())


def estimated_error(state: State, asked: Question) -> float:
    """Return by how much the terms may be off for rows that are not kept apart."""
    _check_rows(state)
    if asked.recipe is not None:
        return change_by_width(state, asked.generator, asked.recipe)
    return _mean([each.error for each in published_estimates(state, asked)])


def share(state: State, asked: Sequence[Question]) -> list[Question]:
    """Return questions of the same tables, with what these say for all generators at once."""
    recipe = asked[0].recipe
    if recipe is None or len(asked) < 2:
        return list(asked)
    _check_rows(state)
    found = cells_of(state, [each.generator for each in asked], recipe)
    return [each._replace(cells=cells) for each, cells in zip(asked, found, strict=True)]


def decomposition(state: State, asked: Question, **settings: Any) -> Decomposition:
    """Complete the estimates by the terms that are sums over rows, and their errors."""
    _check_rows(state)
    uncertainty = _uncertainty(state, asked.generator)
    complete = _published if asked.recipe is None else _debiased
    terms, errors, more = complete(state, asked, uncertainty)
    if any(math.isnan(value) for value in terms.values()):
        raise undefined_terms(asked.generator)
    errors["risk"] = state.totals.risk_error()
    if uncertainty.error is None:
        errors.pop("sharpness", None)
    else:
        errors["uncertainty"] = math.hypot(uncertainty.error, math.sqrt(uncertainty.variance))
    errors = {name: math.inf if math.isinf(terms[name]) else x for name, x in errors.items()}
    centres = {name: terms[name] for name in errors}
    if asked.recipe is None and "uncertainty" in centres:
        centres["uncertainty"] -= uncertainty.bias
    return Decomposition(
        risk=terms["risk"],
        calibration_error=terms["calibration_error"],
        refinement=terms["refinement"],
        sharpness=terms["sharpness"],
        uncertainty=terms["uncertainty"],
        generator=asked.generator,
        method=asked.method.name,
        n_samples=state.n_samples,
        centres=centres,
        standard_errors=errors,
        skill_score_error=skill_score_error_of(
            state,
            asked.generator,
            uncertainty.value - uncertainty.bias,
            uncertainty.variance,
            uncertainty.error,
        ),
        **more,
        **settings,
    )


def _published(
    state: State, asked: Question, uncertainty: Uncertainty
) -> tuple[dict[str, float], dict[str, float], dict[str, Any]]:
    """Return terms, standard errors, and what else is said of the published estimates."""
    found = published_estimates(state, asked)
    of_method = asked.method.measures_divergence
    estimate, risk = _mean([e.mean for e in found]), state.totals.risk()
    own = _mean([e.own_refinement for e in found]) if of_method else estimate
    calibration_error = estimate if of_method else risk - estimate
    refined, _ = by_identities(
        risk, calibration_error, own, uncertainty.value, measures_divergence=of_method
    )
    terms = _terms(risk, calibration_error, refined, uncertainty.value)
    if not _warn_infinite(terms, state, asked.generator):
        _warn_inexact(terms, asked.bandwidth, _mean([e.error for e in found]))
    return terms, {}, {"kernel": "dirichlet", "bandwidth": asked.bandwidth, "algorithm": "linear"}


def _debiased(
    state: State, asked: Question, uncertainty: Uncertainty
) -> tuple[dict[str, float], dict[str, float], dict[str, Any]]:
    """Return terms, standard errors, and what else is said of the debiased estimate."""
    assert asked.recipe is not None  # noqa: S101
    cells = asked.cells
    if cells is None:
        (cells,) = cells_of(state, [asked.generator], asked.recipe)
    found = debiased(state, cells, asked.recipe, uncertainty.variance)
    risk = state.totals.risk()
    terms = _terms(
        risk, risk - found.refinement, found.refinement, uncertainty.value - uncertainty.bias
    )
    _warn_infinite(terms, state, asked.generator)
    more = found.errors | found.settings
    if math.isfinite(terms["calibration_error"]):
        error = more["standard_errors"]["calibration_error"]
        warn_of_misfit(Misfit(more["misfit_pvalue"], more["missed"]), error, asked.generator)
    warn_doubtful(state, asked.generator, more["kernel_share"])
    return terms, more.pop("standard_errors"), more


def _terms(
    risk: float, calibration_error: float, refinement: float, uncertainty: float
) -> dict[str, float]:
    return {
        "risk": risk,
        "calibration_error": calibration_error,
        "refinement": refinement,
        "sharpness": uncertainty - refinement,
        "uncertainty": uncertainty,
    }


def _check_rows(state: State) -> None:
    if state.n_samples < 2:
        raise bad_value(
            "n_samples",
            state.n_samples,
            "2 rows or more, of which those of weight 0 are none",
            "add more by update(y_true, y_proba)",
        )


def _uncertainty(state: State, generator: BregmanGenerator) -> Uncertainty:
    weight, squares = state.of_labels()
    if state.totals.uniform:
        weight = squares = state.counts.astype(np.float64)
        parts = [second_order_of_counts(c / c.sum(), state.n_samples, generator) for c in weight]
    else:
        parts = [
            second_order_of_sums(*each, generator) for each in zip(weight, squares, strict=True)
        ]
    shares = weight / weight.sum(axis=1, keepdims=True)
    bias, variance = np.mean(parts, axis=0)
    return Uncertainty(
        _mean([-float(generator.value(share)) for share in shares]),
        float(bias),
        float(variance),
        _marginal_error(state, shares, weight, squares, generator),
    )


def _marginal_error(
    state: State, shares: Any, weight: Any, squares: Any, generator: BregmanGenerator
) -> float | None:
    """Return the standard error of the loss if the share of each class were predicted."""
    outcomes = np.eye(2)
    losses = np.stack(
        [generator.loss(np.broadcast_to(share, (2, 2)), outcomes) for share in shares]
    )
    rows, weight_of, squares_of = losses[0], weight[0], squares[0]
    if len(losses) > 1:
        if state.totals.rows[1]:
            return None
        # One class occurs in each row: its own problem sees the event, the others do not.
        # What would be infinite does not occur.
        losses = np.where(np.isfinite(losses), losses, 0.0)
        rows = (losses[:, 0].sum() - losses[:, 0] + losses[:, 1]) / len(losses)
        weight_of, squares_of = weight[:, 1], squares[:, 1]
    some, total = weight_of > 0, weight_of.sum()
    return error_of_mean(
        rows[some], weight_of[some] / total, squares_of[some] / total**2, state.n_samples
    )


def _warn_infinite(terms: Mapping[str, float], state: State, generator: BregmanGenerator) -> bool:
    """Say which terms are infinite and why, if any."""
    infinite = [name.replace("_", " ") for name, value in terms.items() if math.isinf(value)]
    if not infinite:
        return False
    n = int(state.totals.rows[2])
    reason = (
        f"in {n} rows an outcome occurred to which the prediction gives probability 0"
        if n and state.totals.bounds[2] > -math.inf
        else "F is infinite where an estimated or predicted probability is 0"
    )
    warn(
        f"{' and '.join(infinite)} under the {generator.name} loss: infinite, since {reason}. "
        "Correct these predictions, or use a bounded loss such as 'brier'."
    )
    return True


def _warn_inexact(terms: Mapping[str, float], bandwidth: float | None, error: float) -> None:
    """Say so if the nodes are too few for what predictions there are."""
    smallest = min(abs(terms["calibration_error"]), abs(terms["refinement"]))
    if error > max(_TOLERANCE * smallest, _ROUNDING):
        warn(
            f"nodes may be off by {error:.1e}, more than 1e-6 of a term: predictions stand alone "
            f"at a bandwidth of {bandwidth:.3g}. Use a larger one, or decompose() if the data fit "
            "into memory."
        )


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
