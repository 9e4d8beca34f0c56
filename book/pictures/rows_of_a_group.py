"""The standard error of a mean where each row is written several times."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from book.pictures.canvas import BLUE, RED, canvas
from propercal.simulation import TemperatureScaledSimplex

if TYPE_CHECKING:
    from matplotlib.figure import Figure

N_ROWS = 200
COPIES = np.arange(1, 11)


def standard_error(copies: int, *, grouped: bool) -> float:
    """Return the standard error of the mean log loss, of rows or of groups of equal rows."""
    sample = TemperatureScaledSimplex(2).sample(N_ROWS, random_state=0)
    label = sample.y_true[:, None].astype(int)
    loss = -np.log(np.take_along_axis(sample.y_proba, label, axis=1)[:, 0])
    parts = np.repeat(loss - loss.mean(), copies).reshape(N_ROWS, copies) / (N_ROWS * copies)
    sums = parts.sum(axis=1) if grouped else parts.ravel()
    return float(np.sqrt(sums.size / (sums.size - 1) * (sums**2).sum()))


def draw() -> Figure:
    figure, axis = canvas(3.0)
    for grouped, colour, says in (
        (True, BLUE, "copies named as groups"),
        (False, RED, "copies taken for rows"),
    ):
        error = np.array([standard_error(int(copies), grouped=grouped) for copies in COPIES])
        axis.plot(COPIES, error, "o-", color=colour, ms=4)
        place = (3.2, error[1] - 0.004) if grouped else (3.2, error[2] + 0.002)
        axis.text(*place, says, color=colour, va="top" if grouped else "bottom")
    axis.set(ylim=(0, None), xlabel="times that each row is written", ylabel="standard error")
    axis.set_xticks([1, 5, 10])
    return figure
