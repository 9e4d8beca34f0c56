"""A bell, the polynomial through its values at a few Chebyshev nodes, and what it leaves out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from book.pictures.canvas import BLUE, GREY, RED, canvas
from propercal._kernels.panels import chebyshev, polynomials

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CENTRE, WIDTH_OF_BELL = 0.25, 1 / 3


def bell(z: np.ndarray) -> np.ndarray:
    """Return the bell."""
    found: np.ndarray = np.exp(-(((z - CENTRE) / WIDTH_OF_BELL) ** 2) / 2)
    return found


def through(order: int, z: np.ndarray) -> np.ndarray:
    """Return the polynomial through the bell's values at so many nodes."""
    nodes, transform = chebyshev(order)
    found: np.ndarray = polynomials(z, order).T @ (transform @ bell(nodes))
    return found


def draw() -> Figure:
    figure, axis = canvas(3.2)
    z = np.linspace(-1, 1, 400)
    axis.plot(z, bell(z), color=GREY, lw=5, alpha=0.35)
    for order, colour in ((6, RED), (16, BLUE)):
        axis.plot(z, through(order, z), color=colour, lw=1.4)
    nodes = chebyshev(16).nodes
    axis.plot(nodes, bell(nodes), "o", color=BLUE, ms=4)
    axis.plot(nodes, np.zeros(16), "|", color=BLUE, ms=10, mew=1.5)
    axis.text(-0.98, 0.42, "through 6 nodes", color=RED)
    axis.text(-0.15, 0.93, "through 16 nodes:\non the bell", color=BLUE, ha="right", va="center")
    axis.text(0, -0.26, "16 Chebyshev nodes, denser towards the ends", color=BLUE, ha="center")
    axis.set(xlim=(-1.03, 1.03), ylim=(-0.35, 1.1))
    axis.set_axis_off()
    return figure
