"""The part of the bias that is a variance: ½ tr(∇²F Cov) of recalibrated probabilities."""

from __future__ import annotations

from collections.abc import Sequence

from propercal._array import by_rows, namespace, sum_last
from propercal._methods.correction import Corrected
from propercal._typing import Array
from propercal.generators.base import BregmanGenerator, curvature_width


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
