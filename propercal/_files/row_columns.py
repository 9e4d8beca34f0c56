"""Columns that say which row each is, and of which group."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from propercal._data.rows.indexes import row_key
from propercal._files.names import listed
from propercal._files.values import text_of, texts_of

if TYPE_CHECKING:
    import pandas as pd

#: A number as floating point is written.
_FLOATING = re.compile(r"[-+]?\d+\.\d*(?:[eE][-+]?\d+)?|[-+]?\d+[eE][-+]?\d+")


def groups_of(
    path: Path, table: pd.DataFrame, column: str | None, argument: str = "group_column"
) -> npt.NDArray[Any] | None:
    """Return the groups of rows as text, None for a missing one; None where no column has them."""
    if column is None:
        return None
    if column not in table.columns:
        raise ValueError(
            f"{path}: {argument} = {column!r}: expected one of the columns "
            f"{listed(list(table.columns))}."
        )
    texts = texts_of(path, column, table[column])
    _check_exact(path, texts, table[column].dtype, argument, column)
    return np.array([text or None for text in texts], dtype=object)


def _check_exact(path: Path, texts: Sequence[str], dtype: Any, argument: str, column: str) -> None:
    """Raise where groups were numbers in floating point that has not all whole numbers so large.

    So were those in text that have a fraction or an exponent.
    """
    floating = isinstance(dtype, np.dtype) and dtype.kind == "f"
    most = 2.0 ** (np.finfo(dtype).nmant + 1) if floating else 2.0**53
    odd = (x for x in texts if x and (floating or _FLOATING.fullmatch(x)) and abs(float(x)) >= most)
    found = next(odd, None)
    if found is not None:
        raise ValueError(
            f"{path}: {argument} = {column!r}, in which a group is {found}: expected numbers below "
            f"{most:.0f}, as floating point has not all that are larger; write them as integers or "
            "as text, so that different ones stay apart."
        )


def ids_of(path: Path, table: pd.DataFrame, column: str | None) -> npt.NDArray[Any] | None:
    """Return what tells rows apart as text; None where no column does."""
    if column is None:
        return None
    ids = texts_of(path, column, table[column])
    missing = [row for row, each in enumerate(ids) if not each]
    if missing:
        raise ValueError(
            f"{path}: column {column!r} has no value in row {missing[0]}: expected one in each "
            "row; fill it in, or leave id_column out."
        )
    return np.array(ids, dtype=object)


def agree(mine: npt.NDArray[Any], its: npt.NDArray[Any]) -> bool:
    """Tell whether two files say the same of rows: names of groups, or numbers in any precision."""
    if mine.shape != its.shape:
        return False
    if all(each.dtype.kind in "biuf" for each in (mine, its)):
        # One may be of single precision, and written so.
        return bool(np.allclose(mine, its, rtol=2.0**-23, atol=0.0, equal_nan=True))
    return row_names(mine) == row_names(its)


def row_names(values: npt.NDArray[Any]) -> list[Any]:
    """Return what equal names of groups have in common, such as 7, 7.0 and "7", or of dates."""
    plain = values.astype(str) if values.dtype.kind == "M" else values
    return [row_key(text_of(each)) for each in np.ravel(plain).tolist()]
