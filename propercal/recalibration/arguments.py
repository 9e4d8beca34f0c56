"""The arguments of recalibrators, under the names that scikit-learn gives."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from propercal._array import like, namespace
from propercal._data.classes.columns import OtherColumnsError, keys, names_of, order_of_columns
from propercal._data.inputs.held import Held
from propercal._data.inputs.holders import hold, is_labelled
from propercal._data.inputs.lazy_tables import FOR_EACH_ROW, check_ordered
from propercal._data.inputs.settings import Known
from propercal._data.predictions.alignment import align
from propercal._data.predictions.predictions import Predictions, validate
from propercal._data.rows.dimensions import Dimensions
from propercal._data.rows.layout import USUAL_LAYOUT, Layout
from propercal._data.rows.scalars import scalars_of, selected, texts_of
from propercal._data.words.advice import advises
from propercal._data.words.messages import bad_value, columns_said
from propercal._data.words.tokens import is_number, is_permutation, said_beside
from propercal._typing import Array
from propercal.recalibration.called import names_said
from propercal.recalibration.estimator import not_fitted, note_features

#: What recalibrators are told of classes.
_SAID = "labels", "pos_label", "from_logits"


@dataclass(frozen=True)
class Columns:
    """What the columns were called that a recalibrator was fitted to."""

    names: tuple[Any, ...] | None
    name: Any
    """That of a single column."""
    single: bool
    """Whether there was one column, of the positive class."""
    dims: tuple[Any, ...]
    """The dimensions of a labelled array."""
    class_dim: Any
    """That of the classes among them; None where each number is a sample."""
    scalars: dict[Any, Any]
    """Coordinates that it was selected by, which are the names of a single column too."""
    from_logits: bool
    settings: dict[str, Any]
    """What the caller said of classes."""

    @classmethod
    def of(cls, X: Any, y: object, held: Held, fitted: Any) -> Columns:
        """Return what `held` says, which was read from X beside the labels y, and the settings."""
        single = held.values.ndim == 1 or held.values.shape[1] == 1
        dims, class_dim, scalars = (), None, {}
        if is_labelled(X):
            dims, scalars = tuple(X.dims), scalars_of(X)
            class_dim = Dimensions.of(y, X, USUAL_LAYOUT, names_said()).classes
        said = {"labels": fitted.labels, "pos_label": fitted.pos_label}
        name = _selected_by(X) if single and held.name is None else held.name
        known = held.columns, name, single, dims, class_dim, scalars
        return cls(*known, fitted.from_logits, said)

    def written(self) -> dict[str, Any]:
        """Return how columns were called, in values of Python that can be kept in a file."""
        return {
            "names": None if self.names is None else [_value(each) for each in self.names],
            "name": _value(self.name),
            "single": self.single,
            "dims": [_value(each) for each in self.dims],
            "class_dim": _value(self.class_dim),
            "scalars": {_value(name): _value(each) for name, each in self.scalars.items()},
        }

    @classmethod
    def read(cls, written: dict[str, Any], fitted: Any) -> Columns:
        """Return what :meth:`written` gave, beside the settings of what was fitted."""
        names, said = written["names"], {"labels": fitted.labels, "pos_label": fitted.pos_label}
        return cls(
            None if names is None else tuple(names),
            written["name"],
            written["single"],
            tuple(written["dims"]),
            written["class_dim"],
            dict(written["scalars"]),
            fitted.from_logits,
            said,
        )

    def layout(self, X: Any, n_classes: int) -> Layout:
        """Return which dimension of a labelled array is that of the classes, or raise."""
        if self.class_dim in X.dims:
            return Layout(class_dim=self.class_dim)
        if self.single and set(X.dims) == set(self.dims):
            return Layout(sample_dims=tuple(X.dims))
        # Where no dimension has its name, that of the classes has their number.
        size = 1 if self.single else n_classes
        fitting = [dim for dim in X.dims if X.sizes[dim] == size]
        if len(fitting) > 1 and set(X.dims) == {"dim_0", "dim_1"}:
            fitting = ["dim_1"]
        if len(fitting) != 1:
            raise bad_value(
                names_said().proba,
                f"dimensions {list(X.dims)} of sizes {list(X.shape)}",
                f"to know which of them is that of the {size} columns",
                f"name it {self.class_dim!r}, as in fit"
                if self.class_dim is not None
                else "fit to an array with the same dimensions, or pass X.to_numpy()",
            )
        return Layout(class_dim=fitting[0])


def _value(name: Any) -> Any:
    """Return a name, or each part of it, as Python has it."""
    if isinstance(name, tuple):
        return tuple(_value(each) for each in name)
    return name.item() if isinstance(name, np.generic) else name


@advises(*_SAID)
def read_training(X: object, y: object, sample_weight: object, settings: Any) -> Predictions:
    """Check what a recalibrator with `settings` is to be fitted to, and note how X is called."""
    held = align(y, X, sample_weight, called=names_said())
    predictions = validate(
        held.labels,
        held.proba,
        from_logits=settings.from_logits,
        sample_weight=held.weight,
        labels=settings.labels,
        pos_label=settings.pos_label,
        one_class=True,
        names=names_said(),
    )
    if predictions.multilabel:
        raise bad_value(
            names_said().labels,
            "an indicator matrix of several labels a row",
            "one class a row",
            "recalibrate each label by itself, as a problem of two classes",
        )
    settings.columns_ = Columns.of(X, y, held.proba, settings)
    note_features(
        settings,
        1 if settings.columns_.single else predictions.n_classes,
        held.proba.columns,
    )
    return predictions


@advises(*_SAID)
def read_new(X: object, fitted: Any) -> tuple[Predictions, int]:
    """Check what a fitted recalibrator is to be applied to; the first so many rows are meant."""
    classes = getattr(fitted, "classes_", None)
    if classes is None:
        name, call = type(fitted).__name__, "call fit(X, y) first"
        raise not_fitted(str(bad_value(name, "not fitted yet", "a fitted recalibrator", call)))
    check_ordered(names_said().proba, X, FOR_EACH_ROW)
    values = _held(X, fitted, classes.tolist()).values
    if not values.ndim:
        shape, call = "shape (n,) or (n, k)", "pass a list"
        raise bad_value(names_said().proba, "an array of shape ()", shape, call)
    n = int(values.shape[0])
    # What is fitted needs two rows; what is predicted does not.
    if n == 1:
        values = namespace(values).concat([values, values], axis=0)
    elif n == 0 and values.ndim in (1, 2):
        values = like(_two_rows(values.shape, fitted.columns_.from_logits), values, values.dtype)
    any_label = np.arange(max(n, 2), dtype=np.int64) % 2
    predictions = validate(
        any_label,
        values,
        from_logits=fitted.columns_.from_logits,
        labels=Known(range(max(2, (*values.shape, 1)[1]))),
        made_up=True,
        names=names_said(),
    )
    if predictions.n_classes != len(classes):
        raise bad_value(
            names_said().proba,
            f"{predictions.n_classes} classes",
            f"{len(classes)}, as in fit",
            "pass the columns it was fitted to",
        )
    return predictions, n


def _is_single(values: Array) -> bool:
    return values.ndim < 2 or int(values.shape[1]) == 1


def _two_rows(shape: tuple[int, ...], from_logits: bool) -> npt.NDArray[np.float64]:
    """Return two rows that are probabilities, or logits that no probabilities are."""
    rows = np.zeros((2, *shape[1:]))
    rows[..., :1] = (2 if from_logits else 1) if len(shape) == 2 else -int(from_logits)
    return rows


def are_those_of_fit(X: object, fitted: Any) -> bool:
    """Tell whether a fitted recalibrator could be applied to the columns of X, as they stand."""
    try:
        _held(X, fitted, fitted.classes_.tolist())
    except ValueError:
        return False
    return True


def _held(X: object, fitted: Any, classes: list[Any]) -> Held:
    """Return X if its columns are those that were fitted, or raise."""
    known: Columns = fitted.columns_
    if is_labelled(X) and X.ndim > 1:  # type: ignore[attr-defined]
        held = align(X, X, layout=known.layout(X, len(classes)), called=names_said()).proba
    else:
        held = hold(names_said().proba, X)
    single = _is_single(held.values)
    if single != known.single:
        counts = ("one column for each class", "one column, that of the positive class")
        raise bad_value(
            names_said().proba,
            f"an array of shape {tuple(held.values.shape)}",
            f"{counts[known.single]}, as in fit",
            "pass the columns it was fitted to",
        )
    if single:
        if held.first and is_number(known.name):
            held = replace(held, name=0)
        if is_labelled(X):
            held = _as_selected(held, X, known, classes)
        _check_name(held, known, classes)
    else:
        _check_order(held, known.names, classes)
    return replace(held, columns=None, name=None, rows=None)


def _check_order(held: Held, names: tuple[Any, ...] | None, classes: list[Any]) -> None:
    """Raise unless columns stand in the order of fit."""
    columns = held.columns
    if names is None and columns is not None and set(keys(columns)) == set(keys(classes)):
        names = tuple(classes)
    try:
        # Columns that have no names, then or now, stand in alphabetical order if they had any.
        in_order = order_of_columns(names, columns) is None
    except OtherColumnsError:
        in_order = False
    if held.numbered and names is not None and not is_permutation(names):
        # Numbers are names too where a caller gave them.
        in_order, columns = False, tuple(range(len(names)))
    if in_order and names is None and columns is not None and len(columns) == len(classes):
        # No name is that of a class, so that it must count them.
        in_order = _reads(classes, held)
    if not in_order:
        raise bad_value(
            names_said().proba,
            columns_said(columns),
            f"{columns_said(names, '')}, in the order of fit",
            "select them in this order, under these names, or fit and apply it without names",
        )


def _as_selected(held: Held, X: Any, known: Columns, classes: list[Any]) -> Held:
    """Note the class that X was selected by, or raise where it is another text than in fit."""
    for name, value in scalars_of(X).items():
        fitted = known.scalars.get(name, value)
        texts = isinstance(value, str) and isinstance(fitted, str)
        if texts and said_beside(value, classes[-1]) != said_beside(fitted, classes[-1]):
            raise bad_value(
                names_said().proba,
                f"an array selected by {name!r} = {value!r}",
                f"{fitted!r}, as in fit",
                f"select that one, or drop the coordinate by .drop_vars({name!r})",
            )
    name = selected(names_said().proba, X, classes)
    if name is None and held.name is None:
        name = _selected_by(X)
    return held if name is None else replace(held, name=name)


def _selected_by(X: Any) -> str | None:
    """Return the one word that a labelled array was selected by, if it says more than rows."""
    found = [each for each in texts_of(X) if said_beside(each, None)] if is_labelled(X) else []
    return found[0] if len(found) == 1 else None


def _check_name(held: Held, known: Columns, classes: list[Any]) -> None:
    """Raise if the name of a single column is not one of the column of fit."""
    name = known.name
    if held.name is None or keys([held.name]) == keys([name]):
        return
    positive = classes[-1]
    alike = name is None or said_beside(held.name, positive) == said_beside(name, positive)
    is_positive = keys([held.name]) == keys([positive])
    if not (alike or is_positive) or not _reads(classes, held, **known.settings):
        raise bad_value(
            names_said().proba,
            f"a column named {held.name!r}",
            f"the probability of {positive!r}"
            + (", as in fit" if name is None else f", named {name!r} in fit"),
            "pass the column it was fitted to, or that without its name",
        )


def _reads(classes: list[Any], held: Held, **settings: Any) -> bool:
    """Tell whether columns are read as these classes, if all occur."""
    try:
        return keys(names_of(classes, held, **settings)) == keys(classes)
    except ValueError:
        return False


def as_given(prob: Array, n: int, predictions: Predictions) -> Array:
    """Return the first `n` rows of probabilities in the caller's floating dtype."""
    return namespace(prob).astype(prob[:n, :], predictions.dtype, copy=False)
