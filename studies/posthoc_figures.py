"""Figures of the post-hoc calibration study, each as PNG and SVG."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from studies.data import short
from studies.figures import COLOURS, STYLE, legend, write
from studies.posthoc_table import SYMBOLS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FIGURES = ("calibration_errors", "differences")
_MARKERS = ("o", "s", "D", "^")
_NOTIONS = {"classwise": "class-wise"}


def save(summary: xr.Dataset, folder: Path, kind: str) -> list[Path]:
    """Draw one figure and write it twice."""
    import matplotlib as mpl

    mpl.use("agg")
    with mpl.rc_context(STYLE):
        draw = {"calibration_errors": _calibration_errors, "differences": _differences}[kind]
        return write(draw(summary), folder, kind)


def _panels(summary: xr.Dataset, title: str, ticks: list[str]) -> tuple[Figure, Any]:
    """One row for each notion, one column for each generator, one line for each model."""
    from matplotlib.figure import Figure

    notions, generators = (summary[name].values.tolist() for name in ("notion", "generator"))
    size = (2.6 + 2.9 * len(generators), 1.6 + len(notions) * (0.6 + 0.42 * len(ticks)))
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(len(notions), len(generators), sharey=True, squeeze=False)
    for row, notion in zip(axes, notions, strict=True):
        for axis, generator in zip(row, generators, strict=True):
            unit = "nats" if generator == "log" else "Brier score"
            axis.set_title(
                f"{SYMBOLS.get(generator, generator)}, {_NOTIONS.get(notion, notion)} ({unit})"
            )
            axis.set_yticks(range(len(ticks)), ticks)
            axis.set_ylim(len(ticks) - 0.5, -0.5)
            axis.tick_params(axis="y", length=0)
            axis.grid(axis="x", color="0.92", linewidth=0.6)
            across = axis.get_yaxis_transform()
            axis.hlines(np.arange(len(ticks) - 1) + 0.5, 0, 1, "0.9", transform=across, lw=0.6)
            axis.axvline(0, color="black", linewidth=0.8)
            axis.set_axisbelow(True)
    figure.suptitle(title, fontsize=10)
    return figure, axes


def _each(summary: xr.Dataset, axes: Any) -> list[tuple[Axes, xr.Dataset]]:
    return [
        (axis, summary.sel({"notion": notion, "generator": generator}).mean("seed"))
        for row, notion in zip(axes, summary["notion"].values, strict=True)
        for axis, generator in zip(row, summary["generator"].values, strict=True)
    ]


def _calibration_errors(summary: xr.Dataset) -> Figure:
    title = (
        "Calibration error × 100 before and after recalibration\n"
        "(filled: debiased, 95 % interval; hollow: the paper's estimate)"
    )
    figure, axes = _panels(summary, title, [short(m) for m in summary["model"].values.tolist()])
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
    for axis in axes[-1]:
        axis.set_xlabel("calibration error × 100")
    legend(figure, axes)
    return figure


def _differences(summary: xr.Dataset) -> Figure:
    title = (
        "Calibration error × 100 of isotonic regression less that of temperature scaling\n"
        "(above 0: temperature scaling wins; filled: debiased, 95 % interval; hollow: the paper's)"
    )
    figure, axes = _panels(summary, title, [short(m) for m in summary["model"].values.tolist()])
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
    for axis in axes[-1]:
        axis.set_xlabel("difference × 100")
    legend(figure, axes)
    return figure
