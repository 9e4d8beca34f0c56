"""Post-hoc recalibration: maps from predicted probabilities to better ones, fitted to other rows.

In the style of scikit-learn, and fit to be passed to ``decompose(recalibrator=...)``.
"""

from propercal.recalibration.isotonic import ClasswiseIsotonic
from propercal.recalibration.temperature import TemperatureScaling

__all__ = ["ClasswiseIsotonic", "TemperatureScaling"]
