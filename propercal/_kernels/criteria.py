"""Leave-one-out criteria of a bandwidth, at all rows and at few that stand for them.

A criterion is a weighted sum over rows, so that a part of the rows is a first look at it, and what
was summed there need not be summed again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from propercal._array import LOG_ZERO, device, like, namespace, one_hot, sum_last, to_numpy
from propercal._data.predictions.notions import Problem, Problems
from propercal._kernels.conditional import kernel_mean
from propercal._kernels.glance import Glance
from propercal._kernels.kernels import BilinearKernel, Kernel, has_features
from propercal._kernels.lattice import BOUNDS
from propercal._kernels.linear import obstacle
from propercal._kernels.tiles import class_sums
from propercal._progress import steps
from propercal._typing import Array
from propercal.generators.base import BregmanGenerator

Rows = npt.NDArray[np.intp]
Floats = npt.NDArray[np.float64]

#: One row of infinite loss outweighs any finite difference.
INFINITE_ROW = 1e9
#: Of large samples the first look takes one row in so many of these, the second one in four; the
#: first has no fewer rows than this.
_SPARSE, _FEWEST_ROWS = (12, 8, 4), 192


class Estimates(NamedTuple):
    """Leave-one-out estimates at some rows of a problem."""

    mean: Array
    """(r, k) r̂."""
    log_density: Array | None
    """(r,) log of the kernel density of the predictions; None for bins, which have none."""
    label: Array
    """(r,) the class that occurred."""
    weight: Array
    """(r,) weight of all rows that each stands for."""
    share: Array | float
    """(r,) or one number, what share of all rows each stands for."""


#: What is added up over rows: the estimates of one problem → one number a criterion.
Measure = Callable[[Estimates], Floats]


def losses(generators: Sequence[BregmanGenerator]) -> Measure:
    """Return the loss of each generator, infinite rows as a penalty."""

    def measure(at: Estimates) -> Floats:
        xp = namespace(at.mean)
        target = one_hot(at.label, at.mean.shape[1], at.mean.dtype)
        totals = []
        for generator in generators:
            loss = generator.loss(at.mean, target)
            infinite = xp.isinf(loss)
            finite = xp.sum(at.weight * xp.where(infinite, 0.0, loss))
            share = xp.sum(at.share * xp.astype(infinite, loss.dtype))
            totals.append(float(to_numpy(finite)) + INFINITE_ROW * float(to_numpy(share)))
        return np.array(totals)

    return measure


def surprise(at: Estimates) -> Floats:
    """Return minus the log likelihood of the predictions."""
    return np.array([-float(to_numpy(namespace(at.weight).sum(at.weight * at.log_density)))])


def exactly(
    problems: Problems, kernel: Kernel, measure: Measure, gamma: float, algorithm: str
) -> Floats:
    """Return the criteria at all rows, a mean over problems."""
    return _mean(measure(_at_all(problem, kernel, gamma, algorithm)) for problem in steps(problems))


class Levels(NamedTuple):
    """Criteria that cost more and more, and are more and more exact."""

    functions: Sequence[Callable[[float], Floats]]
    """Of the bandwidth, from the cheapest to the one at all rows."""
    faithful: bool
    """Whether the first differs from the last by small errors alone."""


def levels(problems: Problems, kernel: Kernel, measure: Measure, algorithm: str = "auto") -> Levels:
    """Return criteria, means over problems, of which each bandwidth is evaluated once."""

    @cache
    def exact(gamma: float) -> Floats:
        return exactly(problems, kernel, measure, gamma, algorithm)

    if not has_features(kernel):
        return Levels([exact], faithful=False)
    glances = _glances(problems, kernel)
    if glances is not None:

        @cache
        def glanced(gamma: float) -> Floats:
            return _mean(measure(_at_a_glance(*glance, kernel, gamma)) for glance in glances)

        return Levels([glanced, exact], faithful=True)
    parts = row_parts(next(iter(problems)))
    if len(parts) == 1:
        return Levels([exact], faithful=False)
    weight = to_numpy(next(iter(problems)).weight)
    weights = np.cumsum([weight[part].sum() for part in parts])

    @cache
    def at_part(gamma: float, i: int) -> Floats:
        return _mean(measure(at_rows(problem, kernel, gamma, parts[i])) for problem in problems)

    def at_parts(n_parts: int, gamma: float) -> Floats:
        total = sum(at_part(gamma, i) for i in range(n_parts))
        return np.asarray(total / max(weights[n_parts - 1], np.finfo(float).tiny))

    counts = range(1, len(parts) + 1)
    return Levels([partial(at_parts, n_parts) for n_parts in counts], faithful=False)


def _glances(problems: Problems, kernel: Kernel) -> list[tuple[Glance, Array]] | None:
    """Return a glance of each problem, and its labels, if all are of pairs."""
    found = []
    for problem in problems:
        if obstacle(kernel, problem.prob, problem.log_prob) is not None:
            return None
        found.append((Glance(problem, BOUNDS[0]), problem.label))
    return found


def row_parts(problem: Problem) -> list[Rows]:
    """Deal all rows to looks, each spread over all predictions, whatever the order of rows.

    The first part is the first look; with the second it is one row in four.
    """
    n, k = problem.prob.shape
    interval = next((i for i in _SPARSE if n >= i * _FEWEST_ROWS), 1)
    if interval == 1:
        return [np.arange(n)]
    xp = namespace(problem.prob)
    numbers = xp.arange(1, k + 1, dtype=problem.prob.dtype, device=device(problem.prob))
    order = np.arange(n)
    # Rows with the same keys are copies of each other.
    place = xp.sum(xp.clip(problem.log_prob, min=LOG_ZERO) * numbers, axis=1)
    spread = xp.sum(problem.prob**2, axis=1)
    for key in (place, problem.label, spread):
        order = order[np.argsort(to_numpy(key)[order], kind="stable")]
    turn = (np.arange(n) - interval // 2) % interval
    which = np.where(turn == 0, 0, np.where(turn % 4 == 0, 1, 2))
    parts = [np.sort(order[which == i]) for i in range(3)]
    return [part for part in parts if part.size > 0]


def at_rows(problem: Problem, kernel: BilinearKernel, gamma: float, rows: Rows) -> Estimates:
    """Return estimates at the rows numbered `rows`, ascending, from all others."""
    xp = namespace(problem.prob)
    sums, log_scale = class_sums(problem, kernel, gamma, exclude_self=True, rows=rows)
    total = sum_last(sums)
    index = like(rows, problem.label)
    label, weight = xp.take(problem.label, index), xp.take(problem.weight, index)
    # But for a number that is the same at every bandwidth.
    log_density = log_scale + xp.log(total)
    share = 1 / problem.prob.shape[0]
    return Estimates(sums / total[:, None], log_density, label, weight, share)


def _at_all(problem: Problem, kernel: Kernel, gamma: float, algorithm: str) -> Estimates:
    mean, log_density, _ = kernel_mean(problem, kernel, gamma, algorithm=algorithm)
    share = 1 / problem.prob.shape[0]
    return Estimates(mean, log_density, problem.label, problem.weight, share)


def _at_a_glance(glance: Glance, label: Array, kernel: BilinearKernel, gamma: float) -> Estimates:
    """Return estimates at rows that stand for many."""
    sums, log_density = glance.sums(kernel, gamma)
    weight, share = (like(x, sums) for x in (glance.weight, glance.share))
    label = namespace(label).take(label, like(glance.rows, label))
    return Estimates(sums / sum_last(sums)[:, None], log_density, label, weight, share)


def _mean(values: Iterable[Floats]) -> Floats:
    return np.asarray(np.mean(list(values), axis=0))
