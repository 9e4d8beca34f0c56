"""Lists of rows that name their values: named tuples, rows of SQLite, series, labelled arrays."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from propercal._data.words.messages import bad_value
from propercal._data.words.tokens import named

_FIX = "pass one table of all rows"


def names_of_rows(argument: str, rows: Sequence[Any]) -> tuple[Any, ...] | None:
    """Return the names of the values of each row, None where they have none, or raise."""
    # Of a million numbers there are few types.
    if not any(_names_its_values(kind) for kind in set(map(type, rows))):
        return None
    names = [_names_of(argument, row) for row in rows]
    odd = next((i for i, each in enumerate(names) if each != names[0]), None)
    if odd is not None:
        found = [list(each or ["without names"]) for each in (names[0], names[odd])]
        raise bad_value(
            argument,
            f"rows of {found[0]} at row 0, {found[1]} at row {odd}",
            "the same names in each row",
            _FIX,
        )
    return names[0]


def check_no_outputs(argument: str, rows: object) -> None:
    """Raise if a list is of two columns for each label, as scikit-learn predicts several labels."""
    if not isinstance(rows, list | tuple) or not rows:
        return
    shapes = {tuple(getattr(each, "shape", ())) for each in rows}
    if len(shapes) == 1 and len(shape := shapes.pop()) == 2 and shape[1] == 2 < shape[0]:
        raise bad_value(
            argument,
            f"a list of {len(rows)} arrays of shape {shape}",
            "one array with a column for each label, the probability that it occurs",
            f"pass numpy.stack([each[:, 1] for each in {argument}], axis=1) if it holds what "
            "predict_proba gives for each label",
        )


def labels_of_rows(argument: str, rows: Sequence[Any]) -> Any:
    """Return the index of rows that were taken from a table or an array, None if it says nothing.

    It is what series of pandas are called, and the coordinate of labelled arrays that differs from
    row to row.
    """
    pandas: Any = sys.modules.get("pandas")
    if pandas is None or not rows:
        return None
    if all(isinstance(row, pandas.Series) for row in rows):
        names, name = [row.name for row in rows], None
    elif all(_is_labelled(type(row)) for row in rows):
        names, name = _places_of(argument, rows)
    else:
        return None
    index = pandas.Index(names, name=name)
    # What all have in common is no row of one table.
    return None if None in names or (len(rows) > 1 and index.nunique() == 1) else index


def _places_of(argument: str, rows: Sequence[Any]) -> tuple[list[Any], Any]:
    """Return the coordinate without a dimension that tells labelled arrays apart, and its name."""
    shared = set.intersection(*({n for n in row.coords if not row.coords[n].dims} for row in rows))
    values = {name: [row.coords[name].item() for row in rows] for name in shared}
    found = {name: own for name, own in values.items() if any(each != own[0] for each in own)}
    if len(found) > 1:
        raise bad_value(
            argument,
            f"rows with coordinates {', '.join(sorted(map(repr, found)))}",
            "one that says which row is which",
            "pass one array of all rows, such as by xarray.concat",
        )
    return next(((own, name) for name, own in found.items()), ([None], None))


def _is_labelled(kind: type) -> bool:
    return hasattr(kind, "coords") and hasattr(kind, "dims")


def _names_its_values(kind: type) -> bool:
    return (
        hasattr(kind, "_fields")
        or _has_keys(kind)
        or (hasattr(kind, "iloc") and hasattr(kind, "index"))
        or _is_labelled(kind)
    )


def _has_keys(kind: type) -> bool:
    """Tell whether this is a type of rows that a database names, such as sqlite3.Row."""
    return hasattr(kind, "keys") and hasattr(kind, "__len__") and not issubclass(kind, Mapping)


def _names_of(argument: str, row: Any) -> tuple[Any, ...] | None:
    kind = type(row)
    if not _names_its_values(kind):
        return None
    if hasattr(kind, "_fields"):
        return _fields(argument, tuple(row._fields))
    if _has_keys(kind) and not hasattr(kind, "iloc"):
        return tuple(row.keys())
    if hasattr(kind, "iloc"):
        return None if hasattr(kind, "columns") else tuple(row.index)
    if row.ndim != 1:
        return None
    dim = row.dims[0]
    along = {name: each for name, each in row.coords.items() if tuple(each.dims) == (dim,)}
    found = {name: tuple(each.values.tolist()) for name, each in along.items()}
    own = found.pop(dim, None)
    if own is not None:
        # As of an array of all rows: words may stand for what is only counted.
        words = {n: each for n, each in found.items() if all(isinstance(x, str) for x in each)}
        found = words if named(own) is None else {}
    names = set(found.values())
    if len(names) > 1:
        raise bad_value(argument, f"rows with {len(found)} coordinates of {dim!r}", "one", _FIX)
    return names.pop() if names else own


def _fields(argument: str, fields: tuple[str, ...]) -> tuple[str, ...]:
    """Return the fields of a named tuple, unless pandas put others in place of their names."""
    if fields[:1] == ("Index",) or any(field.startswith("_") for field in fields):
        raise bad_value(
            argument,
            f"named tuples of {list(fields)}",
            "the names of the columns",
            "pass the table that they were made from",
        )
    return fields
