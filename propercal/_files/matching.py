"""Files of predictions for the same rows: matched by ids and by names of classes, or refused."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from propercal._data.classes.columns import (
    OtherColumnsError,
    are_columns_of_two_classes,
    is_shuffled,
    keys,
    order_of_columns,
)
from propercal._data.classes.labels import Classes, read_labels
from propercal._data.classes.model_names import exchanged
from propercal._data.inputs.held import Held
from propercal._data.inputs.reading import Names
from propercal._data.predictions.predictions import validate
from propercal._data.words.messages import some_rows
from propercal._files.names import listed, shortened
from propercal._files.prediction_file import PredictionFile
from propercal._files.row_columns import agree
from propercal._files.rows import check_series, paired

_CALLED = Names(labels="labels", proba="the file")
#: Characters of the name of a model in a table.
_NAME = 30


class Matched(NamedTuple):
    """Predictions of several files in the order of the rows and the classes of the first."""

    y_true: npt.NDArray[Any]
    models: dict[str, npt.NDArray[Any]]
    """By names that tell files apart."""
    arguments: dict[str, Any]
    """What the files say beside."""
    paired_by: str
    """In words, how rows were paired."""


def matched(files: Sequence[PredictionFile], blocks: object = None) -> Matched:
    """Match files, or raise a ValueError that names the first that does not fit.

    With `blocks`, rows have to stand in the order of one series.
    """
    files = _alike(files)
    first, *others = files
    pairs = [paired(first, other) for other in others]
    for other in files:
        check_series(blocks, first, other)
    proba = [
        first.y_proba,
        *(
            _in_order_of(first, other, pair.order)
            for other, pair in zip(others, pairs, strict=True)
        ),
    ]
    says = {
        "from_logits": first.from_logits,
        "sample_weight": first.sample_weight,
        "groups": first.groups,
        "labels": first.labels,
    }
    ways = {pair.by for pair in pairs}
    return Matched(
        first.y_true,
        dict(zip(names_of([each.path for each in files]), proba, strict=True)),
        {name: value for name, value in says.items() if value is not None},
        "by their order" if "order" in ways else f"by their {' and '.join(sorted(ways))}",
    )


def names_of(paths: Sequence[Path]) -> list[str]:
    """Return short names that tell files apart."""
    for names in (
        [shortened(path.name, _NAME) for path in paths],
        [shortened(path, _NAME) for path in paths],
    ):
        if len(set(names)) == len(names):
            return names
    return [f"{i}: {shortened(path.name, _NAME)}" for i, path in enumerate(paths, start=1)]


def model_of(path: Path) -> str:
    """Return the name of a file without what says of its format, which is that of a model."""
    return Path(path.stem).stem if path.suffix == ".gz" else path.stem


def _in_order_of(
    first: PredictionFile, other: PredictionFile, rows: npt.NDArray[np.intp]
) -> npt.NDArray[Any]:
    """Return the predictions of `other` in the order of `first`, of `rows` there, or raise."""
    columns = _columns(first, other)
    _check_labels(first, other, rows, columns)
    for what, mine, its in (
        ("weights", first.sample_weight, other.sample_weight),
        ("groups", first.groups, other.groups),
        ("subgroups", first.subgroups, other.subgroups),
    ):
        if mine is not None and its is not None and not agree(mine, its[rows]):
            raise ValueError(
                f"{other.path}: {what} of rows differ from those in {first.path}: expected the "
                "same; correct one of the files."
            )
    proba = other.y_proba[rows]
    return proba if columns is None else _two_columns(proba, other.from_logits)[:, columns]


def _two_columns(proba: npt.NDArray[Any], from_logits: bool) -> npt.NDArray[Any]:
    """Return one column, of two classes, as two, and others as they are."""
    if proba.ndim == 2 and proba.shape[1] > 1:
        return proba
    one = proba.reshape(-1)
    return np.stack([np.zeros_like(one) if from_logits else 1 - one, one], axis=1)


def _alike(files: Sequence[PredictionFile]) -> list[PredictionFile]:
    """Return files of which all hold logits, or all probabilities.

    Logarithms of probabilities are logits, whereas probabilities of logits may round to 0 or 1.
    """
    if len({data.from_logits for data in files}) == 1:
        return list(files)
    return [data if data.from_logits else _as_logits(data) for data in files]


def _as_logits(data: PredictionFile) -> PredictionFile:
    try:
        # This checks them, too.
        found = validate(data.y_true, data.y_proba, labels=data.labels)
    except ValueError as error:
        raise ValueError(f"{data.path}: {error}") from error
    scores = np.asarray(found.log_prob)
    if data.y_proba.ndim == 1 or data.y_proba.shape[1] == 1:
        scores = scores[:, 1] - scores[:, 0]
    return dataclasses.replace(data, y_proba=scores, from_logits=True)


def _columns(first: PredictionFile, other: PredictionFile) -> list[int] | None:
    """Return where each class column of `first` is in `other`, None where they stand alike."""
    k, its = (1 if each.y_proba.ndim == 1 else each.y_proba.shape[1] for each in (first, other))
    if max(k, 2) != max(its, 2):
        raise ValueError(
            f"{other.path}: {its} class columns, and {k} in {first.path}: expected the same "
            "classes; add those that are missing, or name them by classes (--class on the command "
            "line)."
        )
    if k != its or not (first.class_names and other.class_names):
        return _by_classes(first, other)
    if k == 1:
        (mine,), (name,) = first.class_names, other.class_names
        one, two = (Held(each.y_proba, name=each.class_names[0]) for each in (first, other))
        models = model_of(first.path), model_of(other.path)
        if exchanged({models[0]: {mine}, models[1]: {name}}) is not None:
            raise ValueError(
                f"{other.path}: a class column {name!r}, and {mine!r} in {first.path}: expected "
                "columns that are not named after each other's files; rename the files or the "
                "columns."
            )
        own = (mine, name) == models
        if are_columns_of_two_classes(one, two, are_called_as_models=own):
            raise ValueError(
                f"{other.path}: a class column {name!r}, and {mine!r} in {first.path}: expected "
                "the probability of one class in both; name the same column of both."
            )
        return None
    try:
        return order_of_columns(first.class_names, other.class_names)
    except OtherColumnsError as error:
        raise ValueError(
            f"{other.path}: class columns {listed(other.class_names)}, and "
            f"{listed(first.class_names)} in {first.path}: expected the same; rename them."
        ) from error


def _by_classes(first: PredictionFile, other: PredictionFile) -> list[int] | None:
    """Return the same by what labels call the classes, where columns of one have no such names."""
    own, its = _classes(first), _classes(other)
    if len(set(own)) < len(own) or set(own) != set(its):
        return None
    return order_of_columns(own, its)


def classes_read(data: PredictionFile) -> tuple[Any, ...]:
    """Return the classes of the columns as they are read beside the labels, as decompose does."""
    return _read(data).names


def _classes(data: PredictionFile) -> list[Any]:
    """Return the names of the classes of the columns, or of the two that a single one tells."""
    if len(data.class_names) > 1 or data.classes:
        return keys(data.class_names if len(data.class_names) > 1 else data.classes)
    return keys(classes_read(data))


def _check_labels(
    first: PredictionFile,
    other: PredictionFile,
    rows: npt.NDArray[np.intp],
    columns: list[int] | None,
) -> None:
    """Raise where a row has another label: then it is another row, or a column another class."""
    mine, its = _codes(first), _codes(other)[rows]
    if columns is not None:
        # The class of a code of `other` is that of the column of `first` that it is in.
        its = its[:, columns] if its.ndim == 2 else np.argsort(columns)[its]
    if mine.ndim != its.ndim:
        raise ValueError(
            f"{other.path}: labels of another form than in {first.path}: expected one class in "
            "each row of both, or an indicator matrix; write one of them anew."
        )
    differ = np.flatnonzero((mine != its) if mine.ndim == 1 else (mine != its).any(axis=1))
    if differ.size:
        fix = (
            "correct one of the files"
            if first.ids is not None and other.ids is not None
            else "sort both alike, or name a column that tells rows apart by id_column "
            "(--id-column on the command line)"
        )
        raise ValueError(
            f"{other.path}: labels differ from those of {first.path} in {differ.size} of "
            f"{len(mine)} rows, at {some_rows(differ.tolist(), most=3)} of that file: expected the "
            f"same rows; {fix}."
        )
    _check_unnamed(first, other, mine)


def _check_unnamed(first: PredictionFile, other: PredictionFile, codes: npt.NDArray[Any]) -> None:
    """Raise where one file names its columns in an order of its own, and labels do not tell it.

    They do if at most one class does not occur: then each column is beside its own.
    """
    names = first.class_names or other.class_names
    unnamed = not (first.class_names and other.class_names)
    occurring = int(codes.any(axis=0).sum()) if codes.ndim == 2 else len(np.unique(codes))
    if unnamed and len(names) > occurring + 1 and is_shuffled(names):
        raise ValueError(
            f"{other.path}: class columns {listed(other.class_names)}, and "
            f"{listed(first.class_names)} in {first.path}: expected names in both, since not all "
            "of these classes occur, and they may be in another order; name the columns of the "
            "other file, by an array 'classes' in npz, or by classes (--class on the command line)."
        )


def _codes(data: PredictionFile) -> npt.NDArray[Any]:
    """Return the place of the column of what occurred in each row, or an indicator matrix."""
    found = _read(data)
    codes = found.indicator if found.codes is None else found.codes
    assert codes is not None  # noqa: S101  # labels are one or the other
    return codes


def _read(data: PredictionFile) -> Classes:
    single = data.y_proba.ndim == 1 or data.y_proba.shape[1] == 1
    k = 2 if single else data.y_proba.shape[1]
    proba = Held(np.empty(0) if single else np.empty((0, k)))
    try:
        return read_labels(data.y_true, k, labels=data.labels, proba=proba, called=_CALLED)
    except ValueError as error:
        raise ValueError(f"{data.path}: {error}") from error
