"""Which class a column of a chunk is of, in the light of the chunks before.

Each chunk is read as :func:`propercal.decompose` would read it if all classes occurred in it. What
that says must agree with the chunks before; columns are brought into their order by name alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from propercal._array import like, namespace
from propercal._data.classes.columns import is_shuffled, keys, names_of
from propercal._data.classes.labels import Classes
from propercal._data.classes.naming import Naming
from propercal._data.classes.one_column import opposite
from propercal._data.inputs.held import Held
from propercal._data.inputs.reading import USUAL_NAMES
from propercal._data.words.messages import bad_value
from propercal._data.words.tokens import is_number, is_permutation

Given = Sequence[Any]


def listed_names(labels: Given | None, n_classes: int, pos_label: Any) -> list[Any] | None:
    """Return the classes that the caller lists, the positive one of two last, or raise."""
    if labels is None or pos_label is None or n_classes > 2:
        return None if labels is None else list(labels)
    return names_of([], Held(np.empty(0)), labels=labels, pos_label=pos_label)


def same_order(names: Given, columns: Given | None) -> bool:
    """Tell whether classes of these names stand in the order of the columns; None has no names."""
    if columns is None:
        return not is_shuffled(names)
    proba = Held(np.empty((0, len(names))), columns=tuple(columns))
    return keys(names_of(names, proba)) == keys(names)


def check_as_before(
    labels: Held,
    proba: Held,
    names: Given,
    found: Given,
    known: Given | None,
    alone: bool,
    pos_label: Any,
) -> None:
    """Raise unless columns are of the classes that rows before named, and in a known order.

    Of `names`, rows had those that are `found`. `known` are the names of columns before, if they
    had any; `alone` says that all rows before had one column.
    """
    k = len(names)
    if proba.values.ndim == 1 or proba.values.shape[1] == 1:
        # The name of labels may say that it is of the same class.
        named = Held(np.empty(0), name=labels.name)
        if proba.name is None and alone:
            # Memory refuses one of which nothing says the class.
            if keys(names_of(found, proba, pos_label=pos_label, like=named)) == keys(names):
                return
            raise _other_classes("a column without a name", f"the probability of {names[-1]!r}")
        (name,), (_, positive) = keys([proba.name]), keys(names)
        if name == positive:
            return
        # Memory would say why it refuses other names, and what to do.
        if name not in keys(names):
            read = names_of(found, proba, pos_label=pos_label, like=named)
            if keys(read) == keys(names):
                return
        raise _other_classes(
            "a column " + ("without a name" if proba.name is None else f"named {proba.name!r}"),
            f"the probability of {names[-1]!r}, as in rows before",
        )
    if proba.columns is not None:
        matched = set(keys(proba.columns)) == set(keys(names))
        if known is None and not matched and not same_order(names, proba.columns):
            raise _other_classes(f"columns {list(proba.columns)}", f"those of {list(names)}")
        return
    # Class numbers count columns, unless their type orders them.
    ordered = labels.categories is not None or labels.unordered is not None
    if list(names) == list(range(k)) and labels.columns is None and not ordered:
        return
    if labels.columns is not None:
        # Its columns stand beside those of the predictions; counted ones are brought into order.
        counted = is_permutation(labels.columns) and list(names) == list(range(k))
        same = counted or keys(labels.columns) == keys(names)
    elif labels.values.ndim == 2 and labels.values.shape[1] > 1:
        same = same_order(names, None)
    else:
        same = keys(names_of(names, proba, like=labels)) == keys(names)
    if not same:
        raise _other_classes("columns without names", f"those of {list(names)}, as in rows before")


def beside_columns(labels: Held, proba: Held, listed: Given | None, pos_label: Any) -> Held:
    """Return an indicator matrix without names under those of the columns that it stands beside."""
    shape, columns = labels.values.shape, proba.columns
    if len(shape) != 2 or shape[1] < 2 or labels.columns is not None or columns is None:
        return labels
    if tuple(proba.values.shape)[1] != shape[1] or len(set(keys(columns))) < len(columns):
        return labels
    naming = Naming.of(proba, int(shape[1]), listed, pos_label, USUAL_NAMES)
    _, order = naming.of_indicator(None)
    values = labels.values
    if order is not None:
        values = namespace(values).take(values, like(np.array(order), values), axis=1)
    return replace(labels, values=values, columns=columns)


def as_listed(proba: Held, columns: Given | None, listed: Given | None) -> Held:
    """Return columns without names under those before, if the caller lists classes by these."""
    if columns is None or listed is None or proba.columns is not None or proba.values.ndim != 2:
        return proba
    told = int(proba.values.shape[1]) > 1 and keys(listed) == keys(columns)
    return replace(proba, columns=tuple(columns)) if told else proba


def under_names(labels: Held, columns: Given, names: Given | None) -> Held:
    """Return an indicator matrix of some columns under the names of their classes."""
    assert labels.columns is not None  # noqa: S101
    if names is None or set(keys(names)) == set(keys(columns)):
        return labels
    of = dict(zip(keys(columns), names, strict=True))
    return replace(labels, columns=tuple(of[each] for each in keys(labels.columns)))


def names_of_both(mine: list[Any] | None, other: list[Any] | None) -> list[Any] | None:
    """Return the names that two sketches have for classes, None where these are none, or differ."""
    if mine is None or other is None:
        return other if mine is None else mine
    n = min(len(mine), len(other))
    return max(mine, other, key=len) if mine[-n:] == other[-n:] else None


def n_made_up(classes: Classes) -> int:
    """Return 1 where the first of two classes has a name that is made of the second's, else 0."""
    first, second = classes.names
    usual = is_number(second) and second in (0, 1)
    return int(
        classes.codes is not None
        and classes.codes.all()
        and not usual
        and first == opposite(second)
    )


def _other_classes(found: str, expected: str) -> ValueError:
    fix = "name columns alike in each update, or pass labels=[...] from the start"
    return bad_value("y_proba", found, expected, fix)
