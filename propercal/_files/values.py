"""Values of a table: as text, and labels as the numbers or booleans that they are written as."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pandas as pd

#: How truth is written, in lower case.
BOOLEANS = {"false": False, "true": True}
#: A whole number, without zeros that are part of a name.
_WHOLE = re.compile(r"-?(?:0|[1-9]\d{0,17})(?:\.0)?")
#: The same as programs write it in floating point: with a sign, more zeros, an exponent of 0.
_WRITTEN = re.compile(r"[-+]?(?:0|[1-9]\d{0,17})(?:\.0+)?(?:[eE][-+]?0+)?")


def in_table(
    labels: list[str], column: pd.Series[Any], class_names: Collection[str] = ()
) -> pd.Series[Any]:
    """Return labels under the name, and in the order of categories, that a table has for them."""
    import pandas as pd

    dtype: Any = column.dtype
    if not hasattr(dtype, "categories"):
        return pd.Series(values_of(labels, class_names), name=column.name, index=column.index)
    names = [text_of(each) for each in dtype.categories]
    # Of one type with categories that do not occur.
    values = values_of([*labels, *names], class_names).tolist()
    categories: Any = pd.Categorical(values[: len(labels)], values[len(labels) :], dtype.ordered)
    return pd.Series(categories, name=column.name, index=column.index)


def values_of(labels: Sequence[str], names: Collection[str] = ()) -> npt.NDArray[Any]:
    """Return labels as numbers or booleans where all are written so.

    `names` are those of columns, which labels may bear as they are written.
    """
    if all(label.lower() in BOOLEANS for label in labels):
        return np.array([BOOLEANS[label.lower()] for label in labels])
    if all(map(_WHOLE.fullmatch, labels)):
        return _whole(labels)
    # Versions, such as 1.0 and 1.00, are several names of one number.
    different = set(labels)
    odd = {each for each in different if not _WHOLE.fullmatch(each)}
    if all(map(_WRITTEN.fullmatch, odd)) and odd.isdisjoint(names):
        found = _whole(labels)
        if len(set(found.tolist())) == len(different):
            return found
    return np.array(labels, dtype=str)


def _whole(labels: Sequence[str]) -> npt.NDArray[Any]:
    return np.array([int(re.split(r"[.eE]", label)[0]) for label in labels], dtype=object)


def value_of(label: str | None) -> Any:
    """Return one label, such as that of a positive class; None for none."""
    return None if label is None else values_of([label]).tolist()[0]


def texts_of(path: Path, name: str, values: Iterable[object]) -> list[str]:
    """Return labels, groups or ids as text, or raise where they are lists, or objects of JSON."""
    found = list(values)
    if any(map(_is_several, found)):
        raise ValueError(
            f"{path}: {name!r} holds lists, or objects: expected text or a number in each line; "
            "write the class that occurred, a column for each class, and one object for each row, "
            '{"label": "A", "A": 0.7, "B": 0.3}.'
        )
    return [text_of(value) for value in found]


def text_of(value: object) -> str:
    """Return a value as text, empty where it is missing."""
    import pandas as pd

    if isinstance(value, bytes):
        # As columns of parquet that say nothing of text have it.
        value = value.decode("utf-8", "surrogateescape")
    if _is_several(value):
        return str(value)
    return "" if pd.isna(value) else str(value).strip()  # type: ignore[call-overload]


def _is_several(value: object) -> bool:
    return isinstance(value, list | tuple | dict | np.ndarray)
