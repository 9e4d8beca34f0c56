"""Recalibration: maps from predicted probabilities to better ones, fitted to other rows.

Public maps, in the style of scikit-learn and fit for ``decompose(recalibrator=...)``:
:mod:`~propercal.recalibration.temperature` and :mod:`~propercal.recalibration.isotonic`, with
their arguments (:mod:`~propercal.recalibration.arguments`), settings
(:mod:`~propercal.recalibration.parameters`) and what scikit-learn asks of them
(:mod:`~propercal.recalibration.estimator`).

What the debiased method averages: families of recalibrations
(:mod:`~propercal.recalibration.family` says what one is), of scores and mixtures
(:mod:`~propercal.recalibration.families`), of the top class
(:mod:`~propercal.recalibration.top_class`) and of users
(:mod:`~propercal.recalibration.external`), which of them when
(:mod:`~propercal.recalibration.built_in`), on points inside the simplex
(:mod:`~propercal.recalibration.points`). Their fits (:mod:`~propercal.recalibration.logit`) and
their average (:mod:`~propercal.recalibration.stacking`) share one descent
(:mod:`~propercal.recalibration.descent`).
"""

from propercal.recalibration.isotonic import ClasswiseIsotonic
from propercal.recalibration.step_function import IsotonicFunction
from propercal.recalibration.temperature import TemperatureScaling

__all__ = ["ClasswiseIsotonic", "IsotonicFunction", "TemperatureScaling"]
