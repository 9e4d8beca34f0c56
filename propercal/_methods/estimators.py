"""What the methods estimate: the terms of one generator, added up over the problems of a notion."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from propercal._array import by_rows, device, namespace, no_gradient, one_hot, tracks_gradient
from propercal._data.messages import bad_value, warn
from propercal._data.notions import Notion, Problem
from propercal._data.predictions import Predictions
from propercal._kernels.algorithm import resolve_algorithm
from propercal._kernels.bandwidth import select_by_risk
from propercal._kernels.conditional import estimate
from propercal._kernels.kernels import BinningKernel, Kernel
from propercal._kernels.linear import joint_algorithm
from propercal._methods.one_step import one_step
from propercal._methods.recipe import SMALLEST_SAMPLE, Recipe
from propercal._methods.uncertainty import second_order
from propercal._typing import Array
from propercal.generators.base import BregmanGenerator

#: The published methods, which smooth the labels with a kernel of one bandwidth.
KERNEL_METHODS = ("direct", "risk")
METHODS = ("debiased", *KERNEL_METHODS)


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
    recalibrated: Array | None = None
    """(n, 3), debiased method: loss of the recalibrated prediction less the correction, the
    correction V, and the first before the kernel's part in it."""
    bandwidths: tuple[float, ...] = ()
    """Those in use: one, or, debiased, the choices of all folds and problems."""
    algorithm: str = "exact"
    """How the kernel was summed."""

    def all_terms(self, method: str) -> Array:
        """(5,) in the order of TERMS, completed by the identities between them."""
        xp = namespace(self.terms)
        risk, calibration_error, refinement, uncertainty = (self.terms[i] for i in range(4))
        if method == "debiased":
            uncertainty = uncertainty - self.second_order[0]
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
            None if self.recalibrated is None else self.recalibrated / n,
            self.bandwidths,
            self.algorithm,
        )

    def plus(self, other: Sums) -> Sums:
        """Add the sums of another problem."""
        return Sums(
            self.terms + other.terms,
            self.loss + other.loss,
            self.marginal_loss + other.marginal_loss,
            self.second_order + other.second_order,
            self.infinite | other.infinite,
            None if self.recalibrated is None else self.recalibrated + other.recalibrated,
            self.bandwidths + other.bandwidths,
            joint_algorithm((self.algorithm, other.algorithm)),
        )


def debias(
    predictions: Predictions,
    notion: Notion,
    generators: Sequence[BregmanGenerator],
    recipe: Recipe,
) -> list[Sums]:
    """Estimate by cross-fitted recalibration and a one-step estimate."""
    if tracks_gradient(predictions.prob, predictions.log_prob):
        raise bad_value(
            "y_proba",
            "a tensor that tracks a gradient",
            'one that does not for method="debiased", whose fits are not differentiated',
            'pass y_proba.detach(), or use method="direct" or "risk" to train on the estimate',
        )

    effective = 1 / float(namespace(predictions.weight).sum(predictions.weight**2))
    if not predictions.uniform and effective < SMALLEST_SAMPLE:
        warn(
            f"sample_weight leaves an effective number of {effective:.3g} rows of "
            f"{predictions.n_samples}: the estimate rests on these few, and its interval on less "
            "than the theory asks for."
        )

    def terms(problem: Problem) -> list[Sums]:
        for generator in generators:
            _check_curvature(generator, problem)
        xp = namespace(problem.prob)
        n = int(problem.prob.shape[0])
        if n < SMALLEST_SAMPLE:
            raise bad_value(
                "y_proba",
                f"{n} row{'s' * (n > 1)}",
                f'{SMALLEST_SAMPLE} or more for method="debiased", which fits recalibrations',
                'collect more, or use method="risk" for a number without an interval',
            )
        result = []
        for generator, found in zip(generators, one_step(problem, generators, recipe), strict=True):
            sums = _terms(problem, generator, xp.sum(problem.weight * found.loss))
            rows = xp.stack([found.loss, found.correction, found.base_loss], axis=1)
            result.append(
                sums._replace(
                    recalibrated=rows, bandwidths=found.bandwidths, algorithm=found.algorithm
                )
            )
        return result

    return _over_problems(predictions, notion, terms)


def _check_curvature(generator: BregmanGenerator, problem: Problem) -> None:
    """Raise, before any work is done, where neither the class nor torch gives ∇²F."""
    centre = namespace(problem.prob).full_like(problem.prob[:1, :], 1 / problem.n_classes)
    try:
        generator.hessian_times(centre, centre)
    except (TypeError, AttributeError, RuntimeError) as error:
        raise bad_value(
            "generator",
            repr(generator),
            f'a Hessian for method="debiased", but torch cannot derive one '
            f"({type(error).__name__}: {error})",
            'give hessian(p), write value(p) and gradient(p) with operators, or use method="risk"',
        ) from error


