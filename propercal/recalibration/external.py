"""Recalibrators of other libraries: whatever has ``fit`` and ``predict_proba``."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from propercal._array import like, namespace, to_numpy
from propercal._data.classes.columns import keys
from propercal._data.inputs.holders import hold, is_labelled
from propercal._data.words.messages import bad_value
from propercal._data.words.tokens import numberings
from propercal._typing import Array
from propercal.recalibration.family import Family, Recalibration, TrainingRows, TrainingSets
from propercal.recalibration.parameters import Parameters
from propercal.recalibration.points import SMALLEST, Points


def as_family(argument: str, recalibrator: Any) -> Family:
    """Return the family of recalibrations that an object in the style of scikit-learn fits.

    A copy is fitted each time. Its input are the probabilities (n, k), pairs (1 − p, p) for a
    class by itself; ``sample_weight`` is passed where weights differ. Zeros in what it predicts, or
    classes it was not fitted to, count as e^LOG_FLOOR, as those of a model do.
    """
    for method in ("fit", "predict_proba"):
        if not callable(getattr(recalibrator, method, None)) or isinstance(recalibrator, type):
            raise bad_value(
                argument,
                repr(recalibrator),
                "objects with fit(X, y) and predict_proba(X), as in scikit-learn",
                "pass an instance, such as LogisticRegression(), or a list of them",
            )
    check_unnamed(argument, recalibrator)

    def family(train: TrainingSets) -> Recalibration:
        n_classes = train.n_classes
        fitted = []
        for rows in train.rows():
            each = _fit(argument, recalibrator, rows, uniform=train.uniform)
            classes = _classes(argument, each, np.unique(rows.label), n_classes)
            fitted.append((each, classes))

        def recalibration(points: Points) -> Array:
            found = [_predicted(argument, *each, n_classes, points) for each in fitted]
            return namespace(points.prob).stack(found)

        return recalibration

    return family


def _fit(argument: str, recalibrator: Any, rows: TrainingRows, *, uniform: bool) -> Any:
    fitted = copy.deepcopy(recalibrator)
    options = {} if uniform else {"sample_weight": rows.weight}
    try:
        result = fitted.fit(rows.prob, rows.label, **options)
    except (TypeError, ValueError) as error:
        if options and "sample_weight" in str(error):
            raise bad_value(
                argument,
                f"{type(fitted).__name__}, whose fit takes no sample_weight",
                "one that takes weights, since those of the rows differ",
                "leave it out for the built-in ones, or pass no sample_weight",
            ) from error
        if isinstance(error, TypeError):
            raise
        raise bad_value(
            argument,
            f"{type(fitted).__name__}, whose fit failed without some folds ({error})",
            f"one that can be fitted to {len(rows.label)} rows of classes {np.unique(rows.label)}",
            "collect more rows of the rare classes, or leave it out for the built-in ones",
        ) from error
    return fitted if result is None else result


def check_unnamed(argument: str, recalibrator: Any) -> None:
    """Raise if a recalibrator of this package has names for classes, which come as numbers."""
    if not isinstance(recalibrator, Parameters):
        return
    settings = recalibrator.get_params()
    labels = settings.get("labels")
    counted = labels is None or np.asarray(labels).tolist() == list(range(np.size(labels)))
    for name, fine in (("labels", counted), ("pos_label", settings.get("pos_label") is None)):
        if not fine:
            raise bad_value(
                argument,
                f"{type(recalibrator).__name__} with {name} = {settings[name]!r}",
                "none of its own: here it is fitted to class numbers, in the order of columns",
                f"leave {name} out of it, and pass it to the function that the data are passed to",
            )


def _classes(argument: str, fitted: Any, seen: Any, n_classes: int) -> Any:
    """Return the number of the class of each column that is predicted, or raise."""
    classes = np.asarray(getattr(fitted, "classes_", seen))
    found = classes.tolist()
    if classes.ndim != 1 or len(set(found)) < len(found) or not set(found) <= set(range(n_classes)):
        raise bad_value(
            argument,
            f"{type(fitted).__name__}, whose classes_ are {found}",
            f"class numbers, 0 to {n_classes - 1}, as it was fitted to",
            "let classes_ hold the class of each column that predict_proba returns",
        )
    return classes.astype(int)


def _in_order(argument: str, name: str, returned: Any, classes: Any, n: int) -> Any:
    """Return a table of predictions in the order of rows and classes, by their names, or raise."""
    held = hold(f"{name}.predict_proba(X)", returned)
    values = to_numpy(held.values)
    columns = held.columns
    if values.ndim != 2 or (columns is None and held.rows is None and not is_labelled(returned)):
        return values
    rows = None if held.rows is None else held.rows.tolist()
    wanted = keys(classes.tolist())
    numbers = None if columns is None else _numbers(columns)
    if (
        is_labelled(returned)
        or (rows is not None and sorted(map(str, rows)) != sorted(map(str, range(n))))
        or (numbers is not None and sorted(numbers) != sorted(wanted))
    ):
        raise bad_value(
            argument,
            f"{name}, whose predict_proba gave a {type(returned).__name__}"
            + ("" if columns is None else f" of columns {list(columns)}"),
            f"columns of the classes {classes.tolist()}, and rows 0 to {n - 1}",
            "let it return an array, whose columns are in the order of classes_",
        )
    if rows is not None:
        values = values[np.argsort([int(each) for each in rows])]
    return values if numbers is None else values[:, [numbers.index(each) for each in wanted]]


def _numbers(columns: Sequence[Any]) -> list[Any]:
    """Return the numbers of classes in names of columns, or those names."""
    found = numberings(columns)
    counted = len(found) == 1 and None not in found[0]
    return keys(found[0] if counted else columns)


def _predicted(argument: str, fitted: Any, classes: Any, n_classes: int, points: Points) -> Array:
    given = to_numpy(points.prob)
    n = len(given)
    name = type(fitted).__name__
    returned = fitted.predict_proba(given)
    if not isinstance(returned, np.ndarray):
        returned = _in_order(argument, name, returned, classes, n)
    found = np.asarray(returned, dtype=np.float64)
    if found.shape == (n, len(classes)):
        # In an order of its own, and without classes that do not occur in the rows of fit.
        prob = np.zeros((n, n_classes))
        prob[:, classes] = found
    elif found.shape == (n, n_classes):
        prob = found
    else:
        raise bad_value(
            argument,
            f"{name}, whose predict_proba gave shape {found.shape} for {n} rows",
            f"shape ({n}, {n_classes})",
            "let it return one probability per class",
        )
    if not ((prob >= 0).all() and np.allclose(prob.sum(axis=1), 1, atol=1e-6)):
        raise bad_value(
            argument,
            f"{name}, whose predict_proba gave rows that are no probabilities",
            "numbers ≥ 0 that sum to 1 in each row",
            "correct or replace it",
        )
    return like(np.maximum(prob, SMALLEST), points.prob)
