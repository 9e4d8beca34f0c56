"""The weights that three targets give to the rows around them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from book.pictures.canvas import BLUE, GREEN, RED, canvas
from propercal._kernels.kernels import DirichletKernel

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BANDWIDTH = 0.02
TARGETS = (0.005, 0.1, 0.6)


def beta_kernel(targets: np.ndarray, sources: np.ndarray, bandwidth: float) -> np.ndarray:
    """(n, m) kernel of targets (n,) and sources (m,), probabilities of the second class."""

    def features(p: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        prob = np.stack([1 - p, p], axis=1)
        found = DirichletKernel().features(prob, np.log(prob), bandwidth)
        return found.target, found.source, found.log_scale

    target, _, log_scale = features(np.asarray(targets))
    _, source, _ = features(np.asarray(sources))
    kernel: np.ndarray = np.exp(target @ source + log_scale[:, None])
    return kernel


def draw() -> Figure:
    figure, axis = canvas(3.5)
    x = np.linspace(1e-6, 1 - 1e-6, 1200)
    weights = beta_kernel(np.array(TARGETS), x, BANDWIDTH)
    says = ("at the edge: narrow, one-sided", "near it: skewed", "in the middle: a wide bell")
    for line, (target, weight, colour, text) in enumerate(
        zip(TARGETS, weights, (RED, GREEN, BLUE), says, strict=True)
    ):
        floor = 2.6 - 1.3 * line
        axis.fill_between(x, floor, floor + weight / weight.max(), color=colour, alpha=0.25, lw=0)
        axis.plot(x, floor + weight / weight.max(), color=colour, lw=1.4)
        axis.plot([target], [floor], "|", color=colour, ms=14, mew=2.5, clip_on=False)
        place = (0.98, "right") if line < 2 else (0.0, "left")
        axis.text(place[0], floor + 0.62, text, color=colour, ha=place[1])
    axis.text(0.6, -0.15, "target", color=BLUE, ha="center", va="top")
    axis.set(xlim=(0, 1), ylim=(-0.45, 3.65), xlabel="prediction of another row")
    axis.set_yticks([])
    axis.spines["left"].set_visible(False)
    return figure
