"""The terms of a decomposition: of one problem, and averaged over the problems of a notion."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple, TypeVar

import numpy as np

from propercal._array import by_rows, detached, device, namespace, one_hot
from propercal._data.predictions.notions import Problem
from propercal._methods.misfit import Misfit
from propercal._methods.uncertainty import second_order
from propercal._results.kept_rows import OutwardRows
from propercal._typing import Array
from propercal.generators.base import BregmanGenerator

#: A float, or an array of none dimensions.
Number = TypeVar("Number", bound=Any)


class OneStepRows(NamedTuple):
    """What each row of a one-step estimate adds to the refinement."""

    loss: Array
    """(n,) L_F(r̂, y) − V, whose mean estimates the refinement."""
    correction: Array
    """(n,) V, the estimate of E D_F(r, r̂)."""
    base_loss: Array
    """(n,) the first, before the kernel correction."""
    noise: Array
    """(n, 6) noise of the labels as predictions have it, see `label_noise`."""
    recalibrated: Array | None = None
    """(n, k) r̂, of one problem; None where it is not kept."""
    tilt: Array | None = None
    """(n,) whether r̂ lies further out than the prediction, or further in, see `signs`; of one
    problem."""

    def take(self, rows: Array) -> OneStepRows:
        """Return rows by their numbers."""
        take = namespace(self.loss).take
        return OneStepRows(*(each if each is None else take(each, rows, axis=0) for each in self))

    def plus(self, other: OneStepRows) -> OneStepRows:
        """Add what the same rows have in another problem."""
        return OneStepRows(*(a + b for a, b in zip(self[:4], other[:4], strict=True)))

    def over(self, n: int) -> OneStepRows:
        """Return the mean over `n` problems; one problem keeps what it alone has."""
        return self if n == 1 else OneStepRows(*(each / n for each in self[:4]))


class Kept(NamedTuple):
    """What is kept beside the terms: of rows, where users look for what costs most."""

    of_problems: Array
    """(p, 5) terms of each problem."""
    recalibrated: Array | None = None
    """(n, k) r̂ of the only problem, or of the event of each; None if these are too many."""
    refined: Array | None = None
    """(n,) what each row adds to the refinement, of a method without a one-step estimate."""
    divergence: Array | None = None
    """(n,) D_F(r̂, g), of a method that measures it."""
    outward: OutwardRows | None = None
    """What over-confidence has, of several problems."""
    gap: Array | None = None
    """(m, 2) mean g − y of each class or event, and its standard error."""


class Terms(NamedTuple):
    """Terms of one generator, averaged over the problems of a notion."""

    values: Array
    """(5,) risk, calibration error, refinement, sharpness, uncertainty."""
    loss: Array
    """(n,) loss of each row."""
    marginal_loss: Array
    """(n,) loss of each row if the share of each class were predicted everywhere."""
    uncertainty_bias: Array
    """Scalar: bias of the uncertainty as it is in `values`."""
    uncertainty_variance: Array
    """Scalar: variance of the uncertainty that is not linear in the shares of the classes."""
    infinite: Array
    """(n,) whether the divergence of the row is infinite."""
    kernel: str
    """Its name, "none" for none."""
    bandwidth: float
    """Of the kernel; inf for none."""
    algorithm: str
    """How the kernel was summed."""
    one_step: OneStepRows | None = None
    """Of a method that corrects its bias."""
    kernel_rows: int | None = None
    """Rows that the correction by a kernel is made from."""
    training_rows: int | None = None
    """Rows that the recalibrations are fitted to."""
    misfit: Misfit | None = None
    """What recalibrations leave unexplained."""
    kept: Kept | None = None
    """What is kept beside the terms, of rows and of problems."""


class ProblemTerms(NamedTuple):
    """Terms of one generator and one problem, or added up over several."""

    estimates: Array
    """(4,) risk, calibration error, refinement, uncertainty."""
    loss: Array
    marginal_loss: Array
    second_order: Array
    """(2,) bias and variance of the uncertainty, as far as they are not linear in the shares."""
    infinite: Array
    refined: Array | None = None
    """(n,) what each row adds to the refinement, where it is kept."""
    divergence: Array | None = None
    """(n,) D_F(r̂, g), where it is measured."""

    @classmethod
    def of_rows(cls, problem: Problem, generator: BregmanGenerator, rows: Array) -> ProblemTerms:
        """Do as :meth:`of_refinement` from what each row (n,) adds, and keep it."""
        refinement = namespace(problem.weight).sum(problem.weight * rows)
        return cls.of_refinement(problem, generator, refinement)._replace(refined=detached(rows))

    @classmethod
    def of_refinement(
        cls, problem: Problem, generator: BregmanGenerator, refinement: Array
    ) -> ProblemTerms:
        """Complete an estimate of the refinement: the rest of the risk is calibration error."""
        xp = namespace(refinement)
        k = problem.n_classes

        def losses(prob: Array, log_prob: Array, label: Array) -> Array:
            return generator.loss(prob, one_hot(label, k, prob.dtype), log_q=log_prob)

        loss = by_rows(losses, problem.prob, problem.log_prob, problem.label)
        risk = xp.sum(problem.weight * loss)
        outcomes = xp.eye(k, dtype=loss.dtype, device=device(loss))
        share = class_shares(problem)
        uncertainty = -generator.value(share)
        marginal_losses = generator.loss(xp.broadcast_to(share, (k, k)), outcomes)
        return cls(
            xp.stack([risk, risk - refinement, refinement, uncertainty]),
            loss,
            xp.take(marginal_losses, problem.label, axis=0),
            second_order(problem, share, generator),
            xp.zeros_like(loss, dtype=xp.bool),
        )

    def with_divergence(self, problem: Problem, divergence: Array) -> ProblemTerms:
        """Return this with the calibration error that is the mean of a divergence (n,)."""
        xp = namespace(divergence)
        risk, _, refinement, uncertainty = (self.estimates[i] for i in range(4))
        calibration_error = xp.sum(problem.weight * divergence)
        return self._replace(
            estimates=xp.stack([risk, calibration_error, refinement, uncertainty]),
            infinite=xp.isinf(divergence),
            divergence=detached(divergence),
        )

    def plus(self, other: ProblemTerms) -> ProblemTerms:
        """Add the terms of another problem."""
        return ProblemTerms(
            self.estimates + other.estimates,
            self.loss + other.loss,
            self.marginal_loss + other.marginal_loss,
            self.second_order + other.second_order,
            self.infinite | other.infinite,
            _sum(self.refined, other.refined),
            _sum(self.divergence, other.divergence),
        )

    def over(self, n: int) -> ProblemTerms:
        """Return the mean over `n` problems."""
        return ProblemTerms(
            self.estimates / n,
            self.loss / n,
            self.marginal_loss / n,
            self.second_order / n,
            self.infinite,
            None if self.refined is None else self.refined / n,
            None if self.divergence is None else self.divergence / n,
        )


def _sum(a: Array | None, b: Array | None) -> Array | None:
    return None if a is None or b is None else a + b


def class_shares(problem: Problem) -> Array:
    """(k,) weight of the rows of each class."""
    xp = namespace(problem.weight)
    weights = [xp.where(problem.label == i, problem.weight, 0.0) for i in range(problem.n_classes)]
    return xp.stack([xp.sum(weight) for weight in weights])


def smoothed_rows(mean: Array, generator: BregmanGenerator) -> Array:
    """(n,) −F(r̂) of conditional means r̂ (n, k), whose mean is Eq. 13."""
    return -by_rows(generator.value, mean)


def smoothed_refinement(problem: Problem, mean: Array, generator: BregmanGenerator) -> Array:
    """Return mean −F(r̂) of conditional means r̂ (n, k), Eq. 13."""
    return namespace(mean).sum(problem.weight * smoothed_rows(mean, generator))


def smoothed_sharpness(problem: Problem, mean: Array, generator: BregmanGenerator) -> Array:
    """Return −F of the shares of the classes less the refinement."""
    uncertainty = -generator.value(class_shares(problem))
    with np.errstate(invalid="ignore"):
        return uncertainty - smoothed_refinement(problem, mean, generator)


def mean_terms(parts: Sequence[Sequence[ProblemTerms]]) -> list[ProblemTerms]:
    """Average the terms of each generator over problems, which come first."""
    return [
        reduce(ProblemTerms.plus, of_one).over(len(parts)) for of_one in zip(*parts, strict=True)
    ]


def by_identities(
    risk: Number,
    calibration_error: Number,
    refinement: Number,
    uncertainty: Number,
    *,
    measures_divergence: bool,
) -> tuple[Number, Number]:
    """Return the refinement and the sharpness that add up with the other terms."""
    # Only where no number makes up the risk with an infinite calibration error does the
    # refinement of the direct method keep its own estimate.
    if measures_divergence and abs(calibration_error) != math.inf:
        refinement = risk - calibration_error
    with np.errstate(invalid="ignore"):
        return refinement, uncertainty - refinement


def complete_terms(
    mean: ProblemTerms,
    kernel: str,
    bandwidth: float,
    algorithm: str,
    *,
    measures_divergence: bool = False,
    one_step: OneStepRows | None = None,
) -> Terms:
    """Complete the averaged terms by the identities between them.

    `measures_divergence` and whether there are rows of a one-step estimate say which terms were
    estimated, see :class:`propercal.methods.Method`.
    """
    bias, variance = mean.second_order[0], mean.second_order[1]
    return Terms(
        five_terms(mean, measures_divergence=measures_divergence, debiased=one_step is not None),
        mean.loss,
        mean.marginal_loss,
        bias if one_step is None else namespace(bias).zeros_like(bias),
        variance,
        mean.infinite,
        kernel,
        bandwidth,
        algorithm,
        one_step,
    )


def five_terms(mean: ProblemTerms, *, measures_divergence: bool, debiased: bool) -> Array:
    """(5,) terms by the identities between them; `debiased` takes its bias off the uncertainty."""
    xp = namespace(mean.estimates)
    risk, calibration_error, refinement, uncertainty = (mean.estimates[i] for i in range(4))
    if debiased:
        uncertainty = uncertainty - mean.second_order[0]
    refinement, sharpness = by_identities(
        risk, calibration_error, refinement, uncertainty, measures_divergence=measures_divergence
    )
    return xp.stack([risk, calibration_error, refinement, sharpness, uncertainty])


def stacked_terms(
    parts: Sequence[ProblemTerms], measures_divergence: bool, *, debiased: bool = False
) -> Array:
    """(p, 5) terms of each problem."""
    found = [
        detached(five_terms(each, measures_divergence=measures_divergence, debiased=debiased))
        for each in parts
    ]
    return namespace(found[0]).stack(found)
