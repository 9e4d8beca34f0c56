"""The study of model selection as text, with its verdict on the paper's claim."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import xarray as xr

from propercal.plotting import on_front
from studies.training_design import beyond_chance, mean_and_error

SYMBOLS = {"log": "CE_KL", "brier": "CE_2²"}

_PREAMBLE = """Claim: snapshots trade accuracy for calibration, and their Pareto front (means over
seeds) shows the best compromises. risk: the paper's estimate, class-wise, at its bandwidth 0.02."""


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
    accuracy = summary["accuracy"]
    for generator in summary["generator"].values.tolist():
        for method in summary["method"].values.tolist():
            error = summary["calibration_error"].sel({"generator": generator, "method": method})
            places = on_front(accuracy.mean("seed").values, error.mean("seed").values)
            epochs = summary["epoch"].values[places].tolist()
            ends = {"epoch": epochs[0]}, {"epoch": epochs[-1]}
            trade_off = len(epochs) > 1 and all(
                beyond_chance(values.sel(ends[1]) - values.sel(ends[0]))
                for values in (accuracy, error)
            )
            found.append(Front(generator, method, epochs, trade_off))
    return found


def beaten(summary: xr.Dataset, generator: str, method: str, epochs: list[int]) -> list[int]:
    """Return those snapshots that another beats beyond chance in the calibration error by `method`.

    Its mean accuracy is at least as high.
    """
    error = summary["calibration_error"].sel({"generator": generator, "method": method})
    accuracy = summary["accuracy"].mean("seed")
    others = summary["epoch"].values.tolist()
    return [
        epoch
        for epoch in epochs
        if any(
            accuracy.sel(epoch=other) >= accuracy.sel(epoch=epoch)
            and (saved := error.sel(epoch=epoch) - error.sel(epoch=other)).mean() > 0
            and beyond_chance(saved)
            for other in others
            if other != epoch
        )
    ]


def table(summary: xr.Dataset) -> str:
    """Return the snapshots, the fronts and the verdict."""
    blocks = [[_PREAMBLE]]
    for activation in summary["activation"].values:
        of = summary.sel(activation=activation)
        blocks += [list(_snapshots(of)), list(_verdict(of))]
    return "\n\n".join("\n".join(block) for block in blocks)


def _cell(values: xr.DataArray, digits: int) -> str:
    mean, error = (float(each) for each in mean_and_error(100 * values))
    return f"{mean:.{digits}f} ± {error:.{digits}f}"


def _snapshots(summary: xr.Dataset) -> Iterator[str]:
    found = fronts(summary)
    heads = "".join(f" {f'{SYMBOLS[f.generator]}, {f.method}':>18}" for f in found)
    yield "Accuracy and calibration error × 100, mean over seeds ± standard error; *: on the front"
    yield f"{'epoch':>5} {'accuracy':>14}{heads}"
    for epoch in summary["epoch"].values.tolist():
        of = summary.sel(epoch=epoch)
        errors = [
            of["calibration_error"].sel({"generator": f.generator, "method": f.method})
            for f in found
        ]
        marks = ["*" if epoch in front.epochs else " " for front in found]
        cells = "".join(
            f" {_cell(error, 3):>17}{mark}" for error, mark in zip(errors, marks, strict=True)
        )
        yield f"{epoch:5} {_cell(of['accuracy'], 2):>14}{cells}"


def _verdict(summary: xr.Dataset) -> Iterator[str]:
    found = {(f.generator, f.method): f for f in fronts(summary)}
    for (generator, method), front in found.items():
        if len(front.epochs) == 1:
            said = "fails: one snapshot is best in both"
        elif front.trade_off:
            said = "holds: its ends differ in both beyond chance (5 %)"
        else:
            said = "not shown: its ends do not differ in both beyond chance (5 %)"
        yield f"{SYMBOLS[generator]}, {method:9} front at epochs {front.epochs}: trade-off {said}"
    for generator in summary["generator"].values.tolist():
        paper, ours = (found[generator, method] for method in ("risk", "debiased"))
        lost = beaten(summary, generator, "debiased", paper.epochs)
        shared = sorted(set(paper.epochs) & set(ours.epochs))
        yield (
            f"{SYMBOLS[generator]}: {len(shared)} of {len(set(paper.epochs) | set(ours.epochs))} "
            f"snapshots on either front are on both; {len(lost)} of {len(paper.epochs)} on the "
            "paper's are beaten by the debiased estimate, beyond chance"
        )
