"""The CRPS as Brier scores of all thresholds, added up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from book.pictures.canvas import BLUE, GREY, RED, canvas

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MEMBERS = np.array([2.0, 3.0, 3.5, 5.0, 6.5])
OUTCOME = 4.2


def draw() -> Figure:
    figure, axis = canvas(3.2)
    z = np.linspace(0.5, 8, 1501)
    forecast = (MEMBERS[:, None] <= z).mean(axis=0)
    event = (z >= OUTCOME).astype(float)
    axis.plot(z, forecast, color=BLUE)
    axis.plot(z, event, color=GREY, lw=1.4)
    axis.fill_between(z, (forecast - event) ** 2, color=RED, alpha=0.35, lw=0, step="mid")
    axis.plot(MEMBERS, np.zeros(5), "|", color=BLUE, ms=12, mew=2, clip_on=False)
    axis.text(2.55, 0.44, "forecast", color=BLUE, ha="right")
    axis.text(OUTCOME + 0.1, 1.04, "outcome: 0, then 1", color=GREY, va="bottom", ha="center")
    axis.text(5.3, 0.3, "squared difference:\nits area is the CRPS", color=RED)
    axis.set(xlim=(0.5, 8), ylim=(0, 1.15), xlabel="threshold", ylabel="probability below it")
    axis.set_yticks([0, 0.5, 1])
    return figure
