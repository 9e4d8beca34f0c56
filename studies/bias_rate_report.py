"""Table, verdicts and figures of the study of the bias's rate."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from propercal.experiments import selections
from propercal.experiments.figures import COLOURS, legend, panels
from studies.data import notion_name
from studies.losses import loss, with_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PREAMBLE = (
    "",
    "Calibration error (log: nats). Biases are those at the largest n, ± standard error.",
    "Slope of log |bias against the limit| on log n: theory says −1. It is fitted where",
    "|bias| > 2 s.e. and n ≥ γ^(−d/2), d = 1 class-wise, k − 1 canonical; [points used].",
    "'none: n ≫ N' says that the 1/n rate cannot be seen below N samples.",
    "",
)


def table(summary: xr.Dataset) -> str:
    """Return one line for each estimator: truth, limit, bias, and the rate of the bias."""
    n = summary["sample_size"].values
    head = (
        f"{'notion':9} {'k':>3} {'F':6} {'γ':>6} {'method':6} {'truth':>8} {'limit':>8} "
        f"{'bias against limit, n=' + str(n[-1]):>27} {'bias against truth':>20} {'%':>6}  "
        f"{'slope':17} slope of E T_n − E T_2n"
    )
    order = ("notion", "n_classes", "generator", "bandwidth", "method")
    return "\n".join([*_PREAMBLE, head, *(_line(row) for _, row in selections(summary, *order))])


def _line(row: xr.Dataset) -> str:
    last = row.isel(sample_size=-1)
    return (
        f"{row['notion'].item():9} {row['n_classes'].item():3d} {row['generator'].item():6.6} "
        f"{row['bandwidth'].item():6g} {row['method'].item():6} {row['truth'].item():8.5f} "
        f"{row['limit'].item():8.5f} "
        f"{last['bias_from_limit'].item():15.5f} ± {last['bias_from_limit_se'].item():.5f}    "
        f"{last['bias_from_truth'].item():8.5f} ± {last['bias_from_truth_se'].item():.5f} "
        f"{last['relative_bias'].item():6.0f}  {_slope(row, 'slope'):17} "
        f"{_slope(row, 'nested_slope')}"
    )


def _slope(row: xr.Dataset, name: str) -> str:
    points = row[f"{name}_points"].item()
    needed = row["asymptotic_sample_size"].item()
    if needed > row["sample_size"].values[-2 if row.sizes["sample_size"] > 1 else -1]:
        return f"none: n ≫ {needed:.0e}"
    if not np.isfinite(row[name].item()):
        return f"in the noise [{points:.0f}]" if np.isfinite(points) else "no pairs (n, 2n)"
    return f"{row[name].item():5.2f} ± {row[f'{name}_se'].item():.2f} [{points:.0f}]"


def rate(summary: xr.Dataset) -> tuple[str, str]:
    """Judge the rate where three points or more show it, and what is left with endless data."""
    slope = summary["slope"].where(summary["slope_points"] >= 3)
    floor = 100 * (summary["limit"] / summary["truth"] - 1)
    floor = floor.sel({"method": "risk", "notion": "classwise"})
    found = (
        f"Against the limit at fixed γ, where it can be seen: {int(slope.notnull().sum())} slopes "
        f"from {slope.min().item():.2f} to {slope.max().item():.2f}, median "
        f"{slope.median().item():.2f} (theory: −1). Against the truth: no; class-wise via risk it "
        f"ends at {floor.min().item():+.0f} to {floor.max().item():+.0f} %"
    )
    return found, "holds against the limit only"


def reliability(summary: xr.Dataset) -> tuple[str, str]:
    """Judge the largest samples at the bandwidth of the paper, or that nearest to it."""
    largest = summary.isel(sample_size=-1).sel({"notion": "classwise", "method": "risk"})
    largest = largest.sel(bandwidth=0.02, method="nearest")
    off = largest["relative_bias"]
    found = (
        f"n = {largest['sample_size'].item()}, γ = {largest['bandwidth'].item():g}, via risk: off "
        f"by {off.min().item():+.0f} to {off.max().item():+.0f} % of the truth"
    )
    return found, "not in the sense of small bias"


_MARKERS = {"direct": "o", "risk": "s"}
_LINES = {"direct": "--", "risk": "-"}
_FLOORS = {"direct": ":", "risk": "-."}


def figures(summary: xr.Dataset) -> dict[str, Callable[[], Figure]]:
    """Return the estimates, their relative and their absolute bias, for each notion."""
    found: dict[str, Callable[[], Figure]] = {}
    for (notion,), of in selections(summary, "notion"):
        found[f"estimate-{notion}"] = partial(_estimate, of)
        found[f"relative_bias-{notion}"] = partial(_relative_bias, of)
        for (generator,), at in selections(of, "generator"):
            found[f"bias-{notion}-{generator}".replace(" ", "")] = partial(_bias, at)
    return found


def _grid(summary: xr.Dataset, n_rows: int, title: str, **options: Any) -> tuple[Figure, Any]:
    n_columns = summary.sizes["n_classes"]
    size = (1.2 + 2.5 * n_columns, 1.25 + 2.1 * n_rows)
    figure, axes = panels(n_rows, n_columns, size, title, sharex=True, **options)
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


def _notion(summary: xr.Dataset) -> str:
    return notion_name(summary["notion"].item())


def _rows(
    summary: xr.Dataset, title: str, label: str
) -> tuple[Figure, Any, Iterator[tuple[Axes, xr.Dataset]]]:
    """Return a row of panels for each generator, and every panel with what it shows."""
    generators = summary["generator"].values.tolist()
    figure, axes = _grid(summary, len(generators), title)
    for row, generator in zip(axes, generators, strict=True):
        row[0].set_ylabel(f"{label}\n{_name(generator)}")
    shown = (at for _, at in selections(summary, "generator", "n_classes"))
    return figure, axes, zip(axes.flat, shown, strict=True)


def _name(generator: str) -> str:
    return with_unit(loss(generator).score, generator)


def _estimate(summary: xr.Dataset) -> Figure:
    title = f"Estimated {_notion(summary)} calibration error, mean ± standard error"
    figure, axes, shown = _rows(summary, title, "calibration error")
    n = summary["sample_size"].values
    for axis, panel in shown:
        for line, style in _series(panel):
            axis.errorbar(n, line["mean"], line["standard_error"], capsize=2, **style)
        axis.axhline(panel["truth"].item(), color="black", linewidth=1.6, label="truth")
        if axis.get_ylim()[0] > 0:
            axis.set_ylim(bottom=0)
    legend(figure, axes)
    return figure


def _relative_bias(summary: xr.Dataset) -> Figure:
    title = (
        f"Relative bias of the {_notion(summary)} calibration error, mean ± standard error\n"
        "(tall scales are logarithmic beyond 100 %)"
    )
    figure, axes, shown = _rows(summary, title, "(estimate − truth) / truth, %")
    n = summary["sample_size"].values
    for axis, panel in shown:
        lowest = float((panel["relative_bias"] - panel["relative_bias_se"]).min())
        for line, style in _series(panel):
            axis.errorbar(n, line["relative_bias"], line["relative_bias_se"], capsize=2, **style)
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


def _bias(summary: xr.Dataset) -> Figure:
    generator = _name(summary["generator"].item())
    title = f"|bias| of the {_notion(summary)} calibration error, {generator}"
    figure, axes = _grid(summary, 2, title, sharey="row")
    axes[0, 0].set_ylabel("|mean − limit at fixed γ|")
    axes[1, 0].set_ylabel("|mean − truth|")
    n = summary["sample_size"].values.astype(float)
    for column, k in zip(axes.T, summary["n_classes"].values, strict=True):
        panel = summary.sel(n_classes=k)
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
