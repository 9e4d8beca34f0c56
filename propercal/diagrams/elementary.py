r"""Elementary scores: the regret of acting where the probability is above a threshold.

Every proper score of an event is a mixture of them, :math:`\int S_\theta(p, y) f''(\theta) d\theta`
with f(p) = F(1 − p, p) (Ehm, Gneiting, Jordan & Krüger 2016).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def elementary_scores(
    predicted: Floats, occurred: npt.NDArray[np.bool_], threshold: Floats
) -> Floats:
    r"""Return S_θ(p, y), (n, number of thresholds).

    It is θ where the event does not occur and p > θ, 1 − θ where it occurs and p < θ, and half of
    that at p = θ: of two classes, none is preferred.
    """
    above = np.sign(predicted[:, None] - threshold) / 2 + 0.5
    return np.where(occurred[:, None], (1 - threshold) * (1 - above), threshold * above)


def mean_elementary_scores(
    predicted: Floats, occurred: npt.NDArray[np.bool_], weight: Floats, threshold: Floats
) -> Floats:
    """Return the weighted mean of them at each threshold, from sums over sorted rows."""
    order = np.argsort(predicted, kind="stable")
    at = predicted[order]
    hit = np.where(occurred, weight, 0.0)[order]
    miss = np.where(occurred, 0.0, weight)[order]
    # Sums of rows below, and from the other end of rows above: none is a difference.
    below = np.concatenate([[0.0], np.cumsum(hit)])
    above = np.concatenate([np.cumsum(miss[::-1])[::-1], [0.0]])
    left = np.searchsorted(at, threshold, side="left")
    right = np.searchsorted(at, threshold, side="right")
    missed, alarmed = (below[left] + below[right]) / 2, (above[left] + above[right]) / 2
    found: Floats = (1 - threshold) * missed + threshold * alarmed
    return found
