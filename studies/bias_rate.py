"""How the bias of calibration-error estimates falls with n, and where it stops falling.

The bias against the fixed-bandwidth limit falls like 1/n; against the true calibration error it
ends at a floor that the bandwidth sets. Run `python studies/bias_rate.py --help`.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from propercal.experiments import Claim, StudyDesign, main, mean_and_error, selections
from propercal.experiments.decompositions import DECOMPOSITIONS
from propercal.experiments.figures import COLOURS, legend, panels
from propercal.experiments.workers import in_processes, one_thread

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

TINY = StudyDesign(
    generators=("log",),
    n_classes=(2, 3),
    bandwidths=(0.05, 0.003),
    sample_sizes=(30, 60, 120),
    n_replicates=6,
)
QUICK = StudyDesign(
    bandwidths=(0.1, 0.02),
    sample_sizes=(50, 100, 200, 400, 800),
    n_replicates=(40, 40, 30, 20, 20),
)
FULL = StudyDesign(
    bandwidths=(0.1, 0.02, 0.005, 0.001),
    sample_sizes=(50, 100, 200, 400, 800, 1600, 3200, 6400, 10_000),
    n_replicates=(400, 400, 400, 200, 100, 60, 40, 20, 20),
)
# A bias below two standard errors says nothing about a rate.
VISIBLE = 2.0
_UNITS = "units of F (log: nats)"


class Fit(NamedTuple):
    """A slope of log |y| on log n, with the number of points it rests on."""

    slope: float
    standard_error: float
    points: int


def fit_slope(n: Floats, y: Floats, covariance: Floats, usable: NDArray[np.bool_]) -> Fit:
    """Fit log |y| on log n by generalised least squares, where |y| exceeds two standard errors.

    The covariance of log |y_i| and log |y_j| is that of y_i and y_j over y_i y_j, to first order.
    """
    usable = usable & (np.abs(y) > VISIBLE * np.sqrt(np.diag(covariance)))
    # A change of sign is not a power law: keep the sign of the largest n that is visible.
    if usable.any():
        usable &= np.sign(y) == np.sign(y[np.flatnonzero(usable)[-1]])
    points = int(usable.sum())
    if points < 2:
        return Fit(np.nan, np.nan, points)
    kept = y[usable]
    precision = np.linalg.inv(covariance[np.ix_(usable, usable)] / np.outer(kept, kept))
    x = np.stack([np.ones(points), np.log(n[usable])], axis=1)
    inverse = np.linalg.inv(x.T @ precision @ x)
    slope = (inverse @ x.T @ precision @ np.log(np.abs(kept)))[1]
    return Fit(float(slope), float(np.sqrt(inverse[1, 1])), points)


def asymptotic_sample_size(bandwidth: float, n_classes: int, notion: str) -> float:
    """Return γ^{-d/2}, below which a point has about no neighbour and the 1/n rate cannot begin."""
    dimension = 1 if notion == "classwise" else n_classes - 1
    return float(bandwidth ** (-dimension / 2))


def _reference(design: StudyDesign, task: tuple[str, int, float | None]) -> Any:
    """Integrate the truth, or the limits at one bandwidth, for every generator."""
    notion, k, gamma = task
    model, generators = design.model(k), design.generators
    with one_thread():
        if gamma is None:
            return task, [model.truth(g, notion) for g in generators]
        found = [[model.limit(g, notion, m, gamma) for m in design.methods] for g in generators]
        return task, found


def references(design: StudyDesign, n_workers: int) -> xr.Dataset:
    """Return truth and fixed-bandwidth limits, each with a bound on its error."""
    levels = design.levels()
    coords = {d: levels[d] for d in ("generator", "notion", "method", "n_classes", "bandwidth")}
    dims = {"truth": ("generator", "notion", "n_classes"), "limit": tuple(coords)}
    truth, limit = (
        xr.DataArray(
            np.full([*(len(coords[d]) for d in of), 2], np.nan),
            {d: coords[d] for d in of},
            (*of, "part"),
        )
        for of in dims.values()
    )
    tasks = [
        (notion, k, gamma)
        for k in sorted(design.n_classes, reverse=True)
        for notion in design.notions
        for gamma in (*design.bandwidths, None)
    ]
    for (notion, k, gamma), values in in_processes(partial(_reference, design), tasks, n_workers):
        where = {"notion": notion, "n_classes": k}
        if gamma is None:
            truth.loc[where] = values
        else:
            limit.loc[{**where, "bandwidth": gamma}] = values
    bound = "bound on the absolute error: three standard errors of the integral"
    of_limit = "limit of the estimate as n → ∞ at fixed bandwidth"
    return xr.Dataset(
        {
            "truth": truth[..., 0].assign_attrs(long_name="calibration error of the model"),
            "truth_error": truth[..., 1].assign_attrs(long_name=bound),
            "limit": limit[..., 0].assign_attrs(long_name=of_limit),
            "limit_error": limit[..., 1].assign_attrs(long_name=bound),
        }
    )


def summarise(design: StudyDesign, replicates: xr.Dataset, n_workers: int) -> xr.Dataset:
    """Return means, biases and slopes, with standard errors."""
    known = references(design, n_workers)
    estimate, saved = replicates["calibration_error"], replicates["loss_saved"]
    mean, standard_error = mean_and_error(estimate, "replicate")
    # The loss saved by the true E[Y | g(X)] has the truth as its mean and shares the sampling
    # noise: the mean difference shows the bias against the truth early.
    from_truth, noise = mean_and_error(estimate - saved, "replicate")
    relative = 100 / known["truth"]
    from_limit = from_truth + known["truth"] - known["limit"]
    error = np.sqrt((known["truth_error"] / 3) ** 2 + (known["limit_error"] / 3) ** 2)
    one = dict.fromkeys(("generator", "notion", "method", "n_classes", "bandwidth"), 0)
    its, percent = "its standard error", "%"
    described: dict[str, tuple[xr.DataArray, str, str]] = {
        "mean": (mean, "mean estimate", _UNITS),
        "standard_error": (standard_error, "standard error of the mean estimate", _UNITS),
        "n_replicates": (estimate.notnull().sum("replicate").isel(one, drop=True), "", ""),
        "bias_from_truth": (
            from_truth,
            "mean of estimate − loss saved by the true E[Y | g(X)]",
            _UNITS,
        ),
        "bias_from_truth_se": (noise, its, _UNITS),
        "bias_from_limit": (from_limit, "bias against the fixed-bandwidth limit", _UNITS),
        "bias_from_limit_se": (
            (noise**2 + error**2) ** 0.5,
            f"{its}, integration error of truth and limit included",
            _UNITS,
        ),
        "relative_bias": (
            relative * from_truth,
            "bias against the truth, relative to the truth",
            percent,
        ),
        "relative_bias_se": (relative.drop_attrs() * noise, its, percent),
    }
    summary = known.assign({name: _described(*of) for name, of in described.items()})
    return summary.assign(_slopes(summary, noise, design))


def _described(values: xr.DataArray, long_name: str, units: str = "") -> xr.DataArray:
    named = {"units": units, "long_name": long_name}
    return values.assign_attrs({name: text for name, text in named.items() if text})


def _slopes(summary: xr.Dataset, noise: xr.DataArray, design: StudyDesign) -> xr.Dataset:
    dims = ("generator", "notion", "method", "n_classes", "bandwidth")
    bias = summary["bias_from_limit"].transpose(*dims, "sample_size")
    se = summary["bias_from_limit_se"].transpose(*dims, "sample_size").values
    noise = noise.transpose(*dims, "sample_size")
    n = np.array(design.sample_sizes, dtype=np.float64)
    pairs = [(i, int(np.flatnonzero(n == 2 * n[i])[0])) for i in range(n.size) if 2 * n[i] in n]
    contrast = np.zeros((len(pairs), n.size))
    for row, (i, j) in enumerate(pairs):
        contrast[row, i], contrast[row, j] = 1.0, -1.0
    shape = bias.shape[:-1]
    slopes, nested = np.full((3, *shape), np.nan), np.full((3, *shape), np.nan)
    first = np.full(shape, np.nan)
    for at in np.ndindex(shape):
        _, notion, _, k, gamma = (bias[dim].values[i] for dim, i in zip(dims, at, strict=True))
        first[at] = asymptotic_sample_size(float(gamma), int(k), str(notion))
        usable = n >= first[at]
        y = bias.values[at]
        if not np.isfinite(y).all():
            continue
        slopes[(slice(None), *at)] = fit_slope(n, y, np.diag(se[at] ** 2), usable)
        if pairs:
            # The unknown limit, and the error of its integral, cancel in differences.
            covariance = contrast @ np.diag(noise.values[at] ** 2) @ contrast.T
            begin = np.array([i for i, _ in pairs])
            nested[(slice(None), *at)] = fit_slope(
                n[begin], contrast @ y, covariance, usable[begin]
            )
    visible = "points with |bias| > 2 s.e. and n ≥ asymptotic_sample_size"
    named = {
        "slope": (slopes[0], f"slope of log |bias_from_limit| on log n over {visible}"),
        "slope_se": (slopes[1], "standard error of slope"),
        "slope_points": (slopes[2], f"number of {visible}"),
        "nested_slope": (nested[0], "slope of log |E T_n − E T_2n| on log n"),
        "nested_slope_se": (nested[1], "standard error of nested_slope"),
        "nested_slope_points": (nested[2], "number of differences in nested_slope"),
        "asymptotic_sample_size": (first, "γ^(−d/2), d = 1 or n_classes − 1"),
    }
    coords = {dim: bias[dim] for dim in dims}
    return xr.Dataset(
        {name: _described(xr.DataArray(x, coords, dims), text) for name, (x, text) in named.items()}
    )


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


def _rate(summary: xr.Dataset) -> tuple[str, str]:
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


def _reliability(summary: xr.Dataset) -> tuple[str, str]:
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
_GENERATORS = {"log": "log loss (nats)", "brier": "Brier score"}
_NOTIONS = {"classwise": "class-wise", "canonical": "canonical"}


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
    return _NOTIONS[summary["notion"].item()]


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
    return _GENERATORS.get(generator, generator)


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


STUDY = dataclasses.replace(
    DECOMPOSITIONS,
    name="bias_rate",
    about=__doc__ or "",
    presets={
        "tiny": (TINY, "three sample sizes, seconds"),
        "quick": (QUICK, "a minute on two cores"),
        "full": (FULL, "half an hour on two cores"),
    },
    summarise=summarise,
    table=table,
    claims=(
        Claim("The bias falls like 1/n", _rate, "section 4.2"),
        Claim(
            "Reliable class-wise estimates for any number of classes",
            _reliability,
            "section 6.1, Fig. 2c",
        ),
    ),
    figures=figures,
    source="Fig. 2c, appendix",
    shown="estimate-classwise",
)

if __name__ == "__main__":
    sys.exit(main(STUDY))
