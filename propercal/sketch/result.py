"""From the sums of a sketch to a decomposition."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from propercal._data.messages import bad_value, warn
from propercal._kernels.panels import Panels
from propercal._methods.completion import warn_few_rows
from propercal._methods.recipe import lower_median
from propercal._methods.terms import by_identities
from propercal._methods.uncertainty import second_order_of_counts
from propercal.generators.base import BregmanGenerator
from propercal.methods import Method
from propercal.result import Decomposition
from propercal.sketch.estimates import Estimate, estimate_problem
from propercal.sketch.state import State
from propercal.sketch.weighted_points import weighted_points

#: Relative error of a term, from the nodes alone, that is not worth a warning.
_TOLERANCE = 1e-6
#: Absolute error of a term that rounding may leave.
_ROUNDING = 1e-12


def estimates(
    state: State, panels: Panels, bandwidth: float, generator: BregmanGenerator, method: Method
) -> list[Estimate]:
    """Estimate the refinement (direct: the calibration error) of each problem."""
    if state.n_samples < 2:
        raise bad_value(
            "n_samples", state.n_samples, "2 rows or more", "call update(y_true, y_proba) first"
        )
    found = []
    for i, each in enumerate(zip(state.cells, state.sizes, strict=True)):
        estimate = estimate_problem(weighted_points(panels, bandwidth, *each), generator, method)
        if method.measures_divergence and _is_infinite(state, i, generator):
            estimate = estimate._replace(mean=math.inf, error=0.0)
        found.append(estimate)
    return found


def _is_infinite(state: State, i: int, generator: BregmanGenerator) -> bool:
    """Tell whether a prediction of 0 meets an outcome that is estimated to be possible."""
    inside, vertices = np.full((2, 2), 0.5), np.eye(2)[::-1]
    unbounded = np.isinf(generator.divergence(inside, vertices))
    return bool((unbounded & (state.zeros[i] > 0) & (state.counts[i] > 0)).any())


def mean_error(found: Sequence[Estimate]) -> float:
    """Return the mean over problems of what the nodes may leave out."""
    return _mean([e.error for e in found])


def decomposition(
    state: State,
    panels: Panels,
    generator: BregmanGenerator,
    method: Method,
    bandwidth: float,
    **settings: Any,
) -> Decomposition:
    """Complete the estimates by the terms that are sums over rows, and their errors."""
    found = estimates(state, panels, bandwidth, generator, method)
    terms, bias, extra_variance = _terms(state, generator, method, found)
    _warn(terms, state, generator, bandwidth, mean_error(found))
    _warn_few_rows(state, generator, method)
    n = state.n_samples
    marginal = _marginal_variance(state, generator)
    errors = {"risk": math.sqrt(state.loss_variance() / n)}
    if marginal is not None:
        errors["uncertainty"] = math.sqrt(marginal / n + extra_variance)
    lower = None
    if method.corrects_bias:
        size = _mean([e.correction for e in found])
        lower = terms["calibration_error"] - size
        # Standard errors of a mean over problems are at most the mean of theirs.
        saved = _mean([math.sqrt(e.variance / n) for e in found])
        refined = _mean([math.sqrt(e.refined_variance / n) for e in found])
        smoothing = _mean([e.smoothing for e in found])
        if smoothing > saved / 2 and not math.isinf(terms["risk"]):
            warn(
                f"smoothing by the kernel, of bandwidth {bandwidth:.3g}, is estimated to lower the "
                f"{generator.name} calibration error by {smoothing:.1e} at most, which its "
                "interval does not hold. A sketch of a smaller bandwidth would."
            )
        errors["calibration_error"] = math.hypot(saved, size)
        errors["refinement"] = math.hypot(refined, size)
        if marginal is not None:
            spread = refined + math.sqrt(marginal / n)
            if len(found) == 1:
                spread = math.sqrt(found[0].sharpness_variance / n)
            errors["sharpness"] = math.hypot(spread, size, math.sqrt(extra_variance))
    errors = {name: math.inf if math.isinf(terms[name]) else x for name, x in errors.items()}
    centres = {name: terms[name] for name in errors}
    if not method.corrects_bias and "uncertainty" in centres:
        centres["uncertainty"] -= bias
    return Decomposition(
        risk=terms["risk"],
        calibration_error=terms["calibration_error"],
        refinement=terms["refinement"],
        sharpness=terms["sharpness"],
        uncertainty=terms["uncertainty"],
        generator=generator,
        method=method.name,
        kernel="dirichlet",
        bandwidth=lower_median([e.bandwidth for e in found]),
        n_samples=n,
        algorithm="linear",
        centres=centres,
        standard_errors=errors,
        lower_bound=lower,
        **settings,
    )


def _terms(
    state: State, generator: BregmanGenerator, method: Method, estimates: Sequence[Estimate]
) -> tuple[dict[str, float], float, float]:
    """Return the terms, and bias and extra variance of the uncertainty."""
    n = state.n_samples
    found = _mean([e.mean for e in estimates])
    shares = state.counts / n
    uncertainty = _mean([-float(generator.value(share)) for share in shares])
    bias, variance = np.mean(
        [second_order_of_counts(share, n, generator) for share in shares], axis=0
    )
    if method.corrects_bias:
        uncertainty -= float(bias)
    risk = float(state.loss[0]) / n
    own = _mean([e.own_refinement for e in estimates]) if method.measures_divergence else found
    calibration_error = found if method.measures_divergence else risk - found
    refined, sharpness = by_identities(
        risk, calibration_error, own, uncertainty, measures_divergence=method.measures_divergence
    )
    terms = {
        "risk": risk,
        "calibration_error": calibration_error,
        "refinement": refined,
        "sharpness": sharpness,
        "uncertainty": uncertainty,
    }
    return terms, float(bias), float(variance)


def _marginal_variance(state: State, generator: BregmanGenerator) -> float | None:
    """Variance over rows of the loss if the share of each class were predicted everywhere."""
    n = state.n_samples
    outcomes = np.eye(2)
    losses = np.stack(
        [generator.loss(np.broadcast_to(count / n, (2, 2)), outcomes) for count in state.counts]
    )
    if len(losses) == 1:
        rows, count = losses[0], state.counts[0]
    elif state.odd_rows[0]:
        return None
    else:
        # One class occurs in each row: its own problem sees the event, the others do not.
        # What would be infinite does not occur.
        losses = np.where(np.isfinite(losses), losses, 0.0)
        rows = (losses[:, 0].sum() - losses[:, 0] + losses[:, 1]) / len(losses)
        count = state.counts[:, 1]
    some = count > 0
    mean = float(rows[some] @ count[some]) / n
    return float((rows[some] - mean) ** 2 @ count[some]) / (n - 1)


def _warn(
    terms: dict[str, float],
    state: State,
    generator: BregmanGenerator,
    bandwidth: float,
    error: float,
) -> None:
    infinite = [name.replace("_", " ") for name, value in terms.items() if math.isinf(value)]
    if infinite:
        n = int(state.odd_rows[1])
        reason = (
            f"in {n} rows an outcome occurred to which the prediction gives probability 0"
            if n
            else "F is infinite where an estimated or predicted probability is 0"
        )
        warn(
            f"{' and '.join(infinite)} under the {generator.name} loss: infinite, since {reason}. "
            "Correct these predictions, or use a bounded loss such as 'brier'."
        )
        return
    smallest = min(abs(terms["calibration_error"]), abs(terms["refinement"]))
    if error > max(_TOLERANCE * smallest, _ROUNDING):
        warn(
            f"nodes may be off by {error:.1e}, more than 1e-6 of a term: predictions stand alone "
            f"at a bandwidth of {bandwidth:.3g}. Use a larger one, or decompose() if the data fit "
            "into memory."
        )


def _warn_few_rows(state: State, generator: BregmanGenerator, method: Method) -> None:
    unbounded = np.isinf(generator.loss(np.eye(2)[0], np.eye(2)[1]))
    if method.corrects_bias and unbounded and np.isfinite(state.loss).all() and state.loss[0] > 0:
        few = float(state.loss[0] ** 2 / state.loss[1])
        warn_few_rows(few, state.n_samples, generator)


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
