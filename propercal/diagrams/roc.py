"""Receiver operating characteristics: which share of the events is found, at which false alarms."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from propercal.diagrams.curve import Curve, sums
from propercal.diagrams.events import Event

Floats = npt.NDArray[np.float64]


class Roc(NamedTuple):
    """Points from (0, 0) to (1, 1), and the area below them."""

    false_alarms: Floats
    hits: Floats
    area: float


def roc_of(event: Event, curve: Curve, *, hull: bool) -> Roc | None:
    """Return the curve over all thresholds, or its concave hull; None if all rows are alike.

    The levels of the isotonic curve are the slopes of the hull.
    """
    number = curve.block[curve.number] if hull else curve.number
    weight = np.ones(event.n_samples) if event.uniform else event.weight
    hits = sums(number, weight * event.occurred)[::-1]
    misses = sums(number, weight * ~event.occurred)[::-1]
    if hits.sum() == 0 or misses.sum() == 0:
        return None
    x, y = (np.concatenate([[0.0], np.cumsum(each) / each.sum()]) for each in (misses, hits))
    return Roc(x, y, float(np.trapezoid(y, x)))
