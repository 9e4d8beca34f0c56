"""Figures of the post-hoc calibration study."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from propercal.experiments import selections
from propercal.experiments.figures import COLOURS, legend, panels
from studies.data import short, symbol, unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MARKERS = ("o", "s", "D", "^")
_NOTIONS = {"classwise": "class-wise"}


def figures(summary: xr.Dataset) -> dict[str, Callable[[], Figure]]:
    """Return the errors under each recalibration, and the paired differences."""
    return {
        "calibration_errors": partial(_calibration_errors, summary),
        "differences": partial(_differences, summary),
    }


def _panels(summary: xr.Dataset, title: str, x_label: str) -> tuple[Figure, Any]:
    """One row for each notion, one column for each generator, one line for each model."""
    ticks = [short(model) for model in summary["model"].values.tolist()]
    n_rows, n_columns = summary.sizes["notion"], summary.sizes["generator"]
    size = (2.6 + 2.9 * n_columns, 1.6 + n_rows * (0.6 + 0.42 * len(ticks)))
    figure, axes = panels(n_rows, n_columns, size, title, sharey=True)
    for axis, panel in _each(summary, axes):
        notion, generator = panel["notion"].item(), panel["generator"].item()
        title = f"{symbol(generator)}, {_NOTIONS.get(notion, notion)} ({unit(generator)})"
        axis.set_title(title)
        axis.set_yticks(range(len(ticks)), ticks)
        axis.set_ylim(len(ticks) - 0.5, -0.5)
        axis.tick_params(axis="y", length=0)
        axis.grid(axis="x", color="0.92", linewidth=0.6)
        across = axis.get_yaxis_transform()
        axis.hlines(np.arange(len(ticks) - 1) + 0.5, 0, 1, "0.9", transform=across, lw=0.6)
        axis.axvline(0, color="black", linewidth=0.8)
        axis.set_axisbelow(True)
    for axis in axes[-1]:
        axis.set_xlabel(x_label)
    return figure, axes


def _each(summary: xr.Dataset, axes: Any) -> Iterator[tuple[Axes, xr.Dataset]]:
    shown = selections(summary.mean("seed"), "notion", "generator")
    for axis, (_, panel) in zip(axes.flat, shown, strict=True):
        yield axis, panel


def _calibration_errors(summary: xr.Dataset) -> Figure:
    title = (
        "Calibration error × 100 before and after recalibration\n"
        "(filled: debiased, 95 % interval; hollow: the paper's estimate)"
    )
    figure, axes = _panels(summary, title, "calibration error × 100")
    names = summary["recalibration"].values.tolist()
    for axis, panel in _each(summary, axes):
        for i, name in enumerate(names):
            of = panel.sel(recalibration=name)
            y = np.arange(of.sizes["model"]) + 0.7 * ((i + 0.5) / len(names) - 0.5)
            ours, paper = (
                100 * of["estimate"].sel({"method": m}).values for m in ("debiased", "risk")
            )
            low, high = 100 * of["lower"].values, 100 * of["upper"].values
            colour, marker = COLOURS[i], _MARKERS[i]
            axis.plot(
                paper, y, linestyle="", marker=marker, mfc="white", mec=colour, label="_paper"
            )
            # A debiased estimate below 0 lies outside its interval.
            axis.hlines(y, low, high, colour, linewidth=1)
            axis.plot(ours, y, linestyle="", marker=marker, color=colour, label=name)
    legend(figure, axes)
    return figure


def _differences(summary: xr.Dataset) -> Figure:
    title = (
        "Calibration error × 100 of isotonic regression less that of temperature scaling\n"
        "(above 0: temperature scaling wins; filled: debiased, 95 % interval; hollow: the paper's)"
    )
    figure, axes = _panels(summary, title, "difference × 100")
    rivals = summary["rival"].values.tolist()
    for axis, panel in _each(summary, axes):
        for i, name in enumerate(rivals):
            of = panel.sel(rival=name)
            y = np.arange(of.sizes["model"]) + 0.5 * ((i + 0.5) / len(rivals) - 0.5)
            low, high = (100 * of[f"difference_{end}"].values for end in ("lower", "upper"))
            risk = 100 * panel["estimate"].sel({"method": "risk"})
            paper = risk.sel({"recalibration": name}) - risk.sel({"recalibration": "temperature"})
            # The colours and markers of the other figure.
            colour, marker = COLOURS[2 + i], _MARKERS[2 + i]
            axis.plot(
                paper.values, y, linestyle="", marker=marker, mfc="white", mec=colour, label="_p"
            )
            axis.hlines(y, low, high, colour, linewidth=1)
            ours = 100 * of["difference"].values
            axis.plot(ours, y, linestyle="", marker=marker, color=colour, label=name)
    legend(figure, axes)
    return figure
