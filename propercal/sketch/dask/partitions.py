"""Dask arrays and data frames → partitions of labels, predictions and weights, side by side.

Dask is only partly annotated, and is not imported before it has made one of the arguments.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from propercal._data.classes.columns import keys, names_of
from propercal._data.classes.counting import without_void
from propercal._data.classes.naming import Naming
from propercal._data.inputs.held import Held
from propercal._data.inputs.holders import hold, is_labelled
from propercal._data.inputs.lazy_tables import collected
from propercal._data.inputs.reading import USUAL_NAMES, read_numpy
from propercal._data.predictions.alignment import align
from propercal._data.rows.rows import check_others, in_order_of
from propercal._data.rows.rows_of_weights import check_weight_not_shuffled
from propercal._data.words.messages import bad_value
from propercal.sketch.dask.row_order import ARGUMENTS, may_move
from propercal.sketch.dask.shards import Columns

_PACKAGES = ("dask", "dask_expr")


@dataclass(frozen=True)
class Blocks:
    """Labels, predictions and weights, partition by partition."""

    rows: list[list[Any]]
    """Labels, predictions and, where there are any, weights of each partition, delayed."""
    labels: list[list[Any]]
    """Labels and, where there are any, weights, delayed."""
    sizes: list[int] | None
    """Rows of each partition, where they are known."""
    n_classes: int
    said: tuple[Held, Held]
    """What the types of labels and predictions say, without rows."""
    frames: tuple[bool, bool]
    """Whether labels and predictions are tables, whose partitions name columns by themselves."""
    unknown: bool
    """Whether labels are categories that only their partitions know."""
    may_move: bool
    """Whether rows may come in another order each time, of one beside the others."""

    @property
    def weighted(self) -> bool:
        """Whether rows have weights."""
        return any(len(each) > 2 for each in self.rows)

    @property
    def single(self) -> bool:
        """Whether the predictions are one column."""
        shape = tuple(self.said[1].values.shape)
        return len(shape) == 1 or shape[1] == 1

    @property
    def marked(self) -> bool:
        """Whether labels are an indicator matrix, of as many columns as there are classes."""
        shape = self.said[0].values.shape
        return len(shape) == 2 and shape[1] == self.n_classes

    @property
    def lists_0(self) -> bool:
        """Whether the type of the labels lists 0 among the classes."""
        return 0 in (self.said[0].categories or self.said[0].unordered or ())

    def by_order(self, names: Sequence[Any]) -> bool:
        """Tell whether no name says which of these classes a column is of."""
        labels, proba = self.said
        counted = list(names) == list(range(self.n_classes))
        if self.single or labels.ordered:
            return False
        if self.marked:
            both = None not in (labels.columns, proba.columns)
            return not (both or (labels.numbered and proba.numbered))
        return counted if proba.columns is not None else not (proba.numbered and counted)

    def leaves_positive(self, labels_given: Any, pos_label: Any) -> bool:
        """Tell whether a convention alone says which class one column is of."""
        labels, proba = self.said
        naming = Naming.of(proba, self.n_classes, labels_given, pos_label, USUAL_NAMES)
        named = labels.columns is not None or proba.first
        return naming.leaves_positive(labels.name) and not named

    def needs_all_labels(self) -> bool:
        """Tell whether no part of the labels tells which class each of them means."""
        labels, proba = self.said
        if labels.values.ndim == 2 and labels.values.shape[1] != 1:
            return False
        if labels.values.dtype.kind not in "biuf" or self.single:
            return True
        return not (proba.columns is labels.categories is labels.unordered is None)

    def names(
        self,
        found: Sequence[Any],
        labels_given: Any = None,
        pos_label: Any = None,
        ignore_index: Any = None,
    ) -> list[Any]:
        """Return the class that each column stands for, from all that occur among the labels."""
        labels, proba = self.said
        labels = without_void(labels, self.n_classes, ignore_index)
        named = not set(keys(proba.columns or ())).isdisjoint(keys(found))
        if self.unknown and labels_given is None and not (self.single or named):
            raise bad_value(
                "y_true",
                "a categorical column whose categories are not known",
                "known ones, which order the classes of columns that these do not name",
                "call .cat.as_known(), or pass labels=[...]",
            )
        return names_of(found, proba, labels=labels_given, pos_label=pos_label, like=labels)

    def columns(self, labels_given: Any = None, pos_label: Any = None) -> Columns:
        """Return how partitions must name their columns, and what these mean."""
        labels, proba = self.said
        order = None
        if self.marked:
            naming = Naming.of(proba, self.n_classes, labels_given, pos_label, USUAL_NAMES)
            _, order = naming.of_indicator(labels.columns)
        # The name of a column of labels means nothing in a single partition.
        of_labels = labels if self.frames[0] and labels.values.ndim == 2 else None
        return Columns(of_labels, proba if self.frames[1] else None, order)


def is_dask(value: object) -> bool:
    """Tell whether Dask made `value`."""
    return type(value).__module__.partition(".")[0] in _PACKAGES


def read_blocks(y_true: object, y_proba: object, sample_weight: object = None) -> Blocks:
    """Return partitions of the three that have the same rows."""
    y_true, y_proba, sample_weight = collected(y_true, y_proba, sample_weight)
    memory = _in_memory(y_true, y_proba, sample_weight)
    # The predictions say how rows are divided, where they can.
    if is_dask(y_proba):
        predictions = _checked("y_proba", y_proba)
        labels, of_labels = _beside("y_true", y_true, "y_proba", predictions, memory)
        of_proba = _said("y_proba", predictions)
    else:
        labels = _checked("y_true", y_true)
        predictions, of_proba = _beside("y_proba", y_proba, "y_true", labels, memory)
        of_labels = _said("y_true", labels)
    weights = []
    if sample_weight is not None:
        base = ("y_proba", predictions) if is_dask(y_proba) else ("y_true", labels)
        weights.append(_weights(sample_weight, *base, memory))
    held = [memory.get(argument) for argument in ARGUMENTS]
    sizes = _sizes(predictions if is_dask(y_proba) else labels)
    rows = _side_by_side(labels, predictions, *weights)
    return Blocks(
        rows=_with_indices(rows, held[: len(rows[0])], sizes),
        labels=_with_indices(_side_by_side(labels, *weights), held[:: 2 if weights else 3], sizes),
        sizes=_sizes(predictions),
        n_classes=max(2, int((*of_proba.values.shape, 1)[1])),
        said=(of_labels, of_proba),
        frames=(_is_frame(labels), _is_frame(predictions)),
        unknown=_is_unknown(labels),
        may_move=may_move(labels, predictions, *weights),
    )


def _weights(
    sample_weight: object, other_argument: str, other: Any, memory: Mapping[str, Held]
) -> Any:
    """Return weights as a collection of the same partitions as `other`."""
    weights, _ = _beside("sample_weight", sample_weight, other_argument, other, memory)
    if weights.ndim != 1:
        raise bad_value(
            "sample_weight",
            f"a Dask {type(weights).__name__} of {weights.ndim} dimensions",
            "one weight for each row",
            "select its only column",
        )
    return weights


def _said(argument: str, values: Any) -> Held:
    """Return what the type of a collection says of its values, as if it had no rows."""
    if not _is_frame(values):
        return Held(np.empty((0, *map(int, values.shape[1:])), dtype=values.dtype))
    held = replace(hold(argument, values._meta), rows=None, counted=False)
    # Partitions may have other categories than it.
    return replace(held, categories=None, unordered=None) if _is_unknown(values) else held


def _is_unknown(values: Any) -> bool:
    """Tell whether values are of one column of categories that only partitions know."""
    if not _is_frame(values):
        return False
    if values.ndim == 2:
        if len(values.columns) != 1:
            return False
        values = values[values.columns[0]]
    # A dictionary of pyarrow has its values in partitions alone.
    dictionary = "dictionary" in str(values.dtype)
    return dictionary or (hasattr(values.dtype, "categories") and not values.cat.known)


def _in_memory(y_true: object, y_proba: object, sample_weight: object) -> dict[str, Held]:
    """Return what is in memory, weights in the order of the other if both have an index."""
    given = zip(ARGUMENTS, (y_true, y_proba, sample_weight), strict=True)
    held = {
        argument: _held(argument, values)
        for argument, values in given
        if values is not None and not is_dask(values)
    }
    name = "sample_weight"
    for argument in [each for each in held if each != name] if name in held else []:
        held[name] = in_order_of(held[name], held[argument], name, argument).held
        check_others(held[name], held[argument], name, argument)
    return held


def _held(argument: str, values: object) -> Held:
    """Return values in memory, and what their holder says of them."""
    held = hold(argument, values)
    if is_labelled(values):
        none = np.empty(0)
        labels, proba, _ = align(values, none) if argument == "y_true" else align(none, values)
        held = labels if argument == "y_true" else proba
    array = read_numpy(argument, held.values)
    if array.ndim not in (1, 2):
        raise bad_value(
            argument, f"an array of shape {array.shape}", "shape (n,) or (n, k)", "reshape it"
        )
    return replace(held, values=array)


def _with_indices(
    rows: list[list[Any]], held: Sequence[Held | None], sizes: Sequence[int] | None
) -> list[list[Any]]:
    """Return partitions with the index that their rows have in memory."""
    told = [
        (i, each)
        for i, each in enumerate(held)
        if each is not None and (each.counted or each.rows is not None or each.others)
    ]
    if not told or sizes is None:
        return rows
    indexed = importlib.import_module("dask").delayed(_indexed, pure=False)
    found = [list(each) for each in rows]
    for i, each in told:
        for part, end, size in zip(found, np.cumsum(sizes), sizes, strict=True):
            own = slice(int(end) - size, int(end))
            index = None if each.rows is None else each.rows[own]
            others = {name: other[own] for name, other in each.others.items()}
            part[i] = indexed(part[i], index, others, each.counted)
    return found


def _indexed(part: Any, rows: Any, others: Mapping[Any, Any], counted: bool) -> Held:
    return Held(part, rows=rows, others=others, counted=counted)


def _checked(argument: str, values: Any) -> Any:
    """Return a collection whose partitions are rows."""
    if not (_is_frame(values) or _is_array(values)):
        raise bad_value(
            argument,
            f"a Dask {type(values).__name__}",
            "a Dask array, Series or DataFrame",
            "convert it to one, for example by dask.array.from_delayed",
        )
    if _is_frame(values) or values.ndim == 1:
        return values
    if values.ndim != 2:
        raise bad_value(
            argument,
            f"a Dask array of {values.ndim} dimensions",
            "shape (n,) or (n, k)",
            "pass one row per sample",
        )
    if math.isnan(values.shape[1]):
        raise bad_value(
            argument,
            "a Dask array whose number of columns is unknown",
            "one column per class",
            "call compute_chunk_sizes()",
        )
    return values.rechunk({1: -1})


def _beside(
    argument: str, values: Any, other_argument: str, other: Any, memory: Mapping[str, Held]
) -> tuple[Any, Held]:
    """Return `values` as a collection of the same partitions as `other`, and what they say."""
    sizes = _sizes(other)
    lazy = is_dask(values)
    if lazy:
        values = _checked(argument, values)
        said = _said(argument, values)
    elif sizes is None:
        raise bad_value(
            argument,
            f"a {type(values).__name__} in memory beside a Dask {type(other).__name__} whose "
            "partitions are of unknown sizes",
            "a Dask array, Series or DataFrame of the same partitions",
            f"make it one, or pass {other_argument}."
            + ("compute(), in memory too" if _is_frame(other) else "compute_chunk_sizes()"),
        )
    else:
        held = memory[argument]
        check_weight_not_shuffled(held, argument=argument, beside=other_argument)
        values = held.values
        said = replace(held, values=values[:0], rows=None, counted=False, others={}, places=None)
    own = _sizes(values) if lazy else [len(values)]
    if sizes and own and sum(sizes) != sum(own):
        raise bad_value(
            argument,
            f"{sum(own)} rows",
            f"{sum(sizes)}, as {other_argument} has",
            "align the two",
        )
    if not lazy:
        arrays: Any = importlib.import_module("dask.array")
        return arrays.from_array(values, chunks=(tuple(sizes or ()), *values.shape[1:])), said
    if sizes and own and sizes != own:
        return values.rechunk({0: tuple(sizes)}), said
    if values.npartitions != other.npartitions:
        raise bad_value(
            argument,
            f"{values.npartitions} partitions",
            f"{other.npartitions}, of the same rows as those of {other_argument}",
            "repartition one of the two; call compute_chunk_sizes() on arrays of unknown sizes",
        )
    return values, said


def _side_by_side(*collections: Any) -> list[list[Any]]:
    """Return the partitions of several collections, delayed."""
    parts = [[] if _is_frame(each) else _delayed(each) for each in collections]
    tables = [each for each in collections if _is_frame(each)]
    if len(tables) > 1:
        # What all are made from is computed once if Dask sees them together.
        frames: Any = importlib.import_module("dask.dataframe")
        options = {"meta": (None, object), "enforce_metadata": False, "align_dataframes": False}
        together = frames.map_partitions(_together, *tables, **options).to_delayed()
        places = iter(range(len(tables)))
        parts = [part or [each[i] for i in [next(places)] for each in together] for part in parts]
    elif tables:
        parts = [part or _delayed(tables[0]) for part in parts]
    return [list(each) for each in zip(*parts, strict=True)]


def _together(*parts: object) -> tuple[object, ...]:
    return parts


def _delayed(values: Any) -> list[Any]:
    if _is_frame(values):
        return list(values.to_delayed())
    # Optimised one by one, arrays made from the same blocks would compute these again.
    return list(values.to_delayed(optimize_graph=False).ravel())


def _sizes(values: Any) -> list[int] | None:
    if _is_frame(values) or math.isnan(values.shape[0]):
        return None
    return [int(size) for size in values.chunks[0]]


def _is_frame(values: Any) -> bool:
    # A Delayed object claims to have every attribute; its class does not.
    return hasattr(type(values), "divisions") and hasattr(type(values), "to_delayed")


def _is_array(values: Any) -> bool:
    return hasattr(type(values), "chunks") and hasattr(type(values), "rechunk")
