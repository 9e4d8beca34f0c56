r"""Noise of the labels as predictions have it, and not as the few labels that occurred do.

The loss that r saves at g is, as a function of the one-hot label y, a constant plus ⟨s, y⟩ with
the slope s = ∇F(r) − ∇F(g), since L_F(q, y) is linear in y with the slope −∇F(q). For labels
drawn from probabilities p

.. math::

    \operatorname{Var} ⟨s, y⟩ = \sum_c p_c s_c^2 - \Bigl( \sum_c p_c s_c \Bigr)^2 .

It does not change if a constant is added to s, chosen here so that s_0 = 0. The two sums of
problems of one class against the rest then add up to those of all: a label occurs in one of them.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from propercal._array import by_rows, like, namespace, sum_last
from propercal._results.intervals import POWER
from propercal._typing import Array
from propercal.generators.base import BregmanGenerator

Floats = npt.NDArray[np.float64]

#: What is kept of each row: Σ p s and Σ p s² of its recalibration (p = r̂), the same of a small
#: change of temperature at the prediction itself (p = g), how much loss that change saves, and the
#: variance of it, which is kept for sums over problems by themselves.
COLUMNS = 6
#: Of the test of one family, if that of all of them has 5 %: .016 to .020 in simulations.
_LEVEL_OF_ONE = 0.02


def label_moments(generator: BregmanGenerator, recalibrated: Array, log_prob: Array) -> Array:
    """(r, 2) Σ r̂ s and Σ r̂ s² of r̂ (r, k) at predictions with these logarithms (r, k)."""

    def moments(r: Array, log_g: Array) -> Array:
        return _moments(r, generator.gradient(r) - generator.gradient_from_log(log_g))

    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        return by_rows(moments, recalibrated, log_prob)


def temperature_moments(generator: BregmanGenerator, log_prob: Array) -> Array:
    r"""(r, 4) moments of a small change of temperature, the loss that it saves, the variance.

    g moves by ε_i = g_i (log g_i − Σ_j g_j log g_j), so that s = ∇²F(g) ε, and if r = g + ε the
    calibration error is ½ ⟨ε, s⟩, to leading order.
    """

    def moments(log_g: Array) -> Array:
        xp = namespace(log_g)
        g = xp.exp(log_g)
        step = g * (log_g - sum_last(g * log_g)[:, None])
        slope = generator.hessian_times(g, step)
        saved = 0.5 * sum_last(xp.where(xp.isfinite(slope), slope, 0.0) * step)
        found = _moments(g, slope)
        variance = found[:, 1] - found[:, 0] ** 2
        return xp.concat([found, saved[:, None], variance[:, None]], axis=1)

    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        return by_rows(moments, log_prob)


def noise_of(generator: BregmanGenerator, recalibrated: Array, log_prob: Array) -> Array:
    """(r, COLUMNS) all of it, for recalibrations r̂ (r, k)."""
    parts = [
        label_moments(generator, recalibrated, log_prob),
        temperature_moments(generator, log_prob),
    ]
    return namespace(recalibrated).concat(parts, axis=1)


def of_problems(noise: Array, n_problems: int) -> Array:
    """(n, COLUMNS) of the mean over problems, from their sum."""
    powers = np.asarray([1, 2, 1, 2, 1, 2])
    return noise * like(float(n_problems) ** -powers, noise, noise.dtype)


def variance_of_labels(noise: Floats, squares: Floats) -> float:
    """Return the variance of the mean loss saved by r̂, given the predictions.

    `noise` (n, COLUMNS) is that of rows, or of cells; `squares` (n,) are Σ w², with Σ w = 1.
    """
    return _variance(noise[:, 0], noise[:, 1], squares)


def noise_floor(noise: Floats, weight: Floats, squares: Floats, n_problems: int = 1) -> float:
    r"""Return the calibration error that noise makes of a temperature, where there is none.

    Of several problems each has a temperature of its own: it is the mean of theirs, in which the
    loss that they save weighs them.
    """
    variance = n_problems * float(squares @ np.maximum(noise[:, 5], 0.0))
    return floor_of(variance, float(weight @ noise[:, 4]))


def floor_of(variance: float, saved: float) -> float:
    """Return the floor from the variance of the loss that a change of temperature saves."""
    floor = variance / (4 * saved) if saved > 0 else 0.0
    return floor if math.isfinite(floor) else 0.0


def detection_floor(noise: Floats, weight: Floats, squares: Floats, n_problems: int) -> float:
    r"""Return the calibration error of temperatures, one a problem, that the test sees at 80 %.

    Labels of different problems count as independent: taken together, a change of temperature of
    every class of many is against the rule that their probabilities sum to 1, and as good as seen.
    NaN where temperatures change nothing.
    """
    variance = float(squares @ np.maximum(noise[:, 5], 0.0))
    floor = floor_of(variance, float(weight @ noise[:, 4]))
    return shown_at(n_problems) * floor if floor > 0 else math.nan


def shown_at(n_coefficients: int) -> float:
    """Return the noncentrality that a χ² of these degrees of freedom is seen at."""
    from scipy.special import chdtri, chndtrinc

    limit = chdtri(n_coefficients, _LEVEL_OF_ONE)
    return float(chndtrinc(limit, n_coefficients, 1 - POWER))


def _moments(p: Array, slope: Array) -> Array:
    xp = namespace(p)
    slope = slope - slope[:, :1]
    # Where p underflows to 0 the slope may be infinite, and no label occurs.
    slope = xp.where(xp.isfinite(slope), slope, 0.0)
    return xp.stack([sum_last(p * slope), sum_last(p * slope * slope)], axis=1)


def _variance(mean: Floats, square: Floats, squares: Floats) -> float:
    # Rounding leaves less than nothing where a label is as good as known.
    return float(squares @ np.maximum(square - mean * mean, 0.0))
