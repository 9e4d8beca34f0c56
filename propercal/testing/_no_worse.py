"""The calibration of a new model beside the old one's, as an assertion of a user's own tests."""

from __future__ import annotations

import math
from typing import Any, Unpack

from propercal._array import ignore_underflow
from propercal._data.dependence.models import validate_models
from propercal._data.inputs.reading import Names
from propercal._data.inputs.settings import check_random_state
from propercal._data.predictions.arguments import with_reading
from propercal._data.predictions.notions import Notion, as_notion
from propercal._data.predictions.predictions import Reading
from propercal._data.words.messages import bad_value, held_warnings, warn
from propercal._progress import with_progress
from propercal._results.student import upper_tail
from propercal.generators import as_generator
from propercal.generators.base import BregmanGenerator
from propercal.generators.registry import GeneratorLike
from propercal.inference.contributions import as_terms, contributions
from propercal.inference.differences import PairedDifference, PairedDifferences, difference_of
from propercal.inference.paired import fitted
from propercal.methods import Debiased
from propercal.testing._failure import worse_calibrated
from propercal.testing._limits import check_allowed, check_alpha

#: What a message shows, the first being what is judged.
_TERMS = ("calibration_error", "risk", "refinement")


@with_reading
def assert_no_worse_calibrated(
    y_true: object,
    candidate: object,
    reference: object,
    *,
    margin: float = 0.0,
    alpha: float = 0.01,
    generator: GeneratorLike = "log",
    notion: str | Notion = "canonical",
    random_state: Any = 0,
    groups: object = None,
    blocks: int | str | None = None,
    progress: bool | None = None,
    **reading: Unpack[Reading],
) -> None:
    r"""Fail if one model is shown to be worse calibrated than another on the same rows.

    With the difference Δ̂ of the calibration errors and its standard error, as in
    :func:`propercal.paired_difference`, it fails if

    .. math::

        p &= P\!\left(Z \ge \frac{\hatΔ - \text{margin}}{\mathrm{SE}}\right) \le \alpha, \\
        \hatΔ &= \text{error of the candidate} - \text{error of the reference}.

    Parameters
    ----------
    y_true, generator, notion
        As in :func:`propercal.decompose`.
    candidate, reference : array-like of shape (n,), (n, 1) or (n, k)
        Predictions of the new model, and of the one in use, for the same rows.
    margin : float, default 0
        By how much the candidate's calibration error may be the larger, in units of the loss.
    alpha : float, default 0.01
        How often a false alarm is accepted: where the candidate is no worse by more than the
        margin, at most this share of test sets fails, as the number of rows grows. Below 0.5.
    random_state : int, numpy.random.Generator, numpy.random.SeedSequence or None
        How rows are dealt to the folds of both estimates. By default the same way in every run, so
        that the same rows give the same answer.
    groups, blocks
        As in :func:`propercal.decompose`: which rows may depend on each other.
    from_logits, sample_weight, labels, pos_label, link, ignore_index, class_axis, class_dim
        As in :func:`propercal.decompose`, for both models.
    sample_dims, progress
        As in :func:`propercal.decompose`.

    Raises
    ------
    AssertionError
        If the candidate is shown to be worse. The message has the difference of calibration error,
        risk and refinement with intervals, the p-value, and what can be done.
    ValueError
        If an argument cannot be used; the message names it, its value, and what to do. If the loss
        of both models is infinite.

    Warns
    -----
    UserWarning
        As :func:`propercal.decompose` does, if it passes; else the message says so.

    Notes
    -----
    That it passes does not show that the candidate is as good: few rows show little, and
    ``paired_difference(y_true, candidate, reference).interval()`` says how much worse it could be.
    A model may be better calibrated and cost more: constant predictions are calibrated. Compare
    the risk by ``paired_difference(..., term="risk")`` too.

    Examples
    --------
    >>> from propercal.simulation import TemperatureScaledSimplex
    >>> y_true, y_proba, p_true = TemperatureScaledSimplex(3).sample(1000, random_state=0)
    >>> assert_no_worse_calibrated(y_true, p_true, y_proba)
    >>> assert_no_worse_calibrated(y_true, y_proba, p_true)
    Traceback (most recent call last):
    AssertionError: the candidate is worse calibrated than the reference: p-value ...
    """
    __tracebackhide__ = True
    alpha, margin = check_alpha(alpha), check_allowed("margin", margin)
    error = _error(
        y_true,
        (candidate, reference),
        margin,
        alpha,
        generator=as_generator(generator),
        notion=as_notion(notion),
        method=Debiased(random_state=check_random_state(random_state)),
        groups=groups,
        blocks=blocks,
        progress=progress,
        **reading,
    )
    if error is not None:
        raise error


@ignore_underflow
@with_progress
def _error(
    y_true: object,
    predictions: tuple[object, object],
    margin: float,
    alpha: float,
    *,
    generator: BregmanGenerator,
    notion: Notion,
    method: Debiased,
    groups: object,
    blocks: int | str | None,
    progress: bool | None = None,  # noqa: ARG001  # the decorator reads it
    **reading: Unpack[Reading],
) -> AssertionError | None:
    """Return what is to be raised, if anything is."""
    level = 1 - 2 * alpha
    with held_warnings() as said:
        models = validate_models(
            y_true,
            predictions,
            called=(Names(proba="candidate"), Names(proba="reference")),
            groups=groups,
            blocks=blocks,
            one_class=not notion.per_class,
            **reading,
        )
        ((a, b),) = fitted(models, notion, method, [generator], level)
    terms, _ = as_terms(_TERMS)
    each = [contributions(term, [a[0], b[0]], models[0]) for term in terms]
    table = [difference_of(PairedDifference, of_one, (a[1], b[1]), level) for of_one in each]
    pvalue = _one_sided(table[0], margin)
    said = list(dict.fromkeys(said))
    if pvalue <= alpha:
        return worse_calibrated(PairedDifferences(tuple(table)), pvalue, margin, alpha, said)
    for message in said:
        warn(message)
    return None


def _one_sided(found: PairedDifference, margin: float) -> float:
    """Return the p-value of the hypothesis that the difference is at most the margin."""
    excess = found.difference - margin
    if math.isnan(excess):
        raise bad_value(
            "generator",
            found.a.generator.name,
            "one whose loss is finite for one of the models at least",
            'correct predictions of 0 of what occurred, or use a bounded loss, such as "brier"',
        )
    if found.standard_error == 0:
        return float(excess <= 0)
    if math.isinf(excess):
        return float(excess < 0)
    return upper_tail(excess / found.standard_error, found.degrees_of_freedom)
