"""Dask arrays and data frames → partitions of labels and predictions that lie side by side.

Dask is only partly annotated, and is not imported before it has made one of the arguments.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from propercal._data.holders import Held, named
from propercal._data.labels import read_labels
from propercal._data.messages import bad_value
from propercal._data.naming import is_numeral
from propercal._data.reading import read_numpy

_PACKAGES = ("dask", "dask_expr")


@dataclass(frozen=True)
class Blocks:
    """Labels and predictions, partition by partition."""

    pairs: list[Any]
    """Labels and predictions of each partition, delayed."""
    labels: list[Any]
    """Labels alone, delayed."""
    sizes: list[int] | None
    """Rows of each partition, where they are known."""
    n_classes: int
    columns: tuple[Any, ...] | None
    """Names of columns of the predictions, where they say something."""
    name: Any
    """The name of the only column of the predictions."""
    single: bool
    """Whether there is one."""
    meta: Any
    """An empty object of the type of the labels."""
    categorical: bool
    """Whether this type names all classes."""

    def needs_all_labels(self) -> bool:
        """Tell whether no part of the labels tells which class each of them means."""
        if self.meta.ndim == 2 and self.meta.shape[1] != 1:
            return False
        if getattr(getattr(self.meta, "dtype", None), "kind", "O") not in "biuf":
            return True
        return self.columns is not None and all(is_numeral(each) for each in self.columns)

    def names(
        self, found: Sequence[Any], labels_given: Any = None, pos_label: Any = None
    ) -> list[Any]:
        """Return the class that each column stands for, from all that occur among the labels."""
        labels: Any = np.array(found, dtype=object)
        if self.categorical:
            labels = type(self.meta)(labels, dtype=self.meta.dtype)
        empty = np.empty(0 if self.single else (0, self.n_classes))
        proba = Held(empty, columns=self.columns, name=self.name)
        given = {"labels": labels_given, "proba": proba, "pos_label": pos_label}
        return list(read_labels(labels, self.n_classes, **given).names)


def is_dask(value: object) -> bool:
    """Tell whether Dask made `value`."""
    return type(value).__module__.partition(".")[0] in _PACKAGES


def read_blocks(y_true: object, y_proba: object) -> Blocks:
    """Return partitions of the two that have the same rows."""
    # The predictions say how rows are divided, where they can.
    if is_dask(y_proba):
        predictions = _checked("y_proba", y_proba)
        labels = _beside("y_true", y_true, "y_proba", predictions)
    else:
        labels = _checked("y_true", y_true)
        predictions = _beside("y_proba", y_proba, "y_true", labels)
    n_columns = 1 if predictions.ndim == 1 else int(predictions.shape[1])
    columns: Any = list(y_proba.columns) if hasattr(type(y_proba), "columns") else None  # type: ignore[attr-defined]
    single = n_columns == 1
    name = getattr(y_proba, "name", None) if _is_frame(y_proba) and columns is None else None
    if single and columns is not None:
        name = columns[0] if named(columns) is not None else None
    return Blocks(
        pairs=_pairs(labels, predictions),
        labels=_delayed(labels),
        sizes=_sizes(predictions),
        n_classes=max(2, n_columns),
        columns=None if columns is None or single else named(columns),
        name=name,
        single=single,
        meta=labels._meta,
        categorical=bool(getattr(getattr(labels, "cat", None), "known", False)),
    )


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


def _beside(argument: str, values: Any, other_argument: str, other: Any) -> Any:
    """Return `values` as a collection of the same partitions as `other`."""
    sizes = _sizes(other)
    lazy = is_dask(values)
    if lazy:
        values = _checked(argument, values)
    elif sizes is None:
        raise bad_value(
            argument,
            f"a {type(values).__name__} in memory beside a Dask {type(other).__name__} whose "
            "partitions are of unknown sizes",
            "a Dask array, Series or DataFrame of the same partitions",
            f"make it one, or pass {other_argument}.to_dask_array(lengths=True)",
        )
    else:
        values = read_numpy(argument, values)
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
        return arrays.from_array(values, chunks=(tuple(sizes or ()), *values.shape[1:]))
    if sizes and own and sizes != own:
        return values.rechunk({0: tuple(sizes)})
    if values.npartitions != other.npartitions:
        raise bad_value(
            argument,
            f"{values.npartitions} partitions",
            f"{other.npartitions}, of the same rows as those of {other_argument}",
            "repartition one of the two; call compute_chunk_sizes() on arrays of unknown sizes",
        )
    return values


def _pairs(labels: Any, predictions: Any) -> list[Any]:
    if not (_is_frame(labels) and _is_frame(predictions)):
        return [list(pair) for pair in zip(_delayed(labels), _delayed(predictions), strict=True)]
    # What both are made from is computed once if Dask sees them together.
    frames: Any = importlib.import_module("dask.dataframe")
    options = {"meta": (None, object), "enforce_metadata": False, "align_dataframes": False}
    return list(frames.map_partitions(_pair, labels, predictions, **options).to_delayed())


def _pair(labels: object, predictions: object) -> tuple[object, object]:
    return labels, predictions


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
