r"""One predicted probability of the simulated model: its density, and E[p_i | g_i].

With independent exponentials, q_1 : the others = x : w, where w is uniform on the simplex of the
k − 1 other classes and x has density (k − 1)(1 + x)^{-k}, independent of w. Given w,

.. math::

    \operatorname{logit} g_1 = b \log x - \log \sum_j w_j^b, \qquad
    p_1 = \frac{x^a}{x^a + \sum_j w_j^a}, \qquad a = 1/t_1, \; b = 1/(t_1 t_2),

so that both the density of logit g_1 and E[p_1; logit g_1] are averages of explicit functions over
w. By exchangeability every class has the same law.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from propercal.simulation.quadrature import Floats, sobol_points, uniform_simplex

# Tiles of 32 logits by this many points stay in the processor's cache.
_TILE = 2048
_LEFT_TAIL = -37.0


@dataclass(frozen=True)
class SimplexModel:
    """The numbers that fix the simulated model."""

    n_classes: int
    label_temperature: float
    score_temperature: float

    @property
    def label_power(self) -> float:
        """Power a of q in p ∝ q^a."""
        return 1.0 / self.label_temperature

    @property
    def score_power(self) -> float:
        """Power b of q in g ∝ q^b."""
        return 1.0 / (self.label_temperature * self.score_temperature)


class Marginal(NamedTuple):
    """The law of (logit v, r(v)) at given logits: arrays (scrambles, logits)."""

    density: Floats
    """Density of logit g_1."""
    true: Floats
    """r = E[p_1 | g_1]."""
    other: Floats
    """1 − r, without cancellation."""


@lru_cache(maxsize=8)
def _others(model: SimplexModel) -> tuple[Floats, Floats]:
    """Return log Σ w_j^a and log Σ w_j^b over scrambled points w, (scrambles, points)."""
    # A relative error of 1e-4 asks for more points in more dimensions.
    log2_points = min(15, 10 + model.n_classes // 2)
    log_w = uniform_simplex(sobol_points(model.n_classes - 2, log2_points, stream=1))
    return (
        np.log(np.exp(model.label_power * log_w).sum(axis=-1)),
        np.log(np.exp(model.score_power * log_w).sum(axis=-1)),
    )


def marginal(model: SimplexModel, logits: Floats) -> Marginal:
    """Evaluate the density of logit g_1 and E[p_1 | g_1] at `logits` (m,)."""
    a, b = model.label_power, model.score_power
    log_s, log_t = _others(model)
    # x = x_row · x_point: all exponentials are taken of rows and of points, none of pairs.
    centre = float(np.median(log_t))
    log_x_row = (logits + centre) / b
    # Far to the left the density is proportional to x and r to x^a, to full precision.
    inside = log_x_row > _LEFT_TAIL
    law = _evaluate(model, np.append(log_x_row[inside], _LEFT_TAIL), log_s, log_t - centre)
    beyond = np.exp(log_x_row[~inside] - _LEFT_TAIL)

    def whole(values: Floats, tail: Floats) -> Floats:
        out = np.empty((len(values), logits.size))
        out[:, inside] = values[:, :-1]
        out[:, ~inside] = values[:, -1:] * tail
        return out

    return Marginal(
        whole(law.density, beyond),
        whole(law.true, beyond**a),
        whole(law.other, np.ones_like(beyond)),
    )


def _evaluate(model: SimplexModel, log_x_row: Floats, log_s: Floats, log_t: Floats) -> Marginal:
    a, b, k = model.label_power, model.score_power, model.n_classes
    x_row, x_point = np.exp(log_x_row), np.exp(log_t / b)
    odds_row = np.exp(np.minimum(a * log_x_row, 600.0))
    odds_point = np.exp(a * log_t / b - log_s)
    shape = (log_s.shape[0], log_x_row.size)
    mass, true, other = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    n_points = log_s.shape[1]
    for scramble in range(shape[0]):
        for first in range(0, n_points, _TILE):
            points = slice(first, first + _TILE)
            for start in range(0, log_x_row.size, 32):
                rows = slice(start, start + 32)
                x = x_row[rows, None] * x_point[scramble, points]
                # Relative to the row's (1 + x_row)^-k, which would underflow for many classes.
                f = _integer_power((1.0 + x_row[rows, None]) / (1.0 + x), k)
                f *= x_point[scramble, points]
                odds = odds_row[rows, None] * odds_point[scramble, points]
                missed = f / (1.0 + odds)
                mass[scramble, rows] += f.sum(axis=1)
                other[scramble, rows] += missed.sum(axis=1)
                true[scramble, rows] += np.einsum("ij,ij->i", odds, missed)
    scale = np.exp(log_x_row - k * np.log1p(x_row)) * ((k - 1) / b / n_points)
    return Marginal(mass * scale, true / mass, other / mass)


def _integer_power(x: Floats, exponent: int) -> Floats:
    """Return x ** exponent by repeated squaring, several times faster than `numpy.power`."""
    result = np.ones_like(x)
    while exponent:
        if exponent & 1:
            result *= x
        exponent >>= 1
        if exponent:
            x = x * x
    return result
