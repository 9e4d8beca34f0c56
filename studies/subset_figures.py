"""Figures of the study of subsets of a test set, each as PNG and SVG."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import xarray as xr

from propercal.plotting import convergence
from studies.data import short
from studies.figures import COLOURS, STYLE, legend, write
from studies.posthoc_table import SYMBOLS
from studies.subset_design import BANDWIDTH
from studies.subset_table import relative_bias

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figures(summary: xr.Dataset) -> list[str]:
    """Name the figures: one for each model."""
    return [str(name) for name in summary["model"].values]


def save(summary: xr.Dataset, folder: Path, model: str) -> list[Path]:
    """Draw one figure and write it twice."""
    import matplotlib as mpl

    mpl.use("agg")
    with mpl.rc_context(STYLE):
        return write(_draw(summary.sel(model=model), model), folder, f"bias-{short(model)}")


def _draw(summary: xr.Dataset, model: str) -> Figure:
    """Estimate, bias and relative bias, a row for each generator."""
    from matplotlib.figure import Figure

    generators = summary["generator"].values.tolist()
    figure = Figure(figsize=(9.2, 1.4 + 2.2 * len(generators)), layout="constrained")
    axes: Any = figure.subplots(len(generators), 3, squeeze=False, sharex=True)
    panels = {
        "estimate × 100": 100 * summary["estimate"],
        "bias × 100": 100 * (summary["estimate"] - summary["reference"]),
        "relative bias (%)": 100 * relative_bias(summary),
    }
    for row, generator in zip(axes, generators, strict=True):
        symbol = SYMBOLS.get(generator, generator)
        unit = "nats" if generator == "log" else "Brier score"
        for axis, (title, values) in zip(row, panels.items(), strict=True):
            convergence(
                values.sel(generator=generator).to_dataset(name="value"), estimate="value", ax=axis
            )
            axis.get_legend().remove()
            axis.set(xlabel="", ylabel="", title=f"{symbol}, {title}")
            if values is panels["estimate × 100"]:
                axis.set_ylabel(f"{unit} × 100")
            else:
                axis.axhline(0, color="black", linewidth=0.8)
        for i, method in enumerate(summary["method"].values.tolist()):
            level = (
                100 * summary["reference"].sel({"generator": generator, "method": method}).item()
            )
            row[0].axhline(level, color=COLOURS[i], linestyle="--", linewidth=1.0)
    axes[0, 0].plot([], [], color="0.3", linestyle="--", linewidth=1.0, label="whole test set")
    for axis in axes[-1]:
        axis.set_xlabel("sample size n")
    n = f"{summary['n_rows'].item():.0f}"
    figure.suptitle(
        f"{short(model)}: subsets of the test set against all {n} rows by the same estimate "
        f"(risk, direct: γ = {BANDWIDTH:g})",
        fontsize=10,
    )
    legend(figure, axes)
    return figure
