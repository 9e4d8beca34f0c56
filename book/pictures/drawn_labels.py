"""The statistic of the observed labels among those of labels drawn from the predictions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from book.pictures.canvas import GREY, RED, canvas
from propercal.simulation import TemperatureScaledSimplex

if TYPE_CHECKING:
    from matplotlib.figure import Figure

N_ROWS, N_SETS = 150, 999


def statistics() -> np.ndarray:
    """(1 + B,) score tests of a temperature: of the observed labels, then of drawn ones."""
    sample = TemperatureScaledSimplex(2).sample(N_ROWS, random_state=3)
    g = sample.y_proba[:, 1]
    drawn = np.random.default_rng(0).random((N_SETS, N_ROWS)) < g
    labels = np.concatenate([sample.y_true[None, :] == 1, drawn])
    score = np.log(g) - np.log1p(-g)
    found: np.ndarray = ((labels - g) @ score) ** 2 / (score**2 * g * (1 - g)).sum()
    return found


def draw() -> Figure:
    observed, *others = statistics()
    figure, axis = canvas(3.1)
    axis.hist(others, list(np.arange(0, 15.25, 0.25)), color=GREY, alpha=0.55)
    axis.axvline(observed, color=RED)
    as_large = sum(other >= observed for other in others)
    axis.text(observed - 0.2, 260, "observed labels", color=RED, ha="right")
    axis.text(observed + 0.2, 130, f"{as_large} of {N_SETS}\nas large", color=RED)
    axis.text(1.3, 110, "labels drawn from\nthe predictions", color=GREY)
    axis.set(xlim=(0, max(observed + 3, 10)), xlabel="statistic", ylabel="label sets")
    return figure
