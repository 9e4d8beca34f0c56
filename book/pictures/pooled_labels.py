"""Isotonic regression: labels in order of the prediction, pooled where their means fall."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from book.pictures.canvas import BLUE, GREY, RED, canvas
from propercal.diagrams import reliability

if TYPE_CHECKING:
    from matplotlib.figure import Figure

N_ROWS = 40


def draw() -> Figure:
    rng = np.random.default_rng(8)
    g = np.sort(rng.uniform(0.02, 0.98, N_ROWS))
    y = (rng.random(N_ROWS) < 0.1 + 0.8 * g).astype(int)
    found = reliability(y, g, n_resamples=19, random_state=0)
    at, curve = found["prediction"].values, found["curve"].values
    figure, axis = canvas(3.4)
    axis.plot([0, 1], [0, 1], "--", color=GREY, lw=1.2)
    axis.plot(g, y, "o", color=BLUE, ms=5, clip_on=False)
    for level in np.unique(found["block"].values):
        rows = found["block"].values == level
        ends = at[rows][[0, -1]] + [-0.008, 0.008]
        axis.plot(ends, curve[rows][[0, -1]], color=RED, lw=4, solid_capstyle="butt")
    axis.text(0.02, 0.88, "labels", color=BLUE)
    axis.text(0.02, 0.5, "a level: the mean\nof the labels it spans", color=RED)
    axis.text(0.62, 0.68, "if calibrated", color=GREY, ha="right")
    axis.set(xlim=(0, 1), ylim=(-0.03, 1.03), xlabel="prediction", ylabel="rate of the event")
    axis.set_xticks([0, 0.5, 1])
    axis.set_yticks([0, 0.5, 1])
    return figure
