"""The class of each column of an array, where the file says it by an array of names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from propercal._data.classes.labels import Classes, read_labels
from propercal._data.inputs.held import Held
from propercal._data.inputs.reading import Names
from propercal._data.inputs.settings import Known
from propercal._data.words.tokens import is_number, is_permutation, key
from propercal._files.formats import Npz
from propercal._files.names import listed

#: What arrays of the classes are called; `names` may be those of rows too.
KEYS = ("classes", "classes_", "class_names", "label_names", "target_names", "names")
_OF_ANYTHING = "names"
#: Those that a caller names.
_GIVEN = "--class"
#: Other columns of a table, whose names are listed with those of the classes.
_MOST_BESIDE = 20


class Said(NamedTuple):
    """What a caller says of the columns of an array."""

    classes: Sequence[str] = ()
    """The class of each."""
    model: str | None = None
    """Whose predictions these are, which may be what one column is called."""
    pos_label: Any = None
    """The label that one column is the probability of."""


class Read(NamedTuple):
    """Labels as places of columns, or columns of an indicator matrix in the order of these."""

    labels: npt.NDArray[Any]
    names: tuple[str, ...] = ()
    """The names of columns, where the file has them."""
    known: bool = False
    """Whether these say of which column each label is: it is not counted from 0 or from 1."""
    is_counted: bool = False
    """Whether labels are numbers of columns that have other names."""
    classes: tuple[Any, ...] = ()
    """What labels call the classes of the columns, in their order, where these have names."""
    listed: bool = False
    """Whether a caller alone says so, which predictions may contradict, and no name of the file."""

    @classmethod
    def of(cls, labels: npt.NDArray[Any], found: Classes) -> Self:
        """Return labels that were read beside names of columns."""
        # Columns of marks count those that numbers name, and stand beside others.
        matched = found.indicator is not None and is_permutation(found.names)
        by_order = found.by_order and not matched
        is_counted = by_order and not found.in_doubt
        known = not (by_order or found.in_doubt)
        return cls(labels, known=known, is_counted=is_counted, classes=tuple(found.names))

    def in_said_order(self) -> Self:
        """Return the same where a caller names the columns that numbers count."""
        counts = self.is_counted and self.labels.ndim == 1
        return self._replace(known=True, is_counted=False, listed=True) if counts else self

    @property
    def to_pass_on(self) -> tuple[int, ...] | None:
        """The numbers of the columns, where it is known which label is of which column."""
        n = len(self.names)
        if not (self.known and n > 1):
            return None
        return tuple(range(n)) if self.listed else Known(range(n))


def in_order_of_names(
    archive: Npz,
    labels: npt.NDArray[Any],
    scores: npt.NDArray[Any],
    apart: Sequence[str],
    said: Said,
) -> Read:
    """Return labels as places of columns where these have names.

    Labels that are numbers, beside words, count columns; an indicator matrix's columns count
    numbers. `apart` are arrays of other things.
    """
    if scores.ndim != 2 or scores.shape[1] < 2:
        return _of_one_column(archive, labels, said, scores.shape)
    given = said.classes
    found = named_arrays(archive, scores.shape)
    if given:
        found = {_GIVEN: np.array(given), **found}
    if not found:
        _check_others(archive, occurred_in(labels, scores.shape[1]), scores.shape[1], apart)
        return Read(labels)
    lists = {each: _names(archive.path, each, found[each], scores.shape[1]) for each in found}
    own = [names for each, names in lists.items() if each != _GIVEN]
    if are_numbers(given) and not any(map(are_numbers, own)):
        # What labels call the columns, whatever the file does.
        lists = {_GIVEN: lists[_GIVEN]}
    (first, names), *others = lists.items()
    for other, its in others:
        if list(map(key, its)) != list(map(key, names)):
            raise ValueError(
                f"{archive.path}: arrays {listed([first, other])}: expected the same classes in "
                "the same order; keep the one that is right."
            )
    read = _read(archive.path, first, names, labels)
    read = read._replace(names=tuple(map(str, names)), listed=first == _GIVEN and not others)
    return read.in_said_order() if given else read


def named_arrays(archive: Npz, shape: Sequence[int]) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays that are called names of classes, beside predictions of this shape.

    `names` may be those of rows: of classes there are as many as columns, and not one in one row.
    """
    found = {each: archive.text(each) for each in KEYS if each in archive.names}
    n, k = (*shape, 1, 1)[:2]
    others = _OF_ANYTHING in found and (found[_OF_ANYTHING].shape != (k,) or n == k == 1)
    return {each: names for each, names in found.items() if each != _OF_ANYTHING or not others}


