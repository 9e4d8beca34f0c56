"""Sharpness of the layers of a network, from the first to the output, throughout training.

The paper's Figure 3: accuracy, and the sharpness of what each layer's activations could predict,
throughout training, here of the output layer too, which the paper leaves out. In the population the
order holds for any network; the study asks which estimate shows it.

The full study reads MNIST from `images/mnist.npz` below the data folder: `images_train` (n, 28, 28)
and `images_test`, uint8, with `labels_train` and `labels_test`.
"""

from __future__ import annotations

import studies.interrupts  # noqa: F401 (for what it does)

import dataclasses
import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import combinations, pairwise
from math import comb
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import xarray as xr

from propercal import decompose
from propercal.experiments import Claim, Study, beyond_chance, main, mean_and_error, selections
from propercal.experiments.figures import legend, panels
from propercal.information import layer_sharpness
from propercal.plotting import layer_curves
from studies.data import BANDWIDTH, Floats
from studies.losses import loss, with_unit
from studies.paths import DATA
from studies.styles import WIDTH, points
from studies.training import (
    TITLES,
    Design,
    Rows,
    Snapshot,
    accuracy,
    each_epoch,
    grows,
    number,
    outputs,
    read,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# One node less than classes, so that a softmax over (0, activations) is one-to-one onto the simplex
# of the classes; that is the paper's network, and needed for the debiased estimate.
HIDDEN = (9, 9, 9, 9)
LAYERS = (*(str(i + 1) for i in range(len(HIDDEN))), "output")
GENERATORS = ("brier", "log")
#: The published estimate at the paper's bandwidth, of the probabilities themselves for the output
#: layer; with every layer standardised and the bandwidth of least risk; and the debiased one.
METHODS = ("risk", "risk-tuned", "debiased")
# Every pair of folds is left out once, so a fold less saves a third of the fits.
N_FOLDS = 4
LEVEL = 0.05
_PREAMBLE = """Claim (the paper's Figure 3): each layer is at least as sharp as the next, always.
It is a theorem of the population, so what breaks it is an estimate. The output layer is a
one-to-one image of the layer before it (ten probabilities of nine nodes), and so is each layer of a
tanh network: there the true sharpness is the same.
risk: the paper's estimate at its bandwidth, 0.02; risk-tuned: every layer standardised, bandwidth
of least risk; debiased: what two classifiers and a kernel find, corrected."""


@each_epoch
def measure(snapshot: Snapshot, rows: Rows) -> dict[str, Any]:
    """Estimate the sharpness of every layer on the monitored rows."""
    *hidden, log_prob = snapshot.layers(rows.monitor.inputs)
    y = rows.monitor.labels
    # A network's probabilities as nine coordinates like those of the other layers.
    layers = [*hidden, log_prob[:, 1:] - log_prob[:, :1]]
    sharpness = np.empty((len(GENERATORS), len(METHODS), len(LAYERS)))
    logits: dict[str, Any] = {"from_logits": True, "generator": list(GENERATORS)}
    output = decompose(y, log_prob, method="risk", bandwidth=BANDWIDTH, **logits)
    for i, generator in enumerate(GENERATORS):
        given = partial(layer_sharpness, y_true=y, generator=generator, labels=range(10))
        as_they_are = given(hidden, bandwidth=BANDWIDTH, standardise=False)
        sharpness[i, 0] = [*as_they_are, output[i].sharpness]
        sharpness[i, 1] = given(layers)
    debiased: dict[str, Any] = {**logits, "recalibrator": probes(), "n_folds": N_FOLDS}
    # One row for each generator.
    found = list(
        zip(*(decompose(y, _in_simplex(layer), **debiased) for layer in layers), strict=True)
    )
    sharpness[:, 2] = [[each.sharpness for each in row] for row in found]
    return {
        "train_accuracy": accuracy(snapshot.log_prob(rows.train), rows.train.labels),
        "accuracy": accuracy(log_prob, y),
        "sharpness": sharpness,
        "standard_error": [[each.standard_errors["sharpness"] for each in row] for row in found],
        "kernel_bandwidth": [[each.bandwidth for each in row] for row in found],
    }


def probes() -> list[Any]:
    """Return classifiers of what a layer holds: the same for every layer, to favour none."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, PolynomialFeatures, StandardScaler

    def pipeline(*last: Any) -> Any:
        return make_pipeline(FunctionTransformer(_log_ratios), StandardScaler(), *last)

    squares = PolynomialFeatures(2, include_bias=False), StandardScaler()
    return [
        pipeline(LogisticRegression(max_iter=300)),
        pipeline(*squares, LogisticRegression(C=0.05, max_iter=300)),
    ]


def _in_simplex(activations: Floats) -> Floats:
    """Return logits whose softmax is a one-to-one image of activations of unit spread."""
    spread = activations.std(axis=0)
    scaled = (activations - activations.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return np.hstack([np.zeros((len(scaled), 1)), scaled])


def _log_ratios(prob: Floats) -> Floats:
    logarithms: Floats = np.log(prob)
    return logarithms[:, 1:] - logarithms[:, :1]


class Verdict(NamedTuple):
    activation: str
    generator: str
    method: str
    rises: xr.DataArray
    """how much sharper each layer seems than the one before it, mean over epochs, by seed"""
    broken: int
    """epochs × pairs of layers, neighbours or not, with a rise beyond chance"""

    @property
    def signs(self) -> list[int]:
        """Return +1 for a rise beyond chance, −1 for such a fall, else 0, by layer."""
        mean, shown = self.rises.mean("seed"), beyond_chance(self.rises, "seed")
        signs: list[int] = (np.sign(mean.values) * shown.values).astype(int).tolist()
        return signs

    @property
    def said(self) -> str:
        """Say where a rise is beyond chance: over all epochs, or else in single cases."""
        steps = zip(self.rises["step"].values, self.signs, strict=True)
        breaks = [step for step, sign in steps if sign > 0]
        if breaks:
            return "breaks at " + ", ".join(breaks)
        return f"breaks in {self.broken} single cases" if self.broken else "no break shown"


def rises(sharpness: xr.DataArray) -> xr.DataArray:
    """Return differences of neighbouring layers, by step from one to the next."""
    steps = [f"{a}→{b}" for a, b in pairwise(sharpness["layer"].values.tolist())]
    return sharpness.diff("layer").rename(layer="step").assign_coords(step=steps)


def verdicts(summary: xr.Dataset) -> list[Verdict]:
    found = []
    for (activation, generator, method), of in selections(
        summary, "activation", "generator", "method"
    ):
        sharpness = of["sharpness"]
        layers = (sharpness.isel(layer=i, drop=True) for i in range(sharpness.sizes["layer"]))
        broken = sum(int(grows(b - a).sum()) for a, b in combinations(layers, 2))
        pooled = rises(sharpness).mean("epoch")
        found.append(Verdict(activation, generator, method, pooled, broken))
    return found


def table(summary: xr.Dataset) -> str:
    """Return sharpness at the end, rises between layers, and the verdict."""
    return "\n".join([_PREAMBLE, *_last(summary), "", *_verdict(summary), "", *_gap(summary)])


def _line(levels: tuple[str, ...], cells: Iterator[str]) -> str:
    activation, generator, method = levels
    head = f"{activation:6} {loss(generator).divergence:4} {method:11}"
    return head + "".join(f" {cell:>15}" for cell in cells)


def _head(values: xr.DataArray) -> str:
    return " " * 23 + "".join(f" {value:>15}" for value in values.values.tolist())


def _cells(values: xr.DataArray, dim: str) -> Iterator[str]:
    """Return differences × 100 along a dimension."""
    for at in values.transpose(dim, ...):
        yield number(100 * at, 2, signed=True, marked=True)


def _last(summary: xr.Dataset) -> Iterator[str]:
    last = 100 * summary.isel(epoch=-1)
    yield (
        f"\nSharpness × 100 after epoch {int(last['epoch'])}, mean over seeds ± standard error, by "
        "layer"
    )
    yield _head(summary["layer"])
    for (activation,), of in selections(last, "activation"):
        for levels, at in selections(of, "generator", "method"):
            cells = (number(layer, 2) for layer in at["sharpness"].transpose("layer", ...))
            yield _line((activation, *levels), cells)
        yield f"{activation:6} accuracy {number(of['accuracy'], 1)} %"


def _verdict(summary: xr.Dataset) -> Iterator[str]:
    n = summary.sizes["epoch"] * comb(summary.sizes["layer"], 2)
    yield (
        "Rise of sharpness × 100 to the next layer, mean over epochs ± standard error over seeds\n"
        f"(*: beyond chance, 5 %). In brackets: of {n} pairs of layers, next to each other\n"
        "or not, and epochs, those where the later layer is the sharper one beyond chance\n"
        f"({LEVEL / 2 * n:.1f} are expected if all are equal)."
    )
    found = verdicts(summary)
    yield _head(found[0].rises["step"])
    for each in found:
        yield f"{_line(each[:3], _cells(each.rises, 'step'))}  ({each.broken}) {each.said}"


def _gap(summary: xr.Dataset) -> Iterator[str]:
    yield (
        "Claim: the gap between the first and the last hidden layer opens early and closes later.\n"
        "Sharpness × 100 of the first less that of the last hidden layer, by epoch:"
    )
    yield _head(summary["epoch"])
    for levels, of in selections(summary, "activation", "generator", "method"):
        first, last = (of["sharpness"].isel(layer=i, drop=True) for i in (0, -2))
        yield _line(levels, _cells(first - last, "epoch"))


def ordered(summary: xr.Dataset) -> tuple[str, str]:
    """Judge whether the published and the debiased estimates keep the order."""
    where: dict[tuple[str, str], list[str]] = {}
    for each in verdicts(summary):
        if each.method in ("risk", "debiased"):
            case = f"{each.activation}, {loss(each.generator).divergence}"
            where.setdefault((each.method, each.said), []).append(case)
    lines = [
        f"{_TITLES[method]}: {said} ({'; '.join(cases)})" for (method, said), cases in where.items()
    ]
    found = "\n".join(["Where the estimates show a later layer as the sharper one:", *lines])
    return found, "true of the population by a theorem; only estimates break it"


_TITLES = {**TITLES, "risk-tuned": "standardised, γ of least risk"}


def figures(summary: xr.Dataset) -> dict[str, Callable[[], Figure]]:
    """Return the layers of each activation function, and the differences between them."""
    layers = {
        f"layers-{name}": partial(_layers, of, name)
        for (name,), of in selections(summary, "activation")
    }
    return {**layers, "rises": partial(_rises, summary)}


def _layers(summary: xr.Dataset, activation: str) -> Figure:
    """Accuracy, and sharpness by epoch: a column a generator, a row an estimate, a line a layer."""
    title = f"Sharpness of the layers of a {activation} network, mean over seeds ± standard error"
    n_rows, n_columns = 1 + summary.sizes["method"], summary.sizes["generator"]
    figure, axes = panels(n_rows, n_columns, (WIDTH, 1.4 + 2.0 * n_rows), title)
    _accuracy(axes[0, 0], summary)
    for axis in axes[0, 1:]:
        axis.set_axis_off()
    for row, ((generator,), of) in zip(axes[1:].T, selections(summary, "generator"), strict=True):
        for axis, ((method,), at) in zip(row, selections(of, "method"), strict=True):
            layer_curves(at, ax=axis)
            axis.set(xlabel="", ylabel="")
            # It is left to the figure.
            if axis.get_legend() is not None:
                axis.get_legend().remove()
            axis.set_title(_TITLES[method])
            axis.set_ylabel(with_unit(f"{loss(generator).divergence} sharpness", generator))
        # On one scale, so that estimates of one quantity can be compared.
        low, high = np.transpose([axis.get_ylim() for axis in row])
        for axis in row:
            axis.set_ylim(low.min(), high.max())
    for axis in [axes[0, 0], *axes[-1]]:
        axis.set_xlabel("epoch")
    legend(figure, axes)
    return figure


def _accuracy(axis: Axes, summary: xr.Dataset) -> None:
    epochs = summary["epoch"].values
    shown = (("train_accuracy", "0.6", "x"), ("accuracy", "black", "+"))
    lines = []
    for name, colour, marker in shown:
        mean, error = mean_and_error(100 * summary[name], "seed")
        # A legend of its own: the figure's tells layers by these markers.
        style: dict[str, Any] = {"color": colour, "marker": marker, "capsize": 2, "label": "_"}
        lines.append(axis.errorbar(epochs, mean, error, **style))
    axis.legend(lines, ["training rows", "new rows"], loc="lower right", frameon=False)
    axis.set_title("accuracy")
    axis.set_ylabel("accuracy (%)")
    axis.set_xscale("log", base=2)
    axis.set_xticks(epochs, [str(epoch) for epoch in epochs])
    axis.minorticks_off()
    axis.grid(color="0.92", linewidth=0.6)
    axis.set_axisbelow(True)


def _rises(summary: xr.Dataset) -> Figure:
    """How much sharper each layer seems than the one before it: a row an activation function."""
    title = (
        "Rise of sharpness from a layer to the next (in truth never above 0),\n"
        "mean over epochs, and over seeds ± standard error"
    )
    n_rows, n_columns = summary.sizes["activation"], summary.sizes["generator"]
    size = (WIDTH, 1.6 + 2.1 * n_rows)
    figure, axes = panels(n_rows, n_columns, size, title, sharex=True)
    shown = selections(summary, "activation", "generator")
    for axis, ((activation, generator), of) in zip(axes.flat, shown, strict=True):
        for i, ((method,), at) in enumerate(selections(of, "method")):
            mean, error = mean_and_error(100 * rises(at["sharpness"].mean("epoch")), "seed")
            x = np.arange(mean.size) + 0.18 * (i - (len(METHODS) - 1) / 2)
            setting = int(method not in TITLES)
            looks = {**points(method, setting), "capsize": 2, "label": _TITLES[method]}
            axis.errorbar(x, mean, error, **looks)
        axis.axhline(0, color="black", linewidth=0.8)
        axis.set_title(f"{activation}, {loss(generator).divergence}")
        axis.set_xticks(range(mean.size), mean["step"].values)
        axis.set_ylabel(with_unit("rise × 100", generator))
        axis.grid(axis="y", color="0.92", linewidth=0.6)
        axis.set_axisbelow(True)
    for axis in axes[-1]:
        axis.set_xlabel("from layer → to layer")
    legend(figure, axes)
    return figure


QUICK = Design(
    "digits",
    HIDDEN,
    (1, 4, 16, 64),
    n_train=900,
    n_evaluated=448,
    n_seeds=3,
    activations=("relu", "tanh"),
)
TINY = dataclasses.replace(QUICK, epochs=(64,), n_evaluated=150, n_seeds=2, activations=("tanh",))
FULL = Design(
    "mnist",
    HIDDEN,
    (1, 2, 4, 8, 16, 32),
    n_train=60000,
    n_evaluated=2000,
    n_seeds=4,
    activations=("relu", "tanh"),
    batch_size=64,
)
_RIGHT = "whose class has the largest probability"
_CORRECTION = "kernel correction, inf for none"
_UNIT = "log: nats; Brier: summed over classes"
_INNER = ("generator", "method", "layer")
_OF_LAYER = ("generator", "layer")
STUDY = Study(
    name="information_monotonicity",
    about=__doc__ or "",
    presets={
        "tiny": (TINY, "two networks on scikit-learn's digits, seconds"),
        "quick": (QUICK, "six networks on scikit-learn's digits, about a minute"),
        "full": (FULL, "eight networks on MNIST, about ten minutes of processor time"),
    },
    outputs=outputs(
        {
            "train_accuracy": ((), f"share of training rows {_RIGHT}"),
            "accuracy": ((), "the same of the rows looked at"),
            "sharpness": (_INNER, f"sharpness ({_UNIT})"),
            "standard_error": (_OF_LAYER, "standard error of the debiased sharpness"),
            "kernel_bandwidth": (_OF_LAYER, f"median bandwidth of its {_CORRECTION}"),
        }
    ),
    measure=measure,
    levels={"generator": GENERATORS, "method": METHODS, "layer": LAYERS},
    read=read,
    data=DATA,
    table=table,
    claims=(
        Claim(
            "Each layer is at least as sharp as the next, throughout training; the output layer is "
            "left out",
            ordered,
            "section 6.3, Fig. 3",
        ),
    ),
    figures=figures,
    source="Fig. 3",
    reads="MNIST",
    shown="rises",
)

if __name__ == "__main__":
    sys.exit(main(STUDY))
