"""Figures of the study of single classes, each as PNG and SVG."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import xarray as xr

from propercal.plotting import reliability_diagram
from studies.figures import COLOURS, STYLE, legend, write
from studies.posthoc_table import SYMBOLS
from studies.predictions import Floats, short

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Panels of reliability diagrams in a row.
_COLUMNS = 5


class FigureSpec(NamedTuple):
    """Which figure to draw."""

    kind: str
    model: str | None = None


def figures(summary: xr.Dataset) -> list[FigureSpec]:
    """Name the figures: values of all models, and the diagrams of each."""
    models = summary["model"].values.tolist()
    return [FigureSpec("classes"), *(FigureSpec("reliability", model) for model in models)]


def save(summary: xr.Dataset, folder: Path, spec: FigureSpec) -> list[Path]:
    """Draw one figure and write it twice."""
    import matplotlib as mpl

    mpl.use("agg")
    with mpl.rc_context(STYLE):
        if spec.model is None:
            return write(_classes(summary), folder, spec.kind)
        figure = _reliability(summary.sel(model=spec.model), short(spec.model))
        return write(figure, folder, f"{spec.kind}-{short(spec.model)}")


def _classes(summary: xr.Dataset) -> Figure:
    """A row for each model: calibration errors by class, and the binned one."""
    from matplotlib.figure import Figure

    models = summary["model"].values.tolist()
    figure = Figure(figsize=(9.2, 1.3 + 1.9 * len(models)), layout="constrained")
    axes: Any = figure.subplots(len(models), 3, squeeze=False, sharex=True)
    x = summary["class"].values
    for row, model in zip(axes, models, strict=True):
        of = summary.sel(model=model)
        for axis, generator in zip(row, ("log", "brier"), strict=False):
            at = of.sel(generator=generator)
            paper, ours = (
                100 * at["estimate"].sel({"method": m}).values for m in ("risk", "debiased")
            )
            axis.plot(x - 0.15, paper, "s", mfc="white", color=COLOURS[1], label="risk, γ = 0.02")
            low, high = 100 * at["lower"].values, 100 * at["upper"].values
            axis.vlines(x + 0.15, low, high, COLOURS[0], linewidth=1.2)
            axis.plot(x + 0.15, ours, "o", color=COLOURS[0], label="debiased, 95 % interval")
            unit = "nats" if generator == "log" else "Brier score"
            axis.set_ylabel(f"{SYMBOLS[generator]} × 100 ({unit})")
        axis = row[2]
        axis.plot(x - 0.15, 100 * of["binned"], "s", mfc="white", color=COLOURS[2], label="binned")
        null = 100 * of["binned_null"]
        axis.plot(x + 0.15, null, "_", color="black", label="the same if calibrated", markersize=8)
        axis.set_ylabel("CE_1 × 100")
        row[1].set_title(short(model))
        for axis in row:
            axis.axhline(0, color="black", linewidth=0.8)
            axis.grid(axis="y", color="0.92", linewidth=0.6)
            axis.set_axisbelow(True)
            axis.set_xticks(x)
    for axis in axes[-1]:
        axis.set_xlabel("class")
    figure.suptitle("Calibration error of each class against the rest", fontsize=10)
    legend(figure, axes)
    return figure


def _reliability(of: xr.Dataset, name: str) -> Figure:
    """A reliability diagram for each class."""
    from matplotlib.figure import Figure

    classes = of["class"].values.tolist()
    n_rows = -(-len(classes) // _COLUMNS)
    figure = Figure(figsize=(10.5, 1.1 + 2.1 * n_rows), layout="constrained")
    axes: Any = figure.subplots(n_rows, _COLUMNS, squeeze=False, sharex=True, sharey=True)
    for axis in axes.flat[len(classes) :]:
        axis.set_axis_off()
    handles: list[Any] = []
    for axis, i in zip(axes.flat, classes, strict=False):
        prediction, occurred = _rows(of.sel({"class": i}))
        bins = of.sizes["bin"]
        reliability_diagram(occurred, prediction, event=1, n_bins=bins, ax=axis)
        own = axis.get_legend()
        handles = own.legend_handles
        texts = [text.get_text() for text in own.get_texts()]
        own.remove()
        axis.set(title=f"class {i}", xlabel="", ylabel="", xticks=[0, 0.5, 1], yticks=[0, 0.5, 1])
    # A label of the whole figure would lie under the legend.
    axes[-1, _COLUMNS // 2].set_xlabel("predicted probability of the class")
    figure.supylabel("frequency of the class", fontsize=9)
    figure.suptitle(f"{name}: each class against the rest", fontsize=10)
    figure.legend(handles, texts, loc="outside lower center", ncols=len(texts), frameon=False)
    return figure


def _rows(of: xr.Dataset) -> tuple[Floats, Any]:
    """Return rows that have the counts, mean predictions and frequencies of the bins."""
    count = of["count"].values.astype(int)
    hits = np.rint(of["count"].values * of["frequency"].values).astype(int)
    prediction = np.repeat(of["prediction"].values, count)
    occurred = np.concatenate([np.arange(n) < h for n, h in zip(count, hits, strict=True)])
    return prediction, occurred.astype(int)