def names_of_columns(
    archive: Npz, scores: npt.NDArray[Any], known: Sequence[str], apart: Sequence[str]
) -> dict[str, list[str]]:
    """Return the names of columns beside no labels, or beside some, by the arrays that list them.

    `known` are those that the columns are to be matched with; an array of another name that lists
    these, or the labels, in another order is refused.
    """
    k = (*scores.shape, 1, 1)[1]
    named = named_arrays(archive, scores.shape)
    found = {each: names.astype(str).tolist() for each, names in named.items()}
    if found or k < 2:
        return found
    if len(known) == k:
        _check_others(archive, known, k, apart, known)
    elif "labels" in archive.names:
        _check_others(archive, occurred_in(archive.text("labels"), k), k, apart)
    return {}


def words_of(labels: Any, known: Sequence[str]) -> dict[str, list[str]]:
    """Return the names of columns without names beside labels in words, of which all occur.

    These stand for columns in alphabetical order, of whatever `known` these are.
    """
    array = np.asarray(labels)
    words = sorted(set(array.tolist())) if array.ndim == 1 and array.dtype.kind == "U" else []
    return {"labels": words} if words and set(words) == set(known) else {}


def occurred_in(labels: npt.NDArray[Any], k: int) -> list[Any]:
    """Return the labels that occur, or the numbers of the columns of an indicator matrix."""
    matrix = labels.ndim == 2 and labels.shape[1] > 1
    return list(range(k)) if matrix else np.unique(labels).tolist()


def _check_others(
    archive: Npz,
    occurred: Sequence[Any],
    k: int,
    apart: Sequence[str],
    order: Sequence[Any] | None = None,
) -> None:
    """Raise where an array of another name lists the classes in another order than is read.

    That is `order`, or else the one in which they are sorted.
    """
    words = all(isinstance(each, str) and not is_number(_number(each)) for each in occurred)
    # Beside numbers, which count, a name and other words may be in any order.
    most = k + _MOST_BESIDE if words else k
    for name in archive.names:
        said = None if name in apart else archive.described(name)
        if said is None or not _may_list(said[0], k, most):
            continue
        if said[1].hasobject:
            found = "is pickled, and may list the classes" if words else None
        else:
            found = _other_order(archive.array(name), list(map(_alike, occurred)), k, order)
        if found is not None:
            raise ValueError(
                f"{archive.path}: array {name!r} {found}: expected one of {listed(KEYS)} as its "
                "name, and text or numbers, if that is the order of the columns; rename or correct "
                "it, or leave it out."
            )


def _may_list(shape: tuple[int, ...], k: int, most: int) -> bool:
    """Tell whether an array of this shape may list k classes, and some names more."""
    if len(shape) == 1:
        return k <= shape[0] <= most
    return len(shape) == 2 and k in shape and min(shape) <= 2


def _other_order(
    array: npt.NDArray[Any], occurred: Sequence[str], k: int, order: Sequence[Any] | None
) -> str | None:
    """Return what says that an array lists the classes in another order; None if it does not."""
    if array.dtype.kind not in "biufSU":
        return None
    rows = array if array.ndim == 2 and array.shape[1] == k else array.T
    for row in np.atleast_2d(rows):
        names = row.astype(str).tolist() if array.dtype.kind == "S" else row.tolist()
        own = [_alike(each) for each in names]
        own = own if len(own) == k else [each for each in own if each in occurred]
        usual = sorted(own, key=_number if all(is_number(_number(x)) for x in own) else None)
        usual = usual if order is None else list(map(_alike, order))
        if len(set(own)) == len(own) == k and set(occurred) <= set(own) and own != usual:
            return f"lists the classes as {listed(own)}"
    return None


