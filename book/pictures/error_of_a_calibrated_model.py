"""The expected calibration error of a calibrated model grows with the number of bins."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from book.pictures.canvas import BLUE, GREEN, GREY, RED, canvas

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BINS = np.arange(2, 101)


def expected(n_rows: int) -> np.ndarray:
    """(n,) mean errors of uniform calibrated predictions, to the order of the normal law."""
    g = (np.arange(n_rows) + 0.5) / n_rows
    variance = g * (1 - g) / n_rows**2

    def of_bins(n_bins: int) -> float:
        number = np.minimum((g * n_bins).astype(int), n_bins - 1)
        deviations = np.sqrt(np.bincount(number, variance, n_bins))
        return float(np.sqrt(2 / np.pi) * deviations.sum())

    return np.array([of_bins(int(n_bins)) for n_bins in BINS])


def draw() -> Figure:
    figure, axis = canvas(3.2)
    for n_rows, colour in ((1000, RED), (10_000, BLUE), (100_000, GREEN)):
        error = expected(n_rows)
        axis.plot(BINS, error, color=colour)
        axis.text(101, error[-1], f"{n_rows:,}\nrows".replace(",", " "), color=colour, va="center")
    axis.axhline(0, color=GREY)
    axis.text(50, -0.002, "truth: 0", color=GREY, ha="center", va="top")
    axis.set(xlim=(0, 121), ylim=(-0.013, None), xlabel="bins", ylabel="expected calibration error")
    axis.set_xticks([2, 15, 50, 100])
    return figure
