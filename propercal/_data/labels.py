"""Class numbers 0 to k − 1 from labels of any form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from propercal._data.messages import bad_value, some_rows
from propercal._data.reading import USUAL_NAMES, Names, read_numpy


class Classes(NamedTuple):
    """What occurred at each point."""

    codes: npt.NDArray[np.int64] | None
    """(n,) numbers of the classes; None where a row marks none or several."""
    indicator: npt.NDArray[np.bool_] | None
    """(n, k) the classes marked, where ``y_true`` was an indicator matrix."""
    names: tuple[Any, ...]
    """The name of each class, in the order of the columns of ``y_proba``."""


def read_labels(
    y_true: object,
    n_classes: int,
    *,
    labels: Sequence[Any] | None = None,
    columns: Sequence[Any] | None = None,
    called: Names = USUAL_NAMES,
) -> Classes:
    """Turn labels into class numbers.

    Parameters
    ----------
    y_true : array-like of shape (n,), (n, 1) or (n, k)
        Integers 0 to k − 1, booleans, strings, whole floats, or an indicator matrix.
    n_classes : int
        The number of columns k of the predictions.
    labels : sequence of length k, optional
        The class that each column of ``y_proba`` stands for.
    columns : sequence of length k, optional
        Column names of ``y_proba``; they name the classes where `y_true` uses the same names.
    called : Names
        What errors call the arguments.
    """
    values = read_numpy(called.labels, y_true)
    names = check_names(labels, n_classes, called)
    if names is None:
        names = _own_categories(y_true, n_classes)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim == 2:
        return _read_indicator(values, n_classes, names, called)
    if values.ndim != 1:
        raise bad_value(
            called.labels,
            f"an array of shape {values.shape}",
            "shape (n,), or (n, k) one-hot",
            "pass one label per prediction",
        )
    if values.dtype.kind == "f":
        values = _whole_numbers(values, called)
    if values.dtype.kind not in "biuOU" or (
        values.dtype.kind == "O" and not all(isinstance(v, str | int | bool) for v in values)
    ):
        raise bad_value(
            called.labels,
            f"values of type {values.dtype if values.dtype.kind != 'O' else _odd_type(values)}",
            "integers, booleans, strings or a one-hot matrix",
            "convert the labels, and drop rows whose label is missing",
        )
    if values.dtype.kind == "O" and len({isinstance(v, str) for v in values}) > 1:
        raise bad_value(
            called.labels,
            "a mix of strings and numbers",
            "labels of one type",
            "convert the class names to strings, or all labels to class numbers",
        )
    uniques, inverse = np.unique(values, return_inverse=True)
    if names is None:
        names = _default_names(uniques, values, n_classes, columns, called)
    position = {name: i for i, name in enumerate(names)}
    unknown = [value for value in uniques.tolist() if value not in position]
    if unknown:
        raise _unknown_labels(values, unknown, names, labels is not None, called)
    codes = np.array([position[value] for value in uniques.tolist()], dtype=np.int64)
    return Classes(codes[inverse.ravel()], None, names)


def _own_categories(y_true: object, n_classes: int) -> tuple[Any, ...] | None:
    """Return the names of a categorical series of strings, in the order it gives them."""
    dtype = getattr(y_true, "dtype", None)
    categories = getattr(dtype, "categories", None)
    if categories is None or len(categories) != n_classes:
        return None
    names = tuple(categories.tolist())
    return names if all(isinstance(name, str) for name in names) else None


def _odd_type(values: npt.NDArray[Any]) -> str:
    odd = next(v for v in values if not isinstance(v, str | int | bool))
    return f"{type(odd).__name__} ({odd!r})"


def check_names(
    labels: Sequence[Any] | None, n_classes: int, called: Names = USUAL_NAMES
) -> tuple[Any, ...] | None:
    """Return the names of classes as a tuple, or raise."""
    if labels is None:
        return None
    values = read_numpy("labels", labels)
    names = tuple(values.tolist())
    if values.ndim != 1 or len(names) != n_classes or len(set(names)) != len(names):
        raise bad_value(
            "labels",
            list(names),
            f"a list of {n_classes} different names, one per column of {called.proba}",
            "list the class of every column, in the order of the columns",
        )
    return names


def _read_indicator(
    values: npt.NDArray[Any], n_classes: int, names: tuple[Any, ...] | None, called: Names
) -> Classes:
    if values.shape[1] != n_classes:
        raise bad_value(
            called.labels,
            f"a matrix of shape {values.shape}",
            f"{n_classes} columns, as many classes as {called.proba} has",
            "pass class numbers of shape (n,) or a matching one-hot matrix",
        )
    odd = None
    if values.dtype.kind not in "biuf":
        odd = np.ones(values.shape, dtype=bool)
    elif values.dtype.kind != "b":
        odd = (values != 0) & (values != 1)
    if odd is not None and odd.any():
        row, column = (int(i) for i in np.argwhere(odd)[0])
        raise bad_value(
            called.labels,
            f"{values[row, column]!r} at row {row}, column {column}",
            "0 or 1 in an indicator matrix",
            "soft labels are not supported: pass the class that occurred",
        )
    marked = values.astype(bool)
    single = bool((marked.sum(axis=1) == 1).all())
    codes = marked.argmax(axis=1).astype(np.int64) if single else None
    return Classes(codes, marked, names or tuple(range(n_classes)))


def _whole_numbers(values: npt.NDArray[Any], called: Names) -> npt.NDArray[np.int64]:
    with np.errstate(invalid="ignore"):
        odd = ~(np.isfinite(values) & (values == np.round(values)) & (np.abs(values) < 2.0**53))
    if odd.any():
        row = int(np.flatnonzero(odd)[0])
        raise bad_value(
            called.labels,
            f"{float(values[row])} at {some_rows(np.flatnonzero(odd))}",
            "whole class numbers without missing values",
            "drop rows whose label is missing; pass the class that occurred, not a probability",
        )
    return values.astype(np.int64)


def _default_names(
    uniques: npt.NDArray[Any],
    values: npt.NDArray[Any],
    n_classes: int,
    columns: Sequence[Any] | None,
    called: Names,
) -> tuple[Any, ...]:
    if columns is not None and len(columns) == 1:
        # The one column of a binary problem is the positive class, where its name is one.
        others = [name for name in uniques.tolist() if name != columns[0]]
        if isinstance(columns[0], str) and len(others) == len(uniques) - 1 == 1:
            return (others[0], columns[0])
    elif columns is not None and set(uniques.tolist()) <= set(columns):
        if len(set(columns)) != len(columns):
            raise bad_value(
                called.proba,
                f"columns named {list(columns)}",
                "different names, since they name the classes",
                "rename the columns, or pass labels=[...] in the order of the columns",
            )
        return tuple(columns)
    if values.dtype.kind not in "OU":
        return (
            (False, True)
            if values.dtype.kind == "b" and n_classes == 2
            else (tuple(range(n_classes)))
        )
    if len(uniques) != n_classes:
        raise bad_value(
            called.labels,
            f"{len(uniques)} different names ({', '.join(map(repr, uniques.tolist()[:5]))}, ...)"
            if len(uniques) > 5
            else f"the names {uniques.tolist()}",
            f"{n_classes} classes, as {called.proba} has columns",
            "pass labels=[...], the class of every column in the order of the columns",
        )
    return tuple(uniques.tolist())


def _unknown_labels(
    values: npt.NDArray[Any],
    unknown: list[Any],
    names: tuple[Any, ...],
    given: bool,
    called: Names,
) -> ValueError:
    rows = np.flatnonzero(np.isin(values, np.array(unknown, dtype=values.dtype)))
    if given:
        expected = f"one of labels={list(names)}"
    else:
        expected = f"0 to {len(names) - 1}, a column of {called.proba}"
    return bad_value(
        called.labels,
        f"{unknown[0]!r} at {some_rows(rows)}",
        expected,
        "correct the labels, or pass labels=[...], the class of every column in order",
    )
