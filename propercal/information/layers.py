"""How much of the label the layers of a network still know."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from propercal._array import is_array, like, log_softmax, namespace, no_gradient, scalar, to_numpy
from propercal._data.classes.label_values import read_values
from propercal._data.classes.labels import read_labels
from propercal._data.classes.members import check_members
from propercal._data.classes.naming import NO_LABEL
from propercal._data.inputs.held import Held
from propercal._data.inputs.holders import hold
from propercal._data.inputs.missing_codes import negative_codes
from propercal._data.inputs.reading import Names, is_missing
from propercal._data.inputs.settings import check_bandwidth, check_flag, check_names, names_given
from propercal._data.inputs.texts import check_classes, check_columns
from propercal._data.predictions.notions import Problem
from propercal._data.predictions.several_models import align_all
from propercal._data.predictions.weights import read_weights
from propercal._data.words.advice import advises
from propercal._data.words.messages import bad_value, some_rows
from propercal._data.words.tokens import is_permutation, plain
from propercal._kernels.bandwidth import select_by_risk
from propercal._kernels.conditional import kernel_mean
from propercal._kernels.kernels import as_kernel
from propercal._methods.terms import smoothed_sharpness
from propercal._progress import steps, with_progress
from propercal._typing import Array
from propercal.generators import BregmanGenerator, as_generator
from propercal.generators.order import check_names_order
from propercal.generators.registry import GeneratorLike

_NAMES = Names(proba="a prediction")


@with_progress
@advises("labels", "sample_weight", "bandwidth", "generator", "standardise")
def layer_sharpness(
    activations: Sequence[object],
    y_true: object,
    *,
    generator: GeneratorLike = "log",
    bandwidth: float | str = "auto",
    standardise: bool = True,
    sample_weight: object = None,
    labels: Sequence[Any] | None = None,
    progress: bool | None = None,  # noqa: ARG001  # the decorator reads it
) -> list[Any]:
    r"""Estimate how sharp a prediction from each layer's activations alone could be.

    .. math:: \mathrm{SHARP}_F(h) = E\,F(E[Y \mid h(X)]) - F(E\,Y)

    In the population no layer is sharper than the one before it, whatever the loss: the data
    processing inequality, which for "log" is that of mutual information.

    Parameters
    ----------
    activations : sequence of array-like of shape (n,) or (n, ...)
        One array a layer, in any order; axes after the first are taken together as d coordinates.
    y_true : array-like of shape (n,) or (n, k)
        The class that occurred: numbers, booleans, strings, or a one-hot matrix.
    generator : str, BregmanGenerator, class or callable
        The convex function F.
    bandwidth : float or "auto"
        Bandwidth γ of the Dirichlet kernel, 1e-9 to 1e9, for all layers; "auto" chooses one for
        each by the leave-one-out risk, as :func:`propercal.select_bandwidth` does.
    standardise : bool
        First bring every coordinate to mean 0 and standard deviation 1.
    sample_weight : array-like of shape (n,), optional
        Weights ≥ 0, as in :func:`propercal.decompose`.
    labels : sequence of length k, optional
        The classes, for a generator that tells them apart. By default the columns of a one-hot
        matrix, or labels that occur, in the order of their categories or else sorted.
    progress : bool, optional
        As in :func:`propercal.decompose`.

    Returns
    -------
    list of float or of scalar tensors
        One sharpness a layer, in nats for "log"; for torch, tensors that carry the gradient.

    Raises
    ------
    ValueError
        If an argument cannot be used; the message names it, its value, and what to do.

    Warns
    -----
    UserWarning
        If a bandwidth search ends at a bound.

    Notes
    -----
    The estimate is the one of :func:`propercal.decompose` (method "risk", a leave-one-out kernel
    mean), on points of a simplex. Activations z are taken there by a softmax over (0, z_1, ...,
    z_d), which loses nothing: z_i is the log-ratio of two of the d + 1 coordinates. One-to-one maps
    leave the sharpness itself as it is, but not its estimate: smoothing treats alike whatever the
    softmax brings together, hence the standardisation, which is one-to-one too.

    Estimates of neighbouring layers may be in the wrong order. They are biased by the bandwidth
    (downwards) and by the number of samples (upwards, more so in many dimensions: hundreds of
    coordinates need far more samples than a few).

    References
    ----------
    Popordanoska et al. (2024), "Consistent and asymptotically unbiased estimation of proper
    calibration errors", sections 5.2 and 6.3.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(500, 2))
    >>> y = (x[:, 0] + 0.5 * rng.normal(size=500) > 0).astype(int)
    >>> hidden = np.tanh(x @ [[1.0, 1.0], [0.5, -1.0]])
    >>> output = np.maximum(hidden[:, :1], 0)
    >>> [round(value, 3) for value in layer_sharpness([x, hidden, output], y)]
    [0.301, 0.298, 0.205]
    """
    if not isinstance(activations, list | tuple) or not activations:
        raise bad_value(
            "activations",
            f"an empty {type(activations).__name__}"
            if isinstance(activations, list | tuple)
            else f"a {type(activations).__name__}",
            "a list of arrays, one a layer",
            "put a single layer into a list",
        )
    chosen = as_generator(generator)
    automatic = isinstance(bandwidth, str) and bandwidth == "auto"
    gamma = None if automatic else check_bandwidth(bandwidth)
    check_flag("standardise", standardise)
    names = _class_names(y_true, labels)
    check_names_order(names, [chosen], said=labels is not None)
    called = [Names(proba=f"activations[{i}]") for i in range(len(activations))]
    layers = []
    aligned = align_all(y_true, activations, sample_weight, called=called)
    for each, held in zip(called, aligned, strict=True):
        beside = held.labels, each.proba, each
        check_members(held.proba, *beside, "activations", sample_weight)
        layer = _coordinates(each.proba, held.proba, held.labels.values.shape[:1])
        layers.append((layer, held))
    return [
        _sharpness(layer, held.labels, chosen, gamma, standardise, held.weight, names)
        for layer, held in steps(layers)
    ]


def _sharpness(
    layer: Array,
    y_true: object,
    generator: BregmanGenerator,
    gamma: float | None,
    standardise: bool,
    sample_weight: object,
    names: Sequence[Any],
) -> Any:
    xp = namespace(layer)
    problem, rows = _labelled(layer, y_true, sample_weight, names)
    values = xp.take(xp.astype(layer, xp.float64), like(rows, layer), axis=0)
    if standardise:
        values = _standardised(values, problem.weight)
    log_points = _injective_log_softmax(values)
    problem = replace(problem, prob=xp.exp(log_points), log_prob=log_points)
    if gamma is None:
        with no_gradient(layer):
            gamma = select_by_risk([problem], as_kernel("dirichlet"), [generator])[0]
    mean = kernel_mean(problem, as_kernel("dirichlet"), gamma).mean
    value = smoothed_sharpness(problem, mean, generator)
    if np.isnan(to_numpy(value)):
        raise bad_value(
            "generator",
            repr(generator),
            "F finite at the class probabilities",
            "leave out labels that do not occur, or use a generator that is finite on the "
            "boundary, such as 'brier'",
        )
    return scalar(value, layer.dtype)


def _labelled(
    layer: Array, y_true: object, sample_weight: object, names: Sequence[Any]
) -> tuple[Problem, npt.NDArray[np.intp]]:
    """Return the layer (n, d) with its labels and weights, and the rows of positive weight."""
    xp = namespace(layer)
    n = layer.shape[0]
    classes = read_labels(y_true, len(names), labels=names)
    if classes.codes is None:
        raise bad_value(
            "y_true",
            "an indicator matrix whose rows do not all mark exactly one class",
            "one class per row",
            "pass the class that occurred",
        )
    exact = xp.astype(layer, xp.float64)
    weight, uniform, keep = read_weights(sample_weight, n, exact)
    rows = np.arange(n) if keep is None else keep
    index = like(rows, layer)
    label = xp.take(like(classes.codes, layer), index)
    problem = Problem(exact, exact, label, xp.take(weight, index), uniform, len(names))
    return problem, rows


def _standardised(values: Array, weight: Array) -> Array:
    """Bring each column to mean 0 and standard deviation 1; one that is constant, to 0 or ±1."""
    xp = namespace(values)
    centred = values - xp.sum(weight[:, None] * values, axis=0)
    variance = xp.sum(weight[:, None] * centred**2, axis=0)
    varies = variance > 0
    return centred / xp.where(varies, xp.sqrt(xp.where(varies, variance, 1.0)), 1.0)


def _injective_log_softmax(values: Array) -> Array:
    """Log-softmax over a logit of 0 and `values` (n, d), whose differences give `values` back."""
    xp = namespace(values)
    logits = xp.concat([xp.zeros_like(values[:, :1]), values], axis=1)
    return log_softmax(logits)


def _coordinates(argument: str, held: Held, n_labels: tuple[int, ...]) -> Array:
    """Return a layer as finite floating-point numbers of shape (n, d)."""
    layer = held.values
    values: Array = layer if is_array(layer) else np.asarray(layer)
    xp = namespace(values)
    n = tuple(values.shape[:1])
    if not n or 0 in values.shape or n < (2,) or n != n_labels:
        raise bad_value(
            argument,
            f"an array of shape {tuple(values.shape)}",
            f"two rows or more, as many as y_true has labels ({(*n_labels, 1)[0]})",
            "pass the activations and the label of every sample, one a row",
        )
    odd_kind = isinstance(values, np.ndarray) and values.dtype.kind not in "biuf"
    if odd_kind or (is_array(values) and xp.isdtype(values.dtype, "complex floating")):
        raise bad_value(
            argument, f"values of type {values.dtype}", "real numbers", "convert them to floats"
        )
    values = xp.reshape(values, (values.shape[0], -1))
    # What has 8 bits has no arithmetic.
    if not xp.isdtype(values.dtype, "real floating") or "float8" in str(values.dtype):
        values = xp.astype(values, xp.float64)
    odd = to_numpy(~xp.all(xp.isfinite(values), axis=1))
    if odd.any():
        raise bad_value(
            argument,
            f"NaN or inf at {some_rows(held.given(np.flatnonzero(odd)))}",
            "finite numbers",
            "drop or repair these rows",
        )
    return values


def _sorted(names: Collection[Any], held: Held) -> list[Any]:
    """Return labels in the order of their categories; digits by their number, others by name."""
    if held.categories is not None and set(names) <= set(held.categories):
        return [each for each in held.categories if each in names]
    digits = all(isinstance(name, str) and isinstance(plain(name), int) for name in names)
    # By type first, so that a mix of types reaches the check that explains it.
    return sorted(names, key=lambda each: (type(each).__name__, plain(each) if digits else each))


def _class_names(y_true: object, labels: Sequence[Any] | None) -> Sequence[Any]:
    """Return the classes: as given, the columns of a one-hot matrix, or the labels that occur."""
    if labels is not None:
        given = names_given(labels)
        return check_names(given, len(given) if given.ndim else 1, _NAMES) or ()
    held = hold("y_true", y_true)
    outcomes = read_values(held)
    if outcomes.ndim == 2 and outcomes.shape[1] > 1:
        if held.columns is None or is_permutation(held.columns):
            return range(outcomes.shape[1])
        check_columns("y_true", held.columns)
        return held.columns
    given_names = outcomes.ravel().tolist()
    odd = outcomes.dtype.kind in "Of" and any(
        not isinstance(each, Hashable) or is_missing(each) for each in given_names
    )
    if odd or outcomes.ndim != 1:
        # Which the reader of labels explains.
        return range(2)
    names = _sorted(set(given_names), held)
    check_classes("y_true", names)
    _check_codes(outcomes, names)
    if len(names) < 2:
        raise bad_value(
            "y_true",
            f"labels of one class, {names}",
            "two classes or more",
            "pass labels=[...] if there are others",
        )
    return names


def _check_codes(outcomes: npt.NDArray[Any], names: Sequence[Any]) -> None:
    """Raise for numbers that stand for no label, which nothing but labels would say are classes."""
    odd = outcomes == NO_LABEL
    # Opposites, and what is between them, are classes.
    if outcomes.dtype.kind in "iuf" and not {*names} <= {-1, 0, 1}:
        odd |= negative_codes(outcomes)
    if odd.any():
        raise bad_value(
            "y_true",
            f"{outcomes[odd][0]} at {some_rows(np.flatnonzero(odd))}",
            "classes",
            "drop rows without a label, or pass labels=[...] if that is a class",
        )
