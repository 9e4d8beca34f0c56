"""The frequencies of an event in bins: bars of equal width with their gaps, or points."""

from __future__ import annotations

from statistics import NormalDist
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from propercal._kernels.bins import bin_numbers
from propercal.diagrams.events import Event
from propercal.plotting.palette import COLOURS

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

Floats = npt.NDArray[np.float64]

#: A gap of this size has the full shade; equal shades mean equal gaps in all diagrams.
_FULL_GAP = 0.25


class _Bins(NamedTuple):
    """Bins that are not empty."""

    centre: Floats
    predicted: Floats
    frequency: Floats
    size: Floats
    """Rows of equal weight that would tell as much."""


def _bins(event: Event, n_bins: int) -> _Bins:
    weight = event.weight / event.weight.max()
    number = bin_numbers(event.predicted, n_bins)
    count, total, squares, mean, frequency = (
        np.bincount(number, each, minlength=n_bins)
        for each in (
            np.sign(weight),
            weight,
            weight**2,
            weight * event.predicted,
            weight * event.occurred,
        )
    )
    filled = np.flatnonzero(count)
    total = total[filled]
    # Weights that differ tell as much as fewer rows of equal weight.
    size = np.where(squares[filled] > 0, total**2 / squares[filled], count[filled])
    return _Bins((filled + 0.5) / n_bins, mean[filled] / total, frequency[filled] / total, size)


def wilson_interval(
    frequency: Floats, count: npt.NDArray[Any], confidence_level: float
) -> tuple[Floats, Floats]:
    """Return Wilson's confidence interval of a probability from a frequency in `count` draws."""
    z = NormalDist().inv_cdf(0.5 + confidence_level / 2)
    shrunk = 1 + z**2 / count
    centre = (frequency + z**2 / (2 * count)) / shrunk
    half = z * np.sqrt(frequency * (1 - frequency) / count + (z / (2 * count)) ** 2) / shrunk
    # Rounding must not leave the frequency itself outside.
    return np.minimum(centre - half, frequency), np.maximum(centre + half, frequency)


def draw_bars(axis: Axes, event: Event, n_bins: int, level: float) -> list[Any]:
    """Draw bars of frequencies, and of their gaps; return what a legend names."""
    from matplotlib.colors import to_rgba
    from matplotlib.patches import Patch

    bins, width = _bins(event, n_bins), 1 / n_bins
    axis.bar(bins.centre, bins.frequency, width, color="0.85", edgecolor="0.45", linewidth=0.6)
    gap = bins.predicted - bins.frequency
    handles: list[Any] = []
    for sign, colour, hatch, label in (
        (-1, COLOURS[0], "///", "predicted too low"),
        (1, COLOURS[1], "\\\\\\", "predicted too high"),
    ):
        of = sign * gap > 0
        shade = 0.15 + 0.7 * np.minimum(np.abs(gap[of]) / _FULL_GAP, 1)
        style: dict[str, Any] = {"edgecolor": colour, "linewidth": 0.8, "hatch": hatch}
        axis.bar(
            bins.centre[of],
            gap[of],
            0.8 * width,
            bottom=bins.frequency[of],
            color=[to_rgba(colour, alpha) for alpha in shade],
            **style,
        )
        handles.append(Patch(facecolor=to_rgba(colour, 0.5), label=label, **style))
    low, high = wilson_interval(bins.frequency, bins.size, level)
    interval = axis.errorbar(
        bins.predicted,
        bins.frequency,
        [bins.frequency - low, high - bins.frequency],
        linestyle="",
        marker="o",
        markersize=2.5,
        color="black",
        elinewidth=0.9,
        capsize=2,
        label=f"{100 * level:.4g} % interval",
    )
    return [*handles, interval]


def draw_points(axis: Axes, found: xr.Dataset) -> list[Any]:
    """Draw the frequencies of bins with limits that hold together; return what a legend names."""
    frequency = found["bin_frequency"].values
    reach = [
        np.maximum(frequency - found["bin_lower"].values, 0.0),
        np.maximum(found["bin_upper"].values - frequency, 0.0),
    ]
    level = found.attrs["confidence_level"]
    points = axis.errorbar(
        found["bin_prediction"].values,
        frequency,
        reach,
        linestyle="-",
        linewidth=1.0,
        marker="o",
        markersize=4,
        color=COLOURS[0],
        elinewidth=0.9,
        capsize=2,
        label=f"bins, {100 * level:.4g} % for all together",
    )
    return [points]
