"""Predictions and labels from a file, whatever its format."""

from __future__ import annotations

import dataclasses
import io
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from propercal.cli import formats
from propercal.cli.class_names import Read, in_order_of_names
from propercal.cli.columns import (
    Columns,
    check_categories,
    check_classes,
    codes_of,
    find_label_column,
    groups_of,
    ids_of,
    numbers_of,
    text_of,
    weights_of,
)
from propercal.cli.formats import SEPARATORS, Npz, listed
from propercal.cli.standard_input import STANDARD_INPUT, read_standard_input

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["PredictionFile", "read_predictions"]

_SCORE_KEYS = ("probs", "logits", "confidence")
_FORMATS = ".npz, .npy, .csv, .tsv, .jsonl (these three also with .gz) or .parquet"


@dataclasses.dataclass(frozen=True, slots=True)
class PredictionFile:
    """Labels and predictions as one file holds them.

    Attributes
    ----------
    path : pathlib.Path
        The file.
    y_true : numpy.ndarray
        Labels, as stored in an npz file; from a table, or where the file names its classes, the
        position of each row's class column, shape (n,).
    y_proba : numpy.ndarray
        Probabilities or logits, shape (n, k), or (n,) for the positive class of a binary problem.
    from_logits : bool
        Whether `y_proba` holds logits.
    class_names : tuple of str
        Names of the class columns of a table, or as an npz file has them; else empty.
    sample_weight : numpy.ndarray or None
        Weights of rows, shape (n,), where a column or an array was named.
    groups : numpy.ndarray or None
        Groups of rows, the same.
    labels : tuple or None
        0 to k − 1, to be passed on, where the file says of which column each label is; None where
        labels count columns, perhaps from 1.
    ids : numpy.ndarray or None
        What tells rows apart, as text, where a column or an array was named.
    """

    path: Path
    y_true: npt.NDArray[Any]
    y_proba: npt.NDArray[Any]
    from_logits: bool
    class_names: tuple[str, ...]
    sample_weight: npt.NDArray[Any] | None = None
    groups: npt.NDArray[Any] | None = None
    labels: tuple[Any, ...] | None = None
    ids: npt.NDArray[Any] | None = None


def holds_arrays(path: Path) -> bool:
    """Tell whether a file of that name holds arrays rather than a table."""
    return formats.format_of(path)[0] in _ARRAYS


def read_predictions(
    path: str | os.PathLike[str],
    *,
    label_column: str | None = None,
    weight_column: str | None = None,
    group_column: str | None = None,
    id_column: str | None = None,
    drop: Sequence[str] = (),
    classes: Sequence[str] = (),
    from_logits: bool = False,
    pos_label: str | None = None,
    find_id: bool = False,
) -> PredictionFile:
    r"""Read labels and predictions from a file.

    The values themselves (range, sum to one, missing ones) are checked where they are used, by
    `propercal.decompose`.

    Parameters
    ----------
    path : str or path-like
        ``.npz``
            The array ``labels``, and one of ``probs`` (n, k), ``logits`` (n, k) or ``confidence``
            (n,). The last is the probability that the predicted class is right, and ``labels``
            then says whether it was. The names of classes, in the order of columns, may be in
            ``classes``, ``class_names``, ``label_names``, ``target_names`` or ``names``. Other
            arrays are left out, unless they list the labels in another order than is read: then
            they are refused, as pickled ones are.
        ``.npy``
            One of these arrays, which the file's name says (``test_probs.npy``); its labels are in
            the file whose name has ``labels`` in that place (``test_labels.npy``).
        ``.csv``, ``.tsv``, ``.parquet``
            A label column and one column of probabilities per class. Which class each column is
            of is decided as for tables that are passed to :func:`propercal.decompose`: by the
            names where labels have them too; labels 0 to k − 1 count columns from the left; of a
            single column by its name, `pos_label`, or labels 0 and 1 (``false`` and ``true``).
        ``.jsonl``
            One object a line: a label, and either a number per class, as columns of a table in no
            order, or a list under ``probs`` or ``logits``.

        Tables of text may be packed (``.csv.gz``). ``-`` is standard input: csv, tsv, jsonl or
        npz, as its first bytes say, perhaps packed.
    label_column : str, optional
        Name of a table's label column; by default ``label`` or ``labels``.
    weight_column : str, optional
        Name of the column, or of the array of an npz file, that holds weights of rows.
    group_column : str, optional
        The same for groups of rows that may depend on each other.
    id_column : str, optional
        The same for what tells rows apart.
    drop : sequence of str
        Columns of a table that are none of these.
    classes : sequence of str
        The class columns of a table, in their order; other columns are then left out. Of arrays
        without names, the class of each column.
    from_logits : bool
        Take the columns of a table as logits. Arrays say by their name what they are.
    pos_label : str, optional
        The label that a table's only class column is the probability of.
    find_id : bool
        Take a column called ``id``, ``row_id``, ``sample_id``, ``example_id``, ``uid`` or ``uuid``
        for `id_column`, where none is named.

    Returns
    -------
    PredictionFile

    Raises
    ------
    ValueError
        If the file is of another kind, is no regular file, holds more than 4 GiB, is corrupt, or
        does not hold what is described above. The message starts with the path.
    OSError
        If the file cannot be opened.
    ImportError
        If the file is a parquet file and pyarrow is not installed.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "weather.csv")
    ...     text = "dry,wet,label\n0.9,0.1,dry\n0.3,0.7,wet\n0.6,0.4,wet\n"
    ...     _ = path.write_text(text)
    ...     weather = read_predictions(path)
    >>> weather.y_true
    array([0, 1, 1])
    >>> weather.class_names
    ('dry', 'wet')
    """
    path = Path(path)
    columns = Columns(
        label_column,
        weight_column,
        tuple(drop),
        from_logits,
        pos_label,
        group_column,
        id_column,
        tuple(classes),
        find_id,
    )
    if path == STANDARD_INPUT:
        return _from_standard_input(path, columns)
    suffix, packed = formats.format_of(path)
    if suffix not in _READERS or (packed and suffix not in _TEXT):
        raise ValueError(
            f"{path}: file type {''.join(path.suffixes[-2:]) or 'without a suffix'}: expected "
            f"{_FORMATS}; convert the file, or rename it if only its name is wrong."
        )
    # What pandas and pyarrow decode late fails here.
    with formats.damage_said(path, suffix.removeprefix(".")):
        return _READERS[suffix](path, packed, columns)


