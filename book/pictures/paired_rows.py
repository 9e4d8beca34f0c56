"""Losses of two models on the same rows: both vary much, their difference little."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from book.pictures.canvas import BLUE, GREY, RED, canvas, gap
from propercal.simulation import TemperatureScaledSimplex

if TYPE_CHECKING:
    from matplotlib.figure import Figure

N_ROWS = 120


def losses() -> tuple[np.ndarray, np.ndarray]:
    """(n,) log losses of predictions and of the same, made somewhat less certain."""
    sample = TemperatureScaledSimplex(3).sample(N_ROWS, random_state=1)
    milder = sample.y_proba**0.88
    label = sample.y_true[:, None].astype(int)
    first, second = (
        -np.log(np.take_along_axis(p, label, axis=1)[:, 0])
        for p in (sample.y_proba, milder / milder.sum(axis=1, keepdims=True))
    )
    return first, second


def draw() -> Figure:
    first, second = losses()
    figure, axis = canvas(3.6)
    top = float(max(first.max(), second.max())) * 1.03
    axis.plot([0, top], [0, top], "--", color=GREY, lw=1.2)
    axis.plot(first, second, "o", color=BLUE, ms=4, alpha=0.7)
    hard = int(np.argmax(first))
    gap(axis, first[hard], (second[hard], first[hard]), RED)
    axis.text(0.98 * top, 0.58 * top, "difference\nof one row", color=RED, ha="right", va="top")
    axis.text(0.4 * top, 0.2 * top, "one dot a row", color=BLUE)
    axis.text(0.5 * top, 0.55 * top, "equal losses", color=GREY, ha="right")
    axis.set(
        xlim=(0, top), ylim=(0, top), xlabel="loss of the first model", ylabel="loss of the second"
    )
    return figure
