"""Figure of the study of monitoring, as PNG and SVG."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from studies.figures import COLOURS, STYLE, legend, write
from studies.monitor_table import LOSSES, SYMBOLS, criteria, smooth
from studies.training_design import mean_and_error

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FIGURES = ("monitor", "stopping")
_PARTS = {"train": "training rows", "monitor": "validation rows"}
_METHODS = {"risk": "the paper's estimate", "debiased": "debiased"}


def save(summary: xr.Dataset, folder: Path, kind: str) -> list[Path]:
    """Draw one figure for each activation function and write it twice."""
    import matplotlib as mpl

    mpl.use("agg")
    draw = {"monitor": _monitor, "stopping": _stopping}[kind]
    with mpl.rc_context(STYLE):
        return [
            path
            for activation in summary["activation"].values
            for path in write(
                draw(summary.sel(activation=activation)), folder, f"{kind}-{activation}"
            )
        ]


def _monitor(summary: xr.Dataset) -> Figure:
    """Loss and accuracy, then calibration error and refinement: a row a loss."""
    from matplotlib.figure import Figure

    generators = summary["generator"].values.tolist()
    figure = Figure(figsize=(10.5, 5.4), layout="constrained")
    axes = figure.subplots(len(generators), 4, squeeze=False, sharex=True)
    for row, generator in zip(axes, generators, strict=True):
        of = summary.sel(generator=generator)
        unit = "nats" if generator == "log" else "Brier score"
        for i, part in enumerate(_PARTS):
            loss = of["loss"].sel(part=part)
            _band(row[0], smooth(loss), COLOURS[4 + i], "_")
        name = f"{LOSSES[generator]} loss"
        row[0].set_title(name)
        row[0].set_ylabel(f"{name} (nats)" if generator == "log" else name)
        for axis, part in zip(row[1:3], _PARTS, strict=True):
            for i, method in enumerate(_METHODS):
                at = {"part": part, "method": method}
                _band(
                    axis,
                    smooth(of["calibration_error"].sel(at)),
                    COLOURS[i],
                    f"calibration error, {_METHODS[method]}",
                )
                refinement = smooth(of["refinement"].sel(at)).mean("seed")
                axis.plot(
                    of["epoch"],
                    refinement,
                    color=COLOURS[i],
                    linestyle="--",
                    label=f"refinement, {_METHODS[method]}",
                )
            axis.axhline(0, color="black", linewidth=0.6)
            axis.set_title(f"{SYMBOLS[generator]}, {_PARTS[part]}")
            axis.set_ylabel(unit)
    for i, part in enumerate(_PARTS):
        _band(
            axes[0, 3],
            100 * smooth(summary["accuracy"].sel(part=part)),
            COLOURS[4 + i],
            _PARTS[part],
        )
    axes[0, 3].set_title("accuracy")
    axes[0, 3].set_ylabel("accuracy (%)")
    for axis in axes[1:, 3]:
        axis.set_axis_off()
    axes[0, 3].tick_params(labelbottom=True)
    for axis in [*axes[-1, :3], axes[0, 3]]:
        axis.set_xlabel("epoch")
    figure.suptitle("Training, smoothed, mean over seeds (bands: ± standard error)", fontsize=10)
    legend(figure, axes[:, 1:3])
    axes[0, 3].legend(loc="center right", frameon=False)
    return figure


def _band(axis: Axes, curve: xr.DataArray, colour: str, label: str) -> None:
    mean, error = mean_and_error(curve)
    x = curve["epoch"].values
    axis.plot(x, mean, color=colour, label=label)
    axis.fill_between(x, mean - error, mean + error, color=colour, alpha=0.25, linewidth=0)


def _stopping(summary: xr.Dataset) -> Figure:
    """The epoch at which each criterion stops: hollow a seed, filled the mean."""
    from matplotlib.figure import Figure

    curves = criteria(summary)
    names = list(curves)
    figure = Figure(figsize=(6.4, 1.2 + 0.3 * len(names)), layout="constrained")
    axis = figure.subplots()
    for i, (name, curve) in enumerate(curves.items()):
        epoch = curve.idxmin("epoch").values
        colour = COLOURS[0] if "risk" in name else COLOURS[1] if "debiased" in name else "black"
        # Seeds that stop at one epoch side by side.
        y = i + 0.12 * (np.arange(len(epoch)) - (len(epoch) - 1) / 2) / max(1, len(epoch) / 5)
        axis.plot(epoch, y, linestyle="", marker="o", mfc="white", mec=colour, zorder=2)
        axis.plot(epoch.mean(), i, linestyle="", marker="D", color=colour, markersize=6, zorder=3)
    axis.set_yticks(range(len(names)), ["error rate" if n == "accuracy" else n for n in names])
    axis.set_ylim(len(names) - 0.5, -0.5)
    axis.set_xlabel("epoch of the least smoothed value on validation rows")
    axis.grid(axis="x", color="0.92", linewidth=0.6)
    axis.set_axisbelow(True)
    axis.set_title("Where each would stop training (circles: seeds; diamond: their mean)")
    return figure
