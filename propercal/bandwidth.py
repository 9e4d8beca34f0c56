"""Choosing the bandwidth from the data."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from propercal._algorithm import suited
from propercal._array import namespace, one_hot, quiet, to_numpy
from propercal._messages import unknown_name, warn
from propercal._validate import Predictions, validate
from propercal.conditional import estimate
from propercal.generators import as_generator
from propercal.generators.base import BregmanGenerator
from propercal.kernels import Kernel, as_kernel
from propercal.notions import Notion, as_notion

#: Bandwidths that are searched: from cells of a hundredth of a percent, beyond which points stand
#: alone at any size that fits a machine, to a kernel that hardly tells two predictions apart.
BOUNDS = (1e-5, 10.0)
#: Bandwidths lie on a lattice of 10 % steps: the criterion is flat at its minimum, rounding cannot
#: move the choice, and generators that are searched together share kernel sums.
_STEPS_PER_DECADE = 24
#: One row of infinite loss outweighs any finite difference.
_INFINITE_ROW = 1e9

CRITERIA = ("risk", "likelihood")


@quiet
def select_bandwidth(
    y_true: object,
    y_proba: object,
    *,
    generator: Any = "log",
    notion: str = "canonical",
    criterion: str = "risk",
    from_logits: bool = False,
    sample_weight: object = None,
    labels: Sequence[Any] | None = None,
) -> float:
    r"""Choose the bandwidth γ of the Dirichlet kernel by a leave-one-out criterion.

    .. math::

        \text{risk: } \min_γ \sum_h w_h L_F(\hat r_h, y_h), \qquad
        \text{likelihood: } \max_γ \sum_h w_h \log \frac{1}{n - 1} \sum_{j \ne h} k_γ(g_h; g_j)

    The expectation of the first is the refinement plus E D_F(r, r̂): its minimiser is the best
    estimate of E[Y | g(X)] in the very divergence that is measured. The second, used in the paper,
    fits the density of the predictions, whatever the labels are.

    Parameters
    ----------
    y_true, y_proba, from_logits, sample_weight, labels
        As in :func:`propercal.decompose`.
    generator : str, BregmanGenerator, class or callable
        The loss of the risk criterion; the likelihood does not use it.
    notion : {"canonical", "classwise", "top-label"}
        One bandwidth is chosen for all classes of the class-wise notion.
    criterion : {"risk", "likelihood"}
        What is optimised.

    Returns
    -------
    float
        γ between 1e-5 and 10, in units of probability, to about 10 %.

    Raises
    ------
    ValueError
        If an argument cannot be used; the message names it, its value, and what to do.

    Warns
    -----
    UserWarning
        If the best bandwidth is an end of the interval, or leaves rows of infinite loss.

    Notes
    -----
    Seven bandwidths, one a decade, are tried, then a bounded scalar search refines the best of
    them: about twelve times the cost of one estimate. Where the loss can be infinite, fewer
    infinite rows win.

    References
    ----------
    Popordanoska et al. (2024), section 6, for the likelihood.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y_proba = rng.uniform(size=500)
    >>> y_true = rng.uniform(size=500) < y_proba**2
    >>> print(f"{select_bandwidth(y_true, y_proba):.2f}")
    0.03
    """
    if criterion not in CRITERIA:
        raise unknown_name("criterion", criterion, CRITERIA)
    chosen, reduction = as_generator(generator), as_notion(notion)
    predictions = validate(
        y_true, y_proba, from_logits=from_logits, sample_weight=sample_weight, labels=labels
    )
    kernel = as_kernel("dirichlet")
    if criterion == "likelihood":
        return minimise(lambda gamma: _negative_likelihood(predictions, reduction, kernel, gamma))
    return select_by_risk(predictions, reduction, kernel, [chosen])[0]


def select_by_risk(
    predictions: Predictions,
    notion: Notion,
    kernel: Kernel,
    generators: Sequence[BregmanGenerator],
    algorithm: str = "auto",
) -> list[float]:
    """Choose a bandwidth for each generator; bandwidths that both try share the kernel sums."""

    @cache
    def risks(gamma: float) -> list[float]:
        return _leave_one_out_risks(predictions, notion, kernel, generators, gamma, algorithm)

    def risk_of(i: int) -> Callable[[float], float]:
        return lambda gamma: risks(gamma)[i]

    best = [minimise(risk_of(i)) for i in range(len(generators))]
    for i, (generator, gamma) in enumerate(zip(generators, best, strict=True)):
        n_infinite = risks(gamma)[i] / (_INFINITE_ROW / predictions.n_samples)
        if n_infinite >= 0.5:
            warn(
                f"the leave-one-out {generator.name} loss is infinite in about {n_infinite:.0f} "
                "rows at every bandwidth tried (a class that occurs once leaves nothing to "
                "estimate it from): they did not count in the choice of the bandwidth."
            )
    return best


def minimise(objective: Callable[[float], float]) -> float:
    """Minimise a function of γ: a look at every decade, then a bounded search beside the best."""
    from scipy.optimize import minimize_scalar

    lowest, highest = (round(math.log10(bound) * _STEPS_PER_DECADE) for bound in BOUNDS)
    tried: dict[int, float] = {}

    def at(position: float) -> float:
        i = round(position)
        if i not in tried:
            tried[i] = objective(10 ** (i / _STEPS_PER_DECADE))
        return tried[i]

    decades = range(lowest, highest + 1, _STEPS_PER_DECADE)
    best = min(decades, key=at)
    bounds = (max(best - _STEPS_PER_DECADE, lowest), min(best + _STEPS_PER_DECADE, highest))
    minimize_scalar(at, bounds=bounds, method="bounded", options={"xatol": 1.0})
    chosen = min(tried, key=lambda i: tried[i])
    gamma = float(10 ** (chosen / _STEPS_PER_DECADE))
    for end, meaning in (
        (lowest, "the criterion sees repeated or isolated predictions rather than a smooth curve"),
        (highest, "the predictions hardly inform about the outcomes, or n is small"),
    ):
        if abs(chosen - end) <= 1:
            warn(
                f"the bandwidth search ended at {gamma:.3g}, an end of the interval {BOUNDS[0]:g} "
                f"to {BOUNDS[1]:g}: {meaning}. Pass bandwidth=... to choose it yourself."
            )
    return gamma


def _leave_one_out_risks(
    predictions: Predictions,
    notion: Notion,
    kernel: Kernel,
    generators: Sequence[BregmanGenerator],
    gamma: float,
    algorithm: str,
) -> list[float]:
    """Return the mean leave-one-out loss of r̂ for each generator, infinite rows as a penalty."""
    totals = np.zeros(len(generators))
    n_problems = 0
    for problem in notion.problems(predictions):
        xp = namespace(problem.prob)
        chosen = suited(algorithm, generators, problem.prob)
        mean = estimate(problem, kernel, gamma, algorithm=chosen).mean
        target = one_hot(problem.label, problem.n_classes, mean.dtype)
        for i, generator in enumerate(generators):
            loss = generator.loss(mean, target)
            infinite = xp.isinf(loss)
            finite = xp.sum(problem.weight * xp.where(infinite, 0.0, loss))
            share = xp.sum(xp.astype(infinite, loss.dtype)) / predictions.n_samples
            totals[i] += float(to_numpy(finite)) + _INFINITE_ROW * float(to_numpy(share))
        n_problems += 1
    return list(totals / n_problems)


def _negative_likelihood(
    predictions: Predictions, notion: Notion, kernel: Kernel, gamma: float
) -> float:
    values = []
    for problem in notion.problems(predictions):
        log_density = estimate(problem, kernel, gamma).log_density
        values.append(float(to_numpy(namespace(problem.prob).sum(problem.weight * log_density))))
    return -sum(values) / len(values)
