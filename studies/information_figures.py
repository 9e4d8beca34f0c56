"""Figures of the study of layers, each as PNG and SVG."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from propercal.plotting import layer_curves
from studies.figures import COLOURS, STYLE, legend, write
from studies.information_table import SYMBOLS, pairs, rises
from studies.training import ACTIVATIONS
from studies.training_design import mean_and_error

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: A figure of the layers for each activation function, and one of the differences between them.
FIGURES = (*ACTIVATIONS, "rises")
_MARKERS = ("o", "s", "D", "^", "v")
_TITLES = {
    "risk": "the paper's estimate (γ = 0.02)",
    "risk-tuned": "standardised, γ of least risk",
    "debiased": "debiased",
}
_UNITS = {"brier": "L2 sharpness", "log": "KL sharpness (nats)"}


def save(summary: xr.Dataset, folder: Path, kind: str) -> list[Path]:
    """Draw one figure and write it twice."""
    import matplotlib as mpl

    mpl.use("agg")
    with mpl.rc_context(STYLE):
        if kind == "rises":
            return write(_rises(summary), folder, kind)
        if kind not in summary["activation"].values:
            return []
        return write(_layers(summary.sel(activation=kind), kind), folder, f"layers-{kind}")


def _layers(summary: xr.Dataset, activation: str) -> Figure:
    """Accuracy, and sharpness by epoch: a row a generator, a column an estimate, a line a layer."""
    from matplotlib.figure import Figure

    generators, methods = (summary[name].values.tolist() for name in ("generator", "method"))
    figure = Figure(figsize=(9.5, 5.2), layout="constrained")
    axes = figure.subplots(len(generators), 1 + len(methods), squeeze=False)
    _accuracy(axes[0, 0], summary)
    for axis in axes[1:, 0]:
        axis.set_axis_off()
    for row, generator in zip(axes[:, 1:], generators, strict=True):
        for axis, method in zip(row, methods, strict=True):
            layer_curves(summary.sel({"generator": generator, "method": method}), ax=axis)
            axis.set(xlabel="", ylabel="")
            _drop_legend(axis)
            axis.set_title(_TITLES.get(method, method) if generator == generators[0] else "")
        row[0].set_ylabel(_UNITS.get(generator, generator))
        # On one scale, so that estimates of one quantity can be compared.
        low, high = (np.array([axis.get_ylim() for axis in row])[:, i] for i in (0, 1))
        for axis in row:
            axis.set_ylim(low.min(), high.max())
            if axis is not row[0]:
                axis.tick_params(labelleft=False)
    for axis in [axes[0, 0], *axes[-1, 1:]]:
        axis.set_xlabel("epoch")
    figure.suptitle(
        f"Sharpness of the layers of a {activation} network, mean over seeds ± standard error",
        fontsize=10,
    )
    legend(figure, axes)
    return figure


def _accuracy(axis: Axes, summary: xr.Dataset) -> None:
    lines: dict[str, Any] = {}
    for i, (name, label) in enumerate(
        (("train_accuracy", "training rows"), ("accuracy", "new rows"))
    ):
        mean, error = mean_and_error(100 * summary[name])
        x = summary["epoch"].values
        colour = ("0.6", "black")[i]
        # A legend of its own: the figure's tells layers by these markers.
        line = axis.errorbar(x, mean, error, color=colour, marker="x+"[i], capsize=2, label="_")
        lines[label] = line
    axis.legend(list(lines.values()), list(lines), loc="upper left", frameon=False)
    axis.set_title("accuracy")
    axis.set_ylabel("accuracy (%)")
    epochs = summary["epoch"].values
    axis.set_xscale("log", base=2)
    axis.set_xticks(epochs, [str(epoch) for epoch in epochs])
    axis.minorticks_off()
    axis.grid(color="0.92", linewidth=0.6)
    axis.set_axisbelow(True)


def _drop_legend(axis: Axes) -> None:
    """Leave the legend to the figure."""
    found = axis.get_legend()
    if found is not None:
        found.remove()


def _rises(summary: xr.Dataset) -> Figure:
    """How much sharper each layer seems than the one before it: a row an activation function."""
    from matplotlib.figure import Figure

    activations, generators, methods = (
        summary[name].values.tolist() for name in ("activation", "generator", "method")
    )
    size = (2.0 + 3.2 * len(generators), 1.4 + 2.1 * len(activations))
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(len(activations), len(generators), squeeze=False, sharex=True)
    names = pairs(summary)
    for row, activation in zip(axes, activations, strict=True):
        for axis, generator in zip(row, generators, strict=True):
            of = summary["sharpness"].sel(activation=activation, generator=generator).mean("epoch")
            for i, method in enumerate(methods):
                mean, error = mean_and_error(100 * rises(of.sel({"method": method})))
                x = np.arange(len(names)) + 0.18 * (i - (len(methods) - 1) / 2)
                axis.errorbar(
                    x,
                    mean,
                    error,
                    color=COLOURS[i],
                    marker=_MARKERS[i],
                    capsize=2,
                    linestyle="",
                    label=_TITLES.get(method, method),
                )
            axis.axhline(0, color="black", linewidth=0.8)
            axis.set_title(f"{activation}, {SYMBOLS.get(generator, generator)}")
            axis.set_xticks(range(len(names)), names)
            axis.set_ylabel("rise × 100" + (" (nats)" if generator == "log" else ""))
            axis.grid(axis="y", color="0.92", linewidth=0.6)
            axis.set_axisbelow(True)
    for axis in axes[-1]:
        axis.set_xlabel("from layer → to layer")
    figure.suptitle(
        "Rise of sharpness from a layer to the next (in truth never above 0),\n"
        "mean over epochs, and over seeds ± standard error",
        fontsize=10,
    )
    legend(figure, axes)
    return figure
