r"""The calibration error of the simulated model, by integration.

Canonical: E D_F(p, g), since g is an injective function of p. Class-wise: E D_F of the pairs
(1 − r, r) and (1 − v, v) with v = g_i(X) and r = E[p_i | g_i(X)]; for more than two classes r is
*not* p_i, and taking it for p_i overstates the class-wise error by Jensen's inequality.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy.special import gammaln

from propercal._array import log_softmax
from propercal._data.predictions.notions import as_notion
from propercal.generators import BregmanGenerator
from propercal.simulation.marginal import SimplexModel, marginal
from propercal.simulation.quadrature import (
    Floats,
    IntegratedValue,
    pooled,
    sobol_points,
    uniform_simplex,
)

# exp(-70) is below rounding for every integrand that is integrable by a margin.
_REACH = 70.0
_TOLERANCE = 3e-5
_LOG2_POINTS = (13, 14, 15, 16, 17, 18)
_LOG2_POINTS_AT_FACES = 10


@lru_cache(maxsize=256)
def true_calibration_error(
    model: SimplexModel, generator: BregmanGenerator, notion: str
) -> IntegratedValue:
    """Integrate the calibration error for one generator and notion."""
    if as_notion(notion).n_outcomes(model.n_classes) == 2:
        return _classwise(model, generator)
    smooth = _canonical(model, generator)
    if smooth.error <= 1e-3 * abs(smooth.value):
        return smooth
    return min(smooth, _canonical_at_faces(model, generator), key=lambda result: result.error)


def _log_odds_grid(model: SimplexModel) -> tuple[Floats, float]:
    """Return nodes for x (see :mod:`propercal.simulation.marginal`) in log x, and their step.

    Densities, p and g are analytic in |Im log x| < min(π, π / a, π / b), and ‖p‖ in half of that:
    the error of the trapezoid rule falls like exp(−2π · width / step).
    """
    width = 0.5 * math.pi / max(1.0, model.label_power, model.score_power)
    step = 0.2 * width
    # The density of log x falls like exp(-(k - 1) log x) to the right.
    right = 10.0 + _REACH / (model.n_classes - 1)
    n_left, n_right = int(np.ceil(_REACH / step)), int(np.ceil(right / step))
    return step * np.arange(-n_left, n_right + 1, dtype=np.float64), step


def _trapezoid(terms: Floats, step: float) -> IntegratedValue:
    """Integrate (scrambles, nodes); infinite where the integrand does not fall off."""
    ends = np.abs(terms[:, [0, -1]]).max()
    if np.isinf(terms).any() or ends > 1e-6 * np.abs(terms).sum(axis=1).min():
        return IntegratedValue(np.inf, 0.0)
    return pooled(step * terms.sum(axis=1), 2 * step * terms[:, ::2].sum(axis=1))


def _classwise(model: SimplexModel, generator: BregmanGenerator) -> IntegratedValue:
    grid, step = _log_odds_grid(model)
    b = model.score_power
    logits = b * grid
    law = marginal(model, logits)
    log_g = -np.logaddexp(0.0, np.stack([logits, -logits], axis=-1))
    log_g = np.broadcast_to(log_g, (*law.true.shape, 2))
    r = np.stack([law.other, law.true], axis=-1)
    divergence = generator.divergence(r, np.exp(log_g), log_q=log_g)
    return _trapezoid(law.density * divergence, b * step)


def _canonical(model: SimplexModel, generator: BregmanGenerator) -> IntegratedValue:
    """Average over scrambled Sobol points, with power sums of q as control variates.

    Their means are moments of the flat Dirichlet distribution, so they take away most of the
    integration error. Coefficients come from the other scrambles, which keeps the mean unbiased.
    """
    result = IntegratedValue(np.nan, np.inf)
    for log2_points in _LOG2_POINTS:
        points = sobol_points(model.n_classes - 1, log2_points, stream=2)
        grams, values = [], []
        for unit in points:
            gram = np.zeros(())
            for part in np.array_split(unit, max(1, len(unit) // 8192)):
                gram = gram + _control_gram(model, generator, part)
            grams.append(gram / len(unit))
        total = sum(grams)
        for gram in grams:
            others = (total - gram) / (len(grams) - 1)
            scale = 1 / np.sqrt(np.maximum(np.diag(others)[1:-1], 1e-300))
            centred = others[1:-1, 1:-1] - np.outer(others[1:-1, 0], others[0, 1:-1])
            slope = others[1:-1, -1] - others[1:-1, 0] * others[0, -1]
            beta = scale * (
                np.linalg.pinv(centred * np.outer(scale, scale), rcond=1e-10, hermitian=True)
                @ (scale * slope)
            )
            values.append(gram[0, -1] - gram[0, 1:-1] @ beta)
        result = pooled(np.array(values))
        if result.error <= _TOLERANCE * abs(result.value):
            break
    return result


def _control_gram(model: SimplexModel, generator: BregmanGenerator, unit: Floats) -> Floats:
    """Sum the products of (1, control variates minus their means, divergence) over points."""
    k, a, b = model.n_classes, model.label_power, model.score_power
    log_q = uniform_simplex(unit)
    q_a, q_b = np.exp(a * log_q), np.exp(b * log_q)
    powers = np.array([a, b, 2 * a, a + b, 2 * b])
    sums = np.stack([x.sum(axis=1) for x in (q_a, q_b, q_a * q_a, q_a * q_b, q_b * q_b)])
    means = k * _moment(k, powers)
    pair, other = np.triu_indices(len(powers))
    pair_means = k * _moment(k, powers[pair] + powers[other]) + k * (k - 1) * _moment(
        k, powers[pair], powers[other]
    )
    log_g = b * log_q - np.log(sums[1])[:, None]
    divergence = generator.divergence(q_a / sums[0][:, None], np.exp(log_g), log_q=log_g)
    columns = np.vstack(
        [
            np.ones((1, len(unit))),
            sums - means[:, None],
            sums[pair] * sums[other] - pair_means[:, None],
            divergence[None, :],
        ]
    )
    return np.asarray(columns @ columns.T, dtype=np.float64)


def _moment(k: int, *powers: Floats) -> Floats:
    """E ∏ q_i^{m_i} over distinct classes, q uniform on the simplex of k classes."""
    total = sum(powers)
    log_moment = sum(gammaln(1 + m) for m in powers) + gammaln(k) - gammaln(k + total)
    return np.asarray(np.exp(log_moment))


def _canonical_at_faces(model: SimplexModel, generator: BregmanGenerator) -> IntegratedValue:
    """Integrate divergences that are singular at the faces of the simplex, as Itakura-Saito's is.

    A partition of unity, 1 = Σ_i χ_i with χ_i = q_i^{-1} / Σ_j q_j^{-1}, and exchangeability give
    E D = k E[χ_1 D]. The singularity at the face q_1 = 0 is left to the trapezoid rule in log x;
    χ_1 takes away those at the other faces, which quasi-random points would miss.
    """
    grid, step = _log_odds_grid(model)
    k = model.n_classes
    unit = sobol_points(k - 1, _LOG2_POINTS_AT_FACES, stream=3)
    log_w = uniform_simplex(unit[..., : k - 2])
    # Which class plays the part of class 1 only matters to a generator that tells classes apart.
    role = np.minimum((k * unit[..., k - 2]).astype(int), k - 1)
    terms = np.empty((unit.shape[0], grid.size))
    for scramble in range(unit.shape[0]):
        order = (np.arange(k) - role[scramble][:, None]) % k
        for start in range(0, grid.size, 16):
            s = grid[start : start + 16]
            log_rest = -np.logaddexp(0.0, s)[:, None, None]
            first = np.broadcast_to(s[:, None, None] + log_rest, (s.size, len(order), 1))
            log_q = np.concatenate([first, log_w[scramble] + log_rest], axis=-1)
            share = 1 / np.exp(np.minimum(log_q[..., :1] - log_q, 700.0)).sum(axis=-1)
            log_q = np.take_along_axis(log_q, np.broadcast_to(order, log_q.shape), axis=-1)
            log_g = log_softmax(model.score_power * log_q)
            p = np.exp(log_softmax(model.label_power * log_q))
            divergence = generator.divergence(p, np.exp(log_g), log_q=log_g)
            density = (k - 1) * np.exp(s - k * np.logaddexp(0.0, s))
            terms[scramble, start : start + 16] = density * np.mean(k * share * divergence, axis=1)
    return _trapezoid(terms, step)
