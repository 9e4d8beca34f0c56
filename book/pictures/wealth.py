"""The wealth of bets against a model that is calibrated at first, and drifts later."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from book.pictures.canvas import BLUE, GREY, RED, canvas
from propercal import CalibrationMonitor

if TYPE_CHECKING:
    from matplotlib.figure import Figure

N_ROWS, DRIFT = 2000, 1000


def draw() -> Figure:
    rng = np.random.default_rng(3)
    g = 1 / (1 + np.exp(-rng.normal(0, 1.5, N_ROWS)))
    later = np.arange(N_ROWS) >= DRIFT
    # Over-confident: the log-odds of what happens are a half of those that are predicted.
    happens = np.where(later, np.sqrt(g) / (np.sqrt(g) + np.sqrt(1 - g)), g)
    y = rng.random(N_ROWS) < happens
    monitor = CalibrationMonitor(2)
    monitor.update(y.astype(int), np.stack([1 - g, g], axis=1))
    found = monitor.history()
    figure, axis = canvas(3.3)
    row, powers = found["row"].values, found["log_e_value"].values / np.log(10)
    axis.plot(row, powers, color=BLUE)
    limit = np.log10(20)
    axis.axhline(limit, color=RED, ls="--", lw=1.2)
    axis.axvline(DRIFT, color=GREY, lw=1, ls=":")
    axis.text(20, limit + 0.3, "alarm, 1 in 20", color=RED)
    top = max(float(powers.max()), limit) * 1.1
    axis.text(DRIFT - 25, top, "calibrated: bets lose", color=GREY, ha="right", va="top")
    axis.text(DRIFT + 25, top, "drifted: bets win", color=GREY, va="top")
    axis.set(xlim=(0, N_ROWS), xlabel="rows", ylabel="wealth, powers of 10")
    return figure
