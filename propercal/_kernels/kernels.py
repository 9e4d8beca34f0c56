"""Kernels on the probability simplex: which predictions count as near each other.

A kernel k(t; x) weighs the source x, whose label is known, for the estimate of E[Y | g(X)] at the
target t. Two kinds exist: kernels whose logarithm is bilinear in features of t and x (summed in
tiles by :mod:`propercal._kernels.tiles`), and partitions of the simplex into cells (summed by
:mod:`propercal._kernels.bins`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

from propercal._array import LOG_ZERO, by_rows, gammaln, namespace, sum_last, xlogx
from propercal._data.words.messages import bad_value, unknown_name
from propercal._typing import Array

if TYPE_CHECKING:
    from typing_extensions import TypeIs

#: The largest inner product of features: sums of 10⁹ exponentials of it do not overflow, and few of
#: the terms that matter underflow.
HEADROOM = 600.0
#: From a kernel that sees a good part of the simplex at once to one that needs thousands of rows.
BANDWIDTHS = (0.6, 0.2, 0.06, 0.02, 0.006)


class Features(NamedTuple):
    """A kernel as an inner product: log k(t_h; x_j) = log_scale_h + target_h · source_j."""

    target: Array
    """(n, m), one row per target."""
    source: Array
    """(m, n), one column per source."""
    log_scale: Array
    """(n,), what the inner product leaves out: log k(t_h; x_j) = log_scale_h + target_h · source_j,
    chosen so that no inner product exceeds HEADROOM."""

    # The last two target features are 1 and −log_scale, with their partners in the sources: the
    # bound on the source alone, and 1. Nothing outside of this class counts on it.

    def weighted(self, weight: Array) -> Features:
        """Return these with kernel values that count `weight` (n,) ≥ 0 times, as sources."""
        xp = namespace(weight)
        source, positive = self.source, weight > 0
        log_weight = xp.where(positive, xp.log(xp.where(positive, weight, 1.0)), -xp.inf)
        source = xp.concat(
            [source[:-2, :], source[-2:-1, :] + log_weight[None, :], source[-1:, :]], axis=0
        )
        return self._replace(source=source)

    def shifted(self, by: float | Array) -> Features:
        """Return these with `by`, one number or one a target (n, 1), added to every exponent."""
        return self._replace(target=shifted(self.target, by))

    def power(self, exponent: int) -> Features:
        """Return these for a power of the kernel, in units of that power of exp(log_scale)."""
        return self._replace(target=exponent * self.target)


def shifted(target: Array, by: float | Array) -> Array:
    """Return target features (r, m) with `by`, one number or (r, 1), added to every exponent."""
    # The last source feature is 1.
    return namespace(target).concat([target[:, :-1], target[:, -1:] + by], axis=1)


class BilinearKernel(ABC):
    """A kernel whose logarithm is an inner product of target and source features."""

    #: Its sums have a density of the predictions as a factor.
    has_density: ClassVar[bool] = True
    #: What "auto" takes; None: chosen by the data.
    default_bandwidth: ClassVar[float | None] = None
    #: Why :mod:`propercal._kernels.linear` cannot sum it; None where it can.
    obstacle_to_nodes: ClassVar[str | None] = "a kernel that is not known to be smooth"

    @abstractmethod
    def own(self, n_classes: int) -> float:
        """Return k(t; t) in the unit of features, exp(log_scale + HEADROOM), of rows of sum 1."""

    @abstractmethod
    def features(self, prob: Array, log_prob: Array, bandwidth: float) -> Features:
        """Return the features of the points ``prob`` (n, k) with logarithms ``log_prob``."""


class DirichletKernel(BilinearKernel):
    r"""The density of a Dirichlet distribution around the source (Ouimet & Tolosana-Delgado 2022).

    .. math::

        \log κ_γ(t; x) = \log Γ(S + k) - \sum_i \log Γ(x_i / γ + 1) + \sum_i (x_i / γ) \log t_i,
        \qquad S = \sum_i x_i / γ .

    For two classes this is the beta kernel (Chen 1999, doi:10.1016/S0167-9473(99)00010-9).

    Notes
    -----
    With u = x/γ the kernel is, up to a constant, a product of Poisson probabilities of counts u at
    means t/γ. A Poisson probability exceeds its value at u = λ by less than a factor exp(0.26)
    (the worst case is u = 0), so log k(t; t) + 0.26 k bounds log k(t; x) over all sources x, and
    sums need no search for their largest term.

    A target's zero is read as the smallest positive double, log 0 := −744.4, because a zero of a
    floating-point number stands for anything below it.
    """

    #: By how much, for each class, log k(t; x) may exceed log k(t; t); see the notes above.
    excess: ClassVar[float] = 0.26
    obstacle_to_nodes: ClassVar[str | None] = None

    def own(self, n_classes: int) -> float:
        """Return exp(−excess k), whatever the bandwidth."""
        return math.exp(-self.excess * n_classes)

    def features(self, prob: Array, log_prob: Array, bandwidth: float) -> Features:
        """Return features from which the large terms of Stirling's formula are cancelled."""
        xp = namespace(prob)
        k = prob.shape[1]

        def row_sums(prob: Array, log_prob: Array) -> Array:
            counts = prob / bandwidth
            # The residual's u log u makes u log (u / g) = −u log γ of it, whose slope at 0 is that.
            entropy = -sum_last(counts * xp.where(prob > 0, log_prob, math.log(bandwidth)))
            return xp.stack([sum_last(_stirling_residual(counts)), entropy], axis=1)

        sums = by_rows(row_sums, prob, log_prob)
        residual, entropy = sums[:, 0], sums[:, 1]
        total = sum_last(prob)
        scale = total / bandwidth
        m = scale + (k - 1)
        log_gamma_scale = (
            _stirling_residual(m) + scale * xp.log1p((k - 1) / scale) + (k - 1) * (xp.log(m) - 1)
        )
        normaliser = log_gamma_scale - residual
        # Rows need not sum to exactly 1: what depends on the sum of a source alone, at its largest.
        of_sum = log_gamma_scale + scale * (xp.log(total) - 1)
        lacking = xp.max(of_sum) - of_sum
        # log k(t; t), plus the bound of the notes above, less the headroom.
        log_scale = normaliser + scale * xp.log(total) + lacking + self.excess * k - HEADROOM
        log_target = xp.where(log_prob > -xp.inf, log_prob, LOG_ZERO)
        ones = xp.ones_like(total)
        constant = normaliser + scale * xp.log(total) + entropy
        return Features(
            target=xp.concat([log_target, ones[:, None], -log_scale[:, None]], axis=1),
            source=xp.concat([prob.T / bandwidth, constant[None, :], ones[None, :]], axis=0),
            log_scale=log_scale,
        )


