"""New predictions, with or without labels: read, recalibrated, and written in the same form."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from propercal._data.classes.columns import OtherColumnsError, is_shuffled, keys, order_of_columns
from propercal._data.inputs.holders import is_default
from propercal._data.words.opposed import are_opposed
from propercal._data.words.other_words import contradict
from propercal._data.words.tokens import of_class_0
from propercal._files import formats, objects
from propercal._files.class_names import KEYS, names_of_columns, words_of
from propercal._files.columns import LABEL_COLUMNS
from propercal._files.formats import SEPARATORS
from propercal._files.names import listed
from propercal._files.numbers import numbers_of
from propercal._files.spread_objects import object_key, values_of_objects
from propercal._files.standard_input import STANDARD_INPUT, read_standard_input
from propercal.cli.derived import Beside, warn_of_derived

if TYPE_CHECKING:
    import pandas as pd

    from propercal.cli.maps import RecalibrationMap

Floats = npt.NDArray[np.float64]

_SCORES = ("probs", "logits", "confidence")
_TABLES = (*SEPARATORS, ".parquet")


class NewPredictions(Protocol):
    """Predictions of a file, which may be written again with others in their place."""

    def recalibrated(self, by: RecalibrationMap) -> NewPredictions:
        """Return the same with recalibrated predictions."""

    def content(self, suffix: str) -> bytes:
        """Return the content of a file with this suffix."""


def read_new(
    path: Path, *, class_names: Sequence[str], said: Sequence[str], from_logits: bool
) -> tuple[NewPredictions, str]:
    """Read predictions, and return the suffix of their form too.

    `class_names` are those of the map, and `said` those of the caller.
    """
    content: bytes | None = None
    suffix, packed = formats.format_of(path)
    if path == STANDARD_INPUT:
        suffix, content = read_standard_input(path)
    # Columns of a table are found by their names, and places of arrays by those that are said.
    names = _names_of_table(path, said, class_names)
    with formats.damage_said(path, suffix.removeprefix(".")):
        if suffix == ".npz":
            with formats.Npz(path, content) as archive:
                arrays = {each: archive.array(each) for each in archive.names}
                key = _scores_of(path, arrays)
                own = names_of_columns(archive, arrays[key], said or class_names, ["labels", key])
                if not (own or said) and "labels" in arrays:
                    own = words_of(archive.text("labels"), class_names)
            return _Arrays(path, arrays, own, said), suffix
        if suffix == ".npy":
            is_logits = "logits" in path.stem.lower()
            return _Array(path, formats.read_npy(path), said, is_logits), suffix
        if suffix == ".parquet":
            return _Table(path, formats.read_parquet(path).table, names, from_logits), suffix
        if suffix not in (*SEPARATORS, ".jsonl"):
            raise ValueError(
                f"{path}: file type {suffix or 'without a suffix'}: expected .npz, .npy, .csv, "
                ".tsv, .jsonl or .parquet; convert it, or rename it."
            )
        text = (
            formats.read_text(path, packed=packed)
            if content is None
            else content.decode("utf-8-sig")
        )
        if suffix == ".jsonl":
            columns = objects.read_objects(path, text)
            return _Objects(path, columns, names, said, from_logits), suffix
        table = formats.read_separated(path, io.StringIO(text), SEPARATORS[suffix])
        return _Table(path, table, names, from_logits), suffix


class _Table:
    def __init__(
        self, path: Path, table: pd.DataFrame, names: Sequence[str], from_logits: bool
    ) -> None:
        self._path, self._table, self._from_logits = path, table, from_logits
        self._names = list(names)

    def recalibrated(self, by: RecalibrationMap) -> _Table:
        names = _class_columns(self._path, list(self._table.columns), self._names, by)
        proba = np.column_stack([numbers_of(self._path, self._table, name) for name in names])
        others = {str(x): list(self._table[x]) for x in self._table if x not in names}
        beside = Beside(others, names)
        found = _mapped(self._path, by, proba, from_logits=self._from_logits, beside=beside)
        table = self._table.copy()
        for i, name in enumerate(names):
            table[name] = found[:, i]
        return _Table(self._path, table, names, from_logits=False)

    def content(self, suffix: str) -> bytes:
        # A default index says nothing, and one without a name needs one to be read again.
        indexed = not is_default(self._table.index)
        if suffix == ".parquet":
            stream = io.BytesIO()
            self._table.to_parquet(stream, index=indexed)
            return stream.getvalue()
        _check_suffix(self._path, suffix, _TABLES)
        table = self._table.reset_index() if indexed else self._table
        return table.to_csv(sep=SEPARATORS[suffix], index=False, lineterminator="\n").encode()


class _Objects:
    def __init__(
        self,
        path: Path,
        columns: dict[str, list[Any]],
        names: Sequence[str],
        said: Sequence[str],
        from_logits: bool,
    ) -> None:
        self._path, self._columns = path, columns
        self._names, self._said, self._from_logits = list(names), said, from_logits

    def recalibrated(self, by: RecalibrationMap) -> _Objects:
        found = dict(self._columns)
        if (key := object_key(found)) is not None:
            return self._in_objects(by, key, found.pop(key))
        lists = [key for key in _SCORES if key in found and isinstance(found[key][0], list)]
        if len(lists) > 1:
            raise ValueError(f"{self._path}: lists {listed(lists)}: expected one; keep one.")
        if lists:
            (key,) = lists
            proba = np.array(found[key], dtype=np.float64)
            listing = _lists_of_words(self._path, found, by)
            own = [listing.pop(each) for each in KEYS if each in listing]
            if not (own or self._said):
                labels = [found[each] for each in LABEL_COLUMNS if each in found]
                own = [*words_of(labels[0], by.class_names).values()] if len(labels) == 1 else []
            order = _order(self._path, by, _agreed(self._path, own, self._said))
            if not own:
                _check_others(self._path, listing, by, self._said)
            is_logits = key == "logits"
            beside = Beside({k: v for k, v in found.items() if k != key}, own[0] if own else ())
            new = _mapped(
                self._path, by, proba, from_logits=is_logits, order=order, beside=beside
            ).tolist()
            found = {("probs" if each == "logits" else each): v for each, v in found.items()}
            found["probs" if key == "logits" else key] = new
        else:
            names = _class_columns(self._path, list(found), self._names, by)
            proba = np.array([found[name] for name in names], dtype=np.float64).T
            beside = Beside({k: v for k, v in found.items() if k not in names}, names)
            new = _mapped(self._path, by, proba, from_logits=self._from_logits, beside=beside)
            found |= {name: new[:, i].tolist() for i, name in enumerate(names)}
        return _Objects(self._path, found, self._names, self._said, from_logits=False)

    def _in_objects(self, by: RecalibrationMap, key: str, cells: list[Any]) -> _Objects:
        """Return the same where rows have objects of classes."""
        rest = {name: each for name, each in self._columns.items() if name != key}
        values = values_of_objects(self._path, key, cells, list(rest))
        names, is_logits = list(values), self._from_logits or key == "logits"
        flat = _Objects(self._path, rest | values, self._names, self._said, is_logits)
        found = flat.recalibrated(by)._columns
        rows = zip(*(found[name] for name in names), strict=True)
        found = rest | {"probs": [objects.Pairs(zip(names, row, strict=True)) for row in rows]}
        return _Objects(self._path, found, self._names, self._said, from_logits=False)

    def content(self, suffix: str) -> bytes:
        _check_suffix(self._path, suffix, (".jsonl",))
        rows = zip(*self._columns.values(), strict=True)
        written = (zip(self._columns, map(objects.plain, row), strict=True) for row in rows)
        return "".join(f"{json.dumps(dict(row))}\n" for row in written).encode()


class _Arrays:
    def __init__(
        self,
        path: Path,
        arrays: dict[str, npt.NDArray[Any]],
        named: dict[str, list[str]],
        said: Sequence[str],
    ) -> None:
        self._path, self._arrays, self._named, self._said = path, arrays, named, said

    def recalibrated(self, by: RecalibrationMap) -> _Arrays:
        key = _scores_of(self._path, self._arrays)
        proba = self._arrays[key]
        own = list(self._named.values())
        order = _order(self._path, by, _agreed(self._path, own, self._said))
        arrays = {each: value for each, value in self._arrays.items() if each != key}
        beside = Beside(
            {name: value.ravel().tolist() for name, value in arrays.items()}, own[0] if own else ()
        )
        is_logits = key == "logits"
        found = _mapped(self._path, by, proba, from_logits=is_logits, order=order, beside=beside)
        arrays["probs" if key == "logits" else key] = found
        return _Arrays(self._path, arrays, self._named, self._said)

    def content(self, suffix: str) -> bytes:
        _check_suffix(self._path, suffix, (".npz",))
        stream = io.BytesIO()
        np.savez_compressed(stream, **self._arrays)  # type: ignore[arg-type]
        return stream.getvalue()


def _scores_of(path: Path, arrays: dict[str, npt.NDArray[Any]]) -> str:
    """Return what the array of predictions is called, or raise."""
    scores = [key for key in _SCORES if key in arrays]
    if len(scores) != 1:
        raise ValueError(
            f"{path}: arrays {listed(list(arrays))}: expected one of {listed(_SCORES)}; keep one."
        )
    return scores[0]


class _Array:
    def __init__(
        self, path: Path, array: npt.NDArray[Any], said: Sequence[str], from_logits: bool
    ) -> None:
        self._path, self._array = path, array
        self._said, self._from_logits = said, from_logits

    def recalibrated(self, by: RecalibrationMap) -> _Array:
        order = _order(self._path, by, self._said)
        found = _mapped(self._path, by, self._array, from_logits=self._from_logits, order=order)
        return _Array(self._path, found, self._said, from_logits=False)

    def content(self, suffix: str) -> bytes:
        _check_suffix(self._path, suffix, (".npy",))
        stream = io.BytesIO()
        np.save(stream, self._array)
        return stream.getvalue()


def _agreed(path: Path, own: Sequence[Sequence[str]], said: Sequence[str]) -> Sequence[str]:
    """Return the classes that a file lists, or else those that a caller says, or raise."""
    for each in (*own[1:], *([said] if said else [])):
        if own and keys(each) != keys(own[0]):
            raise ValueError(
                f"{path}: classes {listed(each)}, and {listed(own[0])} as the file has them: "
                "expected the same in the same order; leave out those that are wrong."
            )
    return own[0] if own else said


def _lists_of_words(
    path: Path, columns: Mapping[str, list[Any]], by: RecalibrationMap
) -> dict[str, list[str]]:
    """Return lists of as many words as the map has classes that all lines have alike, or raise."""
    found = {}
    for name, (first, *others) in columns.items():
        words = isinstance(first, list) and all(isinstance(each, str) for each in first)
        if not words or len(first) != by.n_columns:
            continue
        if all(each == first for each in others):
            found[name] = first
        elif name in KEYS:
            raise ValueError(
                f"{path}: {name!r} differs from line to line: expected the classes in the order "
                "of the columns, the same in each; sort the numbers of all lines alike."
            )
    return found


def _check_others(
    path: Path, lists: Mapping[str, Sequence[str]], by: RecalibrationMap, said: Sequence[str]
) -> None:
    """Raise where lists of another name have the classes of the map in another order."""
    wanted = keys(said or by.class_names)
    for name, words in lists.items():
        own = keys(words)
        if own != wanted and sorted(own) == sorted(map(str, wanted)):
            raise ValueError(
                f"{path}: {name!r} lists the classes as {listed(words)}, and columns are read as "
                f"{listed(wanted)}: expected one of {listed(KEYS)} as its name if that is the "
                "order of the columns; rename it, or leave it out."
            )


def _mapped(
    path: Path,
    by: RecalibrationMap,
    proba: npt.NDArray[Any],
    *,
    from_logits: bool,
    order: list[int] | None = None,
    beside: Beside | None = None,
) -> Floats:
    """Return recalibrated probabilities; `order` are places of the classes of the map.

    What is `beside` them is looked at.
    """
    k = 1 if proba.ndim == 1 else proba.shape[-1]
    if proba.ndim > 2 or k != by.n_columns:
        raise ValueError(
            f"{path}: predictions of shape {proba.shape}: expected {by.n_columns} columns, as the "
            "map was fitted to; pass the same classes."
        )
    try:
        if order is None:
            found = by(proba, from_logits=from_logits)
        else:
            found = np.empty(proba.shape)
            found[:, order] = by(proba[:, order], from_logits=from_logits)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    if beside is not None:
        warn_of_derived(path, beside, proba, found, from_logits=from_logits)
    return found


def _class_columns(
    path: Path, columns: Sequence[str], names: Sequence[str], by: RecalibrationMap
) -> list[str]:
    """Return the columns of the classes of the map, in its order, or raise."""
    if not names:
        raise ValueError(
            f"{path}: columns {listed(columns)}: the map was fitted to columns without names; name "
            "the class columns in their order by classes (--class on the command line)."
        )
    if missing := [name for name in names if name not in columns]:
        raise ValueError(
            f"{path}: columns {listed(columns)}: expected {listed(missing)} too, which the map was "
            "fitted to; rename the columns, or name those of its classes by classes (--class on "
            "the command line), in the order of the map."
        )
    if len(names) != by.n_columns:
        raise ValueError(
            f"{path}: classes = {listed(names)}: expected {by.n_columns}, as the map was fitted "
            "to; name each once."
        )
    return list(names)


def _names_of_table(path: Path, said: Sequence[str], class_names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of class columns in the order of the map, as a caller may say them."""
    own, known = keys(said), keys(class_names)
    if set(own) == set(known) and len(own) == len(known):
        return tuple(said[own.index(each)] for each in known)
    if set(own) & set(known):
        raise _others(path, said, class_names)
    one = len(own) == len(known) == 1 and (
        are_opposed(known[0], own[0]) or of_class_0(known[0]) != of_class_0(own[0])
    )
    if one or (len(own) == len(known) > 1 and contradict(said, class_names)):
        raise ValueError(
            f"{path}: classes = {listed(said)}: expected the columns of {listed(class_names)}, in "
            "this order, which the map was fitted to; name them in that order, or rename columns "
            "whose names say otherwise."
        )
    return tuple(said or class_names)


