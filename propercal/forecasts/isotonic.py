"""Brier scores of forecast distributions at thresholds, integrated over these.

At a threshold z a forecast gives the event y ≤ z the probability F(z), of which the rows have
m + 1 values. Isotonic regression on them, and nothing else, recalibrates the forecasts there.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from propercal.forecasts.reading import Forecasts

Floats = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]

#: Numbers that are held at once: thresholds × rows.
_HELD = 1 << 20


class RowScores(NamedTuple):
    """(n,) each: integrals over z of squared differences from 1[y ≤ z]."""

    forecast: Floats
    """Of F(z): the CRPS."""
    climate: Floats
    """Of the share of rows with y ≤ z."""
    fitted: Floats
    """Of the isotonic regression on F(z), fitted to all rows."""
    held_out: Floats
    """Of that fitted without the fold of the row."""


def row_scores(forecasts: Forecasts, thresholds: Floats, widths: Floats, fold: Whole) -> RowScores:
    """Integrate over steps that begin at `thresholds` (T,) and have these widths."""
    n, m = forecasts.members.shape
    total = RowScores(*np.zeros((4, n)))
    place = np.searchsorted(thresholds, forecasts.members)
    of_outcome = np.searchsorted(thresholds, forecasts.outcome)
    size = max(1, _HELD // max(n, (m + 1) * (int(fold.max()) + 1)))
    below = np.zeros(n, dtype=np.int64)
    for start in range(0, len(thresholds), size):
        stop = min(start + size, len(thresholds))
        inside = (place >= start) & (place < stop)
        row, _ = np.nonzero(inside)
        steps = np.bincount((place[inside] - start) * n + row, minlength=(stop - start) * n)
        below_each = below + steps.reshape(stop - start, n).cumsum(axis=0)
        below = below_each[-1]
        event = of_outcome <= np.arange(start, stop)[:, None]
        found = _part(forecasts, below_each, event, widths[start:stop], fold)
        total = RowScores(*(a + b for a, b in zip(total, found, strict=True)))
    return total


def _part(
    forecasts: Forecasts,
    below: Whole,
    event: npt.NDArray[np.bool_],
    widths: Floats,
    fold: Whole,
) -> RowScores:
    """Integrate over some thresholds, at which (T, n) members are `below`, and y is (`event`)."""
    n_bins, n_folds = len(forecasts.cumulated), int(fold.max()) + 1
    n_thresholds = len(below)
    place = (np.arange(n_thresholds)[:, None] * n_folds + fold) * n_bins + below
    shape = n_thresholds, n_folds, n_bins
    rows = np.bincount(place.ravel(), minlength=int(np.prod(shape))).reshape(shape)
    weight = np.broadcast_to(forecasts.weight, below.shape)
    weights, events = (
        np.bincount(place.ravel(), each.ravel(), minlength=int(np.prod(shape))).reshape(shape)
        for each in (weight, weight * event)
    )
    all_rows, all_weights, all_events = (each.sum(axis=1) for each in (rows, weights, events))
    other_rows, other_weights, other_events = map(_of_others, (rows, weights, events))
    fitted = np.empty((n_thresholds, n_bins))
    held_out = np.empty(shape)
    for t in range(n_thresholds):
        fitted[t] = _regression(all_rows[t], all_weights[t], all_events[t])
        for f in range(n_folds):
            held_out[t, f] = _regression(other_rows[t, f], other_weights[t, f], other_events[t, f])
    number = np.arange(n_thresholds)[:, None]
    climate = (event @ forecasts.weight)[:, None]

    def integral(prediction: Floats) -> Floats:
        return np.asarray(widths @ (prediction - event) ** 2)

    return RowScores(
        integral(forecasts.cumulated[below]),
        integral(climate),
        integral(fitted[number, below]),
        integral(held_out[number, fold, below]),
    )


def _of_others(of_folds: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """(T, f, b) sums over the folds but one, of which none is a difference of larger sums."""
    before, after = np.zeros_like(of_folds), np.zeros_like(of_folds)
    before[:, 1:] = np.cumsum(of_folds[:, :-1], axis=1)
    after[:, :-1] = np.cumsum(of_folds[:, :0:-1], axis=1)[:, ::-1]
    return np.asarray(before + after)


def _regression(rows: Whole, weight: Floats, events: Floats) -> Floats:
    """Return the isotonic regression of the share of events on the bin.

    A bin without rows has the value of the next one below that has some, or else of the first.
    """
    from scipy.optimize import isotonic_regression

    there = np.flatnonzero(rows)
    share = np.clip(events[there] / weight[there], 0.0, 1.0)
    if len(there) > 1 and (np.diff(share) < 0).any():
        share = isotonic_regression(share, weights=weight[there]).x
    if len(there) == len(rows):
        return np.asarray(share)
    return np.asarray(
        share[np.maximum(np.searchsorted(there, np.arange(len(rows)), "right") - 1, 0)]
    )
