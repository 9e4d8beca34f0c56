"""Calibration errors of every class against the rest, by several estimates."""

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
from scipy.special import expit, logsumexp

from propercal import decompose
from propercal._data.messages import bad_value
from propercal.experiments.store import CellResult
from propercal.experiments.workers import one_thread
from studies.labelled import labelled
from studies.predictions import Floats, digest, whole_set
from studies.rivals import N_BINS, bin_of

GENERATORS = ("log", "brier")
METHODS = ("risk", "debiased")
#: The paper's.
BANDWIDTH = 0.02
N_RESAMPLES = 200


class Cell(NamedTuple):
    """All classes of one model."""

    model: str


@dataclass(frozen=True)
class Design:
    """Models, each with every class, generator and method."""

    models: Sequence[str]
    seed: int = 0
    contents: Sequence[str] = ()
    """A digest of each model's files."""

    def __post_init__(self) -> None:
        if not self.models or len(set(self.models)) < len(self.models):
            raise bad_value("models", repr(self.models), "distinct levels", "name one")

    def cells(self) -> list[Cell]:
        return [Cell(model) for model in self.models]

    def cost(self, _: Cell) -> float:
        return 1.0

    def to_json(self) -> str:
        settings = {"bandwidth": BANDWIDTH, "n_bins": N_BINS, "n_resamples": N_RESAMPLES}
        return json.dumps({**asdict(self), **settings})


def read(design: Design, data: Path) -> Design:
    """Return the design that names what its files hold; its models have the same classes."""
    contents = tuple(digest(model, data) for model in design.models)
    counts = [whole_set(model, design.seed, data)[0].shape[1] for model in design.models]
    if len(set(counts)) > 1:
        found = ", ".join(f"{model}: {k}" for model, k in zip(design.models, counts, strict=True))
        raise bad_value("models", found, "as many classes for each", "study them one by one")
    return dataclasses.replace(design, contents=contents)


def run_cell(design: Design, cell: Cell, data: Path) -> CellResult:
    """Measure every class of a model."""
    log_prob, labels = whole_set(cell.model, design.seed, data)
    key = (crc32(cell.model.encode()), 1)
    rng = np.random.default_rng(np.random.SeedSequence(design.seed, spawn_key=key))
    with one_thread(), warnings.catch_warnings():
        # Of shares of the kernel, which are part of what is measured.
        warnings.simplefilter("ignore", UserWarning)
        found = [_measure(_logit(log_prob, i), labels == i, rng) for i in range(log_prob.shape[1])]
    return CellResult(cell, {name: [each[name] for each in found] for name in found[0]})


def _logit(log_prob: Floats, i: int) -> Floats:
    """Return log p_i − log(1 − p_i), without the rounding of 1 − p_i."""
    return np.asarray(log_prob[:, i] - logsumexp(np.delete(log_prob, i, axis=1), axis=1))


def _measure(logit: Floats, occurred: Any, rng: np.random.Generator) -> dict[str, Any]:
    shared: dict[str, Any] = {"generator": list(GENERATORS), "from_logits": True}
    paper = decompose(occurred, logit, method="risk", bandwidth=BANDWIDTH, **shared)
    ours = decompose(occurred, logit, **shared)
    ends = [each.interval("calibration_error", 0.95) for each in ours]
    prob = expit(logit)
    sums = _sums(prob, occurred)
    null = [_binned(_sums(prob, rng.random(prob.shape) < prob)) for _ in range(N_RESAMPLES)]
    return {
        "estimate": [
            [each.calibration_error for each in pair] for pair in zip(paper, ours, strict=True)
        ],
        "standard_error": [each.standard_errors["calibration_error"] for each in ours],
        "lower": [low for low, _ in ends],
        "upper": [high for _, high in ends],
        "loss": [each.risk for each in ours],
        "binned": _binned(sums),
        "binned_null": float(np.mean(null)),
        "count": sums[0].tolist(),
        "prediction": sums[1].tolist(),
        "frequency": sums[2].tolist(),
    }


def _sums(prob: Floats, occurred: Any) -> Floats:
    """Return rows, mean prediction and frequency of every bin of equal width, 0 where empty."""
    at = bin_of(prob)
    count = np.bincount(at, minlength=N_BINS).astype(np.float64)
    means = [np.bincount(at, x, minlength=N_BINS) / np.maximum(count, 1) for x in (prob, occurred)]
    return np.stack([count, *means])


def _binned(sums: Floats) -> float:
    """Return the binned CE_1: the mean over rows of |frequency − mean prediction| of their bin."""
    count, prediction, frequency = sums
    return float(count @ np.abs(frequency - prediction) / count.sum())


_DIMS: dict[str, tuple[str, ...]] = {
    "estimate": ("generator", "method"),
    **dict.fromkeys(("standard_error", "lower", "upper", "loss"), ("generator",)),
    **dict.fromkeys(("binned", "binned_null"), ()),
    **dict.fromkeys(("count", "prediction", "frequency"), ("bin",)),
}
_NAMES = {
    "estimate": "calibration error of the class against the rest",
    "standard_error": "standard error of the debiased one",
    "lower": "lower end of the debiased one's 95 % interval",
    "upper": "upper end of the debiased one's 95 % interval",
    "loss": "mean loss of the class against the rest",
    "binned": f"binned CE_1, {N_BINS} bins of equal width",
    "binned_null": "mean of the binned CE_1 of labels drawn from the predictions",
    "count": "rows in the bin",
    "prediction": "mean prediction in the bin",
    "frequency": "frequency of the class in the bin",
}


def assemble(design: Design, results: Iterable[CellResult]) -> xr.Dataset:
    """Arrange the numbers of all cells."""
    found = {Cell(*result.cell).model: result.numbers for result in results}
    values = {
        name: np.array([found[model][name] for model in design.models], dtype=np.float64)
        for name in _DIMS
    }
    coords = {
        "model": list(design.models),
        "class": np.arange(values["binned"].shape[1]),
        "generator": list(GENERATORS),
        "method": list(METHODS),
    }
    dims = {name: ("model", "class", *inner) for name, inner in _DIMS.items()}
    return labelled(values, dims, _NAMES, coords)
