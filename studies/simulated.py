"""Estimates of a known calibration error on the same simulated samples, and contests of them.

What the studies of kernels, and of direct against risk, share.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import xarray as xr

from propercal import decompose, select_bandwidth
from propercal.experiments import (
    Claim,
    Factors,
    Output,
    Study,
    beyond_chance,
    factor,
    mean_and_error,
    selections,
)
from propercal.experiments.figures import legend, panels
from propercal.experiments.statistics import share_inside
from propercal.methods import PUBLISHED_METHODS
from propercal.plotting import convergence
from propercal.simulation import TemperatureScaledSimplex
from studies.losses import ESTIMATES, LOSSES_HELP, UNITS, symbol, unit
from studies.styles import WIDTH, restyle

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: The bandwidth that is the leave-one-out likelihood's choice, as in the paper.
LIKELIHOOD = "γ by likelihood"
_BINS = 1 / 15
#: What published estimates average labels with. The usual bins, as in the paper's formula, hold the
#: point itself; its formula for the Dirichlet kernel does not.
SMOOTHERS: Mapping[str, Mapping[str, Any]] = {
    "γ = 0.02": {"bandwidth": 0.02},
    "γ = 0.001": {"bandwidth": 0.001},
    LIKELIHOOD: {},
    "equal-width bins": {"kernel": "uniform-bins", "bandwidth": _BINS, "exclude_self": False},
    "equal-weight bins": {"kernel": "quantile-bins", "bandwidth": _BINS, "exclude_self": False},
}
DEBIASED = "debiased"


@dataclass(frozen=True)
class Design(Factors):
    """Class counts × sample sizes × replicates, each with every estimate, notion and generator."""

    smoothers: Sequence[str] = factor(among=SMOOTHERS, help="; ".join(SMOOTHERS))
    notions: Sequence[str] = factor(("classwise",), within="notion")
    generators: Sequence[str] = factor(("log", "brier"), within="generator", help=LOSSES_HELP)
    n_classes: Sequence[int] = factor((2, 5, 10), between="n_classes", metavar="K")
    sample_sizes: Sequence[int] = factor((100, 300, 1000), between="sample_size", least=20)
    n_replicates: Sequence[int] = factor(
        (10, 10, 10), between="replicate", one_for="sample_sizes", least=2, metavar="R"
    )
    label_temperature: float = factor(0.9, metavar="T1")
    score_temperature: float = factor(0.6, metavar="T2")
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        for k in self.n_classes:
            self.model(k)

    def levels(self) -> dict[str, list[Any]]:
        published = [f"{m}, {smoother}" for smoother in self.smoothers for m in PUBLISHED_METHODS]
        return {**super().levels(), "estimator": [*published, DEBIASED]}

    def model(self, n_classes: int) -> TemperatureScaledSimplex:
        return TemperatureScaledSimplex(n_classes, self.label_temperature, self.score_temperature)

    def truth(self) -> list[list[list[float]]]:
        return [
            [
                [self.model(k).truth(f, notion).value for k in self.n_classes]
                for f in self.generators
            ]
            for notion in self.notions
        ]

    def cost(self, cell: Any) -> float:
        # In seconds of one core.
        n = cell.sample_size / 1000
        canonical = 0.2 * n**2 if "canonical" in self.notions else 0
        return float(0.5 + cell.n_classes * (0.1 + 0.15 * n) + canonical)


def measure(design: Design, cell: Any, seed: np.random.SeedSequence) -> dict[str, Any]:
    """Simulate one data set and measure every estimate on it."""
    y_true, y_proba, _ = design.model(cell.n_classes).sample(cell.sample_size, seed)
    errors, ends = [], []
    with warnings.catch_warnings():
        # Of points alone in a bin, and of shares of the kernel: both are part of what is compared.
        warnings.simplefilter("ignore", UserWarning)
        for notion in design.notions:
            shared: dict[str, Any] = {"generator": list(design.generators), "notion": notion}
            found = []
            for name in design.smoothers:
                settings = dict(SMOOTHERS[name])
                if name == LIKELIHOOD:
                    settings["bandwidth"] = select_bandwidth(
                        y_true, y_proba, notion=notion, criterion="likelihood"
                    )
                found += [
                    decompose(y_true, y_proba, method=method, **shared, **settings)
                    for method in PUBLISHED_METHODS
                ]
            ours = decompose(y_true, y_proba, **shared)
            errors.append([[each.calibration_error for each in row] for row in [*found, ours]])
            ends.append([each.interval("calibration_error", 0.95) for each in ours])
    lower, upper = np.moveaxis(np.array(ends), -1, 0)
    # From estimators by generators to generators by estimators.
    return {"calibration_error": np.swapaxes(errors, 1, 2), "lower": lower, "upper": upper}


def study(
    name: str,
    about: str,
    presets: Mapping[str, tuple[Design, str]],
    verdict: Callable[[xr.Dataset], Iterable[str]],
    claims: Sequence[Claim],
    rows: Callable[[xr.Dataset], Mapping[str, xr.Dataset]],
    title: str,
    source: str,
) -> Study[Design]:
    """Return a study of simulated samples.

    `rows` returns from a dataset of one generator, for each row of panels its name and what it
    shows, in which "estimator" has the names of the lines.
    """
    at, inner = ("notion", "generator"), ("n_classes", "sample_size", "replicate")
    error, end = "calibration error", "end of the debiased estimate's 95 % interval"
    return Study(
        name=name,
        about=about,
        presets=presets,
        outputs=(
            Output("calibration_error", (*at, "estimator", *inner), f"estimated {error}", UNITS),
            Output("lower", (*at, *inner), f"lower {end}", UNITS),
            Output("upper", (*at, *inner), f"upper {end}", UNITS),
            Output("truth", (*at, "n_classes"), error, UNITS, known=Design.truth),
        ),
        measure=measure,
        table=partial(_table, verdict),
        claims=claims,
        figures=partial(_figures, rows, title),
        source=source,
        shown="estimate-log",
    )


class Contest(NamedTuple):
    """In how many cells one estimate has the smaller mean squared error, at the 5 % level."""

    wins: int
    losses: int
    undecided: int

    @property
    def said(self) -> str:
        """Say whether the first one is the better one."""
        if self.wins and self.losses:
            return "holds in part" if self.wins >= self.losses else "mostly fails"
        if self.losses:
            return "fails"
        if not self.wins:
            return "not shown"
        return "holds where told apart" if self.undecided else "holds"

    def __str__(self) -> str:
        return ":".join(map(str, self))


def counted(of: Contest, ours: str, theirs: str) -> str:
    """Say in words how often each of two estimates is the nearer one."""
    open_ = f"{of.undecided or 'none'} {'is' if of.undecided < 2 else 'are'} undecided"
    return (
        f"of {sum(of)} comparisons, {ours} is nearer to the truth in {of.wins or 'none'}, {theirs} "
        f"in {of.losses or 'none'}, and {open_}"
    )


def contest(summary: xr.Dataset, ours: str, theirs: str) -> Contest:
    """Compare two estimates in every cell, by Student's t of squared errors of the same samples."""
    error = (summary["calibration_error"] - summary["truth"]) ** 2
    saved = error.sel({"estimator": theirs}) - error.sel({"estimator": ours})
    mean, sure = saved.mean("replicate"), beyond_chance(saved, "replicate")
    wins, losses = int((sure & (mean > 0)).sum()), int((sure & (mean < 0)).sum())
    return Contest(wins, losses, mean.size - wins - losses)


