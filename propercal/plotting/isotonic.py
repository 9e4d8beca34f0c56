"""The isotonic curve of an event with its bands, and the distribution of predictions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from propercal.plotting.palette import COLOURS

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

#: Predictions at which bands are drawn, and up to how many have a marker each.
_DRAWN, _MARKED = 1000, 25
#: Height of the tallest bar of the histogram.
_TALLEST = 0.14


def draw_bands(axis: Axes, found: xr.Dataset) -> list[Any]:
    """Draw both bands; return what a legend names."""
    level = f"{100 * found.attrs['confidence_level']:.4g} %"
    consistency = _band(axis, found, "consistency", color="0.82", linewidth=0, zorder=1.0)
    consistency.set_label(f"{level} consistency band,\nif the model is calibrated")
    colour = COLOURS[0]
    confidence = _band(axis, found, "confidence", color=colour, alpha=0.22, linewidth=0, zorder=1.2)
    confidence.set_label(f"{level} confidence band\nof the true frequency")
    return [confidence, consistency]


def _band(axis: Axes, found: xr.Dataset, name: str, **style: Any) -> Any:
    x = found["prediction"].values
    shown = np.unique(np.linspace(0, len(x) - 1, min(len(x), _DRAWN)).round().astype(int))
    low, high = (found[f"{name}_{end}"].values[shown] for end in ("lower", "upper"))
    return axis.fill_between(*stairs(x[shown], low, high), **style)


def stairs(x: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the outline of a band between predictions, where a monotone function is known.

    It is at least the lower end at the prediction before, and at most the upper one at the next.
    """
    return (
        np.repeat(x, 2),
        np.concatenate([low[:1], np.repeat(low, 2)[:-1]]),
        np.concatenate([np.repeat(high, 2)[1:], high[-1:]]),
    )


def draw_curve(
    axis: Axes, prediction: Floats, value: Floats, block: Integers, colour: str, label: str
) -> Any:
    """Draw a curve by the ends of its levels; return what a legend names."""
    ends = np.diff(block, prepend=-1) > 0
    ends |= np.diff(block, append=block[-1] + 1) > 0
    marker = "o" if len(block) <= _MARKED else ""
    (line,) = axis.plot(
        prediction[ends],
        value[ends],
        color=colour,
        linewidth=1.6,
        marker=marker,
        markersize=4,
        label=label,
        zorder=3,
    )
    return line


def draw_histogram(axis: Axes, share: Floats, label: str = "distribution of predictions") -> Any:
    """Draw the distribution of predictions at the bottom of the panel, in a scale of its own."""
    width = 1 / len(share)
    return axis.bar(
        (np.arange(len(share)) + 0.5) * width,
        share / share.max() * _TALLEST,
        width,
        color="0.55",
        edgecolor="white",
        linewidth=0.4,
        alpha=0.8,
        zorder=0.9,
        label=label,
    )


def draw_diagonal(axis: Axes) -> Any:
    """Draw where predictions are right; return what a legend names."""
    (line,) = axis.plot(
        [0, 1], [0, 1], color="black", linewidth=1.0, linestyle="--", label="calibrated", zorder=2
    )
    axis.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    return line


def score_lines(found: xr.Dataset) -> list[Any]:
    """Return entries of a legend that say the score and its parts."""
    from matplotlib.lines import Line2D

    name = str(found.attrs["generator"]).removesuffix("()")
    parts = (
        (f"{name} score", "score"),
        ("= MCB", "miscalibration"),
        ("− DSC", "discrimination"),
        ("+ UNC", "uncertainty"),
    )
    texts = [f"{words} {found[part].item():.4f}" for words, part in parts]
    return [Line2D([], [], linestyle="", label=text) for text in texts]
