"""Miscalibration against discrimination of many models, with lines of equal score."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from propercal._data.predictions.arguments import with_reading
from propercal._data.predictions.notions import Notion
from propercal._data.predictions.predictions import Reading
from propercal._data.words.messages import bad_value
from propercal.diagrams.scores import isotonic_decomposition
from propercal.generators.registry import GeneratorLike
from propercal.plotting.axes import add_legend, axes_for, units_of
from propercal.plotting.palette import COLOURS
from propercal.plotting.point_names import write_names

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes


@with_reading
def mcb_dsc_plot(
    y_true: object,
    predictions: object,
    *,
    generator: GeneratorLike = "brier",
    notion: str | Notion | None = None,
    event: int | str | None = None,
    ax: Axes | None = None,
    **reading: Unpack[Reading],
) -> Axes:
    """Draw the discrimination of models against their miscalibration.

    Parameters
    ----------
    y_true, from_logits, sample_weight, labels
        As in :func:`propercal.decompose`.
    pos_label, link, ignore_index, class_axis, class_dim, sample_dims
        As in :func:`propercal.decompose`.
    predictions : array-like, or mapping of str to array-like
        Probabilities of one model as in :func:`propercal.decompose`, or of any number by name.
    generator, notion, event
        As in :func:`propercal.isotonic_decomposition`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        A point for each model, and grey lines of equal score, which is lower up and to the left.
        That through the origin is the score of the base rate. Models of infinite score are named in
        the legend.

    Raises
    ------
    ValueError
        If an argument cannot be used, or no model has a finite score.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from propercal.plotting import mcb_dsc_plot
    >>> ax = mcb_dsc_plot([0, 0, 1, 1], {"a": [0.1, 0.4, 0.35, 0.8], "b": [0.2, 0.1, 0.6, 0.7]})
    >>> ax.get_xlabel()
    'miscalibration MCB'
    """
    found = isotonic_decomposition(
        y_true, predictions, generator=generator, notion=notion, event=event, **reading
    )
    axis = axes_for(ax, size=(6.2, 3.8))
    add_legend(axis, draw_scores(axis, found))
    return axis


def draw_scores(axis: Axes, found: xr.Dataset) -> list[Any]:
    """Draw points and lines; return what a legend names."""
    from matplotlib.ticker import MaxNLocator

    parts = ("score", "miscalibration", "discrimination")
    finite = np.all([np.isfinite(found[part].values) for part in parts], axis=0)
    if not finite.any():
        raise bad_value(
            "generator", found.attrs["generator"], "a loss that is finite", 'use "brier"'
        )
    of = found.isel(model=finite)
    x, y = (np.maximum(of[part].values, 0.0) for part in ("miscalibration", "discrimination"))
    # Of a model that is the base rate there is nothing to scale by but that.
    least = max(1e-3 * abs(float(of["uncertainty"].values[0])), 1e-6)
    right, top = (1.25 * float(each.max()) for each in (x, y))
    right = max(right, 0.0 if top > least else least)
    # Where all is next to nothing on one axis, the lines would be steep.
    right, top = max(right, 0.1 * top), max(top, 0.1 * right)
    axis.set(xlim=(0, right), ylim=(0, top))
    axis.xaxis.set_major_locator(MaxNLocator(6))
    uncertainty = float(of["uncertainty"].values[0])
    lines = _isoclines(axis, uncertainty, right, top)
    base = axis.axline(
        (0, 0),
        slope=1,
        color="black",
        linestyle="--",
        linewidth=1.0,
        label="score of the base rate",
    )
    axis.plot(x, y, linestyle="", marker="o", markersize=5, color=COLOURS[0], clip_on=False)
    write_names(axis, [str(name) for name in of["model"].values], x, y, inside=right / 4)
    units = units_of(found["score"].attrs.get("units", ""))
    axis.set_xlabel(f"miscalibration MCB{units}")
    axis.set_ylabel(f"discrimination DSC{units}")
    name = found.attrs["generator"].removesuffix("()")
    lines.set_label(f"equal {name} score")
    return [lines, base, *_infinite(found, finite)]


def _isoclines(axis: Axes, uncertainty: float, right: float, top: float) -> Any:
    """Draw where the score is a round number, with the number at the edge of the panel."""
    from matplotlib.ticker import MaxNLocator

    # DSC = MCB + UNC − score.
    levels = MaxNLocator(7).tick_values(uncertainty - top, uncertainty + right)
    # As many digits as the step between them has.
    digits = max(3, 1 + math.ceil(math.log10(np.abs(levels).max() / (levels[1] - levels[0]))))
    line: Any = None
    for level in levels:
        above = uncertainty - level
        start, end = max(0.0, -above), min(right, top - above)
        if end <= start:
            continue
        (line,) = axis.plot([start, end], [start + above, end + above], color="0.8", linewidth=0.8)
        # Towards the upper end, where it leaves the panel.
        at = start + 0.94 * (end - start)
        axis.annotate(
            f"{level:.{digits}g}",
            (at, at + above),
            color="0.45",
            fontsize="x-small",
            ha="center",
            va="center",
            bbox={"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none"},
            zorder=1.5,
        )
    return line


def _infinite(found: xr.Dataset, finite: Any) -> list[Any]:
    from matplotlib.lines import Line2D

    names = [str(name) for name in found["model"].values[~finite]]
    return [Line2D([], [], linestyle="", label=f"infinite: {', '.join(names)}")] if names else []
