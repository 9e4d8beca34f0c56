"""Temperature scaling against isotonic regression, by the calibration errors that they leave.

Does the first win for the log loss, and the second for the Brier score? The paper's Tables 2, 3 and
5: calibration errors, accuracy, log loss and Brier score before and after recalibration, here by
the paper's estimate and by the debiased one, with intervals, and the two compared on the same rows.

Of files, `NAME_test.npz` is evaluated after calibration on `NAME_val.npz`; any other is split into
two random halves, anew for each seed.
"""

from __future__ import annotations

import studies.interrupts  # noqa: F401 (for what it does)

import math
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from propercal import Decomposition, PairedDifference, decompose, paired_difference
from propercal.experiments import Cell, Claim, Output, Study, factor, main
from propercal.recalibration import ClasswiseIsotonic, TemperatureScaling
from studies.data import BANDWIDTH, DIGITS, NETWORKS, Floats, Labels, ModelFactors, digits, files_of
from studies.data import read as read_file
from studies.losses import LOSSES_HELP
from studies.paths import DATA
from studies.posthoc_report import figures, overstated, table, winners

RECALIBRATIONS = ("none", "temperature", "isotonic", "isotonic-smoothed")
RIVALS = RECALIBRATIONS[2:]
METHODS = ("risk", "direct", "debiased")
# Zeros of isotonic regression make the log loss infinite; like the paper, no probability is less.
FLOOR = 1e-7
PARTS = ("standard_error", "lower", "upper", "lower_bound", "kernel_share")
PAIRED = ("difference", "difference_se", "difference_lower", "difference_upper", "pvalue")
SCORES = ("accuracy", "nll", "brier", "zero_rows")


class Split(NamedTuple):
    """Rows to calibrate on, and rows to evaluate on."""

    calibration: tuple[Floats, Labels]
    """log probabilities (n, k) and labels"""
    evaluation: tuple[Floats, Labels]


@dataclass(frozen=True)
class Design(ModelFactors):
    """Models × splits, each with every recalibration, notion, generator and method."""

    n_seeds: int = factor(1, between="seed", least=1, metavar="R", help="splits of each file")
    max_rows: int = factor(5000, least=50, help="most rows to calibrate on, and to evaluate on")
    notions: Sequence[str] = factor(("classwise", "canonical"), within="notion")
    generators: Sequence[str] = factor(("log", "brier"), within="generator", help=LOSSES_HELP)

    def cost(self, cell: Cell) -> float:
        return 1.0 if cell.model in DIGITS else 20.0

    def settings(self) -> dict[str, Any]:
        return {**super().settings(), "floor": FLOOR}


def split(design: Design, cell: Cell, rng: np.random.Generator, data: Path) -> Split:
    """Return the validation and the test rows, or a random half each where there is one file."""
    if cell.model in DIGITS:
        parts = [digits(cell.model, rng)]
    else:
        parts = [read_file(path) for path in files_of(cell.model, data)]
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


def measure(
    design: Design, cell: Cell, seed: np.random.SeedSequence, *, data: Path
) -> dict[str, Any]:
    """Recalibrate one model's predictions, and estimate all there is to compare."""
    with warnings.catch_warnings():
        # What the warnings are about is kept: the kernel's share, and rows with a zero.
        warnings.simplefilter("ignore", UserWarning)
        rows = split(design, cell, np.random.default_rng(seed), data)
        predictions, temperature = recalibrated(rows)
        y = rows.evaluation[1]
        scores = zip(*(_scores(predictions[name], y) for name in RECALIBRATIONS), strict=True)
        predictions["isotonic"] = _floored(predictions["isotonic"])
        return {
            "temperature": temperature,
            "n_calibration": len(rows.calibration[1]),
            "n_evaluated": len(y),
            **dict(zip(SCORES, scores, strict=True)),
            **_estimates(design, predictions, y),
        }


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
        shared: dict[str, Any] = {"generator": list(design.generators), "notion": notion}
        for r, name in enumerate(RECALIBRATIONS):
            for m, method in enumerate(METHODS[:2]):
                own: dict[str, Any] = {**shared, "method": method, "bandwidth": BANDWIDTH}
                found = decompose(y, predictions[name], **own)
                table["estimate"][r, i, :, m] = [each.calibration_error for each in found]
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
    return table


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


_RECALIBRATED = ("recalibration",)
_ERROR = (*_RECALIBRATED, "notion", "generator")
_PAIR = ("rival", "notion", "generator")
_MEASURED: dict[str, tuple[tuple[str, ...], str]] = {
    "temperature": ((), "temperature that minimises the log loss of the calibration rows"),
    "n_calibration": ((), "rows to calibrate on"),
    "n_evaluated": ((), "rows to evaluate on"),
    "accuracy": (_RECALIBRATED, "share of rows whose class has the largest probability"),
    "nll": (_RECALIBRATED, f"mean log loss, nats, of probabilities of at least {FLOOR}"),
    "brier": (_RECALIBRATED, "Brier score, summed over classes"),
    "zero_rows": (_RECALIBRATED, "rows whose class has a probability of exactly 0"),
    "estimate": ((*_ERROR, "method"), "calibration error"),
    "standard_error": (_ERROR, "standard error of the debiased calibration error"),
    "lower": (_ERROR, "lower end of its 95 % interval"),
    "upper": (_ERROR, "upper end of its 95 % interval"),
    "lower_bound": (_ERROR, "its lower bound"),
    "kernel_share": (_ERROR, "share of it that only the kernel sees"),
    "difference": (
        _PAIR,
        "debiased calibration error of the rival less that of temperature scaling",
    ),
    "difference_se": (_PAIR, "standard error of the difference"),
    "difference_lower": (_PAIR, "lower end of its 95 % interval"),
    "difference_upper": (_PAIR, "upper end of its 95 % interval"),
    "pvalue": (_PAIR, "two-sided p-value of no difference"),
}
STUDY = Study(
    name="posthoc_calibration",
    about=__doc__ or "",
    presets={
        "tiny": (Design(models=DIGITS[1:2], max_rows=150), "150 rows of one of them, seconds"),
        "quick": (Design(models=DIGITS), "three models of scikit-learn's digits, a minute or two"),
        "full": (
            Design(models=tuple(NETWORKS.values())),
            "networks on CIFAR-10, 20 minutes of one processor",
        ),
    },
    outputs=[
        Output(name, ("model", "seed", *inner), long_name)
        for name, (inner, long_name) in _MEASURED.items()
    ],
    measure=measure,
    levels={"recalibration": RECALIBRATIONS, "rival": RIVALS, "method": METHODS},
    dims=("model", "seed", "recalibration", "rival", "notion", "generator", "method"),
    read=Design.read,
    data=DATA,
    table=table,
    claims=(
        Claim(
            "Temperature scaling is best for KL, isotonic regression for L2",
            winners,
            "section 6.2, Table 2",
        ),
        Claim(
            "Class-wise calibration errors via the risk at γ = 0.02",
            overstated,
            "section 6.2, Table 2",
        ),
    ),
    figures=figures,
    source="Tables 2, 3, 5",
    reads="predictions",
    shown="calibration_errors",
)

if __name__ == "__main__":
    sys.exit(main(STUDY))
