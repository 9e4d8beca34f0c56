"""What a report is asked to show: results, files, or labels with the predictions of models."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from propercal._data.inputs.lazy_tables import collected, step_in_any_order
from propercal._data.words.messages import bad_value
from propercal.inference import CalibrationTest, ModelComparison
from propercal.result import Decomposition
from propercal.subgroups import GroupDecomposition
from propercal.subgroups.membership import collected_beside

if TYPE_CHECKING:
    from propercal._files.prediction_file import PredictionFile

RESULTS = (Decomposition, GroupDecomposition, ModelComparison, CalibrationTest)
PAGES = (".html", ".htm")
#: What may be said of files too.
_OF_FILES = ("from_logits", "pos_label")
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
    columns: tuple[str, ...] = ()
    """Names of the class columns of a file, where the caller does not list the classes."""
    other_columns: tuple[tuple[str, ...], ...] = ()
    """The same of each further file."""
    are_in_order: bool = True
    """Whether these columns are no keys of objects of JSON, which have no order."""
    row_names: Any = None
    """What a file calls its rows."""
    files: tuple[FileFacts, ...] = ()
    paired_by: str = ""
    """In words, how rows of several files were paired."""
    in_any_order: bool = False
    """Whether nobody knows which rows these are, of lazy tables."""

    def computed(self) -> Data:
        """Return data with lazy tables in memory, as what is measured is to be of the same rows."""
        models = self.models.values()
        data = (self.y_true, self.groups, self.reading.get("sample_weight"), *models)
        try:
            found = collected_beside(self.subgroups, *data)
        except ValueError:
            # Of which the section of subgroups speaks, where these are what cannot be read.
            found = (self.subgroups, *collected(*data))
        subgroups, y_true, groups, sample_weight, *given = found
        return replace(
            self,
            y_true=y_true,
            models=dict(zip(self.models, given, strict=True)),
            reading={**self.reading, "sample_weight": sample_weight},
            groups=groups,
            subgroups=subgroups,
            in_any_order=step_in_any_order(self.y_true, *models) is not None,
        )

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
    id_column: str | None = None
    drop: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()


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
    _check_beside_files(reading, beside)
    from propercal._files.matching import matched, model_of
    from propercal._files.reading import holds_arrays

    several = len(paths) > 1
    known = {name: reading.get(name) for name in _OF_FILES}
    arrays = [holds_arrays(Path(path)) for path in paths]
    own: list[dict[str, Any]] = [
        {"model": model_of(Path(path)) if several else None} for path in paths
    ]
    for each, has_arrays in zip(own, arrays, strict=True):
        if has_arrays and not all(arrays):
            # It is about the tables among the files.
            each["pos_label"] = None
    read = [_read(path, known | each, columns) for path, each in zip(paths, own, strict=True)]
    first = read[0]
    found = matched(read, beside["blocks"])
    models = found.models if several else {"": next(iter(found.models.values()))}
    said = dict(found.arguments)
    groups = said.pop("groups", None)
    return Data(
        found.y_true,
        models,
        said,
        groups=groups,
        blocks=beside["blocks"],
        subgroups=first.subgroups,
        class_names=tuple(map(str, first.names_of_labels)),
        columns=() if columns.classes else tuple(map(str, first.class_names)),
        other_columns=() if columns.classes else tuple(each.class_names for each in read[1:]),
        are_in_order=all(each.in_order for each in read),
        row_names=first.ids,
        files=tuple(FileFacts(str(path), _size(path)) for path in paths),
        paired_by=found.paired_by if several else "",
    )


def _check_beside_files(reading: Mapping[str, Any], beside: Mapping[str, object]) -> None:
    """Refuse arguments that are about data in memory."""
    for name in ("groups", "subgroups"):
        if beside[name] is not None:
            raise bad_value(
                name,
                f"a {type(beside[name]).__name__} beside files",
                "the name of a column",
                "name it by group_column= or subgroup_column=",
            )
    for name, value in reading.items():
        if name not in _OF_FILES and value is not None:
            raise bad_value(
                name,
                f"a {type(value).__name__} beside files",
                "none: files say so by their columns",
                "read the files yourself, and pass labels and predictions",
            )


def _read(path: Any, known: Mapping[str, Any], columns: Columns) -> PredictionFile:
    """Return what a file holds."""
    from propercal._files.reading import holds_arrays, read_predictions
    from propercal._files.rows import check_apart

    # Arrays have names of their own.
    table = not holds_arrays(Path(path))
    found = read_predictions(
        path,
        label_column=columns.label_column if table else None,
        weight_column=columns.weight_column,
        group_column=columns.group_column,
        subgroup_column=columns.subgroup_column,
        id_column=columns.id_column,
        drop=columns.drop if table else (),
        classes=columns.classes,
        from_logits=bool(known["from_logits"]) and Path(path).suffix.lower() != ".npz",
        pos_label=known["pos_label"],
        find_id=True,
        model=known["model"],
    )
    if columns.id_column is not None and found.ids is not None:
        check_apart(found.path, found.ids.tolist(), found.groups)
    return found


def _size(path: Any) -> int | None:
    return None if str(path) == "-" else Path(path).stat().st_size
