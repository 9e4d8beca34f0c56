"""The kernel estimate of E[Y | g(X)], for one problem and for users."""

from __future__ import annotations

from numbers import Real
from typing import NamedTuple, Unpack

import numpy as np

from propercal._array import (
    ignore_underflow,
    namespace,
    read_only,
    sum_last,
    sum_of_others,
    take_rows,
)
from propercal._data.inputs.lazy_tables import FOR_EACH_ROW, check_ordered
from propercal._data.inputs.settings import check_bandwidth, check_flag
from propercal._data.predictions.arguments import with_reading
from propercal._data.predictions.notions import Problem, as_notion
from propercal._data.predictions.predictions import Reading, validate
from propercal._data.words.messages import bad_value
from propercal._kernels import linear, tiles
from propercal._kernels.algorithm import check_algorithm
from propercal._kernels.bins import cell_means
from propercal._kernels.kernels import Kernel, as_kernel, check_width, has_features
from propercal._typing import Array


class ConditionalMean(NamedTuple):
    """Estimates at every point of a problem."""

    mean: Array
    """(n, k) r̂, the estimate of E[Y | g(X)]."""
    log_density: Array | None
    """(n,) log of the kernel density of the predictions; None for bins, which have none."""
    algorithm: str
    """What was used: "exact", "linear", or "cells" for bins."""


def kernel_mean(
    problem: Problem,
    kernel: Kernel,
    bandwidth: float,
    *,
    exclude_self: bool = True,
    algorithm: str = "auto",
    tolerance: float = linear.TOLERANCE,
) -> ConditionalMean:
    """Estimate E[Y | g(X)] at every point from the labels of the others."""
    if not has_features(kernel):
        if algorithm == "linear":
            linear.check_possible(kernel, problem.prob, problem.log_prob)
        mean = cell_means(problem, kernel, bandwidth, exclude_self=exclude_self)
        return ConditionalMean(mean, None, "cells")
    if algorithm == "auto":
        fits = linear.obstacle(kernel, problem.prob, problem.log_prob) is None
        fits = fits and linear.wins(problem.log_prob, bandwidth)
        algorithm = "linear" if fits else "exact"
    if algorithm == "linear":
        sums = linear.class_sums(
            problem, kernel, bandwidth, exclude_self=exclude_self, tolerance=tolerance
        )
    else:
        sums = tiles.class_sums(problem, kernel, bandwidth, exclude_self=exclude_self)
    xp = namespace(problem.prob)
    total = sum_last(sums.values)
    log_density = sums.log_scale + xp.log(total)
    if problem.uniform:
        # Weights were left out of the sums: each source counted 1.
        n = problem.prob.shape[0]
        log_density = log_density - xp.log(xp.ones_like(total) * (n - 1 if exclude_self else n))
    elif exclude_self:
        log_density = log_density - xp.log(sum_of_others(problem.weight))
    return ConditionalMean(read_only(sums.values / total[:, None]), log_density, algorithm)


def _check_tolerance(tolerance: object) -> float:
    if isinstance(tolerance, bool) or not isinstance(tolerance, Real):
        raise bad_value("tolerance", repr(tolerance), "a number", "1e-10 is usual")
    if not 1e-12 <= float(tolerance) <= 1e-3:
        raise bad_value("tolerance", f"{tolerance}", "1e-12 to 1e-3", "1e-10 is usual")
    return float(tolerance)


