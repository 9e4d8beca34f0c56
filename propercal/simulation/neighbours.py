r"""Sources near a target, drawn for the fixed-bandwidth limit in three or more classes.

The limit of the estimate of E[Y | g(X)] at a target t is E[κ_γ(t; x) r(x)] / E[κ_γ(t; x)] over
sources x = g(X). A kernel of bandwidth γ reaches a share γ^{(k-1)/2} of them, so sources are drawn
near t instead, and weighted. In counts m = x / γ the Dirichlet kernel is a multinomial probability
with N = 1/γ trials; in Poisson form its coordinates are independent, and on the scale √m close to
normal with variance 1/4. So: draw √m_i from normal distributions cut off at 0, set x = m / Σ m,
and weight by kernel × density of x × an arbitrary density of the total M = Σ m given x, over the
density drawn from.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import gammaln, ndtr, ndtri

from propercal.simulation.marginal import SimplexModel
from propercal.simulation.quadrature import Floats

# A little above 1/2, so that weights stay bounded in the tails.
_SPREAD = 0.56
_EULER = 0.577


class Draws(NamedTuple):
    """Sources for each target: arrays (targets, sources) and (targets, sources, k)."""

    log_weight: Floats
    """Up to a constant of the target."""
    log_source: Floats


def draw_sources(model: SimplexModel, log_t: Floats, bandwidth: float, unit: Floats) -> Draws:
    """Draw sources for targets `log_t` (n, k) from uniform numbers `unit` (n, m, k)."""
    n_trials = 1.0 / bandwidth
    c = 1.0 / model.score_power
    log_mean = log_t - np.log(bandwidth)
    mean = np.exp(log_mean)
    # Where the mean count is small the law of √m is half normal, with a scale set by log λ.
    slope = np.maximum(-log_mean - _EULER, 1.2)
    large = mean > 0.56
    centre = np.sqrt(np.where(large, np.maximum(mean - 0.5, 0.0), 0.0))[:, None, :]
    spread = np.where(large, _SPREAD, np.sqrt(0.5 / slope))[:, None, :]
    below = ndtr(-centre / spread)
    root = centre + spread * ndtri(below + unit * (1 - below))
    root = np.maximum(root, 1e-150)
    log_root = np.log(root)
    # log density of m_i, up to a constant of the target: normal in √m, times d√m/dm.
    log_drawn = -0.5 * ((root - centre) / spread) ** 2 - log_root
    total = np.sum(root * root, axis=2)
    log_source = 2 * log_root - np.log(total)[:, :, None]
    source = np.exp(log_source)
    log_kernel = np.sum(n_trials * source * log_t[:, None, :], axis=2) - np.sum(
        gammaln(n_trials * source + 1), axis=2
    )
    log_density = (c - 1) * log_source.sum(axis=2) - model.n_classes * np.log(
        np.exp(c * log_source).sum(axis=2)
    )
    relative_entropy = np.sum(source * (log_source - log_t[:, None, :]), axis=2)
    middle = np.sqrt(n_trials * np.exp(-np.maximum(relative_entropy, 0.0)))
    log_total = -2 * (np.sqrt(total) - middle) ** 2 - 0.5 * np.log(total) - np.log(ndtr(2 * middle))
    log_jacobian = (model.n_classes - 1) * np.log(total)
    log_weight = log_kernel + log_density + log_total - log_jacobian - log_drawn.sum(axis=2)
    return Draws(log_weight, log_source)
