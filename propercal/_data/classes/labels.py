"""Class numbers 0 to k − 1 from labels of any form."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from propercal._array import to_numpy
from propercal._data.classes.counting import without_void
from propercal._data.classes.from_zero import are_numbered_from_0
from propercal._data.classes.label_values import checked_values, read_values
from propercal._data.classes.marked import with_all_classes
from propercal._data.classes.naming import Given, Naming
from propercal._data.inputs.attributes import check_lists
from propercal._data.inputs.codes import by_names
from propercal._data.inputs.held import Held
from propercal._data.inputs.holders import hold
from propercal._data.inputs.reading import USUAL_NAMES, Names
from propercal._data.inputs.settings import Known
from propercal._data.words.messages import bad_value, columns_at, some_names, some_rows
from propercal._data.words.opposed import may_be_of_model
from propercal._data.words.tokens import is_number, key, numberings


class Classes(NamedTuple):
    """What occurred at each point."""

    codes: npt.NDArray[np.int64] | None
    """(n,) numbers of the classes; None where a row marks none or several."""
    indicator: npt.NDArray[np.bool_] | None
    """(n, k) the classes marked, where ``y_true`` was an indicator matrix."""
    names: tuple[Any, ...]
    """The name of each class, in the order of the columns of ``y_proba``."""
    places: npt.NDArray[np.intp] | None = None
    """Where each row was in the caller's labels; None where all stand as they did."""
    in_doubt: bool = False
    """Whether they are numbers without a 0 that may count the columns from 0 or from 1."""
    by_order: bool = False
    """Whether classes are matched with columns by their order alone."""
    listed: bool = False
    """Whether they are so in the order that the caller lists, or their type says."""
    unsaid: bool = False
    """Whether nobody says that a single column is of the second class."""
    alphabetical: bool = False
    """Whether names, or those of columns that labels count, are words in alphabetical order, and
    nobody said that it means something."""
    order: tuple[Any, ...] = ()
    """The classes in the order that the caller, or the type of the labels, says; empty for none."""
    columns: tuple[Any, ...] = ()
    """What columns are called, which labels may count; empty if they have no names."""
    turned: tuple[Any, ...] = ()
    """The same where a caller has them in another order than columns that they are matched with."""

    @property
    def n_samples(self) -> int:
        """Number of rows n."""
        return len(self.indicator if self.codes is None else self.codes)  # type: ignore[arg-type]

    @property
    def marks_none(self) -> bool:
        """Whether some row marks no class, and none marks several."""
        if self.codes is not None or self.indicator is None:
            return False
        n_marked = self.indicator.sum(axis=1)
        return bool(n_marked.min() == 0 and n_marked.max() <= 1)


