"""Risk = calibration error + refinement, from predictions and labels."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from propercal._array import (
    no_gradient,
    quiet,
    scalar,
    to_numpy,
)
from propercal._messages import bad_value, some_rows, unknown_name, warn
from propercal._typing import Array
from propercal._validate import (
    Predictions,
    check_bandwidth,
    check_confidence_level,
    check_flag,
    validate,
)
from propercal.bandwidth import select_by_risk
from propercal.estimators import METHODS, Sums, measure
from propercal.generators import as_generator
from propercal.generators.base import BregmanGenerator
from propercal.kernels import BinningKernel, Kernel, as_kernel
from propercal.notions import Notion, as_notion
from propercal.result import TERMS, Decomposition

GeneratorLike = str | BregmanGenerator | type[BregmanGenerator] | Callable[[Array], Array]


@overload
def decompose(  # type: ignore[overload-overlap]  # a string is a sequence of strings too
    y_true: object,
    y_proba: object,
    *,
    generator: GeneratorLike = ...,
    notion: str = ...,
    method: str = ...,
    kernel: str = ...,
    bandwidth: float | str = ...,
    exclude_self: bool = ...,
    from_logits: bool = ...,
    sample_weight: object = ...,
    labels: Sequence[Any] | None = ...,
    confidence_level: float = ...,
) -> Decomposition: ...
@overload
def decompose(
    y_true: object,
    y_proba: object,
    *,
    generator: Sequence[GeneratorLike],
    notion: str = ...,
    method: str = ...,
    kernel: str = ...,
    bandwidth: float | str = ...,
    exclude_self: bool = ...,
    from_logits: bool = ...,
    sample_weight: object = ...,
    labels: Sequence[Any] | None = ...,
    confidence_level: float = ...,
) -> list[Decomposition]: ...
@quiet
def decompose(
    y_true: object,
    y_proba: object,
    *,
    generator: GeneratorLike | Sequence[GeneratorLike] = "log",
    notion: str = "canonical",
    method: str = "risk",
    kernel: str = "dirichlet",
    bandwidth: float | str = "auto",
    exclude_self: bool = True,
    from_logits: bool = False,
    sample_weight: object = None,
    labels: Sequence[Any] | None = None,
    confidence_level: float = 0.95,
) -> Decomposition | list[Decomposition]:
    r"""Split the risk of predicted probabilities into calibration error and refinement.

    With r = E[Y | g(X)], what really happens where the model predicts g, and its leave-one-out
    kernel estimate r̂:

    .. math::

        \underbrace{E\, L_F(g, Y)}_\text{risk} =
        \underbrace{E\, D_F(r, g)}_\text{calibration error} +
        \underbrace{E\,[-F(r)]}_\text{refinement}, \qquad
        \text{refinement} = \underbrace{-F(E\,Y)}_\text{uncertainty} - \text{sharpness}.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k)
        What occurred: class numbers 0 to k − 1, booleans, strings, or a one-hot matrix (any
        indicator matrix for the class-wise notion, whose rows of probabilities then need not sum
        to 1).
    y_proba : array-like of shape (n,), (n, 1) or (n, k)
        Predicted probabilities g; (n,) is the probability of the positive class of two.
    generator : str, BregmanGenerator, class, callable, or a list of these
        The convex function F, thereby the loss: "log" (nats), "brier" (summed over classes),
        "spherical", ..., see :func:`propercal.generators.available`. A list shares the kernel sums
        and returns a list.
    notion : {"canonical", "classwise", "top-label"}
        Calibration of the whole vector g; of each g_i against the rest, on pairs (1 − p, p),
        averaged over classes; or of the largest g_i, on such pairs.
    method : {"risk", "direct"}
        "risk" estimates the refinement by mean −F(r̂), Eq. 13, and takes it from the risk, Eq. 12;
        "direct" estimates the calibration error by mean D_F(r̂, g), Eq. 7, and takes that from the
        risk.
    kernel : {"dirichlet", "uniform-bins", "quantile-bins"}
        Which predictions count as near each other.
    bandwidth : float or "auto"
        Bandwidth γ of the kernel, 1e-9 to 1e9, in units of probability (bins: 1 / their number).
        "auto" is
        :func:`propercal.select_bandwidth` by the risk criterion for each generator, 1/15 for bins.
    exclude_self : bool
        Leave the label at a point out of r̂ there. The usual binned estimates do not.
    from_logits : bool
        Take `y_proba` as logits, of which probabilities and their logarithms are computed without
        loss: softmax over columns; a sigmoid for one column, and for each column where an indicator
        matrix marks several classes, or none, in some row.
    sample_weight : array-like of shape (n,), optional
        Weights ≥ 0. Their scale does not matter; weight 0 is the same as leaving a row out.
    labels : sequence of length k, optional
        The class that each column of `y_proba` stands for. By default the numbers 0 to k − 1, the
        column names of a data frame, or as many strings as columns in alphabetical order.
    confidence_level : float
        Level of :meth:`Decomposition.interval`.

    Returns
    -------
    Decomposition
        Its terms are Python floats for NumPy input and scalar tensors, with gradients, for torch.

    Raises
    ------
    ValueError
        If an argument cannot be used; the message names it, its value, and what to do.

    Warns
    -----
    UserWarning
        If a term is infinite (with the rows that make it so), if rows do not quite sum to 1, or if
        the bandwidth search ends at a bound.

    Notes
    -----
    Both methods are consistent as n → ∞ and γ → 0, and both are biased at any bandwidth in use:
    the bias vanishes like 1/n only relative to the limit at fixed γ, which may lie on either side
    of the truth. A small n raises both estimates; a bandwidth too wide for the data lowers that of
    the risk method, even below 0. The calibration error of a good model is often smaller than this
    bias: compare bandwidths and methods before you trust it.

    Time is O(n² k), memory O(n k).

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
    if method not in METHODS:
        raise unknown_name("method", method, METHODS)
    several: Sequence[GeneratorLike] | None = None
    if isinstance(generator, Sequence) and not isinstance(generator, str):
        several = generator
    generators = [as_generator(g) for g in ([generator] if several is None else several)]  # type: ignore[arg-type]
    if not generators:
        raise bad_value("generator", "[]", "one generator or more", "name a loss, such as 'log'")
    chosen, reduction = as_kernel(kernel), as_notion(notion)
    level = check_confidence_level(confidence_level)
    check_flag("exclude_self", exclude_self)
    automatic = isinstance(bandwidth, str) and bandwidth == "auto"
    gamma = None if automatic else check_bandwidth(bandwidth)
    predictions = validate(
        y_true, y_proba, from_logits=from_logits, sample_weight=sample_weight, labels=labels
    )
    gammas = (
        [gamma] * len(generators)
        if gamma is not None
        else _auto_bandwidths(predictions, reduction, chosen, generators)
    )
    results: dict[int, Decomposition] = {}
    for value in dict.fromkeys(gammas):
        same = [i for i, other in enumerate(gammas) if other == value]
        parts = measure(
            predictions,
            reduction,
            chosen,
            value,
            method,
            [generators[i] for i in same],
            exclude_self,
        )
        for i, terms in zip(same, parts, strict=True):
            results[i] = _result(
                terms,
                predictions,
                generator=generators[i],
                notion=notion,
                method=method,
                kernel=kernel,
                bandwidth=value,
                confidence_level=level,
            )
    ordered = [results[i] for i in range(len(generators))]
    return ordered[0] if several is None else ordered


