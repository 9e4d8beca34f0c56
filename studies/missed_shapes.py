"""Shapes of miscalibration that the default estimate misses, and how often its warnings say so.

Narrow shapes with few rows, hierarchies of classes, runners-up of confident predictions, and others
beside them: bias of the calibration error, coverage of its interval, and share of results with a
warning, over simulations with a known truth.
"""

from __future__ import annotations

import studies.interrupts  # noqa: F401 (for what it does)

import math
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from propercal import decompose
from propercal.experiments import (
    Claim,
    Factors,
    Output,
    Study,
    factor,
    main,
    mean_and_error,
    selections,
)
from propercal.experiments.figures import legend, panels
from propercal.experiments.statistics import errors_of_chance, share_inside
from propercal.experiments.workers import in_processes, one_thread
from propercal.generators import as_generator
from propercal.simulation import MiscalibratedSimplex
from studies.losses import LOSSES_HELP, UNITS_OF_F, described, loss
from studies.styles import WIDTH, shade

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHAPES = {
    "bump": MiscalibratedSimplex(2, "bump"),
    "oscillation": MiscalibratedSimplex(2, "oscillation"),
    "neighbour": MiscalibratedSimplex(3, "neighbour"),
    "steps": MiscalibratedSimplex(5, "steps"),
    "temperature": MiscalibratedSimplex(10, "temperature"),
    "hierarchy-10": MiscalibratedSimplex(10, "hierarchy", 2.5),
    "hierarchy-30": MiscalibratedSimplex(30, "hierarchy", 2.5),
    "runner-up": MiscalibratedSimplex(10, "runner-up", 12.0),
}
#: What is said in a warning, by what it is about; "any" are these and others of one loss.
WARNINGS = {
    "misfit": "the recalibrations behind the {} calibration error",
    "kernel": "of the {} calibration error comes from",
    "any": "the {} ",
}
#: In %: a bias that is lower, beyond chance, is a miss.
TOLERANCE = 10
_AT = ("shape", "sample_size", "generator")


@dataclass(frozen=True)
class Design(Factors):
    """Shapes × sample sizes × replicates, each with every generator."""

    shapes: Sequence[str] = factor(tuple(SHAPES), between="shape", among=SHAPES)
    sample_sizes: Sequence[int] = factor((1000, 5000), between="sample_size", least=20)
    n_replicates: int | Sequence[int] = factor(
        30, between="replicate", one_for="sample_sizes", least=2, option="replicates", metavar="R"
    )
    generators: Sequence[str] = factor(("log", "brier"), within="generator", help=LOSSES_HELP)
    seed: int = 0

    def cost(self, cell: Any) -> float:
        # In seconds of one core.
        n, k = cell.sample_size / 1000, SHAPES[cell.shape].n_classes
        return float(0.3 + 0.003 * k**2 + 0.028 * k * n)


def measure(design: Design, cell: Any, seed: np.random.SeedSequence) -> dict[str, Any]:
    """Simulate one data set and decompose its losses by the default method."""
    y_true, g, p = SHAPES[cell.shape].sample(cell.sample_size, seed)
    outcome = np.eye(g.shape[1])[y_true]
    generators = [as_generator(name) for name in design.generators]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = decompose(y_true, g, generator=generators)
    said = "\n".join(str(warning.message) for warning in caught)
    lower, upper = zip(*(r.interval("calibration_error", 0.95) for r in found), strict=True)
    return {
        "estimate": [r.calibration_error for r in found],
        "loss_saved": [np.mean(f.loss(g, outcome) - f.loss(p, outcome)) for f in generators],
        "standard_error": [r.standard_errors["calibration_error"] for r in found],
        "lower": lower,
        "upper": upper,
        "warned": [[text.format(f.name) in said for text in WARNINGS.values()] for f in generators],
    }


