"""Read predictions and labels from a file: npz, csv or parquet."""

from __future__ import annotations

import dataclasses
import os
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from propercal.cli.output import one_line

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["PredictionFile", "read_predictions"]

_LABEL_COLUMNS = ("label", "labels")
_SCORE_KEYS = ("probs", "logits", "confidence")
_BOOLEANS = {"false": "0", "true": "1"}


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
        Names of the class columns of a table; empty for an npz file.
    """

    path: Path
    y_true: npt.NDArray[Any]
    y_proba: npt.NDArray[Any]
    from_logits: bool
    class_names: tuple[str, ...]


def read_predictions(
    path: str | os.PathLike[str], *, label_column: str | None = None
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
        ``.csv``, ``.parquet``
            A label column and one column of probabilities per class. If every label is the name
            of a class column, that is its class; otherwise labels are integers 0..k-1 that count
            the class columns from the left (``true`` and ``false`` are read as 1 and 0). A single
            class column is the probability of class 1.
    label_column : str, optional
        Name of a table's label column; by default ``label`` or ``labels``.

    Returns
    -------
    PredictionFile

    Raises
    ------
    ValueError
        If the file is of another kind, is corrupt, or does not hold what is described above. The
        message starts with the path.
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
    suffix = path.suffix.lower()
    if suffix == ".npz":
        if label_column is not None:
            raise ValueError(
                f"{path}: label_column = {label_column!r}: an npz file has no columns; store its "
                "labels under the key 'labels' and leave label_column out."
            )
        return _read_npz(path)
    if suffix == ".csv":
        return _from_table(path, _read_csv(path), label_column)
    if suffix == ".parquet":
        return _from_table(path, _read_parquet(path), label_column)
    raise ValueError(
        f"{path}: file type {suffix or 'without a suffix'}: expected .npz, .csv or .parquet; "
        "convert the file, or rename it if only its name is wrong."
    )


def _read_npz(path: Path) -> PredictionFile:
    with path.open("rb") as stream:
        if not zipfile.is_zipfile(stream):
            raise ValueError(
                f"{path}: not an npz archive: it is cut short, corrupt or of another type; write "
                "it anew with numpy.savez."
            )
        stream.seek(0)
        with np.load(stream, allow_pickle=False) as archive:
            found = archive.files
            scores = [key for key in _SCORE_KEYS if key in found]
            if "labels" not in found or not scores:
                raise ValueError(
                    f"{path}: arrays {_listed(found)}: expected 'labels' and one of "
                    f"{_listed(_SCORE_KEYS)}; rename the arrays."
                )
            if len(scores) > 1:
                raise ValueError(
                    f"{path}: arrays {_listed(found)}: expected only one of {_listed(scores)}, "
                    "since it is unclear which to use; keep one in the file."
                )
            return PredictionFile(
                path=path,
                y_true=_member(path, archive, "labels"),
                y_proba=_member(path, archive, scores[0]),
                from_logits=scores[0] == "logits",
                class_names=(),
            )


def _member(path: Path, archive: Any, key: str) -> npt.NDArray[Any]:
    try:
        array = archive[key]
    except (ValueError, EOFError, OSError, zipfile.BadZipFile, zlib.error) as error:
        if "allow_pickle" in str(error):
            raise ValueError(
                f"{path}: array {key!r} holds pickled Python objects, which are refused because "
                "unpickling can run any code; store it as a plain numeric or string array."
            ) from error
        raise ValueError(
            f"{path}: array {key!r} cannot be read ({error}): the file is corrupt; write it anew."
        ) from error
    if not isinstance(array, np.ndarray):
        raise ValueError(
            f"{path}: member {key!r} is not a NumPy array: the file was not written by "
            "numpy.savez; write it anew."
        )
    return array


def _read_csv(path: Path) -> pd.DataFrame:
    import csv

    import pandas as pd

    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            header = [name.strip() for name in next(csv.reader(stream), [])]
        # Text keeps labels as written ("01", "NA"); numbers are parsed once it is known which
        # column holds the labels.
        table = pd.read_csv(path, dtype=str, keep_default_na=False, skipinitialspace=True)
    except ValueError as error:  # pandas' parser errors and UnicodeDecodeError among them
        raise ValueError(f"{path}: not a readable csv file: {_reason(error)}.") from error
    # pandas renames the second of two equal names, and labels could not tell them apart.
    if repeated := sorted({name for name in header if name and header.count(name) > 1}):
        raise ValueError(
            f"{path}: columns {_listed(repeated)} occur more than once; give every column its own "
            "name."
        )
    if not isinstance(table.index, pd.RangeIndex):
        # pandas takes the surplus for an index, which would shift every column.
        raise ValueError(
            f"{path}: not a readable csv file: rows have more fields than the header has names; "
            "name every column, and end no row with a comma."
        )
    return table


def _read_parquet(path: Path) -> pd.DataFrame:
    try:
        import pyarrow as pa
    except ImportError as error:
        raise ImportError(
            f'{path}: reading parquet needs pyarrow: pip install "propercal[parquet]".'
        ) from error
    import pandas as pd

    try:
        return pd.read_parquet(path, engine="pyarrow")
    except pa.ArrowException as error:
        raise ValueError(f"{path}: not a readable parquet file: {_reason(error)}.") from error


def _from_table(path: Path, table: pd.DataFrame, label_column: str | None) -> PredictionFile:
    columns = [str(column).strip() for column in table.columns]
    table = table.set_axis(columns, axis="columns")
    label = _find_label_column(path, columns, label_column)
    class_names = [column for column in columns if column != label]
    if not class_names:
        raise ValueError(
            f"{path}: columns {_listed(columns)}: expected one column of probabilities per class "
            f"beside the label column {label!r}; add them."
        )
    y_proba = np.column_stack([_numbers(path, table, column) for column in class_names])
    return PredictionFile(
        path=path,
        y_true=_codes(path, [_text(value) for value in table[label]], class_names),
        y_proba=y_proba,
        from_logits=False,
        class_names=tuple(class_names),
    )


def _find_label_column(path: Path, columns: Sequence[str], label_column: str | None) -> str:
    wanted = _LABEL_COLUMNS if label_column is None else (label_column,)
    found = [column for column in columns if column in wanted]
    if len(found) == 1:
        return found[0]
    if found:
        raise ValueError(
            f"{path}: label columns {_listed(found)}: expected one; name it with label_column "
            "(--label-column on the command line) and remove the other."
        )
    raise ValueError(
        f"{path}: columns {_listed(columns)}: expected a label column named "
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
            f"{path}: column {column!r} does not hold numbers ({_reason(error)}): expected every "
            "column but the label column to hold the probabilities of a class; remove the column, "
            "or name the label column with label_column (--label-column on the command line)."
        ) from error


def _codes(path: Path, labels: list[str], class_names: Sequence[str]) -> npt.NDArray[np.int64]:
    missing = [row for row, label in enumerate(labels) if not label]
    if missing:
        raise ValueError(
            f"{path}: no label in {len(missing)} row(s), the first being row {missing[0]} (counted "
            "from 0 below the header): expected a label in every row; remove those rows."
        )
    names = {name: code for code, name in enumerate(class_names)}
    if all(label in names for label in labels):
        return np.array([names[label] for label in labels], dtype=np.int64)
    n_classes = max(2, len(class_names))
    numbers = {str(code): code for code in range(n_classes)}
    plain = [_BOOLEANS.get(label.lower(), label.removesuffix(".0")) for label in labels]
    unknown = sorted(
        {label for label, text in zip(labels, plain, strict=True) if text not in numbers}
    )
    if unknown:
        raise ValueError(
            f"{path}: labels {_listed(unknown)}: expected the name of a class column "
            f"({_listed(class_names)}) or an integer from 0 to {n_classes - 1} in every row; "
            "rename the columns or recode the labels."
        )
    return np.array([numbers[text] for text in plain], dtype=np.int64)


def _text(value: object) -> str:
    import pandas as pd

    return "" if pd.isna(value) else str(value).strip()  # type: ignore[call-overload]


def _listed(names: Sequence[object], *, most: int = 12) -> str:
    shown = ", ".join(repr(str(name)) for name in names[:most])
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{shown}{more}" if names else "none"


def _reason(error: BaseException) -> str:
    return one_line(error).rstrip(".")
