"""The files of a command, read one by one: what fails in one is a line, and the others go on."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from propercal._data.words.messages import columns_called
from propercal.cli.output import reason

if TYPE_CHECKING:
    from propercal._files.prediction_file import PredictionFile

_Found = TypeVar("_Found")

#: What may be wrong with a file or with its data.
FAULTS = (ValueError, OSError, ImportError, MemoryError)


def read(path: Path, options: argparse.Namespace, *, find_id: bool = False) -> PredictionFile:
    """Read a file as the flags say; `find_id` looks for a column of ids where none is named.

    Files of several models, in which ids are looked for, are named after these.
    """
    from propercal._files.matching import model_of
    from propercal._files.reading import holds_arrays, read_predictions
    from propercal._files.rows import check_apart

    # Names of columns are about the tables among the files, where there are some.
    named = not holds_arrays(path) or all(map(holds_arrays, options.files))
    data = read_predictions(
        path,
        label_column=options.label_column if named else None,
        weight_column=getattr(options, "weight_column", None),
        group_column=getattr(options, "group_column", None),
        id_column=options.id_column,
        drop=options.drop if named else (),
        classes=options.classes,
        from_logits=options.from_logits and named,
        pos_label=options.pos_label if named else None,
        find_id=find_id,
        model=model_of(path) if find_id and len(options.files) > 1 else None,
    )
    if options.id_column is not None and data.ids is not None:
        check_apart(data.path, data.ids.tolist(), data.groups)
    check_order(path, data.class_names, options, in_order=data.in_order)
    return data


def check_order(
    path: Path,
    names: Sequence[str],
    options: argparse.Namespace,
    *,
    in_order: bool,
    before: Sequence[str] | None = None,
) -> None:
    """Raise where a loss asks for an order of classes that names of columns do not have.

    Those of a file `before`, if any, stand in the same order if they have the same names.
    """
    generators = getattr(options, "generator", None)
    if not generators or options.classes:
        return
    from propercal._data.predictions.notions import as_notion
    from propercal.generators import as_generator
    from propercal.generators.order import check_columns_order, check_turned

    notion = as_notion(getattr(options, "notion", None) or "canonical")
    given = generators if isinstance(generators, list) else [generators]
    chosen = [as_generator(each) for each in given]
    try:
        if before is not None:
            check_turned(before, names, chosen, notion, by="classes")
        else:
            check_columns_order(names, chosen, notion, by="classes", in_order=in_order)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def data_of(data: PredictionFile, options: argparse.Namespace) -> dict[str, Any]:
    """Return what a file says beside labels and predictions, as arguments, or raise."""
    from propercal._files.rows import check_series

    check_series(getattr(options, "blocks", None), data)
    found = {
        "from_logits": data.from_logits,
        "sample_weight": data.sample_weight,
        "groups": data.groups,
        "labels": data.labels,
        "blocks": getattr(options, "blocks", None),
    }
    return {name: value for name, value in found.items() if value is not None}


def each_file(
    options: argparse.Namespace, work: Callable[[PredictionFile], _Found]
) -> Iterator[tuple[Path, _Found | None, list[str]]]:
    """Yield each file with what `work` made of it, None where that failed, and notes."""
    check_standard_input(options)
    for path in options.files:
        notes: list[str] = []
        found = None
        try:
            with collected_warnings(notes):
                data = read(path, options)
                with columns_called(data.class_names):
                    found = work(data)
        except FAULTS as error:
            notes.append(reason(error))
        yield path, found, notes


def check_standard_input(options: argparse.Namespace) -> None:
    """Refuse to read standard input twice."""
    if options.files.count(Path("-")) > 1:
        options.refuse("argument FILE: - is standard input, which can be read once")


@contextlib.contextmanager
def collected_warnings(notes: list[str]) -> Iterator[None]:
    """Append each distinct warning to `notes` instead of printing it in Python's format."""
    developers = (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        finally:
            for warning in caught:
                note = f"warning: {warning.message}"
                if note not in notes and not issubclass(warning.category, developers):
                    notes.append(note)


def with_names(data: PredictionFile) -> PredictionFile:
    """Return the same with labels as the names of their classes, for figures to show."""
    if len(data.names_of_labels) < 2 or data.y_true.ndim != 1:
        return data
    import numpy as np

    from propercal._data.inputs.settings import Known
    from propercal._data.predictions.predictions import validate

    if data.is_counted:
        try:
            # Labels in words leave no doubt of the order of columns.
            validate(
                data.y_true,
                data.y_proba,
                from_logits=data.from_logits,
                sample_weight=data.sample_weight,
            )
        except ValueError as error:
            raise ValueError(f"{data.path}: {error}") from error
    names = np.array(data.class_names, dtype=object)
    return dataclasses.replace(data, y_true=names[data.y_true], labels=Known(data.class_names))
