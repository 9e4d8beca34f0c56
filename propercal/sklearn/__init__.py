"""Scorers, displays and a classifier for scikit-learn 1.6 or newer.

Scorers (:func:`scorer`, :func:`get_scorer`) are for ``scoring=`` of ``cross_validate``,
``GridSearchCV`` and their like; displays (:class:`ReliabilityDisplay`,
:class:`DecompositionDisplay`) are drawn ``from_estimator`` or ``from_predictions``; a classifier
(:class:`RecalibratedClassifier`) recalibrates another.

Nothing else of this package imports scikit-learn (``pip install "propercal[sklearn]"``). Rows are
told by their positions, as everywhere in scikit-learn: an index of pandas is not looked at, but for
two orders of one index, which ``from_predictions`` refuses.
"""

try:
    from sklearn.utils import Tags as _Tags  # noqa: F401  # the newest name that is needed
except ImportError as error:
    raise ImportError(
        "propercal.sklearn needs scikit-learn 1.6 or newer; install it with: "
        'pip install "propercal[sklearn]"'
    ) from error

from propercal.sklearn.decomposition_display import DecompositionDisplay
from propercal.sklearn.recalibrated import RecalibratedClassifier
from propercal.sklearn.reliability_display import ReliabilityDisplay
from propercal.sklearn.scoring import Scorer, get_scorer, get_scorer_names, scorer

__all__ = [
    "DecompositionDisplay",
    "RecalibratedClassifier",
    "ReliabilityDisplay",
    "Scorer",
    "get_scorer",
    "get_scorer_names",
    "scorer",
]