def sum_of(contests: Iterable[Contest]) -> Contest:
    """Return all cells of several comparisons."""
    return Contest(*(sum(each) for each in zip(*contests, strict=True)))


_PREAMBLE = """Relative bias in %, mean over samples ± standard error. Who is nearer to the truth is
judged by the squared error on the same samples, in each cell (class count, n) at the 5 % level:
cells in which the first is nearer : the second is : undecided."""


def _table(verdict: Callable[[xr.Dataset], Iterable[str]], summary: xr.Dataset) -> str:
    """Return biases, comparisons and the verdict."""
    return "\n".join(["", _PREAMBLE, *_biases(summary), "", *verdict(summary)])


def _biases(summary: xr.Dataset) -> Iterator[str]:
    """Yield a block for each notion and generator: estimates by class count and sample size."""
    sizes = summary["sample_size"].values.tolist()
    width = max(len(name) for name in summary["estimator"].values.tolist())
    for (notion, generator), of in selections(summary, "notion", "generator"):
        heads = "".join(f" {f'n = {n}':>14}" for n in sizes)
        yield f"\n{f'{symbol(generator)}, {notion}':{width + 3}} {heads}"
        for (k,), at in selections(of, "n_classes"):
            yield f"{k} classes, truth {at['truth'].item():.5f}"
            relative = 100 * (at["calibration_error"] / at["truth"] - 1)
            mean, error = mean_and_error(relative, "replicate")
            for name in summary["estimator"].values.tolist():
                cells = zip(*(x.sel(estimator=name).values for x in (mean, error)), strict=True)
                yield f"   {name:{width}} " + "".join(
                    f" {f'{m:.0f} ± {e:.0f}':>14}" for m, e in cells
                )


