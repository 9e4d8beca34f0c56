"""Simulated predictions whose calibration error is known.

>>> from propercal.simulation import TemperatureScaledSimplex
>>> model = TemperatureScaledSimplex(n_classes=2)
>>> print(f"{model.truth('brier', 'classwise').value:.6f}")
0.012593
"""

from propercal.simulation.model import SimulatedSample, TemperatureScaledSimplex
from propercal.simulation.quadrature import IntegratedValue
from propercal.simulation.scenarios import MiscalibratedSimplex

__all__ = [
    "IntegratedValue",
    "MiscalibratedSimplex",
    "SimulatedSample",
    "TemperatureScaledSimplex",
]
