"""Terms of a decomposition from nothing but the weights of nodes.

A mean over predictions of what is as smooth as the kernel sums is a weighted sum over nodes,

    mean Φ(x_h, y_h) ≈ Σ_m Σ_y w_my Φ(X_m, y) / n,   Φ(x, y) = L_F(r̂(x; y), y),

where r̂(x; y) leaves out a point (x, y) itself: r̂ is needed at nodes alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from propercal._kernels.kernels import DirichletKernel
from propercal._kernels.panels import chebyshev
from propercal._kernels.tiles import EXPONENT_FLOOR
from propercal._methods.correction import correct, residuals, shrink
from propercal._methods.one_step import PRIORS
from propercal._methods.variance import half_trace
from propercal.generators.base import BregmanGenerator
from propercal.methods import Method
from propercal.recalibration.points import LOG_FLOOR, interior
from propercal.sketch.kernel_sums import TAIL, kernel_sums, unresolved
from propercal.sketch.weighted_points import WeightedPoints

Floats = npt.NDArray[np.float64]

#: Bandwidths to choose from, in units of the narrowest.
_MULTIPLES = (1, 4, 16, 64)
#: A correction draws what the kernel sees to a base of e^{LOG_FLOOR} at least: e^{−160} of 10⁹ rows
#: is nothing beside it.
_CORRECTION_FLOOR = -160.0


class Estimate(NamedTuple):
    """The mean of an estimate over the rows of a problem."""

    mean: float
    """Of the refinement, or by the direct method of the calibration error."""
    correction: float
    """What it was corrected by, already in `mean`."""
    variance: float
    """Variance over rows of the loss that recalibration would save (debiased method)."""
    refined_variance: float
    """Variance over rows of the recalibrated loss (debiased method)."""
    sharpness_variance: float
    """Variance over rows of what that saves of the loss of the shares (debiased method)."""
    error: float
    """Estimate of what the nodes leave out of the mean."""
    bandwidth: float
    """What was used, inf for no kernel."""
    smoothing: float = 0.0
    """Estimate of what smoothing adds to the mean, where there is no narrower kernel to choose."""
    own_refinement: float = math.nan
    """Mean −F(r̂), by the direct method: the refinement where the calibration error is infinite."""


def estimate_problem(mass: WeightedPoints, generator: BregmanGenerator, method: Method) -> Estimate:
    """Estimate the refinement, or by the direct method the calibration error, of one problem."""
    kernel = DirichletKernel()
    if method.corrects_bias:
        found = _one_step(mass, generator, kernel)
        return found._replace(error=found.error + _lonely(mass, generator, kernel, found))
    (sums,) = kernel_sums(mass, kernel, mass.bandwidth, EXPONENT_FLOOR, mass.weights)

    def mean(label: int) -> Floats:
        rest = _without(sums, mass, kernel.own(2) * np.eye(2)[label])
        total = rest.sum(axis=1, keepdims=True)
        return np.where(total > 0, rest / np.where(total > 0, total, 1.0), mass.prob)

    means = mean(0), mean(1)
    own = _average(mass, _by_label(lambda label: np.asarray(-generator.value(means[label]))))
    own = own._replace(error=own.error + _lonely(mass, generator, kernel, own))
    if not method.measures_divergence:
        return own
    divergence = _average(
        mass,
        _by_label(
            lambda label: np.asarray(
                generator.divergence(means[label], mass.prob, log_q=mass.log_prob)
            )
        ),
    )
    return divergence._replace(
        own_refinement=own.mean,
        error=divergence.error + _lonely(mass, generator, kernel, divergence),
    )


def _lonely(
    mass: WeightedPoints, generator: BregmanGenerator, kernel: DirichletKernel, found: Estimate
) -> float:
    """Estimate what the mean is off by for predictions that are far from all others."""
    if math.isinf(found.bandwidth):
        return 0.0
    counted = mass.weights.sum(axis=1) @ unresolved(mass, kernel, found.bandwidth)
    most = -float(generator.value(np.full(2, 0.5))) + float(generator.value(np.eye(2)[0]))
    return abs(most) * float(counted / mass.weights.sum())


def _without(sums: Floats, mass: WeightedPoints, own: Floats) -> Floats:
    """Take what a point adds at itself from the sums at nodes, where it is among the sources."""
    return np.maximum(np.where(mass.single[:, None], sums, sums - own), 0.0)


def _one_step(
    mass: WeightedPoints, generator: BregmanGenerator, kernel: DirichletKernel
) -> Estimate:
    """Correct the predictions by what the kernel sees in their residuals, as far as that pays.

    Wider kernels are as smooth on the same nodes, so that the bandwidth is chosen too.
    """
    base = interior(np.maximum(mass.log_prob, LOG_FLOOR)).prob
    given = _by_label(lambda label: _loss(generator, base, label))
    best = _Candidate(_average(mass, given).mean, given, np.zeros_like(given), math.inf)
    finest: list[float] = []
    for multiple in _MULTIPLES:
        gamma = multiple * mass.bandwidth
        candidates = _candidates(mass, generator, kernel, base, gamma)
        lowest = min(candidates, key=lambda each: each.score)
        finest.append(_average(mass, lowest.loss - lowest.variance).mean)
        if lowest.score < best.score:
            best = lowest
    saved = _by_label(lambda label: _loss(generator, mass.prob, label, mass.log_prob))
    refined = best.loss - best.variance
    return _average(mass, refined)._replace(
        correction=_average(mass, best.variance).mean,
        variance=_variance(mass, saved - refined),
        refined_variance=_variance(mass, refined),
        sharpness_variance=_variance(mass, _of_shares(mass, generator) - refined),
        bandwidth=best.bandwidth,
        # Of order γ² in the middle and of order γ near the ends, of which the larger is taken.
        smoothing=(finest[1] - finest[0]) / (_MULTIPLES[1] - 1)
        if best.bandwidth == mass.bandwidth
        else 0.0,
    )


def _of_shares(mass: WeightedPoints, generator: BregmanGenerator) -> Floats:
    """(1, 2) the loss for each label of predicting the shares of both; of none that occurred, 0."""
    count = mass.weights.sum(axis=0)
    share = np.broadcast_to(count / count.sum(), (2, 2))
    losses = np.asarray(generator.loss(share, np.eye(2)))
    return np.where(count > 0, losses, 0.0)[None, :]


class _Candidate(NamedTuple):
    score: float
    """Mean loss, less half of V: the other half is kept as the price of variance."""
    loss: Floats
    """(m, 2) of the corrected predictions, for each label."""
    variance: Floats
    """(m, 2) V."""
    bandwidth: float


def _candidates(
    mass: WeightedPoints,
    generator: BregmanGenerator,
    kernel: DirichletKernel,
    base: Floats,
    gamma: float,
) -> list[_Candidate]:
    """Return the corrections of a bandwidth with each prior."""
    own, outcome = kernel.own(2), np.eye(2)
    total = mass.weights.sum(axis=1, keepdims=True)
    weights = np.concatenate([mass.weights, total * base], axis=1)
    sums, squares = kernel_sums(mass, kernel, gamma, _CORRECTION_FLOOR, weights, total)
    found = [
        residuals(
            _without(sums[:, :2], mass, own * outcome[label]),
            _without(squares, mass, np.full(1, own**2))[:, 0],
            _without(sums[:, 2:], mass, own * base),
        )
        for label in range(2)
    ]
    result = []
    # A ratio cannot move a prediction that is next to 0 or 1; a sum can.
    for moved, prior in product((correct, shrink), PRIORS):
        corrected = [moved(base, each, prior) for each in found]
        loss = np.stack([_loss(generator, corrected[i].prob, i) for i in range(2)], axis=1)
        variance = np.stack([half_trace(generator, each) for each in corrected], axis=1)
        score = _average(mass, loss - 0.5 * variance).mean
        result.append(_Candidate(score, loss, variance, gamma))
    return result


def _loss(
    generator: BregmanGenerator, prob: Floats, label: int, log_prob: Floats | None = None
) -> Floats:
    outcome = np.broadcast_to(np.eye(2)[label], prob.shape)
    return np.asarray(generator.loss(prob, outcome, log_q=log_prob))


def _by_label(function: Callable[[int], Floats]) -> Floats:
    return np.stack([function(0), function(1)], axis=1)


def _average(mass: WeightedPoints, values: Floats) -> Estimate:
    """Average values (m, 2) for each label over the points that have it."""
    used = np.where(mass.weights != 0, values, 0.0)
    n = mass.weights.sum()
    at_nodes = ~mass.single
    shape = -1, mass.order, 2
    with np.errstate(invalid="ignore"):
        mean = float((mass.weights * used).sum() / n)
        coefficients = np.einsum(
            "ij,pjl->pil", chebyshev(mass.order).transform, used[at_nodes].reshape(shape)
        )
        tail = np.abs(coefficients[:, -TAIL:]).max(axis=1, initial=0.0)
        points = mass.weights[at_nodes].reshape(shape).sum(axis=1)
        error = float((points * tail).sum() / n)
    return Estimate(mean, 0.0, 0.0, 0.0, 0.0, error, mass.bandwidth)


def _variance(mass: WeightedPoints, values: Floats) -> float:
    mean = _average(mass, values).mean
    return max(0.0, _average(mass, (values - mean) ** 2).mean)
