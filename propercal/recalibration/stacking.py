"""The convex combination of recalibrations that predicts best on rows they were not fitted to."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from propercal._array import by_rows, is_numpy, like, namespace, slices, to_numpy
from propercal._typing import Array
from propercal.generators.base import BregmanGenerator, curved
from propercal.recalibration.descent import Floats, Numbers, descend

#: What a further step may still be worth: mean loss relative to that which is left.
_TOLERANCE = 1e-9
#: Or relative to the price of a change, which is far below what the choice can tell.
_OF_PRICE = 5e-4
#: Of the variance of losses that is seen over that which is to be expected.
_LARGEST_EXCESS = 2.0
#: Probabilities of all candidates that stay in cache from one operation to the next.
_BLOCK = 2**16
#: Temporaries of a loss that do, as the number of numbers for each of its own.
_IN_CACHE = 16


def stacking_weights(
    generator: BregmanGenerator,
    candidates: Array,
    outcome: Array,
    weight: Array,
    price: float = 0.0,
) -> Floats:
    r"""Minimise the mean loss of Σ_m a_m b_m plus prices of weights a ≥ 0, Σ_m a_m = 1.

    Scoring steps: the slope of the loss along b_m is −⟨b_m, ∇²F(q) (y − q)⟩ at the combination q,
    and ⟨b_m, ∇²F(q) b_l⟩ is the expected curvature. Each step solves the quadratic problem on the
    simplex and is halved until the loss falls.

    Parameters
    ----------
    generator : BregmanGenerator
        The convex function F.
    candidates : array (m, n, k)
        Recalibrated probabilities of rows that took no part in their fits.
    outcome : array (n, k)
        One-hot labels.
    weight : array (n,)
        Weights that sum to 1.
    price : float
        What the weight of all candidates but the first costs, in nats of mean log loss, or what is
        as much of another loss.

    Returns
    -------
    array (m,)
        The weights a.
    """
    xp = namespace(candidates)
    m, n, k = candidates.shape
    if m == 1:
        return np.ones(1)

    prices = price * _nats(generator, candidates, outcome, weight)
    # Classes before rows, as families have them in memory.
    flat = xp.reshape(xp.permute_dims(candidates, (0, 2, 1)), (m, k * n))

    def evaluate(a: Floats, _: Numbers) -> tuple[Floats, Array]:
        q = xp.reshape(like(a[0], candidates) @ flat, (k, n)).T
        loss = float(xp.sum(weight * by_rows(generator.loss, q, outcome, width=_IN_CACHE * k)))
        return np.array([loss + float(prices @ a[0])]), q[None, ...]

    def propose(a: Floats, q: Array, _: Numbers) -> tuple[Floats, Floats]:
        saved, curvature = _forms(generator, candidates, outcome, weight, q[0, ...])
        slope = prices - saved
        step = _simplex_minimum(slope - curvature @ a[0], curvature) - a[0]
        return np.array([-float(slope @ step)]), step[None, :]

    even: Floats = np.full((1, m), 1 / m)
    enough = _OF_PRICE * float(prices.max())

    def done(gain: Floats, value: Floats) -> npt.NDArray[np.bool_]:
        return np.asarray(gain <= np.maximum(_TOLERANCE * abs(value), enough))

    found = descend(even, evaluate, propose, done)
    return np.asarray(found[0])


def _forms(
    generator: BregmanGenerator, candidates: Array, outcome: Array, weight: Array, q: Array
) -> tuple[Floats, Floats]:
    """Return Σ w ⟨b, ∇²F(q) (y − q)⟩ (m,) and Σ w ⟨b, ∇²F(q) bᵀ⟩ (m, m), block by block of rows."""
    xp = namespace(candidates)
    m, n, k = candidates.shape
    # What lies on an accelerator is summed at once.
    step = max(1, _BLOCK // (m * k)) if is_numpy(candidates) else n
    slope, curvature = np.zeros(m), np.zeros((m, m))
    for rows in slices(n, step):
        part, at, w = candidates[:, rows, :], q[rows, :], weight[rows][:, None]
        flat = xp.reshape(xp.permute_dims(part * w, (0, 2, 1)), (m, -1))
        error, bent = (
            xp.permute_dims(curved(generator, at, each), (0, 2, 1))
            for each in ((outcome[rows, :] - at)[None, ...], part)
        )
        slope += to_numpy(flat @ xp.reshape(error, (-1,)))
        curvature += to_numpy(flat @ xp.reshape(bent, (m, -1)).T)
    return slope, curvature


def _nats(generator: BregmanGenerator, candidates: Array, outcome: Array, weight: Array) -> Floats:
    """(m,) what a nat is in units of the loss, 0 for the first candidate.

    Where the first candidate is right, the loss of another one exceeds its own by their divergence
    D on average, with a variance that for the log loss is 2 D to second order: half of variance
    over divergence is a nat. The variance of the labels that occurred counts up to a multiple of
    what it would be if the first candidate were right: where that is far off, a nat would be as
    much as there is to save.
    """
    gain, away = _against_first(generator, candidates, outcome)
    variances = to_numpy((gain - (gain @ weight)[:, None]) ** 2 @ weight)
    nats = [
        (float(variance) / (2 * float(apart)), i)
        for i, (variance, apart) in enumerate(zip(variances, to_numpy(away @ weight), strict=True))
        if apart > 0 and math.isfinite(variance)
    ]
    result = np.zeros(candidates.shape[0])
    if nats:
        middle = 1 + sorted(nats)[(len(nats) - 1) // 2][1]
        most = _LARGEST_EXCESS * _nat_if_right(generator, candidates, middle, weight)
        result[1:] = min(float(np.median([nat for nat, _ in nats])), most)
    return result


def _against_first(
    generator: BregmanGenerator, candidates: Array, outcome: Array
) -> tuple[Array, Array]:
    """(m - 1, n) by how much the first candidate's loss exceeds that of each other, and D_F."""
    xp = namespace(candidates)
    m, n, k = candidates.shape
    own = candidates[0, ...]

    def each(rows: slice) -> Array:
        other = candidates[1:, rows, :]
        first, label = (xp.broadcast_to(x[None, rows, :], other.shape) for x in (own, outcome))
        of_first, of_label, of_other = (xp.reshape(x, (-1, k)) for x in (first, label, other))
        loss = xp.reshape(generator.loss(of_other, of_label), other.shape[:2])
        apart = xp.reshape(generator.divergence(of_first, of_other), other.shape[:2])
        return xp.stack([generator.loss(own[rows, :], outcome[rows, :]) - loss, apart])

    step = max(1, _BLOCK // (m * k)) if is_numpy(candidates) else n
    found = xp.concat([each(rows) for rows in slices(n, step)], axis=2)
    return found[0, ...], found[1, ...]


def _nat_if_right(generator: BregmanGenerator, candidates: Array, i: int, weight: Array) -> float:
    """Return what a nat is by candidate `i` if labels are drawn from the first one."""
    xp = namespace(candidates)

    def moments(first: Array, other: Array) -> Array:
        # Losses of the classes differ as these do, up to what all classes share.
        turned = generator.gradient(other) - generator.gradient(first)
        # A label of probability 0 is not drawn, whatever its loss would be.
        turned = xp.where(first > 0, turned, 0.0)
        mean = xp.sum(first * turned, axis=1)
        spread = xp.sum(first * (turned - mean[:, None]) ** 2, axis=1)
        away = generator.divergence(first, other)
        return xp.stack([spread + away**2, away], axis=1)

    width = _IN_CACHE * int(candidates.shape[2])
    found = by_rows(moments, candidates[0, ...], candidates[i, ...], width=width)
    square, apart = (float(xp.sum(weight * found[:, j])) for j in (0, 1))
    return max(square - apart**2, 0.0) / (2 * apart)


def _simplex_minimum(slope: Floats, curvature: Floats) -> Floats:
    """Minimise ⟨slope, a⟩ + ½ ⟨a, curvature a⟩ on the simplex.

    On the simplex this is ½ aᵀMa with M = curvature + slope 1ᵀ + 1 slopeᵀ + c 11ᵀ, and the minimum
    of ½ uᵀMu − Σu over u ≥ 0, a problem of non-negative least squares, is a multiple of its
    minimiser.
    """
    from scipy.optimize import nnls

    m = len(slope)
    size = max(float(np.trace(curvature)), float(np.abs(slope).max()), 1e-300)
    symmetric = (curvature + curvature.T) / (2 * size)
    quadratic = symmetric + (slope[:, None] + slope[None, :]) / size
    lowest = float(np.linalg.eigvalsh(quadratic)[0])
    # Enough for a positive definite M, but no more: a large constant would cost digits.
    quadratic = quadratic + (1.0 - min(lowest, 0.0) * m) + 1e-10 * np.eye(m)
    root = np.linalg.cholesky(_positive(quadratic))
    u, _ = nnls(root.T, np.linalg.solve(root, np.ones(m)))
    return np.asarray(u / u.sum())


def _positive(matrix: Floats) -> Floats:
    """Lift eigenvalues that rounding made negative."""
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.maximum(values, 1e-12 * values[-1])) @ vectors.T)
