r"""Predictions that were fitted to the very labels that they are compared with.

A fit by maximum likelihood leaves no gain by another temperature: with residuals e = y − p,

.. math:: z = \sum_h \sum_i e_{hi} \log p_{hi} \Big/ \sqrt{\sum_h v_h} , \qquad
    v_h = \sum_i p_{hi} \log^2 p_{hi} - \Big( \sum_i p_{hi} \log p_{hi} \Big)^2 ,

is 0. That is so of temperature scaling, of logistic and isotonic regression, and of trees and bins,
whose values are shares of labels. Of rows that took no part in a fit z is standard normal at best,
so that it is below 10⁻⁶ once in a million; of few different predictions with many rows each it may
be exactly 0, by a chance of 1 / √(2 π v) for each, which is asked of too.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from propercal._array import slices
from propercal._data.inputs.reading import Names
from propercal._data.words.messages import warn

Floats = npt.NDArray[np.floating[Any]]

#: Standard deviations.
_NONE = 1e-6
#: Nats that a sum of whole numbers of labels is not 0 by chance.
_LEAST = 14.0
_DIGITS = 9
_FLOOR = -1000.0
#: Numbers that are looked at together, and at all.
_TILE, _MOST = 2**20, 20_000_000


def doubt_own_rows(log_prob: Floats, label: npt.NDArray[np.int64], called: Names) -> bool:
    """Warn, and tell, where predictions (n, k) seem fitted to these labels (n,)."""
    if log_prob.size > _MOST:
        return False
    gain = total = 0.0
    for rows in slices(len(label), max(1, _TILE // log_prob.shape[1])):
        own, mean, variance = _of_rows(log_prob[rows], label[rows])
        gain, total = gain + float((own - mean).sum()), total + float(variance.sum())
    if total <= 0 or abs(gain) > _NONE * sqrt(total) or _chance_of_none(log_prob, label) < _LEAST:
        return False
    warn(
        f"{called.proba} seems fitted to these very {called.labels}: no other temperature would be "
        f"better by any digit, which of rows that took no part in a fit happens once in a million "
        "times. Its errors are then too small. Pass predictions of rows that nothing was fitted "
        "to, neither the model nor a recalibration."
    )
    return True


def _of_rows(log_prob: Floats, label: npt.NDArray[np.int64]) -> tuple[Floats, Floats, Floats]:
    """(m,) each: log p of what occurred, and its mean and variance by the predictions."""
    logs = np.maximum(log_prob, _FLOOR)
    prob = np.exp(logs)
    mean = (prob * logs).sum(axis=1)
    variance = np.maximum((prob * logs * logs).sum(axis=1) - mean * mean, 0.0)
    return np.take_along_axis(logs, label[:, None], axis=1)[:, 0], mean, variance


def _chance_of_none(log_prob: Floats, label: npt.NDArray[np.int64]) -> float:
    """Return −log of the chance that sums over equal predictions come to nothing."""
    _, mean, variance = _of_rows(log_prob, label)
    _, place = np.unique(mean.round(_DIGITS), return_inverse=True)
    prob = np.exp(log_prob)
    likely = (prob * (1 - prob)).sum(axis=1) / 2 * (variance > 0)
    return float(np.log1p(2 * np.pi * np.bincount(place.ravel(), likely)).sum() / 2)
