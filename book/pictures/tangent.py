"""The divergence as the gap between a convex function and its tangent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from book.pictures.canvas import BLUE, GREY, RED, canvas, gap
from propercal.generators import as_generator

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Q, P = 0.75, 0.22


def pair(p: float | np.ndarray) -> np.ndarray:
    """(n, 2) probabilities of two classes, of that of the second."""
    p = np.atleast_1d(p)
    return np.stack([1 - p, p], axis=1)


def draw() -> Figure:
    log = as_generator("log")
    figure, axis = canvas()
    x = np.linspace(0, 1, 301)
    slope = log.gradient(pair(Q))[0] @ [-1, 1]
    at_q = float(log.value(pair(Q))[0])
    axis.plot(x, log.value(pair(x)), color=BLUE)
    axis.plot(x, at_q + slope * (x - Q), color=GREY, lw=1.2)
    on_curve, on_tangent = float(log.value(pair(P))[0]), float(at_q + slope * (P - Q))
    gap(axis, P, (on_tangent, on_curve), RED)
    axis.plot([Q], [at_q], "o", color=GREY)
    axis.text(P + 0.025, (on_curve + on_tangent) / 2, "$D_F(p, q)$", color=RED, va="center")
    axis.text(0.9, float(log.value(pair(0.9))[0]) + 0.08, "$F$", color=BLUE, ha="right")
    axis.text(0.53, at_q + slope * (0.53 - Q) - 0.09, "tangent at $q$", color=GREY, va="top")
    axis.set_xticks([0, P, Q, 1], ["0", "$p$", "$q$", "1"])
    axis.set_yticks([])
    axis.set_xlabel("probability of the second class")
    return figure
