"""Predictions and labels from a file, whatever its format."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from propercal._files import formats, pooled, predicted
from propercal._files.arrays import of_npy, of_npz
from propercal._files.columns import Columns
from propercal._files.formats import SEPARATORS
from propercal._files.prediction_file import PredictionFile
from propercal._files.standard_input import STANDARD_INPUT, read_standard_input
from propercal._files.tables import of_objects, of_table

_FORMATS = ".npz, .npy, .csv, .tsv, .jsonl (these three also with .gz) or .parquet"


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
    model: str | None = None,
    subgroup_column: str | None = None,
) -> PredictionFile:
    r"""Read labels and predictions from a file.

    The values themselves (range, sum to one, missing ones) are checked where they are used, by
    :func:`propercal.decompose`.

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
            order, or, under ``probs`` or ``logits``, an object of these, or a list, whose classes a
            list under ``classes`` (or another of the names above) may say.

        Tables of text may be packed (``.csv.gz``). ``-`` is standard input: csv, tsv, jsonl or
        npz, as its first bytes say, perhaps packed.
    label_column : str, optional
        Name of a table's label column; by default ``label`` or ``labels``.
    weight_column : str, optional
        Name of the column, or of the array of an npz file, that holds weights of rows.
    group_column : str, optional
        The same for groups of rows that may depend on each other.
    id_column : str, optional
        The same for what tells rows apart. Levels of the index that pandas wrote into a parquet
        file may be named here, and as other columns, too.
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
    model : str, optional
        The name of the model whose predictions these are, which its only class column may have too.
    subgroup_column : str, optional
        Name of the column, or of the array of an npz file, of groups of rows to compare.

    Returns
    -------
    PredictionFile

    Raises
    ------
    ValueError
        If predicted classes, or lists of classes, that are left out contradict how it is read; if
        the file is of another kind, is no regular file, holds more than 4 GiB, is corrupt, or
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
    data = _read_file(
        Path(path),
        Columns(
            label_column,
            weight_column,
            tuple(drop),
            from_logits,
            pos_label,
            group_column,
            id_column,
            tuple(classes),
            find_id,
            model,
            subgroup_column,
        ),
    )
    predicted.check_file(data)
    pooled.warn_of_file(data)
    return data


def _read_file(path: Path, columns: Columns) -> PredictionFile:
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
        return of_npz(path, columns, content)
    with formats.damage_said(path, suffix.removeprefix(".")):
        text = content.decode("utf-8-sig")
        if suffix == ".jsonl":
            return of_objects(path, text, columns)
        table = formats.read_separated(path, io.StringIO(text), SEPARATORS[suffix])
        return of_table(path, table, columns)


def _read_npz(path: Path, _: bool, columns: Columns) -> PredictionFile:
    return of_npz(path, columns)


def _read_npy(path: Path, _: bool, columns: Columns) -> PredictionFile:
    return of_npy(path, columns)


def _read_separated(path: Path, packed: bool, columns: Columns) -> PredictionFile:
    separator = SEPARATORS[formats.format_of(path)[0]]
    text = io.StringIO(formats.read_text(path, packed=packed))
    return of_table(path, formats.read_separated(path, text, separator), columns)


def _read_parquet(path: Path, _: bool, columns: Columns) -> PredictionFile:
    found = formats.read_parquet(path)
    return of_table(path, found.table, columns, lost=found.lost, indexed=found.indexed)


def _read_objects(path: Path, packed: bool, columns: Columns) -> PredictionFile:
    return of_objects(path, formats.read_text(path, packed=packed), columns)


_ARRAYS = (".npz", ".npy")
_TEXT = (*SEPARATORS, ".jsonl")
_READERS: Mapping[str, Callable[[Path, bool, Columns], PredictionFile]] = {
    ".npz": _read_npz,
    ".npy": _read_npy,
    ".parquet": _read_parquet,
    ".jsonl": _read_objects,
    **dict.fromkeys(SEPARATORS, _read_separated),
}