def line(name: str, of: Contest) -> str:
    """Write a comparison."""
    return f"  {name:60} {of!s:>9}   {of.said}"


def debiased_lines(summary: xr.Dataset) -> Iterator[str]:
    """Compare the debiased estimate with every published one."""
    yield "The debiased estimate against each published one:"
    for name in summary["estimator"].values.tolist():
        if name != DEBIASED:
            yield line(f"debiased nearer than {name}", contest(summary, DEBIASED, name))


def coverage(summary: xr.Dataset) -> str:
    """Say how often the debiased estimate's interval holds the truth."""
    share, n = share_inside(summary["lower"], summary["upper"], summary["truth"])
    hits = f"{(share * n).item():.0f} of {n.item()}" if n else "0 of 0"
    return f"95 % intervals of the debiased estimate hold the truth in {hits}."


def _figures(
    rows: Callable[[xr.Dataset], Mapping[str, xr.Dataset]], title: str, summary: xr.Dataset
) -> dict[str, Callable[[], Figure]]:
    """Return a figure for each generator."""
    return {
        f"estimate-{generator}": partial(_draw, rows(at), title, generator)
        for (generator,), at in selections(summary, "generator")
    }


def _draw(rows: Mapping[str, xr.Dataset], title: str, generator: str) -> Figure:
    classes = next(iter(rows.values()))["n_classes"].values.tolist()
    size = (WIDTH, 2.4 + 2.1 * len(classes))
    figure, axes = panels(len(classes), len(rows), size, title, sharex=True)
    for column, (name, shown) in zip(axes.T, rows.items(), strict=True):
        for axis, k in zip(column, classes, strict=True):
            _convergence(shown.sel(n_classes=k), axis)
            axis.set(xlabel="", ylabel="")
        column[0].set_title(f"{symbol(generator)} ({unit(generator)})\n{name}")
    for row, k in zip(axes, classes, strict=True):
        row[0].set_ylabel(f"{k} classes")
    for axis in axes[-1]:
        axis.set_xlabel("sample size n")
    legend(figure, axes, **ESTIMATES)
    return figure


def _convergence(panel: xr.Dataset, axis: Any) -> None:
    mean = panel["calibration_error"].mean("replicate")
    convergence(panel[["calibration_error", "truth"]], estimate="calibration_error", ax=axis)
    restyle(axis)
    axis.get_legend().remove()
    if mean.min() > 0 and mean.max() > 12 * panel["truth"].item():
        axis.set_yscale("log")
        place = {"ha": "right", "va": "bottom", "fontsize": 8, "color": "0.35"}
        axis.text(1, 1, "logarithmic", transform=axis.transAxes, **place)
    elif mean.min() > 0:
        axis.set_ylim(bottom=0)
