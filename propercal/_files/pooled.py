"""Rows of several models, epochs or splits in one file, which a column says that is left out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from propercal._data.words.messages import warn
from propercal._files.left_out import left_out
from propercal._files.names import listed
from propercal._files.prediction_file import PredictionFile
from propercal._files.values import text_of

#: Names of what rows that are measured together share. Predictions of folds are usually pooled.
_SHARED = {
    *("split", "subset", "partition", "model", "model_name", "model_id", "epoch", "checkpoint"),
    *("run", "run_id", "seed"),
}


def warn_of_file(data: PredictionFile) -> None:
    """Say which columns of a file, that are left out, say that rows are of several kinds."""
    with left_out(data) as columns:
        warn_of_pooled(data.path, {name: columns[name]() for name in columns if is_shared(name)})


def is_shared(name: str) -> bool:
    """Tell whether a name is of what rows that are measured together share."""
    return name.strip().lower() in _SHARED


def warn_of_pooled(path: Path, columns: Mapping[str, Any]) -> None:
    """Say which of these columns have several values, of which each has several rows."""
    for name, values in columns.items():
        texts = [text_of(each) for each in values] if is_shared(name) else []
        different = sorted({each for each in texts if each})
        if len(different) > 1 and 2 * len(different) <= len(texts):
            warn(
                f"{path}: rows of several values of {name!r}, {listed(different, most=3)}, which "
                "is left out, are taken together: keep those of one of them in the file, or "
                "remove that column if they belong together."
            )