def read_labels(
    y_true: object,
    n_classes: int,
    *,
    labels: Sequence[Any] | None = None,
    proba: Held | None = None,
    pos_label: Any = None,
    used: npt.NDArray[np.bool_] | None = None,
    ignore_index: Any = None,
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
    proba : Held, optional
        The predictions, whose columns may have names.
    pos_label : optional
        The class that a single column of predictions is the probability of.
    used : array of bool, shape (n,), optional
        Rows that count; others are given the label of one that does.
    ignore_index : optional
        The label of rows that do not count because they have none.
    called : Names
        What errors call the arguments.
    """
    held = hold(called.labels, y_true)
    if proba is None:
        proba = Held(np.empty((0, n_classes)))
    if is_called_as_model(proba, held, called):
        proba = replace(proba, name=None)
    naming = Naming.of(proba, n_classes, labels, pos_label, called)
    found = _read(held, used, naming, ignore_index)
    if found.by_order:
        words = found.columns if all(map(is_number, found.names)) else found.names
        check_lists(words or None, held.lists, proba.lists, (called.labels, called.proba))
    found = found._replace(places=held.places, turned=proba.turned or ())
    said = proba.categories if proba.ordered and len(proba.columns or ()) > 1 else None
    # Names of columns may have a type that orders them.
    return found if found.order or said is None else found._replace(order=tuple(said))


def is_called_as_model(proba: Held, labels: Held, called: Names) -> bool:
    """Tell whether a single column bears the name of its model, beside labels that are numbers."""
    if called.model is None or proba.name is None or str(proba.name) != called.model:
        return False
    return may_be_of_model(proba.name, labels.name) and not have_text(labels)


def have_text(labels: Held) -> bool:
    """Tell whether some label is text, which names a class."""
    values = to_numpy(labels.values)
    return values.dtype.kind not in "biuf" and any(isinstance(x, str) for x in values.flat)


def check_beside(classes: Classes, n_columns: int, called: Names) -> None:
    """Raise unless labels fit predictions of so many columns."""
    if n_columns == 1 and classes.codes is None:
        raise bad_value(
            called.labels,
            "an indicator matrix of two columns, whose rows mark none or both, beside one column "
            f"of {called.proba}",
            "one class in each row, or as many columns of both",
            "drop rows without a label, or pass the probability of each class",
        )


def _read(
    held: Held, used: npt.NDArray[np.bool_] | None, naming: Naming, ignore_index: Any
) -> Classes:
    called = naming.called
    values = read_values(held, called)
    values, others = _used_values(values, used)
    if values.ndim == 2:
        return _read_indicator(values, naming, held)
    if values.ndim != 1:
        raise bad_value(
            called.labels,
            f"an array of shape {values.shape}",
            "shape (n,), or (n, k) one-hot",
            "pass one label per prediction",
        )
    values = _as_named(
        checked_values(values, held, called, partial(_are_names, naming, held)), held, naming
    )
    uniques, inverse = _different(values)
    held = without_void(held, naming.n_classes, ignore_index)
    names = naming.of_values(uniques, values, held)
    counted = names == tuple(range(naming.n_classes)) and naming.labels is None
    if counted:
        check_counted(
            uniques,
            others.ravel().tolist(),
            n_classes=naming.n_classes,
            ignore_index=ignore_index,
            called=naming.called,
        )
    position = {name: i for i, name in enumerate(names)}
    unknown = [value for value in uniques if value not in position]
    if unknown:
        raise _unknown_labels(values, unknown, names, naming, held)
    codes = np.array([position[value] for value in uniques], dtype=np.int64)
    known = are_numbered_from_0(naming.columns) or 0 in (held.categories or held.unordered or ())
    in_doubt = counted and not (known or naming.single) and min(uniques) >= 1
    order = naming.labels or (held.categories if held.ordered else None) or ()
    by_place = not (naming.single or _bear(naming, names))
    return Classes(
        codes[inverse.ravel()],
        None,
        names,
        in_doubt=in_doubt,
        by_order=by_place and not order,
        listed=by_place and bool(order) and not isinstance(naming.labels, Known),
        unsaid=naming.leaves_positive(held.name, names),
        alphabetical=not order and are_alphabetical(naming.columns or names),
        order=tuple(order),
        columns=tuple(naming.columns or ()),
    )


def _used_values(
    values: npt.NDArray[Any], used: npt.NDArray[np.bool_] | None
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return labels of which those of rows that do not count are as one that does, and these."""
    if used is None or len(used) != len(values) or not used.any():
        return values, values[:0]
    found = values.copy()
    found[~used] = values[np.argmax(used)]
    return found, values[~used]


def _are_names(naming: Naming, held: Held, uniques: list[float]) -> bool:
    """Tell whether numbers that are not whole name classes, and are no probabilities of them.

    So the caller says, or names of columns, or the type of labels.
    """
    odd = {key(each) for each in uniques if not each.is_integer()}
    if naming.single and naming.labels is None:
        said = naming.name if naming.pos_label is None else naming.pos_label
        return len(uniques) < 3 and key(said) in odd
    names = naming.labels or naming.columns or held.categories or held.unordered or ()
    numbers = numberings(names) if naming.labels is None else []
    return odd <= {key(each) for found in (names, *numbers) for each in found}


def _as_named(values: npt.NDArray[Any], held: Held, naming: Naming) -> npt.NDArray[Any]:
    """Return members of an Enum under their names, if classes are called so."""
    target = naming.labels or naming.columns or (naming.pos_label, naming.name)
    return by_names(values, held.members, target) if held.members else values


def _different(values: npt.NDArray[Any]) -> tuple[list[Any], npt.NDArray[np.intp]]:
    """Return the different labels, and which of them is in each row."""
    found, inverse = np.unique(values, return_inverse=True)
    return found.tolist(), inverse


def _bear(naming: Naming, names: Given) -> bool:
    """Tell whether several columns are called as these classes are, or numbered as they are."""
    if naming.columns is None:
        return naming.numbered and names == tuple(range(naming.n_classes))
    booleans = all(isinstance(each, bool) for each in names)
    return {*map(key, names)} == {key(each, booleans=booleans) for each in naming.columns}


def are_alphabetical(names: Sequence[Any]) -> bool:
    """Tell whether all are words, and in alphabetical order."""
    return all(isinstance(each, str) for each in names) and list(names) == sorted(names)


def check_counted(
    uniques: Sequence[Any],
    others: Iterable[Any],
    *,
    n_classes: int,
    ignore_index: Any,
    called: Names = USUAL_NAMES,
) -> None:
    """Raise if rows that do not count have the labels that let all count from 1 on, not from 0.

    `others` are labels of rows that do not count.
    """
    left = numbers_left(others, n_classes, ignore_index)
    zero = 0 in {*left, *uniques}
    left -= {*uniques}
    if left and not zero and len({*left, *uniques}) == n_classes:
        raise bad_value(
            called.labels,
            f"{some_names(uniques)} in rows that count, and {some_names(sorted(left))} in others",
            f"to know whether they are of 0 to {n_classes - 1}, or of {n_classes} numbers from 1 "
            "on",
            "pass labels=[...], the class of every column in order",
        )


def numbers_left(others: Iterable[Any], n_classes: int, ignore_index: Any) -> set[Any]:
    """Return which labels of rows that do not count may be numbers of classes."""
    numbers = {each for each in others if isinstance(each, int | float) and each >= 0}
    # No class has a number that is larger than theirs and stands for no label.
    void = key(ignore_index)
    return {each for each in numbers if each <= n_classes or key(each) != void}


def _read_indicator(values: npt.NDArray[Any], naming: Naming, held: Held) -> Classes:
    called = naming.called
    values, columns = with_all_classes(values, held, naming)
    if values.shape[1] != naming.n_classes:
        raise _unlike(values.shape, held, naming)
    odd = None
    if values.dtype.kind not in "biuf":
        numbers = [isinstance(each, Real) for each in values.ravel().tolist()]
        odd = ~np.array(numbers).reshape(values.shape)
        odd = odd if odd.any() else ~odd
    elif values.dtype.kind != "b":
        odd = (values != 0) & (values != 1)
    if odd is not None and odd.any():
        row, column = (int(i) for i in np.argwhere(odd)[0])
        value = values[row, column]
        value = value.item() if isinstance(value, np.generic) else value
        raise bad_value(
            called.labels,
            f"{value!r} at {some_rows(held.given([row]))}, in "
            f"{columns_at([column], values.shape[1], columns)}",
            "0 or 1 in an indicator matrix",
            "soft labels are not supported: pass the class that occurred",
        )
    names, order = naming.of_indicator(columns)
    marked = values.astype(bool)
    if order is not None:
        marked = marked[:, order]
    single = bool((marked.sum(axis=1) == 1).all())
    codes = marked.argmax(axis=1).astype(np.int64) if single else None
    alphabetical = naming.labels is None and are_alphabetical(names)
    # Tables of marks are made in alphabetical order.
    own = held.columns if held.columns and columns == held.columns else ()
    own = () if are_alphabetical(own) else own
    listed = tuple(naming.labels or own)
    both_named = held.columns is not None and (naming.labels is None or _bear(naming, names))
    both_named = (both_named and naming.columns is not None) or (held.numbered and naming.numbered)
    by_place = not (naming.single or both_named)
    by_order = by_place and naming.labels is None
    counted = held.columns is None and naming.leaves_positive(held.name)
    return Classes(
        codes,
        marked,
        names,
        by_order=by_order,
        listed=by_place and not by_order and not isinstance(naming.labels, Known),
        unsaid=counted,
        alphabetical=alphabetical,
        order=listed,
    )


def _unlike(shape: tuple[int, ...], held: Held, naming: Naming) -> ValueError:
    called, n_classes = naming.called, naming.n_classes
    fix = "pass class numbers of shape (n,) or a matching one-hot matrix"
    if held.columns is not None and naming.columns is None is naming.labels:
        fix = f"pass labels=[...], the class of every column in order; {fix}"
    elif held.columns is not None:
        fix = f"name its columns as the classes of {called.proba}; {fix}"
    if naming.single:
        fix = f"swap {called.labels} and {called.proba} if these are predictions; {fix}"
    return bad_value(
        called.labels,
        f"a matrix of shape {shape}",
        f"{n_classes} columns, as many classes as {called.proba} has",
        fix,
    )


def _unknown_labels(
    values: npt.NDArray[Any], unknown: list[Any], names: Given, naming: Naming, held: Held
) -> ValueError:
    rows = np.flatnonzero(np.isin(values, np.array(unknown, dtype=values.dtype)))
    fix = "correct the labels, or pass labels=[...], the class of every column in order"
    if naming.called.rows_before:
        expected = f"one of {list(names)}, the classes of rows before"
        fix = (
            "write classes alike in each update, or pass labels=[...], the class of every column "
            "in order, from the start"
        )
    elif naming.labels is not None:
        expected = f"one of labels={list(names)}"
    elif naming.single:
        expected = f"one of {list(names)}, the classes of one column of {naming.called.proba}"
    else:
        expected = f"0 to {len(names) - 1}, a column of {naming.called.proba}"
    if naming.labels is None and len(np.unique(values)) > naming.n_classes:
        fix = "correct the labels, or pass a column for each class"
    return bad_value(
        naming.called.labels,
        f"{unknown[0]!r} at {some_rows(held.given(rows))}",
        expected,
        fix,
    )