def smooth(
    predictions: Predictions,
    notion: Notion,
    generators: Sequence[BregmanGenerator],
    kernel: Kernel,
    bandwidth: float | None,
    method: str,
    *,
    exclude_self: bool,
    algorithm: str,
) -> list[Sums]:
    """Estimate by a published method; generators of the same bandwidth share the kernel pass."""
    bandwidths = (
        _auto_bandwidths(predictions, notion, kernel, generators, algorithm)
        if bandwidth is None
        else [bandwidth] * len(generators)
    )
    results: dict[int, Sums] = {}
    for value in dict.fromkeys(bandwidths):
        same = [i for i, other in enumerate(bandwidths) if other == value]

        def terms(problem: Problem, value: float = value, same: list[int] = same) -> list[Sums]:
            found = estimate(
                problem,
                kernel,
                value,
                exclude_self=exclude_self,
                algorithm=resolve_algorithm(algorithm, [generators[i] for i in same], problem.prob),
            )
            return [
                problem_terms(problem, found.mean, generators[i], method)._replace(
                    algorithm=found.algorithm
                )
                for i in same
            ]

        for i, sums in zip(same, _over_problems(predictions, notion, terms), strict=True):
            results[i] = sums._replace(bandwidths=(value,))
    return [results[i] for i in range(len(generators))]


def _auto_bandwidths(
    predictions: Predictions,
    notion: Notion,
    kernel: Kernel,
    generators: Sequence[BregmanGenerator],
    algorithm: str,
) -> list[float]:
    if isinstance(kernel, BinningKernel):
        return [1 / kernel.n_bins] * len(generators)
    with no_gradient(predictions.prob):
        return select_by_risk(predictions, notion, kernel, generators, algorithm)


def _over_problems(
    predictions: Predictions, notion: Notion, terms: Callable[[Problem], list[Sums]]
) -> list[Sums]:
    """Average the terms of several generators over the problems of a notion."""
    sums: list[Sums] = []
    n_problems = 0
    for problem in notion.problems(predictions):
        parts = terms(problem)
        sums = [a.plus(b) for a, b in zip(sums, parts, strict=True)] if sums else parts
        n_problems += 1
    return [s.over(n_problems) for s in sums]


def problem_terms(problem: Problem, mean: Array, generator: BregmanGenerator, method: str) -> Sums:
    """Estimate the terms of one problem from the conditional means r̂ (n, k)."""
    xp = namespace(mean)
    sums = _terms(problem, generator, -xp.sum(problem.weight * by_rows(generator.value, mean)))
    if method != "direct":
        return sums
    divergence = by_rows(
        lambda p, q, log_q: generator.divergence(p, q, log_q=log_q),
        mean,
        problem.prob,
        problem.log_prob,
    )
    risk, _, refinement, uncertainty = (sums.terms[i] for i in range(4))
    calibration_error = xp.sum(problem.weight * divergence)
    return sums._replace(
        terms=xp.stack([risk, calibration_error, refinement, uncertainty]),
        infinite=xp.isinf(divergence),
    )


def _terms(problem: Problem, generator: BregmanGenerator, refinement: Array) -> Sums:
    """Complete an estimate of the refinement, which leaves the calibration error of the risk."""
    xp = namespace(refinement)
    k = problem.n_classes

    def losses(prob: Array, log_prob: Array, label: Array) -> Array:
        return generator.loss(prob, one_hot(label, k, prob.dtype), log_q=log_prob)

    loss = by_rows(losses, problem.prob, problem.log_prob, problem.label)
    risk = xp.sum(problem.weight * loss)
    outcomes = xp.eye(k, dtype=loss.dtype, device=device(loss))
    weights = [xp.where(problem.label == i, problem.weight, 0.0) for i in range(k)]
    share = xp.stack([xp.sum(weight) for weight in weights])
    uncertainty = -generator.value(share)
    marginal_losses = generator.loss(xp.broadcast_to(share, (k, k)), outcomes)
    return Sums(
        xp.stack([risk, risk - refinement, refinement, uncertainty]),
        loss,
        xp.take(marginal_losses, problem.label, axis=0),
        second_order(problem, share, generator),
        xp.zeros_like(loss, dtype=xp.bool),
    )
