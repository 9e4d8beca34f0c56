"""Figures of results and datasets; each function draws on one matplotlib `Axes` and returns it.

Those of several panels (:func:`reliability_panels`, :func:`triptych`) take and return a list.

They need matplotlib (``pip install "propercal[plot]"``), change no setting of it, and show nothing:
call ``matplotlib.pyplot.show()``, or save ``ax.figure``. The legend stands right of the panel, in
figures of less than five inches below it; figures of your own make room for it with
``layout="constrained"``.
"""

from propercal.plotting.bars import decomposition_bars
from propercal.plotting.convergence import convergence
from propercal.plotting.forest import forest
from propercal.plotting.layers import layer_curves
from propercal.plotting.monitor import evidence_over_time
from propercal.plotting.murphy import murphy_diagram
from propercal.plotting.palette import COLOURS
from propercal.plotting.pareto import on_front, pareto_front
from propercal.plotting.reliability import reliability_diagram, reliability_panels
from propercal.plotting.score_parts import mcb_dsc_plot
from propercal.plotting.simplex import simplex_arrows
from propercal.plotting.triptych import triptych

__all__ = [
    "COLOURS",
    "convergence",
    "decomposition_bars",
    "evidence_over_time",
    "forest",
    "layer_curves",
    "mcb_dsc_plot",
    "murphy_diagram",
    "on_front",
    "pareto_front",
    "reliability_diagram",
    "reliability_panels",
    "simplex_arrows",
    "triptych",
]
