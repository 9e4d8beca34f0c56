"""Choosing the bandwidth from the data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from propercal._array import LOG_ZERO, device, ignore_underflow, like, namespace, one_hot, to_numpy
from propercal._data.arguments import with_reading
from propercal._data.messages import unknown_name, warn
from propercal._data.notions import Problems, as_notion
from propercal._data.predictions import Reading, validate
from propercal._kernels.algorithm import resolve_algorithm
from propercal._kernels.conditional import kernel_mean
from propercal._kernels.kernels import Kernel, as_kernel, has_features
from propercal._kernels.lattice import minimise
from propercal._kernels.tiles import class_sums
from propercal.generators import as_generator
from propercal.generators.base import BregmanGenerator

#: A first look at large samples takes one row in so many, and no fewer rows than this.
_SPARSE, _FEWEST_ROWS = 12, 256
#: One row of infinite loss outweighs any finite difference.
_INFINITE_ROW = 1e9


@ignore_underflow
@with_reading
def select_bandwidth(
    y_true: object,
    y_proba: object,
    *,
    generator: Any = "log",
    notion: str = "canonical",
    criterion: str = "risk",
    **reading: Unpack[Reading],
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
    pos_label, link, ignore_index, class_axis, class_dim, sample_dims
        As in :func:`propercal.decompose`.
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
    them: about twelve times the cost of one estimate. For large samples of three or more classes
    the risk criterion is searched on every twelfth row, estimated from all others, and only
    what is best there is refined on all rows: about eight times that cost. Where the loss can be
    infinite, fewer infinite rows win.

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
    return CRITERIA[criterion](reduction.problems(predictions), as_kernel("dirichlet"), chosen)


def select_by_risk(
    problems: Problems,
    kernel: Kernel,
    generators: Sequence[BregmanGenerator],
    algorithm: str = "auto",
) -> list[float]:
    """Choose a bandwidth for each generator; bandwidths that both try share the kernel sums."""
    few = _every_few_rows(problems)
    n = next(iter(problems)).prob.shape[0]

    @cache
    def risks(gamma: float, rows: str = "all") -> list[float]:
        chosen = None if rows == "all" else few
        return _leave_one_out_risks(problems, kernel, generators, gamma, algorithm, chosen)

    def search(i: int) -> float:
        look = None if few is None else lambda gamma: risks(gamma, "few")[i]
        return minimise(lambda gamma: risks(gamma)[i], look)

    best = [search(i) for i in range(len(generators))]
    for i, (generator, gamma) in enumerate(zip(generators, best, strict=True)):
        n_infinite = risks(gamma)[i] / (_INFINITE_ROW / n)
        if n_infinite >= 0.5:
            warn(
                f"the leave-one-out {generator.name} loss is infinite in about {n_infinite:.0f} "
                "rows at every bandwidth tried (a class that occurs once leaves nothing to "
                "estimate it from): they did not count in the choice of the bandwidth."
            )
    return best


def _every_few_rows(problems: Problems) -> npt.NDArray[np.intp] | None:
    """Return rows spread over all predictions, whatever the order of rows; None for all rows.

    Problems of two classes take all rows: linear sums are cheap there.
    """
    problem = next(iter(problems))
    n, k = problem.prob.shape
    interval = min(_SPARSE, n // _FEWEST_ROWS)
    if k == 2 or interval < 2:
        return None
    xp = namespace(problem.prob)
    numbers = xp.arange(1, k + 1, dtype=problem.prob.dtype, device=device(problem.prob))
    order = np.arange(n)
    # Rows with the same keys are copies of each other.
    place = xp.sum(xp.clip(problem.log_prob, min=LOG_ZERO) * numbers, axis=1)
    spread = xp.sum(problem.prob**2, axis=1)
    for key in (place, problem.label, spread):
        order = order[np.argsort(to_numpy(key)[order], kind="stable")]
    return np.sort(order[interval // 2 :: interval])


def _leave_one_out_risks(
    problems: Problems,
    kernel: Kernel,
    generators: Sequence[BregmanGenerator],
    gamma: float,
    algorithm: str,
    rows: npt.NDArray[np.intp] | None,
) -> list[float]:
    """Return the mean leave-one-out loss of r̂ for each generator, infinite rows as a penalty.

    It is summed over all rows, or over those numbered `rows`, estimated from all others.
    """
    totals = np.zeros(len(generators))
    n_problems = 0
    for problem in problems:
        xp = namespace(problem.prob)
        label, weight = problem.label, problem.weight
        if rows is not None and has_features(kernel):
            sums = class_sums(problem, kernel, gamma, exclude_self=True, rows=rows).values
            mean = sums / xp.sum(sums, axis=1, keepdims=True)
            index = like(rows, label)
            label, weight = xp.take(label, index), xp.take(weight, index)
        else:
            chosen = resolve_algorithm(algorithm, generators, problem.prob)
            mean = kernel_mean(problem, kernel, gamma, algorithm=chosen).mean
        target = one_hot(label, problem.n_classes, mean.dtype)
        for i, generator in enumerate(generators):
            loss = generator.loss(mean, target)
            infinite = xp.isinf(loss)
            finite = xp.sum(weight * xp.where(infinite, 0.0, loss))
            share = xp.sum(xp.astype(infinite, loss.dtype)) / problem.prob.shape[0]
            totals[i] += float(to_numpy(finite)) + _INFINITE_ROW * float(to_numpy(share))
        n_problems += 1
    return list(totals / n_problems)


def _by_risk(problems: Problems, kernel: Kernel, generator: BregmanGenerator) -> float:
    return select_by_risk(problems, kernel, [generator])[0]


def _by_likelihood(problems: Problems, kernel: Kernel, _: BregmanGenerator) -> float:
    def negative_likelihood(gamma: float) -> float:
        values = []
        for problem in problems:
            log_density = kernel_mean(problem, kernel, gamma).log_density
            likelihood = namespace(problem.prob).sum(problem.weight * log_density)
            values.append(float(to_numpy(likelihood)))
        return -sum(values) / len(values)

    return minimise(negative_likelihood)


#: Name: function of problems, a kernel and a generator, which returns γ.
CRITERIA: dict[str, Callable[[Problems, Kernel, BregmanGenerator], float]] = {
    "risk": _by_risk,
    "likelihood": _by_likelihood,
}
