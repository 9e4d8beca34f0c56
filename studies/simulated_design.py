"""Estimates of a calibration error that is known, on the same simulated samples."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from propercal import decompose, select_bandwidth
from propercal._data.messages import bad_value, unknown_name
from propercal._kernels.kernels import BinningKernel
from propercal.experiments.store import CellResult
from propercal.experiments.workers import one_thread
from propercal.methods import PUBLISHED_METHODS
from propercal.simulation import TemperatureScaledSimplex
from studies.labelled import labelled

#: The bandwidth that is the leave-one-out likelihood's choice, as in the paper.
LIKELIHOOD = "γ by likelihood"
_BINS = 1 / BinningKernel.n_bins
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


class Cell(NamedTuple):
    """One simulated data set."""

    n_classes: int
    sample_size: int
    replicate: int


@dataclass(frozen=True)
class Design:
    """Class counts × sample sizes × replicates, each with every estimate, notion and generator."""

    smoothers: Sequence[str]
    notions: Sequence[str] = ("classwise",)
    generators: Sequence[str] = ("log", "brier")
    n_classes: Sequence[int] = (2, 5, 10)
    sample_sizes: Sequence[int] = (100, 300, 1000)
    n_replicates: Sequence[int] = (10, 10, 10)
    """for each sample size"""
    label_temperature: float = 0.9
    score_temperature: float = 0.6
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("smoothers", "notions", "generators", "n_classes", "sample_sizes"):
            found = getattr(self, name)
            if not found or len(set(found)) < len(found):
                raise bad_value(name, repr(found), "distinct levels", "name one")
        for name in self.smoothers:
            if name not in SMOOTHERS:
                raise unknown_name("smoothers", name, SMOOTHERS)
        if min(self.sample_sizes) < 20:
            raise bad_value("sample_sizes", repr(self.sample_sizes), "20 or more", "leave it out")
        if len(self.n_replicates) != len(self.sample_sizes) or min(self.n_replicates) < 2:
            expected = "2 or more for each of the sample sizes, for an error bar"
            raise bad_value("n_replicates", repr(self.n_replicates), expected, "pass as many")
        for k in self.n_classes:
            self.model(k)

    @property
    def estimators(self) -> list[str]:
        published = [f"{m}, {smoother}" for smoother in self.smoothers for m in PUBLISHED_METHODS]
        return [*published, DEBIASED]

    def model(self, n_classes: int) -> TemperatureScaledSimplex:
        return TemperatureScaledSimplex(n_classes, self.label_temperature, self.score_temperature)

    def cells(self) -> list[Cell]:
        cells = [
            Cell(k, n, replicate)
            for k in self.n_classes
            for n, count in zip(self.sample_sizes, self.n_replicates, strict=True)
            for replicate in range(count)
        ]
        return sorted(cells, key=lambda cell: (-self.cost(cell), cell))

    def cost(self, cell: Cell) -> float:
        # In seconds of one core.
        n = cell.sample_size / 1000
        canonical = 0.2 * n**2 if "canonical" in self.notions else 0
        return 0.5 + cell.n_classes * (0.1 + 0.15 * n) + canonical

    def to_json(self) -> str:
        return json.dumps(asdict(self))


def run_cell(design: Design, cell: Cell) -> CellResult:
    """Simulate one data set and measure every estimate on it."""
    seed = np.random.SeedSequence(design.seed, spawn_key=cell)
    y_true, y_proba, _ = design.model(cell.n_classes).sample(cell.sample_size, seed)
    errors, lower, upper = [], [], []
    with one_thread(), warnings.catch_warnings():
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
            ends = [each.interval("calibration_error", 0.95) for each in ours]
            lower.append([low for low, _ in ends])
            upper.append([high for _, high in ends])
    # From estimators by generators to generators by estimators.
    table = np.swapaxes(np.array(errors), 1, 2)
    return CellResult(cell, {"calibration_error": table.tolist(), "lower": lower, "upper": upper})


_NAMES = {
    "calibration_error": "estimated calibration error",
    "lower": "lower end of the debiased estimate's 95 % interval",
    "upper": "upper end of the debiased estimate's 95 % interval",
    "truth": "calibration error",
}


def assemble(design: Design, results: Iterable[CellResult]) -> xr.Dataset:
    """Arrange the numbers of all cells, with the truth."""
    coords: dict[str, list[Any]] = {
        "notion": list(design.notions),
        "generator": list(design.generators),
        "estimator": design.estimators,
        "n_classes": list(design.n_classes),
        "sample_size": list(design.sample_sizes),
        "replicate": list(range(max(design.n_replicates))),
    }
    inner = ("n_classes", "sample_size", "replicate")
    dims: dict[str, tuple[str, ...]] = {
        "calibration_error": ("notion", "generator", "estimator", *inner),
        "lower": ("notion", "generator", *inner),
        "upper": ("notion", "generator", *inner),
        "truth": ("notion", "generator", "n_classes"),
    }
    values = {name: np.full([len(coords[d]) for d in of], np.nan) for name, of in dims.items()}
    for result in results:
        cell = Cell(*result.cell)
        where = (
            ...,
            coords["n_classes"].index(cell.n_classes),
            coords["sample_size"].index(cell.sample_size),
            cell.replicate,
        )
        for name, numbers in result.numbers.items():
            values[name][where] = numbers
    values["truth"][:] = [
        [
            [design.model(k).truth(f, notion).value for k in design.n_classes]
            for f in design.generators
        ]
        for notion in design.notions
    ]
    return labelled(values, dims, _NAMES, coords)
