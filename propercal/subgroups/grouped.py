"""The terms of groups of rows: demographic groups, sites, or bins of a feature."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple, Unpack, overload

import numpy as np
import numpy.typing as npt

from propercal._array import ignore_underflow, like, to_numpy
from propercal._data.dependence.groups import check_groups, check_number, validate_groups
from propercal._data.dependence.repetitions import look_for_repetitions
from propercal._data.inputs.settings import check_confidence_level, check_random_state
from propercal._data.predictions.notions import Notion, as_notion
from propercal._data.predictions.predictions import Predictions, Reading
from propercal._data.predictions.subsets import subset
from propercal._data.rows.layout import Layout
from propercal._data.words.messages import bad_value, held_warnings, some_names, warn
from propercal._methods.completion import decompositions
from propercal._methods.method import Method
from propercal._methods.recipe import SMALLEST_SAMPLE
from propercal._methods.standard_errors import standard_error
from propercal._methods.terms import OneStepRows, Terms
from propercal._progress import steps, with_progress
from propercal._results.several import Results, one_or_several
from propercal._typing import Array
from propercal.generators.base import BregmanGenerator
from propercal.generators.registry import GeneratorLike, as_generators
from propercal.inference.calibration_test import check_resamples
from propercal.methods import Debiased, MethodLike, Risk, Settings, as_method, with_settings
from propercal.result import Decomposition
from propercal.subgroups.by_outcome import warn_of_outcomes
from propercal.subgroups.membership import Membership, collected_beside, read_membership
from propercal.subgroups.result import GroupDecomposition, Part
from propercal.subgroups.worst import worst_group_test


class _Options(Settings, Reading, total=False):
    notion: str | Notion
    method: MethodLike
    clusters: object
    blocks: int | str | None
    n_resamples: int
    confidence_level: float
    progress: bool | None


@overload
def decompose_groups(  # type: ignore[overload-overlap]  # a string is a sequence of strings too
    y_true: object,
    y_proba: object,
    *,
    groups: object,
    generator: GeneratorLike = ...,
    **options: Unpack[_Options],
) -> GroupDecomposition: ...
@overload
def decompose_groups(
    y_true: object,
    y_proba: object,
    *,
    groups: object,
    generator: Sequence[GeneratorLike],
    **options: Unpack[_Options],
) -> Results[GroupDecomposition]: ...
@with_settings(Debiased, Risk)
@ignore_underflow
@with_progress
def decompose_groups(
    y_true: object,
    y_proba: object,
    *,
    groups: object,
    generator: GeneratorLike | Sequence[GeneratorLike] = "log",
    notion: str | Notion = "canonical",
    method: MethodLike = "debiased",
    clusters: object = None,
    blocks: int | str | None = None,
    n_resamples: int = 999,
    from_logits: bool = False,
    sample_weight: object = None,
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
) -> GroupDecomposition | Results[GroupDecomposition]:
    r"""Split the risk of each group of rows, and test whether any group is miscalibrated.

    With a group A that each row is in, and shares :math:`\pi_a`,

    .. math::

        \sum_a \pi_a\, \mathrm{CE}_a &= E\, D_F(E[Y \mid g, A], g) \\
        &= \underbrace{E\, D_F(E[Y \mid g], g)}_\text{calibration error of all rows} \\
        &+ \underbrace{E\, D_F(E[Y \mid g, A], E[Y \mid g])}_\text{added by knowing the group}:

    a model can be calibrated over all rows while it is not in any group.

    Parameters
    ----------
    y_true, y_proba, generator, notion, method, **settings
        As in :func:`propercal.decompose`. Every group has recalibrations of its own.
    groups : array-like of shape (n,) or (n, m), table, or mapping of name to column
        A label for each row; or a table, or mapping, of columns of labels, each label of each
        column being a group ("sex=F", "site=3"); or several columns of True and False (all of 0
        and 1, too), one for each group, which may overlap. Rows are matched as
        those of weights are. For a feature with many values see
        :func:`propercal.subgroups.quantile_groups`.
    clusters, blocks
        Which rows may depend on each other, as `groups` and `blocks` of
        :func:`propercal.decompose`.
    n_resamples : int
        Label sets of the test. The smallest p-value is 1 / (n_resamples + 1).
    from_logits, sample_weight, labels, pos_label, link, ignore_index, class_axis, class_dim
        As in :func:`propercal.decompose`.
    sample_dims, confidence_level, progress
        As in :func:`propercal.decompose`.

    Returns
    -------
    GroupDecomposition, or a list of them
        The terms of each group, what they add up to, and the test; a list
        (:class:`propercal.Results`), in the same order, if `generator` is one.

    Raises
    ------
    ValueError
        If an argument cannot be used; if a group has fewer than 20 rows for the debiased method.

    Warns
    -----
    UserWarning
        Once for all groups what :func:`propercal.decompose` says of some of them, with their names.

    Notes
    -----
    The standard error of what the group adds is that of the mean difference between the losses of
    the recalibrations of all rows and of those of the groups; each correction V counts as one
    standard error more. With few rows a group, "added" is small beside it: the p-values, not the
    estimates, say whether a group differs.

    References
    ----------
    Hébert-Johnson, Kim, Reingold & Rothblum (2018), "Multicalibration", for calibration in groups
    that overlap; Westfall & Young (1993), "Resampling-based multiple testing", for the adjustment.

    Examples
    --------
    >>> import numpy as np
    >>> from propercal.subgroups import decompose_groups
    >>> from propercal.simulation import TemperatureScaledSimplex
    >>> y_true, y_proba, p_true = TemperatureScaledSimplex(3).sample(1000, random_state=0)
    >>> site = np.where(np.arange(1000) < 600, "north", "south")
    >>> mixed = np.where(site[:, None] == "north", p_true, y_proba)
    >>> found = decompose_groups(y_true, mixed, groups=site, generator="brier", n_resamples=199)
    >>> found.test.worst, found.test.adjusted["south"], found.test.adjusted["north"] > 0.1
    ('south', 0.005, True)
    """
    generators, several = as_generators(generator)
    reduction, chosen = as_notion(notion), as_method(method, **settings)
    level, n_resamples = check_confidence_level(confidence_level), check_resamples(n_resamples)
    check_groups(clusters, blocks, y_true, y_proba)
    if groups is None:
        raise bad_value(
            "groups", "None", "the group of each row", "use decompose(...) for all rows"
        )
    groups, y_true, y_proba, sample_weight, clusters = collected_beside(
        groups, y_true, y_proba, sample_weight, clusters
    )
    predictions = validate_groups(
        y_true,
        y_proba,
        groups=clusters,
        blocks=blocks,
        argument="clusters",
        from_logits=from_logits,
        sample_weight=sample_weight,
        labels=labels,
        pos_label=pos_label,
        link=link,
        ignore_index=ignore_index,
        class_axis=class_axis,
        class_dim=class_dim,
        sample_dims=sample_dims,
        one_class=not reduction.per_class,
    )
    layout = Layout(class_axis, class_dim, sample_dims)
    members = read_membership(groups, y_true, y_proba, sample_weight, predictions, layout, clusters)
    _check_sizes(members, predictions, chosen)
    warn_of_outcomes(members, predictions)
    predictions = look_for_repetitions(predictions)
    asked = _Asked(predictions, reduction, chosen, generators, level)
    whole, *found = _all(members, asked)
    seed = check_random_state(getattr(chosen, "random_state", 0))
    results = [
        _result(members, asked, whole[i], [each[i] for each in found], n_resamples, seed)
        for i in range(len(generators))
    ]
    return one_or_several(results, generators, "generator", several)  # type: ignore[no-any-return]


_Found = tuple[Terms, Decomposition]


class _Asked(NamedTuple):
    """What is asked of each group."""

    predictions: Predictions
    notion: Notion
    method: Method
    generators: Sequence[BregmanGenerator]
    confidence_level: float

    def of(self, predictions: Predictions) -> list[_Found]:
        """Return the terms of each generator on some rows."""
        return decompositions(
            predictions, self.notion, self.method, self.generators, self.confidence_level
        )


def _check_sizes(members: Membership, predictions: Predictions, method: Method) -> None:
    """Raise if groups are too small for the method."""
    least = SMALLEST_SAMPLE if method.corrects_bias else 2
    small = [
        f"{name} ({len(rows)})"
        for name, rows in zip(members.names, members.rows, strict=True)
        if len(rows) < least
    ]
    if small:
        raise bad_value(
            "groups",
            f"groups of too few rows, {some_names(small)}",
            f"{least} rows or more in each for method={method.name!r}",
            "merge small groups into one, or leave their rows out by a weight of 0",
        )
    if predictions.groups is not None and not method.corrects_bias:
        raise bad_value(
            predictions.grouped_by,
            f"{predictions.n_groups} {predictions.grouped_by}",
            f"none with method={method.name!r}, whose r̂ at a row sees the labels of its "
            f"{predictions.grouped_by[:-1]}",
            'use method="debiased"',
        )
    if predictions.groups is not None:
        what, called = f"method={method.name!r}", predictions.grouped_by
        check_number(predictions.n_groups, what, called)
        for name, rows in zip(members.names, members.rows, strict=True):
            number = len(np.unique(predictions.groups[rows]))
            check_number(number, what, called, f" in group {name!r}")


def _all(members: Membership, asked: _Asked) -> list[list[_Found]]:
    """Return the terms of all rows, then those of each group; say once what is to be said."""
    everything = np.arange(asked.predictions.n_samples)
    found: list[list[_Found]] = []
    said: dict[str, list[Any]] = {}
    for i, rows in enumerate(steps([everything, *members.rows])):
        part = asked.predictions if i == 0 else subset(asked.predictions, rows)
        with held_warnings() as messages:
            found.append(asked.of(part))
        for message in messages:
            said.setdefault(message, []).append("all rows" if i == 0 else members.names[i - 1])
    for message, names in said.items():
        warn(f"groups {some_names(names)}: {message}")
    return found


def _result(
    members: Membership,
    asked: _Asked,
    whole: _Found,
    found: list[_Found],
    n_resamples: int,
    seed: Any,
) -> GroupDecomposition:
    weight = to_numpy(asked.predictions.weight)
    shares = [float(weight[rows].sum()) for rows in members.rows]
    test = worst_group_test(
        asked.predictions,
        members.names,
        members.rows,
        asked.notion,
        whole[1].generator,
        n_resamples,
        np.random.default_rng(seed),
    )
    return GroupDecomposition(
        {name: result for name, (_, result) in zip(members.names, found, strict=True)},
        dict(zip(members.names, shares, strict=True)),
        whole[1],
        _parts(members, asked, whole, found, shares) if members.is_partition else None,
        test,
    )


def _parts(
    members: Membership, asked: _Asked, whole: _Found, found: list[_Found], shares: list[float]
) -> dict[str, Part]:
    """Return what disjoint groups add up to."""

    def of(result: Decomposition, term: str) -> float:
        return float(to_numpy(getattr(result, term)))

    values = {
        term: float(np.dot(shares, [of(result, term) for _, result in found]))
        for term in ("calibration_error", "refinement", "sharpness", "uncertainty")
    }
    values["added"] = of(whole[1], "refinement") - values["refinement"]
    values["between"] = of(whole[1], "uncertainty") - values["uncertainty"]
    errors = _errors(members, asked.predictions, whole[0], [terms for terms, _ in found])
    level = asked.confidence_level
    return {name: Part(value, errors.get(name, math.nan), level) for name, value in values.items()}


def _errors(
    members: Membership, predictions: Predictions, whole: Terms, found: list[Terms]
) -> dict[str, float]:
    """Return standard errors of the parts, of methods that have them."""

    def of_rows(values: Callable[[Terms], Array]) -> npt.NDArray[np.float64]:
        together = np.empty(predictions.n_samples)
        for rows, terms in zip(members.rows, found, strict=True):
            together[rows] = to_numpy(values(terms))
        return together

    def error(values: npt.NDArray[np.float64], *more: float) -> float:
        rows = like(values, predictions.weight)
        return math.hypot(standard_error(rows, predictions), *more)

    # What is not linear in the shares of the classes, see Decomposition.
    curved = [math.sqrt(float(terms.uncertainty_variance)) for terms in (whole, *found)]
    shares = [float(to_numpy(predictions.weight)[rows].sum()) for rows in members.rows]
    of_groups = math.hypot(*np.multiply(shares, curved[1:]))
    marginal, marginal_whole = of_rows(_marginal), to_numpy(whole.marginal_loss)
    errors = {
        "uncertainty": error(marginal, of_groups),
        "between": error(marginal_whole - marginal, of_groups, curved[0]),
    }
    if whole.one_step is None:
        return errors
    weight, loss = to_numpy(predictions.weight), to_numpy(whole.loss)
    refined, own = of_rows(_refined), float(weight @ of_rows(_correction))
    of_whole = float(weight @ to_numpy(whole.one_step.correction))
    with np.errstate(invalid="ignore"):
        return errors | {
            "calibration_error": error(loss - refined, own),
            "refinement": error(refined, own),
            "sharpness": error(marginal - refined, own, of_groups),
            "added": error(to_numpy(whole.one_step.loss) - refined, own, of_whole),
        }


def _marginal(terms: Terms) -> Array:
    return terms.marginal_loss


def _refined(terms: Terms) -> Array:
    return _steps(terms).loss


def _correction(terms: Terms) -> Array:
    return _steps(terms).correction


def _steps(terms: Terms) -> OneStepRows:
    assert terms.one_step is not None  # noqa: S101  # what the method of all rows has
    return terms.one_step
