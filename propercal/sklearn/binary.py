"""One event of a classifier or of predictions, checked in the words of scikit-learn's displays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils import check_consistent_length
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted

from propercal._data.classes.columns import names_of
from propercal._data.classes.one_column import OneColumn
from propercal._data.rows.dimensions import of_rows
from propercal._data.words.messages import bad_value, some_names
from propercal._data.words.tokens import key
from propercal.sklearn.positions import check_in_one_order
from propercal.sklearn.responses import CALLED, Response, labels_in, plain, respond

Floats = NDArray[np.float64]


class Rows(NamedTuple):
    """Rows of one yes-or-no question."""

    occurred: NDArray[np.int64]
    """(n,) 1 where the positive class occurred."""
    prob: Floats
    """(n,) its predicted probability."""
    pos_label: Any
    weight: Any
    groups: Any


def fitted_response(estimator: Any, X: Any) -> Response:
    """Return what a fitted classifier predicts, or raise as scikit-learn does."""
    name = type(estimator).__name__
    if hasattr(estimator, "__sklearn_tags__"):
        check_is_fitted(estimator)
        if not is_classifier(estimator):
            raise ValueError(
                f"Expected 'estimator' to be a binary classifier. Got {name} instead; pass one "
                "with predict_proba, of any number of classes."
            )
    return respond(estimator, X)


def positive_class(response: Response, y: Any, pos_label: Any) -> tuple[Floats, Any]:
    """Return the probabilities of the positive class, and its name, or raise."""
    proba, classes = response
    if len(classes) != 2 and pos_label is None:
        raise ValueError(
            "Expected 'estimator' to be a binary classifier. "
            f"Got {len(classes)} classes instead; name one of {some_names(classes)} by pos_label."
        )
    unknown = sorted({*labels_in(y)} - {*classes}, key=str)
    if unknown and len(classes) == 2 and type_of_target(y) != "binary":
        raise _not_binary(y)
    if unknown:
        raise bad_value(
            "y",
            f"labels {some_names(unknown)}",
            f"the classes that the estimator was fitted to, {some_names(classes)}",
            "pass labels as they were passed to fit, without rows of other classes",
        )
    if pos_label is None:
        pos_label = classes[1]
    if pos_label not in classes:
        raise bad_value(
            "pos_label", repr(pos_label), f"one of {some_names(classes)}", "name one of these"
        )
    return np.asarray(proba[:, classes.index(pos_label)], dtype=np.float64), pos_label


def read_rows(
    y_true: Any,
    y_prob: Any,
    pos_label: Any,
    weight: Any,
    groups: Any,
    among: Sequence[Any] = (),
) -> Rows:
    """Return the rows of one event, told by the name of its class, or raise.

    The class is one of those that occur, or `among` others that may.
    """
    labels = labels_in(y_true, "y_true")
    several = type_of_target(y_true) == "multiclass" and pos_label is not None
    if type_of_target(y_true) != "binary" and not several:
        raise _not_binary(y_true)
    prob = plain("y_prob", () if y_prob is None else y_prob)
    check_in_one_order(y_true=y_true, y_prob=y_prob, sample_weight=weight, groups=groups)
    check_consistent_length(y_true, prob, weight, groups)
    _check_name(labels, y_true, y_prob, pos_label, several=several)
    pos_label = _positive(labels, pos_label, among)
    if prob.dtype.kind not in "biuf" or not ((prob >= 0) & (prob <= 1)).all():
        raise bad_value(
            "y_prob",
            f"values of type {prob.dtype}"
            if prob.dtype.kind not in "biuf"
            else f"numbers from {prob.min()} to {prob.max()}",
            "probabilities of the positive class, between 0 and 1",
            "pass a column of what predict_proba returns",
        )
    occurred = np.array([each == pos_label for each in labels], dtype=np.int64)
    given = plain("sample_weight", weight), plain("groups", groups)
    return Rows(occurred, prob.astype(np.float64), pos_label, *given)


def _check_name(
    labels: Sequence[Any], y_true: Any, y_prob: Any, pos_label: Any, *, several: bool
) -> None:
    """Raise where the name of the column is that of another class than the positive one."""
    proba = of_rows(CALLED.proba, y_prob, CALLED, labels)
    of_labels = of_rows(CALLED.labels, y_true, CALLED, labels)
    found = sorted({*labels}, key=str)
    words = any(isinstance(each, str) for each in found)
    if (pos_label is None and words) or (proba.name is None and not proba.first):
        # Which class is meant is asked for anyway, or said.
        return
    if several:
        # It and all others, under a name that is of none.
        others = [each for each in found if key(each) != key(pos_label)]
        found = [each for each in others if key(each) == key(proba.name)][:1]
        found = [pos_label, *(found or others[:1])]
    column = OneColumn(None, pos_label, proba.name, CALLED)
    column.check_labels(found, of_labels.name)
    column.names(found, of_labels.name)
    positive = 1 if pos_label is None else pos_label
    try:
        names_of(found, proba, pos_label=positive)
    except ValueError as error:
        raise bad_value(
            "y_prob",
            f"a column named {proba.name!r}",
            f"the probability of the positive class, {positive!r}",
            "pass the column of this class, pos_label=... of the other, or it without its name",
        ) from error


def _not_binary(y: Any) -> ValueError:
    return ValueError(
        f"The target y is not binary. Got {type_of_target(y)} type of target; of several classes, "
        "name the positive one by pos_label."
    )


def _positive(labels: Sequence[Any], pos_label: Any, among: Sequence[Any]) -> Any:
    """Return the positive class: 1 of 0 and 1, or −1 and 1, unless it is named."""
    found = sorted({*labels}, key=str)
    if pos_label is None:
        if {*found} <= {0, 1} or {*found} <= {-1, 1}:
            return 1
        values = ", ".join(map(repr, found))
        raise ValueError(
            f"y_true takes value in {{{values}}} and pos_label is not specified: either make "
            "y_true take value in {0, 1} or {-1, 1} or pass pos_label explicitly."
        )
    if pos_label not in (*found, *among) and len(found) > 1:
        raise bad_value(
            "pos_label", repr(pos_label), f"one of {some_names(found)}", "name one of these"
        )
    return pos_label
