"""The study of layers as text, with its verdict on the paper's claim."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, pairwise
from math import comb
from typing import NamedTuple

import numpy as np
import xarray as xr

from studies.training_design import beyond_chance, mean_and_error

SYMBOLS = {"brier": "L2", "log": "KL"}
LEVEL = 0.05

_PREAMBLE = """Claim (the paper's Figure 3): each layer is at least as sharp as the next, always.
It is a theorem of the population, so what breaks it is an estimate. The output layer is a
one-to-one image of the layer before it (ten probabilities of nine nodes), and so is each layer of a
tanh network: there the true sharpness is the same.
risk: the paper's estimate at its bandwidth, 0.02; risk-tuned: every layer standardised, bandwidth
of least risk; debiased: what two classifiers and a kernel find, corrected."""


class Rise(NamedTuple):
    """How much sharper a layer seems than the one before it."""

    pair: str
    mean: float
    error: float
    """standard error over seeds"""
    sign: int
    """+1 for a rise beyond chance, −1 for such a fall, else 0"""


class Verdict(NamedTuple):
    activation: str
    generator: str
    method: str
    rises: list[Rise]
    """from each layer to the next, mean over epochs"""
    broken: int
    """epochs × pairs of layers, neighbours or not, with a rise beyond chance"""

    @property
    def said(self) -> str:
        """Say where a rise is beyond chance: over all epochs, or else in single cases."""
        breaks = [rise.pair for rise in self.rises if rise.sign > 0]
        if breaks:
            return "breaks at " + ", ".join(breaks)
        return f"breaks in {self.broken} single cases" if self.broken else "no break shown"


def pairs(summary: xr.Dataset) -> list[str]:
    return [f"{a}→{b}" for a, b in pairwise(summary["layer"].values.tolist())]


def rises(sharpness: xr.DataArray) -> xr.DataArray:
    """Return differences of neighbouring layers, named by the first of them."""
    return sharpness.diff("layer", label="lower")


def verdicts(summary: xr.Dataset) -> list[Verdict]:
    found = []
    names = pairs(summary)
    for activation in summary["activation"].values.tolist():
        for generator in summary["generator"].values.tolist():
            for method in summary["method"].values.tolist():
                at = {"activation": activation, "generator": generator, "method": method}
                sharpness = summary["sharpness"].sel(at)
                pooled = _rises(names, rises(sharpness).mean("epoch"))
                layers = range(sharpness.sizes["layer"])
                broken = sum(
                    beyond_chance(step) and bool(step.mean() > 0)
                    for a, b in combinations((sharpness.isel(layer=i) for i in layers), 2)
                    for _, step in (b - a).groupby("epoch")
                )
                found.append(Verdict(activation, generator, method, pooled, broken))
    return found


def _rises(names: list[str], steps: xr.DataArray) -> list[Rise]:
    found = []
    for i, name in enumerate(names):
        step = steps.isel(layer=i)
        mean, error = (float(each) for each in mean_and_error(step))
        found.append(Rise(name, mean, error, int(np.sign(mean)) if beyond_chance(step) else 0))
    return found


def table(summary: xr.Dataset) -> str:
    """Return sharpness at the end, rises between layers, and the verdict."""
    return "\n".join([_PREAMBLE, *_last(summary), "", *_verdict(summary), "", *_gap(summary)])


def _last(summary: xr.Dataset) -> Iterator[str]:
    last = summary.isel(epoch=-1)
    heads = "".join(f" {name:>15}" for name in summary["layer"].values.tolist())
    yield (
        f"\nSharpness × 100 after epoch {int(last['epoch'])}, mean over seeds ± standard error, by "
        "layer"
    )
    yield f"{'':23}{heads}"
    for activation in summary["activation"].values.tolist():
        for generator in summary["generator"].values.tolist():
            for method in summary["method"].values.tolist():
                mean, error = mean_and_error(
                    100
                    * last["sharpness"].sel(
                        {"activation": activation, "generator": generator, "method": method}
                    )
                )
                cells = "".join(
                    f" {f'{m:.2f} ± {e:.2f}':>15}"
                    for m, e in zip(mean.values, error.values, strict=True)
                )
                yield f"{activation:6} {SYMBOLS.get(generator, generator):4} {method:11}{cells}"
        accuracy, error = mean_and_error(100 * last["accuracy"].sel(activation=activation))
        yield f"{activation:6} accuracy {float(accuracy):.1f} ± {float(error):.1f} %"


def _verdict(summary: xr.Dataset) -> Iterator[str]:
    steps = pairs(summary)
    n = summary.sizes["epoch"] * comb(summary.sizes["layer"], 2)
    yield (
        "Rise of sharpness × 100 to the next layer, mean over epochs ± standard error over seeds\n"
        "(*: beyond chance, 5 %). In brackets: of "
        + str(n)
        + " pairs of layers, next to each other\n"
        "or not, and epochs, those where the later layer is the sharper one beyond chance\n"
        f"({LEVEL / 2 * n:.1f} are expected if all are equal)."
    )
    yield f"{'':23}" + "".join(f" {name:>15}" for name in steps)
    for each in verdicts(summary):
        cells = "".join(
            f" {f'{100 * rise.mean:+.2f} ± {100 * rise.error:.2f}':>14}{'*' if rise.sign else ' '}"
            for rise in each.rises
        )
        name = (
            f"{each.activation:6} {SYMBOLS.get(each.generator, each.generator):4} {each.method:11}"
        )
        yield f"{name}{cells}  ({each.broken}) {each.said}"


def _gap(summary: xr.Dataset) -> Iterator[str]:
    yield (
        "Claim: the gap between the first and the last hidden layer opens early and closes later.\n"
        "Sharpness × 100 of the first less that of the last hidden layer, by epoch:"
    )
    yield f"{'':23}" + "".join(f" {epoch:>15}" for epoch in summary["epoch"].values.tolist())
    layers = summary["layer"].values
    for activation in summary["activation"].values.tolist():
        for generator in summary["generator"].values.tolist():
            for method in summary["method"].values.tolist():
                of = 100 * summary["sharpness"].sel(
                    {"activation": activation, "generator": generator, "method": method}
                )
                gap = of.sel(layer=layers[0]) - of.sel(layer=layers[-2])
                mean, error = mean_and_error(gap)
                cells = "".join(
                    f" {f'{m:+.2f} ± {e:.2f}':>14}{'*' if beyond_chance(each) else ' '}"
                    for m, e, (_, each) in zip(
                        mean.values, error.values, gap.groupby("epoch"), strict=True
                    )
                )
                yield f"{activation:6} {SYMBOLS.get(generator, generator):4} {method:11}{cells}"
