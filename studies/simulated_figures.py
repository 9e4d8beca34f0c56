"""Figures of estimates of a known calibration error, each as PNG and SVG."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import xarray as xr

from propercal.plotting import convergence
from studies.figures import STYLE, legend, write
from studies.posthoc_table import SYMBOLS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: From a dataset of one generator, for each row of panels its name and what it shows; "estimator"
#: there has the names of the lines.
Rows = Callable[[xr.Dataset], Mapping[str, xr.Dataset]]


def figures(summary: xr.Dataset) -> Sequence[str]:
    """Name the figures: one for each generator."""
    return [str(name) for name in summary["generator"].values]


def save(rows: Rows, title: str, summary: xr.Dataset, folder: Path, generator: str) -> list[Path]:
    """Draw one figure and write it twice."""
    import matplotlib as mpl

    mpl.use("agg")
    with mpl.rc_context(STYLE):
        figure = _draw(rows(summary.sel(generator=generator)), title, generator)
        return write(figure, folder, f"estimate-{generator}")


def _draw(rows: Mapping[str, xr.Dataset], title: str, generator: str) -> Figure:
    from matplotlib.figure import Figure

    classes = next(iter(rows.values()))["n_classes"].values.tolist()
    figure = Figure(figsize=(1.4 + 2.5 * len(classes), 1.5 + 2.1 * len(rows)), layout="constrained")
    axes: Any = figure.subplots(len(rows), len(classes), sharex=True, squeeze=False)
    for row, (name, panels) in zip(axes, rows.items(), strict=True):
        for axis, k in zip(row, classes, strict=True):
            panel = panels.sel(n_classes=k)
            _convergence(panel, axis)
            axis.set(xlabel="", ylabel="")
        unit = "nats" if generator == "log" else "Brier score"
        row[0].set_ylabel(f"{SYMBOLS.get(generator, generator)} ({unit})\n{name}")
    for axis, k in zip(axes[0], classes, strict=True):
        axis.set_title(f"{k} classes")
    for axis in axes[-1]:
        axis.set_xlabel("sample size n")
    figure.suptitle(title, fontsize=10)
    legend(figure, axes)
    return figure


def _convergence(panel: xr.Dataset, axis: Any) -> None:
    mean = panel["calibration_error"].mean("replicate")
    convergence(panel[["calibration_error", "truth"]], estimate="calibration_error", ax=axis)
    axis.get_legend().remove()
    if mean.min() > 0 and mean.max() > 12 * panel["truth"].item():
        axis.set_yscale("log")
    elif mean.min() > 0:
        axis.set_ylim(bottom=0)
