"""Files of arrays: npz archives, and npy files in pairs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from propercal._files import formats
from propercal._files.class_names import Read, in_order_of_names, named_by_caller
from propercal._files.columns import Columns
from propercal._files.formats import Npz
from propercal._files.names import listed
from propercal._files.prediction_file import SCORE_KEYS, PredictionFile, check_scores


def of_npz(path: Path, columns: Columns, content: bytes | None = None) -> PredictionFile:
    """Return what an archive holds, or `content`, its bytes."""
    columns.check_arrays(path)
    with Npz(path, content) as archive:
        found = archive.names
        scores = [key for key in SCORE_KEYS if key in found]
        if "labels" not in found or not scores:
            raise ValueError(
                f"{path}: arrays {listed(found)}: expected 'labels' and one of "
                f"{listed(SCORE_KEYS)}; rename the arrays."
            )
        if len(scores) > 1:
            raise ValueError(
                f"{path}: arrays {listed(found)}: expected only one of {listed(scores)}, "
                "since it is unclear which to use; keep one in the file."
            )
        weight, group, _, subgroup = _named(path, columns, found)
        own = columns.id_among(found)
        (key,) = scores
        columns.check_kind(path, key)
        y_true, y_proba = archive.text("labels"), archive.array(key)
        check_scores(path, key, y_proba)
        _check_no_ranks(archive, key, y_proba)
        said = columns.said_of(path, key, y_proba.shape)
        read = Read(y_true)
        if key == "confidence":
            _check_right(path, y_true)
        else:
            named = (weight, group, own, subgroup)
            apart = ["labels", key, *(each for each in named if each is not None)]
            read = in_order_of_names(archive, y_true, y_proba, apart, said)
        return PredictionFile(
            path=path,
            y_true=read.labels,
            y_proba=y_proba,
            from_logits=key == "logits",
            class_names=read.names,
            sample_weight=None if weight is None else archive.array(weight),
            groups=None if group is None else archive.array(group),
            labels=read.to_pass_on,
            is_counted=read.is_counted,
            ids=None if own is None else _ids(path, archive.array(own), len(y_proba), columns.id),
            subgroups=None if subgroup is None else archive.array(subgroup),
            classes=read.classes,
        )


def _check_no_ranks(archive: Npz, key: str, y_proba: npt.NDArray[Any]) -> None:
    """Raise where rows are sorted by size, and an array says which class each value is of."""
    if y_proba.ndim != 2 or y_proba.dtype.kind not in "iuf" or len(y_proba) < 2:
        return
    if not any((np.diff(each, axis=1) <= 0).all() for each in (y_proba, y_proba[:, ::-1])):
        return
    for name in archive.names:
        shape, dtype = archive.described(name) or ((), np.dtype(float))
        if name in ("labels", key) or shape != y_proba.shape or dtype.kind not in "iuUS":
            continue
        ordered = np.sort(archive.text(name), axis=1)
        one_set = (ordered == ordered[0]).all() and len(np.unique(ordered[0])) == shape[1]
        if one_set and (archive.text(name) != archive.text(name)[0]).any():
            raise ValueError(
                f"{archive.path}: {key!r} has rows sorted by size, whose classes {name!r} says: "
                "expected one order of columns in all rows; save "
                f"numpy.take_along_axis({key}, numpy.argsort({name}, axis=1), axis=1), whose "
                f"columns are in the order of numpy.unique({name})."
            )


def _named(path: Path, columns: Columns, found: Sequence[str]) -> tuple[str | None, ...]:
    """Return the arrays of weights, groups, ids and subgroups that were named, or raise."""
    beside = {
        "weight_column": columns.weight,
        "group_column": columns.group,
        "id_column": columns.id,
        "subgroup_column": columns.subgroup,
    }
    for argument, name in beside.items():
        if name is not None and name not in found:
            raise ValueError(
                f"{path}: {argument} = {name!r}: expected one of the arrays {listed(found)}."
            )
    return tuple(beside.values())


def _ids(path: Path, ids: npt.NDArray[Any], n: int, named: str | None) -> npt.NDArray[Any] | None:
    """Return ids as text, one for each row; None for another array of that name, unless `named`."""
    if ids.shape in ((n,), (n, 1)):
        return ids.reshape(n).astype(str).astype(object)
    if named is None:
        return None
    raise ValueError(
        f"{path}: id_column = {named!r}, an array of shape {ids.shape}: expected an id for each of "
        f"{n} rows; name another array."
    )


def _check_right(path: Path, labels: npt.NDArray[Any]) -> None:
    """Raise where labels beside 'confidence' are classes rather than whether these are right."""
    values = set(labels.ravel().tolist())
    if labels.dtype.kind not in "biufO" or len(values) > 2:
        raise ValueError(
            f"{path}: labels {listed(sorted(map(str, values)))} beside 'confidence', which is the "
            "probability that a prediction is right: expected true or false, or 1 or 0, for "
            "whether it is; write those, or call the array 'probs' if it is the probability of one "
            "class."
        )


def of_npy(path: Path, columns: Columns) -> PredictionFile:
    """Return what an npy file holds, and that of its labels beside it."""
    columns.check_arrays(path)
    for argument, name in (
        ("weight_column", columns.weight),
        ("group_column", columns.group),
        ("id_column", columns.id),
        ("subgroup_column", columns.subgroup),
    ):
        if name is not None:
            raise ValueError(
                f"{path}: {argument} = {name!r}: an npy file holds one array; save all in one npz "
                "file."
            )
    key, labels = formats.beside(path, SCORE_KEYS)
    columns.check_kind(path, key)
    y_true, y_proba = formats.as_text(formats.read_npy(labels)), formats.read_npy(path)
    check_scores(path, key, y_proba)
    said = columns.said_of(path, key, y_proba.shape)
    if key == "confidence":
        _check_right(path, y_true)
    read = Read(y_true) if key == "confidence" else named_by_caller(path, y_true, y_proba, said)
    return PredictionFile(
        path=path,
        y_true=read.labels,
        y_proba=y_proba,
        from_logits=key == "logits",
        class_names=read.names,
        labels=read.to_pass_on,
        is_counted=read.is_counted,
        classes=read.classes,
    )


def labels_of(path: Path) -> npt.NDArray[Any]:
    """Return the labels of a file of arrays as it has them."""
    if path.suffix.lower() == ".npy":
        return formats.as_text(formats.read_npy(formats.beside(path, SCORE_KEYS)[1]))
    with Npz(path) as archive:
        return archive.text("labels")
