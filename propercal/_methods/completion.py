"""Completion of terms: the result that a user sees, with its errors and warnings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from propercal._array import scalar, to_numpy
from propercal._data.predictions.notions import Notion
from propercal._data.predictions.predictions import Predictions
from propercal._data.words.messages import bad_value, some_rows
from propercal._methods.doubts import warn_doubtful, warn_infinite, warn_of_misfit
from propercal._methods.kept import kept_rows
from propercal._methods.method import Method
from propercal._methods.misfit import NOTHING, Misfit
from propercal._methods.standard_errors import (
    errors_of_debiased,
    skill_score_error_of,
    standard_error,
)
from propercal._methods.terms import Terms
from propercal.generators.base import BregmanGenerator
from propercal.generators.order import check_order
from propercal.result import TERMS, Decomposition

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
    rows = warn_infinite(values, terms, predictions, generator)
    bias, extra_variance = float(terms.uncertainty_bias), float(terms.uncertainty_variance)
    debiased: dict[str, Any] = {}
    if terms.one_step is not None:
        debiased = errors_of_debiased(terms, terms.one_step, predictions, notion, extra_variance)
        debiased |= _of_misfit(terms.misfit or NOTHING)
        if math.isfinite(values["calibration_error"]):
            error = debiased["standard_errors"]["calibration_error"]
            warn_of_misfit(terms.misfit or NOTHING, error, generator)
        warn_doubtful(debiased["kernel_share"], terms, predictions, notion, generator)
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
        infinite_loss_rows=tuple(None if row < 0 else int(row) for row in rows),
        centres=centres | {"uncertainty": centres["uncertainty"] - bias},
        standard_errors=errors,
        skill_score_error=skill_score_error_of(terms, predictions),
        confidence_level=confidence_level,
        kernel_rows=terms.kernel_rows,
        training_rows=terms.training_rows,
        _kept_rows=kept_rows(terms, predictions),
        **debiased,
    )


def _of_misfit(misfit: Misfit) -> dict[str, Any]:
    return {"misfit_pvalue": misfit.p_value, "missed": misfit.missed}


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
