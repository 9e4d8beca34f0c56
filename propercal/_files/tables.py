"""Tables of predictions: a column for each class, or a list of numbers in each object of JSON."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from propercal._files import objects
from propercal._files.class_names import Read
from propercal._files.columns import (
    Columns,
    check_categories,
    check_classes,
    codes_of,
    find_label_column,
    labels_as_given,
)
from propercal._files.listed_classes import with_classes
from propercal._files.names import listed
from propercal._files.numbers import numbers_of, weights_of
from propercal._files.prediction_file import SCORE_KEYS, PredictionFile, check_scores
from propercal._files.row_columns import groups_of, ids_of
from propercal._files.spread_objects import object_key, spread
from propercal._files.values import texts_of

if TYPE_CHECKING:
    import pandas as pd


def of_table(
    path: Path,
    table: pd.DataFrame,
    columns: Columns,
    *,
    in_order: bool = True,
    lost: Collection[str] = (),
    indexed: bool = False,
) -> PredictionFile:
    """Read a table; `lost` are columns whose categories the file has not kept.

    `indexed` says that it has an index of its own.
    """
    table, rows = columns.with_levels(table) if indexed else (table, None)
    table, columns = spread(path, table, columns)
    names = list(table.columns)
    columns.check_drop(path, names)
    columns.check_named(path, names)
    label = find_label_column(path, names, columns.label)
    own = columns.id_among(names)
    apart = columns.apart(label, own)
    class_names = list(columns.classes) or [name for name in names if name not in apart]
    if not class_names:
        raise ValueError(
            f"{path}: columns {listed(names)}: expected one column of probabilities per class "
            f"beside the label column {label!r}; add them."
        )
    labels = texts_of(path, label, table[label])
    check_classes(path, class_names, labels)
    y_proba = np.column_stack([numbers_of(path, table, name) for name in class_names])
    if label in lost:
        check_categories(path, label, labels, class_names)
    weights = weights_of(path, table, columns.weight)
    read = codes_of(
        path,
        labels,
        class_names,
        columns,
        column=table[label],
        in_order=in_order,
        weights=weights,
        scores=y_proba,
    )
    return PredictionFile(
        path=path,
        y_true=read.labels,
        y_proba=y_proba,
        from_logits=columns.from_logits,
        class_names=tuple(class_names),
        sample_weight=weights,
        groups=groups_of(path, table, columns.group),
        labels=read.to_pass_on,
        is_counted=read.is_counted,
        ids=ids_of(path, table, own),
        rows=rows,
        subgroups=groups_of(path, table, columns.subgroup, "subgroup_column"),
        classes=read.classes,
        others=_others(table, columns, label, class_names),
        in_order=in_order or bool(columns.classes),
    )


def _others(
    table: pd.DataFrame, columns: Columns, label: str, class_names: Sequence[str] = ()
) -> dict[str, Any]:
    """Return columns that are left out, and that of ids."""
    read = {label, columns.weight, columns.group, columns.subgroup, *class_names}
    return {name: table[name] for name in table.columns if name not in read}


def of_objects(path: Path, text: str, columns: Columns) -> PredictionFile:
    """Read objects of JSON: a table, or objects of numbers, in no order, or lists of numbers."""
    import pandas as pd

    found = objects.read_objects(path, text)
    lists = [key for key in SCORE_KEYS if key in found and isinstance(found[key][0], list)]
    if not lists or object_key(found) is not None:
        return of_table(path, pd.DataFrame(found, dtype=object), columns, in_order=False)
    rest = pd.DataFrame(found, dtype=object)
    label = find_label_column(path, list(found), columns.label)
    labels = texts_of(path, label, rest[label])
    rest, own_names = with_classes(path, rest, lists[0], columns, labels)
    y_proba = numbers_of_lists(path, rest, lists, columns, label)
    own = columns.id_among(list(found))
    weights = weights_of(path, rest, columns.weight)
    names, is_said = columns.classes or own_names, not own_names
    if names:
        said = columns if is_said else dataclasses.replace(columns, classes=())
        read = codes_of(path, labels, names, said, column=rest[label], weights=weights)
        read = read._replace(listed=is_said)
    else:
        # As arrays without names have them, of which decompose says what labels mean.
        read = Read(labels_as_given(path, labels, weights))
    return PredictionFile(
        path=path,
        y_true=read.labels,
        y_proba=y_proba,
        from_logits=lists[0] == "logits",
        class_names=names,
        sample_weight=weights,
        groups=groups_of(path, rest, columns.group),
        labels=read.to_pass_on,
        is_counted=read.is_counted,
        ids=ids_of(path, rest, own),
        subgroups=groups_of(path, rest, columns.subgroup, "subgroup_column"),
        classes=read.classes,
        others=_others(rest.drop(columns=lists), columns, label),
    )


def numbers_of_lists(
    path: Path, table: pd.DataFrame, lists: Sequence[str], columns: Columns, label: str
) -> npt.NDArray[np.float64]:
    """Return the lists of a table of objects as rows of numbers, or raise; it holds no others."""
    (key, *others) = lists
    if others:
        raise ValueError(f"{path}: lists {listed(lists)}: expected one of them; keep one.")
    columns.check_kind(path, key)
    given = table[key].tolist()
    _check_lists(path, key, given)
    rows = [[_number(path, key, i, value) for value in row] for i, row in enumerate(given)]
    if len({len(row) for row in rows}) > 1:
        raise ValueError(f"{path}: lists {key!r} of different lengths: expected one length.")
    k, names = len(rows[0]), columns.classes
    if names and len(names) != k:
        raise ValueError(
            f"{path}: classes = {listed(names)}: expected {k}, one for each number of the lists "
            f"{key!r}; name each once."
        )
    found = [name for name in table.columns if name != key]
    columns.check_drop(path, found)
    dataclasses.replace(columns, classes=()).check_named(path, found)
    own = columns.id_among(found)
    apart = columns.apart(label, own)
    unused = [name for name in found if name not in apart]
    if unused:
        raise ValueError(
            f"{path}: {listed(unused)} beside the list {key!r}: expected a label, weights and "
            "groups; name what is none of these with drop (--drop on the command line)."
        )
    numbers = np.asarray(rows, dtype=np.float64)
    check_scores(path, key, numbers)
    return numbers


def _number(path: Path, key: str, row: int, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        found = "null" if value is None else repr(objects.plain(value))
        raise ValueError(
            f"{path}: {key!r} of row {row} holds {found}: expected a number for each class; "
            "correct that line, or leave it out."
        ) from error


def _check_lists(path: Path, key: str, rows: Sequence[Any]) -> None:
    """Raise unless each row is a list, and none an object."""
    odd = next((i for i, row in enumerate(rows) if not isinstance(row, list)), None)
    if odd is not None:
        # Each sign of a text may be a number.
        raise ValueError(f"{path}: {rows[odd]!r} as {key!r} of row {odd}: expected a list.")
    # Of an object within an object the pairs are kept.
    if any(isinstance(each, tuple) for row in rows for each in row):
        raise ValueError(
            f"{path}: {key!r} holds objects: expected lists of numbers; write the classes beside "
            'the label instead, {"label": "A", "A": 0.7, "B": 0.3}.'
        )
