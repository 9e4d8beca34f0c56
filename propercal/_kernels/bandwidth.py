"""Choosing the bandwidth from the data."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from propercal._array import LOG_ZERO, device, ignore_underflow, like, namespace, one_hot, to_numpy
from propercal._data.messages import unknown_name, warn
from propercal._data.notions import Problems, as_notion
from propercal._data.predictions import validate
from propercal._kernels.algorithm import resolve_algorithm
from propercal._kernels.conditional import estimate
from propercal._kernels.kernels import BilinearKernel, Kernel, as_kernel
from propercal._kernels.tiles import class_sums
from propercal.generators import as_generator
from propercal.generators.base import BregmanGenerator

#: Bandwidths that are searched: from cells of a hundredth of a percent, beyond which points stand
#: alone at any size that fits a machine, to a kernel that hardly tells two predictions apart.
BOUNDS = (1e-5, 10.0)
#: Bandwidths lie on a lattice of 10 % steps: the criterion is flat at its minimum, rounding cannot
#: move the choice, and generators that are searched together share kernel sums.
_STEPS_PER_DECADE = 24
_LOWEST, _HIGHEST = (round(math.log10(bound) * _STEPS_PER_DECADE) for bound in BOUNDS)
#: A first look at large samples takes one row in so many, and no fewer rows than this.
_SPARSE, _FEWEST_ROWS = 12, 256
#: Valleys it shows above the lowest by less than this share of all heights are weighed by all rows.
_NEARLY_AS_DEEP = 0.2
#: Values it shows that differ by less than this share are not told apart by it.
_ROUGHLY_EQUAL = 0.005
#: Steps of the lattice between the first points for all rows: about what the look leaves open.
_STRIDE = 4
#: One row of infinite loss outweighs any finite difference.
_INFINITE_ROW = 1e9

CRITERIA = ("risk", "likelihood")


@ignore_underflow
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
    pos_label: Any = None,
    link: str | None = None,
    ignore_index: Any = None,
    class_axis: int | None = None,
    class_dim: Hashable | None = None,
    sample_dims: Hashable | Sequence[Hashable] | None = None,
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
        from_logits=from_logits,
        sample_weight=sample_weight,
        labels=labels,
        pos_label=pos_label,
        link=link,
        ignore_index=ignore_index,
        class_axis=class_axis,
        class_dim=class_dim,
        sample_dims=sample_dims,
        one_class=not reduction.per_class,
    )
    kernel = as_kernel("dirichlet")
    problems = reduction.problems(predictions)
    if criterion == "likelihood":
        return minimise(lambda gamma: _negative_likelihood(problems, kernel, gamma))
    return select_by_risk(problems, kernel, [chosen])[0]


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


class _Lattice:
    """A function of γ at numbered points of the lattice, evaluated once at each."""

    def __init__(self, objective: Callable[[float], float]) -> None:
        self._objective = objective
        self.tried: dict[int, float] = {}

    def __call__(self, position: float) -> float:
        i = round(position)
        if i not in self.tried:
            self.tried[i] = self._objective(10 ** (i / _STEPS_PER_DECADE))
        return self.tried[i]

    @property
    def lowest(self) -> int:
        """Where the smallest value is that was found."""
        return min(self.tried, key=lambda i: self.tried[i])


def minimise(
    objective: Callable[[float], float], look: Callable[[float], float] | None = None
) -> float:
    """Minimise a function of γ: a look at every decade, then a bounded search beside the best.

    Where a cheaper function `look` is given it does both, twice a decade and in every valley it
    sees; the function itself decides between the valleys and descends from there.
    """
    at = _Lattice(objective)
    if look is None:
        decades = range(_LOWEST, _HIGHEST + 1, _STEPS_PER_DECADE)
        _search(at, min(decades, key=at), _STEPS_PER_DECADE, 1)
    else:
        _descend(at, min(_starts(_Lattice(look)), key=at))
    chosen = at.lowest
    gamma = float(10 ** (chosen / _STEPS_PER_DECADE))
    for end, meaning in (
        (_LOWEST, "the criterion sees repeated or isolated predictions rather than a smooth curve"),
        (_HIGHEST, "the predictions hardly inform about the outcomes, or n is small"),
    ):
        if abs(chosen - end) <= 1:
            warn(
                f"the bandwidth search ended at {gamma:.3g}, an end of the interval {BOUNDS[0]:g} "
                f"to {BOUNDS[1]:g}: {meaning}. Pass bandwidth=... to choose it yourself."
            )
    return gamma


def _starts(look: _Lattice) -> list[int]:
    """Return where the lowest point may lie, as far as a look tells."""
    half = _STEPS_PER_DECADE // 2
    positions = range(_LOWEST, _HIGHEST + 1, half)
    heights = [math.inf, *map(look, positions), math.inf]
    lowest = min(heights)
    deep = lowest + _NEARLY_AS_DEEP * (max(heights[1:-1]) - lowest)
    starts = [
        _search(look, i, half, _STRIDE)
        for i, left, here, right in zip(positions, heights, heights[1:], heights[2:], strict=False)
        if here <= min(left, right, deep)
    ]
    # Two valleys may be too near each other to be told apart.
    equal = [i for i in positions if look(i) <= lowest + _ROUGHLY_EQUAL * abs(lowest)]
    return starts + [i for i in equal if all(abs(i - start) > _STRIDE for start in starts)]


def _search(at: _Lattice, start: int, reach: int, accuracy: int) -> int:
    """Return the lowest point that a bounded search finds within reach of `start`."""
    from scipy.optimize import minimize_scalar

    bounds = (_inside(start - reach), _inside(start + reach))
    minimize_scalar(at, bounds=bounds, method="bounded", options={"xatol": float(accuracy)})
    return min((i for i in at.tried if bounds[0] <= i <= bounds[1]), key=at)


def _descend(at: _Lattice, start: int) -> None:
    """Walk down from `start` until a valley is straddled, then follow parabolas to its bottom."""
    stride = _STRIDE
    left, here, right = _inside(start - stride), start, _inside(start + stride)
    while at(left) < at(here):
        stride += stride // 2
        left, here, right = _inside(left - stride), left, here
    while at(right) < at(here):
        stride += stride // 2
        left, here, right = here, right, _inside(right + stride)
    while (bottom := _bottom(at, left, here, right)) not in at.tried:
        sides = (left, bottom, here, right) if bottom < here else (left, here, bottom, right)
        left, here, right = sides[:3] if at(sides[1]) <= at(sides[2]) else sides[1:]


def _bottom(at: _Lattice, left: int, here: int, right: int) -> int:
    """Return the bottom of a parabola through three points; if that is `here`, one beside it."""
    before, after = here - left, right - here
    if before == 0 or after == 0:  # an end of the lattice
        return here + after // 2 - before // 2
    fall, rise = after * (at(left) - at(here)), before * (at(right) - at(here))
    shift = (after * fall - before * rise) / (2 * (fall + rise)) if fall + rise > 0 else 0.0
    if round(shift) != 0:
        return here + round(shift)
    # A parabola knows little of what is in a wide gap.
    if max(before, after) > _STRIDE:
        return here + after // 2 if after > before else here - before // 2
    return here + 1 if shift > 0 else here - 1


def _inside(i: int) -> int:
    """Return the point of the lattice nearest to `i`."""
    return min(max(i, _LOWEST), _HIGHEST)


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
        if rows is None or not isinstance(kernel, BilinearKernel):
            chosen = resolve_algorithm(algorithm, generators, problem.prob)
            mean = estimate(problem, kernel, gamma, algorithm=chosen).mean
        else:
            sums = class_sums(problem, kernel, gamma, exclude_self=True, rows=rows).values
            mean = sums / xp.sum(sums, axis=1, keepdims=True)
            index = like(rows, label)
            label, weight = xp.take(label, index), xp.take(weight, index)
        target = one_hot(label, problem.n_classes, mean.dtype)
        for i, generator in enumerate(generators):
            loss = generator.loss(mean, target)
            infinite = xp.isinf(loss)
            finite = xp.sum(weight * xp.where(infinite, 0.0, loss))
            share = xp.sum(xp.astype(infinite, loss.dtype)) / problem.prob.shape[0]
            totals[i] += float(to_numpy(finite)) + _INFINITE_ROW * float(to_numpy(share))
        n_problems += 1
    return list(totals / n_problems)


def _negative_likelihood(problems: Problems, kernel: Kernel, gamma: float) -> float:
    values = []
    for problem in problems:
        log_density = estimate(problem, kernel, gamma).log_density
        values.append(float(to_numpy(namespace(problem.prob).sum(problem.weight * log_density))))
    return -sum(values) / len(values)
