r"""Noise of the labels, as recalibrated predictions have it.

Let s = ∇F(r̂) − ∇F(g). The loss saved at a row, as a function of its label y, is a constant plus
⟨s, y⟩, since L_F(q, y) is linear in y with the slope −∇F(q). Under labels drawn from r̂ it has

.. math::

    \operatorname{Var}_{y \sim \hat r} ⟨s, y⟩ = \sum_c \hat r_c s_c^2 - \Bigl( \sum_c \hat r_c s_c
    \Bigr)^2,

which does not change if a constant is added to s; it is chosen so that s_0 = 0. Moments of
problems of one class against the rest then add up to those of all: the one-hot label of a row
meets the slope of one of them.
"""

from __future__ import annotations

from typing import NamedTuple

from propercal._array import by_rows, namespace, one_hot
from propercal._typing import Array
from propercal.generators.base import BregmanGenerator


class LabelMoments(NamedTuple):
    """Moments of ⟨s, y⟩ for labels drawn from r̂, and what the labels that occurred add."""

    surprise: Array
    """(n,) ⟨s, y − r̂⟩ of the label that occurred."""
    mean: Array
    """(n,) Σ r̂ s."""
    square: Array
    """(n,) Σ r̂ s²."""


def label_moments(
    generator: BregmanGenerator, recalibrated: Array, log_prob: Array, label: Array
) -> LabelMoments:
    """Return moments of the loss saved by r̂ (r, k) at predictions of these logarithms (r, k)."""
    k = recalibrated.shape[1]
    xp = namespace(recalibrated)

    def moments(r: Array, log_g: Array, y: Array) -> Array:
        slope = generator.gradient(r) - generator.gradient_from_log(log_g)
        slope = slope - slope[:, :1]
        # Where r̂ underflows to 0, what it makes of a label does not count.
        slope = xp.where(xp.isfinite(slope), slope, 0.0)
        mean = xp.sum(r * slope, axis=1)
        found = xp.sum(one_hot(y, k, r.dtype) * slope, axis=1)
        return xp.stack([found - mean, mean, xp.sum(r * slope * slope, axis=1)], axis=1)

    found = by_rows(moments, recalibrated, log_prob, label)
    return LabelMoments(*(found[:, i] for i in range(3)))
