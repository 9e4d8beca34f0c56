"""The published estimates, from nothing but the weights of nodes.

A mean over predictions of what is as smooth as the kernel sums is a weighted sum over nodes,

    mean Φ(x_h, y_h) ≈ Σ_m Σ_y w_my Φ(X_m, y) / n,   Φ(x, y) = L_F(r̂(x; y), y),

where r̂(x; y) leaves out a point (x, y) itself: r̂ is needed at nodes alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from propercal._kernels.kernels import DirichletKernel
from propercal._kernels.panels import chebyshev
from propercal._kernels.tiles import EXPONENT_FLOOR
from propercal.generators.base import BregmanGenerator
from propercal.methods import Method
from propercal.sketch.kernel_sums import TAIL, kernel_sums, unresolved
from propercal.sketch.weighted_points import WeightedPoints

Floats = npt.NDArray[np.float64]


class Estimate(NamedTuple):
    """The mean of an estimate over the rows of a problem."""

    mean: float
    """Of the refinement, or by the direct method of the calibration error."""
    error: float
    """Estimate of what the nodes leave out of the mean."""
    own_refinement: float = math.nan
    """Mean −F(r̂), by the direct method: the refinement where the calibration error is infinite."""


def estimate_problem(mass: WeightedPoints, generator: BregmanGenerator, method: Method) -> Estimate:
    """Estimate the refinement, or by the direct method the calibration error, of one problem."""
    kernel = DirichletKernel()
    (sums,) = kernel_sums(mass, kernel, mass.bandwidth, EXPONENT_FLOOR, mass.weights)

    def mean(label: int) -> Floats:
        rest = _without(sums, mass, kernel.own(2) * np.eye(2)[label])
        total = rest.sum(axis=1, keepdims=True)
        return np.where(total > 0, rest / np.where(total > 0, total, 1.0), mass.prob)

    means = mean(0), mean(1)
    lonely = _lonely(mass, generator, kernel)
    own = _average(mass, _by_label(lambda label: np.asarray(-generator.value(means[label]))))
    own = own._replace(error=own.error + lonely)
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
        error=divergence.error + lonely,
    )


def _lonely(mass: WeightedPoints, generator: BregmanGenerator, kernel: DirichletKernel) -> float:
    """Estimate what the mean is off by for predictions that are far from all others."""
    counted = mass.weights.sum(axis=1) @ unresolved(mass, kernel, mass.bandwidth)
    most = -float(generator.value(np.full(2, 0.5))) + float(generator.value(np.eye(2)[0]))
    return abs(most) * float(counted / mass.weights.sum())


def _without(sums: Floats, mass: WeightedPoints, own: Floats) -> Floats:
    """Take what a point adds at itself from the sums at nodes, where it is among the sources."""
    return np.maximum(np.where(mass.single[:, None], sums, sums - own), 0.0)


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
    return Estimate(mean, error)
