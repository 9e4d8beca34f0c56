"""How rows are read, which must not depend on the chunk they come in.

:func:`propercal._data.predictions.predictions.validate` sees all rows of an array together: one of
them can tell that the columns of an indicator matrix are separate problems, or that rows do not sum
to 1, and all are read alike. A sketch sees rows one by one or by the million. So a row is read by
itself where that is possible, and where it is not, as the rows before it were, or refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from propercal._array import by_rows, is_numpy, like, namespace, no_gradient, safe_log, to_numpy
from propercal._data.classes.columns import (
    OtherColumnsError,
    is_shuffled,
    keys,
    name_columns,
    order_of_columns,
)
from propercal._data.inputs.held import Held
from propercal._data.inputs.masks import check_masked
from propercal._data.inputs.reading import USUAL_NAMES, Names, not_real
from propercal._data.predictions.alignment import Aligned, align
from propercal._data.predictions.doubted import leaves_class
from propercal._data.predictions.lengths import check_lengths
from propercal._data.predictions.links import LINKS
from propercal._data.predictions.parts import is_top, log1m
from propercal._data.predictions.predictions import Predictions, validate
from propercal._data.predictions.probabilities import check_marks, rounding
from propercal._data.predictions.weights import Floats, weights_given
from propercal._data.words.messages import bad_value, columns_said
from propercal._data.words.tokens import is_permutation
from propercal._typing import Array
from propercal.sketch.class_order import (
    as_listed,
    beside_columns,
    check_as_before,
    n_made_up,
    same_order,
    under_names,
)
from propercal.sketch.column_names import Called, as_bytes_hold, under_plain_names
from propercal.sketch.convention import Convention
from propercal.sketch.doubts import Doubts, doubts_after
from propercal.sketch.occurred import ruled_out
from propercal.sketch.relation import Relation, relation_of_both


def _columns_in(held: Aligned, n_classes: int) -> int:
    """Return the number of columns of predictions, or raise if they or labels do not fit."""
    check_lengths(held.labels, held.proba, USUAL_NAMES)
    shape = tuple(held.proba.values.shape)
    n_columns = int(shape[1]) if len(shape) == 2 else 1
    if len(shape) > 2:
        raise bad_value(
            "y_proba",
            f"an array of shape {shape}",
            f"shape (n, {n_classes})",
            "pass one row for each place: numpy.moveaxis(p, 1, -1).reshape(-1, k) and y.ravel()",
        )
    if max(2, n_columns) != n_classes:
        values = held.proba.values
        if is_numpy(values) and values.dtype.kind == "O":
            # Rows that are objects have no columns.
            raise bad_value("y_proba", *not_real(values, held.proba.given))
        raise bad_value(
            "y_proba",
            f"{max(2, n_columns)} classes",
            f"{n_classes}, as rows before have, or n_classes says",
            "begin anew for each set of classes",
        )
    return n_columns


def read_rows(
    y_true: object,
    y_proba: object,
    *,
    n_classes: int,
    from_logits: bool,
    reading: Convention,
    labels: Sequence[Any] | None = None,
    pos_label: Any = None,
    link: str | None = None,
    sample_weight: object = None,
) -> tuple[Predictions, Convention, Floats | None] | None:
    """Validate rows; return them, what is settled after them, and their weights as they are given.

    None is returned where there are no rows, or none of positive weight. `labels` are the classes
    that the caller lists.
    """
    said = not labels is pos_label is None
    held = _by_number(_aligned(y_true, y_proba, sample_weight), reading)
    shape = tuple(held.proba.values.shape)
    if shape in {(0,), (0, n_classes)} and held.labels.values.shape[0] == 0:
        return None
    n_columns = _columns_in(held, n_classes)
    weight = weights_given(held.weight, held.proba.values.shape[0], smallest=0)
    if weight is not None and not weight.any():
        return None
    used = None if weight is None else weight > 0
    check_masked((y_true, y_proba), (held.labels, held.proba), used)
    marked, proba, columns = _as_before(held, reading, labels, pos_label)
    if from_logits and link is None and reading.separate:
        # As a row before told, which marked several classes or none.
        link = LINKS[1]
    # The other class may get its name from these rows.
    is_open = n_columns == 1 and reading.names is not None and len(reading.names) == 1
    if is_open and reading.names and pos_label is None:
        pos_label = reading.names[-1]
    rows = validate(
        marked,
        proba,
        from_logits=from_logits,
        sample_weight=weight,
        labels=None if is_open else reading.classes,
        pos_label=pos_label,
        link=link,
        smallest=1,
        names=Names(rows_before=labels is None and reading.names is not None),
    )
    names = list(rows.classes.names)
    _check_class(proba.name, names, reading)
    if not from_logits and reading.separate is not True:
        _check_marks(rows)
    rows, separate = _one_by_one(rows, reading, from_logits or n_columns == 1)
    by_order = labels is None and _is_set_beside(held.labels, marked)
    settled = reading._replace(
        columns=columns,
        unnamed=reading.unnamed or (n_columns > 1 and proba.columns is None),
        doubts=_doubts_after(reading, rows, proba, said=said, by_order=by_order),
        ruled_out=ruled_out(reading.ruled_out, rows, columns, held.labels),
        relation=relation_of_both(reading.relation, Relation.of(rows)),
    ).settled(separate)
    if settled is None:
        raise _logits_of_two_kinds() if from_logits else _two_kinds(rows)
    if labels is None and n_columns == 1:
        names = names[n_made_up(rows.classes) :]
    settled = _with_names(settled, held, names, reading)
    if n_classes == 2:
        own = Called.of(held.labels, proba, columns)
        settled = settled._replace(called=reading.called.joined(own, names[-1], said))
    return rows, settled, None if weight is None else weight[rows.rows]


def _doubts_after(
    reading: Convention, rows: Predictions, proba: Held, *, said: bool, by_order: bool
) -> Doubts | None:
    """Return what is doubted after rows; `said` where the caller lists classes, or says one."""
    single = 1 in (proba.values.ndim, *proba.values.shape[1:])
    # No name bears out what the caller says.
    unnamed = leaves_class(rows.classes, proba.name) if single else rows.classes.listed
    return doubts_after(
        reading.doubts,
        rows,
        known=single or reading.names is not None,
        first=proba.first,
        by_order=by_order,
        listed=said and unnamed and not (single and proba.first),
    )


def _check_class(name: Any, names: list[Any], reading: Convention) -> None:
    """Raise where one column is of the first of two classes, and those before of the second."""
    if reading.names is None or names[-len(reading.names) :] == reading.names:
        return
    before = not (reading.single(2) and reading.separate is None)
    last = (reading.names or [None])[-1]
    raise bad_value(
        "y_proba",
        f"a column named {name!r}, of the classes {names}",
        f"the probability of {last!r}, " + ("as in rows before" if before else "the last label"),
        "pass the same column in each update" if before else f"pass labels={names} from the start",
    )


def _aligned(y_true: object, y_proba: object, sample_weight: object) -> Aligned:
    """Return the three in one order of rows, under names that bytes can hold."""
    held = align(y_true, y_proba, sample_weight)
    labels, proba = under_plain_names(held.labels), under_plain_names(held.proba)
    return held._replace(labels=labels, proba=proba)


def _is_set_beside(labels: Held, marked: Held) -> bool:
    """Tell whether a matrix without names got those of the columns that it stands beside."""
    return marked is not labels and not labels.numbered


def _by_number(held: Aligned, reading: Convention) -> Aligned:
    """Return predictions under the numbers that name columns, where those before had them too.

    Else numbers in their usual order are no names, as they are in memory.
    """
    known = reading.columns
    if known is None or not held.proba.numbered or not is_permutation(known):
        return held
    return held._replace(proba=replace(held.proba, columns=tuple(range(len(known)))))


def _with_names(
    settled: Convention, held: Aligned, names: list[Any], before: Convention
) -> Convention:
    """Note the names of classes where these rows are the first to tell them, or raise."""
    shape = tuple(held.labels.values.shape)
    n_columns = (*held.proba.values.shape, 1)[1]
    # An indicator matrix without names of columns names no classes, unless one column is positive.
    told = held.labels.columns is not None or 1 in (len(shape), n_columns, *shape[1:])
    if before.names is not None:
        return settled._replace(names=max(before.names, names, key=len))
    if not told:
        return settled
    if (before.unnamed or before.columns is not None) and not same_order(names, before.columns):
        raise bad_value(
            "y_true",
            f"the classes {names}",
            f"{before.columns or 'classes without names'}, as in rows before, in the same order",
            "pass labels=[...] from the start",
        )
    return settled._replace(names=names)


def _one_by_one(
    rows: Predictions, reading: Convention, settled: bool
) -> tuple[Predictions, bool | None]:
    """Read each row by itself unless that is settled; tell what it says of separate columns."""
    if settled or rows.multilabel:
        return rows, rows.multilabel
    indicator = rows.classes.indicator is not None
    if indicator and reading.separate:
        return _apart(rows), True
    rows, depends = _by_sum(rows)
    return rows, False if indicator and depends else None


def _check_marks(rows: Predictions) -> None:
    """Raise where rows that mark no class are the only ones that tell that columns are separate."""
    if not rows.multilabel:
        return
    sums = to_numpy(namespace(rows.prob).sum(rows.prob, axis=1))
    fix = (
        "; if columns are separate problems, let the first update hold a row that marks several "
        "classes"
    )
    check_marks(rows.classes, np.abs(sums - 1), rows.dtype, fix=fix)


def _as_before(
    held: Aligned, reading: Convention, labels: Sequence[Any] | None, pos_label: Any
) -> tuple[Held, Held, list[Any] | None]:
    """Return labels, predictions and the names of their columns in the order of rows before."""
    names = reading.classes
    if labels is None and names is not None:
        known, found = reading.columns, reading.names or ()
        alone = known is None and not reading.unnamed
        check_as_before(held.labels, held.proba, names, found, known, alone, pos_label)
    marked = beside_columns(held.labels, held.proba, labels, pos_label)
    listed = as_listed(held.proba, reading.columns, None if labels is None else reading.names)
    proba, columns = _in_order(listed, reading, held.labels)
    if marked is not held.labels and columns is not None:
        marked = under_names(marked, columns, names)
    return marked, proba, columns


def _is_matrix(labels: Held) -> bool:
    return labels.values.ndim == 2 and int(labels.values.shape[1]) > 1


def _in_order(proba: Held, reading: Convention, labels: Held) -> tuple[Held, list[Any] | None]:
    """Return predictions with their columns in the order of rows before, and the names of these.

    Numbers, and an indicator matrix without names, count columns, which may not change places then,
    unless a matrix counts what numbers name.
    """
    counted = _is_matrix(labels) and is_permutation(proba.columns or ())
    if proba.values.ndim != 2 or proba.values.shape[1] == 1:
        return proba, reading.columns
    if proba.columns is None:
        if reading.columns is not None and is_shuffled(reading.columns):
            raise _other_columns(None, reading.columns)
        return proba, reading.columns
    columns = [as_bytes_hold(each) for each in proba.columns]
    known = reading.columns
    if known is None and set(keys(reading.classes or ())) == set(keys(columns)):
        known = reading.classes
    if known is None and not reading.unnamed:
        return proba, columns
    try:
        order = order_of_columns(known, columns)
    except OtherColumnsError as error:
        raise _other_columns(columns, known) from error
    if known is None:
        return proba, columns
    if order is None:
        return replace(proba, columns=tuple(known)), list(known)
    if not (counted or name_columns(labels, columns)):
        first = reading.columns is None and not reading.unnamed
        raise bad_value(
            "y_proba",
            f"columns {columns}",
            f"the order of {'labels' if first else 'rows before'}, {list(known)}, since y_true "
            "names none of them, but counts columns",
            "select them in one order for each update",
        )
    values = namespace(proba.values).take(proba.values, like(order, proba.values), axis=1)
    proba = replace(proba, values=values, columns=tuple(known), turned=tuple(columns))
    return proba, list(known)


def _other_columns(columns: Sequence[Any] | None, known: Sequence[Any] | None) -> ValueError:
    return bad_value(
        "y_proba",
        columns_said(columns),
        f"{columns_said(known, '')}, as in rows before",
        "name columns alike in each update, or pass all of them without names",
    )


def _apart(rows: Predictions) -> Predictions:
    """Read columns as separate problems."""
    with no_gradient(rows.prob):
        return replace(rows, multilabel=True, rest=1 - rows.prob, log_rest=log1m(rows.prob))


def _by_sum(rows: Predictions) -> tuple[Predictions, bool]:
    """Read rows of one class, each by its own sum.

    Tell too whether the probability that a class does not occur depends on that: whether it is not
    1 − p anyway.
    """
    xp = namespace(rows.prob)
    tolerance = rounding(rows.dtype)

    def rest_and_dependence(prob: Array) -> Array:
        regular = xp.abs(xp.sum(prob, axis=1) - 1) <= tolerance
        top = xp.max(prob, axis=1)
        others = xp.sum(xp.where(is_top(prob), 0.0, prob), axis=1)
        n_large = xp.sum(xp.astype(prob > 0.5, prob.dtype), axis=1)
        depends = xp.astype(n_large > xp.astype(~regular, prob.dtype), prob.dtype)
        return xp.stack([xp.where(regular, others, 1 - top), depends], axis=1)

    with no_gradient(rows.prob):
        found = by_rows(rest_and_dependence, rows.prob)
        rest = found[:, 0]
        depends = bool(np.any(to_numpy(found[:, 1])))
        return replace(rows, rest=rest, log_rest=safe_log(rest)), depends


def _logits_of_two_kinds() -> ValueError:
    return bad_value(
        "y_true",
        "an indicator matrix whose rows all mark one class, after or before others that do not",
        "one class in every row, or not in every row, of each update with logits",
        "pass probabilities, which need no softmax or sigmoid",
    )


def _two_kinds(rows: Predictions) -> ValueError:
    n = rows.n_samples
    return bad_value(
        "y_true",
        f"an indicator matrix ({n} row{'s' if n > 1 else ''}) that marks no or several classes in "
        "a row, or whose predictions do not sum to 1, after rows read as of one class",
        "either one class and predictions of sum 1 in each row, or columns that are separate "
        "problems from the first update on",
        "let the first update hold a row that marks several classes; where one class occurs in "
        "each row, pass class numbers",
    )
