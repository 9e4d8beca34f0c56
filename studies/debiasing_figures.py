"""Figures of the debiasing study."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from propercal.experiments import selections
from propercal.experiments.figures import legend, panels
from studies.debiasing_summary import BIAS_TARGETS, COVERAGE_TARGET, LEVEL, RMSE_RIVALS, SIZE_TARGET
from studies.losses import loss
from studies.styles import WIDTH, points, shade

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Beyond this many per cent, a scale is logarithmic.
_LINEAR = 20


def figures(summary: xr.Dataset) -> dict[str, Callable[[], Figure]]:
    """Return bias, RMSE and coverage of each generator, and the tests."""
    found: dict[str, Callable[[], Figure]] = {}
    for (generator,), of in selections(summary, "generator"):
        score = loss(generator).score
        found[f"relative_bias-{generator}"] = partial(_relative_bias, of, score)
        found[f"rmse_ratio-{generator}"] = partial(_rmse_ratio, of, score)
        found[f"coverage-{generator}"] = partial(_coverage, of, score)
    return {**found, "tests": partial(_tests, summary)}


def _panels(
    rows: int, columns: int, names: list[str], title: str, height: float = 0.3
) -> tuple[Figure, Any]:
    """Panels in which every scenario has a line."""
    # One line alone leaves no room for the words around it.
    size = (min(1.4 + 2.2 * columns, WIDTH), 1.5 + rows * (0.4 + height * max(len(names), 4)))
    figure, axes = panels(rows, columns, size, title, sharey=True, sharex=True)
    for axis in axes.flat:
        axis.set_yticks(range(len(names)), names)
        axis.set_ylim(len(names) - 0.5, -0.5)
        axis.grid(axis="x", color="0.9", linewidth=0.6)
        # Fractions of the panel along x, data along y.
        across = axis.get_yaxis_transform()
        axis.hlines(np.arange(len(names) - 1) + 0.5, 0, 1, "0.9", transform=across, lw=0.6)
        axis.tick_params(axis="y", length=0)
        axis.set_axisbelow(True)
    return figure, axes


def _within(value: Any, error: Any, bounds: tuple[float, float]) -> Any:
    """Return lengths of error bars that end where the values of a variable do."""
    low, high = bounds
    return np.stack([np.minimum(error, value - low), np.minimum(error, high - value)])


def _series(
    axis: Axes,
    panel: xr.Dataset,
    name: str,
    dims: tuple[str, str],
    bounds: tuple[float, float] | None = None,
) -> None:
    """Plot a variable by scenario, the levels of the second dimension below each other."""
    values, error = (panel[v].transpose(*dims).values.T for v in (name, f"{name}_se"))
    for i, level in enumerate(panel[dims[1]].values.tolist()):
        shift = 0.6 * ((i + 0.5) / len(values) - 0.5)
        named = isinstance(level, str)
        axis.errorbar(
            values[i],
            np.arange(panel.sizes[dims[0]]) + shift,
            xerr=error[i] if bounds is None else _within(values[i], error[i], bounds),
            **(points(level) if named else {**shade(i, len(values)), "linestyle": ""}),
            elinewidth=1,
            label=level if named else f"n = {level}",
        )


def _by_size(
    summary: xr.Dataset, name: str, title: str, bounds: tuple[float, float] | None = None
) -> tuple[Figure, Any]:
    """Plot one variable of the debiased method, one series for each sample size."""
    summary = summary.sel({"method": "debiased"})
    # Two beside each other, so that words can be read where a page is narrow.
    columns = min(2, summary.sizes["n_classes"])
    rows = -(-summary.sizes["n_classes"] // columns)
    names = summary["scenario"].values.tolist()
    figure, axes = _panels(rows, columns, names, title, height=0.26)
    for axis in axes.flat[summary.sizes["n_classes"] :]:
        axis.set_axis_off()
    for axis, ((k,), panel) in zip(axes.flat, selections(summary, "n_classes"), strict=False):
        axis.set_title(f"{k} classes")
        _series(axis, panel, name, ("scenario", "sample_size"), bounds)
    return figure, axes


def _relative_bias(summary: xr.Dataset, score: str) -> Figure:
    summary = summary.isel(scenario=(summary["truth"] > 0).any("n_classes").values)
    title = f"Relative bias of the debiased calibration error, {score}, ± standard error\n"
    last = summary.isel(sample_size=-1)
    title += (
        f"(rivals, hollow, at n = {last['sample_size'].item()}; grey band: target;\n"
        f"dashed: from ±{_LINEAR} % on the scale is logarithmic)"
    )
    figure, axes = _by_size(summary, "relative_bias", title)
    y = np.arange(summary.sizes["scenario"])
    for axis, ((k,), at) in zip(axes.flat, selections(last, "n_classes"), strict=False):
        # Results that were kept before a rival was added are drawn without it.
        shown = set(at["method"].values.tolist())
        for method in (m for m in RMSE_RIVALS if m in shown):
            axis.plot(
                at["relative_bias"].sel({"method": method}),
                y,
                **points(method, 1),
                label=method,
            )
        target = next((100 * share for most, _, share in BIAS_TARGETS if k <= most), None)
        if target is not None:
            axis.axvspan(-target, target, color="0.92", zorder=0)
        axis.axvline(0, color="black", linewidth=1)
        axis.set_xscale("symlog", linthresh=_LINEAR, linscale=1.2)
        for end in (-_LINEAR, _LINEAR):
            axis.axvline(end, color="0.45", linestyle=(0, (6, 3)), linewidth=0.9)
        ticks = [-100, -_LINEAR, 0, _LINEAR, 100, 1000]
        axis.set_xticks(ticks, [str(t).replace("-", "−") for t in ticks], rotation=45)
        axis.minorticks_off()
    for axis in axes[-1]:
        axis.set_xlabel("(mean − truth) / truth, %")
    legend(figure, axes)
    return figure


def _rmse_ratio(summary: xr.Dataset, score: str) -> Figure:
    shown = summary["method"].values.tolist()
    title = (
        "Root mean squared error of the debiased calibration error over that of the best\n"
        f"of {', '.join(m for m in RMSE_RIVALS if m in shown)}; {score}, ± standard error"
    )
    figure, axes = _by_size(summary, "rmse_ratio", title)
    for axis in axes.flat:
        axis.axvline(1, color="black", linewidth=1)
        axis.set_xscale("log")
        low, high = axis.get_xlim()
        ticks = [t for t in (0.02, 0.1, 0.5, 1, 2, 10) if low <= t <= high]
        axis.set_xticks(ticks, [f"{t:g}" for t in ticks])
        axis.minorticks_off()
    for axis in axes[-1]:
        axis.set_xlabel("below 1: debiased is better")
    legend(figure, axes)
    return figure


def _coverage(summary: xr.Dataset, score: str) -> Figure:
    title = f"Coverage of the debiased 95 % interval, {score},\n± standard error (band: target)"
    figure, axes = _by_size(summary, "coverage", title, (0.0, 1.0))
    for axis in axes.flat:
        axis.axvspan(*COVERAGE_TARGET, color="0.9", zorder=0)
        axis.axvline(0.95, color="black", linewidth=1)
        low = min(axis.get_xlim()[0], COVERAGE_TARGET[0] - 0.02)
        # Room for half a marker, no more: there is no share beyond 1.
        axis.set_xlim(low, 1.0 + 0.015 * (1 - low))
        axis.set_xticks([t for t in (0, 0.2, 0.4, 0.6, 0.8, 1.0) if t >= low])
    for axis in axes[-1]:
        axis.set_xlabel("intervals that hold the truth")
    legend(figure, axes)
    return figure


def _tests(summary: xr.Dataset) -> Figure:
    classes, sizes, names = (
        summary[f"test_{dim}"].values.tolist() for dim in ("n_classes", "sample_size", "scenario")
    )
    names = [name if name.startswith("calibrated") else f"weak {name}" for name in names]
    title = f"Rejection rate at {LEVEL:.0%}, ± standard error (line: nominal size; band: target)"
    figure, axes = _panels(len(sizes), len(classes), names, title)
    for axis, k in zip(axes[0], classes, strict=True):
        axis.set_title(f"{k} classes")
    shown = selections(summary, "test_sample_size", "test_n_classes")
    for axis, (_, panel) in zip(axes.flat, shown, strict=True):
        _series(axis, panel, "rejection_rate", ("test_scenario", "test"), (0.0, 1.0))
        axis.axvspan(*SIZE_TARGET, color="0.9", zorder=0)
        axis.axvline(LEVEL, color="black", linewidth=1)
        axis.set_xlim(-0.015, 1.015)
        axis.set_xticks((0, 0.5, 1), ("0", "½", "1"))
    for row, n in zip(axes, sizes, strict=True):
        row[0].set_ylabel(f"n = {n}")
    for axis in axes[-1]:
        axis.set_xlabel("share rejected")
    legend(figure, axes)
    return figure