def summarise(design: Design, replicates: xr.Dataset, n_workers: int) -> xr.Dataset:
    """Return bias, coverage and shares of warnings, beside the truth."""
    summary = _truths(design, n_workers)
    truth = summary["truth"]
    # The loss saved by the true E[Y | g] has the truth as its mean and shares the noise.
    relative = 100 * (replicates["estimate"] - replicates["loss_saved"]) / truth
    bias, error = mean_and_error(relative, "replicate")
    share, count = share_inside(replicates["lower"], replicates["upper"], truth, "replicate")
    mean = replicates[["estimate", "standard_error", "warned"]].mean("replicate")
    spread = replicates["estimate"].std("replicate", ddof=1)
    about = "bias of the calibration error, relative to the truth"
    parts = {
        "n_replicates": described(count.isel(generator=0, drop=True), "number of data sets"),
        "mean": described(mean["estimate"], "mean estimate", UNITS_OF_F),
        "sd": described(spread, "standard deviation of the estimate", UNITS_OF_F),
        "mean_standard_error": described(
            mean["standard_error"], "mean of those stated", UNITS_OF_F
        ),
        "relative_bias": described(bias, about, "%"),
        "relative_bias_se": described(error, "standard error of relative_bias", "%"),
        "coverage": described(share, "share of 95 % intervals with the truth"),
        "warned": described(mean["warned"], "share of results with a warning"),
    }
    return summary.assign(parts)


def _truths(design: Design, n_workers: int) -> xr.Dataset:
    """Integrate the calibration errors, with bounds on their errors."""
    coords = {"shape": list(design.shapes), "generator": list(design.generators)}
    found = xr.DataArray(math.nan, {"name": [0, 1], **coords}, ("name", *coords))
    tasks = sorted(design.shapes, key=lambda shape: -SHAPES[shape].n_classes)
    for shape, values in in_processes(partial(_truth, design), tasks, n_workers):
        found.loc[{"shape": shape}] = values
    bound = "bound on the absolute error: three standard errors of the integral"
    models = [SHAPES[shape] for shape in design.shapes]
    return xr.Dataset(
        {
            "n_classes": ("shape", [model.n_classes for model in models]),
            "logit_scale": ("shape", [model.logit_scale for model in models]),
            "truth": described(found[0].drop_vars("name"), "calibration error", UNITS_OF_F),
            "truth_error": described(found[1].drop_vars("name"), bound, UNITS_OF_F),
        }
    )


def _truth(design: Design, shape: str) -> tuple[str, np.ndarray[Any, Any]]:
    with one_thread():
        return shape, np.transpose([SHAPES[shape].truth(name) for name in design.generators])


def missed(summary: xr.Dataset) -> xr.DataArray:
    """Say where the bias is below −10 %, beyond chance."""
    chance = errors_of_chance(summary["n_replicates"]) * summary["relative_bias_se"]
    return summary["relative_bias"] + chance < -TOLERANCE


def _judge(summary: xr.Dataset) -> tuple[str, str]:
    where = missed(summary)
    found, said = [], []
    for (n,), at in selections(where.to_dataset(name="missed"), "sample_size"):
        names = [
            f"{shape} ({loss(generator).title})"
            for (shape, generator), one in selections(at, "shape", "generator")
            if one["missed"].item()
        ]
        found.append(f"at n = {n}: {', '.join(names) or 'none'}")
        said.append(f"{len(names)} of {at['missed'].size} at n = {n}")
    text = f"Missed by more than {TOLERANCE} % beyond chance, {'; '.join(found)}"
    if not where.any():
        return text, "holds for these"
    seen = summary["warned"].sel(warning="misfit").where(where).mean().item()
    text += f". A misfit is warned of in {100 * seen:.0f} % of these results, of all n"
    return text, f"not with so few rows, missed are {', '.join(said)}"


_PREAMBLE = """
Calibration error by the default method, by shape and sample size n. bias: % of the truth ± standard
error. cover: % of 95 % intervals with the truth. warn: % of results with a warning, of a misfit and
of any kind. An exclamation mark follows a bias below −10 % beyond chance."""


def table(summary: xr.Dataset) -> str:
    """Return one line for each shape and generator."""
    return "\n".join([_PREAMBLE, "", *_lines(summary.assign(missed=missed(summary)))])


def _lines(summary: xr.Dataset) -> Iterator[str]:
    sizes = summary["sample_size"].values
    heads = "".join(f" | {f'bias, n = {n}':>14} cover {'warn':>7}" for n in sizes)
    yield f"{'shape':12} {'k':>2} {'F':6} {'truth':>8}{heads}"
    for (shape, generator), at in selections(summary, "shape", "generator"):
        cells = "".join(_cell(of) for _, of in selections(at, "sample_size"))
        k, truth = at["n_classes"].item(), at["truth"].item()
        yield f"{shape:12} {k:2} {generator:6} {truth:8.5f}{cells}"


