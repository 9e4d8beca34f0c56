"""Whether one model is better calibrated than another on the same test set."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Unpack, overload

import numpy as np

from propercal._array import ignore_underflow, to_numpy
from propercal._data.alignment import align_pair
from propercal._data.blocks import check_all_series
from propercal._data.group_names import exact
from propercal._data.groups import check_groups, validate_groups
from propercal._data.layout import Layout
from propercal._data.lazy_tables import collected
from propercal._data.messages import bad_value
from propercal._data.notions import Notion, as_notion
from propercal._data.predictions import Predictions, Reading
from propercal._data.reading import Names
from propercal._data.repetitions import look_for_repetitions
from propercal._data.settings import check_confidence_level
from propercal._methods.completion import decompositions, standard_error
from propercal._methods.terms import Terms
from propercal._progress import steps, with_progress
from propercal._results.intervals import half_width
from propercal.generators.registry import GeneratorLike, as_generators
from propercal.methods import (
    Debiased,
    MethodLike,
    Settings,
    same_draws,
    with_intervals,
    with_settings,
)
from propercal.result import Decomposition, in_groups


@dataclass(frozen=True, eq=False)
class PairedDifference:
    """The calibration errors of two models on one test set, and their difference.

    Attributes
    ----------
    difference : float
        Calibration error of a less that of b, in units of the loss: positive where b is the better
        calibrated.
    standard_error : float
        Its standard error. Rows that both models find hard cancel.
    pvalue : float
        Two-sided, of the hypothesis that both calibration errors are the same.
    a, b : Decomposition
        Each model by itself.
    confidence_level : float
        Default level of :meth:`interval`.
    """

    difference: float
    standard_error: float
    pvalue: float
    a: Decomposition
    b: Decomposition
    confidence_level: float

    @property
    def n_groups(self) -> int | None:
        """Groups, or blocks, of rows that may depend on each other; None where none were given."""
        return self.a.n_groups

    def interval(self, confidence_level: float | None = None) -> tuple[float, float]:
        """Return a confidence interval for the difference.

        Parameters
        ----------
        confidence_level : float, optional
            Between 0 and 1; that of the comparison by default.

        Returns
        -------
        tuple of float
            Lower and upper end, by the central limit theorem for independent rows, or groups.

        Raises
        ------
        ValueError
            If the level is not between 0 and 1, or the difference is not finite.
        """
        level = self.confidence_level if confidence_level is None else confidence_level
        level = check_confidence_level(level)
        if not (math.isfinite(self.difference) and math.isfinite(self.standard_error)):
            raise bad_value(
                "difference", repr(self.difference), "a finite one", "use a bounded loss"
            )
        half = half_width(self.standard_error, level)
        return self.difference - half, self.difference + half

    def __str__(self) -> str:
        a, b = (float(each.calibration_error) for each in (self.a, self.b))
        lines = [
            f"{self.a.generator.name} loss, {self.a.notion} calibration error",
            f"  a           {a:>12.6g}",
            f"  b           {b:>12.6g}",
            f"  difference  {self.difference:>12.6g}",
        ]
        if math.isfinite(self.standard_error):
            low, high = self.interval()
            lines[-1] += f"  [{low:.6g}, {high:.6g}], p = {self.pvalue:.3g}"
            rows = f"n = {self.a.n_samples}{in_groups(self.a.n_groups)}"
            lines.append(f"  [ ]: {self.confidence_level:.0%} interval, {rows}")
        return "\n".join(lines)


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
    generator: GeneratorLike = ...,
    **options: Unpack[_Options],
) -> PairedDifference: ...
@overload
def paired_difference(
    y_true: object,
    y_proba_a: object,
    y_proba_b: object,
    *,
    generator: Sequence[GeneratorLike],
    **options: Unpack[_Options],
) -> list[PairedDifference]: ...
@with_settings(Debiased)
@ignore_underflow
@with_progress
def paired_difference(
    y_true: object,
    y_proba_a: object,
    y_proba_b: object,
    *,
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
) -> PairedDifference | list[PairedDifference]:
    r"""Compare the calibration errors of two models on the same rows.

    .. math::

        \hat\Delta = \sum_h w_h (d^a_h - d^b_h), \qquad
        d_h = L_F(g_h, y_h) - L_F(\hat r_h, y_h) + V_h,

    with the debiased estimate of each calibration error, see :func:`propercal.decompose`. Rows are
    paired, so what makes both models err on the same rows cancels.

    Parameters
    ----------
    y_true, generator, notion
        As in :func:`propercal.decompose`.
    method : {"debiased"} or Method
        One whose terms have intervals, as in :func:`propercal.decompose`; `settings` are those of
        :class:`propercal.methods.Debiased`.
    y_proba_a, y_proba_b : array-like of shape (n,), (n, 1) or (n, k)
        Predictions of the two models for the same rows.
    pos_label, link, ignore_index, class_axis, class_dim, sample_dims
        As in :func:`propercal.decompose`.
    from_logits, sample_weight, groups, blocks, labels, confidence_level, **settings
        As in :func:`propercal.decompose`.
    progress : bool, optional
        As in :func:`propercal.decompose`.

    Returns
    -------
    PairedDifference, or a list of them
        The difference, its standard error, interval and p-value, and both decompositions; a list,
        in the same order, if `generator` is one. Its generators share what is fitted.

    Raises
    ------
    ValueError
        If an argument cannot be used, or the two predictions differ in shape.

    Notes
    -----
    Each correction V counts as one standard error more. Where both models are calibrated, the
    difference is of smaller order than its standard error, and the test rejects less often than its
    level.

    Examples
    --------
    >>> from propercal.simulation import TemperatureScaledSimplex
    >>> y_true, y_proba, p_true = TemperatureScaledSimplex(3).sample(2000, random_state=0)
    >>> comparison = paired_difference(y_true, y_proba, p_true)
    >>> comparison.difference > 0, comparison.pvalue < 0.001
    (True, True)
    """
    generators, several = as_generators(generator)
    reduction = as_notion(notion)
    level = check_confidence_level(confidence_level)
    chosen = with_intervals(method, **settings)

    check_groups(groups, blocks)
    names = Names(proba="y_proba_a"), Names(proba="y_proba_b")
    layout = Layout(class_axis, class_dim, sample_dims)
    data = collected(y_true, y_proba_a, y_proba_b, sample_weight, groups)
    y_true, y_proba_a, y_proba_b, sample_weight, groups = data
    first, second = align_pair(
        y_true, (y_proba_a, y_proba_b), sample_weight, layout=layout, called=names
    )
    check_all_series(blocks, y_true, (y_proba_a, y_proba_b), layout, names)
    if groups is not None:
        called = replace(names[0], weight="groups"), replace(names[1], weight="groups")
        groups = exact("groups", groups)
        beside, _ = align_pair(y_true, (y_proba_a, y_proba_b), groups, layout=layout, called=called)
        groups = beside.weight
    a, b = (
        validate_groups(
            each.labels,
            each.proba,
            from_logits=from_logits,
            sample_weight=each.weight,
            groups=groups,
            blocks=blocks,
            labels=labels,
            pos_label=pos_label,
            link=link,
            ignore_index=ignore_index,
            one_class=not reduction.per_class,
            names=name,
        )
        for each, name in zip((first, second), names, strict=True)
    )
    if a.n_classes != b.n_classes:
        raise bad_value(
            "y_proba_b",
            f"{b.n_classes} classes",
            f"{a.n_classes}, as in y_proba_a",
            "compare models of the same classes",
        )
    a = look_for_repetitions(a)
    b = replace(b, repeated=a.repeated)
    # Both are dealt the same folds, by a generator too: equal predictions must not differ.
    chosen, again = same_draws(chosen)
    models = steps([(a, chosen), (b, again)])
    found = [decompositions(x, reduction, draws, generators, level) for x, draws in models]
    pairs = zip(*found, strict=True)
    results = [_compare(_OneModel.of(*x), _OneModel.of(*y), a, level) for x, y in pairs]
    return results if several else results[0]


class _OneModel(NamedTuple):
    """The estimate of one model under one generator."""

    rows: np.ndarray[Any, Any]
    """(n,) what each row adds to the calibration error."""
    result: Decomposition

    @classmethod
    def of(cls, terms: Terms, result: Decomposition) -> _OneModel:
        """Return the estimate of a method whose terms have intervals."""
        assert terms.one_step is not None  # noqa: S101  # what such a method promises
        return cls(to_numpy(terms.loss) - to_numpy(terms.one_step.loss), result)


def _compare(
    a: _OneModel, b: _OneModel, predictions: Predictions, confidence_level: float
) -> PairedDifference:
    errors = [float(each.result.calibration_error) for each in (a, b)]
    difference = errors[0] - errors[1]
    with np.errstate(invalid="ignore"):
        rows = a.rows - b.rows
    bounds = [float(each.result.lower_bound or 0.0) for each in (a, b)]
    error = math.hypot(
        standard_error(rows, predictions),
        *(estimate - bound for estimate, bound in zip(errors, bounds, strict=True)),
    )
    return PairedDifference(
        difference,
        error,
        _two_sided(difference, error),
        a.result,
        b.result,
        confidence_level,
    )


def _two_sided(difference: float, error: float) -> float:
    if difference == 0 or not math.isfinite(difference):
        return 1.0 if difference == 0 else math.nan
    return math.erfc(abs(difference) / error / math.sqrt(2)) if error > 0 else 0.0