def _auto_bandwidths(
    predictions: Predictions,
    notion: Notion,
    kernel: Kernel,
    generators: Sequence[BregmanGenerator],
) -> list[float]:
    if isinstance(kernel, BinningKernel):
        return [1 / kernel.n_bins] * len(generators)
    with no_gradient(predictions.prob):
        return select_by_risk(predictions, notion, kernel, generators)


def _result(
    sums: Sums,
    predictions: Predictions,
    generator: BregmanGenerator,
    method: str,
    **settings: Any,
) -> Decomposition:
    terms = sums.all_terms(method)
    values = dict(zip(TERMS, (float(term) for term in to_numpy(terms)), strict=True))
    if any(math.isnan(value) for value in values.values()):
        raise _undefined(sums, predictions, generator)
    rows = _warn_infinite(values, sums, predictions, generator)
    bias, extra_variance = to_numpy(sums.second_order)
    return Decomposition(
        **{name: scalar(terms[i], predictions.dtype) for i, name in enumerate(TERMS)},
        generator=generator,
        method=method,
        n_samples=predictions.n_samples,
        n_classes=predictions.n_classes,
        infinite_loss_rows=tuple(int(row) for row in rows),
        centres={"risk": values["risk"], "uncertainty": values["uncertainty"] - float(bias)},
        standard_errors={
            "risk": _standard_error(sums.loss, predictions),
            "uncertainty": math.hypot(
                _standard_error(sums.marginal_loss, predictions), math.sqrt(extra_variance)
            ),
        },
        **settings,
    )


def _warn_infinite(
    values: dict[str, float], sums: Sums, predictions: Predictions, generator: BregmanGenerator
) -> npt.NDArray[np.intp]:
    """Say which terms are infinite and why; return the rows of infinite loss."""
    infinite = [name.replace("_", " ") for name, value in values.items() if math.isinf(value)]
    loss = to_numpy(sums.loss)
    rows: npt.NDArray[np.intp] = predictions.rows[np.isinf(loss)]
    others = predictions.rows[to_numpy(sums.infinite) & ~np.isinf(loss)]
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


def _standard_error(values: Array, predictions: Predictions) -> float:
    """Return the standard error of the weighted mean of independent rows."""
    rows, weight = to_numpy(values), to_numpy(predictions.weight)
    if not np.isfinite(rows).all():
        return math.inf
    n = len(rows)
    deviation = weight * (rows - weight @ rows)
    return math.sqrt(float(deviation @ deviation) * n / (n - 1))


def _undefined(sums: Sums, predictions: Predictions, generator: BregmanGenerator) -> ValueError:
    rows = predictions.rows[np.isnan(to_numpy(sums.loss))]
    if rows.size:
        return bad_value(
            "generator",
            repr(generator),
            f"a loss that is a number everywhere, but it is NaN at {some_rows(rows)}",
            "let its value and gradient return limits, not NaN, where a probability is 0",
        )
    return bad_value(
        "generator",
        repr(generator),
        "terms that are numbers, but infinities of both signs meet (F is infinite where an "
        "estimated probability is 0)",
        "use a larger bandwidth, or a generator that is finite on the boundary, such as 'brier'",
    )
