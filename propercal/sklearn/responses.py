"""What a fitted classifier predicts, with the class of each column, and labels as their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from propercal._array import is_torch, to_numpy
from propercal._data.classes.columns import keys, names_of
from propercal._data.inputs.held import Held
from propercal._data.inputs.reading import Names, is_missing, read_array
from propercal._data.rows.dimensions import of_rows
from propercal._data.words.messages import bad_value, some_names, some_rows, warn
from propercal._data.words.tokens import key
from propercal.sklearn.positions import check_predicted

Floats = NDArray[np.floating[Any]]
Integers = NDArray[np.int64]

#: As displays call their arguments.
CALLED = Names(proba="y_prob")
#: Further from 0 to 1 is no probability of any precision.
_ROUNDING = 1e-2
_ONE_OUTPUT = "a classifier of one class a row"
_EACH = "score each output by itself, with the column of y that it predicts"


class Response(NamedTuple):
    """Predicted probabilities of rows."""

    proba: Floats
    """(n, k) one column a class."""
    classes: list[Any]
    """The class of each column."""


def respond(estimator: Any, X: Any) -> Response:
    """Return what `estimator` predicts for X, or raise where it is no classifier of one output."""
    name = type(estimator).__name__
    if not callable(getattr(estimator, "predict_proba", None)):
        raise bad_value(
            "estimator",
            f"{name} without predict_proba",
            "a classifier that predicts probabilities",
            "wrap it in sklearn.calibration.CalibratedClassifierCV",
        )
    # Where nothing was fitted, this says so.
    predicted = estimator.predict_proba(X)
    check_predicted(X, predicted)
    if isinstance(predicted, list | tuple):
        if not all(np.ndim(each) == 2 for each in predicted):
            raise bad_value(
                "estimator",
                f"{name}, whose predict_proba gave a {type(predicted).__name__}",
                "an array, or a table with a column for each class",
                "let it return numpy.array([...])",
            )
        raise bad_value("estimator", f"{name} of several outputs", _ONE_OUTPUT, _EACH)
    found = as_response(name, predicted, classes_of(estimator))
    _check_range(name, found.proba)
    return found


def _check_range(name: str, proba: Floats) -> None:
    """Raise if numbers are further from 0 to 1 than rounding explains, as logits are."""
    if proba.dtype.kind != "f":
        return
    odd = np.argwhere((proba < -_ROUNDING) | (proba > 1 + _ROUNDING))
    if len(odd):
        of_100 = proba.min() >= 0 and proba.max() <= 100
        percent = "them divided by 100 if these are percentages, or " if of_100 else ""
        raise bad_value(
            "estimator",
            f"{name}, whose predict_proba gave {float(proba[tuple(odd[0])]):.4g} at "
            f"{some_rows(np.unique(odd[:, 0]))}",
            "probabilities between 0 and 1",
            f"let it return {percent}scipy.special.softmax(logits, axis=1) if these are logits",
        )


def classes_of(estimator: Any) -> list[Any]:
    """Return the classes that `estimator` was fitted to, or raise."""
    name, classes = type(estimator).__name__, getattr(estimator, "classes_", None)
    if classes is None:
        raise bad_value(
            "estimator",
            f"{name} without classes_",
            "a fitted classifier, whose classes_ say what its columns stand for",
            "fit it, or let fit set self.classes_",
        )
    several = isinstance(classes, list) and len(classes) > 0 and np.ndim(classes[0]) > 0
    if several or np.ndim(classes) != 1:
        raise bad_value("estimator", f"{name} of several outputs", _ONE_OUTPUT, _EACH)
    found = list(np.asarray(classes).tolist())
    if len(set(found)) < len(found) or any(map(is_missing, found)):
        raise bad_value(
            "estimator",
            f"{name} with classes_ {found!r}",
            "each class once, and none missing",
            "fit it to rows with labels, or let fit set self.classes_ = numpy.unique(y)",
        )
    return found


def as_response(name: str, predicted: Any, classes: list[Any]) -> Response:
    """Return probabilities as a matrix with a column for each class, or raise."""
    called = Names(proba=f"{name}.predict_proba(X)")
    held = of_rows(called.proba, predicted, called)
    proba = to_numpy(held.values)
    if proba.ndim == 1:
        proba = proba[:, None]
    if proba.shape[1:] == (1,) and len(classes) == 2:
        # Of the second class, unless its name is that of the first.
        turned = held.name is not None and not held.first and key(held.name) == key(classes[0])
        proba = np.concatenate([proba, 1 - proba] if turned else [1 - proba, proba], axis=1)
    if proba.shape[1:] != (len(classes),):
        raise bad_value(
            "estimator",
            f"{name}, whose predict_proba gave shape {tuple(proba.shape)} for the classes "
            f"{some_names(classes)}",
            "one column for each of its classes_",
            "correct it, or pass its predictions to propercal.decompose",
        )
    order = _places(name, held, classes)
    return Response(proba if order is None else proba[:, order], classes)


def _places(name: str, held: Held, classes: list[Any]) -> list[int] | None:
    """Return the column of each class where columns have names, or raise if these are of others."""
    k = len(classes)
    columns = tuple(range(k)) if held.numbered else held.columns
    if columns is None or held.values.shape[1:] != (k,) or k == 1:
        return None
    places, wanted = keys(columns), keys(classes)
    if sorted(map(str, places)) == sorted(map(str, wanted)):
        # Columns that are named after the classes stand where their names say.
        return [places.index(each) for each in wanted]
    try:
        names_of(classes, held, labels=classes)
    except ValueError as error:
        raise bad_value(
            "estimator",
            f"{name}, whose predict_proba gave columns {some_names(columns)} for the classes "
            f"{some_names(classes)}",
            "columns that are named after its classes_, or have no names",
            "rename them, or return an array in the order of classes_",
        ) from error
    return None


def labels_in(y: Any, argument: str = "y") -> list[Any]:
    """Return labels as a list of plain values, or raise where there is not one for each row."""
    values = in_numpy(argument, y)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise bad_value(
            argument,
            "None" if y is None else f"an array of shape {values.shape}",
            "one label for each row, of shape (n,)",
            f"pass what occurred; {_EACH}",
        )
    found: list[Any] = values.tolist()
    if any(is_missing(each) for each in dict.fromkeys(found)):
        raise bad_value(argument, "missing values", "a label for each row", "drop these rows")
    if len({isinstance(each, str) for each in dict.fromkeys(found)}) > 1:
        raise bad_value(
            argument,
            "a mix of strings and numbers",
            "labels of one type",
            "convert the class names to strings, or all labels to class numbers",
        )
    return found


def in_numpy(argument: str, values: Any) -> NDArray[Any]:
    """Return values without the names of rows and without gradient; masked ones are refused."""
    if is_torch(values):
        return to_numpy(values)
    if isinstance(values, np.ma.MaskedArray | list | tuple):
        return np.asarray(read_array(argument, values))
    return np.asarray(values)


def with_labels(
    response: Response, y: Any, name: str, order: Sequence[Any] | None = None
) -> tuple[Integers, Response]:
    """Return the numbers of the labels y, and a response with a column for each of them.

    A class that the classifier was not fitted to has a probability of 0. Columns come in `order`,
    where the caller gives one, else in that of the classifier.
    """
    labels = labels_in(y)
    proba, classes = response
    known = set(classes)
    unknown = [each for each in dict.fromkeys(labels) if each not in known]
    if unknown:
        _check_kind(unknown, classes, name)
        warn(
            f"y has labels that {name} was not fitted to, {some_names(unknown)}: it gives them a "
            "probability of 0."
        )
    # A classifier of one class alone is sure of it.
    more = unknown or ([None] if len(classes) == 1 else [])
    if more:
        proba = np.concatenate([proba, np.zeros((len(proba), len(more)), proba.dtype)], axis=1)
        classes = [*classes, *more]
    if order is not None:
        wanted = list(np.asarray(order).tolist())
        if len(set(wanted)) < len(wanted) or set(wanted) != set(classes):
            raise bad_value(
                "labels",
                some_names(wanted),
                f"each of the classes {some_names(classes)} once",
                "name them in the order that they have",
            )
        proba, classes = proba[:, [classes.index(each) for each in wanted]], wanted
    number = {each: i for i, each in enumerate(classes)}
    codes = np.array([number[each] for each in labels], dtype=np.int64)
    return codes, Response(proba, classes)


def _check_kind(unknown: list[Any], classes: list[Any], name: str) -> None:
    """Raise where labels are texts and classes numbers, or the other way about."""
    texts = {isinstance(each, str) for each in (*unknown, *classes)}
    if len(texts) > 1:
        raise bad_value(
            "y",
            f"labels {some_names(unknown)}",
            f"labels of one type with the classes of {name}, {some_names(classes)}",
            "pass them as they were passed to fit",
        )


def plain(argument: str, values: Any) -> Any:
    """Return one value for each row, told by its position, without the names of rows."""
    if values is None:
        return None
    found = in_numpy(argument, values)
    if found.ndim == 2 and found.shape[1] == 1:
        found = found[:, 0]
    if found.ndim != 1:
        raise bad_value(
            argument, f"an array of shape {found.shape}", "one value for each row", "pass a vector"
        )
    return found
