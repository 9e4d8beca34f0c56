"""Six predictions of which every class is right on average, and none is right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from book.pictures.canvas import BLUE, GREY, RED, arrow, canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Predictions, and what happens where they are made, in tenths.
PREDICTED = np.array([[1, 3, 6], [1, 6, 3], [3, 1, 6], [3, 6, 1], [6, 1, 3], [6, 3, 1]])
HAPPENS = np.array([[2, 2, 6], [0, 7, 3], [2, 2, 6], [4, 5, 1], [7, 0, 3], [5, 4, 1]])


def plane(p: np.ndarray) -> np.ndarray:
    """(n, 2) places in a triangle of points (n, 3) of the simplex."""
    found: np.ndarray = p @ np.array([[0, 0], [1, 0], [0.5, np.sqrt(3) / 2]])
    return found


def triangle(axis: Axes) -> None:
    """Draw the simplex of three classes."""
    corners = plane(np.eye(3))
    axis.fill(*corners.T, facecolor="none", edgecolor=GREY, lw=1.2)
    for (x, y), name in zip(corners, "123", strict=True):
        up = 1 if y > 0 else -1
        side = "bottom" if y > 0 else "top"
        axis.text(x, y + 0.02 * up, f"class {name}", color=GREY, ha="center", va=side)
    axis.set(xlim=(-0.12, 1.12), ylim=(-0.1, 0.97), aspect="equal")
    axis.set_axis_off()


def draw() -> Figure:
    figure, axis = canvas(3.9)
    triangle(axis)
    tails, heads = plane(PREDICTED / 10), plane(HAPPENS / 10)
    for tail, head in zip(tails, heads, strict=True):
        arrow(axis, tail, head, RED)
    axis.plot(*tails.T, "o", color=BLUE)
    beside: dict[str, Any] = {"textcoords": "offset points"}
    axis.annotate("predicted", tails[2], (6, 6), color=BLUE, **beside)
    axis.annotate("what happens", heads[1], (6, 0), color=RED, **beside)
    return figure
