"""Figure of the study of model selection, as PNG and SVG."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import xarray as xr

from propercal.plotting import pareto_front
from studies.figures import STYLE, legend, write
from studies.selection_table import SYMBOLS, fronts
from studies.training_design import mean_and_error

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIGURES = ("pareto",)
_NEAR = 4
_TITLES = {"risk": "the paper's estimate (γ = 0.02)", "debiased": "debiased"}


def save(summary: xr.Dataset, folder: Path, kind: str) -> list[Path]:
    """Draw one figure for each activation function and write it twice."""
    import matplotlib as mpl

    mpl.use("agg")
    with mpl.rc_context(STYLE):
        return [
            path
            for activation in summary["activation"].values
            for path in write(
                _pareto(summary.sel(activation=activation)), folder, f"{kind}-{activation}"
            )
        ]


def _pareto(summary: xr.Dataset) -> Figure:
    """A row a generator, a column an estimate; the numbers are epochs."""
    from matplotlib.figure import Figure

    generators, methods = (summary[name].values.tolist() for name in ("generator", "method"))
    figure = Figure(figsize=(8.4, 6.4), layout="constrained")
    axes = figure.subplots(len(generators), len(methods), squeeze=False)
    x, x_error = mean_and_error(100 * summary["accuracy"])
    # The first snapshots are far from all others, whose numbers would lie on each other.
    near = (x >= x.max() - _NEAR).values
    found = fronts(summary)
    for front, axis in zip(found, axes.flat, strict=True):
        at = {"generator": front.generator, "method": front.method}
        y, y_error = mean_and_error(100 * summary["calibration_error"].sel(at))
        pareto_front(
            x.values[near],
            y.values[near],
            accuracy_se=x_error.values[near],
            calibration_error_se=y_error.values[near],
            names=[str(epoch) for epoch in summary["epoch"].values[near]],
            ax=axis,
        )
        axis.get_legend().remove()
        axis.set_xlabel("")
        axis.set_title(f"{SYMBOLS[front.generator]}, {_TITLES[front.method]}")
        unit = " (nats)" if front.generator == "log" else ""
        axis.set_ylabel(f"{SYMBOLS[front.generator]} × 100{unit}")
    for axis in axes[-1]:
        axis.set_xlabel("accuracy (%)")
    figure.suptitle(
        "Snapshots of training (numbers: epochs), mean over seeds ± standard error;\n"
        f"those within {_NEAR} points of the best accuracy",
        fontsize=10,
    )
    legend(figure, axes)
    return figure
