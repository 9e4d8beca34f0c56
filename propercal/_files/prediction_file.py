"""What one file of predictions holds."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from propercal._data.inputs.settings import Known

if TYPE_CHECKING:
    import pandas as pd

#: What arrays of predictions are called, and lists in objects of JSON.
SCORE_KEYS = ("probs", "logits", "confidence")
#: How far probabilities are from 0 and 1, where rounding is no reason any more.
_MOST = 0.01


def check_scores(path: Path, key: str, scores: npt.NDArray[Any]) -> None:
    """Raise where numbers under a name of probabilities are rather logits."""
    if key == "logits" or scores.dtype.kind not in "biuf" or not scores.size:
        return
    values = scores.astype(np.float64)
    odd = values[np.isfinite(values) & ~((values >= -_MOST) & (values <= 1 + _MOST))]
    # Of a few rows that are damaged, or weigh nothing, decompose says which.
    if 10 * odd.size > values.size:
        raise ValueError(
            f"{path}: {key!r} holds {odd[0]:.6g}: expected probabilities between 0 and 1; correct "
            "them, or call them 'logits' if these are logits."
        )


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
        labels count columns, or mark them, in an order that no name says, perhaps from 1.
    is_counted : bool
        Whether labels are numbers, or marks, of columns that have other names.
    subgroups : numpy.ndarray or None
        Groups of rows that are to be compared with each other, where a column or array was named.
    classes : tuple
        The classes of the columns, or of the two that a single one tells apart, as labels beside
        names say them; else empty.
    others : mapping
        Columns of a table that are left out, and that of the ids, by their names.
    in_order : bool
        Whether the columns of classes stand in an order: keys of objects in JSON have none.
    ids : numpy.ndarray or None
        What tells rows apart, as text, where a column or an array was named.
    rows : pandas.Index or None
        The index that pandas wrote along with a parquet file, but for columns that were named.
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
    rows: pd.Index[Any] | None = None
    is_counted: bool = False
    subgroups: npt.NDArray[Any] | None = None
    classes: tuple[Any, ...] = ()
    others: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    in_order: bool = True

    @property
    def names_of_labels(self) -> tuple[str, ...]:
        """The name of the column of each label; empty where that is not known."""
        return self.class_names if self.is_counted or self.labels is not None else ()


def is_listed(data: PredictionFile) -> bool:
    """Tell whether the caller alone says of which class each column is, and no name of the file."""
    return data.labels is not None and not isinstance(data.labels, Known)
