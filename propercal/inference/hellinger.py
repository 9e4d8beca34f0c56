"""Low-rank features of the Hellinger kernel on the simplex, from a few of the points themselves."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from propercal._array import namespace, to_numpy
from propercal._typing import Array

#: Share of the trace of the kernel matrix that may be left out.
_LEFT_OUT = 0.01
#: Features for which there is room at first.
_CHUNK = 64


def kernel_features(
    root: Array,
    bandwidth: float,
    most: int,
    rng: np.random.Generator,
    count: Array | None = None,
) -> tuple[Array, float]:
    r"""Approximate the Hellinger kernel exp((Σ √(g g′) − 1) / γ) by Φᵀ Φ.

    A partial Cholesky decomposition whose pivots are drawn in proportion to what is left of the
    diagonal: it is exact at the pivots, never above the kernel, and it needs m columns only.

    Parameters
    ----------
    root : array (n, k)
        Square roots of the points.
    bandwidth : float
        The bandwidth γ.
    most : int
        Largest number m of features.
    rng : numpy.random.Generator
        Draws the pivots.
    count : array (n,), optional
        How many equal points each one stands for; one by default.

    Returns
    -------
    features : array (m, n)
        Φ, with as few rows as leave 1 % of the trace out, or `most`.
    left_out : float
        Share of the trace that is left out.

    References
    ----------
    Chen, Epperly, Tropp & Webber (2025), "Randomly pivoted Cholesky", doi:10.1002/cpa.22234.
    """
    xp = namespace(root)
    n = root.shape[0]
    rest = xp.ones_like(root[:, 0])
    most = min(most, n)
    features: Any = xp.zeros_like(xp.broadcast_to(rest, (min(most, _CHUNK), n)))
    cumulated = _cumulated(rest, count)
    total = float(cumulated[-1])
    size = 0
    while size < most and cumulated[-1] > _LEFT_OUT * total:
        if size == features.shape[0]:
            features = xp.concat([features, xp.zeros_like(features)], axis=0)
        pivot = int(np.searchsorted(cumulated, rng.random() * cumulated[-1], side="right"))
        pivot = min(pivot, n - 1)
        scale = math.sqrt(float(rest[pivot]))
        column = xp.exp((root @ root[pivot, :] - 1) / bandwidth)
        column = column - features[:size, pivot] @ features[:size, :]
        features[size, :] = column / scale
        rest = rest - features[size, :] ** 2
        # Rounding must not leave the pivot, or a point equal to it, to be drawn again; nor a
        # negative rest.
        rest = xp.where(rest < 1e-10, 0.0, rest)
        size += 1
        cumulated = _cumulated(rest, count)
    return features[:size, :], float(cumulated[-1]) / total


def _cumulated(rest: Array, count: Array | None) -> npt.NDArray[np.float64]:
    found: npt.NDArray[np.float64] = np.cumsum(to_numpy(rest if count is None else count * rest))
    return found