@dataclass(frozen=True)
class BinningKernel:
    """Cells of a regular partition: 1 for two points in one cell, else 0 (paper, section 4).

    Every coordinate is cut into 1 / bandwidth bins (rounded to a whole number), of equal width or
    of equal weight; a cell is one combination of bins.
    """

    spacing: Literal["uniform", "quantile"]

    #: The usual 15 bins; used where "auto" would otherwise have to search a step function.
    n_bins: ClassVar[int] = 15
    #: As of :class:`BilinearKernel`.
    has_density: ClassVar[bool] = False
    default_bandwidth: ClassVar[float | None] = 1 / n_bins
    obstacle_to_nodes: ClassVar[str | None] = "bins, whose means take linear time by themselves"


def _stirling_residual(u: Array) -> Array:
    """Return log Γ(u + 1) − u log u + u, about ½ log 2πu, without cancellation for large u."""
    xp = namespace(u)
    large = u >= 16.0
    big = xp.where(large, u, 16.0)
    small = xp.where(large, 1.0, u)
    square = 1.0 / (big * big)
    series = (
        1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680 - square / 1188)))
    ) / big
    return xp.where(
        large,
        0.5 * xp.log(2 * math.pi * big) + series,
        gammaln(small + 1.0) - xlogx(small) + small,
    )


Kernel = BilinearKernel | BinningKernel

_KERNELS: dict[str, Kernel] = {
    "dirichlet": DirichletKernel(),
    "uniform-bins": BinningKernel("uniform"),
    "quantile-bins": BinningKernel("quantile"),
}


def has_features(kernel: Kernel) -> TypeIs[BilinearKernel]:
    """Tell whether the kernel is an inner product, so that its sums run over all rows."""
    return kernel.has_density


def as_kernel(kernel: object) -> Kernel:
    """Return the kernel called `kernel`, or raise with the nearest valid name."""
    if not isinstance(kernel, str) or kernel not in _KERNELS:
        raise unknown_name("kernel", kernel, _KERNELS)
    return _KERNELS[kernel]


def check_width(kernel: Kernel, bandwidth: float) -> None:
    """Raise if bins are wider than the simplex, as their number in place of their width says."""
    if isinstance(kernel, BinningKernel) and bandwidth > 1:
        raise bad_value(
            "bandwidth",
            f"{bandwidth:g}",
            "the width of the bins, at most 1",
            f"pass 1/{round(bandwidth)} for {round(bandwidth)} bins",
        )
