r"""What the estimators converge to as n → ∞ at a fixed bandwidth γ of the Dirichlet kernel.

The leave-one-out estimate of E[Y | g(X)] at a target t tends to

.. math:: r_γ(t) = E[κ_γ(t; g(X)) \, r(X)] \, / \, E[κ_γ(t; g(X))],

so the direct estimate tends to E D_F(r_γ, g), and the estimate through the risk to
E F(r_γ) + E L_F(g, Y) = E D_F(r, g) + E[F(r_γ) − F(r)]. Neither is the calibration error.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from propercal._array import log_softmax
from propercal._data.predictions.notions import as_notion
from propercal.generators import BregmanGenerator
from propercal.methods import as_method
from propercal.simulation.marginal import SimplexModel, marginal
from propercal.simulation.neighbours import draw_sources
from propercal.simulation.quadrature import (
    N_SCRAMBLES,
    Floats,
    IntegratedValue,
    bisect_increasing,
    pooled,
    sobol_points,
    uniform_simplex,
)
from propercal.simulation.truth import true_calibration_error

# A bandwidth from which a fair share of all sources lies near every target.
_WIDE = 0.07
_LOG2_TARGETS = 9
_LOG2_NEAR_SOURCES = 6
_LOG2_ALL_SOURCES = 13
# Share of the (leading) correction for a finite number of sources that may remain.
_UNCORRECTED = 0.1


def fixed_bandwidth_limit(
    model: SimplexModel, generator: BregmanGenerator, notion: str, method: str, bandwidth: float
) -> IntegratedValue:
    """Integrate the limit of one estimator."""
    if as_notion(notion).n_outcomes(model.n_classes) == 2:
        return _one_dimensional(model, generator, method, bandwidth)
    truth = true_calibration_error(model, generator, notion)
    smooth = _canonical_smoothing(model, bandwidth)
    p, log_g = np.exp(smooth.log_true), smooth.log_target

    def measure(r: Floats) -> Floats:
        if not as_method(method).measures_divergence:
            return np.asarray(generator.value(r) - generator.value(p))
        g = np.exp(log_g)
        return np.asarray(
            generator.divergence(r, g, log_q=log_g) - generator.divergence(p, g, log_q=log_g)
        )

    # The jackknife over two independent halves takes away the bias of order 1 / sources.
    whole = measure(smooth.whole).mean(axis=1)
    halves = 0.5 * (measure(smooth.first) + measure(smooth.second)).mean(axis=1)
    shift = pooled(2 * whole - halves)
    remains = _UNCORRECTED * abs(float(np.mean(whole - halves)))
    return IntegratedValue(truth.value + shift.value, truth.error + shift.error + remains)


class _Smoothed(NamedTuple):
    """A smoothed one-dimensional problem: weights and pairs (scrambles, nodes[, 2])."""

    weight: Floats
    log_g: Floats
    r: Floats
    r_limit: Floats


def _one_dimensional(
    model: SimplexModel, generator: BregmanGenerator, method: str, bandwidth: float
) -> IntegratedValue:
    def integrate(smooth: _Smoothed) -> Floats:
        log_g = np.broadcast_to(smooth.log_g, smooth.r.shape)
        g = np.exp(log_g)
        if as_method(method).measures_divergence:
            terms = generator.divergence(smooth.r_limit, g, log_q=log_g)
        else:
            terms = generator.divergence(smooth.r, g, log_q=log_g)
            terms = terms + generator.value(smooth.r_limit) - generator.value(smooth.r)
        terms = smooth.weight * terms
        ends = np.abs(terms[:, [0, -1]]).max()
        if np.isinf(terms).any() or ends > 1e-6 * np.abs(terms).sum(axis=1).min():
            return np.full(len(terms), np.inf)
        return np.asarray(terms.sum(axis=1))

    fine, coarse = _smooth_in_one_dimension(model, bandwidth)
    value = integrate(fine)
    return pooled(value, None if np.isinf(value).any() else integrate(coarse))


@lru_cache(maxsize=16)
def _smooth_in_one_dimension(model: SimplexModel, bandwidth: float) -> tuple[_Smoothed, _Smoothed]:
    """Smooth r with the beta kernel on a grid in logit v, and on every other node of it.

    The kernel's width in logit v is 2 √γ cosh(logit v / 2); the nodes follow it, z counting widths,
    until the width reaches that of the density of logit v.
    """
    a, b = model.label_power, model.score_power
    root, widest = math.sqrt(bandwidth), 0.7 * min(1.0, b, b / a)

    def position(u: Floats) -> Floats:
        return np.asarray(2 / root * np.arctan(np.tanh(u / 4)) + u / widest)

    reach = 50.0 * max(1.0, b)
    most = int(position(np.array([reach]))[0])
    z = 0.5 * np.arange(-2 * most, 2 * most + 1, dtype=np.float64)
    u = bisect_increasing(position, z, -reach, reach)
    step = 0.5 / (1 / (2 * root * np.cosh(u / 2)) + 1 / widest)
    log_v, log_rest = -np.logaddexp(0.0, -u), -np.logaddexp(0.0, u)
    v, rest = np.exp(log_v), np.exp(log_rest)
    law = marginal(model, u)

    def smooth(every: int) -> _Smoothed:
        nodes = slice(None, None, every)
        weight = every * step[nodes] * law.density[:, nodes]
        source = -gammaln(v[nodes] / bandwidth + 1) - gammaln(rest[nodes] / bandwidth + 1)
        count, other_count = v[nodes] / bandwidth, rest[nodes] / bandwidth
        true, other = law.true[:, nodes], law.other[:, nodes]
        columns = np.concatenate([weight, weight * true, weight * other]).T
        sums = np.empty((count.size, columns.shape[1]))
        for start in range(0, count.size, 256):
            part = slice(start, start + 256)
            log_k = np.outer(log_v[nodes][part], count) + np.outer(
                log_rest[nodes][part], other_count
            )
            log_k += source
            log_k -= log_k.max(axis=1, keepdims=True)
            sums[part] = np.exp(log_k, out=log_k) @ columns
        total, of_class, of_rest = np.split(sums.T, 3)
        return _Smoothed(
            weight,
            np.stack([log_rest[nodes], log_v[nodes]], axis=-1),
            np.stack([other, true], axis=-1),
            np.stack([of_rest / total, of_class / total], axis=-1),
        )

    return smooth(1), smooth(2)


class _Smoothing(NamedTuple):
    """r_γ at targets (scrambles, targets, k), from all sources and from each half of them."""

    log_target: Floats
    log_true: Floats
    whole: Floats
    first: Floats
    second: Floats


@lru_cache(maxsize=16)
def _canonical_smoothing(model: SimplexModel, bandwidth: float) -> _Smoothing:
    """Estimate r_γ at scrambled Sobol targets from two independent sets of sources."""
    log_q = uniform_simplex(sobol_points(model.n_classes - 1, _LOG2_TARGETS, stream=4))
    log_t = log_softmax(model.score_power * log_q)
    sums = _sums_over_all if bandwidth >= _WIDE else _sums_over_near
    first, second, whole = (np.empty_like(log_t) for _ in range(3))
    for scramble, targets in enumerate(log_t):
        one = sums(model, bandwidth, targets, 2 * scramble)
        two = sums(model, bandwidth, targets, 2 * scramble + 1)
        first[scramble] = one.outcome / one.mass[:, None]
        second[scramble] = two.outcome / two.mass[:, None]
        peak = np.maximum(one.log_scale, two.log_scale)
        scale_one, scale_two = np.exp(one.log_scale - peak), np.exp(two.log_scale - peak)
        outcome = scale_one[:, None] * one.outcome + scale_two[:, None] * two.outcome
        whole[scramble] = outcome / (scale_one * one.mass + scale_two * two.mass)[:, None]
    return _Smoothing(log_t, log_softmax(model.label_power * log_q), whole, first, second)


class _Sums(NamedTuple):
    """exp(log_scale) × sums of the kernel (targets,), and of the kernel times r (targets, k)."""

    log_scale: Floats
    mass: Floats
    outcome: Floats


def _sums_over_near(model: SimplexModel, bandwidth: float, log_t: Floats, stream: int) -> _Sums:
    """Sum weights, and weights times r, over sources drawn near each target."""
    k = model.n_classes
    points = sobol_points(k, _LOG2_NEAR_SOURCES, stream=5)[stream % N_SCRAMBLES]
    shifts = np.random.default_rng([stream, k, 6]).random((len(log_t), 1, k))
    peak, mass, outcome = np.empty(len(log_t)), np.empty(len(log_t)), np.empty(log_t.shape)
    for start in range(0, len(log_t), 64):
        part = slice(start, start + 64)
        unit = np.clip((points + shifts[part]) % 1.0, 2.0**-40, 1 - 2.0**-40)
        draws = draw_sources(model, log_t[part], bandwidth, unit)
        peak[part] = draws.log_weight.max(axis=1)
        weight = np.exp(draws.log_weight - peak[part, None])
        r = np.exp(log_softmax(draws.log_source * (model.label_power / model.score_power)))
        mass[part] = weight.sum(axis=1)
        outcome[part] = np.einsum("ij,ijk->ik", weight, r)
    return _Sums(peak, mass, outcome)


def _sums_over_all(model: SimplexModel, bandwidth: float, log_t: Floats, stream: int) -> _Sums:
    """Sum weights, and weights times r, over sources drawn from the model."""
    points = sobol_points(model.n_classes - 1, _LOG2_ALL_SOURCES, stream=7 + stream // N_SCRAMBLES)
    log_q = uniform_simplex(points[stream % N_SCRAMBLES])
    count = np.exp(log_softmax(model.score_power * log_q)) / bandwidth
    r = np.exp(log_softmax(model.label_power * log_q))
    columns = np.concatenate([np.ones((len(r), 1)), r], axis=1)
    source = -gammaln(count + 1).sum(axis=1)
    peaks = np.full(len(log_t), -np.inf)
    sums = np.zeros((len(log_t), columns.shape[1]))
    for start in range(0, len(count), 2048):
        part = slice(start, start + 2048)
        log_k = log_t @ count[part].T + source[part]
        peak = np.maximum(peaks, log_k.max(axis=1))
        sums *= np.exp(peaks - peak)[:, None]
        sums += np.exp(log_k - peak[:, None]) @ columns[part]
        peaks = peak
    return _Sums(peaks, sums[:, 0], sums[:, 1:])
