"""Which of several models is the best on the same test set, and which may be."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Unpack, overload

import numpy as np

from propercal._array import ignore_underflow
from propercal._data.dependence.models import validate_models
from propercal._data.inputs.reading import Names
from propercal._data.inputs.settings import check_confidence_level
from propercal._data.predictions.notions import Notion, as_notion
from propercal._data.predictions.predictions import Reading
from propercal._data.words.messages import bad_value
from propercal._progress import with_progress
from propercal._results.several import Results, one_or_several
from propercal.generators.registry import GeneratorLike, as_generators
from propercal.inference.contributions import as_terms, contributions, method_for
from propercal.inference.max_t import max_t
from propercal.inference.model_comparison import ModelComparison, model_comparison
from propercal.inference.paired import fitted
from propercal.inference.shared_information import Compared, warn_of_refinements
from propercal.methods import Debiased, MethodLike, Settings, with_settings

Models = Mapping[str, object] | Iterable[tuple[str, object]]


class _Options(Settings, Reading, total=False):
    progress: bool | None
    notion: str | Notion
    method: MethodLike
    groups: object
    blocks: int | str | None
    confidence_level: float
    n_resamples: int


@overload
def compare_models(  # type: ignore[overload-overlap]  # a string is a sequence of strings too
    y_true: object,
    models: Models,
    *,
    term: str = ...,
    generator: GeneratorLike = ...,
    **options: Unpack[_Options],
) -> ModelComparison: ...
@overload
def compare_models(  # type: ignore[overload-overlap]
    y_true: object,
    models: Models,
    *,
    term: str = ...,
    generator: Sequence[GeneratorLike],
    **options: Unpack[_Options],
) -> Results[ModelComparison]: ...
@overload
def compare_models(  # type: ignore[overload-overlap]
    y_true: object,
    models: Models,
    *,
    term: Sequence[str],
    generator: GeneratorLike = ...,
    **options: Unpack[_Options],
) -> Results[ModelComparison]: ...
@overload
def compare_models(
    y_true: object,
    models: Models,
    *,
    term: Sequence[str],
    generator: Sequence[GeneratorLike],
    **options: Unpack[_Options],
) -> Results[Results[ModelComparison]]: ...
@with_settings(Debiased)
@ignore_underflow
@with_progress
def compare_models(
    y_true: object,
    models: Models,
    *,
    term: str | Sequence[str] = "risk",
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
    n_resamples: int = 4999,
    progress: bool | None = None,  # noqa: ARG001  # the decorator reads it
    **settings: Unpack[Settings],
) -> Any:
    r"""Compare several models on the same rows: all pairs, ranks, and which may be the best.

    With estimates :math:`\hatθ_i` of a term of each model, and standard errors of their differences
    as in :func:`propercal.paired_difference`,

    .. math::

        t_{ij} &= \frac{\hatθ_i - \hatθ_j}{\mathrm{SE}_{ij}}, \\
        M &= \max_{i<j} |T^*_{ij}|, \qquad M_i = \max_{j} T^*_{ij},

    where T* are draws of what all t would be at once, did nothing differ. Pairs are judged by M,
    and whether i may be the best by :math:`P(M_i \ge \max_j t_{ij})`.

    Parameters
    ----------
    y_true, notion
        As in :func:`propercal.decompose`.
    models : mapping of str to array-like, or a list of pairs (name, array-like)
        Predictions of two models or more for the same rows, each of shape (n,), (n, 1) or (n, k).
    term : {"risk", "calibration_error", "refinement", "sharpness"}, or a list of these
        What is compared. A list shares the fits, and returns a list.
    generator : str, BregmanGenerator, class, callable, or a list of these
        As in :func:`propercal.decompose`. A list shares the fits, and returns a list, of a list for
        each generator where `term` is one too.
    method : {"debiased"} or Method
        As in :func:`propercal.paired_difference`: nothing is fitted for the risk alone.
    pos_label, link, ignore_index, class_axis, class_dim, sample_dims
        As in :func:`propercal.decompose`.
    from_logits, sample_weight, groups, blocks, labels, confidence_level, **settings
        As in :func:`propercal.decompose`.
    n_resamples : int
        Draws of the joint law. P-values below 1 / (n_resamples + 1) are Bonferroni's (Holm's).
    progress : bool, optional
        As in :func:`propercal.decompose`.

    Returns
    -------
    ModelComparison, or Results
        ``best_set(level)``, ``ranks``, ``pairs`` and ``models``; of several terms, or generators, a
        list (:class:`propercal.Results`), of several of both a list of lists.

    Raises
    ------
    ValueError
        If an argument cannot be used, models are fewer than two, or two have the same name.

    Warns
    -----
    UserWarning
        As :func:`propercal.decompose` does, such as where a loss is infinite. The model of an
        infinite risk is behind all others; p-values of its pairs are NaN. As
        :func:`propercal.paired_difference` does, of pairs that differ by their familywise p-value.

    Notes
    -----
    Each model is fitted once, all with the same folds. Draws change the signs of what rows, or
    groups of them, contribute, the same for all models, so that differences are correlated as they
    are in the data; beyond 5000 rows or groups they are normal with that covariance. What the
    correction V of a model is uncertain by is drawn for each model.

    - Familywise p-values go down by steps: the largest t is judged by the maximum over all pairs,
      the next by that over the pairs left. The probability that any of the pairs that do not differ
      gets one of at most α is at most α, as the number of rows grows.
    - ``best_set`` holds any given model that is best in truth with its confidence level. It is
      large where data are few, and does not say how much worse the others are: ``pairs`` do.
    - ``ranks`` follow from simultaneous intervals of all pairs, and hold all at once.

    All are for the test set at hand as a sample of rows; how models would differ after training on
    other data is not in them. A choice of the model by these rows makes its own risk look smaller
    than it is.

    References
    ----------
    Hsu (1981), "Simultaneous confidence intervals for all distances from the best"; Romano & Wolf
    (2005), "Exact and approximate stepdown methods for multiple hypothesis testing"; Mogstad,
    Romano, Shaikh & Wilhelm (2024), "Inference for ranks with applications to mobility across
    neighbourhoods and academic achievement across countries".

    Examples
    --------
    >>> from propercal.simulation import TemperatureScaledSimplex
    >>> y_true, y_proba, p_true = TemperatureScaledSimplex(3).sample(2000, random_state=0)
    >>> models = {"true": p_true, "sharp": y_proba, "constant": 0 * p_true + 1 / 3}
    >>> found = compare_models(y_true, models)
    >>> found.best_set()
    ('true',)
    >>> found.ranks["constant"]
    Rank(estimate=3, lower=3, upper=3)
    """
    named = _named(models)
    terms, several_terms = as_terms(term)
    generators, several = as_generators(generator)
    reduction = as_notion(notion)
    level = check_confidence_level(confidence_level)
    resamples = _number_of_resamples(n_resamples)
    predictions = validate_models(
        y_true,
        list(named.values()),
        called=[Names(proba=f"models[{name!r}]", model=name) for name in named],
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
    results: list[Any] = []
    chosen = method_for(terms, method, {**settings})
    for of_one in fitted(predictions, reduction, chosen, generators, level):
        by_name = dict(zip(named, (result for _, result in of_one), strict=True))
        compared = {
            name: Compared(f"models[{name!r}]", model, of_rows)
            for name, model, (of_rows, _) in zip(named, predictions, of_one, strict=True)
        }
        table = []
        for each in terms:
            found = contributions(each, [x for x, _ in of_one], predictions[0])
            joint = max_t(found, resamples)
            table.append(model_comparison(by_name, found, joint, level, resamples))
            for pair in table[-1].pairs:
                both = (compared[pair.first], compared[pair.second])
                warn_of_refinements(pair, both, reduction, pair.familywise_pvalue)
        names = [each.name for each in terms]
        results.append(Results(table, names, "term") if several_terms else table[0])
    return one_or_several(results, generators, "generator", several)


def _named(models: object) -> dict[str, object]:
    """Return predictions by the name of the model, or raise."""
    pairs = _pairs(models)
    if len(pairs) < 2:
        raise bad_value(
            "models", f"{len(pairs)} model{'s' * (len(pairs) != 1)}", "two or more", "add others"
        )
    names = [name for name, _ in pairs]
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if twice:
        raise bad_value(
            "models", f"{twice[0]!r} twice", "a name of its own for each", "rename one of them"
        )
    return dict(pairs)


def _pairs(models: object) -> list[tuple[str, object]]:
    pairs: list[Any]
    if isinstance(models, Mapping):
        pairs = list(models.items())
    else:
        pairs = list(models) if isinstance(models, list | tuple) else [models]
        if not all(isinstance(each, list | tuple) and len(each) == 2 for each in pairs):
            raise _no_names(f"a {type(models).__name__}")
    for name, _ in pairs:
        if not isinstance(name, str) or not name:
            raise _no_names(f"the name {name!r}")
    return pairs


def _no_names(found: str) -> ValueError:
    return bad_value(
        "models",
        found,
        "predictions by the name of the model, in words",
        'pass {"a": p_a, "b": p_b}, or [("a", p_a), ("b", p_b)]',
    )


def _number_of_resamples(n_resamples: object) -> int:
    whole = isinstance(n_resamples, int | np.integer) and not isinstance(n_resamples, bool)
    number = int(n_resamples) if whole else 0  # type: ignore[call-overload]
    if number < 1:
        raise bad_value(
            "n_resamples", repr(n_resamples), "a whole number of at least 1", "4999 is usual"
        )
    return number
