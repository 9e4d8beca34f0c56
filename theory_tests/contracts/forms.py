"""One sample, and the terms of its decomposition, in whatever form it is passed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import propercal

Floats = NDArray[np.float64]
NOTIONS = ("canonical", "classwise", "top-label")
METHODS = ("direct", "risk")
TERMS = ("risk", "calibration_error", "refinement", "sharpness", "uncertainty")
N, K = 60, 3


def sample(n: int = N, k: int = K, seed: int = 0) -> tuple[NDArray[np.int64], Floats]:
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(k, 0.8), size=n)
    y = (rng.uniform(size=(n, 1)) > p.cumsum(1)).sum(1).clip(0, k - 1)
    return y, p


def terms(
    y: Any,
    p: Any,
    *,
    notion: str = "canonical",
    method: str = "risk",
    generator: Any = "log",
    bandwidth: float = 0.05,
    **more: Any,
) -> Floats:
    found = propercal.decompose(
        y, p, notion=notion, method=method, generator=generator, bandwidth=bandwidth, **more
    )
    return np.array([float(getattr(found, term)) for term in TERMS])


def same(a: Floats, b: Floats) -> None:
    # The same sums in another memory layout or order differ by a few units in the last place.
    np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13)


y0, p0 = sample()
