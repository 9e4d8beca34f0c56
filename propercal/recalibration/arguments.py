"""The arguments of recalibrators, under the names that scikit-learn gives."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from propercal._array import namespace
from propercal._data.alignment import align
from propercal._data.columns import OtherColumnsError, order_of_columns
from propercal._data.dimensions import Layout
from propercal._data.holders import Held, hold, is_labelled
from propercal._data.messages import bad_value
from propercal._data.naming import key
from propercal._data.predictions import Predictions, validate
from propercal._data.reading import Names
from propercal._typing import Array

_NAMES = Names(labels="y", proba="X")


@dataclass(frozen=True)
class Columns:
    """What the columns were called that a recalibrator was fitted to."""

    names: tuple[Any, ...] | None
    name: Any
    """That of a single column."""
    class_dim: Any
    """The dimension of the classes, of a labelled array."""


def read_training(X: object, y: object, sample_weight: object, settings: Any) -> Predictions:
    """Check what a recalibrator with `settings` is to be fitted to, and note how X is called."""
    held = align(y, X, sample_weight, called=_NAMES)
    predictions = validate(
        held.labels,
        held.proba,
        from_logits=settings.from_logits,
        sample_weight=held.weight,
        labels=settings.labels,
        pos_label=settings.pos_label,
        one_class=True,
        names=_NAMES,
    )
    if predictions.multilabel:
        raise bad_value(
            "y",
            "an indicator matrix of several labels a row",
            "one class a row",
            "recalibrate each label by itself, as a problem of two classes",
        )
    settings.columns_ = Columns(held.proba.columns, held.proba.name, _class_dim(X, held.proba))
    return predictions


def read_new(X: object, fitted: Any, from_logits: bool) -> tuple[Predictions, int]:
    """Check what a fitted recalibrator is to be applied to; the first so many rows are meant."""
    classes = getattr(fitted, "classes_", None)
    if classes is None:
        name = type(fitted).__name__
        raise bad_value(name, "not fitted yet", "a fitted recalibrator", "call fit(X, y) first")
    values = _held(X, fitted.columns_, classes).values
    n = values.shape[0] if values.ndim else 0
    if n == 1:
        # What is fitted needs two rows; what is predicted does not.
        values = namespace(values).concat([values, values], axis=0)
    any_label = np.arange(max(n, 2), dtype=np.int64) % 2
    predictions = validate(any_label, values, from_logits=from_logits, names=_NAMES)
    if predictions.n_classes != len(classes):
        raise bad_value(
            "X",
            f"{predictions.n_classes} classes",
            f"{len(classes)}, as in fit",
            "pass the columns it was fitted to",
        )
    return predictions, n


def _held(X: object, known: Columns, classes: Any) -> Held:
    """Return X if its columns are those that were fitted, or raise."""
    classes_named = {key(each) for each in classes.tolist()}
    if is_labelled(X) and X.ndim > 1:  # type: ignore[attr-defined]
        layout = Layout(class_dim=known.class_dim if known.class_dim in X.dims else None)  # type: ignore[attr-defined]
        held = align(X[..., 0] if layout.class_dim is None else X, X, layout=layout).proba  # type: ignore[index]
    else:
        held = hold("X", X)
    names, columns = known.names, held.columns
    if names is None and columns is not None and set(map(key, columns)) == classes_named:
        names = tuple(classes.tolist())
    try:
        in_order = order_of_columns(names, columns) is None
    except OtherColumnsError:
        in_order = False
    if not in_order:
        raise bad_value(
            "X",
            f"columns {list(columns or ['without names'])}",
            f"{list(names or ['without names'])}, in the order of fit",
            "select them in this order, or fit and apply it without names",
        )
    others = classes_named - {key(known.name)}
    if known.name is not None and key(known.name) != key(held.name) and key(held.name) in others:
        raise bad_value(
            "X",
            f"a column named {held.name!r}",
            f"{known.name!r}, as in fit",
            "pass the column it was fitted to",
        )
    return replace(held, columns=None, name=None, rows=None)


def _class_dim(X: Any, held: Held) -> Any:
    """Return the name of the dimension of the classes, where X has one."""
    if not is_labelled(X) or held.columns is None:
        return None
    found = [dim for dim in X.dims if tuple(X.indexes.get(dim, ())) == held.columns]
    return found[0] if len(found) == 1 else None


def as_given(prob: Array, n: int, predictions: Predictions) -> Array:
    """Return the first `n` rows of probabilities in the caller's floating dtype."""
    return namespace(prob).astype(prob[:n, :], predictions.dtype, copy=False)
