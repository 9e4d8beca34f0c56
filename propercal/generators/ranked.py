"""The ranked probability score, for ordered classes."""
# The base class documents the methods, and each class its formulas.
# ruff: noqa: D102

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from propercal._array import like, namespace, sum_last
from propercal._typing import Array
from propercal.generators.base import BregmanGenerator
from propercal.generators.registry import register


@final
@register("rps")
@dataclass(frozen=True)
class RankedProbability(BregmanGenerator):
    r"""Squared norm of cumulated probabilities, whose loss is the ranked probability score.

    .. math::

        F(p) &= -\sum_{j<k} C_j (1 - C_j), \quad C_j = \sum_{i \le j} p_i, \\
        L_F(q, e_y) &= \sum_{j<k} (C^q_j - 1[y \le j])^2, \\
        D_F(p, q) &= \|C^p - C^q\|^2

    F vanishes at the vertices. The columns are ordered classes, the least first: a prediction of a
    class near to the one that occurs loses less than one far from it. For two classes the loss is
    the squared error of q_1, half the Brier score.

    Source: Epstein (1969), doi:10.1175/1520-0450(1969)008<0985:ASSFPF>2.0.CO;2.

    Examples
    --------
    >>> import numpy as np
    >>> q = np.asarray([0.5, 0.25, 0.25])
    >>> print(RankedProbability().loss(q, np.asarray([0.0, 0.0, 1.0])))
    0.8125
    >>> print(RankedProbability().loss(q, np.asarray([0.0, 1.0, 0.0])))
    0.3125
    """

    ordered = True

    # Off the simplex F has k (Σ p − 1) besides, which no loss or divergence sees: it keeps the
    # components of ∇F, whose differences count, away from 0, where they would lose all digits.

    def value(self, p: Array) -> Array:
        c = _cumulated(p)
        return sum_last(c * (c - 1)) + p.shape[-1] * (sum_last(p) - 1)

    def gradient(self, p: Array) -> Array:
        return _from_above(2 * _cumulated(p) - 1) + p.shape[-1]

    def hessian(self, p: Array) -> Array:
        xp, k = namespace(p), p.shape[-1]
        places = np.arange(k)
        matrix = 2.0 * (k - 1 - np.maximum(places[:, None], places))
        return xp.broadcast_to(like(matrix, p, p.dtype), (*p.shape, k))

    def hessian_times(self, p: Array, v: Array) -> Array:
        return _from_above(2 * _cumulated(v + namespace(p, v).zeros_like(p)))

    def hessian_diagonal(self, p: Array) -> Array:
        k = p.shape[-1]
        diagonal = like(2.0 * np.arange(k - 1, -1, -1), p, p.dtype)
        return namespace(p).broadcast_to(diagonal, p.shape)

    def _divergence(self, p: Array, q: Array, log_q: Array | None) -> Array:  # noqa: ARG002
        return sum_last(_cumulated(p - q) ** 2)


def _cumulated(p: Array) -> Array:
    """Return the sums over the first 1, 2, ..., k − 1 of k classes."""
    return namespace(p).cumulative_sum(p, axis=-1)[..., :-1]


def _from_above(c: Array) -> Array:
    """Return Σ_{j ≥ i} c_j for each of the k classes; the last has none."""
    xp = namespace(c)
    sums = xp.flip(xp.cumulative_sum(xp.flip(c, axis=-1), axis=-1), axis=-1)
    return xp.concat([sums, xp.zeros_like(sums[..., :1])], axis=-1)