def _from_standard_input(path: Path, columns: Columns) -> PredictionFile:
    suffix, content = read_standard_input(path)
    if suffix == ".npz":
        return _of_npz(path, columns, content)
    text = content.decode("utf-8-sig")
    with formats.damage_said(path, suffix.removeprefix(".")):
        if suffix == ".jsonl":
            return _of_objects(path, text, columns)
        table = formats.read_separated(path, io.StringIO(text), SEPARATORS[suffix])
        return _from_table(path, table, columns)


def _read_npz(path: Path, _: bool, columns: Columns) -> PredictionFile:
    return _of_npz(path, columns)


def _of_npz(path: Path, columns: Columns, content: bytes | None = None) -> PredictionFile:
    columns.check_arrays(path)
    with Npz(path, content) as archive:
        found = archive.names
        scores = [key for key in _SCORE_KEYS if key in found]
        if "labels" not in found or not scores:
            raise ValueError(
                f"{path}: arrays {listed(found)}: expected 'labels' and one of "
                f"{listed(_SCORE_KEYS)}; rename the arrays."
            )
        if len(scores) > 1:
            raise ValueError(
                f"{path}: arrays {listed(found)}: expected only one of {listed(scores)}, "
                "since it is unclear which to use; keep one in the file."
            )
        beside = {
            "weight_column": columns.weight,
            "group_column": columns.group,
            "id_column": columns.id,
        }
        for argument, name in beside.items():
            if name is not None and name not in found:
                raise ValueError(
                    f"{path}: {argument} = {name!r}: expected one of the arrays {listed(found)}."
                )
        weight, group, _ = beside.values()
        own = columns.id_among(found)
        (key,) = scores
        columns.check_logits(path, key)
        y_true, y_proba = archive.array("labels"), archive.array(key)
        read = Read(y_true)
        if key != "confidence":
            apart = ["labels", key, *(each for each in (weight, group, own) if each is not None)]
            read = in_order_of_names(archive, y_true, y_proba, apart, columns.classes)
        return PredictionFile(
            path=path,
            y_true=read.labels,
            y_proba=y_proba,
            from_logits=key == "logits",
            class_names=read.names,
            sample_weight=None if weight is None else archive.array(weight),
            groups=None if group is None else archive.array(group),
            labels=tuple(range(len(read.names))) if read.known and len(read.names) > 1 else None,
            ids=None if own is None else archive.array(own).astype(str).astype(object),
        )


def _read_npy(path: Path, _: bool, columns: Columns) -> PredictionFile:
    columns.check_arrays(path)
    for argument, name in (
        ("weight_column", columns.weight),
        ("group_column", columns.group),
        ("id_column", columns.id),
        ("classes", ", ".join(columns.classes) or None),
    ):
        if name is not None:
            raise ValueError(
                f"{path}: {argument} = {name!r}: an npy file holds one array; save all in one npz "
                "file."
            )
    key, labels = formats.beside(path, _SCORE_KEYS)
    columns.check_logits(path, key)
    return PredictionFile(
        path=path,
        y_true=formats.read_npy(labels),
        y_proba=formats.read_npy(path),
        from_logits=key == "logits",
        class_names=(),
    )


def _read_separated(path: Path, packed: bool, columns: Columns) -> PredictionFile:
    separator = SEPARATORS[formats.format_of(path)[0]]
    text = io.StringIO(formats.read_text(path, packed=packed))
    return _from_table(path, formats.read_separated(path, text, separator), columns)


def _read_parquet(path: Path, _: bool, columns: Columns) -> PredictionFile:
    table, lost = formats.read_parquet(path)
    return _from_table(path, table, columns, lost=lost)


