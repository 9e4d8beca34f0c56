"""What a report is asked to show: results, files, or labels with the predictions of models."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from propercal._data.messages import bad_value
from propercal.inference import CalibrationTest, ModelComparison
from propercal.result import Decomposition
from propercal.subgroups import GroupDecomposition

RESULTS = (Decomposition, GroupDecomposition, ModelComparison, CalibrationTest)
PAGES = (".html", ".htm")
_EXPECTED = "labels and predictions, files of predictions, or results"
_FIX = 'call report(y_true, y_proba, path="report.html"), or pass files, or results'


class FileFacts(NamedTuple):
    """What a page says of a file."""

    name: str
    size: int | None
    """Bytes; None of standard input."""


@dataclass(frozen=True)
class Data:
    """Labels, and the predictions of one model or several for the same rows."""

    y_true: object
    models: Mapping[str, object]
    """The first is shown in detail. A single one may have no name."""
    reading: Mapping[str, Any] = field(default_factory=dict)
    """How they are to be read."""
    groups: object = None
    """Rows that depend on each other."""
    blocks: Any = None
    """The same of a series."""
    subgroups: object = None
    """Rows that are to be compared with each other."""
    class_names: tuple[str, ...] = ()
    """Of a file whose labels count its columns."""
    files: tuple[FileFacts, ...] = ()

    @property
    def first(self) -> object:
        """Predictions of the model that is shown in detail."""
        return next(iter(self.models.values()))


class Columns(NamedTuple):
    """Which columns of a file are what, as :func:`propercal.cli.files.read_predictions` takes."""

    label_column: str | None = None
    weight_column: str | None = None
    group_column: str | None = None
    subgroup_column: str | None = None
    drop: tuple[str, ...] = ()


Found = tuple[Data | None, dict[str, Any]]
"""Data, or results by their name."""


def split_path(data: tuple[object, ...], path: object) -> tuple[tuple[object, ...], Path | None]:
    """Return data and the path of the page, which may be the last of them, or raise."""
    if path is None and len(data) > 1 and is_path(data[-1]) and _is_page(data[-1]):
        *data_, path = data
        data = tuple(data_)
    if path is None:
        return data, None
    if not is_path(path) or not _is_page(path):
        raise bad_value(
            "path",
            repr(path),
            "the name of a page, which ends in .html",
            'pass path="report.html"',
        )
    return data, Path(path)  # type: ignore[arg-type]


def is_path(value: object) -> bool:
    """Tell whether a value is the name of a file."""
    return isinstance(value, str | os.PathLike)


def _is_page(value: Any) -> bool:
    return Path(value).suffix.lower() in PAGES


def read_given(
    data: tuple[object, ...], reading: Mapping[str, Any], columns: Columns, **beside: object
) -> Found:
    """Return data or results from positional arguments, or raise."""
    if not data or (data[0] is None):
        raise bad_value("data", "nothing" if not data else "None", _EXPECTED, _FIX)
    first, *others = data
    named = results_of(first)
    if named is not None and not others:
        return None, named
    if _are_files(first) and all(is_path(each) for each in others):
        paths = [first] if is_path(first) else list(first)  # type: ignore[call-overload]
        return read_files([*paths, *others], reading, columns, **beside), {}
    if len(data) != 2:
        found = f"{len(data)} of them, the first a {type(first).__name__}"
        raise bad_value("data", found, _EXPECTED, _FIX)
    models: Any = others[0]
    named_models = _named(models) if _is_several(models) else {"": models}
    return Data(first, named_models, dict(reading), **beside), {}  # type: ignore[arg-type]


def results_of(given: object) -> dict[str, Any] | None:
    """Return results by their name; None if they are none."""
    if isinstance(given, RESULTS):
        return {"": given}
    if isinstance(given, Mapping) and given and _all_results(given.values()):
        return {str(name): each for name, each in given.items()}
    if isinstance(given, list | tuple) and given and _all_results(given):
        return {"" if len(given) == 1 else f"result {i + 1}": each for i, each in enumerate(given)}
    return None


def _all_results(values: Any) -> bool:
    return all(isinstance(each, RESULTS) for each in values)


def _are_files(first: object) -> bool:
    several = isinstance(first, list | tuple) and len(first) > 0 and all(map(is_path, first))
    return is_path(first) or (several and _look_like_files(first))


def _look_like_files(names: Any) -> bool:
    """Tell file names from labels that are words."""
    return all(str(name) == "-" or Path(name).suffix != "" for name in names)


def _is_several(models: object) -> bool:
    """Tell predictions by the name of the model from those of one."""
    if isinstance(models, Mapping):
        return not hasattr(type(models), "iloc")
    pairs = isinstance(models, list | tuple) and len(models) > 0
    return pairs and all(
        isinstance(each, tuple) and len(each) == 2 and isinstance(each[0], str)
        for each in models  # type: ignore[attr-defined]
    )


def _named(models: Any) -> dict[str, object]:
    pairs = list(models.items()) if isinstance(models, Mapping) else list(models)
    names = [name for name, _ in pairs]
    if not pairs or not all(isinstance(name, str) and name for name in names):
        raise bad_value(
            "models", f"the names {names!r}", "a name for each, in words", 'pass {"a": p_a}'
        )
    if len(set(names)) < len(names):
        raise bad_value("models", f"the names {names!r}", "each once", "rename one of them")
    return dict(pairs)


def read_files(
    paths: Sequence[Any], reading: Mapping[str, Any], columns: Columns, **beside: object
) -> Data:
    """Return what files hold, each of the predictions of one model for the same rows."""
    given = [name for name, value in beside.items() if value is not None]
    if given:
        raise bad_value(
            given[0],
            f"a {type(beside[given[0]]).__name__} beside files",
            "the name of a column",
            "name it by group_column= or subgroup_column=",
        )
    known = {name: reading[name] for name in ("from_logits", "pos_label") if reading.get(name)}
    unknown = [
        name for name, value in reading.items() if value not in (None, False) and name not in known
    ]
    if unknown:
        raise bad_value(
            unknown[0],
            "given beside files",
            "settings of files alone: from_logits, pos_label and names of columns",
            "read the files yourself, and pass labels and predictions",
        )
    read = [_read(path, known, columns) for path in paths]
    first, subgroups = read[0]
    for path, (each, others) in zip(paths[1:], read[1:], strict=True):
        _check_same_rows(path, (first, subgroups), (each, others), paths[0])
    names = _names_of(paths)
    settings = {
        "from_logits": first.from_logits,
        "sample_weight": first.sample_weight,
        "labels": first.labels,
    }
    return Data(
        first.y_true,
        {name: each.y_proba for name, (each, _) in zip(names, read, strict=True)},
        settings,
        first.groups,
        None,
        subgroups,
        tuple(map(str, first.class_names)) if first.labels is not None else (),
        tuple(FileFacts(str(path), _size(path)) for path in paths),
    )


def _read(path: Any, known: Mapping[str, Any], columns: Columns) -> tuple[Any, Any]:
    """Return what a file holds, and the subgroup of each row."""
    # Readers of files are the command line's, which stands above this.
    files = import_module("propercal.cli.files")
    settings: dict[str, Any] = {
        "label_column": columns.label_column,
        "weight_column": columns.weight_column,
        **known,
    }
    group, subgroup, drop = columns.group_column, columns.subgroup_column, list(columns.drop)
    if subgroup is None or group is None:
        found = files.read_predictions(path, group_column=group or subgroup, drop=drop, **settings)
        return (found, None) if subgroup is None else (_without_groups(found), found.groups)
    if str(path) == "-":
        raise bad_value(
            "subgroup_column",
            f"{subgroup!r} beside group_column on standard input",
            "one of the two",
            "write the table to a file first",
        )
    beside = [] if files.holds_arrays(Path(path)) else [subgroup]
    found = files.read_predictions(path, group_column=group, drop=[*drop, *beside], **settings)
    beside = [] if files.holds_arrays(Path(path)) else [group]
    again = files.read_predictions(path, group_column=subgroup, drop=[*drop, *beside], **settings)
    return found, again.groups


def _without_groups(found: Any) -> Any:
    from dataclasses import replace

    return replace(found, groups=None)


def _check_same_rows(path: Any, one: tuple[Any, Any], other: tuple[Any, Any], of: Any) -> None:
    """Refuse files whose rows cannot be the same."""
    (a, groups_a), (b, groups_b) = one, other
    parts = {
        "labels": (a.y_true, b.y_true),
        "weights": (a.sample_weight, b.sample_weight),
        "groups": (a.groups, b.groups),
        "subgroups": (groups_a, groups_b),
    }
    for what, (x, y) in parts.items():
        if not _same(x, y):
            raise bad_value(
                "files",
                f"{path}, whose {what} are not those of {of}, row by row",
                "predictions of several models for the same rows, in the same order",
                "bring the rows into one order, or make a report of each file",
            )
    for what, (x, y) in {
        "classes": (a.class_names, b.class_names),
        "kind of predictions (probabilities or logits)": (a.from_logits, b.from_logits),
    }.items():
        if x != y:
            raise bad_value(
                "files", f"{path}, whose {what} are not those of {of}", "one for all", "convert it"
            )


def _same(x: Any, y: Any) -> bool:
    if x is None or y is None:
        return x is y
    x, y = np.asarray(x), np.asarray(y)
    return x.shape == y.shape and bool((x == y).all())


def _names_of(paths: Sequence[Any]) -> list[str]:
    """Return a name for each file: without its folder, where that is enough."""
    if len(paths) == 1:
        return [""]
    short = [Path(path).name for path in paths]
    names = short if len(set(short)) == len(short) else [str(path) for path in paths]
    if len(set(names)) < len(names):
        raise bad_value("files", repr(names), "each file once", "leave the others out")
    return names


def _size(path: Any) -> int | None:
    return None if str(path) == "-" else Path(path).stat().st_size
