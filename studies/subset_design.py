"""Estimates on subsets of a test set, and on all of it."""

from __future__ import annotations

import dataclasses
import json
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
import xarray as xr

from propercal import decompose
from propercal._data.messages import bad_value
from propercal.experiments.store import CellResult
from propercal.experiments.workers import one_thread
from studies.data import digest, whole_set
from studies.labelled import labelled

METHODS = ("risk", "direct", "debiased")
#: The paper's.
BANDWIDTH = 0.02
#: In place of a size: all rows.
WHOLE = 0


class Cell(NamedTuple):
    """One subset of a model's test set."""

    model: str
    sample_size: int
    replicate: int


@dataclass(frozen=True)
class Design:
    """Models × subset sizes × replicates, and the whole set of each model."""

    models: Sequence[str]
    sample_sizes: Sequence[int] = (100, 200, 500)
    n_replicates: int = 20
    generators: Sequence[str] = ("log", "brier")
    seed: int = 0
    contents: Sequence[str] = ()
    """A digest of each model's files."""

    def __post_init__(self) -> None:
        for name in ("models", "sample_sizes", "generators"):
            found = getattr(self, name)
            if not found or len(set(found)) < len(found):
                raise bad_value(name, repr(found), "distinct levels", "name one")
        if min(self.sample_sizes) < 50:
            raise bad_value("sample_sizes", repr(self.sample_sizes), "50 or more", "leave it out")
        if self.n_replicates < 2:
            raise bad_value("n_replicates", repr(self.n_replicates), "2 or more", "pass 20")

    def cells(self) -> list[Cell]:
        cells = [Cell(model, WHOLE, 0) for model in self.models]
        cells += [
            Cell(model, n, replicate)
            for n in sorted(self.sample_sizes, reverse=True)
            for model in self.models
            for replicate in range(self.n_replicates)
        ]
        return cells

    def cost(self, cell: Cell) -> float:
        return 2 + (cell.sample_size or 10_000) / 500

    def to_json(self) -> str:
        return json.dumps({**asdict(self), "bandwidth": BANDWIDTH})


def read(design: Design, data: Path) -> Design:
    """Return the design that names what its files hold; subsets must be smaller than the sets."""
    contents = tuple(digest(model, data) for model in design.models)
    for model in design.models:
        n = len(whole_set(model, design.seed, data)[1])
        if max(design.sample_sizes) >= n:
            raise bad_value(
                "sample_sizes",
                repr(design.sample_sizes),
                f"less than {n}, for {model}",
                "leave it out",
            )
    return dataclasses.replace(design, contents=contents)


def run_cell(design: Design, cell: Cell, data: Path) -> CellResult:
    """Measure every estimate on one subset."""
    log_prob, labels = whole_set(cell.model, design.seed, data)
    if cell.sample_size != WHOLE:
        key = (crc32(cell.model.encode()), *cell[1:])
        rng = np.random.default_rng(np.random.SeedSequence(design.seed, spawn_key=key))
        rows = rng.choice(len(labels), cell.sample_size, replace=False)
        log_prob, labels = log_prob[rows], labels[rows]
    shared: dict[str, Any] = {
        "generator": list(design.generators),
        "notion": "classwise",
        "from_logits": True,
    }
    with one_thread(), warnings.catch_warnings():
        # Of shares of the kernel, which are part of what is measured.
        warnings.simplefilter("ignore", UserWarning)
        found = [
            decompose(labels, log_prob, method=method, bandwidth=BANDWIDTH, **shared)
            for method in METHODS[:2]
        ]
        ours = decompose(labels, log_prob, **shared)
    ends = [each.interval("calibration_error", 0.95) for each in ours]
    return CellResult(
        cell,
        {
            "estimate": [
                [each.calibration_error for each in same] for same in zip(*found, ours, strict=True)
            ],
            "lower": [low for low, _ in ends],
            "upper": [high for _, high in ends],
            "n_rows": len(labels),
        },
    )


_NAMES = {
    "estimate": "class-wise calibration error of a subset",
    "lower": "lower end of the debiased estimate's 95 % interval",
    "upper": "upper end of the debiased estimate's 95 % interval",
    "reference": "the same estimate of the whole test set",
    "reference_lower": "lower end of the debiased one's 95 % interval",
    "reference_upper": "upper end of the debiased one's 95 % interval",
    "n_rows": "rows of the whole test set",
}
_WHOLE = {
    "estimate": "reference",
    "lower": "reference_lower",
    "upper": "reference_upper",
    "n_rows": "n_rows",
}


def assemble(design: Design, results: Iterable[CellResult]) -> xr.Dataset:
    """Arrange the numbers of all cells."""
    coords: dict[str, list[Any]] = {
        "model": list(design.models),
        "generator": list(design.generators),
        "method": list(METHODS),
        "sample_size": list(design.sample_sizes),
        "replicate": list(range(design.n_replicates)),
    }
    whole: dict[str, tuple[str, ...]] = {
        "reference": ("model", "generator", "method"),
        "reference_lower": ("model", "generator"),
        "reference_upper": ("model", "generator"),
    }
    subset = ("sample_size", "replicate")
    dims: dict[str, tuple[str, ...]] = {
        "estimate": (*whole["reference"], *subset),
        "lower": ("model", "generator", *subset),
        "upper": ("model", "generator", *subset),
        **whole,
        "n_rows": ("model",),
    }
    values = {name: np.full([len(coords[d]) for d in of], np.nan) for name, of in dims.items()}
    for result in results:
        cell = Cell(*result.cell)
        model = coords["model"].index(cell.model)
        for name, numbers in result.numbers.items():
            if cell.sample_size == WHOLE:
                values[_WHOLE[name]][model] = numbers
            elif name in dims and name != "n_rows":
                n = coords["sample_size"].index(cell.sample_size)
                values[name][(model, ..., n, cell.replicate)] = numbers
    return labelled(values, dims, _NAMES, coords)
