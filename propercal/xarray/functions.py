"""Decompositions, differences and tests of labelled arrays, for each place along what is kept."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from propercal._data.inputs.settings import check_confidence_level
from propercal._data.predictions.notions import as_notion
from propercal._data.words.messages import bad_value
from propercal._progress import with_progress
from propercal._results.estimates import units_of
from propercal._results.several import distinct_names
from propercal.decomposition import decompose as decompose_rows
from propercal.generators.base import BregmanGenerator
from propercal.generators.registry import as_generators
from propercal.inference.calibration_test import calibration_test as test_rows
from propercal.inference.contributions import as_terms, method_for
from propercal.inference.paired import paired_difference as difference_of_rows
from propercal.methods import as_methods
from propercal.xarray.cells import Cells
from propercal.xarray.class_labels import classes_of_all
from propercal.xarray.division import Dims, Division, check_labelled
from propercal.xarray.fields import of_decomposition, of_difference, of_test
from propercal.xarray.groups import groups_of
from propercal.xarray.signatures import with_options

if TYPE_CHECKING:
    import xarray as xr


@with_options(decompose_rows, without=("sample_weight", "class_axis", "sample_dims"))
@with_progress
def decompose(
    y_true: xr.DataArray,
    y_proba: xr.DataArray,
    *,
    class_dim: Hashable | None = None,
    dim: Dims = None,
    reduce_dims: Dims = None,
    preserve_dims: Dims = None,
    weights: object = None,
    groups: object = None,
    blocks: object = None,
    progress: bool | None = None,  # noqa: ARG001  # the decorator reads it
    **options: Any,
) -> xr.Dataset:
    r"""Split the risk of labelled arrays at each place along the dimensions that are kept.

    It is a loop of :func:`propercal.decompose` over these, in one call: over models, lead times and
    stations, say.

    Parameters
    ----------
    y_true : xarray.DataArray
        What occurred, along the dimensions of the samples, and any of those that are kept.
    y_proba : xarray.DataArray
        Predicted probabilities, along the dimensions of the samples, that of the classes, and any
        that are kept; without one of classes, the probability of the positive class of two. Either
        may be of Dask: then nothing is computed before ``.compute()``.
    class_dim : hashable, optional
        The dimension of the classes. By default the one that only `y_proba` has, if there is just
        one that is not named otherwise.
    dim, reduce_dims : hashable, list of these, or "all", optional
        Dimensions of the samples, whose places are the rows of one result. One name for both, in
        xskillscore and in scores. By default those of `y_true`.
    preserve_dims : hashable or list of these, optional
        Dimensions that are kept, in their place: all others but the classes are of samples.
    weights : xarray.DataArray, optional
        Weights ≥ 0, along any dimensions of samples and kept ones. Weight 0 is the same as leaving
        a row out, whatever is missing there.
    groups : hashable or xarray.DataArray, optional
        Which rows of a result may depend on each other: a dimension of samples, or a coordinate,
        whose equal values are of one group; or an array, as :func:`propercal.decompose` takes it.
    blocks : mapping, int or "auto", optional
        The same for series: ``{"time": 7}`` makes groups of seven places along a dimension, with
        all that is at these; a number, where rows have one dimension.
    progress : bool, optional
        As in :func:`propercal.decompose`.
    **options
        All others of :func:`propercal.decompose`: `generator`, `notion`, `method` and its settings,
        `labels`, `pos_label`, `from_logits`, `link`, `ignore_index`, `confidence_level`.

    Returns
    -------
    xarray.Dataset
        Variables of :meth:`propercal.Decomposition.to_xarray` along the kept dimensions, with their
        coordinates, and along "generator" and "estimator" where `generator` and `method` are lists.
        What differs from result to result is a variable too: ``bandwidth``, ``n_samples``,
        ``n_groups``, ``kernel_rows``, ``training_rows``, ``n_infinite_loss_rows``. NaN stands for
        what a result does not have, such as an interval of an infinite term.

    Raises
    ------
    ValueError
        If an argument cannot be used; the message names it, its value, what to do, and the place.
        What depends on lazy data is found when it is computed.

    Warns
    -----
    UserWarning
        What :func:`propercal.decompose` warns of, with the place; once where several places differ
        in numbers alone.

    Notes
    -----
    Coordinates are matched by name, classes too, in any order; the same places have to be in all
    arrays. Other coordinates that contradict each other are left out of the result. Labels that are
    numbers count classes from 0 or 1 as all places together tell, those that are lazy as each place
    does: pass ``labels`` where a class may be absent from some. Chunks along
    samples and classes are put together, those along kept dimensions are computed one by one. Every
    result has the same folds.

    Examples
    --------
    >>> import xarray as xr
    >>> from propercal.simulation import TemperatureScaledSimplex
    >>> y, g, p = TemperatureScaledSimplex(3).sample(1000, random_state=0)
    >>> y = xr.DataArray(y, dims="time")
    >>> models = xr.DataArray([g, p], {"model": ["sharp", "true"]}, ("model", "time", "class"))
    >>> found = decompose(y, models, class_dim="class")
    >>> found.risk.dims, bool(found.risk.sel(model="true") < found.risk.sel(model="sharp"))
    (('model',), True)
    """
    generators, several = as_generators(options.get("generator", "log"))
    attrs = _attrs(generators, several, options)
    settings = {name: options[name] for name in _SETTINGS if name in options}
    methods, several_methods = as_methods(options.get("method", "debiased"), settings)
    for each in methods:
        _check_seed(getattr(each, "random_state", 0))
    arrays, division, given = _read(
        {"y_proba": y_proba, "y_true": y_true},
        Named(class_dim, dim, reduce_dims, preserve_dims),
        Beside(weights, groups, blocks),
        options,
    )
    names = distinct_names(generators)
    axes = {"estimator": distinct_names(methods)} if several_methods else {}
    axes |= {"generator": names} if several else {}
    fields = of_decomposition(methods, grouped=_grouped(arrays, given))
    ask = partial(_decompose, options | given)
    found = Cells(ask, arrays, division, fields, axes, units=_units(generators)).dataset()
    attrs |= {} if several_methods else {"method": methods[0].name}
    attrs["n_classes"] = 2 if division.classes is None else max(2, y_proba.sizes[division.classes])
    return found.assign_attrs(attrs)


@with_options(difference_of_rows, without=("sample_weight", "class_axis", "sample_dims"))
@with_progress
def paired_difference(
    y_true: xr.DataArray,
    y_proba_a: xr.DataArray,
    y_proba_b: xr.DataArray,
    *,
    class_dim: Hashable | None = None,
    dim: Dims = None,
    reduce_dims: Dims = None,
    preserve_dims: Dims = None,
    weights: object = None,
    groups: object = None,
    blocks: object = None,
    progress: bool | None = None,  # noqa: ARG001  # the decorator reads it
    **options: Any,
) -> xr.Dataset:
    """Compare two models at each place along the dimensions that are kept.

    Parameters
    ----------
    y_true, class_dim, dim, reduce_dims, preserve_dims, weights, groups, blocks, progress
        As in :func:`propercal.xarray.decompose`.
    y_proba_a, y_proba_b : xarray.DataArray
        Predictions of the two, of the same dimensions.
    **options
        All others of :func:`propercal.paired_difference`.

    Returns
    -------
    xarray.Dataset
        Variables of :meth:`propercal.PairedDifference.to_xarray` along the kept dimensions, and
        along "generator" and "term" where these are lists. P-values are each by itself.

    Raises
    ------
    ValueError
        If an argument cannot be used; the message names it, its value, what to do, and the place.
    """
    generators, several = as_generators(options.get("generator", "log"))
    attrs = _attrs(generators, several, options)
    terms, several_terms = as_terms(options.get("term", "calibration_error"))
    settings = {name: options[name] for name in _SETTINGS if name in options}
    method = method_for(terms, options.get("method", "debiased"), settings)
    _check_seed(getattr(method, "random_state", 0))
    arrays, division, given = _read(
        {"y_proba_a": y_proba_a, "y_true": y_true, "y_proba_b": y_proba_b},
        Named(class_dim, dim, reduce_dims, preserve_dims),
        Beside(weights, groups, blocks),
        options,
    )
    axes = {"generator": distinct_names(generators)} if several else {}
    axes |= {"term": [each.name for each in terms]} if several_terms else {}
    fields = of_difference(grouped=_grouped(arrays, given))
    ask = partial(_difference, options | given)
    found = Cells(ask, arrays, division, fields, axes, units=_units(generators)).dataset()
    attrs |= {"method": method.name} | ({} if several_terms else {"term": terms[0].name})
    return found.assign_attrs(attrs)


@with_options(test_rows, without=("sample_weight", "class_axis", "sample_dims"))
@with_progress
def calibration_test(
    y_true: xr.DataArray,
    y_proba: xr.DataArray,
    *,
    class_dim: Hashable | None = None,
    dim: Dims = None,
    reduce_dims: Dims = None,
    preserve_dims: Dims = None,
    weights: object = None,
    groups: object = None,
    blocks: object = None,
    progress: bool | None = None,  # noqa: ARG001  # the decorator reads it
    **options: Any,
) -> xr.Dataset:
    """Test calibration at each place along the dimensions that are kept.

    Parameters
    ----------
    y_true, y_proba, class_dim, dim, reduce_dims, preserve_dims, weights, groups, blocks, progress
        As in :func:`propercal.xarray.decompose`.
    **options
        All others of :func:`propercal.calibration_test`. A seed is that of every place.

    Returns
    -------
    xarray.Dataset
        ``statistic``, ``pvalue``, ``n_samples`` and ``n_groups`` along the kept dimensions.
        P-values are each by itself: of many, some are small by chance.

    Raises
    ------
    ValueError
        If an argument cannot be used; the message names it, its value, what to do, and the place.
    """
    generators, several = as_generators(options.get("generator", "log"))
    if several:
        raise bad_value("generator", "a list", "one generator", "call it for each")
    notion = as_notion(options.get("notion", "canonical")).name
    _check_seed(options.get("random_state"))
    arrays, division, given = _read(
        {"y_proba": y_proba, "y_true": y_true},
        Named(class_dim, dim, reduce_dims, preserve_dims),
        Beside(weights, groups, blocks),
        options,
    )
    ask = partial(_test, options | given)
    fields = of_test(grouped=_grouped(arrays, given))
    found = Cells(ask, arrays, division, fields, {}).dataset()
    return found.assign_attrs(generator=repr(generators[0]), notion=notion)


class Named(NamedTuple):
    """Dimensions that the caller names."""

    class_dim: Hashable | None
    dim: Dims
    reduce_dims: Dims
    preserve_dims: Dims


class Beside(NamedTuple):
    """What is given beside labels and predictions."""

    weights: object
    groups: object
    blocks: object


#: Of methods.
_SETTINGS = (
    "kernel",
    "bandwidth",
    "recalibrator",
    "n_folds",
    "random_state",
    "exclude_self",
    "algorithm",
)


def _read(
    arrays: Mapping[str, Any], named: Named, beside: Beside, options: Mapping[str, Any]
) -> tuple[dict[str, xr.DataArray], Division, dict[str, Any]]:
    """Return arrays in one order, what dimensions are for, and what the reader is told."""
    for argument, values in arrays.items():
        check_labelled(argument, values)
    first = next(iter(arrays.values()))
    division = Division.of(arrays["y_true"], first, **named._asdict())
    found = dict(arrays)
    weighted = beside.weights is not None
    if weighted:
        check_labelled("weights", beside.weights)
        found["weights"] = beside.weights
    of_rows, left = groups_of(beside.groups, beside.blocks, found, division)
    if of_rows is not None:
        found["groups"] = of_rows
    given = {"blocks": left, "class_dim": division.classes, "sample_dims": list(division.samples)}
    labels = classes_of_all(arrays["y_true"], first, division, options, weighted=weighted)
    if labels is not None:
        given["labels"] = labels
    return division.in_one_order(found), division, given


def _grouped(arrays: Mapping[str, Any], given: Mapping[str, Any]) -> bool:
    return "groups" in arrays or given["blocks"] is not None


def _check_seed(random_state: object) -> None:
    """Refuse a generator, which every place would draw other numbers from, in no order."""
    if isinstance(random_state, np.random.Generator):
        raise bad_value(
            "random_state",
            "a Generator",
            "a seed, since results are computed in no order",
            "pass a number, such as 0",
        )


def _attrs(
    generators: Sequence[BregmanGenerator], several: bool, options: Mapping[str, Any]
) -> dict[str, Any]:
    return {
        **({} if several else {"generator": repr(generators[0])}),
        "notion": as_notion(options.get("notion", "canonical")).name,
        "confidence_level": check_confidence_level(options.get("confidence_level", 0.95)),
    }


def _units(generators: Sequence[BregmanGenerator]) -> str:
    """Return the units of the terms, where all have the same."""
    found = {units_of(each) for each in generators}
    return found.pop() if len(found) == 1 else ""


def _decompose(options: Mapping[str, Any], y_true: Any, y_proba: Any, **more: Any) -> Any:
    return decompose_rows(y_true, y_proba, **_named(options, more))


def _test(options: Mapping[str, Any], y_true: Any, y_proba: Any, **more: Any) -> Any:
    return test_rows(y_true, y_proba, **_named(options, more))


def _difference(
    options: Mapping[str, Any], y_true: Any, y_proba_a: Any, y_proba_b: Any, **more: Any
) -> Any:
    return difference_of_rows(y_true, y_proba_a, y_proba_b, **_named(options, more))


def _named(options: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments as functions of rows call them."""
    found = {**options, **more}
    weights = found.pop("weights", None)
    if weights is not None and not weights.ndim:
        # One for all rows of a result: its scale does not matter.
        _check_weight(weights.item())
        weights = None
    return found if weights is None else {**found, "sample_weight": weights}


def _check_weight(weight: Any) -> None:
    """Raise unless the weight of all rows of a result is above 0."""
    number = isinstance(weight, int | float)
    if not number or not 0 < weight < math.inf:
        raise bad_value(
            "weights", weight, "finite weights ≥ 0, and some above 0", "leave the place out by .sel"
        )
