"""The isotonic curve: the best non-decreasing function of the predictions (CORP)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from propercal.diagrams.events import Event

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Curve:
    """A table of the distinct predictions, in ascending order."""

    prediction: Floats
    """(m,) the predictions."""
    number: Integers
    """(n,) which of them each row has."""
    count: Integers
    """(m,) rows that have it."""
    weight: Floats
    """(m,) their weights, which sum to 1."""
    frequency: Floats
    """(m,) share of them in which the event occurred."""
    value: Floats
    """(m,) the isotonic curve."""
    block: Integers
    """(m,) which of the curve's levels, from 0."""


def isotonic_curve(event: Event) -> Curve:
    r"""Return the curve that minimises Σ w (y − c(g))² over non-decreasing c.

    It minimises every other proper loss too, and its value on a block is the frequency there.
    """
    prediction, number, count = np.unique(event.predicted, return_inverse=True, return_counts=True)
    number = number.ravel()
    m = len(prediction)
    # Of equal weights, whole numbers: their sums have no rounding.
    row = np.ones(event.n_samples) if event.uniform else event.weight
    weight = sums(number, row, m)
    frequency = sums(number, row * event.occurred, m) / weight
    value, block = pooled(np.clip(frequency, 0.0, 1.0), weight)
    return Curve(prediction, number, count, weight / weight.sum(), frequency, value, block)


def sums(number: Integers, values: Floats, size: int | None = None) -> Floats:
    """Return the sum of values by number, from 0 to size − 1."""
    return np.bincount(number, values, size or 0).astype(np.float64)


def pooled(frequency: Floats, weight: Floats) -> tuple[Floats, Integers]:
    """Pool adjacent violators: return the values, and the number of the block of each."""
    from scipy.optimize import isotonic_regression

    found = isotonic_regression(frequency, weights=weight)
    block = np.repeat(np.arange(len(found.blocks) - 1), np.diff(found.blocks))
    # A mean of equal numbers may round beyond them.
    return np.clip(found.x, 0.0, 1.0), block