def _alike(name: Any) -> str:
    """Return what names have in common that are equal but for case and blanks."""
    return str(key(name)).strip().casefold()


def _names(path: Path, argument: str, names: npt.NDArray[Any], k: int) -> list[Any]:
    if names.shape != (k,) or len(set(map(key, names.tolist()))) < k:
        raise ValueError(
            f"{path}: array {argument!r} of shape {names.shape}: expected the {k} different "
            "classes, in the order of the columns; correct it, or leave it out."
        )
    found: list[Any] = names.tolist()
    return found


def named_by_caller(
    path: Path, labels: npt.NDArray[Any], scores: npt.NDArray[Any], said: Said
) -> Read:
    """Return labels as places of columns that only a caller names, if anyone does."""
    if scores.ndim != 2 or scores.shape[1] < 2:
        return _of_one_given(path, labels, said)
    if not said.classes:
        return Read(labels)
    names = _names(path, _GIVEN, np.array(said.classes), scores.shape[1])
    read = _read(path, _GIVEN, names, labels)._replace(names=tuple(said.classes), listed=True)
    return read.in_said_order()


def _of_one_given(path: Path, labels: npt.NDArray[Any], said: Said) -> Read:
    """Return labels beside one column that the caller names, or says the class of."""
    given = said.classes
    if len(given) > 1:
        raise ValueError(
            f"{path}: classes = {listed(given)}: expected one, that of the one column."
        )
    if not given and said.pos_label is None:
        return Read(labels)
    proba = Held(np.empty(0), name=given[0] if given else None)
    return _read_beside(path, proba, labels, said)._replace(names=tuple(given))


def _of_one_column(
    archive: Npz, labels: npt.NDArray[Any], said: Said, shape: Sequence[int]
) -> Read:
    """Return labels beside one column, which the file, or the caller, may name."""
    if said.classes:
        return _of_one_given(archive.path, labels, said)
    for each, names in named_arrays(archive, shape).items():
        if names.shape == (1,):
            proba = Held(np.empty(0), name=names.tolist()[0])
            read = _read_beside(archive.path, proba, labels, said)
            return read._replace(names=(str(names[0]),))
        numbers = [_number(name) for name in np.ravel(names).tolist()]
        turned = len(numbers) == 2 and all(map(is_number, numbers)) and numbers[0] > numbers[1]
        if turned and said.pos_label is None:
            raise ValueError(
                f"{archive.path}: array {each!r} lists the classes as {listed(names.tolist())}: "
                "expected to know of which of them the one column is the probability; store a "
                "column for each, name that class by pos_label (--pos-label on the command line), "
                "or leave it out."
            )
    return _of_one_given(archive.path, labels, said)


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
    return _read_beside(path, Held(np.empty((0, len(names))), columns=tuple(names)), labels)


def _read_beside(
    path: Path, proba: Held, labels: npt.NDArray[Any], said: Said | None = None
) -> Read:
    said = said or Said()
    k = max(2, *proba.values.shape[1:], 0)
    called = Names(labels="labels", proba="the file", model=said.model)
    try:
        found = read_labels(labels, k, proba=proba, pos_label=said.pos_label, called=called)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    read = found.codes if found.indicator is None else found.indicator
    assert read is not None  # noqa: S101  # labels are one or the other
    return Read.of(read, found)


def are_numbers(names: Sequence[Any]) -> bool:
    """Tell whether there are names, and each writes a number."""
    return len(names) > 0 and all(is_number(_number(each)) for each in names)


def _number(name: Any) -> Any:
    """Return a name as the number that it writes, if it does."""
    try:
        return float(name)
    except ValueError:
        return name
