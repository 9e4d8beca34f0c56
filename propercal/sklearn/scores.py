"""What a recalibrator is fitted to: probabilities of a classifier, or its decisions as logits."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator

from propercal._array import to_numpy
from propercal._data.inputs.reading import Names
from propercal._data.words.messages import bad_value, some_names
from propercal.sklearn.responses import Response, classes_of, respond

Floats = NDArray[np.floating[Any]]


def scores_of(estimator: Any, X: Any, recalibrator: Any, classes: list[Any]) -> Floats:
    """Return probabilities, or logits if the recalibrator takes these, with a column a class."""
    logits = getattr(recalibrator, "from_logits", False)
    found, own = _logits(estimator, X) if logits else respond(estimator, X)
    if own == classes:
        return found
    unknown = [each for each in own if each not in classes]
    if unknown:
        raise bad_value(
            "estimator",
            f"{type(estimator).__name__} of the classes {some_names(own)}",
            f"those of y, {some_names(classes)}",
            "let fit learn the classes of its y, or let cv be 'prefit' for what is fitted already",
        )
    nothing = -np.inf if logits else 0.0
    scores = np.full((len(found), len(classes)), nothing, dtype=found.dtype)
    scores[:, [classes.index(each) for each in own]] = found
    return scores


def names_of_scores(estimator: Any, recalibrator: Any) -> Names:
    """Return what errors call labels, and the scores that a recalibrator takes."""
    response = (
        "decision_function" if getattr(recalibrator, "from_logits", False) else "predict_proba"
    )
    return Names(labels="y", proba=f"{type(estimator).__name__}.{response}(X)")


def _logits(estimator: Any, X: Any) -> Response:
    """Return what `decision_function` does, with a column of 0 for the first of two classes."""
    name, classes = type(estimator).__name__, classes_of(estimator)
    if not callable(getattr(estimator, "decision_function", None)):
        raise bad_value(
            "estimator",
            f"{name} without decision_function",
            "one whose decision_function gives logits, as the recalibrator has from_logits=True",
            "leave from_logits out of the recalibrator",
        )
    found = to_numpy(estimator.decision_function(X))
    if found.ndim == 1:
        found = np.stack([np.zeros_like(found), found], axis=1)
    # Of three classes there are as many pairs of them.
    if found.shape[1] != len(classes) or (len(classes) == 3 and _says_pairs(estimator)):
        raise bad_value(
            "estimator",
            f"{name}, whose decision_function gave {found.shape[1]} columns"
            + (", of pairs of classes" if found.shape[1] == len(classes) else ""),
            f"one for each of {len(classes)} classes",
            "let its decision_function_shape be 'ovr', or take one with predict_proba",
        )
    return Response(np.asarray(found, dtype=np.result_type(found.dtype, np.float32)), classes)


def _says_pairs(estimator: Any) -> bool:
    """Tell whether a classifier, or what gives its decisions, says that these are of pairs."""
    while True:
        last = getattr(estimator, "steps", None)
        fitted = getattr(estimator, "best_estimator_", None)
        if last:
            estimator = last[-1][1]
        elif fitted is not None:
            estimator = fitted
        elif isinstance(estimator, FrozenEstimator):
            estimator = estimator.estimator
        else:
            return getattr(estimator, "decision_function_shape", None) == "ovo"
