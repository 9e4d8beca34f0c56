"""A map that flips from cell to cell, whose labels look like those of a calibrated model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from book.pictures.canvas import BLUE, GREY, RED, canvas

if TYPE_CHECKING:
    from matplotlib.figure import Figure

N_CELLS = 400
N_BINS = 10


def cells() -> tuple[np.ndarray, np.ndarray]:
    """(n,) predictions, one a cell, and (n,) what always happens there: 0 or 1."""
    middle = (np.arange(N_CELLS) + 0.5) / N_CELLS
    return middle, np.random.default_rng(3).random(N_CELLS) < middle


def draw() -> Figure:
    figure, axis = canvas(3.5)
    middle, happens = cells()
    axis.bar(middle, happens, 1 / N_CELLS, color=BLUE, alpha=0.28, lw=0)
    axis.plot([0, 1], [0, 1], "--", color=GREY, lw=1.2)
    share = happens.reshape(N_BINS, -1).mean(axis=1)
    axis.plot((np.arange(N_BINS) + 0.5) / N_BINS, share, "o", color=RED)
    note: dict[str, Any] = {
        "arrowprops": {"arrowstyle": "-", "color": GREY, "lw": 0.8},
        "ha": "left",
    }
    box = {"facecolor": "white", "edgecolor": "none", "pad": 2}
    axis.annotate(
        "what a sample shows:\ncalibrated",
        (0.25, share[2]),
        (0.03, 0.62),
        color=RED,
        bbox=box,
        **note,
    )
    axis.text(0.03, 0.9, "what happens, cell by cell: 0 or 1", color=BLUE, bbox=box)
    axis.set(xlim=(0, 1), ylim=(0, 1), xlabel="prediction", ylabel="rate of the event")
    axis.set_xticks([0, 0.5, 1])
    axis.set_yticks([0, 0.5, 1])
    return figure