def _cell(at: xr.Dataset) -> str:
    bias = f"{at['relative_bias'].item():.0f} ± {at['relative_bias_se'].item():.0f}"
    mark = "!" if at["missed"].item() else " "
    seen, any_ = (100 * at["warned"].sel(warning=name).item() for name in ("misfit", "any"))
    return f" | {bias + mark:>14} {100 * at['coverage'].item():5.0f} {f'{seen:.0f}, {any_:.0f}':>7}"


def figures(summary: xr.Dataset) -> dict[str, Callable[[], Figure]]:
    """Return bias, coverage and warnings of every shape."""
    return {"missed": partial(_draw, summary)}


def _draw(summary: xr.Dataset) -> Figure:
    names = [
        f"{shape.rstrip('-0123456789')}, {k}"
        for shape, k in zip(summary["shape"].values, summary["n_classes"].values, strict=True)
    ]
    rows = summary["generator"].values.tolist()
    size = (WIDTH, 1.5 + 3 * (0.6 + 0.24 * len(names)))
    count = summary["n_replicates"].max().item()
    title = (
        f"The default's calibration error of {len(names)} shapes (with their number of classes), "
        f"{count} data sets each"
    )
    figure, axes = panels(3, len(rows), size, title, sharex="row", sharey=True)
    shown = summary.assign(
        coverage=100 * summary["coverage"], warned=100 * summary["warned"].sel(warning="misfit")
    )
    columns = {"relative_bias": 0, "coverage": 95, "warned": None}
    for column, generator in zip(axes.T, rows, strict=True):
        for axis, (name, line) in zip(column, columns.items(), strict=True):
            _series(axis, shown.sel(generator=generator), name)
            if line is not None:
                axis.axvline(line, color="black", linewidth=1)
        column[0].set_title(loss(generator).score)
    axes[0, 0].set_yticks(range(len(names)), names)
    axes[0, 0].set_ylim(len(names) - 0.5, -0.5)
    texts = (
        "(mean − truth) / truth, %",
        "95 % intervals with the truth, %",
        "warned of a misfit, %",
    )
    for row, text in zip(axes, texts, strict=True):
        for axis in row:
            axis.set_xlabel(text)
    for axis in axes[1:].flat:
        axis.set_xlim(-3, 103)
    legend(figure, axes)
    return figure


def _series(axis: Any, panel: xr.Dataset, name: str) -> None:
    """Plot a variable by shape, the sample sizes below each other."""
    sizes = panel["sample_size"].values.tolist()
    for i, n in enumerate(sizes):
        at = panel.sel(sample_size=n)
        y = np.arange(panel.sizes["shape"]) + 0.5 * ((i + 0.5) / len(sizes) - 0.5)
        error = at.get(f"{name}_se")
        looks = {**shade(i, len(sizes)), "linestyle": "", "label": f"n = {n}"}
        axis.errorbar(at[name], y, xerr=error, **looks)
    axis.grid(axis="x", color="0.9", linewidth=0.6)
    axis.set_axisbelow(True)
    axis.tick_params(axis="y", length=0)


QUICK = Design(
    shapes=("bump", "steps", "temperature"), sample_sizes=(300, 1000), n_replicates=(4, 3)
)
FULL = Design()
STUDY = Study(
    name="missed_shapes",
    about=__doc__ or "",
    presets={
        "quick": (QUICK, "three shapes, seconds"),
        "full": (FULL, "eight shapes, a quarter of an hour of processor time"),
    },
    outputs=[
        Output("estimate", (*_AT, "replicate"), "estimated calibration error", UNITS_OF_F),
        Output(
            "loss_saved",
            (*_AT, "replicate"),
            "mean loss that recalibration by the true E[Y | g(X)] saves",
            UNITS_OF_F,
        ),
        Output("standard_error", (*_AT, "replicate"), "standard error that it states", UNITS_OF_F),
        Output("lower", (*_AT, "replicate"), "lower end of its 95 % interval", UNITS_OF_F),
        Output("upper", (*_AT, "replicate"), "upper end of its 95 % interval", UNITS_OF_F),
        Output("warned", (*_AT, "warning", "replicate"), "whether it warned"),
    ],
    measure=measure,
    levels={"warning": tuple(WARNINGS)},
    summarise=summarise,
    table=table,
    claims=(Claim("Consistent: with enough data every shape is found", _judge, "its title"),),
    figures=figures,
    source="its title",
    shown="missed",
)

if __name__ == "__main__":
    sys.exit(main(STUDY))
