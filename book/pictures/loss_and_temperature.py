"""The log loss against the inverse temperature: convex, with one least point."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from book.pictures.canvas import BLUE, GREY, RED, canvas
from propercal.recalibration import TemperatureScaling
from propercal.simulation import TemperatureScaledSimplex

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw() -> Figure:
    sample = TemperatureScaledSimplex(3).sample(3000, random_state=0)
    logits = np.log(sample.y_proba)
    best = 1 / TemperatureScaling().fit(sample.y_proba, sample.y_true).temperature_

    def loss(inverse: float) -> float:
        z = inverse * logits
        picked = np.take_along_axis(z, sample.y_true[:, None].astype(int), axis=1)[:, 0]
        return float((np.log(np.exp(z).sum(axis=1)) - picked).mean())

    figure, axis = canvas(3.1)
    inverse = np.linspace(0.05, 1.9, 80)
    axis.plot(inverse, [loss(b) for b in inverse], color=BLUE)
    axis.plot(best, loss(best), "o", color=RED)
    axis.plot(1, loss(1.0), "o", color=GREY)
    axis.annotate(
        "best temperature",
        (best, loss(best)),
        (0, -14),
        textcoords="offset points",
        color=RED,
        ha="center",
        va="top",
    )
    axis.annotate(
        "as predicted", (1, loss(1.0)), (10, -10), textcoords="offset points", color=GREY, va="top"
    )
    axis.set(xlabel="inverse temperature", ylabel="log loss")
    axis.set_ylim(loss(best) - 0.1, None)
    return figure
