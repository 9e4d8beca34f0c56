"""Second-order bias and variance of the uncertainty, −F of the mean label.

With H = −∇²F and C the covariance of the shares, the bias is ½ tr(H C), and the variance
½ tr((H C)²). The bias is jackknifed, Σ_i (1 − w_i) (θ_{−i} − θ), so that a generator without a
Hessian has it too; the variance is that of equal eigenvalues of H C, as they are for the log loss.
"""

from __future__ import annotations

import numpy as np

from propercal._array import Segments, by_rows, device, like, namespace, one_hot
from propercal._data.predictions.notions import Problem
from propercal._typing import Array
from propercal.generators.base import BregmanGenerator


def second_order(problem: Problem, share: Array, generator: BregmanGenerator) -> Array:
    """(2,) bias and variance of −F(share) for the rows of a problem, share (k,)."""
    if problem.groups is not None:
        return _of_groups(problem, share, generator)
    if problem.uniform:
        return second_order_of_counts(share, problem.weight.shape[0], generator)
    outcome = one_hot(problem.label, problem.n_classes, share.dtype)
    return _jackknife(
        generator, share, outcome, problem.weight, namespace(share).ones_like(problem.weight)
    )


def _of_groups(problem: Problem, share: Array, generator: BregmanGenerator) -> Array:
    """(2,) the same where groups of rows are independent: whole groups are left out."""
    xp = namespace(share)
    assert problem.groups is not None  # noqa: S101  # asked for these only
    number = like(problem.groups, problem.label)
    segments = Segments(number, int(problem.groups.max()) + 1)
    outcome = one_hot(problem.label, problem.n_classes, share.dtype)
    total = segments.sums(outcome * problem.weight[:, None])
    weight = xp.sum(total, axis=1)
    return _jackknife(generator, share, total / weight[:, None], weight, xp.ones_like(weight))


def second_order_of_counts(share: Array, n: int, generator: BregmanGenerator) -> Array:
    """(2,) the same for n rows of equal weight: all rows of a class leave the same share behind."""
    xp = namespace(share)
    outcome = xp.eye(share.shape[0], dtype=share.dtype, device=device(share))
    return _jackknife(generator, share, outcome, xp.astype(share > 0, share.dtype) / n, share * n)


def second_order_of_sums(weight: Array, squares: Array, generator: BregmanGenerator) -> Array:
    """(2,) the same from sums (k,) of weights and of their squares: rows of a class weigh alike.

    The terms that are left out are of third order.
    """
    xp = namespace(weight)
    share = weight / xp.sum(weight)
    some = weight > 0
    own = xp.where(some, squares / xp.where(some, weight, 1.0), 0.0)
    outcome = xp.eye(share.shape[0], dtype=share.dtype, device=device(share))
    repeats = weight / xp.where(some, own, 1.0)
    return _jackknife(generator, share, outcome, own / xp.sum(weight), repeats)


def _jackknife(
    generator: BregmanGenerator, share: Array, outcome: Array, weight: Array, repeats: Array
) -> Array:
    xp = namespace(share)

    def uncertainties(outcome: Array, weight: Array) -> Array:
        rest = xp.clip(share[None, :] - weight[:, None] * outcome, min=0.0)
        return -generator.value(rest / xp.sum(rest, axis=1, keepdims=True))

    with np.errstate(invalid="ignore"):
        change = by_rows(uncertainties, outcome, weight) + generator.value(share)
    bias = xp.sum(repeats * (1 - weight) * xp.where(xp.isfinite(change), change, 0.0))
    rank = max(1, int(xp.sum(xp.astype(share > 0, xp.int64))) - 1)
    return xp.stack([bias, 2 * bias**2 / rank])
