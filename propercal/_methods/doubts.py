"""Warnings about terms: infinite ones, and estimates that are likely to be too small."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from propercal._array import like, to_numpy
from propercal._data.predictions.notions import Notion
from propercal._data.predictions.predictions import Predictions
from propercal._data.words.messages import some_rows, warn
from propercal._methods.misfit import Misfit
from propercal._methods.terms import Terms
from propercal._typing import Array
from propercal.generators.base import BregmanGenerator

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


def warn_infinite(
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


def warn_doubtful(
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


def _largest_loss(generator: BregmanGenerator, predictions: Predictions, notion: Notion) -> float:
    """Return the loss of a certain prediction of a class that does not occur."""
    k = notion.n_outcomes(predictions.n_classes)
    vertices = like(np.eye(k), predictions.prob, predictions.prob.dtype)
    return float(generator.loss(vertices[:1, :], vertices[1:2, :])[0])


def _events(predictions: Predictions, notion: Notion) -> int:
    """Count rows whose outcome was given one half or less; of a group, one."""
    found = []
    n_problems = notion.n_problems(predictions.n_classes)
    for problem in notion.again(predictions):
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
