"""Which rows are in which group: labels, columns of labels, or indicators that may overlap.

Groups are matched with rows by the rules of weights (:mod:`propercal._data.alignment`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from propercal._data.alignment import align
from propercal._data.group_names import exact
from propercal._data.groups import check_beside_weights, labels_of_rows
from propercal._data.holders import Held, hold, is_labelled
from propercal._data.layout import Layout
from propercal._data.messages import bad_value, some_names
from propercal._data.predictions import Predictions
from propercal._data.reading import read_numpy

_EXPECTED = "a label for each row, a table of such labels, or a column of True and False a group"
#: A group of fewer says nothing; so many groups are no groups.
_MOST = 1000


@dataclass(frozen=True)
class Membership:
    """Groups of rows."""

    names: tuple[Any, ...]
    rows: tuple[npt.NDArray[np.intp], ...]
    """The numbers of the rows of each, in ascending order."""
    is_partition: bool
    """Whether every row is in just one of them."""


def read_membership(
    groups: object,
    y_true: object,
    y_proba: object,
    sample_weight: object,
    predictions: Predictions,
    layout: Layout,
) -> Membership:
    """Read groups of the rows of predictions that were read from the other arguments."""
    names = predictions.names

    def values(name: str, column: object) -> tuple[npt.NDArray[Any], Held]:
        called = replace(names, weight=name)
        found = align(y_true, y_proba, exact(name, column), layout=layout, called=called)
        if sample_weight is not None:
            weight = align(y_true, y_proba, sample_weight, layout=layout, called=names).weight
            check_beside_weights(found, weight, names, name)
        held, n = found.weight, int(found.proba.values.shape[0])
        assert held is not None  # noqa: S101  # groups take the place of weights
        return labels_of_rows(held, n, predictions, name), held

    found: list[tuple[Any, npt.NDArray[np.bool_]]] = []
    columns = list(_columns(groups, (y_true, y_proba), layout))
    if len(columns) == 1 and columns[0][0] is None:
        found = list(_levels(None, *values("groups", columns[0][1]), predictions))
    else:
        read = {name: values(f"groups[{name!r}]", column) for name, column in columns}
        # One column of 0 and 1 says more: both of them are groups.
        all_marks = len(read) > 1 and all(_is_mark(column) for column, _ in read.values())
        for name, (column, held) in read.items():
            used = column[predictions.rows]
            if column.dtype.kind == "b" or all_marks:
                found.append((name, used.astype(bool)))
            else:
                prefix = None if len(read) == 1 else name
                found += _levels(prefix, column, held, predictions)
    return _checked(found)


def _columns(
    groups: object, beside: Sequence[object], layout: Layout
) -> Iterator[tuple[Any, object]]:
    """Yield names and columns; a single column of labels has no name."""
    if isinstance(groups, Mapping):
        yield from groups.items()
        return
    if is_labelled(groups):
        yield from _slices(groups, beside, layout)
        return
    if isinstance(groups, str):
        yield None, groups
        return
    table = _as_table(groups)
    if table is not None:
        # By place: a number that names a column of pandas would be taken for a row.
        found = list(zip(table.columns, table.iter_columns(), strict=True))
        for name, column in found:
            yield None if len(found) == 1 else _one_name(name), column.to_native()
        return
    held = hold("groups", groups)
    # With an axis of classes, labels of places have the shape of y_true.
    shape = tuple(held.values.shape)
    of_places = layout.class_axis is not None and shape == np.shape(cast("Any", beside[0]))
    if held.values.ndim == 2 and held.values.shape[1] > 1 and not of_places:
        array = read_numpy("groups", held.values)
        if not _is_mark(array):
            raise bad_value(
                "groups",
                f"an array of shape {array.shape} with other values than 0 and 1",
                _EXPECTED,
                "pass columns of labels as a table or a dict, so that they have names",
            )
        yield from ((i, array[:, i].astype(bool)) for i in range(array.shape[1]))
        return
    yield None, groups


def _slices(groups: Any, beside: Sequence[object], layout: Layout) -> Iterator[tuple[Any, object]]:
    """Yield the columns of an array of xarray along the dimension that rows have not."""
    of_rows = {dim for each in beside if is_labelled(each) for dim in cast("Any", each).dims}
    given = layout.sample_dims
    of_rows |= set(given) if isinstance(given, list | tuple) else {given}
    others = [dim for dim in groups.dims if dim not in of_rows]
    if groups.ndim != 2 or not others:
        yield None, groups
        return
    along = others[-1]
    names = groups[along].values.tolist()
    if len(names) == 1:
        yield None, groups.isel({along: 0}, drop=True)
        return
    yield from ((name, groups.isel({along: i}, drop=True)) for i, name in enumerate(names))


def _one_name(name: Any) -> Any:
    """Return the name of a column, of several levels too, in words."""
    return ", ".join(map(str, name)) if isinstance(name, tuple) else name


def _as_table(groups: object) -> Any:
    """Return a table of columns through narwhals; None for what has none."""
    if isinstance(groups, np.ndarray | list | tuple):
        return None
    import narwhals as nw

    try:
        frame: Any = nw.from_native(groups, pass_through=True)
    except (TypeError, ValueError, nw.exceptions.NarwhalsError):
        return None
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if not isinstance(frame, nw.DataFrame):
        return None
    return frame


def _is_mark(values: npt.NDArray[Any]) -> bool:
    if values.dtype.kind == "b":
        return True
    return values.dtype.kind in "iuf" and bool(np.isin(values, (0, 1)).all())


def _levels(
    prefix: object, values: npt.NDArray[Any], held: Held, predictions: Predictions
) -> Iterator[tuple[Any, npt.NDArray[np.bool_]]]:
    """Yield the groups of one column of labels, in the order of its categories or of the labels."""
    used = values[predictions.rows]
    levels = sorted(set(used.tolist()), key=_order(held.categories or held.unordered or ()))
    if len(levels) > _MOST:
        raise bad_value(
            "groups" if prefix is None else f"groups[{prefix!r}]",
            f"{len(levels)} different labels",
            f"{_MOST} groups or fewer",
            "put values of a feature into bins, with propercal.subgroups.quantile_groups(...)",
        )
    number = {level: i for i, level in enumerate(levels)}
    numbers = np.array([number[each] for each in used.tolist()])
    for i, level in enumerate(levels):
        yield level if prefix is None else f"{prefix}={level}", numbers == i


def _order(categories: Sequence[Any]) -> Any:
    place = {each: i for i, each in enumerate(categories)}

    def key(level: Any) -> tuple[Any, ...]:
        number = isinstance(level, int | float)
        return (place.get(level, len(place)), not number, level if number else str(level))

    return key


def _checked(found: list[tuple[Any, npt.NDArray[np.bool_]]]) -> Membership:
    names = tuple(name for name, _ in found)
    if len(set(names)) < len(names):
        again = [name for name in names if names.count(name) > 1]
        raise bad_value(
            "groups", f"groups of the same name, {again[0]!r}", "names that differ", "rename one"
        )
    empty = [name for name, inside in found if not inside.any()]
    if empty or not names:
        raise bad_value(
            "groups",
            f"groups without a row that counts, {some_names(empty)}" if empty else "no groups",
            "rows in each group",
            "leave out empty ones",
        )
    times = np.sum([inside for _, inside in found], axis=0)
    rows = tuple(np.flatnonzero(inside) for _, inside in found)
    return Membership(names, rows, bool((times == 1).all()))
