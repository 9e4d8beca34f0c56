"""Bins of the predictions, of equal width or of equal weight."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from propercal._data.words.messages import bad_value
from propercal._kernels.bins import bin_numbers
from propercal.diagrams.confidence import binomial_limits, limits, of_population, sizes_of
from propercal.diagrams.curve import Curve, sums
from propercal.diagrams.events import Event

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Bins:
    """Bins that are not empty, in ascending order."""

    count: npt.NDArray[np.int64]
    weight: Floats
    """Their weights, which sum to 1."""
    prediction: Floats
    """Mean prediction."""
    frequency: Floats
    """Share of the weight in which the event occurred."""
    lower: Floats
    upper: Floats
    """Limits of the probability of the event in a bin, in all of them at once."""


def check_bins(n_bins: object) -> int:
    """Return the number of bins, or raise."""
    if (
        isinstance(n_bins, bool)
        or not isinstance(n_bins, int | np.integer)
        or not 1 <= n_bins <= 1000
    ):
        raise bad_value("n_bins", repr(n_bins), "a whole number from 1 to 1000", "15 is usual")
    return int(n_bins)


def bins_of(
    event: Event,
    curve: Curve,
    n_bins: int,
    level: float,
    *,
    quantiles: bool,
    ratio: float | None = None,
) -> Bins:
    """Return bins of equal width, or of about equal weight, where equal predictions stay together.

    A prediction stands where the weight of smaller ones and half its own lead. `ratio` is as in
    :func:`propercal.diagrams.confidence.confidence_band`.
    """
    position = curve.prediction
    if quantiles:
        position = np.cumsum(curve.weight) - curve.weight / 2
    found, number = np.unique(bin_numbers(position, n_bins), return_inverse=True)
    row, m = number.ravel()[curve.number], len(found)
    # Of equal weights, whole numbers: their sums have no rounding.
    weight = np.ones(event.n_samples) if event.uniform else event.weight
    count = np.bincount(row, minlength=m)
    total = sums(row, weight, m)
    predicted = sums(row, weight * event.predicted, m) / total
    frequency = np.clip(sums(row, weight * event.occurred, m) / total, 0.0, 1.0)
    error = (1 - level) / (2 * m)
    if ratio is None:
        lower, upper = limits(event)(frequency, sizes_of(event, row, weight, total), error)
    else:
        kept = binomial_limits(
            np.bincount(row[event.occurred], minlength=m) / count, count.astype(float), error
        )
        lower, upper = (of_population(each, ratio) for each in kept)
    return Bins(count, total / total.sum(), predicted, frequency, lower, upper)


def histogram(event: Event, n_bins: int) -> tuple[Floats, Floats]:
    """Return the weight of the predictions in bins of equal width, and that where it occurred."""
    number = bin_numbers(event.predicted, n_bins)
    return (
        sums(number, event.weight, n_bins),
        sums(number, event.weight * event.occurred, n_bins),
    )
