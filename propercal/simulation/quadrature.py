"""Numerical integration that states its own error."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Three standard errors of the mean of this many scrambles: a t-interval of about 98 %.
N_SCRAMBLES = 8
_SCRAMBLE_SEED = 20_231_121


class IntegratedValue(NamedTuple):
    """A number known by integration.

    `error` bounds the absolute error: three standard errors over independent scramblings of the
    quasi-random points, plus the change when every trapezoid step is halved.
    """

    value: float
    error: float


def sobol_points(n_dimensions: int, log2_points: int, *, stream: int) -> Floats:
    """Return (scrambles, points, dimensions) scrambled Sobol points inside the open unit cube."""
    if n_dimensions == 0:
        return np.zeros((1, 1, 0))
    from scipy.stats import qmc

    def scrambled(seed: np.random.SeedSequence) -> Floats:
        # Typed loosely: scipy renamed the argument `seed` to `rng`, and still takes both.
        engine: Any = qmc.Sobol
        points = engine(n_dimensions, scramble=True, seed=np.random.default_rng(seed)).random_base2(
            log2_points
        )
        return np.asarray(np.clip(points, 2.0**-33, 1 - 2.0**-33), dtype=np.float64)

    seeds = np.random.SeedSequence([_SCRAMBLE_SEED, stream, n_dimensions]).spawn(N_SCRAMBLES)
    return np.stack([scrambled(seed) for seed in seeds])


def uniform_simplex(unit: Floats) -> Floats:
    """Map the unit cube (..., m) to log w, w uniform on the simplex of m + 1 classes."""
    m = unit.shape[-1]
    log_rest = np.zeros(unit.shape[:-1])
    columns = []
    for j in range(m):
        # Stick breaking: what stays after each break is Beta(m - j, 1).
        log_keep = np.log1p(-unit[..., j]) / (m - j)
        columns.append(log_rest + np.log(-np.expm1(log_keep)))
        log_rest = log_rest + log_keep
    return np.stack([*columns, log_rest], axis=-1)


def pooled(by_scramble: Floats, coarse: Floats | None = None) -> IntegratedValue:
    """Average independent scrambles; `coarse` holds the same values at twice the step."""
    value = float(np.mean(by_scramble))
    if not math.isfinite(value):
        return IntegratedValue(value, 0.0 if math.isinf(value) else math.nan)
    error = 64 * np.finfo(np.float64).eps * abs(value)
    if by_scramble.size > 1:
        error += 3 * float(np.std(by_scramble, ddof=1)) / math.sqrt(by_scramble.size)
    if coarse is not None:
        error += abs(float(np.mean(coarse)) - value)
    return IntegratedValue(value, error)


def bisect_increasing(f: Callable[[Floats], Floats], y: Floats, lo: float, hi: float) -> Floats:
    """Solve f(x) = y for increasing f, elementwise."""
    low, high = np.full_like(y, lo), np.full_like(y, hi)
    for _ in range(64):
        middle = 0.5 * (low + high)
        above = f(middle) > y
        high = np.where(above, middle, high)
        low = np.where(above, low, middle)
    return 0.5 * (low + high)