@ignore_underflow
@with_reading
def conditional_mean(
    y_true: object,
    y_proba: object,
    *,
    notion: str = "canonical",
    kernel: str = "dirichlet",
    bandwidth: float,
    exclude_self: bool = True,
    algorithm: str = "auto",
    tolerance: float = linear.TOLERANCE,
    **reading: Unpack[Reading],
) -> Array:
    r"""Estimate E[Y | g(X)], what really happens where the model predicts as it does.

    .. math::

        \hat r_h = \frac{\sum_{j \ne h} w_j\, κ_γ(g_h; g_j)\, y_j}
                        {\sum_{j \ne h} w_j\, κ_γ(g_h; g_j)}

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k)
        What occurred: class numbers 0 to k − 1, booleans, strings, or a one-hot matrix (any
        indicator matrix for the class-wise notion).
    y_proba : array-like of shape (n,), (n, 1) or (n, k)
        Predicted probabilities g; (n,) is the probability of the positive class of two.
    notion : {"canonical", "classwise", "top-label"}
        Whether to condition on the whole vector g, on each g_i alone, or on the largest g_i.
    kernel : {"dirichlet", "uniform-bins", "quantile-bins"}
        Which predictions count as near each other.
    bandwidth : float
        Bandwidth γ of the kernel, 1e-9 to 1e9, in units of probability; 1 / (number of bins) for
        bins.
    exclude_self : bool
        Leave the label at a point out of the estimate there.
    algorithm : {"auto", "exact", "linear"}
        "exact" sums all n² kernel values in O(n k) memory. "linear" sums one-dimensional problems
        (class-wise, top-label, two classes) over the nodes of a grid in O(n). "auto" takes it where
        it is expected to be faster.
    tolerance : float
        What "linear" may add to r̂, 1e-12 to 1e-3. Rounding adds about 1e-15 / γ to either.
    from_logits : bool
        Take `y_proba` as logits.
    sample_weight : array-like of shape (n,), optional
        Weights ≥ 0. Their scale does not matter; a row of weight 0 is estimated from the others
        but counts for none of them.
    labels : sequence of length k, optional
        The class that each column of `y_proba` stands for.
    pos_label, link, ignore_index, class_axis, class_dim, sample_dims : optional
        As in :func:`propercal.decompose`. A row whose label is ignored has weight 0.

    Returns
    -------
    array of the library, dtype and device of `y_proba`
        Shape (n, k) for the canonical notion; (n, k), each column estimated alone, for the
        class-wise one; (n,), the probability that the top label is right, for the top-label one.

    Raises
    ------
    ValueError
        If an argument cannot be used; the message names it, its value, and what to do.

    Notes
    -----
    Time is O(n² k), or O(n k) in linear time, which needs about 20 nodes for each √γ of the angle
    arcsin √p and 10 for each factor of 2 in p towards 0 and 1. A small share r̂ of a class that did
    not occur at a point has the tolerance, not a relative one; that of the class that did is
    relative.

    Pairs that miss a sum of 1 by single-precision rounding are read as (1 − p, p), p the smaller.

    With the Dirichlet kernel the result is differentiable in `y_proba` (torch), exact sums
    only, which "auto" takes for a tensor that tracks a gradient; bins are not.

    References
    ----------
    Popordanoska, Gruber, Tiulpin, Buettner & Blaschko (2024), "Consistent and asymptotically
    unbiased estimation of proper calibration errors", Eq. 9 and 10.

    Examples
    --------
    >>> import numpy as np
    >>> y_true = np.array([0, 0, 1, 0, 1, 1])
    >>> y_proba = np.array([0.1, 0.2, 0.3, 0.6, 0.7, 0.9])
    >>> conditional_mean(y_true, y_proba, bandwidth=0.1)[:, 1].round(3)
    array([0.228, 0.425, 0.023, 0.961, 0.392, 0.837])
    """
    check_algorithm(algorithm)
    chosen, reduction = as_kernel(kernel), as_notion(notion)
    gamma = check_bandwidth(bandwidth)
    check_width(chosen, gamma)
    allowed = _check_tolerance(tolerance)
    check_flag("exclude_self", exclude_self)
    check_ordered("y_proba", y_proba, FOR_EACH_ROW)
    predictions = validate(
        y_true,
        y_proba,
        **reading,
        one_class=not reduction.per_class,
        keep_weightless=True,
    )
    means = [
        kernel_mean(
            problem,
            chosen,
            gamma,
            exclude_self=exclude_self,
            algorithm=algorithm,
            tolerance=allowed,
        ).mean
        for problem in reduction.problems(predictions)
    ]
    result = reduction.join(means)
    if predictions.places is not None:
        # In the order of the caller's predictions.
        result = take_rows(result, np.argsort(predictions.places))
    return namespace(result).astype(result, predictions.dtype)
