"""A temperature moves every prediction towards the middle, or every one away from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from book.pictures.canvas import BLUE, GREY, RED, arrow, canvas
from book.pictures.six_predictions import plane, triangle

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Over-confident by this factor of the log-probabilities.
EXPONENT = 0.6


def draw() -> Figure:
    figure, axis = canvas(3.9)
    triangle(axis)
    steps = np.arange(0.5, 8) / 8
    grid = np.array([(a, b, 1 - a - b) for a in steps for b in steps if a + b < 0.98])
    happens = grid**EXPONENT / (grid**EXPONENT).sum(axis=1, keepdims=True)
    for tail, head in zip(plane(grid), plane(happens), strict=True):
        if np.hypot(*(head - tail)) > 0.012:
            arrow(axis, tail, head, RED, 1.1)
        axis.plot(*tail, "o", color=BLUE, ms=3)
    x, y = plane(np.full((1, 3), 1 / 3))[0]
    axis.plot(x, y, "+", color=GREY, ms=12, mew=2)
    axis.annotate("uniform", (0.93, 0.62), color=GREY, ha="center")
    axis.annotate(
        "",
        (x + 0.03, y + 0.01),
        (0.86, 0.62),
        arrowprops={"arrowstyle": "-", "color": GREY, "lw": 0.8},
    )
    return figure