def _order(path: Path, by: RecalibrationMap, names: Sequence[str]) -> list[int] | None:
    """Return where the classes of the map are among the columns of an array, or raise."""
    known = by.class_names or None
    # A temperature does to each column what it does to all others.
    if not names and known and by.functions and by.n_columns > 1 and is_shuffled(known):
        raise ValueError(
            f"{path}: columns without names: expected those of {listed(known)}, which the map was "
            "fitted to; name them in their order by classes (--class on the command line)."
        )
    if names and len(names) != by.n_columns:
        if by.class_names:
            raise _others(path, names, by.class_names)
        return None
    try:
        # Columns that had no names then stand in alphabetical order, if they have names now.
        return order_of_columns(known, names or None, words=known is None)
    except OtherColumnsError as error:
        raise _others(path, names, by.class_names) from error


def _others(path: Path, names: Sequence[str], known: Sequence[str]) -> ValueError:
    return ValueError(
        f"{path}: classes {listed(names)}: expected {listed(known)}, which the map was fitted to; "
        "name the same by classes (--class on the command line), in the order of the columns."
    )


def _check_suffix(path: Path, suffix: str, among: Sequence[str]) -> None:
    if suffix not in among:
        raise ValueError(
            f"{path}: cannot be written as {suffix or 'a file without a suffix'}: expected "
            f"{' or '.join(among)}; give the output such a name."
        )
