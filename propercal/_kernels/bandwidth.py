"""Choosing the bandwidth from the data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from propercal._array import ignore_underflow
from propercal._data.predictions.arguments import with_reading
from propercal._data.predictions.notions import Problems, as_notion
from propercal._data.predictions.predictions import Reading, validate
from propercal._data.words.messages import unknown_name, warn
from propercal._kernels.algorithm import resolve_algorithm
from propercal._kernels.criteria import INFINITE_ROW, Levels, levels, losses, surprise
from propercal._kernels.kernels import Kernel, as_kernel
from propercal._kernels.lattice import minimise
from propercal._progress import with_progress
from propercal.generators import as_generator
from propercal.generators.base import BregmanGenerator
from propercal.generators.order import check_order


@ignore_underflow
@with_reading
@with_progress
def select_bandwidth(
    y_true: object,
    y_proba: object,
    *,
    generator: Any = "log",
    notion: str = "canonical",
    criterion: str = "risk",
    progress: bool | None = None,  # noqa: ARG001  # the decorator reads it
    **reading: Unpack[Reading],
) -> float:
    r"""Choose the bandwidth γ of the Dirichlet kernel by a leave-one-out criterion.

    .. math::

        \text{risk: } &\min_γ \sum_h w_h L_F(\hat r_h, y_h), \\
        \text{likelihood: } &\max_γ \sum_h w_h \log \frac{1}{n - 1} \sum_{j \ne h} κ_γ(g_h; g_j)

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
    progress : bool, optional
        As in :func:`propercal.decompose`.
    pos_label, link, ignore_index, class_axis, class_dim, sample_dims
        As in :func:`propercal.decompose`.

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
    Thirteen bandwidths, two a decade, are looked at cheaply, and what is best there is refined.

    For one-dimensional problems (two classes, class-wise, top-label) about a thousand rows stand
    for all, at any n, and their sums are taken over a few thousand nodes; all rows are evaluated
    once, at the bandwidth that was found, and a few times more where they disagree. From 20 000
    rows on a search costs 2 to 8 times one estimate at the bandwidth that it finds; below, up to
    a dozen times, of a few milliseconds each.

    For three or more classes one row in twelve is looked at, then one in four, each estimated from
    all others, then all rows: 4.4 to 8.1 times the kernel sums of one estimate from 2304 rows on,
    6.3 on average. With fewer rows a larger share of them is looked at (5 to 15 times); below 768,
    all rows are evaluated at each decade, then beside the best (10 to 18 times).

    In simulations of canonical problems the criterion was within 2 % of the depth of its valley
    (half of the half decades are higher than that) of the lowest of a full search, but for one in
    216, where the second of two valleys was found (16 %). Where the loss can be infinite, fewer
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
        y_true,
        y_proba,
        **reading,
        one_class=not reduction.per_class,
    )
    check_order(predictions.classes, [chosen], reduction, predictions.n_classes)
    return CRITERIA[criterion](reduction.problems(predictions), as_kernel("dirichlet"), chosen)


def select_by_risk(
    problems: Problems,
    kernel: Kernel,
    generators: Sequence[BregmanGenerator],
    algorithm: str = "auto",
) -> list[float]:
    """Choose a bandwidth for each generator; bandwidths that both try share the kernel sums."""
    first = next(iter(problems))
    chosen = resolve_algorithm(algorithm, generators, first.prob)
    risks = levels(problems, kernel, losses(generators), chosen)
    best = [minimised(risks, i) for i in range(len(generators))]
    for i, (generator, gamma) in enumerate(zip(generators, best, strict=True)):
        n_infinite = risks.functions[-1](gamma)[i] * first.prob.shape[0] / INFINITE_ROW
        if n_infinite >= 0.5:
            warn(
                f"the leave-one-out {generator.name} loss is infinite in about {n_infinite:.0f} "
                "rows at every bandwidth tried (a class that occurs once leaves nothing to "
                "estimate it from): they did not count in the choice of the bandwidth."
            )
    return best


def minimised(criteria: Levels, i: int) -> float:
    """Return the bandwidth that minimises criterion number `i`."""

    def of(function: Callable[[float], npt.NDArray[np.float64]]) -> Callable[[float], float]:
        return lambda gamma: float(function(gamma)[i])

    return minimise(*map(of, criteria.functions), faithful=criteria.faithful)


def _by_risk(problems: Problems, kernel: Kernel, generator: BregmanGenerator) -> float:
    return select_by_risk(problems, kernel, [generator])[0]


def _by_likelihood(problems: Problems, kernel: Kernel, _: BregmanGenerator) -> float:
    return minimised(levels(problems, kernel, surprise), 0)


#: Name: function of problems, a kernel and a generator, which returns γ.
CRITERIA: dict[str, Callable[[Problems, Kernel, BregmanGenerator], float]] = {
    "risk": _by_risk,
    "likelihood": _by_likelihood,
}
