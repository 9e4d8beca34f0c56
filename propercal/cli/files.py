"""Predictions and labels from a file: which of its arrays or columns are what."""

from __future__ import annotations

import dataclasses
import io
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from propercal._data.holders import Held
from propercal._data.labels import read_labels
from propercal._data.reading import Names
from propercal.cli import formats
from propercal.cli.formats import SEPARATORS, Npz, listed, reason

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["PredictionFile", "read_predictions"]

_LABEL_COLUMNS = ("label", "labels")
_SCORE_KEYS = ("probs", "logits", "confidence")
_BOOLEANS = {"false": False, "true": True}
#: A whole number, without zeros that are part of a name.
_WHOLE = r"-?(?:0|[1-9]\d{0,17})(?:\.0)?"
_CALLED = Names(labels="labels", proba="the table")
#: Names of columns that number rows or say where they come from, in lower case.
_ROW_NAMES = {"id", "ids", "idx", "index", "row", "rows", "row_id", "rowid", "uid", "uuid"}
_NO_CLASSES = _ROW_NAMES | {"sample_id", "sampleid", "fold", "split"}
_FORMATS = ".npz, .npy, .csv, .tsv, .jsonl (these three also with .gz) or .parquet"
STANDARD_INPUT = Path("-")


@dataclasses.dataclass(frozen=True, slots=True)
class PredictionFile:
    """Labels and predictions as one file holds them.

    Attributes
    ----------
    path : pathlib.Path
        The file.
    y_true : numpy.ndarray
        Labels, as stored in an npz file; from a table, the position of each row's class column,
        shape (n,).
    y_proba : numpy.ndarray
        Probabilities or logits, shape (n, k), or (n,) for the positive class of a binary problem.
    from_logits : bool
        Whether `y_proba` holds logits.
    class_names : tuple of str
        Names of the class columns of a table; empty for arrays.
    sample_weight : numpy.ndarray or None
        Weights of rows, shape (n,), where a column or an array was named.
    """

    path: Path
    y_true: npt.NDArray[Any]
    y_proba: npt.NDArray[Any]
    from_logits: bool
    class_names: tuple[str, ...]
    sample_weight: npt.NDArray[Any] | None = None


def holds_arrays(path: Path) -> bool:
    """Tell whether a file of that name holds arrays rather than a table."""
    return formats.format_of(path)[0] in _ARRAYS


