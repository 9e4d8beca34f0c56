"""The study of monitoring as text, with its verdict on the paper's claims."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import xarray as xr

from studies.training_design import beyond_chance, mean_and_error

#: Weight of the past in the moving average.
MEMORY = 0.8
SYMBOLS = {"log": "KL", "brier": "L2"}
LOSSES = {"log": "log", "brier": "Brier"}

_PREAMBLE = """Validation rows, exponential moving averages; means over seeds ± standard errors.
risk: the paper's estimate, at its bandwidth 0.02. *: beyond chance (5 %)."""


class Stop(NamedTuple):
    """Where a criterion would stop training."""

    name: str
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
        if not _grows(self.loss):
            return "·"
        return f"{100 * float(self.calibration_error.mean() / self.loss.mean()):.0f} %"


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
    found = {"accuracy": -part["accuracy"]}
    for generator in summary["generator"].values.tolist():
        symbol = SYMBOLS[generator]
        found[f"{LOSSES[generator]} loss"] = part["loss"].sel(generator=generator)
        for name, title in (("calibration_error", "CE"), ("refinement", "refinement")):
            for method in summary["method"].values.tolist():
                at = {"generator": generator, "method": method}
                found[f"{title} {symbol}, {method}"] = part[name].sel(at)
    return {name: smooth(curve) for name, curve in found.items()}


def stops(summary: xr.Dataset) -> list[Stop]:
    """Return where each criterion stops, and what a network stopped there is worth."""
    log_loss = summary["fresh_loss"].sel(generator="log")
    found = []
    for name, curve in criteria(summary).items():
        epoch = curve.idxmin("epoch")
        found.append(
            Stop(name, epoch, log_loss.sel(epoch=epoch), summary["fresh_accuracy"].sel(epoch=epoch))
        )
    return found


def growth(summary: xr.Dataset, generator: str, method: str) -> Growth:
    """Return changes after the epoch whose smoothed mean loss is least, the same for all seeds."""
    part = summary.sel(part="monitor")
    loss = smooth(part["loss"].sel(generator=generator))
    least = loss.mean("seed").idxmin("epoch").item()
    at = {"generator": generator, "method": method}

    def change(curve: xr.DataArray) -> xr.DataArray:
        smoothed = smooth(curve)
        return smoothed.isel(epoch=-1) - smoothed.sel(epoch=least)

    return Growth(
        change(part["loss"].sel(generator=generator)),
        change(part["calibration_error"].sel(at)),
        change(part["refinement"].sel(at)),
        change(part["accuracy"]),
    )


def table(summary: xr.Dataset) -> str:
    """Return the stops and the three claims."""
    blocks = [[_PREAMBLE]]
    for activation in summary["activation"].values:
        of = summary.sel(activation=activation)
        blocks += [list(_stops(of)), list(_growth(of))]
    return "\n\n".join("\n".join(block) for block in blocks)


def _number(values: xr.DataArray, digits: int = 3, *, signed: bool = False) -> str:
    mean, error = mean_and_error(values)
    sign = "+" if signed else ""
    return f"{float(mean):{sign}.{digits}f} ± {float(error):.{digits}f}"


def _marked(values: xr.DataArray) -> str:
    return _number(values, signed=True) + ("*" if beyond_chance(values) else " ")


def _stops(summary: xr.Dataset) -> Iterator[str]:
    yield "Claim 1: the calibration error (KL) uncovers the same early stopping point as the loss."
    yield (
        f"{'stopped by the least':28} {'epoch':>13} {'fresh log loss':>16} {'fresh accuracy':>16} "
        f"{'cost in log loss':>17}"
    )
    found = stops(summary)
    (reference,) = (stop for stop in found if stop.name == "log loss")
    for stop in found:
        cost = stop.log_loss - reference.log_loss
        name = "error rate" if stop.name == "accuracy" else stop.name
        yield (
            f"{name:28} {_number(stop.epoch, 1):>13} {_number(stop.log_loss):>16} "
            f"{_number(stop.accuracy):>16} {_marked(cost):>18}"
        )
    for stop in found:
        if stop.name.startswith("CE KL"):
            apart = stop.epoch - reference.epoch
            cost = stop.log_loss - reference.log_loss
            said = [
                "another epoch" if beyond_chance(apart) else "",
                "a cost in log loss" if beyond_chance(cost) else "",
            ]
            verdict = (
                "fails: " + " and ".join(filter(None, said)) if any(said) else "holds in noise"
            )
            apart_by = _number(apart, 1, signed=True)
            yield f"  {stop.name}: {apart_by} epochs from where the loss stops: {verdict}"


def _growth(summary: xr.Dataset) -> Iterator[str]:
    yield (
        "Claim 2: after its minimum, the loss grows by calibration error, refinement is flat.\n"
        "Claim 3: the accuracy stays, while the calibration error grows considerably."
    )
    yield (
        f"{'growth to the last epoch':28} {'loss':>16} {'CE':>16} {'refinement':>17} "
        f"{'CE of loss':>10} {'accuracy':>17}  claim 2; claim 3"
    )
    for generator in summary["generator"].values.tolist():
        for method in summary["method"].values.tolist():
            of = growth(summary, generator, method)
            cells = [
                _marked(values)
                for values in (of.loss, of.calibration_error, of.refinement, of.accuracy)
            ]
            yield (
                f"{SYMBOLS[generator]}, {method:24} {cells[0]:>16} {cells[1]:>16} {cells[2]:>17} "
                f"{of.share:>10} {cells[3]:>17}  {second(of)}; {third(of)}"
            )
    yield "Debiased calibration error at the end, and the mean 95 % interval of a single network:"
    last = summary.sel(part="monitor").isel(epoch=-1)
    for generator in summary["generator"].values.tolist():
        of_last = last.sel(generator=generator)
        ends = [float(of_last[name].mean()) for name in ("lower", "upper")]
        error = float(of_last["calibration_error"].sel(method="debiased").mean())
        yield f"{SYMBOLS[generator]} {error:.3f} [{ends[0]:.3f}, {ends[1]:.3f}]"


def second(of: Growth) -> str:
    """Say whether the loss grows, and the refinement does not."""
    if not _grows(of.loss):
        return "no growth shown"
    if _grows(of.refinement):
        return "fails"
    return "holds (refinement falls)" if _grows(-of.refinement) else "holds"


def third(of: Growth) -> str:
    """Say whether the calibration error grows, and the accuracy does not fall."""
    if not _grows(of.calibration_error):
        return "no growth shown"
    return "fails" if _grows(-of.accuracy) else "holds"


def _grows(values: xr.DataArray) -> bool:
    return beyond_chance(values) and bool(np.mean(values) > 0)
