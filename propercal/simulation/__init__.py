"""Simulated predictions whose calibration error is known, and Monte Carlo studies of estimators.

>>> from propercal.simulation import TemperatureScaledSimplex
>>> model = TemperatureScaledSimplex(n_classes=2)
>>> print(f"{model.truth('brier', 'classwise').value:.6f}")
0.012593
"""

from propercal.simulation.design import StudyDesign
from propercal.simulation.model import SimulatedSample, TemperatureScaledSimplex
from propercal.simulation.quadrature import IntegratedValue
from propercal.simulation.runner import run_study
from propercal.simulation.scenarios import MiscalibratedSimplex

__all__ = [
    "IntegratedValue",
    "MiscalibratedSimplex",
    "SimulatedSample",
    "StudyDesign",
    "TemperatureScaledSimplex",
    "run_study",
]