def read_predictions(
    path: str | os.PathLike[str],
    *,
    label_column: str | None = None,
    weight_column: str | None = None,
    drop: Sequence[str] = (),
    from_logits: bool = False,
    pos_label: str | None = None,
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
            then says whether it was. Other arrays are left unread, pickled ones refused.
        ``.npy``
            One of these arrays, which the file's name says (``test_probs.npy``); its labels are in
            the file whose name has ``labels`` in that place (``test_labels.npy``).
        ``.csv``, ``.tsv``, ``.parquet``
            A label column and one column of probabilities per class. Which class each column is
            of is decided as for tables that are passed to :func:`propercal.decompose`: by the
            names where labels have them too; labels 0 to k − 1 count columns from the left; of a
            single column by its name, `pos_label`, or labels 0 and 1 (``false`` and ``true``).
        ``.jsonl``
            One object a line: a label, and either a number per class, as columns of a table, or a
            list under ``probs`` or ``logits``.

        Tables of text may be packed (``.csv.gz``). ``-`` is a table in csv from standard input.
    label_column : str, optional
        Name of a table's label column; by default ``label`` or ``labels``.
    weight_column : str, optional
        Name of the column, or of the array of an npz file, that holds weights of rows.
    drop : sequence of str
        Columns of a table that are neither.
    from_logits : bool
        Take the columns of a table as logits. Arrays say by their name what they are.
    pos_label : str, optional
        The label that a table's only class column is the probability of.

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
    columns = _Columns(label_column, weight_column, tuple(drop), from_logits, pos_label)
    if path == STANDARD_INPUT:
        return _from_table(path, formats.read_separated(path, sys.stdin, ","), columns)
    suffix, packed = formats.format_of(path)
    if suffix not in _READERS or (packed and suffix not in _TEXT):
        raise ValueError(
            f"{path}: file type {''.join(path.suffixes[-2:]) or 'without a suffix'}: expected "
            f"{_FORMATS}; convert the file, or rename it if only its name is wrong."
        )
    # What pandas and pyarrow decode late fails here.
    with formats.damage_said(path, suffix.removeprefix(".")):
        return _READERS[suffix](path, packed, columns)


@dataclasses.dataclass(frozen=True)
class _Columns:
    """What the caller says of the columns of a table, or of the arrays of a file."""

    label: str | None
    weight: str | None
    drop: tuple[str, ...]
    from_logits: bool
    pos_label: str | None = None

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
        if self.pos_label is not None:
            raise ValueError(
                f"{path}: pos_label = {self.pos_label!r}: {path.suffix} files have no columns; "
                "store labels 0 and 1 beside the probability of 1, and leave it out."
            )
        if self.drop:
            raise ValueError(
                f"{path}: drop = {listed(self.drop)}: {path.suffix} files have no columns; "
                "leave it out."
            )

    def check_logits(self, path: Path, key: str) -> None:
        """Raise where an array is taken for what its name says that it is not."""
        if self.from_logits and key != "logits":
            raise ValueError(
                f"{path}: {key!r} with from_logits = True: expected 'logits'; rename it, or leave "
                "from_logits out."
            )


def _read_npz(path: Path, _: bool, columns: _Columns) -> PredictionFile:
    columns.check_arrays(path)
    with Npz(path) as archive:
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
        weight = columns.weight
        if weight is not None and weight not in found:
            raise ValueError(
                f"{path}: weight_column = {weight!r}: expected one of the arrays {listed(found)}."
            )
        (key,) = scores
        columns.check_logits(path, key)
        return PredictionFile(
            path=path,
            y_true=archive.array("labels"),
            y_proba=archive.array(key),
            from_logits=key == "logits",
            class_names=(),
            sample_weight=None if weight is None else archive.array(weight),
        )


def _read_npy(path: Path, _: bool, columns: _Columns) -> PredictionFile:
    columns.check_arrays(path)
    if columns.weight is not None:
        raise ValueError(
            f"{path}: weight_column = {columns.weight!r}: an npy file holds one array; save all in "
            "one npz file."
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


def _read_separated(path: Path, packed: bool, columns: _Columns) -> PredictionFile:
    separator = SEPARATORS[formats.format_of(path)[0]]
    text = io.StringIO(formats.read_text(path, packed=packed))
    return _from_table(path, formats.read_separated(path, text, separator), columns)


def _read_parquet(path: Path, _: bool, columns: _Columns) -> PredictionFile:
    return _from_table(path, formats.read_parquet(path), columns)


def _read_objects(path: Path, packed: bool, columns: _Columns) -> PredictionFile:
    import pandas as pd

    found = formats.read_objects(path, formats.read_text(path, packed=packed))
    lists = [key for key in _SCORE_KEYS if key in found and isinstance(found[key][0], list)]
    if not lists:
        return _from_table(path, pd.DataFrame(found, dtype=object), columns)
    (key, *others) = lists
    if others:
        raise ValueError(f"{path}: lists {listed(lists)}: expected one of them; keep one.")
    columns.check_logits(path, key)
    with formats.damage_said(path, "jsonl"):
        rows = [[float(value) for value in row] for row in found.pop(key)]
        if len({len(row) for row in rows}) > 1:
            raise ValueError(f"{path}: lists {key!r} of different lengths: expected one length.")
    names = [str(i) for i in range(len(rows[0]))]
    columns.check_drop(path, list(found))
    rest = pd.DataFrame(found, dtype=object)
    label = _find_label_column(path, list(found), columns.label)
    unused = [name for name in found if name not in (label, columns.weight, *columns.drop)]
    if unused:
        raise ValueError(
            f"{path}: {listed(unused)} beside the list {key!r}: expected a label and weights; name "
            "what is neither with drop (--drop on the command line)."
        )
    return PredictionFile(
        path=path,
        y_true=_codes(path, [_text(value) for value in found[label]], names, columns),
        y_proba=np.asarray(rows, dtype=np.float64),
        from_logits=key == "logits",
        class_names=(),
        sample_weight=_weights(path, rest, columns.weight),
    )


_ARRAYS = (".npz", ".npy")
_TEXT = (*SEPARATORS, ".jsonl")
_READERS: Mapping[str, Callable[[Path, bool, _Columns], PredictionFile]] = {
    ".npz": _read_npz,
    ".npy": _read_npy,
    ".parquet": _read_parquet,
    ".jsonl": _read_objects,
    **dict.fromkeys(SEPARATORS, _read_separated),
}


def _from_table(path: Path, table: pd.DataFrame, columns: _Columns) -> PredictionFile:
    names = list(table.columns)
    columns.check_drop(path, names)
    label = _find_label_column(path, names, columns.label)
    apart = (label, columns.weight, *columns.drop)
    class_names = [name for name in names if name not in apart]
    if not class_names:
        raise ValueError(
            f"{path}: columns {listed(names)}: expected one column of probabilities per class "
            f"beside the label column {label!r}; add them."
        )
    labels = [_text(value) for value in table[label]]
    _check_classes(path, class_names, labels)
    y_proba = np.column_stack([_numbers(path, table, name) for name in class_names])
    return PredictionFile(
        path=path,
        y_true=_codes(path, labels, class_names, columns),
        y_proba=y_proba,
        from_logits=columns.from_logits,
        class_names=tuple(class_names),
        sample_weight=_weights(path, table, columns.weight),
    )


def _check_classes(path: Path, class_names: Sequence[str], labels: Sequence[str]) -> None:
    """Raise where a column numbers rows rather than to be a class that occurs."""
    odd = [name for name in class_names if name.lower() in _NO_CLASSES and name not in labels]
    if odd:
        raise ValueError(
            f"{path}: column {listed(odd)}: its name says that it is no class; leave it out with "
            f"drop ({' '.join(f'--drop {name}' for name in odd)} on the command line), or rename "
            "it if it holds the probabilities of one."
        )


def _weights(
    path: Path, table: pd.DataFrame, weight_column: str | None
) -> npt.NDArray[np.float64] | None:
    if weight_column is None:
        return None
    if weight_column not in table.columns:
        raise ValueError(
            f"{path}: weight_column = {weight_column!r}: expected one of the columns "
            f"{listed(list(table.columns))}."
        )
    return _numbers(path, table, weight_column)


def _find_label_column(path: Path, columns: Sequence[str], label_column: str | None) -> str:
    wanted = _LABEL_COLUMNS if label_column is None else (label_column,)
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


def _numbers(path: Path, table: pd.DataFrame, column: str) -> npt.NDArray[np.float64]:
    # pandas gives this name to a column without a header, such as an index written along.
    if not column or column.startswith("Unnamed: "):
        raise ValueError(
            f"{path}: a column without a name: expected a label column and named class columns; "
            "name it, or write the table without its index."
        )
    values = table[column]
    try:
        return values.replace("", "nan").to_numpy(dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{path}: column {column!r} does not hold numbers ({reason(error)}): expected every "
            "column but those of labels and weights to hold the probabilities of a class; name "
            "the others with drop, label_column or weight_column (--drop, --label-column, "
            "--weight-column on the command line)."
        ) from error


def _codes(
    path: Path, labels: list[str], class_names: Sequence[str], columns: _Columns
) -> npt.NDArray[np.int64]:
    """Return the place of each row's class column, as labels beside a table of predictions have."""
    missing = [row for row, label in enumerate(labels) if not label]
    if missing:
        raise ValueError(
            f"{path}: no label in {len(missing)} row(s), the first being row {missing[0]} (counted "
            "from 0 below the header): expected a label in every row; remove those rows."
        )
    k = len(class_names)
    proba = Held(
        np.empty((0, k)),
        columns=tuple(class_names) if k > 1 else None,
        name=class_names[0] if k == 1 else None,
    )
    try:
        found = read_labels(
            _values(labels),
            max(2, k),
            proba=proba,
            pos_label=_value(columns.pos_label),
            called=_CALLED,
        )
    except ValueError as error:
        said = str(error).rpartition("; ")[0]
        raise ValueError(
            f"{path}: {said}; rename the columns, recode the labels, or name the label of a single "
            "column with pos_label (--pos-label on the command line)."
        ) from error
    assert found.codes is not None  # noqa: S101  # labels of one column
    return found.codes


def _values(labels: Sequence[str]) -> npt.NDArray[Any]:
    """Return labels as numbers or booleans where all are written so."""
    if all(label.lower() in _BOOLEANS for label in labels):
        return np.array([_BOOLEANS[label.lower()] for label in labels])
    if all(re.fullmatch(_WHOLE, label) for label in labels):
        return np.array([int(label.partition(".")[0]) for label in labels], dtype=object)
    return np.array(labels, dtype=str)


def _value(label: str | None) -> Any:
    return None if label is None else _values([label]).tolist()[0]


def _text(value: object) -> str:
    import pandas as pd

    return "" if pd.isna(value) else str(value).strip()  # type: ignore[call-overload]
