"""The part of the bias that is a variance: ½ tr(∇²F Cov) of recalibrated probabilities."""

from __future__ import annotations

import math
from collections.abc import Sequence

from propercal._array import by_rows, namespace, sum_last
from propercal._methods.correction import Corrected
from propercal._methods.terms import OneStepRows
from propercal._typing import Array
from propercal.generators.base import BregmanGenerator, curvature_width

#: By as much may V exceed what bounds it on average: the smaller of two noisy numbers is too small.
_SLACK = 1.5


def half_trace(generator: BregmanGenerator, corrected: Corrected) -> Array:
    r"""(r,) ½ tr(∇²F(r̂) Σ̂) of the kernel correction.

    .. math::

        \hatΣ = s\, J (\mathrm{diag}\, m - m m^\top) J^\top, \qquad
        J = \mathrm{diag}\, v - \hat r v^\top, \qquad s = 1 / \text{size}.
    """
    xp = namespace(corrected.prob)

    def trace(r: Array, v: Array, m: Array, size: Array) -> Array:
        bent = generator.hessian_times(r, r)
        along = sum_last(r * bent)[:, None]
        # (e_i − r̂)ᵀ ∇²F (e_i − r̂), one for each i.
        squares = generator.hessian_diagonal(r) - 2 * bent + along
        mean = v * m - r * sum_last(v * m)[:, None]
        total = sum_last(v * v * m * squares)
        total = total - sum_last(mean * generator.hessian_times(r, mean))
        some = size[:, 0] > 0
        return xp.where(some, 0.5 * total / xp.where(some, size[:, 0], 1.0), 0.0)

    width = curvature_width(generator, corrected.prob.shape[1])
    return by_rows(
        trace, corrected.prob, corrected.gain, corrected.share, corrected.size, width=width
    )


def half_spread(generator: BregmanGenerator, fits: Sequence[Array]) -> Array:
    """(r,) ½ Σ_f ‖b_f − b̄‖² in the metric ∇²F(b̄), a jackknife over the folds left out."""
    xp = namespace(fits[0])
    mean = xp.mean(xp.stack(list(fits)), axis=0)

    def squared(b: Array, centre: Array) -> Array:
        step = b - centre
        return sum_last(step * generator.hessian_times(centre, step))

    width = curvature_width(generator, mean.shape[1])
    squares = xp.stack([by_rows(squared, b, mean, width=width) for b in fits])
    return 0.5 * xp.sum(squares, axis=0)


def bounded(
    rows: OneStepRows, generator: BregmanGenerator, prob: Array, weight: Array
) -> OneStepRows:
    r"""Scale V down to 1.5 times the mean of D_F(g, r̂) at predictions g (n, k), where it is above.

    Spread is least around the mean, so that to second order

    .. math:: \tfrac12 \E \lVert \hat r - \E \hat r \rVert^2 \le \E D_F(g, \hat r),

    whatever r is. A jackknife of families that are chosen anew without each fold is above that
    where there is nothing to choose them for.
    """
    xp = namespace(rows.loss)
    moved = by_rows(generator.divergence, prob, rows.recalibrated)
    most, spread = (float(xp.sum(weight * each)) for each in (moved, rows.correction))
    most *= _SLACK
    if not math.isfinite(most) or spread <= most:
        return rows
    correction = rows.correction * (most / spread)
    less = rows.correction - correction
    return rows._replace(
        loss=rows.loss + less, correction=correction, base_loss=rows.base_loss + less
    )
