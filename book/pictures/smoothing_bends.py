"""Labels of a calibrated model, smoothed: where predictions crowd on one side, the curve bends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from book.pictures.canvas import BLUE, GREY, PALE, RED, arrow, canvas
from book.pictures.kernel_shapes import beta_kernel

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BANDWIDTH = 0.1


def smoothed(targets: np.ndarray, bandwidth: float) -> np.ndarray:
    """(n,) limits of the kernel mean of labels of a calibrated model that mostly says little."""
    # Cubes of equal steps are equal shares of a law whose density falls like p^(−2/3).
    source = ((np.arange(4000) + 0.5) / 4000) ** 3
    kernel = beta_kernel(targets, source, bandwidth)
    found: np.ndarray = kernel @ source / kernel.sum(axis=1)
    return found


def draw() -> Figure:
    figure, axis = canvas(3.7)
    t = np.linspace(0.004, 0.998, 300)
    axis.fill_between(t, 0.07 * t ** (-2 / 3), color=PALE, lw=0)
    axis.plot([0, 1], [0, 1], "--", color=GREY, lw=1.2)
    axis.plot(t, smoothed(t, BANDWIDTH), color=RED)
    axis.plot(t, smoothed(t, BANDWIDTH / 10), color=BLUE)
    for at in (0.3, 0.55):
        arrow(axis, (at, at), (at, float(smoothed(np.array([at]), BANDWIDTH)[0])), RED)
    axis.text(0.56, 0.04, "how often predicted", color=GREY)
    axis.text(0.64, 0.5, "smoothed, γ = 0.1", color=RED)
    axis.text(0.87, 0.8, "γ = 0.01", color=BLUE, va="top")
    axis.text(0.6, 0.66, "truth", color=GREY, ha="right")
    axis.set(xlim=(0, 1), ylim=(0, 1), xlabel="prediction", ylabel="rate of the event")
    axis.set_xticks([0, 0.5, 1])
    axis.set_yticks([0, 0.5, 1])
    return figure
