"""Completion of terms: errors, warnings, and the result that a user sees."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from propercal._array import like, namespace, scalar, to_numpy
from propercal._data.messages import bad_value, some_rows, warn
from propercal._data.notions import Notion
from propercal._data.predictions import Predictions
from propercal._methods.kept import kept_rows
from propercal._methods.label_noise import detection_floor, noise_floor, variance_of_labels
from propercal._methods.method import Method
from propercal._methods.misfit import NOTHING, Misfit
from propercal._methods.terms import OneStepRows, Terms
from propercal._results.intervals import error_of_rows
from propercal._typing import Array
from propercal.generators.base import BregmanGenerator
from propercal.generators.order import check_order
from propercal.result import TERMS, Decomposition

Floats = npt.NDArray[np.float64]

#: Rows with the less expected outcome, below which no interval holds: those that occurred say next
#: to nothing of where others would (shared scenarios of rare events, 50 to 80 % of coverage).
_FEW_EVENTS = 5
#: A share of the calibration error that only the kernel sees, above which the estimate is suspect.
_LARGE_SHARE = 0.05
#: What is missed is said if it is more than this share of the standard error.
_NOTEWORTHY = 0.1
#: Effective rows that make the loss, below which neither estimate nor interval can be relied on
#: (studies/bias_on_networks.py).
_FEW_ROWS = 15.0


#: Terms that are means of losses.
_OF_LOSSES = "risk", "uncertainty"


def decompositions(
    predictions: Predictions,
    notion: Notion,
    method: Method,
    generators: Sequence[BregmanGenerator],
    confidence_level: float,
) -> list[tuple[Terms, Decomposition]]:
    """Ask a method for the terms of each generator, and complete them."""
    check_order(predictions.classes, generators, notion, predictions.n_classes)
    found = method.terms(notion.problems(predictions), generators)
    return [
        (terms, complete(terms, predictions, notion, method, each, confidence_level))
        for each, terms in zip(generators, found, strict=True)
    ]


def complete(
    terms: Terms,
    predictions: Predictions,
    notion: Notion,
    method: Method,
    generator: BregmanGenerator,
    confidence_level: float,
) -> Decomposition:
    """Complete the terms of one generator with their errors and warnings."""
    values = dict(zip(TERMS, (float(term) for term in to_numpy(terms.values)), strict=True))
    estimated = TERMS if method.estimates_refinement else _OF_LOSSES
    if any(math.isnan(values[name]) for name in estimated):
        raise _undefined(terms, predictions, generator)
    rows = _warn_infinite(values, terms, predictions, generator)
    bias, extra_variance = float(terms.uncertainty_bias), float(terms.uncertainty_variance)
    debiased: dict[str, Any] = {}
    if terms.one_step is not None:
        debiased = _debiased(terms, terms.one_step, predictions, notion, extra_variance)
        debiased |= _of_misfit(terms.misfit or NOTHING)
        if math.isfinite(values["calibration_error"]):
            error = debiased["standard_errors"]["calibration_error"]
            warn_of_misfit(terms.misfit or NOTHING, error, generator)
        _warn_doubtful(debiased["kernel_share"], terms, predictions, notion, generator)
    errors = {
        "risk": standard_error(terms.loss, predictions),
        "uncertainty": math.hypot(
            standard_error(terms.marginal_loss, predictions), math.sqrt(extra_variance)
        ),
        **debiased.pop("standard_errors", {}),
    }
    centres = {name: values[name] for name in errors}
    return Decomposition(
        **{name: scalar(terms.values[i], predictions.dtype) for i, name in enumerate(TERMS)},
        generator=generator,
        method=method.name,
        notion=notion.name,
        kernel=terms.kernel,
        bandwidth=terms.bandwidth,
        algorithm=terms.algorithm,
        n_samples=predictions.n_samples,
        n_groups=predictions.n_groups,
        n_classes=predictions.n_classes,
        infinite_loss_rows=tuple(int(row) for row in rows),
        centres=centres | {"uncertainty": centres["uncertainty"] - bias},
        standard_errors=errors,
        skill_score_error=_skill_score_error(terms, predictions),
        confidence_level=confidence_level,
        kernel_rows=terms.kernel_rows,
        training_rows=terms.training_rows,
        _kept_rows=kept_rows(terms, predictions),
        **debiased,
    )


def _warn_doubtful(
    kernel_share: float,
    terms: Terms,
    predictions: Predictions,
    notion: Notion,
    generator: BregmanGenerator,
) -> None:
    """Say where a debiased calibration error is likely to be too small."""
    if not predictions.repeated:
        warn_of_kernel(kernel_share, generator)
    unbounded = math.isinf(_largest_loss(generator, predictions, notion))
    if unbounded and _warn_few_rows(terms.loss, predictions, generator):
        return
    if np.isfinite(to_numpy(terms.loss)).all():
        warn_few_events(_events(predictions, notion), generator)


def _of_misfit(misfit: Misfit) -> dict[str, Any]:
    return {"misfit_pvalue": misfit.p_value, "missed": misfit.missed}


def warn_of_misfit(misfit: Misfit, error: float, generator: BregmanGenerator) -> None:
    """Say so if recalibrated predictions are not calibrated by more than next to no error."""
    if misfit.missed > _NOTEWORTHY * error:
        warn(
            f"the recalibrations behind the {generator.name} calibration error leave structure "
            f"that they do not follow (p = {misfit.p_value:.2g}): the estimate is likely to be too "
            f"small, by up to about {misfit.missed:.3g}, by which its interval is wider above; "
            "the expectation of lower_bound is at most the truth all the same. Pass a recalibrator "
            "that fits these predictions, or more data."
        )


def warn_of_kernel(kernel_share: float, generator: BregmanGenerator) -> None:
    """Say so if much of a calibration error is seen by the kernel alone."""
    if kernel_share > _LARGE_SHARE:
        warn(
            f"{kernel_share:.0%} of the {generator.name} calibration error comes from "
            "structure that only the kernel sees, not the recalibrations; where a kernel is "
            "needed it resolves part of it, so the estimate is likely to be too small (too "
            "large where rows depend on each other and no groups= say so). Pass a recalibrator "
            "that fits these predictions, or more data."
        )


def _warn_infinite(
    values: dict[str, float], terms: Terms, predictions: Predictions, generator: BregmanGenerator
) -> npt.NDArray[np.intp]:
    """Say which terms are infinite and why; return the rows of infinite loss."""
    infinite = [name.replace("_", " ") for name, value in values.items() if math.isinf(value)]
    loss = to_numpy(terms.loss)
    rows: npt.NDArray[np.intp] = predictions.given(np.isinf(loss))
    others = predictions.given(to_numpy(terms.infinite) & ~np.isinf(loss))
    reasons = []
    if rows.size and (loss > -np.inf).all():
        reasons.append(
            f"the loss is infinite at {some_rows(rows)}: an outcome occurred to which the "
            "prediction gives probability 0"
        )
    elif rows.size:
        reasons.append(
            f"the loss is infinite at {some_rows(rows)}: F is infinite where a predicted "
            "probability is 0"
        )
    if others.size:
        reasons.append(
            f"the divergence is infinite at {some_rows(others)}: a prediction gives probability 0 "
            "to what is estimated to be possible"
        )
    if infinite and not reasons:
        reasons.append("F is infinite where an estimated probability is 0")
    if reasons:
        warn(
            f"{' and '.join(infinite)} under the {generator.name} loss: infinite, since "
            f"{'; '.join(reasons)}. Correct these predictions, use a larger bandwidth if r̂ is the "
            "cause, or use a bounded loss such as 'brier'."
        )
    return rows


def _largest_loss(generator: BregmanGenerator, predictions: Predictions, notion: Notion) -> float:
    """Return the loss of a certain prediction of a class that does not occur."""
    k = notion.n_outcomes(predictions.n_classes)
    vertices = like(np.eye(k), predictions.prob, predictions.prob.dtype)
    return float(generator.loss(vertices[:1, :], vertices[1:2, :])[0])


def _events(predictions: Predictions, notion: Notion) -> int:
    """Count rows whose outcome was given one half or less; of a group, one."""
    found = []
    n_problems = notion.n_problems(predictions.n_classes)
    for problem in notion.problems(predictions):
        prob, label = to_numpy(problem.prob), to_numpy(problem.label)
        rows = np.flatnonzero(events(prob, label, n_problems))
        found.append(rows if problem.groups is None else np.unique(problem.groups[rows]))
    return sum(map(len, found))


def events(prob: Floats, label: npt.NDArray[np.intp], n_problems: int) -> npt.NDArray[np.bool_]:
    """(n,) whether a label was given one half or less; if there are more problems, 1 only.

    Of one class against the rest, label 0 is one that another problem has as 1.
    """
    unlikely: npt.NDArray[np.bool_] = prob[np.arange(len(label)), label] <= 0.5
    return unlikely if n_problems == 1 else unlikely & (label == 1)


def warn_few_events(number: int, generator: BregmanGenerator) -> None:
    """Say so if next to nothing happened that was not expected."""
    if number >= _FEW_EVENTS:
        return
    found = f"only {number} row{'s' * (number > 1)} had"
    reason = f"with fewer than {_FEW_EVENTS} such events"
    if number == 0:
        found = "no row had"
        reason = "how often predictions are wrong cannot be learnt where none is, and"
    warn(
        f"{found} an outcome of predicted probability at most 1/2: {reason} neither the "
        f"{generator.name} calibration error nor its interval can be relied on. Collect more rows."
    )


def _warn_few_rows(loss: Array, predictions: Predictions, generator: BregmanGenerator) -> bool:
    """Say so, and return True, if few of many rows make the mean of an unbounded loss."""
    weight = to_numpy(predictions.weight)
    rows = weight * to_numpy(loss)
    if not (np.isfinite(rows).all() and (rows >= 0).all() and rows.any()):
        return False
    if predictions.groups is not None:
        # Rows of a group may be one row, repeated.
        rows, weight = (np.bincount(predictions.groups, each) for each in (rows, weight))
    few, all_ = (float(x.sum() ** 2 / (x @ x)) for x in (rows, weight))
    return warn_few_rows(few, all_, generator)


def warn_few_rows(few: float, all_: float, generator: BregmanGenerator) -> bool:
    """Say so, and return True, if the loss is that of effectively few of all rows."""
    doubtful = few < min(_FEW_ROWS, all_ / 3)
    if doubtful:
        warn(
            f"the {generator.name} loss is that of about {few:.0f} of the rows, the others having "
            "next to none: the calibration error is likely to be too small, and its interval too "
            "narrow. Collect more rows, or use a bounded loss such as 'brier'."
        )
    return doubtful


def standard_error(values: Array, predictions: Predictions) -> float:
    """Return the standard error of the weighted mean of independent rows, or groups of them."""
    rows, weight = to_numpy(values), to_numpy(predictions.weight)
    return error_of_rows(rows, weight, predictions.groups)


def _skill_score_error(terms: Terms, predictions: Predictions) -> float | None:
    """Return the standard error of the skill score; None where it has none."""
    values = to_numpy(terms.values)
    risk, uncertainty = float(values[0]), float(values[4]) - float(terms.uncertainty_bias)
    extra = float(terms.uncertainty_variance)

    def error(of_loss: float, of_marginal: float) -> float:
        rows = of_loss * to_numpy(terms.loss) + of_marginal * to_numpy(terms.marginal_loss)
        return standard_error(rows, predictions)

    return skill_score_error(risk, uncertainty, extra, error)


def skill_score_error(
    risk: float,
    uncertainty: float,
    extra_variance: float,
    error: Callable[[float, float], float],
) -> float | None:
    r"""Return the standard error of 1 − risk / uncertainty by the delta method.

    With R and U for the two, the mean of loss ℓ and marginal loss m,

    .. math:: - \frac{\hat R - R}{U} + \frac{R (\hat U - U)}{U^2}.

    `error` is that of the mean of a ℓ + b m, from a and b; `extra_variance` that of Û beside the
    marginal loss.
    """
    if not (math.isfinite(risk) and math.isfinite(uncertainty) and uncertainty > 0):
        return None
    slope = risk / uncertainty**2
    return math.hypot(error(-1 / uncertainty, slope), slope * math.sqrt(extra_variance))


def _undefined(terms: Terms, predictions: Predictions, generator: BregmanGenerator) -> ValueError:
    rows = predictions.rows[np.isnan(to_numpy(terms.loss))]
    if rows.size:
        return bad_value(
            "generator",
            repr(generator),
            f"a loss that is a number everywhere, but it is NaN at {some_rows(rows)}",
            "let its value and gradient return limits, not NaN, where a probability is 0",
        )
    return undefined_terms(generator)


def undefined_terms(generator: BregmanGenerator) -> ValueError:
    """Build the error for terms that are no numbers."""
    return bad_value(
        "generator",
        repr(generator),
        "terms that are numbers, but infinities of both signs meet (F is infinite where an "
        "estimated probability is 0)",
        "use a larger bandwidth, or a generator that is finite on the boundary, such as 'brier'",
    )


def _debiased(
    terms: Terms,
    rows: OneStepRows,
    predictions: Predictions,
    notion: Notion,
    extra_variance: float,
) -> dict[str, Any]:
    """Return standard errors, the lower bound and the share of the kernel.

    The correction V is itself an estimate: its whole size is taken as one standard error more.
    """
    xp = namespace(rows.loss)
    refined, correction, base = rows.loss, rows.correction, rows.base_loss

    def mean(values: Array) -> float:
        return float(xp.sum(predictions.weight * values))

    saved = terms.loss - refined
    of_rows = {
        "calibration_error": saved,
        "refinement": refined,
        "sharpness": terms.marginal_loss - refined,
        "kernel": base - refined,
    }
    errors = {name: standard_error(each, predictions) for name, each in of_rows.items()}
    noise, weight = to_numpy(rows.noise), to_numpy(predictions.weight)
    squares = weight**2 * _effect_of_groups(saved, errors["calibration_error"], predictions)
    if predictions.multilabel:
        # How labels of a row go together is not known.
        noise = np.zeros_like(noise)
    errors["labels"] = math.sqrt(variance_of_labels(noise, squares))
    found = debiased_errors(
        mean(saved), mean(base - refined), mean(correction), errors, extra_variance
    )
    n_problems = notion.n_problems(predictions.n_classes)
    return found | {
        "noise_floor": noise_floor(noise, weight, squares, n_problems),
        "detection_floor": detection_floor(noise, weight, squares, n_problems),
    }


def _effect_of_groups(saved: Array, error: float, predictions: Predictions) -> float:
    """Return by how much rows of one group that resemble each other raise a variance."""
    if predictions.groups is None:
        return 1.0
    alone = standard_error(saved, replace(predictions, groups=None))
    return max(1.0, (error / alone) ** 2) if 0 < alone < math.inf else 1.0


def debiased_errors(
    saved: float,
    of_kernel: float,
    correction: float,
    errors: Mapping[str, float],
    extra_variance: float,
) -> dict[str, Any]:
    """Return the same from means over rows, and their standard errors.

    "labels" is what labels drawn from the recalibrated predictions would make of that of the loss
    saved: where few events count, those that occurred may tell nothing of others.
    """
    error = {
        "calibration_error": math.hypot(errors["calibration_error"], correction),
        "refinement": math.hypot(errors["refinement"], correction),
    }
    if "sharpness" in errors:
        extra = math.sqrt(extra_variance)
        error["sharpness"] = math.hypot(errors["sharpness"], correction, extra)
    sure = of_kernel > 2 * errors["kernel"]
    # A share of next to nothing says nothing.
    sure = sure and saved > 2 * error["calibration_error"]
    return {
        "standard_errors": error,
        "label_error": math.hypot(errors["labels"], correction),
        "lower_bound": saved - correction,
        "kernel_share": of_kernel / saved if sure else 0.0,
    }
