"""The class of each column of an array, where the file says it by an array of names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from propercal._data.holders import Held
from propercal._data.labels import read_labels
from propercal._data.reading import Names
from propercal._data.tokens import is_number, key
from propercal.cli.formats import Npz, listed

#: What arrays of the classes are called; `names` may be those of rows too.
KEYS = ("classes", "classes_", "class_names", "label_names", "target_names", "names")
_OF_ANYTHING = "names"


class Read(NamedTuple):
    """Labels as places of columns, or columns of an indicator matrix in the order of these."""

    labels: npt.NDArray[Any]
    names: tuple[str, ...] = ()
    """The names of columns, where the file has them."""
    known: bool = False
    """Whether these say of which column each label is: it is not counted from 0 or from 1."""


def in_order_of_names(
    archive: Npz, labels: npt.NDArray[Any], scores: npt.NDArray[Any], apart: Sequence[str]
) -> Read:
    """Return labels as places of columns where these have names.

    Labels that are numbers, beside words, count columns; an indicator matrix's columns count
    numbers. `apart` are arrays of other things.
    """
    if scores.ndim != 2 or scores.shape[1] < 2:
        return Read(labels)
    found = {each: archive.array(each) for each in KEYS if each in archive.names}
    found = {
        each: names
        for each, names in found.items()
        if each != _OF_ANYTHING or names.shape == scores.shape[1:]
    }
    if not found:
        _check_others(archive, labels, scores.shape[1], apart)
        return Read(labels)
    lists = {each: _names(archive.path, each, found[each], scores.shape[1]) for each in found}
    (first, names), *others = lists.items()
    for other, its in others:
        if list(map(key, its)) != list(map(key, names)):
            raise ValueError(
                f"{archive.path}: arrays {listed([first, other])}: expected the same classes in "
                "the same order; keep the one that is right."
            )
    return _read(archive.path, first, names, labels)._replace(names=tuple(map(str, names)))


def _check_others(archive: Npz, labels: npt.NDArray[Any], k: int, apart: Sequence[str]) -> None:
    """Raise where an array of another name lists the classes in another order than is read."""
    vector = labels.reshape(-1)
    if len(vector) != len(labels):
        return
    occurred = set(map(key, vector.tolist()))
    for name in archive.names:
        names = None if name in apart else archive.vector(name, k)
        if names is None:
            continue
        own = [key(each) for each in names.tolist()]
        if len(set(own)) == k and occurred <= set(own) and (names[1:] < names[:-1]).any():
            raise ValueError(
                f"{archive.path}: array {name!r} lists the classes as {listed(own)}: expected "
                f"one of {listed(KEYS)} as its name if that is the order of the columns; rename "
                "it, or leave it out."
            )


def _names(path: Path, argument: str, names: npt.NDArray[Any], k: int) -> list[Any]:
    if names.shape != (k,) or len(set(map(key, names.tolist()))) < k:
        raise ValueError(
            f"{path}: array {argument!r} of shape {names.shape}: expected the {k} different "
            "classes, in the order of the columns; correct it, or leave it out."
        )
    found: list[Any] = names.tolist()
    return found


def _read(path: Path, argument: str, names: Sequence[Any], labels: npt.NDArray[Any]) -> Read:
    vector = labels.reshape(-1) if labels.ndim == 2 and labels.shape[1] == 1 else labels
    if vector.ndim != 1:
        return _beside(path, names, labels)
    booleans = vector.dtype.kind == "b"
    place = {key(each, booleans=booleans): i for i, each in enumerate(names)}
    values = vector.tolist()
    odd = [each for each in values if key(each) not in place]
    if not odd:
        return Read(np.array([place[key(each)] for each in values], dtype=np.int64), known=True)
    words = all(isinstance(each, str) and not is_number(_number(each)) for each in names)
    if words and all(map(is_number, values)):
        return _beside(path, names, vector)
    raise ValueError(
        f"{path}: labels {listed(sorted({str(each) for each in odd}))}: expected some of "
        f"{argument!r}, {listed(names)}; correct them, or leave that array out."
    )


def _beside(path: Path, names: Sequence[Any], labels: npt.NDArray[Any]) -> Read:
    """Read labels as beside a table of these columns, or raise where names say another order."""
    k = len(names)
    proba = Held(np.empty((0, k)), columns=tuple(names))
    try:
        found = read_labels(labels, k, proba=proba, called=Names(labels="labels", proba="the file"))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    read = found.codes if found.indicator is None else found.indicator
    assert read is not None  # noqa: S101  # labels are one or the other
    return Read(read, known=not found.in_doubt)


def _number(name: Any) -> Any:
    """Return a name as the number that it writes, if it does."""
    try:
        return float(name)
    except ValueError:
        return name
