"""Class-wise calibration error of a simulation, from many draws of its true probabilities."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from propercal.generators import BregmanGenerator
from propercal.simulation import MiscalibratedSimplex
from studies.data import Floats, Labels

#: Draws, in so many parts of equal size, and bins of equal mass: with fewer of one the error is
#: known to be larger by 1/n, with fewer of the other by the square of their width.
_DRAWS, _PARTS, _BINS = 2**18, 4, (128, 256)


def classwise_truth(
    model: MiscalibratedSimplex, generators: Sequence[BregmanGenerator], seed: int = 1
) -> Floats:
    """Return (generators, 2): mean over classes of E D_F(E[p_i | g_i], g_i), and a bound.

    E[p_i | g_i] is the mean of p in narrow bins of g_i. What their number and that of the draws
    add is extrapolated to none; the bound is three jackknife standard errors, and half of what was
    extrapolated.
    """
    if model.calibration_map == "identity":
        return np.zeros((len(generators), 2))
    _, g, p = model.sample(_DRAWS, np.random.SeedSequence(seed))
    part = np.arange(_DRAWS) % _PARTS
    coarse, fine = np.zeros((2, _PARTS + 1, len(generators)))
    for i in range(model.n_classes):
        order = np.argsort(g[:, i], kind="stable")
        # The other classes are summed, not 1 − g_i, which rounds to 0.
        pairs = [np.delete(x, i, 1).sum(axis=1)[order] for x in (g, p)]
        pairs += [x[order, i] for x in (g, p)]
        for total, n_bins in zip((coarse, fine), _BINS, strict=True):
            total += _divergences(pairs, part[order], n_bins, generators) / model.n_classes
    extrapolated = fine + (fine - coarse) / 3
    whole, without = extrapolated[0], extrapolated[1:]
    value = _PARTS * whole - (_PARTS - 1) * without.mean(axis=0)
    error = np.sqrt((_PARTS - 1) * without.var(axis=0))
    bound = 3 * error + np.abs(value - fine[0]) / 2
    return np.stack([value, bound], axis=1)


def _divergences(
    pairs: Sequence[Floats], part: Labels, n_bins: int, generators: Sequence[BregmanGenerator]
) -> Floats:
    """(1 + parts, generators) mean D_F between bins of sorted draws: of all, and without a part.

    `pairs` are 1 − g_i, 1 − p_i, g_i and p_i.
    """
    number = np.arange(len(part)) * n_bins // len(part)
    cell = number * _PARTS + part
    size = n_bins * _PARTS
    sums = [np.bincount(cell, x, size).reshape(n_bins, _PARTS) for x in (None, *pairs)]
    found = []
    for left_out in (None, *range(_PARTS)):
        kept = np.arange(_PARTS) != left_out
        count, *totals = (each[:, kept].sum(axis=1) for each in sums)
        predicted, true = (np.stack(totals[i::2], -1) / count[:, None] for i in (0, 1))
        weight = count / count.sum()
        found.append([float(weight @ f.divergence(true, predicted)) for f in generators])
    return np.array(found)
