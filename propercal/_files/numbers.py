"""Numbers in columns of a table: probabilities, logits and weights, as files write them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from propercal._data.words.advice import known_of
from propercal._files.names import listed, reason
from propercal._files.values import BOOLEANS, text_of

if TYPE_CHECKING:
    import pandas as pd

_POINTED = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
#: The same with commas, or as percent.
_OTHERWISE = r"[-+]?[\d.]*(?:,[\d.]+)+(?:[eE][-+]?\d+)?|[-+]?[\d.,]+ ?%"
_POINTS = "numbers such as 0.5; write a point for the comma, and no percent (0.5, not 50 %)."


def numbers_of(
    path: Path, table: pd.DataFrame, column: str, expected: str | None = None
) -> npt.NDArray[np.float64]:
    """Return a column of numbers, or raise."""
    # pandas gives this name to a column without a header, such as an index written along.
    if not column or column.startswith("Unnamed: "):
        raise ValueError(
            f"{path}: a column without a name: expected a label column and named class columns; "
            "name it, or write the table without its index."
        )
    values = table[column]
    if any(isinstance(each, np.ndarray | Mapping) for each in values):
        raise ValueError(
            f"{path}: column {column!r} does not hold numbers (it has lists): expected a number in "
            "each row; write a column for each class."
        )
    if any(isinstance(each, list) for each in values):
        raise ValueError(
            f"{path}: column {column!r} does not hold numbers (it has lists): expected lists, "
            "or objects, under 'probs' or 'logits', or a number for each class; rename it, or "
            'write one number a class, {"label": "A", "A": 0.7, "B": 0.3}.'
        )
    try:
        return values.replace("", "nan").to_numpy(dtype=np.float64)
    except (TypeError, ValueError) as error:
        written = _otherwise_written(values)
        raise ValueError(
            f"{path}: column {column!r} does not hold numbers ({written or reason(error)}): "
            f"expected {_POINTS if written else expected or _of_classes()}"
        ) from error


def weights_of(
    path: Path, table: pd.DataFrame, weight_column: str | None
) -> npt.NDArray[np.float64] | None:
    """Return the weights of rows, None where no column has them."""
    if weight_column is None:
        return None
    if weight_column not in table.columns:
        raise ValueError(
            f"{path}: weight_column = {weight_column!r}: expected one of the columns "
            f"{listed(list(table.columns))}."
        )
    expected = "a number of 0 or more in each row, or True and False (1 and 0); correct it."
    numbers = _booleans_as_numbers(table, weight_column)
    return numbers_of(path, numbers, weight_column, expected)


def _booleans_as_numbers(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return a table where a column of text that is true or false in each row is 1 or 0.

    Booleans of parquet, JSON and arrays are these numbers too.
    """
    values = [BOOLEANS.get(text_of(each).lower()) for each in table[column]]
    if None in values:
        return table
    return table.assign(**{column: np.array(values, dtype=np.float64)})


def _otherwise_written(values: pd.Series[Any]) -> str | None:
    """Return what is said of numbers that are written with commas or as percent, if they are."""
    filled = [text for text in map(text_of, values) if text]
    odd = [text for text in filled if not re.fullmatch(_POINTED, text)]
    if not odd or not all(re.fullmatch(_OTHERWISE, text) for text in odd):
        return None
    return f"{odd[0]!r}, which has {'a percent sign' if '%' in odd[0] else 'a comma'}"


def _of_classes() -> str:
    """Return what columns should hold, and what names the others where the command has it."""
    others = known_of("drop", "id_column", "label_column", "weight_column", "group_column")
    return (
        "every column but those of labels, weights and groups to hold the probabilities of a "
        "class; name these with classes (--class on the command line), or the others with "
        f"{' or '.join(others)} ({', '.join(map(_flag, others))} on the command line)."
    )


def _flag(argument: str) -> str:
    return f"--{argument.replace('_', '-')}"
