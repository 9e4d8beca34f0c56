"""Whether one model is better than another on the same test set: which term, and beyond chance."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Unpack, overload

from propercal._array import ignore_underflow
from propercal._data.dependence.models import validate_models
from propercal._data.inputs.reading import Names
from propercal._data.inputs.settings import check_confidence_level
from propercal._data.predictions.notions import Notion, as_notion
from propercal._data.predictions.predictions import Predictions, Reading
from propercal._methods.completion import decompositions
from propercal._methods.method import Method
from propercal._methods.terms import Terms
from propercal._progress import steps, with_progress
from propercal._results.several import Results, one_or_several
from propercal.generators.base import BregmanGenerator
from propercal.generators.registry import GeneratorLike, as_generators
from propercal.inference.contributions import as_terms, contributions, method_for
from propercal.inference.differences import (
    PairedDifference,
    PairedDifferences,
    difference_of,
)
from propercal.inference.shared_information import Compared, warn_of_refinements
from propercal.methods import Debiased, MethodLike, Settings, same_draws, with_settings
from propercal.result import Decomposition

Found = list[tuple[Terms, Decomposition]]


class _Options(Settings, Reading, total=False):
    progress: bool | None
    notion: str | Notion
    method: MethodLike
    groups: object
    blocks: int | str | None
    confidence_level: float


@overload
def paired_difference(  # type: ignore[overload-overlap]  # a string is a sequence of strings too
    y_true: object,
    y_proba_a: object,
    y_proba_b: object,
    *,
    term: str = ...,
    generator: GeneratorLike = ...,
    **options: Unpack[_Options],
) -> PairedDifference: ...
@overload
def paired_difference(  # type: ignore[overload-overlap]
    y_true: object,
    y_proba_a: object,
    y_proba_b: object,
    *,
    term: str = ...,
    generator: Sequence[GeneratorLike],
    **options: Unpack[_Options],
) -> Results[PairedDifference]: ...
@overload
def paired_difference(  # type: ignore[overload-overlap]
    y_true: object,
    y_proba_a: object,
    y_proba_b: object,
    *,
    term: Sequence[str],
    generator: GeneratorLike = ...,
    **options: Unpack[_Options],
) -> PairedDifferences: ...
@overload
def paired_difference(
    y_true: object,
    y_proba_a: object,
    y_proba_b: object,
    *,
    term: Sequence[str],
    generator: Sequence[GeneratorLike],
    **options: Unpack[_Options],
) -> Results[PairedDifferences]: ...
@with_settings(Debiased)
@ignore_underflow
@with_progress
def paired_difference(
    y_true: object,
    y_proba_a: object,
    y_proba_b: object,
    *,
    term: str | Sequence[str] = "calibration_error",
    generator: GeneratorLike | Sequence[GeneratorLike] = "log",
    notion: str | Notion = "canonical",
    method: MethodLike = "debiased",
    from_logits: bool = False,
    sample_weight: object = None,
    groups: object = None,
    blocks: int | str | None = None,
    labels: Sequence[Any] | None = None,
    pos_label: Any = None,
    link: str | None = None,
    ignore_index: Any = None,
    class_axis: int | None = None,
    class_dim: Hashable | None = None,
    sample_dims: Hashable | Sequence[Hashable] | None = None,
    confidence_level: float = 0.95,
    progress: bool | None = None,  # noqa: ARG001  # the decorator reads it
    **settings: Unpack[Settings],
) -> Any:
    r"""Compare a term of two models on the same rows: calibration error, risk, or what is left.

    .. math::

        \hat\Delta = \sum_h w_h (x^a_h - x^b_h),

    where x_h is what row h contributes to the term:

    - "calibration_error": :math:`L_F(g_h, y_h) - L_F(\hat r_h, y_h) + V_h`, with the debiased
      estimate of each, see :func:`propercal.decompose`;
    - "risk": the loss :math:`L_F(g_h, y_h)`;
    - "refinement": :math:`L_F(\hat r_h, y_h) - V_h`;
    - "sharpness": the loss of the share of each class, less that.

    Rows are paired, so what makes both models err on the same rows cancels.

    Parameters
    ----------
    y_true, notion
        As in :func:`propercal.decompose`.
    y_proba_a, y_proba_b : array-like of shape (n,), (n, 1) or (n, k)
        Predictions of the two models for the same rows.
    term : {"calibration_error", "risk", "refinement", "sharpness"}, or a list of these
        What is compared. A list shares the fits, and returns a table.
    generator : str, BregmanGenerator, class, callable, or a list of these
        As in :func:`propercal.decompose`. A list shares the fits, and returns a list.
    method : {"debiased"} or Method
        One whose terms have intervals, as in :func:`propercal.decompose`; `settings` are those of
        :class:`propercal.methods.Debiased`. For the risk alone nothing is fitted, any will do, and
        two rows are enough.
    pos_label, link, ignore_index, class_axis, class_dim, sample_dims
        As in :func:`propercal.decompose`.
    from_logits, sample_weight, groups, blocks, labels, confidence_level, **settings
        As in :func:`propercal.decompose`.
    progress : bool, optional
        As in :func:`propercal.decompose`.

    Returns
    -------
    PairedDifference, PairedDifferences, or Results
        The difference, its standard error, interval and p-value, and both decompositions; a table
        of these if `term` is a list; a list (:class:`propercal.Results`), in the same order, if
        `generator` is one.

    Raises
    ------
    ValueError
        If an argument cannot be used, or the two predictions differ in shape.

    Warns
    -----
    UserWarning
        As :func:`propercal.decompose` does, such as where a loss is infinite: then the difference
        is, or is NaN, and so is its p-value. Where a difference at the confidence level rests on
        refinements that are further apart than what one model tells beyond the other: a shape
        that the recalibrations do not follow is likely to be the reason.

    Notes
    -----
    The standard error is that of the mean of the differences of rows, or of sums over groups. For
    the risk there is nothing else to it, and p-value and interval are those of a paired t-test with
    the effective number of rows, or groups, less 1 degrees of freedom. Of the other terms each
    correction V counts as one standard error more; where the models are asked different questions
    (the most probable classes of "top-label"), so does the uncertainty in the sharpness, by what of
    it is not linear in the shares of the classes. Where both models are calibrated, the
    difference of the calibration errors is of smaller order than its standard error, and the test
    rejects less often than its level.

    A model may have the lower risk and the larger calibration error. The risk is what it costs to
    act on the predictions as they are; the refinement is what would be left after recalibration.

    Examples
    --------
    >>> from propercal.simulation import TemperatureScaledSimplex
    >>> y_true, y_proba, p_true = TemperatureScaledSimplex(3).sample(2000, random_state=0)
    >>> comparison = paired_difference(y_true, y_proba, p_true)
    >>> comparison.difference > 0, comparison.pvalue < 0.001
    (True, True)
    >>> paired_difference(y_true, y_proba, p_true, term="risk").pvalue < 0.001
    True
    """
    terms, several_terms = as_terms(term)
    generators, several = as_generators(generator)
    reduction = as_notion(notion)
    level = check_confidence_level(confidence_level)
    chosen = method_for(terms, method, {**settings})
    called = Names(proba="y_proba_a"), Names(proba="y_proba_b")
    models = validate_models(
        y_true,
        (y_proba_a, y_proba_b),
        called=called,
        groups=groups,
        blocks=blocks,
        sample_weight=sample_weight,
        from_logits=from_logits,
        labels=labels,
        pos_label=pos_label,
        link=link,
        ignore_index=ignore_index,
        class_axis=class_axis,
        class_dim=class_dim,
        sample_dims=sample_dims,
        one_class=not reduction.per_class,
    )
    results = []
    for a, b in fitted(models, reduction, chosen, generators, level):
        found = [contributions(each, [a[0], b[0]], models[0]) for each in terms]
        table = tuple(difference_of(PairedDifference, each, (a[1], b[1]), level) for each in found)
        both = Compared("y_proba_a", models[0], a[0]), Compared("y_proba_b", models[1], b[0])
        for each in table:
            warn_of_refinements(each, both, reduction, each.pvalue)
        results.append(PairedDifferences(table) if several_terms else table[0])
    return one_or_several(results, generators, "generator", several)


def fitted(
    models: Sequence[Predictions],
    notion: Notion,
    method: Method,
    generators: Sequence[BregmanGenerator],
    confidence_level: float,
) -> list[Found]:
    """Return the terms of all models under each generator, every model being fitted once.

    All are dealt the same folds, by a generator too: equal predictions must not differ.
    """
    draws = same_draws(method, len(models))
    found = [
        decompositions(each, notion, drawing, generators, confidence_level)
        for each, drawing in steps(list(zip(models, draws, strict=True)))
    ]
    return [list(of_one) for of_one in zip(*found, strict=True)]
