"""Columns of a table of predictions: labels, weights, classes, and what is none of these."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from propercal._data.classes.columns import absent_and_0, is_predicted, no_classes
from propercal._data.classes.labels import Classes, read_labels
from propercal._data.classes.one_column import OF_PREDICTED
from propercal._data.inputs.held import Held
from propercal._data.inputs.holders import hold
from propercal._data.inputs.reading import Names
from propercal._data.words.messages import warn
from propercal._data.words.tokens import key
from propercal._files.class_names import Read, Said
from propercal._files.names import advising, listed
from propercal._files.values import in_table, value_of, values_of

if TYPE_CHECKING:
    import pandas as pd

LABEL_COLUMNS = ("label", "labels")
#: Columns that tell rows apart, where a command looks for one.
_IDS = ("id", "row_id", "sample_id", "example_id", "uid", "uuid")
_CALLED = Names(labels="labels", proba="the table")
#: What to do where labels and columns of a table do not go together.
OF_COLUMNS = (
    "rename the columns, recode the labels, or name the label of a single column with pos_label "
    "(--pos-label on the command line)."
)
_OF_SEVERAL = "leave out pos_label (--pos-label on the command line), or all columns but one."
_OF_ONE = f"write a column for each class, or {OF_PREDICTED} (true or false)."


@dataclasses.dataclass(frozen=True)
class Columns:
    """What the caller says of the columns of a table, or of the arrays of a file."""

    label: str | None
    weight: str | None
    drop: tuple[str, ...]
    from_logits: bool
    pos_label: str | None = None
    group: str | None = None
    id: str | None = None
    classes: tuple[str, ...] = ()
    """The class columns in their order; empty for all that are not named otherwise."""
    finds_id: bool = False
    """Whether a column whose name says so tells rows apart, where none is named."""
    model: str | None = None
    """The name of the model whose predictions these are; None where it has none."""
    subgroup: str | None = None

    def id_among(self, names: Sequence[str]) -> str | None:
        """Return the column that tells rows apart, None where there is none."""
        if self.id is not None or not self.finds_id:
            return self.id
        found = [name for name in names if name.lower() in _IDS and name not in self.classes]
        return found[0] if len(found) == 1 else None

    def with_levels(self, table: pd.DataFrame) -> tuple[pd.DataFrame, pd.Index[Any] | None]:
        """Return a table with those levels of its index as columns that are named, and the rest.

        The rest is None where no level is left.
        """
        levels = [name for name in table.index.names if name not in (None, *table.columns)]
        said = {self.label, self.weight, self.group, self.subgroup, *self.drop, *self.classes}
        said.add(self.id_among([*table.columns, *map(str, levels)]))
        named: Any = [name for name in levels if name in said]
        rows = None if len(named) == table.index.nlevels else table.index.droplevel(named)
        return table.reset_index(named), rows

    def apart(self, label: str, own: str | None) -> tuple[str | None, ...]:
        """Return the columns that are none of classes: that of labels, that of ids, and others."""
        return (label, self.weight, self.group, self.subgroup, own, *self.drop)

    def check_named(self, path: Path, names: Sequence[str]) -> None:
        """Raise if a class column, or that of ids, is none of the file."""
        missing = [name for name in self.classes if name not in names]
        if missing:
            raise ValueError(
                f"{path}: classes = {listed(missing)}: expected some of the columns "
                f"{listed(names)}."
            )
        if len(set(self.classes)) < len(self.classes):
            raise ValueError(
                f"{path}: classes = {listed(self.classes)}: expected each once; leave the others "
                "out."
            )
        if self.id is not None and self.id not in names:
            raise ValueError(
                f"{path}: id_column = {self.id!r}: expected one of the columns {listed(names)}."
            )

    def check_drop(self, path: Path, names: Sequence[str]) -> None:
        """Raise if a column to drop is none of the file."""
        missing = [name for name in self.drop if name not in names]
        if missing:
            raise ValueError(
                f"{path}: drop = {listed(missing)}: expected some of the columns {listed(names)}."
            )

    def check_arrays(self, path: Path) -> None:
        """Raise where a file of arrays is treated as a table."""
        if self.label is not None:
            raise ValueError(
                f"{path}: label_column = {self.label!r}: {path.suffix} files have no columns; "
                "store labels under the name 'labels' and leave label_column out."
            )
        if self.drop:
            raise ValueError(
                f"{path}: drop = {listed(self.drop)}: {path.suffix} files have no columns; "
                "leave it out."
            )

    def said_of(self, path: Path, key: str, shape: Sequence[int]) -> Said:
        """Return what the caller says of an array of this name and shape, or raise."""
        if self.pos_label is not None and (key == "confidence" or (*shape, 1, 1)[1] > 1):
            raise ValueError(
                f"{path}: pos_label = {self.pos_label!r} beside {key!r} of shape {tuple(shape)}: "
                f"expected none but beside one column of probabilities; {_fix(key)}."
            )
        return Said(self.classes, self.model, value_of(self.pos_label))

    def check_kind(self, path: Path, key: str) -> None:
        """Raise where an array is taken for what its name, `key`, says that it is not."""
        if self.classes and key == "confidence":
            raise ValueError(
                f"{path}: classes = {listed(self.classes)}: expected none beside 'confidence', "
                f"which is the probability that a prediction is right; {_fix(key)}."
            )
        if self.from_logits and key != "logits":
            raise ValueError(
                f"{path}: {key!r} with from_logits = True: expected 'logits'; rename it, or leave "
                "from_logits out."
            )


def _fix(key: str) -> str:
    other = ", or call the array 'probs' if it is the probability of one class"
    return f"leave it out{other if key == 'confidence' else ''}"


def check_classes(path: Path, class_names: Sequence[str], labels: Sequence[str]) -> None:
    """Raise where a column numbers rows rather than to be a class that occurs."""
    odd = no_classes(class_names, labels)
    kept = [] if len(odd) < len(class_names) else [x for x in odd if not no_classes([x], labels)]
    kept.sort(key=is_predicted)
    if kept:
        # One of them may be that of one class, with no other beside it.
        others = " ".join(f"--drop {name}" for name in odd if name != kept[0])
        raise ValueError(
            f"{path}: columns {listed(odd)}: their names say that they are no classes; leave out "
            f"all but one with drop ({others} on the command line), if {kept[0]!r} is the "
            "probability of one class in each row, or write a column for each class."
        )
    if odd:
        raise ValueError(
            f"{path}: column {listed(odd)}: its name says that it is no class; leave it out with "
            f"drop ({' '.join(f'--drop {name}' for name in odd)} on the command line), or rename "
            "it if it holds the probabilities of one."
        )


def check_categories(
    path: Path, label: str, labels: Sequence[str], class_names: Sequence[str]
) -> None:
    """Raise where the order of categories, which the file has lost, may say what labels mean."""
    if len(class_names) > 1 and not set(map(key, labels)) <= set(map(key, class_names)):
        raise ValueError(
            f"{path}: column {label!r} was written as categories that are no text, whose order "
            "parquet does not keep: expected labels that name columns, or plain numbers that count "
            "them; write the column as text or as integers."
        )


def find_label_column(path: Path, columns: Sequence[str], label_column: str | None) -> str:
    """Return the name of the column of labels, or raise."""
    wanted = LABEL_COLUMNS if label_column is None else (label_column,)
    found = [column for column in columns if column in wanted]
    if len(found) == 1:
        return found[0]
    if found:
        raise ValueError(
            f"{path}: label columns {listed(found)}: expected one; name it with label_column "
            "(--label-column on the command line) and remove the other."
        )
    raise ValueError(
        f"{path}: columns {listed(columns)}: expected a label column named "
        f"{' or '.join(map(repr, wanted))}; name yours with label_column (--label-column on the "
        "command line)."
    )


def codes_of(
    path: Path,
    labels: list[str],
    class_names: Sequence[str],
    columns: Columns,
    *,
    column: pd.Series[Any] | None = None,
    in_order: bool = True,
    weights: npt.NDArray[np.float64] | None = None,
    scores: npt.NDArray[Any] | None = None,
) -> Read:
    """Return the place of each row's class column, as labels beside a table of predictions have.

    `column` are the labels as the table has them, with a name and perhaps with categories;
    `in_order` says that columns have an order, in which labels may count them. Rows of weight 0
    need no label.
    """
    labels, used = _labels_there(path, labels, weights)
    held = Held(values_of(labels, class_names))
    if column is not None:
        held = replace(
            hold("labels", in_table(labels, column, class_names)), rows=None, counted=False
        )
    with advising(path, _advice(class_names, labels, columns)):
        found = _read_all_or_used(held, class_names, columns, used)
    if not in_order and _are_counted(held, class_names, columns, found):
        raise ValueError(
            f"{path}: labels {listed(sorted(set(labels)))}: expected the names of classes, "
            f"{listed(class_names)}, since objects of JSON have no order in which numbers could "
            "count them; write those names as labels, or a list of probabilities in each line."
        )
    codes = found.codes
    assert codes is not None  # noqa: S101  # labels of one column
    _warn_of_absent(path, codes, class_names, columns, scores)
    read = Read.of(codes, found)._replace(names=tuple(class_names))
    return read.in_said_order() if columns.classes else read


def _advice(class_names: Sequence[str], labels: Sequence[str], columns: Columns) -> str:
    """Return what to do where labels and columns do not go together."""
    if len(class_names) == 1:
        return _OF_ONE if len(set(labels)) > 2 else OF_COLUMNS
    return OF_COLUMNS if columns.pos_label is None else _OF_SEVERAL


def labels_as_given(
    path: Path, labels: list[str], weights: npt.NDArray[np.float64] | None
) -> npt.NDArray[Any]:
    """Return labels beside columns without names, as numbers where all are, or raise."""
    values = values_of(_labels_there(path, labels, weights)[0])
    return values.astype(np.int64) if values.dtype.kind == "O" else values


def _labels_there(
    path: Path, labels: list[str], weights: npt.NDArray[np.float64] | None
) -> tuple[list[str], npt.NDArray[np.bool_] | None]:
    """Return labels of all rows, or raise, and which rows count; None for all.

    Rows of weight 0 need no label.
    """
    used = None if weights is None or not (weights > 0).any() else weights != 0
    if used is not None:
        labels = _labels_that_count(labels, used)
    if not labels:
        raise ValueError(f"{path}: no rows: expected two or more; give a file that has some.")
    missing = [row for row, label in enumerate(labels) if not label]
    if missing:
        raise ValueError(
            f"{path}: no label in {len(missing)} row(s), the first being row {missing[0]} (counted "
            "from 0 below the header): expected a label in every row; remove those rows."
        )
    return labels, used


def _labels_that_count(labels: Sequence[str], used: npt.NDArray[np.bool_]) -> list[str]:
    """Return labels, of rows that do not count that of one that does where they are of no kind."""
    counting = [label for label, each in zip(labels, used, strict=True) if each]
    kind = values_of(counting).dtype.kind
    return [
        label
        if each or (label and values_of([*counting[:1], label]).dtype.kind == kind)
        else counting[0]
        for label, each in zip(labels, used, strict=True)
    ]


def _read_all_or_used(
    held: Held,
    class_names: Sequence[str],
    columns: Columns,
    used: npt.NDArray[np.bool_] | None,
) -> Classes:
    """Read all labels; where those that do not count are of no class, the others."""
    try:
        return _read(held, class_names, columns)
    except ValueError:
        if used is None:
            raise
    return _read(held, class_names, columns, used)


def _read(
    held: Held,
    class_names: Sequence[str],
    columns: Columns,
    used: npt.NDArray[np.bool_] | None = None,
) -> Classes:
    k = len(class_names)
    proba = Held(
        np.empty((0, k)),
        columns=tuple(class_names) if k > 1 else None,
        name=class_names[0] if k == 1 else None,
    )
    called = replace(_CALLED, model=columns.model)
    said = {"proba": proba, "pos_label": value_of(columns.pos_label), "called": called}
    return read_labels(held, max(2, k), used=used, **said)


def _are_counted(held: Held, class_names: Sequence[str], columns: Columns, found: Classes) -> bool:
    """Tell whether labels would mean other columns if these stood in another order."""
    if len(class_names) == 1:
        return False
    try:
        turned = _read(held, class_names[::-1], columns)
    except ValueError:
        # Names that have an order of their own, such as p_0, p_1.
        return False
    return list(map(key, found.names)) != list(map(key, turned.names[::-1]))


def _warn_of_absent(
    path: Path,
    codes: npt.NDArray[np.int64],
    class_names: Sequence[str],
    columns: Columns,
    scores: npt.NDArray[Any] | None,
) -> None:
    """Say which columns no row has the label of: of logits no sum of 1 tells that they are none.

    Nor does it of zeros.
    """
    if len(class_names) == 1:
        return
    if columns.from_logits:
        odd = [class_names[i] for i in sorted({*range(len(class_names))} - {*codes.tolist()})]
        found, why = "logits of classes, though no row has such a label", ""
    else:
        unsaid = scores is not None and not columns.classes
        odd = absent_and_0(class_names, codes, scores) if unsaid else []
        found, why = "classes, though no row has such a label", ", and all are 0"
    if odd:
        warn(
            f"{path}: columns {listed(odd)} are taken for {found}{why}: name them with drop "
            "(--drop on the command line) if they are none."
        )
