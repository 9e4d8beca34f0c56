"""A published estimate against the number of rows: it converges, to another number."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from book.pictures.canvas import GREEN, RED, canvas, gap
from propercal.experiments.datasets import read_dataset

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: The kept dataset of the study on the rate, and the cell that is shown.
KEPT = Path(__file__).resolve().parents[2] / "studies" / "reference" / "bias_rate.nc"
CELL = {
    "generator": "log",
    "notion": "classwise",
    "method": "risk",
    "n_classes": 2,
    "bandwidth": 0.02,
}


def draw() -> Figure:
    found = read_dataset(KEPT)
    cell = found.sel({key: value for key, value in CELL.items() if key in found.dims})
    truth, limit = (float(cell[name].values) for name in ("truth", "limit"))
    n, mean = cell["sample_size"].values, cell["mean"].values
    figure, axis = canvas(3.4)
    axis.axhline(truth, color=GREEN)
    axis.axhline(limit, color=RED, linestyle="--")
    axis.errorbar(n, mean, 2 * cell["standard_error"].values, color=RED, marker="s", ms=4)
    gap(axis, 14_000, (truth, limit), RED)
    axis.text(n[0], truth - 0.002, "truth", color=GREEN, va="top")
    axis.text(n[0], limit - 0.002, "limit at this bandwidth", color=RED, va="top")
    axis.text(12_000, (truth + limit) / 2, "stays", color=RED, ha="right", va="center")
    axis.text(n[1] * 1.1, mean[1], "mean estimate", color=RED, va="bottom")
    axis.set(xscale="log", xlim=(40, 18_000), xlabel="rows", ylabel="calibration error in nats")
    axis.set_ylim(0, None)
    return figure
