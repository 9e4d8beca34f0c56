"""Calibration error and sharpness as the two gaps of three predictions."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from book.pictures.canvas import BLUE, GREEN, GREY, RED, canvas, gap
from propercal.generators import as_generator

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Share of the rows, prediction, and what happens there.
SHARE = np.array([0.3, 0.4, 0.3])
PREDICTED = np.array([0.1, 0.5, 0.9])
HAPPENS = np.array([0.2, 0.5, 0.7])


class Terms(NamedTuple):
    """The decomposition of these three predictions, of the Brier score of both classes."""

    risk: float
    calibration_error: float
    sharpness: float
    uncertainty: float


def pairs(p: np.ndarray) -> np.ndarray:
    """(n, 2) probabilities of two classes, of those of the second."""
    return np.stack([1 - p, p], axis=1)


def terms() -> Terms:
    """Return the numbers of the table beside the picture."""
    brier = as_generator("brier")
    base = np.full(3, SHARE @ HAPPENS)
    loss = [brier.loss(pairs(PREDICTED), pairs(np.full(3, y))) for y in (0, 1)]
    return Terms(
        float(SHARE @ ((1 - HAPPENS) * loss[0] + HAPPENS * loss[1])),
        float(SHARE @ brier.divergence(pairs(HAPPENS), pairs(PREDICTED))),
        float(SHARE @ brier.divergence(pairs(HAPPENS), pairs(base))),
        float(-brier.value(pairs(base))[0]),
    )


def draw() -> Figure:
    base = float(SHARE @ HAPPENS)
    figure, axis = canvas(3.7)
    axis.plot([0, 1], [0, 1], "--", color=GREY, lw=1.2)
    axis.axhline(base, color=GREY, lw=1.2, ls=":")
    axis.plot(PREDICTED, HAPPENS, color=BLUE, lw=1.2)
    axis.scatter(PREDICTED, HAPPENS, s=400 * SHARE, color=BLUE, zorder=3)
    for g, r in zip(PREDICTED, HAPPENS, strict=True):
        if r != g:
            gap(axis, g + 0.025, (r, g), RED)
        gap(axis, g - 0.025, (base, r), GREEN)
    axis.text(0.96, 0.8, "calibration\nerror", color=RED, va="center")
    axis.text(0.1, 0.385, "sharpness", color=GREEN, va="center")
    axis.text(0.66, 0.73, "if calibrated", color=GREY, ha="right")
    axis.text(1.2, base - 0.02, "overall rate", color=GREY, ha="right", va="top")
    axis.text(0.3, 0.24, "what happens", color=BLUE)
    axis.set(xlim=(0, 1.2), ylim=(0, 1), xlabel="prediction", ylabel="rate where it is made")
    axis.set_xticks(PREDICTED)
    axis.set_yticks(HAPPENS)
    return figure
