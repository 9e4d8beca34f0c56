"""What scikit-learn expects of an estimator whose input are probabilities."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propercal._array import to_numpy
from propercal._data.words.messages import bad_value, some_names, warn
from propercal._typing import Array
from propercal.recalibration.called import are_callers
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

    def _note_classes(self, names: Sequence[Any]) -> None:
        """Note the classes of the columns, and warn where scikit-learn takes them in its order.

        Labels may count columns that have other names.
        """
        self.classes_ = np.array(names)
        columns = vars(self)["columns_"].names
        counted = columns is not None and all(isinstance(each, str) for each in columns)
        if not counted or self.classes_.tolist() != list(range(len(self.classes_))):
            columns = self.classes_.tolist()
        assert columns is not None  # noqa: S101  # as it is of counted ones
        usual = _sorted(columns)
        if list(columns) != usual and are_callers():
            warn(
                f"X has columns of the classes {some_names(list(columns))}, in this order, and so "
                "have classes_ and what predict_proba returns. What takes the classes of an array, "
                "or their codes, in sorted order, as metrics and scorers of scikit-learn, its "
                "VotingClassifier and cross_val_predict do, reads that wrongly: for it, fit and "
                f"apply it to a column for each class, in the order {some_names(usual)}."
            )

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        classes = getattr(self, "classes_", np.array([])).tolist()
        usual = _sorted(classes)
        if len(classes) == 2 and classes != usual:
            # What asks a fitted classifier of two classes holds the last one for the positive one.
            raise bad_value(
                "estimator",
                f"{type(self).__name__}, fitted to columns of the classes {classes}",
                f"the sorted order, {usual}, in which scikit-learn takes classes",
                "fit and apply it to a column for each class, in that order",
            )
        # Columns are classes, not features: what scikit-learn checks estimators with does not fit,
        # as it does not its own calibrators.
        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags(),
            input_tags=InputTags(one_d_array=True, two_d_array=False),
        )


def _sorted(classes: Any) -> list[Any]:
    """Return the classes in the order that scikit-learn gives them, if they have one."""
    try:
        return list(np.unique(np.asarray(classes)).tolist())
    except TypeError:
        return list(classes)


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
