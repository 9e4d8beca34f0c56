"""The estimate at a row: the mean of the other rows' labels, weighted by a kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from book.pictures.canvas import BLUE, GREY, PALE, RED, canvas
from book.pictures.kernel_shapes import beta_kernel

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BANDWIDTH = 0.01
ROW = 21


def draw() -> Figure:
    rng = np.random.default_rng(5)
    g = np.sort(rng.uniform(0.03, 0.97, 36))
    y = rng.random(36) < g
    weight = beta_kernel(g[[ROW]], g, BANDWIDTH)[0]
    weight[ROW] = 0
    estimate = float(weight @ y / weight.sum())
    figure, axis = canvas(3.3)
    x = np.linspace(0.002, 0.998, 400)
    shape = beta_kernel(g[[ROW]], x, BANDWIDTH)[0]
    axis.fill_between(x, 0, 0.8 * shape / shape.max(), color=PALE, lw=0)
    others = np.arange(36) != ROW
    axis.scatter(
        g[others], y[others], s=4 + 70 * weight[others] / weight.max(), color=BLUE, zorder=3
    )
    axis.plot(g[ROW], y[ROW], "o", mfc="white", mec=RED, ms=9, zorder=4)
    axis.plot(g[ROW], estimate, "D", color=RED, ms=7)
    axis.text(g[ROW] + 0.03, estimate, r"estimate $\hat r_h$", color=RED, va="center")
    axis.text(g[ROW], y[ROW] + 0.07, "own label:\nleft out", color=RED, ha="center")
    axis.text(0.02, 0.2, "labels of other rows,\nlarge where they count", color=BLUE)
    axis.text(0.36, 0.5, "kernel", color=GREY, ha="right")
    axis.set(xlim=(0, 1), ylim=(-0.08, 1.3), xlabel="prediction", yticks=[0, 1])
    axis.set_ylabel("label")
    return figure
