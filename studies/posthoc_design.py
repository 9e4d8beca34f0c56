"""What the post-hoc calibration study compares, on which predictions, and by which estimates."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
import xarray as xr

from propercal import Decomposition, PairedDifference, decompose, paired_difference
from propercal._data.messages import bad_value
from propercal.experiments.store import CellResult
from propercal.experiments.workers import one_thread
from propercal.recalibration import ClasswiseIsotonic, TemperatureScaling
from studies.data import DIGITS, Floats, Labels, digits, files_of, read

RECALIBRATIONS = ("none", "temperature", "isotonic", "isotonic-smoothed")
RIVALS = RECALIBRATIONS[2:]
METHODS = ("risk", "direct", "debiased")
PARTS = ("standard_error", "lower", "upper", "lower_bound", "kernel_share")
PAIRED = ("difference", "difference_se", "difference_lower", "difference_upper", "pvalue")
SCORES = ("accuracy", "nll", "brier", "zero_rows")
# The bandwidth of the paper's tables.
BANDWIDTH = 0.02
# Zeros of isotonic regression make the log loss infinite; like the paper, no probability is less.
FLOOR = 1e-7


class Cell(NamedTuple):
    """One set of predictions, split once."""

    model: str
    seed: int


class Split(NamedTuple):
    """Rows to calibrate on, and rows to evaluate on."""

    calibration: tuple[Floats, Labels]
    """log probabilities (n, k) and labels"""
    evaluation: tuple[Floats, Labels]


@dataclass(frozen=True)
class Design:
    """Models × splits, each with every recalibration, notion, generator and method."""

    models: Sequence[str]
    """Names of DIGITS, or npz files below the data folder."""
    n_seeds: int = 1
    max_rows: int = 5000
    """Most rows to calibrate on, and to evaluate on."""
    notions: Sequence[str] = ("classwise", "canonical")
    generators: Sequence[str] = ("log", "brier")
    seed: int = 0
    contents: Sequence[str] = ()
    """A digest of each model's files."""

    def __post_init__(self) -> None:
        for name in ("models", "notions", "generators"):
            found = getattr(self, name)
            if not found or len(set(found)) < len(found):
                raise bad_value(name, repr(found), "distinct levels", "name one")
        if self.n_seeds < 1:
            raise bad_value("n_seeds", repr(self.n_seeds), "1 or more", "pass 1")
        if self.max_rows < 50:
            raise bad_value("max_rows", repr(self.max_rows), "50 or more", "5000 is usual")

    def cells(self) -> list[Cell]:
        return [Cell(model, seed) for model in self.models for seed in range(self.n_seeds)]

    def cost(self, cell: Cell) -> float:
        return 1.0 if cell.model in DIGITS else 20.0

    def to_json(self) -> str:
        return json.dumps({**asdict(self), "bandwidth": BANDWIDTH, "floor": FLOOR})


