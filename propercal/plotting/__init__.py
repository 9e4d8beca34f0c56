"""Figures of results and datasets; each function draws on one matplotlib `Axes` and returns it.

They need matplotlib (``pip install "propercal[plot]"``), change no setting of it, and show nothing:
call ``matplotlib.pyplot.show()``, or save ``ax.figure``. The legend stands right of the panel;
figures of your own make room for it with ``layout="constrained"``.
"""

from propercal.plotting.bars import decomposition_bars
from propercal.plotting.convergence import convergence
from propercal.plotting.forest import forest
from propercal.plotting.layers import layer_curves
from propercal.plotting.palette import COLOURS
from propercal.plotting.pareto import on_front, pareto_front
from propercal.plotting.reliability import reliability_diagram

__all__ = [
    "COLOURS",
    "convergence",
    "decomposition_bars",
    "forest",
    "layer_curves",
    "on_front",
    "pareto_front",
    "reliability_diagram",
]
