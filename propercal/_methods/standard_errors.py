"""Standard errors of the terms and the skill score, and the bounds that the debiased method has."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from propercal._array import namespace, to_numpy
from propercal._data.predictions.notions import Notion
from propercal._data.predictions.predictions import Predictions
from propercal._methods.label_noise import detection_floor, noise_floor, variance_of_labels
from propercal._methods.terms import OneStepRows, Terms
from propercal._results.intervals import error_of_rows
from propercal._typing import Array


def standard_error(values: Array, predictions: Predictions) -> float:
    """Return the standard error of the weighted mean of independent rows, or groups of them."""
    rows, weight = to_numpy(values), to_numpy(predictions.weight)
    return error_of_rows(rows, weight, predictions.groups)


def skill_score_error_of(terms: Terms, predictions: Predictions) -> float | None:
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


def errors_of_debiased(
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
