"""Figures of the bias-rate study, each as PNG and SVG."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import xarray as xr

from studies.figures import COLOURS, STYLE, legend, write

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MARKERS = {"direct": "o", "risk": "s"}
_LINES = {"direct": "--", "risk": "-"}
_FLOORS = {"direct": ":", "risk": "-."}
_GENERATORS = {"log": "log loss (nats)", "brier": "Brier score"}
_NOTIONS = {"classwise": "class-wise", "canonical": "canonical"}


class FigureSpec(NamedTuple):
    """Which figure to draw."""

    kind: str
    notion: str
    generator: str | None = None

    @property
    def stem(self) -> str:
        return "-".join(part for part in self if part is not None).replace(" ", "")


def all_figures(summary: xr.Dataset) -> list[FigureSpec]:
    """List the figures that a summary supports."""
    specs = []
    for notion in summary["notion"].values.tolist():
        specs += [FigureSpec("estimate", notion), FigureSpec("relative_bias", notion)]
        specs += [FigureSpec("bias", notion, g) for g in summary["generator"].values.tolist()]
    return specs


def save(summary: xr.Dataset, folder: Path, spec: FigureSpec) -> list[Path]:
    """Draw one figure and write it twice."""
    import matplotlib as mpl

    mpl.use("agg")
    with mpl.rc_context(STYLE):
        draw = {"estimate": _estimate, "relative_bias": _relative_bias, "bias": _bias}[spec.kind]
        figure = draw(summary.sel(notion=spec.notion), spec)
        return write(figure, folder, spec.stem)


def _grid(summary: xr.Dataset, n_rows: int, title: str, **options: Any) -> tuple[Figure, Any]:
    from matplotlib.figure import Figure

    n_columns = summary.sizes["n_classes"]
    figure = Figure(figsize=(1.2 + 2.5 * n_columns, 1.25 + 2.1 * n_rows), layout="constrained")
    axes = figure.subplots(n_rows, n_columns, sharex=True, squeeze=False, **options)
    for axis, k in zip(axes[0], summary["n_classes"].values, strict=True):
        axis.set_title(f"{k} classes")
    sizes = summary["sample_size"].values
    for axis in axes.flat:
        axis.set_xscale("log")
        axis.grid(color="0.9", linewidth=0.6)
        axis.set_axisbelow(True)
    shown = sizes if sizes.size <= 4 else sizes[:: int(np.ceil(sizes.size / 4))]
    for axis in axes[-1]:
        axis.set_xticks(shown, [f"{n:g}" for n in shown])
        axis.minorticks_off()
        axis.set_xlabel("sample size n")
    figure.suptitle(title, fontsize=10)
    return figure, axes


def _series(panel: xr.Dataset) -> list[tuple[xr.Dataset, dict[str, Any]]]:
    """Return one selection, and its style, for every bandwidth and method."""
    return [
        (
            panel.sel({"bandwidth": gamma, "method": method}),
            {
                "color": COLOURS[i % len(COLOURS)],
                "marker": _MARKERS[method],
                "linestyle": _LINES[method],
                "label": f"{method}, γ = {gamma:g}",
            },
        )
        for method in panel["method"].values.tolist()
        for i, gamma in enumerate(panel["bandwidth"].values.tolist())
    ]


def _name(generator: str) -> str:
    return _GENERATORS.get(generator, generator)


def _estimate(summary: xr.Dataset, spec: FigureSpec) -> Figure:
    generators = summary["generator"].values.tolist()
    figure, axes = _grid(
        summary,
        len(generators),
        f"Estimated {_NOTIONS[spec.notion]} calibration error, mean ± standard error",
    )
    n = summary["sample_size"].values
    for row, generator in zip(axes, generators, strict=True):
        row[0].set_ylabel(f"calibration error\n{_name(generator)}")
        for axis, k in zip(row, summary["n_classes"].values, strict=True):
            panel = summary.sel(generator=generator, n_classes=k)
            for line, style in _series(panel):
                axis.errorbar(n, line["mean"], line["standard_error"], capsize=2, **style)
            axis.axhline(panel["truth"].item(), color="black", linewidth=1.6, label="truth")
            if axis.get_ylim()[0] > 0:
                axis.set_ylim(bottom=0)
    legend(figure, axes)
    return figure


def _relative_bias(summary: xr.Dataset, spec: FigureSpec) -> Figure:
    generators = summary["generator"].values.tolist()
    figure, axes = _grid(
        summary,
        len(generators),
        f"Relative bias of the {_NOTIONS[spec.notion]} calibration error, mean ± standard error\n"
        "(tall scales are logarithmic beyond 100 %)",
    )
    n = summary["sample_size"].values
    for row, generator in zip(axes, generators, strict=True):
        row[0].set_ylabel(f"(estimate − truth) / truth, %\n{_name(generator)}")
        for axis, k in zip(row, summary["n_classes"].values, strict=True):
            panel = summary.sel(generator=generator, n_classes=k)
            lowest = float((panel["relative_bias"] - panel["relative_bias_se"]).min())
            for line, style in _series(panel):
                axis.errorbar(
                    n, line["relative_bias"], line["relative_bias_se"], capsize=2, **style
                )
            axis.axhline(0.0, color="black", linewidth=1.6, label="truth")
            _percent_axis(axis, lowest)
    legend(figure, axes)
    return figure


def _percent_axis(axis: Axes, lowest: float) -> None:
    """Linear within ±100 %, logarithmic beyond: biases range from 1 to thousands of percent."""
    low, high = axis.get_ylim()
    if lowest > 0:
        low = -min(0.05 * high, 10.0)
    axis.set_ylim(low, high)
    if max(-low, high) > 200:
        axis.set_ylim(top=1.25 * high)
        axis.set_yscale("symlog", linthresh=100, linscale=1.5)
        ticks = [
            t for t in (-1000, -100, -50, 0, 50, 100, 300, 1000, 3000, 10000) if low <= t <= high
        ]
        axis.set_yticks(ticks, [f"{t:g}" for t in ticks])
        axis.minorticks_off()


def _bias(summary: xr.Dataset, spec: FigureSpec) -> Figure:
    figure, axes = _grid(
        summary,
        2,
        f"|bias| of the {_NOTIONS[spec.notion]} calibration error, {_name(str(spec.generator))}",
        sharey="row",
    )
    axes[0, 0].set_ylabel("|mean − limit at fixed γ|")
    axes[1, 0].set_ylabel("|mean − truth|")
    n = summary["sample_size"].values.astype(float)
    for column, k in zip(axes.T, summary["n_classes"].values, strict=True):
        panel = summary.sel(generator=spec.generator, n_classes=k)
        for line, style in _series(panel):
            for axis, against in zip(column, ("limit", "truth"), strict=True):
                bias = line[f"bias_from_{against}"].values
                error = line[f"bias_from_{against}_se"].values
                _log_points(axis, n, bias, error, style)
            floor = abs(line["limit"].item() - line["truth"].item())
            column[1].axhline(
                floor, color=style["color"], linestyle=_FLOORS[line["method"].item()], linewidth=1.0
            )
        _guide(column[0], n, panel)
    for method in summary["method"].values.tolist():
        label = f"|limit − truth|, {method}"
        axes[1, 0].plot([], [], color="0.3", linestyle=_FLOORS[method], label=label)
    axes[1, 0].plot(
        [], [], color="0.3", marker="o", markerfacecolor="white", linestyle="", label="below 2 s.e."
    )
    legend(figure, axes)
    return figure


def _log_points(axis: Axes, n: Any, bias: Any, error: Any, style: dict[str, Any]) -> None:
    """Plot |bias| in logarithms; what is within two standard errors of 0 is hollow."""
    size = np.abs(bias)
    visible = size > 2 * error
    below = np.minimum(error, 0.9 * size)
    axis.set_yscale("log")
    axis.errorbar(n, size, [below, error], capsize=2, **{**style, "marker": "", "label": None})
    axis.plot([], [], **style)
    colour, marker = style["color"], style["marker"]
    axis.plot(n[visible], size[visible], linestyle="", color=colour, marker=marker)
    axis.plot(
        n[~visible],
        size[~visible],
        linestyle="",
        color=colour,
        marker=marker,
        markerfacecolor="white",
    )


def _guide(axis: Axes, n: Any, panel: xr.Dataset) -> None:
    """Draw a line of slope −1 through the largest bias at the smallest n."""
    top = float(np.nanmax(np.abs(panel["bias_from_limit"].isel(sample_size=0).values)))
    axis.plot(n, 1.6 * top * n[0] / n, color="black", linewidth=1.6, label="slope −1")
