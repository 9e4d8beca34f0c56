"""Snapshots of training that are the best compromises between accuracy and calibration.

The paper's appendix, "Model selection": the Pareto front of accuracy and calibration error over
snapshots, means and standard errors over seeds, here by the paper's estimate and by the debiased
one.

The full study reads MNIST from `images/mnist.npz` below the data folder: `images_train` (n, 28, 28)
and `images_test`, uint8, with `labels_train` and `labels_test`.
"""

from __future__ import annotations

import studies.interrupts  # noqa: F401 (for what it does)

import dataclasses
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import xarray as xr

from propercal.experiments import Claim, Study, beyond_chance, main, mean_and_error, selections
from propercal.experiments.figures import legend, panels
from propercal.plotting import on_front, pareto_front
from studies.losses import symbol, with_unit
from studies.paths import DATA
from studies.styles import WIDTH
from studies.training import (
    GENERATORS,
    METHODS,
    TITLES,
    Design,
    Rows,
    Snapshot,
    accuracy,
    each_epoch,
    estimates,
    grows,
    number,
    of_each,
    outputs,
    read,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: The paper's.
NOTION = "classwise"
_PREAMBLE = """Claim: snapshots trade accuracy for calibration, and their Pareto front (means over
seeds) shows the best compromises. risk: the paper's estimate, class-wise, at its bandwidth 0.02."""


@each_epoch
def measure(snapshot: Snapshot, rows: Rows) -> dict[str, Any]:
    """Estimate the calibration error of a network on the monitored rows."""
    log_prob, y = snapshot.log_prob(rows.monitor), rows.monitor.labels
    both = estimates(y, log_prob, notion=NOTION)
    return {
        "accuracy": accuracy(log_prob, y),
        "loss": [ours.risk for _, ours in both],
        "calibration_error": [[each.calibration_error for each in pair] for pair in both],
        "standard_error": [ours.standard_errors["calibration_error"] for _, ours in both],
    }


class Front(NamedTuple):
    """The snapshots that none is better than in both, by one estimate."""

    generator: str
    method: str
    epochs: list[int]
    """by growing accuracy"""
    trade_off: bool
    """whether its ends differ in both objectives beyond chance"""


def fronts(summary: xr.Dataset) -> list[Front]:
    """Return the front of each generator and method, of one activation function."""
    found = []
    for (generator, method), of in selections(summary, "generator", "method"):
        both = of["accuracy"], of["calibration_error"]
        places = on_front(*(values.mean("seed").values for values in both))
        epochs = of["epoch"].values[places].tolist()
        ends = [values.sel(epoch=epochs[-1]) - values.sel(epoch=epochs[0]) for values in both]
        apart = [bool(beyond_chance(values, "seed")) for values in ends]
        found.append(Front(generator, method, epochs, len(epochs) > 1 and all(apart)))
    return found


def beaten(summary: xr.Dataset, generator: str, method: str, epochs: list[int]) -> list[int]:
    """Return those snapshots that another beats beyond chance in the calibration error by `method`.

    Its mean accuracy is at least as high.
    """
    error = summary["calibration_error"].sel({"generator": generator, "method": method})
    mean = summary["accuracy"].mean("seed")
    return [
        epoch
        for epoch in epochs
        if ((mean >= mean.sel(epoch=epoch)) & grows(error.sel(epoch=epoch) - error)).any()
    ]


def table(summary: xr.Dataset) -> str:
    """Return the snapshots, the fronts and the verdict."""
    blocks = [_PREAMBLE]
    for _, of in selections(summary, "activation"):
        blocks += ["\n".join(lines(of, fronts(of))) for lines in (_snapshots, _verdict)]
    return "\n\n".join(blocks)


def _snapshots(summary: xr.Dataset, found: list[Front]) -> Iterator[str]:
    heads = "".join(f" {f'{symbol(f.generator)}, {f.method}':>18}" for f in found)
    yield "Accuracy and calibration error × 100, mean over seeds ± standard error; *: on the front"
    yield f"{'epoch':>5} {'accuracy':>14}{heads}"
    for (epoch,), of in selections(100 * summary, "epoch"):
        line = f"{epoch:5} {number(of['accuracy'], 2):>14}"
        for front, (_, at) in zip(found, selections(of, "generator", "method"), strict=True):
            mark = "*" if epoch in front.epochs else " "
            line += f" {number(at['calibration_error']):>17}{mark}"
        yield line


def _verdict(summary: xr.Dataset, found: list[Front]) -> Iterator[str]:
    for front in found:
        if len(front.epochs) == 1:
            said = "fails: one snapshot is best in both"
        elif front.trade_off:
            said = "holds: its ends differ in both beyond chance (5 %)"
        else:
            said = "not shown: its ends do not differ in both beyond chance (5 %)"
        name = f"{symbol(front.generator)}, {front.method:9}"
        yield f"{name} front at epochs {front.epochs}: trade-off {said}"
    epochs = {(f.generator, f.method): f.epochs for f in found}
    for (generator,), _ in selections(summary, "generator"):
        paper, ours = (epochs[generator, method] for method in METHODS)
        lost = beaten(summary, generator, "debiased", paper)
        yield (
            f"{symbol(generator)}: {len({*paper} & {*ours})} of {len({*paper, *ours})} "
            f"snapshots on either front are on both; {len(lost)} of {len(paper)} on the "
            "paper's are beaten by the debiased estimate, beyond chance"
        )


def _where(summary: xr.Dataset) -> str:
    return "; ".join(
        f"{symbol(f.generator)}, {f.method}: front at epochs {', '.join(map(str, f.epochs))}"
        + (", a trade-off beyond chance" if f.trade_off else "")
        for f in fronts(summary)
    )


def _shown(summary: xr.Dataset) -> str:
    shown = [front.trade_off for front in fronts(summary)]
    return "holds" if all(shown) else "shown in part" if any(shown) else "not shown"


def traded(summary: xr.Dataset) -> tuple[str, str]:
    """Judge whether the ends of every front differ in both objectives."""
    return of_each(summary, _where), of_each(summary, _shown)


_NEAR = 4


def figures(summary: xr.Dataset) -> dict[str, Callable[[], Figure]]:
    """Return the fronts for each activation function."""
    return {
        f"pareto-{name}": partial(_pareto, of) for (name,), of in selections(summary, "activation")
    }


def _pareto(summary: xr.Dataset) -> Figure:
    """A panel for each generator and estimate, below each other; the numbers are epochs."""
    title = (
        "Snapshots of training (numbers: epochs), mean over seeds ± standard error;\n"
        f"those within {_NEAR} points of the best accuracy"
    )
    size = (WIDTH, 0.9 + 2.4 * summary.sizes["generator"] * summary.sizes["method"])
    figure, axes = panels(summary.sizes["generator"] * summary.sizes["method"], 1, size, title)
    x, x_error = mean_and_error(100 * summary["accuracy"], "seed")
    # The first snapshots are far from all others, whose numbers would lie on each other.
    near = (x >= x.max() - _NEAR).values
    shown = selections(summary, "generator", "method")
    for axis, ((generator, method), of) in zip(axes.flat, shown, strict=True):
        y, y_error = mean_and_error(100 * of["calibration_error"], "seed")
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
        axis.set_title(f"{symbol(generator)}, {TITLES[method]}")
        axis.set_ylabel(with_unit(f"{symbol(generator)} × 100", generator))
    for axis in axes[-1]:
        axis.set_xlabel("accuracy (%)")
    legend(figure, axes)
    return figure


QUICK = Design("digits", (64,), (8, 16, 24, 32, 48, 64), n_train=600, n_evaluated=500, n_seeds=3)
TINY = dataclasses.replace(QUICK, epochs=(4, 32), n_evaluated=120, n_seeds=2)
FULL = Design(
    "mnist",
    (128,),
    (1, 2, 4, 8, 12, 16, 24, 32, 48, 64),
    n_train=10000,
    n_evaluated=2000,
    n_seeds=4,
    batch_size=64,
)
STUDY = Study(
    name="model_selection",
    about=__doc__ or "",
    presets={
        "tiny": (TINY, "two networks on scikit-learn's digits, seconds"),
        "quick": (QUICK, "three networks on scikit-learn's digits, a minute"),
        "full": (FULL, "four networks on MNIST, about eight minutes of processor time"),
    },
    outputs=outputs(
        {
            "accuracy": ((), "share of rows whose class has the largest probability"),
            "loss": (("generator",), "mean class-wise loss (log: nats)"),
            "calibration_error": (("generator", "method"), "class-wise calibration error"),
            "standard_error": (("generator",), "standard error of the debiased calibration error"),
        }
    ),
    measure=measure,
    levels={"generator": GENERATORS, "method": METHODS},
    read=read,
    data=DATA,
    table=table,
    claims=(
        Claim("Snapshots trade accuracy for calibration", traded, "appendix, model selection"),
    ),
    figures=figures,
    source="appendix",
    reads="MNIST",
    shown="pareto-relu",
)

if __name__ == "__main__":
    sys.exit(main(STUDY))
