"""The arguments of recalibrators, under the names that scikit-learn gives."""

from __future__ import annotations

from typing import Any

import numpy as np

from propercal._array import namespace
from propercal._data.messages import bad_value
from propercal._data.predictions import Predictions, validate
from propercal._data.reading import Names, read_array
from propercal._typing import Array

_NAMES = Names(labels="y", proba="X")


def read_training(X: object, y: object, sample_weight: object, from_logits: bool) -> Predictions:
    """Check what a recalibrator is to be fitted to."""
    predictions = _validated(X, y, sample_weight, from_logits)
    if predictions.multilabel:
        raise bad_value(
            "y",
            "an indicator matrix of several labels a row",
            "one class a row",
            "recalibrate each label by itself, as a problem of two classes",
        )
    return predictions


def read_new(X: object, fitted: Any, from_logits: bool) -> tuple[Predictions, int]:
    """Check what a fitted recalibrator is to be applied to; the first so many rows are meant."""
    classes = getattr(fitted, "classes_", None)
    if classes is None:
        name = type(fitted).__name__
        raise bad_value(name, "not fitted yet", "a fitted recalibrator", "call fit(X, y) first")
    values = read_array("X", X)
    n = values.shape[0] if values.ndim else 0
    if n == 1:
        # What is fitted needs two rows; what is predicted does not.
        values = namespace(values).concat([values, values], axis=0)
    any_label = np.zeros(max(n, 2), dtype=np.int64)
    predictions = _validated(values, any_label, None, from_logits)
    if predictions.n_classes != len(classes):
        raise bad_value(
            "X",
            f"{predictions.n_classes} classes",
            f"{len(classes)}, as in fit",
            "pass the columns it was fitted to",
        )
    return predictions, n


def as_given(prob: Array, n: int, predictions: Predictions) -> Array:
    """Return the first `n` rows of probabilities in the caller's floating dtype."""
    return namespace(prob).astype(prob[:n, :], predictions.dtype, copy=False)


def _validated(X: object, y: object, sample_weight: object, from_logits: bool) -> Predictions:
    return validate(y, X, from_logits=from_logits, sample_weight=sample_weight, names=_NAMES)
