"""Figures of the debiasing study, each as PNG and SVG."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import xarray as xr

from studies.debiasing_summary import (
    BIAS_TARGETS,
    COVERAGE_TARGET,
    LEVEL,
    RMSE_RIVALS,
    SIZE_TARGET,
)
from studies.figures import COLOURS, STYLE, legend, write

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MARKERS = ("o", "s", "D", "^", "v", "P")
_UNITS = {"log": "log loss", "brier": "Brier score", "spherical": "spherical score"}


class FigureSpec(NamedTuple):
    """Which figure to draw."""

    kind: str
    generator: str | None = None

    @property
    def stem(self) -> str:
        return "-".join(part for part in self if part is not None)


def all_figures(summary: xr.Dataset) -> list[FigureSpec]:
    """List the figures that a summary supports."""
    kinds = ("relative_bias", "rmse_ratio", "coverage")
    specs = [FigureSpec(kind, g) for g in summary["generator"].values.tolist() for kind in kinds]
    return [*specs, FigureSpec("tests")]


def save(summary: xr.Dataset, folder: Path, spec: FigureSpec) -> list[Path]:
    """Draw one figure and write it twice."""
    import matplotlib as mpl

    mpl.use("agg")
    with mpl.rc_context(STYLE):
        if spec.kind == "tests":
            figure = _tests(summary)
        else:
            draw = {
                "relative_bias": _relative_bias,
                "rmse_ratio": _rmse_ratio,
                "coverage": _coverage,
            }[spec.kind]
            figure = draw(summary.sel(generator=spec.generator), str(spec.generator))
        return write(figure, folder, spec.stem)


def _panels(
    rows: int, classes: list[int], names: list[str], title: str
) -> tuple[Figure, list[list[Axes]]]:
    """One column for each class count, one line of every panel for each scenario."""
    from matplotlib.figure import Figure

    size = (2.0 + 2.3 * len(classes), 1.5 + rows * (0.4 + 0.3 * len(names)))
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(rows, len(classes), sharey=True, sharex=True, squeeze=False)
    for axis, k in zip(axes[0], classes, strict=True):
        axis.set_title(f"{k} classes")
    for axis in axes.flat:
        axis.set_yticks(range(len(names)), names)
        axis.set_ylim(len(names) - 0.5, -0.5)
        axis.grid(axis="x", color="0.9", linewidth=0.6)
        axis.hlines(np.arange(len(names) - 1) + 0.5, 0, 1, "0.9", transform=_across(axis), lw=0.6)
        axis.tick_params(axis="y", length=0)
        axis.set_axisbelow(True)
    figure.suptitle(title, fontsize=10)
    return figure, axes.tolist()


def _across(axis: Axes) -> Any:
    """Fractions of the panel along x, data along y."""
    return axis.get_yaxis_transform()


def _series(
    axis: Axes, values: xr.DataArray, error: xr.DataArray | None, dim: str, labels: list[str]
) -> None:
    """Plot (scenario, dim) with the levels of `dim` below each other."""
    n_levels = values.sizes[dim]
    for i, label in enumerate(labels):
        shift = 0.6 * ((i + 0.5) / n_levels - 0.5)
        axis.errorbar(
            values.isel({dim: i}),
            np.arange(len(values)) + shift,
            xerr=None if error is None else error.isel({dim: i}),
            linestyle="",
            color=COLOURS[i % len(COLOURS)],
            marker=_MARKERS[i % len(_MARKERS)],
            elinewidth=1,
            label=label,
        )


def _by_size(summary: xr.Dataset, name: str, title: str) -> tuple[Figure, list[Axes]]:
    """Plot one variable of the debiased method, one series for each sample size."""
    if "method" in summary[name].dims:
        summary = summary.sel({"method": "debiased"})
    sizes = [f"n = {n}" for n in summary["sample_size"].values]
    classes = summary["n_classes"].values.tolist()
    figure, [axes] = _panels(1, classes, summary["scenario"].values.tolist(), title)
    for axis, k in zip(axes, classes, strict=True):
        panel = summary.sel(n_classes=k)
        order = ("scenario", "sample_size")
        value, error = (panel[v].transpose(*order) for v in (name, f"{name}_se"))
        _series(axis, value, error, "sample_size", sizes)
    return figure, axes


def _miscalibrated(summary: xr.Dataset) -> xr.Dataset:
    return summary.isel(scenario=np.flatnonzero((summary["truth"] > 0).any("n_classes")))


def _relative_bias(summary: xr.Dataset, generator: str) -> Figure:
    summary = _miscalibrated(summary)
    largest = summary["sample_size"].values[-1]
    figure, axes = _by_size(
        summary,
        "relative_bias",
        f"Relative bias of the debiased calibration error, {_UNITS.get(generator, generator)}, "
        f"± standard error\n(rivals at n = {largest}, logarithmic beyond 20 %; band: target)",
    )
    y = np.arange(summary.sizes["scenario"])
    for axis, k in zip(axes, summary["n_classes"].values, strict=True):
        for method, marker in zip(RMSE_RIVALS, ("|", "x", "+"), strict=True):
            at = {"method": method, "n_classes": k, "sample_size": largest}
            axis.plot(
                summary["relative_bias"].sel(at),
                y,
                linestyle="",
                marker=marker,
                markersize=6,
                color="0.45",
                label=method,
            )
        target = next((100 * share for most, _, share in BIAS_TARGETS if k <= most), None)
        if target is not None:
            axis.axvspan(-target, target, color="0.92", zorder=0)
        axis.axvline(0, color="black", linewidth=1)
        axis.set_xscale("symlog", linthresh=20, linscale=1.2)
        axis.set_xticks([-1000, -100, -20, 0, 20, 100, 1000])
        axis.set_xticklabels(["−1000", "−100", "−20", "0", "20", "100", "1000"], rotation=45)
        axis.minorticks_off()
        axis.set_xlabel("(mean − truth) / truth, %")
    legend(figure, np.array(axes))
    return figure


def _rmse_ratio(summary: xr.Dataset, generator: str) -> Figure:
    figure, axes = _by_size(
        summary,
        "rmse_ratio",
        "RMSE of the debiased calibration error over that of the best of "
        f"{', '.join(RMSE_RIVALS)}\n{_UNITS.get(generator, generator)}, ± standard error",
    )
    for axis in axes:
        axis.axvline(1, color="black", linewidth=1)
        axis.set_xscale("log")
        low, high = axis.get_xlim()
        ticks = [t for t in (0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10) if low <= t <= high]
        axis.set_xticks(ticks, [f"{t:g}" for t in ticks])
        axis.minorticks_off()
        axis.set_xlabel("ratio (below 1: debiased is better)")
    legend(figure, np.array(axes))
    return figure


def _coverage(summary: xr.Dataset, generator: str) -> Figure:
    figure, axes = _by_size(
        summary,
        "coverage",
        f"Coverage of the debiased 95 % interval, {_UNITS.get(generator, generator)}, "
        "± standard error (band: target)",
    )
    for axis in axes:
        axis.axvspan(*COVERAGE_TARGET, color="0.9", zorder=0)
        axis.axvline(0.95, color="black", linewidth=1)
        axis.set_xlabel("share with the truth")
    legend(figure, np.array(axes))
    return figure


def _tests(summary: xr.Dataset) -> Figure:
    classes = summary["test_n_classes"].values.tolist()
    sizes = summary["test_sample_size"].values.tolist()
    names = [
        name if name.startswith("calibrated") else f"weak {name}"
        for name in summary["test_scenario"].values.tolist()
    ]
    figure, axes = _panels(
        len(sizes),
        classes,
        names,
        f"Rejection rate at {LEVEL:.0%}, ± standard error (line: nominal size; band: target)",
    )
    for row, n in zip(axes, sizes, strict=True):
        row[0].set_ylabel(f"n = {n}")
        for axis, k in zip(row, classes, strict=True):
            panel = summary.sel(test_n_classes=k, test_sample_size=n)
            order = ("test_scenario", "test")
            rate, error = (
                panel[name].transpose(*order) for name in ("rejection_rate", "rejection_rate_se")
            )
            _series(axis, rate, error, "test", panel["test"].values.tolist())
            axis.axvspan(*SIZE_TARGET, color="0.9", zorder=0)
            axis.axvline(LEVEL, color="black", linewidth=1)
            axis.set_xlim(-0.03, 1.03)
    for axis in axes[-1]:
        axis.set_xlabel("share of samples rejected")
    legend(figure, np.array(axes))
    return figure
