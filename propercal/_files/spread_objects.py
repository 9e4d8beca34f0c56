"""Probabilities of a row as an object, {"probs": {"A": 0.7, "B": 0.3}}: read as columns of classes.

So are structs of parquet, and lists of a label and a score each, as pipelines of models give them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from propercal._files.columns import Columns, find_label_column
from propercal._files.formats import check_distinct
from propercal._files.names import listed
from propercal._files.numbers import numbers_of
from propercal._files.objects import Pairs
from propercal._files.prediction_file import check_scores

if TYPE_CHECKING:
    import pandas as pd

_Row = list[tuple[str, Any]]
_KEYS = ("probs", "logits")


def object_key(columns: Any) -> str | None:
    """Return under which name of a table, or of lists, rows have such objects; None for none."""
    keys = (key for key in _KEYS if key in columns and len(columns[key]))
    return next((key for key in keys if _pairs(next(iter(columns[key]))) is not None), None)


def spread(path: Path, table: pd.DataFrame, columns: Columns) -> tuple[pd.DataFrame, Columns]:
    """Return a table with a column for each class of such objects, and how it is to be read."""
    key = object_key(table)
    if key is None:
        return table, columns
    columns.check_kind(path, key)
    rest = table.drop(columns=key)
    names = list(rest.columns)
    apart = columns.apart(find_label_column(path, names, columns.label), columns.id_among(names))
    unused = [name for name in names if name not in apart]
    if unused:
        raise ValueError(
            f"{path}: {listed(unused)} beside the object {key!r}: expected a label, weights and "
            "groups; name what is none of these with drop (--drop on the command line)."
        )
    found = rest.assign(**values_of_objects(path, key, table[key].tolist(), names))
    for name in found.columns.difference(names):
        check_scores(path, key, numbers_of(path, found, name))
    from_logits = columns.from_logits or key == "logits"
    return found, dataclasses.replace(columns, from_logits=from_logits)


def values_of_objects(
    path: Path, key: str, cells: Sequence[Any], others: Sequence[str] = ()
) -> dict[str, list[Any]]:
    """Return the values of each class, whatever the order in which a row has them, or raise.

    `others` are names beside the objects, which a class cannot have too.
    """
    rows = [_pairs(cell) for cell in cells]
    found: dict[str, list[Any]] = {}
    for number, row in enumerate(rows):
        names = [name.strip() for name, _ in row or ()]
        check_distinct(path, names)
        found = found or {name: [] for name in names}
        if row is None or {*names} != {*found}:
            raise ValueError(
                f"{path}: {key!r} of row {number} holds "
                f"{'no object' if row is None else listed(names)}: expected a number for each of "
                f"{listed(list(found))}, as row 0 has; write all of them in each row."
            )
        for name, (_, value) in zip(names, row, strict=True):
            found[name].append(value)
    both = [name for name in found if name in others]
    if both:
        raise ValueError(
            f"{path}: {both[0]!r} is a class in {key!r}, and a name beside it: expected different "
            "names; rename one of them."
        )
    return found


def _pairs(cell: Any) -> _Row | None:
    """Return an object, or a list of labels and scores, as names and values; None for all else."""
    if isinstance(cell, Pairs):
        return list(cell)
    if isinstance(cell, Mapping):
        return [(str(name), value) for name, value in cell.items()]
    if not isinstance(cell, list) or not cell or not all(isinstance(x, Pairs) for x in cell):
        return None
    objects = [dict(each) for each in cell]
    if any(each.keys() != {"label", "score"} for each in objects):
        return None
    return [(str(each["label"]), each["score"]) for each in objects]
