"""Risk = calibration error + refinement, from predictions and labels."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial
from typing import Any, Unpack, overload

from propercal._array import ignore_underflow
from propercal._data.dependence.groups import validate_groups
from propercal._data.dependence.repetitions import look_for_repetitions
from propercal._data.inputs.settings import check_confidence_level
from propercal._data.predictions.notions import Notion, as_notion
from propercal._data.predictions.predictions import Predictions, Reading
from propercal._data.words.messages import bad_value
from propercal._methods.completion import decompositions
from propercal._progress import steps, with_progress
from propercal._results.several import Results, one_or_several
from propercal.generators.registry import GeneratorLike, as_generators
from propercal.methods import (
    Debiased,
    Method,
    MethodLike,
    Risk,
    Settings,
    as_methods,
    with_settings,
)
from propercal.result import Decomposition
from propercal.sketch.dask import as_plan, decompose_blocks, is_dask


class DataOptions(Settings, Reading, total=False):
    """Keyword arguments beside the generator and the method."""

    notion: str | Notion
    groups: object
    blocks: int | str | None
    confidence_level: float
    progress: bool | None


@overload
def decompose(  # type: ignore[overload-overlap]  # a string is a sequence of strings too
    y_true: object,
    y_proba: object,
    *,
    generator: GeneratorLike = ...,
    method: MethodLike = ...,
    **options: Unpack[DataOptions],
) -> Decomposition: ...
@overload
def decompose(  # type: ignore[overload-overlap]
    y_true: object,
    y_proba: object,
    *,
    generator: Sequence[GeneratorLike],
    method: MethodLike = ...,
    **options: Unpack[DataOptions],
) -> Results[Decomposition]: ...
@overload
def decompose(  # type: ignore[overload-overlap]
    y_true: object,
    y_proba: object,
    *,
    generator: GeneratorLike = ...,
    method: Sequence[MethodLike],
    **options: Unpack[DataOptions],
) -> Results[Decomposition]: ...
@overload
def decompose(
    y_true: object,
    y_proba: object,
    *,
    generator: Sequence[GeneratorLike],
    method: Sequence[MethodLike],
    **options: Unpack[DataOptions],
) -> Results[Results[Decomposition]]: ...
@with_settings(Debiased, Risk)
@ignore_underflow
@with_progress
def decompose(
    y_true: object,
    y_proba: object,
    *,
    generator: GeneratorLike | Sequence[GeneratorLike] = "log",
    notion: str | Notion = "canonical",
    method: MethodLike | Sequence[MethodLike] = "debiased",
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
) -> Decomposition | Results[Decomposition] | Results[Results[Decomposition]]:
    r"""Split the risk of predicted probabilities into calibration error and refinement.

    With r = E[Y | g(X)], what really happens where the model predicts g:

    .. math::

        \underbrace{E\, L_F(g, Y)}_\text{risk} &=
        \underbrace{E\, D_F(r, g)}_\text{calibration error} +
        \underbrace{E\,[-F(r)]}_\text{refinement}, \\
        \text{refinement} &= \underbrace{-F(E\,Y)}_\text{uncertainty} - \text{sharpness}.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k)
        What occurred: class numbers 0 to k − 1, booleans, strings, or a one-hot matrix (any
        indicator matrix for the class-wise notion, whose rows of probabilities then need not sum
        to 1).
    y_proba : array-like of shape (n,), (n, 1) or (n, k)
        Predicted probabilities g; (n,) is the probability of the positive class of two. Either may
        be a Dask array, Series or DataFrame whose partitions hold the same rows (see Notes).
    generator : str, BregmanGenerator, class, callable, or a list of these
        The convex function F, thereby the loss: "log" (nats), "brier" (summed over classes),
        "spherical", ..., see :func:`propercal.generators.available`. A list shares the kernel sums
        and returns a list.
    notion : {"canonical", "classwise", "top-label"}
        Calibration of the whole vector g; of each g_i against the rest, on pairs (1 − p, p),
        averaged over classes; or of the largest g_i, on such pairs.
    method : {"debiased", "direct", "risk"}, Method, or a list of these
        "debiased" measures what recalibration saves on rows that took no part in it, corrects that
        for its bias, and has an interval for every term (see Notes). The published methods take
        leave-one-out kernel means r̂ of the labels for r, and correct no bias: "direct" estimates
        the calibration error by mean D_F(r̂, g), Eq. 7, and takes that from the risk; "risk"
        estimates the refinement by mean −F(r̂), Eq. 13, and takes that from the risk, Eq. 12. An
        object of :mod:`propercal.methods` has its own settings. A list reads the data once and
        returns a list, which holds the results of each method.
    **settings
        Settings of a method that is named, which it refuses where it does not heed them:
    kernel : {"dirichlet", "uniform-bins", "quantile-bins"} or None
        Which predictions count as near each other, "dirichlet" by default. The debiased
        method takes that, or None to rely on recalibration alone.
    bandwidth : float or "auto"
        Bandwidth γ of the kernel, 1e-9 to 1e9, in units of probability (bins: 1 / their number).
        "auto", the default, is
        :func:`propercal.select_bandwidth` by the risk criterion for each generator, 1/15 for bins;
        debiased, each fold's choice among five bandwidths and no kernel correction.
    recalibrator : object or list of objects, optional
        Debiased method: estimators of E[Y | g] in the style of scikit-learn, with ``fit(X, y)``
        and ``predict_proba(X)`` for the probabilities X, in place of the built-in families. Several
        are averaged with the weights that predict best. Copies are fitted, without the rows they
        are used on. A probability of 0 that one returns counts as e^−104, about 1e-45.
    n_folds : int
        Debiased method: folds of cross-fitting, 3 to 20, 5 by default.
    random_state : int, numpy.random.Generator, numpy.random.SeedSequence or None
        Debiased method: how rows are dealt to folds. The default 0 gives the same folds each time.
    exclude_self : bool
        Published methods: leave the label at a point out of r̂ there. The usual binned
        estimates do not. True by default.
    algorithm : {"auto", "exact", "linear"}
        How the kernel is summed, see :func:`propercal.conditional_mean`: "linear" takes time O(n)
        where problems are one-dimensional (class-wise, top-label, two classes). "auto" takes it
        where it is expected to be faster (direct and risk: if F is finite at the vertices too).
    from_logits : bool
        Take `y_proba` as logits, of which probabilities and their logarithms are computed without
        loss: softmax over columns; a sigmoid for one column, and for each column where an indicator
        matrix marks several classes in some row, or `link` says so.
    sample_weight : array-like of shape (n,), optional
        Weights ≥ 0. Their scale does not matter; weight 0 is the same as leaving a row out. Beside
        Dask collections it may be one (see Notes).
    groups : array-like of shape (n,), optional
        Which rows may depend on each other: a number or string for each row, the same for rows of
        one patient, document or device, or for repetitions of one row. Rows of different groups
        are taken to be independent. Groups are matched with the rows as weights are. Debiased
        method, 20 groups or more (see Notes).
    blocks : int or "auto", optional
        The same for a series: so many rows in a row are one group, in the order of `y_proba`.
        "auto" takes the cube root of n, rounded up. Rows that are known to stand in another order
        than that of one series are refused.
    labels : sequence of length k, optional
        The class that each column of `y_proba` stands for. By default the names of columns, where
        they have names (those of `y_true` must be among them), else the numbers 0 to k − 1, or as
        many strings as columns in alphabetical order. The guide "Conventions and pitfalls" has a
        table of all rules.
    pos_label : optional
        The class that a single column of `y_proba` is the probability of. By default 1 of labels 0
        and 1 (or −1 and 1), True, or the class that the column is named after; else it is asked
        for.
    link : {"softmax", "sigmoid"}, optional
        With logits of several columns and an indicator matrix: what is between them and
        probabilities. An indicator matrix may go with either, so it is asked for, unless some row
        marks several classes, which sigmoids alone allow. A row that marks none may have no class,
        beside sigmoids, or no label: then drop it, or give it a weight of 0.
    ignore_index : optional
        Rows of this label are left out, such as −100 of torch; of Dask collections as rows of
        weight 0 are (see Notes).
    class_axis : int, optional
        Axis of the classes in an array of several axes, 1 of shape (n, k, h, w): each place is a
        row, of which `y_true` (n, h, w) has a label.
    class_dim : optional
        Name of the dimension of the classes of a DataArray of xarray, where the labels do not tell.
        Coordinates name classes and align rows.
    sample_dims : optional
        Names of the dimensions of its samples, where the labels do not tell. Arrays without names
        have their samples in this order.
    confidence_level : float
        Level of :meth:`Decomposition.interval`.
    progress : bool, optional
        Whether to show a bar. By default calls that are expected to take over 10 s have one, on a
        terminal or in a notebook. Results do not depend on it.

    Returns
    -------
    Decomposition, or Results
        Its terms are Python floats for NumPy input and scalar tensors, with gradients, for torch.
        Of several generators, or methods, a list (:class:`propercal.Results`), of several of both a
        list of lists.

    Raises
    ------
    ValueError
        If an argument cannot be used; the message names it, its value, and what to do. A setting
        that the method does not take is a TypeError too.

    Warns
    -----
    UserWarning
        If a term is infinite (with the rows that make it so), if rows do not quite sum to 1, if
        the bandwidth search ends at a bound, or if the debiased calibration error leans on the
        kernel correction, or the recalibrated predictions are seen not to be calibrated (then it
        is likely to be too small), if very unequal weights leave an
        effective number of rows below 20, if rows of equal predictions have equal labels so often
        that they must be repetitions, and no `groups` are given, if fewer than five rows had an
        outcome that was given one half or less (debiased), or if labels 1 to k − 1 are read
        as numbers from 0, though seven rows or more should be of class 0 by their predictions.

    Notes
    -----
    The debiased refinement is mean[L_F(r̂, y) − V]. Each r̂_h comes from rows other than h: families
    of recalibrations, fitted by folds and averaged with the weights that predict other folds best,
    times what the kernel sees in their residuals, if that predicts other folds better. Its mean is
    the refinement plus E D_F(r, r̂), of second order in r̂ − r; V = ½ tr(∇²F Cov r̂) estimates the
    variance part of that; with the built-in recalibrations it is at most 1.5 mean D_F(g, r̂). What
    no family has and the kernel cannot resolve makes the calibration error too small on average.
    Chance, and an error of V, may go either way. What the recalibrations leave unexplained is
    looked for (``misfit_pvalue``). Without V the calibration
    error is ``lower_bound``: whatever r is, its *expectation* is at most the truth, but for the
    effect of choosing a kernel (which is judged with the V of other folds, whose fits have seen the
    row's own label). At least 20 rows are needed, and a tensor that tracks no gradient.

    Where canonical predictions of three or more classes have over 2000 rows, the kernel is chosen
    by some of them, spread over all: a quarter, at least 2000, and from 2000 to 5000 where there
    are over 20 000 rows. Up to 20 000 rows every row is corrected from all others; beyond, every
    row is still corrected, from a sample of 20 000 rows, fewer where k > 500 (``kernel_rows``).
    The built-in recalibrations are fitted to 10⁷ probabilities at most, 10 000 rows of 1000 classes
    (``training_rows``).

    With `groups`, whole groups are dealt to folds and left out of kernel sums; standard errors are
    those of sums over groups, with the factor G / (G − 1); and V, as the counts that recalibrations
    are drawn to nothing by, takes rows of a group for as many as their correlation makes of them,
    which is estimated from residuals. The published methods would see a row's label again in those
    of its group, and take no groups. Nor do Dask collections and sketches, which deal rows to
    folds chunk by chunk. The kernel is summed over all pairs of rows, but from tables.

    Both published methods are consistent as n → ∞ and γ → 0, and both are biased at any bandwidth
    in use: the bias vanishes like 1/n only relative to the limit at fixed γ, which may lie on
    either side of the truth. A small n raises both estimates; a bandwidth too wide for the data
    lowers that of the risk method, even below 0. The calibration error of a good model is often
    smaller than this bias.

    Time is O(n k) for one-dimensional problems (class-wise, top-label, two classes), and O(n² k)
    for canonical ones of three or more classes; beyond 20 000 rows the debiased method takes O(n k)
    for these too. Memory is O(n k).

    Dask collections are summed up by the active scheduler, a :class:`propercal.CalibrationSketch`
    for each partition, for one-dimensional problems; weights and `ignore_index` are for the
    debiased method alone. Weights have the partitions of the predictions, or are in memory beside
    partitions of known sizes. The debiased estimate is that of memory, but for how each partition
    deals its rows to folds. For a published method, "auto" chooses a bandwidth for each generator
    by the risk criterion from 20 000 rows at equal distances, in a pass of its own, as does naming
    classes where labels are strings and `labels` is not given. Where such a sketch may be off by
    more than 1e-6 of a term, up to 10⁶ rows (and 10⁸ numbers; 20 000 rows where F is infinite at a
    vertex) are loaded and decomposed in memory, in a second pass; beyond that it warns.

    References
    ----------
    Popordanoska, Gruber, Tiulpin, Buettner & Blaschko (2024), "Consistent and asymptotically
    unbiased estimation of proper calibration errors", sections 3 and 4, appendix C.

    Examples
    --------
    >>> from propercal.simulation import TemperatureScaledSimplex
    >>> y_true, y_proba, _ = TemperatureScaledSimplex(3).sample(1000, random_state=0)
    >>> result = decompose(y_true, y_proba, bandwidth=0.02)
    >>> round(result.risk - result.calibration_error - result.refinement, 12)
    0.0
    """
    methods, several_methods = as_methods(method, settings)
    generators, several = as_generators(generator)
    reduction = as_notion(notion)
    level = check_confidence_level(confidence_level)
    reading: Reading = {
        "from_logits": from_logits,
        "sample_weight": sample_weight,
        "labels": labels,
        "pos_label": pos_label,
        "link": link,
        "ignore_index": ignore_index,
        "class_axis": class_axis,
        "class_dim": class_dim,
        "sample_dims": sample_dims,
    }
    results: list[list[Decomposition]]
    if is_dask(y_true) or is_dask(y_proba):
        _check_no_groups(groups, blocks)
        plans = [
            as_plan(generators, reduction.name, each, confidence_level=level, **reading)
            for each in methods
        ]
        again: Any = partial(
            decompose,
            generator=generators,
            notion=notion,
            from_logits=from_logits,
            confidence_level=level,
        )
        results = [
            decompose_blocks(y_true, y_proba, plan, partial(again, method=each), sample_weight)
            for plan, each in zip(plans, methods, strict=True)
        ]
    else:
        one_class = not reduction.per_class
        predictions = validate_groups(
            y_true, y_proba, groups=groups, blocks=blocks, one_class=one_class, **reading
        )
        predictions = look_for_repetitions(_check_methods(methods, predictions))
        results = [
            [
                result
                for _, result in decompositions(predictions, reduction, each, generators, level)
            ]
            for each in steps(methods)
        ]
    parts = [one_or_several(each, generators, "generator", several) for each in results]
    return one_or_several(parts, methods, "estimator", several_methods)  # type: ignore[no-any-return]


def _check_no_groups(groups: object, blocks: object) -> None:
    """Refuse groups of rows that partitions would tear apart."""
    for name, value in (("groups", groups), ("blocks", blocks)):
        if value is not None:
            raise bad_value(
                name,
                f"a {type(value).__name__} beside a Dask collection",
                "data in memory",
                "each partition is summed up by itself, where no sum by group is kept, and a group "
                "may lie in several; call .compute() on the data",
            )


def _check_methods(methods: Sequence[Method], predictions: Predictions) -> Predictions:
    """Refuse methods that would not leave out the groups of rows."""
    for method in methods:
        if predictions.groups is not None and not method.corrects_bias:
            raise bad_value(
                predictions.grouped_by,
                f"{predictions.n_groups} {predictions.grouped_by}",
                f"none with method={method.name!r}, whose r̂ at a row sees the labels of its "
                f"{predictions.grouped_by[:-1]}",
                f'use method="debiased", which leaves out whole {predictions.grouped_by}',
            )
    return predictions
