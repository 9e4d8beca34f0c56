"""Recalibration: maps from predicted probabilities to better ones, fitted to other rows.

:class:`TemperatureScaling` and :class:`ClasswiseIsotonic` have ``fit(X, y)`` and
``predict_proba(X)`` as classifiers of scikit-learn have, and may be passed to
``decompose(recalibrator=...)``. The debiased method averages families of its own (book, chapter
"The bias correction and its interval").
"""

from propercal.recalibration.isotonic import ClasswiseIsotonic
from propercal.recalibration.step_function import IsotonicFunction
from propercal.recalibration.temperature import TemperatureScaling

__all__ = ["ClasswiseIsotonic", "IsotonicFunction", "TemperatureScaling"]
