"""Which rows are in which group: labels, columns of labels, or indicators that may overlap.

Groups are matched with rows by the rules of weights (:mod:`propercal._data.predictions.alignment`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from propercal._data.dependence.group_names import exact
from propercal._data.dependence.groups import check_in_one_order, doubt_order, labels_of_rows
from propercal._data.inputs.held import Held
from propercal._data.inputs.holders import hold, is_labelled
from propercal._data.inputs.lazy_tables import collected
from propercal._data.inputs.masks import filled
from propercal._data.inputs.noted_indexes import index_columns, noted_range
from propercal._data.inputs.reading import Names, read_numpy
from propercal._data.inputs.tables import as_whole_table, check_no_index
from propercal._data.predictions.alignment import align
from propercal._data.predictions.predictions import Predictions
from propercal._data.rows.layout import Layout
from propercal._data.words.messages import bad_value, some_names

_EXPECTED = "a label for each row, a table of such labels, or a column of True and False a group"
#: Rows without a label are together; each alone would be a group of one row.
_OF_NONE = "give these rows one label together, such as by .fillna('unknown'), or drop them"
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


def collected_beside(groups: object, *data: object) -> tuple[Any, ...]:
    """Return groups, and the data they stand beside, with lazy tables computed together."""
    columns = [*groups.values()] if isinstance(groups, Mapping) else [groups]
    found = collected(*columns, *data)
    columns, beside = [*found[: len(columns)]], found[len(columns) :]
    whole = isinstance(groups, Mapping)
    return dict(zip(groups, columns, strict=True)) if whole else columns[0], *beside  # type: ignore[call-overload]


def read_membership(
    groups: object,
    y_true: object,
    y_proba: object,
    sample_weight: object,
    predictions: Predictions,
    layout: Layout,
    clusters: object = None,
    argument: str = "groups",
    of_clusters: str = "clusters",
) -> Membership:
    """Read groups of the rows of predictions that were read from the other arguments.

    `argument` and `of_clusters` are what the caller calls groups and clusters.
    """
    names = predictions.names
    # Masked entries of rows that count were refused; of groups they are looked at with these.
    y_true, y_proba, groups = filled(y_true, y_proba, groups)
    aligned: dict[str, Held] = {}

    def in_order(name: str, column: object) -> Held:
        """Bring a column into the order of the rows, and compare it with all others."""
        called = replace(names, weight=name)
        rows = align(y_true, y_proba, exact(name, column), layout=layout, called=called)
        held = rows.weight
        assert held is not None  # noqa: S101  # groups take the place of weights
        if not any(_has_rows_of(held, its) for its in aligned.values()):
            if name != names.weight:
                doubt_order(predictions, rows, called)
            for other, its in aligned.items():
                check_in_one_order(held, its, name, other, names)
            aligned[name] = held
        return held

    for name, column in ((names.weight, sample_weight), (of_clusters, clusters)):
        if column is not None:
            in_order(name, filled(column)[0])
    n = _n_rows(y_true, y_proba, layout, names)
    found: list[tuple[Any, npt.NDArray[np.bool_]]] = []
    columns = list(_columns(groups, (y_true, y_proba), layout, argument))
    if len(columns) == 1 and columns[0][0] is None:
        held = in_order(argument, columns[0][1])
        labels = labels_of_rows(held, n, predictions, argument, _OF_NONE)
        found = list(_levels(argument, None, labels, held, predictions))
    else:
        read = {}
        for name, column in columns:
            its = f"{argument}[{name!r}]"
            held = in_order(its, column)
            read[name] = labels_of_rows(held, n, predictions, its, _OF_NONE), held
        marks = {name: _marks(values[predictions.rows]) for name, (values, _) in read.items()}
        # One column by itself says more: both of its values are groups.
        alone = len(read) == 1
        all_marks = not alone and all(each is not None for each in marks.values())
        for name, (values, held) in read.items():
            mark = marks[name]
            booleans = mark is not None and mark.dtype.kind == "b"
            if mark is not None and (all_marks or (booleans and not (alone and mark.any()))):
                found.append((name, mark.astype(bool)))
            else:
                found += _levels(argument, None if alone else name, values, held, predictions)
    return _checked(found, argument)


def _has_rows_of(held: Held, other: Held) -> bool:
    """Tell whether two columns are of one table, or have nothing that tells their rows."""
    same = held.rows is other.rows and held.counted == other.counted
    return same and held.noted is other.noted is None and not held.others and not other.others


def _n_rows(y_true: object, y_proba: object, layout: Layout, names: Names) -> int:
    return int(align(y_true, y_proba, layout=layout, called=names).proba.values.shape[0])


def _columns(
    groups: object, beside: Sequence[object], layout: Layout, argument: str
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
    table = _as_table(groups, argument)
    if table is not None:
        columns = list(_of_table(table, argument))
        for name, column in columns:
            yield None if len(columns) == 1 else _one_name(name), column
        return
    held = hold(argument, groups)
    # With an axis of classes, labels of places have the shape of y_true.
    shape = tuple(held.values.shape)
    of_places = layout.class_axis is not None and shape == np.shape(cast("Any", beside[0]))
    if held.values.ndim == 2 and held.values.shape[1] > 1 and not of_places:
        array = read_numpy(argument, held.values)
        if _marks(array) is None:
            raise bad_value(
                argument,
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


def _as_table(groups: object, argument: str) -> Any:
    """Return a table of columns through narwhals; None for what has none."""
    if isinstance(groups, np.ndarray | list | tuple):
        return None
    import narwhals as nw

    try:
        frame: Any = nw.from_native(as_whole_table(groups), pass_through=True)
    except nw.exceptions.DuplicateError as error:
        raise bad_value(
            argument, "columns of equal names", "different names", "rename the columns"
        ) from error
    except (TypeError, ValueError, nw.exceptions.NarwhalsError):
        return None
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if not isinstance(frame, nw.DataFrame):
        return None
    return frame


def _of_table(table: Any, argument: str) -> Iterator[tuple[Any, object]]:
    """Yield names and columns, which keep the index of the table."""
    native = table.to_native()
    index = index_columns(native)
    if not index:
        check_no_index(argument, table.columns)
    for i, name in enumerate(table.columns):
        if name not in index:
            noted = index or noted_range(native) is not None
            yield name, native.select([name, *index]) if noted else table[:, i].to_native()


def _marks(values: npt.NDArray[Any]) -> npt.NDArray[Any] | None:
    """Return values that all say yes or no, as numbers or booleans; None for others."""
    if values.dtype.kind == "O":
        kinds = {type(each) for each in values.tolist()}
        if kinds <= {bool, np.bool_} or kinds <= {int, float}:
            values = values.astype(bool if kinds <= {bool, np.bool_} else float)
    if values.dtype.kind == "b":
        return values
    return values if values.dtype.kind in "iuf" and np.isin(values, (0, 1)).all() else None


def _levels(
    argument: str,
    prefix: object,
    values: npt.NDArray[Any],
    held: Held,
    predictions: Predictions,
) -> Iterator[tuple[Any, npt.NDArray[np.bool_]]]:
    """Yield the groups of one column of labels, in the order of its categories or of the labels."""
    used = values[predictions.rows]
    levels = sorted(set(used.tolist()), key=_order(held.categories or held.unordered or ()))
    if len(levels) > _MOST:
        raise bad_value(
            argument if prefix is None else f"{argument}[{prefix!r}]",
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


def _checked(found: list[tuple[Any, npt.NDArray[np.bool_]]], argument: str) -> Membership:
    names = tuple(name for name, _ in found)
    if len(set(names)) < len(names):
        again = [name for name in names if names.count(name) > 1]
        raise bad_value(
            argument, f"groups of the same name, {again[0]!r}", "names that differ", "rename one"
        )
    empty = [name for name, inside in found if not inside.any()]
    if empty or not names:
        raise bad_value(
            argument,
            f"groups without a row that counts, {some_names(empty)}" if empty else "no groups",
            "rows in each group",
            "leave out empty ones",
        )
    times = np.sum([inside for _, inside in found], axis=0)
    rows = tuple(np.flatnonzero(inside) for _, inside in found)
    return Membership(names, rows, bool((times == 1).all()))
