"""Figures of the study of the bias's rate."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from propercal.experiments import selections
from propercal.experiments.figures import legend, panels
from studies.bias_rate_report import DEBIASED, once
from studies.data import notion_name
from studies.losses import ESTIMATES, loss, with_unit
from studies.styles import WIDTH, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_FLOORS = {"direct": ":", "risk": "-."}
_OURS: dict[str, Any] = {
    **style(DEBIASED),
    "markersize": 5,
    "linewidth": 1.8,
    "zorder": 5,
    "label": DEBIASED,
}
#: Beyond this many per cent, scales are logarithmic.
_LINEAR = 100


def figures(summary: xr.Dataset) -> dict[str, Callable[[], Figure]]:
    """Return the estimates, their relative and their absolute bias, for each notion."""
    found: dict[str, Callable[[], Figure]] = {}
    for (notion,), of in selections(_distinct(summary), "notion"):
        of = of.dropna("n_classes", how="all", subset=["truth"])
        found[f"estimate-{notion}"] = partial(_estimate, of)
        found[f"relative_bias-{notion}"] = partial(_relative_bias, of)
        for (generator,), at in selections(of, "generator"):
            found[f"bias-{notion}-{generator}".replace(" ", "")] = partial(_bias, at)
    return found


def _distinct(summary: xr.Dataset) -> xr.Dataset:
    """Return a dataset without the truths of what another notion shows."""
    return summary.assign(truth=once(summary["truth"]))


def _grid(summary: xr.Dataset, n_columns: int, title: str, **options: Any) -> tuple[Figure, Any]:
    n_rows = summary.sizes["n_classes"]
    size = (WIDTH, 2.2 + 2.1 * n_rows)
    figure, axes = panels(n_rows, n_columns, size, title, sharex=True, **options)
    for row, k in zip(axes, summary["n_classes"].values, strict=True):
        row[0].set_ylabel(f"{k} classes")
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


def _debiased(axis: Axes, panel: xr.Dataset, name: str, error: str) -> None:
    """Plot the debiased estimate, where it was measured."""
    name, error = f"{DEBIASED}_{name}", f"{DEBIASED}_{error}"
    if name not in panel or not panel[name].notnull().any():
        return
    n = panel[f"{DEBIASED}_sample_size"].values
    axis.errorbar(n, panel[name].values, panel[error].values, capsize=2, **_OURS)


def _series(panel: xr.Dataset) -> list[tuple[xr.Dataset, dict[str, Any]]]:
    """Return one selection, and its style, for every bandwidth and method."""
    return [
        (
            panel.sel({"bandwidth": gamma, "method": method}),
            {**style(method, i, hollow=False), "label": f"{method}, γ = {gamma:g}"},
        )
        for method in panel["method"].values.tolist()
        for i, gamma in enumerate(panel["bandwidth"].values.tolist())
    ]


def _notion(summary: xr.Dataset) -> str:
    return notion_name(summary["notion"].item())


def _rows(
    summary: xr.Dataset, title: str, label: str
) -> tuple[Figure, Any, Iterator[tuple[Axes, xr.Dataset]]]:
    """Return a column of panels for each generator, and every panel with what it shows."""
    generators = summary["generator"].values.tolist()
    figure, axes = _grid(summary, len(generators), title)
    for axis, generator in zip(axes[0], generators, strict=True):
        axis.set_title(f"{label}\n{_name(generator)}")
    shown = (at for _, at in selections(summary, "n_classes", "generator"))
    return figure, axes, zip(axes.flat, shown, strict=True)


def _name(generator: str) -> str:
    return with_unit(loss(generator).score, generator)


def _estimate(summary: xr.Dataset) -> Figure:
    title = f"Estimated {_notion(summary)} calibration error, mean ± standard error"
    figure, axes, shown = _rows(summary, title, "calibration error")
    n = summary["sample_size"].values
    for axis, panel in shown:
        for line, looks in _series(panel):
            axis.errorbar(n, line["mean"], line["standard_error"], capsize=2, **looks)
        _debiased(axis, panel, "mean", "standard_error")
        axis.axhline(panel["truth"].item(), color="black", linewidth=1.6, label="truth")
        if axis.get_ylim()[0] > 0:
            axis.set_ylim(bottom=0)
    legend(figure, axes, **ESTIMATES)
    return figure


def _relative_bias(summary: xr.Dataset) -> Figure:
    title = (
        f"Relative bias of the {_notion(summary)} calibration error, mean ± standard error\n"
        f"(dashed: where a scale becomes logarithmic, {_LINEAR} %)"
    )
    figure, axes, shown = _rows(summary, title, "(estimate − truth) / truth, %")
    n = summary["sample_size"].values
    for axis, panel in shown:
        lowest = _lowest(panel, "relative_bias")
        if f"{DEBIASED}_relative_bias" in panel:
            lowest = np.fmin(lowest, _lowest(panel, f"{DEBIASED}_relative_bias"))
        for line, looks in _series(panel):
            axis.errorbar(n, line["relative_bias"], line["relative_bias_se"], capsize=2, **looks)
        _debiased(axis, panel, "relative_bias", "relative_bias_se")
        axis.axhline(0.0, color="black", linewidth=1.6, label="truth")
        _percent_axis(axis, lowest)
    legend(figure, axes, **ESTIMATES)
    return figure


def _lowest(panel: xr.Dataset, name: str) -> float:
    return float((panel[name] - panel[f"{name}_se"]).min())


def _percent_axis(axis: Axes, lowest: float) -> None:
    """Linear within ±100 %, logarithmic beyond: biases range from 1 to thousands of percent."""
    low, high = axis.get_ylim()
    if lowest > 0:
        low = -min(0.05 * high, 10.0)
    axis.set_ylim(low, high)
    if max(-low, high) > 200:
        axis.set_ylim(top=1.25 * high)
        axis.set_yscale("symlog", linthresh=_LINEAR, linscale=1.5)
        for end in (-_LINEAR, _LINEAR):
            if low < end < high:
                axis.axhline(end, color="0.45", linestyle=(0, (6, 3)), linewidth=0.9)
        ticks = [
            t for t in (-1000, -100, -50, 0, 50, 100, 300, 1000, 3000, 10000) if low <= t <= high
        ]
        axis.set_yticks(ticks, [f"{t:g}" for t in ticks])
        axis.minorticks_off()


def _bias(summary: xr.Dataset) -> Figure:
    generator = _name(summary["generator"].item())
    title = f"|bias| of the {_notion(summary)} calibration error, {generator}"
    figure, axes = _grid(summary, 2, title, sharey="row")
    axes[0, 0].set_title("|mean − limit at fixed γ|")
    axes[0, 1].set_title("|mean − truth|")
    n = summary["sample_size"].values.astype(float)
    for row, k in zip(axes, summary["n_classes"].values, strict=True):
        panel = summary.sel(n_classes=k)
        for line, looks in _series(panel):
            for axis, against in zip(row, ("limit", "truth"), strict=True):
                bias = line[f"bias_from_{against}"].values
                error = line[f"bias_from_{against}_se"].values
                _log_points(axis, n, bias, error, looks)
            floor = abs(line["limit"].item() - line["truth"].item())
            row[1].axhline(
                floor, color=looks["color"], linestyle=_FLOORS[line["method"].item()], linewidth=1.0
            )
        _guide(row[0], n, panel)
        _debiased_bias(row[1], panel)
    for method in summary["method"].values.tolist():
        label = f"|limit − truth|, {method}"
        axes[0, 1].plot([], [], color="0.3", linestyle=_FLOORS[method], label=label)
    axes[0, 1].plot(
        [], [], color="0.3", marker="o", markerfacecolor="white", linestyle="", label="below 2 s.e."
    )
    legend(figure, axes, **ESTIMATES)
    return figure


def _debiased_bias(axis: Axes, panel: xr.Dataset) -> None:
    """Plot the size of the debiased estimate's bias, where it was measured."""
    name = f"{DEBIASED}_relative_bias"
    if name not in panel or not panel[name].notnull().any():
        return
    n = panel[f"{DEBIASED}_sample_size"].values.astype(float)
    share = panel["truth"].item() / 100
    bias, error = (share * panel[each].values for each in (name, f"{name}_se"))
    _log_points(axis, n, bias, error, _OURS)


def _log_points(axis: Axes, n: Any, bias: Any, error: Any, style: dict[str, Any]) -> None:
    """Plot |bias| in logarithms; what is within two standard errors of 0 is hollow."""
    size = np.abs(bias)
    visible = size > 2 * error
    below = np.minimum(error, 0.9 * size)
    axis.set_yscale("log")
    axis.errorbar(n, size, [below, error], capsize=2, **{**style, "marker": "", "label": None})
    axis.plot([], [], **style)
    colour, marker = style["color"], style["marker"]
    order = {"zorder": style.get("zorder", 2)}
    axis.plot(n[visible], size[visible], linestyle="", color=colour, marker=marker, **order)
    axis.plot(
        n[~visible],
        size[~visible],
        linestyle="",
        color=colour,
        marker=marker,
        markerfacecolor="white",
        **order,
    )


def _guide(axis: Axes, n: Any, panel: xr.Dataset) -> None:
    """Draw a line of slope −1 through the largest bias at the smallest n."""
    top = float(np.nanmax(np.abs(panel["bias_from_limit"].isel(sample_size=0).values)))
    axis.plot(n, 1.6 * top * n[0] / n, color="black", linewidth=1.6, label="slope −1")
