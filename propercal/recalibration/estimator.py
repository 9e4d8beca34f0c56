"""What scikit-learn expects of an estimator whose input are probabilities."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propercal._array import to_numpy
from propercal._typing import Array
from propercal.recalibration.parameters import Parameters


class Recalibrator(Parameters, ABC):
    """A map from probabilities to probabilities, as a classifier of scikit-learn.

    It does not import scikit-learn, which asks for what it needs.
    """

    classes_: NDArray[Any]
    n_features_in_: int
    feature_names_in_: NDArray[Any]

    @abstractmethod
    def predict_proba(self, X: object) -> Array:
        """Recalibrate predictions."""

    def predict(self, X: object) -> NDArray[Any]:
        """Return the most probable class of each row, the first of equal ones.

        Parameters
        ----------
        X : array-like of shape (n,), (n, 1) or (n, k)
            Probabilities or logits, as in `fit`.

        Returns
        -------
        numpy.ndarray of shape (n,)
            Names of classes, as in ``classes_``.

        Raises
        ------
        ValueError
            If X cannot be used, has another number of classes, or nothing was fitted.
        """
        found = to_numpy(self.predict_proba(X))
        return np.asarray(self.classes_[found.argmax(axis=1)])

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        # Columns are classes, not features: what scikit-learn checks estimators with does not fit,
        # as it does not its own calibrators.
        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags(),
            input_tags=InputTags(one_d_array=True, two_d_array=False),
        )


def not_fitted(message: str) -> ValueError:
    """Build the error for what was not fitted yet: that of scikit-learn, where it is in use."""
    exceptions = sys.modules.get("sklearn.exceptions")
    if exceptions is None:
        return ValueError(message)
    error: ValueError = exceptions.NotFittedError(message)
    return error


def note_features(fitted: Any, n_columns: int, names: tuple[Any, ...] | None) -> None:
    """Note how many columns there were, and how they are called if all names are texts."""
    fitted.n_features_in_ = n_columns
    # Names of an earlier fit may stand there.
    vars(fitted).pop("feature_names_in_", None)
    if names is not None and all(isinstance(each, str) for each in names):
        fitted.feature_names_in_ = np.array(names, dtype=object)
