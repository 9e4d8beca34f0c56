"""The ends of an interval against the estimate, in units of the normal half-width."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from book.pictures.canvas import BLUE, GREY, RED, canvas
from propercal._results.intervals import divergence_interval, half_width

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEVEL = 0.95


def ends(estimate: np.ndarray) -> np.ndarray:
    """(n, 2) ends where the normal interval reaches 1 to either side."""
    error = 1 / half_width(1.0, LEVEL)
    return np.array([divergence_interval(float(t), error, LEVEL) for t in estimate])


def draw() -> Figure:
    figure, axis = canvas(3.7)
    t = np.linspace(-1.5, 4, 400)
    low, high = ends(t).T
    axis.fill_between(t, low, high, color=BLUE, alpha=0.18, lw=0)
    axis.plot(t, low, color=BLUE)
    axis.plot(t, high, color=BLUE)
    axis.plot(t, t + 1, "--", color=GREY, lw=1)
    axis.plot(t, t - 1, "--", color=GREY, lw=1)
    axis.axvspan(-1.5, 1, color=RED, alpha=0.07, lw=0)
    axis.text(-1.4, 4.5, "calibration\nnot excluded", color=RED, va="top")
    axis.text(2.2, 2.1, "interval", color=BLUE)
    axis.text(2.45, 0.9, "estimate ± 1", color=GREY)
    axis.set(xlim=(-1.5, 4), ylim=(-0.15, 5.1), xlabel="estimate, in half-widths")
    axis.set_ylabel("calibration error")
    return figure
