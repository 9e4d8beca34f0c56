"""What the methods estimate: the terms of one generator, added up over the problems of a notion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from propercal._array import by_rows, device, namespace, one_hot
from propercal._typing import Array
from propercal._validate import Predictions
from propercal.conditional import estimate
from propercal.generators.base import BregmanGenerator
from propercal.kernels import Kernel
from propercal.notions import Notion, Problem

METHODS = ("direct", "risk")


class Sums(NamedTuple):
    """Terms of one generator, added up over the problems of a notion."""

    terms: Array
    """(4,) risk, calibration error, estimate of the refinement by −F(r̂), uncertainty."""
    loss: Array
    """(n,) loss of each row."""
    marginal_loss: Array
    """(n,) loss of each row if the share of each class were predicted everywhere."""
    second_order: Array
    """(2,) bias and variance of the uncertainty, as far as they are not linear in the shares."""
    infinite: Array
    """(n,) whether the divergence of the row is infinite (direct method)."""

    def all_terms(self, method: str) -> Array:
        """(5,) in the order of TERMS, completed by the identities between them."""
        xp = namespace(self.terms)
        risk, calibration_error, refinement, uncertainty = (self.terms[i] for i in range(4))
        # Only where no number makes up the risk with an infinite calibration error does the
        # refinement of the direct method keep its own estimate.
        if method == "direct" and not bool(xp.isinf(calibration_error)):
            refinement = risk - calibration_error
        with np.errstate(invalid="ignore"):
            sharpness = uncertainty - refinement
        return xp.stack([risk, calibration_error, refinement, sharpness, uncertainty])

    def over(self, n: int) -> Sums:
        """Return the mean over `n` problems."""
        return Sums(
            self.terms / n,
            self.loss / n,
            self.marginal_loss / n,
            self.second_order / n,
            self.infinite,
        )

    def plus(self, other: Sums) -> Sums:
        """Add the sums of another problem."""
        return Sums(
            self.terms + other.terms,
            self.loss + other.loss,
            self.marginal_loss + other.marginal_loss,
            self.second_order + other.second_order,
            self.infinite | other.infinite,
        )


def measure(
    predictions: Predictions,
    notion: Notion,
    kernel: Kernel,
    bandwidth: float,
    method: str,
    generators: Sequence[BregmanGenerator],
    exclude_self: bool,
) -> list[Sums]:
    """Average the terms over the problems; all generators share each kernel pass."""
    sums: list[Sums] = []
    n_problems = 0
    for problem in notion.problems(predictions):
        mean = estimate(problem, kernel, bandwidth, exclude_self=exclude_self).mean
        parts = [problem_terms(problem, mean, generator, method) for generator in generators]
        sums = [a.plus(b) for a, b in zip(sums, parts, strict=True)] if sums else parts
        n_problems += 1
    return [s.over(n_problems) for s in sums]


def problem_terms(problem: Problem, mean: Array, generator: BregmanGenerator, method: str) -> Sums:
    """Estimate the terms of one problem from the conditional means r̂ (n, k)."""
    xp = namespace(mean)
    k = problem.n_classes

    def average(values: Array) -> Array:
        return xp.sum(problem.weight * values)

    def losses(prob: Array, log_prob: Array, label: Array) -> Array:
        return generator.loss(prob, one_hot(label, k, prob.dtype), log_q=log_prob)

    loss = by_rows(losses, problem.prob, problem.log_prob, problem.label)
    risk = average(loss)
    refinement = -average(by_rows(generator.value, mean))
    infinite = xp.zeros_like(loss, dtype=xp.bool)
    if method == "direct":
        divergence = by_rows(
            lambda p, q, log_q: generator.divergence(p, q, log_q=log_q),
            mean,
            problem.prob,
            problem.log_prob,
        )
        calibration_error = average(divergence)
        infinite = xp.isinf(divergence)
    else:
        calibration_error = risk - refinement
    outcomes = xp.eye(k, dtype=mean.dtype, device=device(mean))
    weights = [xp.where(problem.label == i, problem.weight, 0.0) for i in range(k)]
    share = xp.stack([xp.sum(weight) for weight in weights])
    uncertainty = -generator.value(share)
    marginal_losses = generator.loss(xp.broadcast_to(share, (k, k)), outcomes)
    return Sums(
        xp.stack([risk, calibration_error, refinement, uncertainty]),
        loss,
        xp.take(marginal_losses, problem.label, axis=0),
        _second_order(problem, share, generator),
        infinite,
    )


def _second_order(problem: Problem, share: Array, generator: BregmanGenerator) -> Array:
    """Return what −F(share) has beyond its linear part: bias ½ tr(H C) and variance ½ tr((H C)²).

    H = −∇²F, and C is the covariance of the shares. The bias is jackknifed,
    Σ_i (1 − w_i) (θ_{−i} − θ), so that a generator without a Hessian has it too; the variance is
    that of equal eigenvalues of H C, as they are for the log loss.
    """
    xp = namespace(share)
    k = problem.n_classes

    def uncertainties(outcome: Array, weight: Array) -> Array:
        rest = xp.clip(share[None, :] - weight[:, None] * outcome, min=0.0)
        return -generator.value(rest / xp.sum(rest, axis=1, keepdims=True))

    weight, repeats = problem.weight, xp.ones_like(problem.weight)
    outcome = one_hot(problem.label, k, share.dtype)
    if problem.uniform:
        # All rows of a class leave the same share behind.
        n = weight.shape[0]
        outcome = xp.eye(k, dtype=share.dtype, device=device(share))
        weight = xp.astype(share > 0, share.dtype) / n
        repeats = share * n
    with np.errstate(invalid="ignore"):
        change = by_rows(uncertainties, outcome, weight) + generator.value(share)
    bias = xp.sum(repeats * (1 - weight) * xp.where(xp.isfinite(change), change, 0.0))
    rank = max(1, int(xp.sum(xp.astype(share > 0, xp.int64))) - 1)
    return xp.stack([bias, 2 * bias**2 / rank])