def split(design: Design, cell: Cell, data: Path) -> Split:
    """Return the validation and the test rows, or a random half each where there is one file."""
    key = (crc32(cell.model.encode()), cell.seed)
    rng = np.random.default_rng(np.random.SeedSequence(design.seed, spawn_key=key))
    if cell.model in DIGITS:
        parts = [digits(cell.model, rng)]
    else:
        parts = [read(path) for path in files_of(cell.model, data)]
    if len(parts) == 1:
        ((log_prob, labels),) = parts
        order = rng.permutation(len(labels))
        halves = order[: len(order) // 2], order[len(order) // 2 :]
        parts = [(log_prob[rows], labels[rows]) for rows in halves]
    chosen = [rng.permutation(len(part[1]))[: design.max_rows] for part in parts]
    return Split(*((z[rows], y[rows]) for (z, y), rows in zip(parts, chosen, strict=True)))


def recalibrated(rows: Split) -> tuple[dict[str, Floats], float]:
    """Return the evaluation rows' probabilities under every recalibration, and T."""
    (z, y), (new, _) = rows
    scaling = TemperatureScaling(from_logits=True).fit(z, y)
    isotonic = ClasswiseIsotonic(from_logits=True).fit(z, y)
    smoothed = ClasswiseIsotonic(from_logits=True, smoothed=True).fit(z, y)
    found = {
        "none": np.exp(new),
        "temperature": scaling.predict_proba(new),
        "isotonic": isotonic.predict_proba(new),
        "isotonic-smoothed": smoothed.predict_proba(new),
    }
    return found, scaling.temperature_


def run_cell(design: Design, cell: Cell, data: Path) -> CellResult:
    """Recalibrate one model's predictions, and estimate all there is to compare."""
    with one_thread(), warnings.catch_warnings():
        # What the warnings are about is kept: the kernel's share, and rows with a zero.
        warnings.simplefilter("ignore", UserWarning)
        rows = split(design, cell, data)
        predictions, temperature = recalibrated(rows)
        y = rows.evaluation[1]
        numbers: dict[str, Any] = {
            "temperature": temperature,
            "n_calibration": len(rows.calibration[1]),
            "n_evaluated": len(y),
        }
        scores = [_scores(predictions[name], y) for name in RECALIBRATIONS]
        numbers |= dict(
            zip(SCORES, (list(each) for each in zip(*scores, strict=True)), strict=True)
        )
        floored = {
            name: _floored(prob) if name == "isotonic" else prob
            for name, prob in predictions.items()
        }
        return CellResult(cell, numbers | _estimates(design, floored, y))


def _scores(prob: Floats, y: Labels) -> tuple[float, ...]:
    of_label = prob[np.arange(len(y)), y]
    outcome = np.eye(prob.shape[1])[y]
    return (
        float(np.mean(prob.argmax(axis=1) == y)),
        float(-np.mean(np.log(np.maximum(of_label, FLOOR)))),
        float(np.mean(np.sum((prob - outcome) ** 2, axis=1))),
        float(np.sum(of_label == 0)),
    )


def _floored(prob: Floats) -> Floats:
    raised = np.maximum(prob, FLOOR)
    normalised: Floats = raised / raised.sum(axis=1, keepdims=True)
    return normalised


def _estimates(design: Design, predictions: dict[str, Floats], y: Labels) -> dict[str, Any]:
    n_notions, n_generators = len(design.notions), len(design.generators)
    shape = (len(RECALIBRATIONS), n_notions, n_generators)
    table: dict[str, Any] = {
        "estimate": np.full((*shape, len(METHODS)), np.nan),
        **{name: np.full(shape, np.nan) for name in PARTS},
        **{name: np.full((len(RIVALS), *shape[1:]), np.nan) for name in PAIRED},
    }
    for i, notion in enumerate(design.notions):
        for r, name in enumerate(RECALIBRATIONS):
            for m, method in enumerate(METHODS[:2]):
                published = decompose(
                    y,
                    predictions[name],
                    generator=list(design.generators),
                    notion=notion,
                    method=method,
                    bandwidth=BANDWIDTH,
                )
                table["estimate"][r, i, :, m] = [each.calibration_error for each in published]
        shared: dict[str, Any] = {"generator": list(design.generators), "notion": notion}
        before = decompose(y, predictions["none"], **shared)
        for j, result in enumerate(before):
            _store(table, (0, i, j), result)
        for v, rival in enumerate(RIVALS):
            pairs = paired_difference(y, predictions[rival], predictions["temperature"], **shared)
            for j, pair in enumerate(pairs):
                for name, value in zip(PAIRED, _paired(pair), strict=True):
                    table[name][v, i, j] = value
                _store(table, (RECALIBRATIONS.index(rival), i, j), pair.a)
                _store(table, (RECALIBRATIONS.index("temperature"), i, j), pair.b)
    return {name: values.tolist() for name, values in table.items()}


def _store(table: dict[str, Any], where: tuple[int, int, int], result: Decomposition) -> None:
    estimate = float(result.calibration_error)
    table["estimate"][(*where, METHODS.index("debiased"))] = estimate
    if not math.isfinite(estimate):
        return
    lower, upper = result.interval("calibration_error", 0.95)
    error = result.standard_errors["calibration_error"]
    values = (error, lower, upper, result.lower_bound, result.kernel_share)
    for name, value in zip(PARTS, values, strict=True):
        table[name][where] = value


def _paired(found: PairedDifference) -> tuple[float, ...]:
    if not math.isfinite(found.difference):
        return (found.difference, *[math.nan] * 4)
    return (found.difference, found.standard_error, *found.interval(0.95), found.pvalue)


def assemble(design: Design, results: Iterable[CellResult]) -> xr.Dataset:
    """Arrange the numbers of all cells."""
    first, inner = ("model", "seed"), ("notion", "generator")
    dims: dict[str, tuple[str, ...]] = {
        **dict.fromkeys(("temperature", "n_calibration", "n_evaluated"), ()),
        **dict.fromkeys(SCORES, ("recalibration",)),
        "estimate": ("recalibration", *inner, "method"),
        **dict.fromkeys(PARTS, ("recalibration", *inner)),
        **dict.fromkeys(PAIRED, ("rival", *inner)),
    }
    coords: dict[str, list[Any]] = {
        "model": list(design.models),
        "seed": list(range(design.n_seeds)),
        "recalibration": list(RECALIBRATIONS),
        "rival": list(RIVALS),
        "notion": list(design.notions),
        "generator": list(design.generators),
        "method": list(METHODS),
    }
    values = {
        name: np.full([len(coords[d]) for d in (*first, *dims[name])], np.nan) for name in dims
    }
    for result in results:
        where = coords["model"].index(result.cell[0]), result.cell[1]
        for name, numbers in result.numbers.items():
            values[name][where] = numbers
    return xr.Dataset(
        {
            name: ((*first, *dims[name]), values[name], {"long_name": _NAMES[name]})
            for name in values
        },
        coords,
    )


_NAMES = {
    "temperature": "temperature that minimises the log loss of the calibration rows",
    "n_calibration": "rows to calibrate on",
    "n_evaluated": "rows to evaluate on",
    "accuracy": "share of rows whose class has the largest probability",
    "nll": f"mean log loss, nats, of probabilities of at least {FLOOR}",
    "brier": "Brier score, summed over classes",
    "zero_rows": "rows whose class has a probability of exactly 0",
    "estimate": "calibration error",
    "standard_error": "standard error of the debiased calibration error",
    "lower": "lower end of its 95 % interval",
    "upper": "upper end of its 95 % interval",
    "lower_bound": "its lower bound",
    "kernel_share": "share of it that only the kernel sees",
    "difference": "debiased calibration error of the rival less that of temperature scaling",
    "difference_se": "standard error of the difference",
    "difference_lower": "lower end of its 95 % interval",
    "difference_upper": "upper end of its 95 % interval",
    "pvalue": "two-sided p-value of no difference",
}
