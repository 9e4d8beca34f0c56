"""Early stopping by the calibration error, and the growth of the loss after its minimum.

The paper's appendix, "Monitoring calibration error during training": loss, accuracy, calibration
error and refinement by epoch on training and validation rows, smoothed, and where early stopping by
each would stop, here judged on rows that neither saw.

The full study reads BreastMNIST from `images/breastmnist.npz` below the data folder:
`images_train`, `images_val` and `images_test` (n, 28, 28), uint8, with `labels_train` and so on.
"""

from __future__ import annotations

import studies.interrupts  # noqa: F401 (for what it does)

import dataclasses
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import xarray as xr

from propercal.experiments import Claim, Study, beyond_chance, main, mean_and_error, selections
from propercal.experiments.figures import legend, panels
from studies.losses import loss, unit, with_unit
from studies.paths import DATA
from studies.styles import WIDTH, style
from studies.training import (
    GENERATORS,
    METHODS,
    Design,
    Part,
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
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PARTS = ("train", "monitor")
#: Weight of the past in the moving average.
MEMORY = 0.8
_PREAMBLE = """Validation rows, exponential moving averages; means over seeds ± standard errors.
risk: the paper's estimate, at its bandwidth 0.02. *: beyond chance (5 %)."""


@each_epoch
def measure(snapshot: Snapshot, rows: Rows) -> dict[str, Any]:
    """Split the losses of a network into calibration error and refinement."""
    parts = [_part(snapshot, part) for part in (rows.train, rows.monitor)]
    log_prob, y = snapshot.log_prob(rows.fresh), rows.fresh.labels
    losses = {
        "log": -log_prob[np.arange(len(y)), y].mean(),
        "brier": ((np.exp(log_prob) - np.eye(log_prob.shape[1])[y]) ** 2).sum(axis=1).mean(),
    }
    return {
        **{name: [part[name] for part in parts] for name in parts[0]},
        "fresh_accuracy": accuracy(log_prob, y),
        "fresh_loss": [losses[name] for name in GENERATORS],
    }


def _part(snapshot: Snapshot, part: Part) -> dict[str, Any]:
    log_prob, y = snapshot.log_prob(part), part.labels
    both = estimates(y, log_prob)
    ends = zip(*(ours.interval("calibration_error", 0.95) for _, ours in both), strict=True)
    return {
        "accuracy": accuracy(log_prob, y),
        "loss": [ours.risk for _, ours in both],
        "calibration_error": [[each.calibration_error for each in pair] for pair in both],
        "refinement": [[each.refinement for each in pair] for pair in both],
        **dict(zip(("lower", "upper"), ends, strict=True)),
    }


class Stop(NamedTuple):
    """Where a criterion would stop training."""

    epoch: xr.DataArray
    """by seed"""
    log_loss: xr.DataArray
    """on fresh rows, by seed"""
    accuracy: xr.DataArray
    """on fresh rows, by seed"""


class Growth(NamedTuple):
    """What happens between the epoch of least loss and the last, by seed."""

    loss: xr.DataArray
    calibration_error: xr.DataArray
    refinement: xr.DataArray
    accuracy: xr.DataArray

    @property
    def share(self) -> str:
        """Return the part of the loss's growth, where there is some, that is calibration error."""
        if not grows(self.loss):
            return "·"
        return f"{100 * float(self.calibration_error.mean() / self.loss.mean()):.0f} %"

    @property
    def second(self) -> str:
        """Say whether the loss grows, and the refinement does not."""
        if not grows(self.loss):
            return "no growth shown"
        if grows(self.refinement):
            return "fails"
        return "holds (refinement falls)" if grows(-self.refinement) else "holds"

    @property
    def third(self) -> str:
        """Say whether the calibration error grows, and the accuracy does not fall."""
        if not grows(self.calibration_error):
            return "no growth shown"
        return "fails" if grows(-self.accuracy) else "holds"


def smooth(values: xr.DataArray) -> xr.DataArray:
    """Return the exponential moving average over epochs, of those there are at the beginning."""
    n = values.sizes["epoch"]
    age = np.subtract.outer(np.arange(n), np.arange(n))
    weight = np.where(age >= 0, MEMORY ** np.maximum(age, 0), 0.0)
    weight /= weight.sum(axis=1, keepdims=True)
    smoothed = values.transpose(..., "epoch")
    return smoothed.copy(data=smoothed.values @ weight.T)


def criteria(summary: xr.Dataset) -> dict[str, xr.DataArray]:
    """Return smoothed validation curves by name, each to be minimised."""
    part = summary.sel(part="monitor")
    found = {"error rate": -part["accuracy"]}
    for (generator,), of in selections(part, "generator"):
        found[f"{loss(generator).title} loss"] = of["loss"]
        for name, title in (("calibration_error", "CE"), ("refinement", "refinement")):
            for (method,), at in selections(of, "method"):
                found[f"{title} {loss(generator).divergence}, {method}"] = at[name]
    return {name: smooth(curve) for name, curve in found.items()}


def stops(summary: xr.Dataset) -> dict[str, Stop]:
    """Return where each criterion stops, and what a network stopped there is worth."""
    fresh = summary["fresh_loss"].sel(generator="log"), summary["fresh_accuracy"]
    least = {name: curve.idxmin("epoch") for name, curve in criteria(summary).items()}
    return {
        name: Stop(epoch, *(values.sel(epoch=epoch) for values in fresh))
        for name, epoch in least.items()
    }


def growth(summary: xr.Dataset, generator: str, method: str) -> Growth:
    """Return changes after the epoch whose smoothed mean loss is least, the same for all seeds."""
    of = summary.sel({"part": "monitor", "generator": generator, "method": method})
    least = smooth(of["loss"]).mean("seed").idxmin("epoch").item()
    curves = (smooth(of[name]) for name in Growth._fields)
    return Growth(*(curve.isel(epoch=-1) - curve.sel(epoch=least) for curve in curves))


def table(summary: xr.Dataset) -> str:
    """Return the stops and the three claims."""
    blocks = [_PREAMBLE]
    for _, of in selections(summary, "activation"):
        blocks += ["\n".join(lines(of)) for lines in (_stops, _growth)]
    return "\n\n".join(blocks)


def _stops(summary: xr.Dataset) -> Iterator[str]:
    yield "Claim 1: the calibration error (KL) uncovers the same early stopping point as the loss."
    yield (
        f"{'stopped by the least':28} {'epoch':>13} {'fresh log loss':>16} {'fresh accuracy':>16} "
        f"{'cost in log loss':>17}"
    )
    found = stops(summary)
    for name, stop in found.items():
        cost = number(stop.log_loss - found["log loss"].log_loss, signed=True, marked=True)
        yield (
            f"{name:28} {number(stop.epoch, 1):>13} {number(stop.log_loss):>16} "
            f"{number(stop.accuracy):>16} {cost:>18}"
        )
    yield from (f"  {line}" for line in _apart(summary))


def _judged(summary: xr.Dataset) -> dict[str, str]:
    """Say of the calibration errors whether they stop where the loss does, by their names."""
    found = stops(summary)
    reference = found["log loss"]
    verdicts = {}
    for name in (name for name in found if name.startswith("CE KL")):
        stop = found[name]
        apart, cost = stop.epoch - reference.epoch, stop.log_loss - reference.log_loss
        differ = {"another epoch": apart, "a cost in log loss": cost}
        said = [text for text, values in differ.items() if beyond_chance(values, "seed")]
        verdicts[name] = "fails: " + " and ".join(said) if said else "not told apart"
    return verdicts


def _apart(summary: xr.Dataset) -> Iterator[str]:
    found = stops(summary)
    for name, verdict in _judged(summary).items():
        by = number(found[name].epoch - found["log loss"].epoch, 1, signed=True)
        yield f"{name}: {by} epochs from where the loss stops; {verdict}"


def _growth(summary: xr.Dataset) -> Iterator[str]:
    yield (
        "Claim 2: after its minimum, the loss grows by calibration error, refinement is flat.\n"
        "Claim 3: the accuracy stays, while the calibration error grows considerably."
    )
    yield (
        f"{'growth to the last epoch':28} {'loss':>16} {'CE':>16} {'refinement':>17} "
        f"{'CE of loss':>10} {'accuracy':>17}  claim 2; claim 3"
    )
    for (generator, method), _ in selections(summary, "generator", "method"):
        grown = growth(summary, generator, method)
        cells = [number(values, signed=True, marked=True) for values in grown]
        name = loss(generator).divergence
        yield (
            f"{name}, {method:24} {cells[0]:>16} {cells[1]:>16} {cells[2]:>17} "
            f"{grown.share:>10} {cells[3]:>17}  {grown.second}; {grown.third}"
        )
    yield "Debiased calibration error at the end, and the mean 95 % interval of a single network:"
    last = summary.sel({"part": "monitor", "method": "debiased"}).isel(epoch=-1)
    for (generator,), of in selections(last.mean("seed"), "generator"):
        names = ("calibration_error", "lower", "upper")
        error, *ends = (of[name].item() for name in names)
        yield f"{loss(generator).divergence} {error:.3f} [{ends[0]:.3f}, {ends[1]:.3f}]"


def _least(summary: xr.Dataset) -> str:
    epoch = {name: stop.epoch.mean().item() for name, stop in stops(summary).items()}
    return (
        f"Mean epoch of the least: log loss {epoch['log loss']:.1f}, calibration error via risk "
        f"{epoch['CE KL, risk']:.1f}, debiased {epoch['CE KL, debiased']:.1f}"
    )


def _share(summary: xr.Dataset) -> str:
    share = growth(summary, "log", "debiased").share
    return f"Calibration error makes {share} of the growth of the log loss, debiased"


def stopped(summary: xr.Dataset) -> tuple[str, str]:
    """Judge whether the calibration error stops training where the loss does."""

    def said(of: xr.Dataset) -> str:
        parts = (f"{text} ({name.partition(', ')[2]})" for name, text in _judged(of).items())
        return "; ".join(parts)

    return of_each(summary, _least), of_each(summary, said)


def refined(summary: xr.Dataset) -> tuple[str, str]:
    """Judge whether the refinement has a part in the growth of the log loss."""
    second = of_each(summary, lambda of: growth(of, "log", "debiased").second)
    return of_each(summary, _share), second


_PARTS = {"train": "training rows", "monitor": "validation rows"}
#: Of the same rows in the study of layers. Light colours would be dark on a dark page.
_SHADES = ("0.6", "black")
_METHODS = {"risk": "the paper's estimate", "debiased": "debiased"}


def figures(summary: xr.Dataset) -> dict[str, Callable[[], Figure]]:
    """Return the curves and the stopping points for each activation function."""
    return {
        f"{kind}-{name}": partial(draw, of)
        for (name,), of in selections(summary, "activation")
        for kind, draw in (("monitor", _monitor), ("stopping", _stopping))
    }


def _monitor(summary: xr.Dataset) -> Figure:
    """Loss, calibration error and refinement, accuracy: a column a loss."""
    title = "Training, smoothed, mean over seeds (bands: ± standard error)"
    n_columns = summary.sizes["generator"]
    figure, axes = panels(4, n_columns, (WIDTH, 8.6), title, sharex=True)
    for row, ((generator,), of) in zip(axes.T, selections(summary, "generator"), strict=True):
        name = f"{loss(generator).title} loss"
        row[0].set_title(name)
        row[0].set_ylabel(with_unit(name, generator))
        for i, part in enumerate(PARTS):
            of_part, axis = of.sel(part=part), row[1 + i]
            _band(row[0], of_part["loss"], _SHADES[i], "_")
            for (method,), at in selections(of_part, "method"):
                colour, title = style(method)["color"], _METHODS[method]
                _band(axis, at["calibration_error"], colour, f"calibration error, {title}")
                refinement = smooth(at["refinement"]).mean("seed")
                label = f"refinement, {title}"
                axis.plot(of["epoch"], refinement, color=colour, linestyle="--", label=label)
            axis.axhline(0, color="black", linewidth=0.6)
            axis.set_title(f"{loss(generator).divergence}, {_PARTS[part]}")
            axis.set_ylabel(unit(generator))
    last = axes[3, 0]
    for i, part in enumerate(PARTS):
        _band(last, 100 * summary["accuracy"].sel(part=part), _SHADES[i], _PARTS[part])
    last.set_title("accuracy")
    last.set_ylabel("accuracy (%)")
    for axis in axes[3, 1:]:
        axis.set_axis_off()
    for axis in [*axes[2, 1:], last]:
        axis.tick_params(labelbottom=True)
        axis.set_xlabel("epoch")
    legend(figure, axes[1:3])
    last.legend(loc="center right", frameon=False)
    return figure


def _band(axis: Axes, curve: xr.DataArray, colour: str, label: str) -> None:
    mean, error = mean_and_error(smooth(curve), "seed")
    x = curve["epoch"].values
    axis.plot(x, mean, color=colour, label=label)
    axis.fill_between(x, mean - error, mean + error, color=colour, alpha=0.25, linewidth=0)


def _stopping(summary: xr.Dataset) -> Figure:
    """The epoch at which each criterion stops: hollow a seed, filled the mean."""
    found = stops(summary)
    title = "Where each would stop training\n(circles: seeds; diamond: their mean)"
    figure, ((axis,),) = panels(1, 1, (WIDTH, 1.4 + 0.3 * len(found)), title)
    for i, (name, stop) in enumerate(found.items()):
        epoch = stop.epoch.values
        method = next((each for each in METHODS if each in name), None)
        colour = style(method)["color"] if method else "black"
        # Seeds that stop at one epoch side by side.
        y = i + 0.12 * (np.arange(len(epoch)) - (len(epoch) - 1) / 2) / max(1, len(epoch) / 5)
        axis.plot(epoch, y, linestyle="", marker="o", mfc="white", mec=colour, zorder=2)
        axis.plot(epoch.mean(), i, linestyle="", marker="D", color=colour, markersize=6, zorder=3)
    axis.set_yticks(range(len(found)), list(found))
    axis.set_ylim(len(found) - 0.5, -0.5)
    axis.set_xlabel("epoch of the least smoothed value on validation rows")
    axis.grid(axis="x", color="0.92", linewidth=0.6)
    axis.set_axisbelow(True)
    return figure


_INNER = ("part", "generator", "method")
_LOSS = "mean loss (log: nats; Brier: summed over classes)"
_END = "end of the debiased calibration error's 95 % interval"
QUICK = Design(
    "breast-cancer",
    (64, 64),
    tuple(range(1, 41)),
    n_train=150,
    n_evaluated=200,
    n_seeds=4,
    learning_rate=0.05,
    momentum=0.9,
)
TINY = dataclasses.replace(QUICK, epochs=(1, 2, 4, 8, 16, 32), n_seeds=2)
FULL = Design(
    "breastmnist",
    (256, 256),
    tuple(range(1, 51)),
    n_train=260,
    n_evaluated=260,
    n_seeds=8,
    learning_rate=0.003,
    momentum=0.9,
)
STUDY = Study(
    name="training_monitor",
    about=__doc__ or "",
    presets={
        "tiny": (TINY, "two networks on scikit-learn's breast cancer, seconds"),
        "quick": (QUICK, "four networks on scikit-learn's breast cancer, a minute"),
        "full": (FULL, "eight networks on BreastMNIST, about five minutes of processor time"),
    },
    outputs=outputs(
        {
            "accuracy": (_INNER[:1], "share of rows whose class has the largest probability"),
            "loss": (_INNER[:2], _LOSS),
            "calibration_error": (_INNER, "calibration error"),
            "refinement": (_INNER, "refinement"),
            "lower": (_INNER[:2], f"lower {_END}"),
            "upper": (_INNER[:2], f"upper {_END}"),
            "fresh_accuracy": ((), "accuracy on rows that are not monitored"),
            "fresh_loss": (("generator",), f"{_LOSS} on rows that are not monitored"),
        }
    ),
    measure=measure,
    levels={"part": PARTS, "generator": GENERATORS, "method": METHODS},
    read=read,
    data=DATA,
    table=table,
    claims=(
        Claim(
            "The calibration error uncovers the same early stopping point as the loss",
            stopped,
            "appendix, monitoring",
        ),
        Claim(
            "When the loss rises again, it is by calibration error alone",
            refined,
            "appendix, monitoring",
        ),
    ),
    figures=figures,
    source="appendix",
    reads="BreastMNIST",
    shown="monitor-relu",
)

if __name__ == "__main__":
    sys.exit(main(STUDY))