def _read_objects(path: Path, packed: bool, columns: Columns) -> PredictionFile:
    return _of_objects(path, formats.read_text(path, packed=packed), columns)


def _of_objects(path: Path, text: str, columns: Columns) -> PredictionFile:
    import pandas as pd

    found = formats.read_objects(path, text)
    lists = [key for key in _SCORE_KEYS if key in found and isinstance(found[key][0], list)]
    if not lists:
        return _from_table(path, pd.DataFrame(found, dtype=object), columns, in_order=False)
    (key, *others) = lists
    if others:
        raise ValueError(f"{path}: lists {listed(lists)}: expected one of them; keep one.")
    columns.check_logits(path, key)
    odd = next((i for i, row in enumerate(found[key]) if not isinstance(row, list)), None)
    if odd is not None:
        # Each sign of a text may be a number.
        raise ValueError(f"{path}: {found[key][odd]!r} as {key!r} of row {odd}: expected a list.")
    # Of an object within an object the pairs are kept.
    if any(isinstance(each, tuple) for row in found[key] if isinstance(row, list) for each in row):
        raise ValueError(
            f"{path}: {key!r} holds objects: expected lists of numbers; write the classes beside "
            'the label instead, {"label": "A", "A": 0.7, "B": 0.3}.'
        )
    with formats.damage_said(path, "jsonl"):
        rows = [[float(value) for value in row] for row in found.pop(key)]
        if len({len(row) for row in rows}) > 1:
            raise ValueError(f"{path}: lists {key!r} of different lengths: expected one length.")
    names = _names_of_list(path, key, len(rows[0]), columns)
    is_named = bool(columns.classes)
    columns.check_drop(path, list(found))
    columns = dataclasses.replace(columns, classes=())
    columns.check_named(path, list(found))
    rest = pd.DataFrame(found, dtype=object)
    label = find_label_column(path, list(found), columns.label)
    own = columns.id_among(list(found))
    apart = (label, columns.weight, columns.group, own, *columns.drop)
    unused = [name for name in found if name not in apart]
    if unused:
        raise ValueError(
            f"{path}: {listed(unused)} beside the list {key!r}: expected a label, weights and "
            "groups; name what is none of these with drop (--drop on the command line)."
        )
    labels = [text_of(value) for value in rest[label]]
    # Columns of lists have no names of their own.
    codes, known = codes_of(path, labels, names, columns, column=rest[label])
    return PredictionFile(
        path=path,
        y_true=codes,
        y_proba=np.asarray(rows, dtype=np.float64),
        from_logits=key == "logits",
        class_names=tuple(names) if is_named else (),
        sample_weight=weights_of(path, rest, columns.weight),
        groups=groups_of(path, rest, columns.group),
        labels=tuple(range(len(names))) if is_named and known and len(names) > 1 else None,
        ids=ids_of(path, rest, own),
    )


_ARRAYS = (".npz", ".npy")
_TEXT = (*SEPARATORS, ".jsonl")
_READERS: Mapping[str, Callable[[Path, bool, Columns], PredictionFile]] = {
    ".npz": _read_npz,
    ".npy": _read_npy,
    ".parquet": _read_parquet,
    ".jsonl": _read_objects,
    **dict.fromkeys(SEPARATORS, _read_separated),
}


def _from_table(
    path: Path,
    table: pd.DataFrame,
    columns: Columns,
    *,
    in_order: bool = True,
    lost: Collection[str] = (),
) -> PredictionFile:
    """Read a table; `lost` are columns whose categories the file has not kept."""
    names = list(table.columns)
    columns.check_drop(path, names)
    columns.check_named(path, names)
    label = find_label_column(path, names, columns.label)
    own = columns.id_among(names)
    apart = (label, columns.weight, columns.group, own, *columns.drop)
    class_names = list(columns.classes) or [name for name in names if name not in apart]
    if not class_names:
        raise ValueError(
            f"{path}: columns {listed(names)}: expected one column of probabilities per class "
            f"beside the label column {label!r}; add them."
        )
    labels = [text_of(value) for value in table[label]]
    check_classes(path, class_names, labels)
    y_proba = np.column_stack([numbers_of(path, table, name) for name in class_names])
    if label in lost:
        check_categories(path, label, labels, class_names)
    codes, known = codes_of(
        path, labels, class_names, columns, column=table[label], in_order=in_order
    )
    return PredictionFile(
        path=path,
        y_true=codes,
        y_proba=y_proba,
        from_logits=columns.from_logits,
        class_names=tuple(class_names),
        sample_weight=weights_of(path, table, columns.weight),
        groups=groups_of(path, table, columns.group),
        labels=tuple(range(len(class_names))) if known and len(class_names) > 1 else None,
        ids=ids_of(path, table, own),
    )


def _names_of_list(path: Path, key: str, k: int, columns: Columns) -> list[str]:
    """Return names of the numbers of a list in JSON: numbers, unless classes were named."""
    names = list(columns.classes)
    if names and len(names) != k:
        raise ValueError(
            f"{path}: classes = {listed(names)}: expected {k}, one for each number of the lists "
            f"{key!r}; name each once."
        )
    return names or [str(i) for i in range(k)]
