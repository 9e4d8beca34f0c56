"""Merging two values of a variable moves what is known of the label towards its mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from book.pictures.canvas import BLUE, GREY, RED, arrow, canvas
from propercal.generators import as_generator

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Chances of the event given one of three equally likely values, of which the last two are merged.
KNOWN = np.array([0.1, 0.5, 0.9])


def draw() -> Figure:
    log = as_generator("log")

    def value(p: np.ndarray) -> np.ndarray:
        return np.asarray(log.value(np.stack([1 - p, p], axis=1)))

    figure, axis = canvas(3.3)
    x = np.linspace(0, 1, 301)
    axis.plot(x, value(x), color=BLUE)
    merged = float(KNOWN[1:].mean())
    axis.plot(KNOWN[1:], value(KNOWN[1:]), color=GREY, lw=1.2)
    axis.plot(KNOWN, value(KNOWN), "o", color=BLUE)
    between = (merged, float(value(KNOWN[1:]).mean()))
    after = (merged, float(value(np.array([merged]))[0]))
    arrow(axis, between, after, RED, 1.8)
    axis.plot(*after, "o", color=RED)
    axis.text(merged + 0.02, after[1] - 0.02, "lost by merging", color=RED, va="top")
    axis.text(merged - 0.02, between[1] + 0.06, "mean of the two", color=GREY, ha="right")
    axis.text(0.3, -0.54, "$F$", color=BLUE, ha="right")
    axis.set(xlim=(0, 1), xlabel="probability of the event, given what is known")
    axis.set_xticks([0, *KNOWN, 1])
    axis.set_yticks([])
    axis.set_ylim(-0.74, 0.02)
    return figure
