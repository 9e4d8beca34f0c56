"""What is done where the data lie: a partition becomes sketches, and sketches are added up.

These functions run on the workers of a cluster. What they return is small, and depends on nothing
but their arguments, so that a scheduler may run them again wherever and whenever it likes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from propercal._array import ignore_underflow, like, namespace
from propercal._data.classes.columns import OtherColumnsError, order_of_columns
from propercal._data.classes.label_values import read_values
from propercal._data.inputs.held import Held
from propercal._data.inputs.holders import hold
from propercal._data.inputs.reading import read_numpy
from propercal._data.predictions.alignment import align
from propercal._data.predictions.notions import as_notion
from propercal._data.predictions.predictions import validate
from propercal._data.predictions.weights import Floats, weights_given
from propercal._data.rows.rows import in_order_of
from propercal._data.words.messages import bad_value, columns_said, held_warnings
from propercal._kernels.bandwidth import select_by_risk
from propercal._kernels.kernels import as_kernel
from propercal._typing import Array
from propercal.generators.base import BregmanGenerator
from propercal.methods import Method
from propercal.sketch.accumulator import CalibrationSketch
from propercal.sketch.dask.counted_labels import Counted
from propercal.sketch.dask.row_order import Numbered, numbered_rows
from propercal.sketch.doubts import Doubts, joined
from propercal.sketch.occurred import Occurred, ruled_out_by_both
from propercal.sketch.relation import Relation, relation_of_both
from propercal.sketch.repetition import Repeated
from propercal.sketch.state import State
from propercal.sketch.together import update_together

#: Warnings that are passed on; the others are counted.
_MOST_NOTES = 3


@dataclass(frozen=True)
class Columns:
    """How partitions must name their columns, and which of these mean which class."""

    labels: Held | None = None
    """What the labels are in all partitions, if these are tables."""
    proba: Held | None = None
    """The same for predictions."""
    order: Sequence[int] | None = None
    """Where the columns of predictions are among those of an indicator matrix; None as it is."""


@dataclass(frozen=True)
class Plan:
    """What is to be estimated, and how the data are read."""

    generators: Sequence[BregmanGenerator]
    notion: str
    method: Method
    bandwidths: Sequence[float | None] | None
    """One for each generator, None for no nodes; None to choose them."""
    algorithm: str
    confidence_level: float
    from_logits: bool
    labels: Sequence[Any] | None
    pos_label: Any = None
    link: str | None = None
    n_classes: int = 0
    columns: Columns = Columns()
    n_folds: int = 5
    random_state: int = 0
    ignore_index: Any = None
    listed: bool = False
    """Whether `labels` are those that the caller lists."""
    positive: bool = False
    """Whether the caller says of which class a single column is."""
    counted: bool = False
    """Whether labels are taken for numbers from 0 because nothing says what they are, or because
    those of rows that count are."""

    by_order: bool = False
    """Whether no name decides which class a column is of."""

    unsaid: bool = False
    """Whether nobody says of which class a single column is."""

    def sketches(self) -> list[CalibrationSketch]:
        """Return an empty sketch for each generator."""
        found = [
            CalibrationSketch(
                self.n_classes,
                generator=generator,
                notion=self.notion,
                bandwidth=bandwidth,
                n_folds=self.n_folds,
                random_state=self.random_state,
                labels=self.labels,
                pos_label=self.pos_label,
                link=self.link,
                from_logits=self.from_logits,
            )
            for generator, bandwidth in zip(self.generators, self.bandwidths or (), strict=True)
        ]
        if self.by_order:
            for sketch in found:
                reading = sketch._seen.reading._replace(doubts=Doubts.empty(self.n_classes))
                sketch._seen = sketch._seen._replace(reading=reading)
        return found


class Notes(NamedTuple):
    """Warnings, by partition."""

    first: tuple[tuple[int, str], ...] = ()
    total: int = 0

    def plus(self, other: Notes) -> Notes:
        """Return the first of both, and how many there were."""
        first = sorted({*self.first, *other.first})[:_MOST_NOTES]
        return Notes(tuple(first), self.total + other.total)


class Shard(NamedTuple):
    """What a part of the data adds to the sketch of each generator."""

    states: list[dict[str, npt.NDArray[Any]]]
    notes: Notes
    separate: frozenset[bool] = frozenset()
    """Whether columns were read as separate problems, of partitions where that matters."""
    numbered: tuple[Numbered, ...] = ()
    """Rows of two arguments, of partitions where both are numbered."""
    labels: Counted = Counted()
    """Where they are taken for numbers from 0."""
    occurred: Occurred = Occurred()
    """Classes of the rows, where tables do not tell."""
    doubts: Doubts | None = None
    """Whether columns are in another order."""
    ruled_out: frozenset[int] | None = None
    """Columns that are 0 in all rows; None of no rows."""
    relation: Relation | None = None
    """Whether predictions tell anything of labels; None of no rows."""
    repeated: Repeated = Repeated()
    """Partitions that came again."""

    def restored(self, plan: Plan) -> list[CalibrationSketch]:
        """Return the sketches."""
        sketches = plan.sketches()
        for sketch, arrays in zip(sketches, self.states, strict=True):
            reading = sketch._seen.reading
            # What is doubted is said once, of all of them.
            reading = reading._replace(
                occurred=self.occurred, doubts=None, ruled_out=self.ruled_out
            )
            sketch._restore(arrays, reading)
        return sketches


def plain(
    columns: Columns, block: Sequence[object], ignore_index: Any = None
) -> tuple[Array, Array, Floats | None]:
    """Return labels, predictions and weights of a partition, in the order of all partitions.

    Rows whose label is to be ignored have a weight of 0.

    They lose the names of their columns, which name classes in the light of all labels alone; an
    indicator matrix has its columns in the order of those of the predictions.
    """
    labels, proba, weight = align(*block)
    labels = _as_all("y_true", labels, columns.labels)
    y_true = read_numpy("y_true", labels.values)
    y_proba = _as_all("y_proba", proba, columns.proba).values
    if columns.order is not None and y_true.ndim == 2:
        y_true = y_true[:, columns.order]
    if len(y_true) != len(y_proba):
        raise bad_value(
            "y_true",
            f"{len(y_true)} labels",
            f"{len(y_proba)}, one per row of y_proba",
            "let partitions of the two hold the same rows",
        )
    return y_true, y_proba, weights_given(weight, len(y_true), ignore_index, labels, smallest=0)


def _as_all(argument: str, held: Held, said: Held | None) -> Held:
    """Return the columns of a partition in the order of all partitions, or raise."""
    if said is None:
        return held
    single = held.name is not None is not said.name
    found, known = ([each.name] if single else each.columns for each in (held, said))
    try:
        order = order_of_columns(known, found)
    except OtherColumnsError as error:
        raise bad_value(
            argument,
            columns_said(found),
            f"{columns_said(known, '')}, as the collection says",
            "let all partitions have the same columns",
        ) from error
    if order is None:
        return held
    return replace(
        held, values=namespace(held.values).take(held.values, like(order, held.values), axis=1)
    )


def summarise(plan: Plan, partition: int, block: Sequence[object]) -> Shard:
    """Return what a partition adds to the sketches."""
    sketches = plan.sketches()
    with held_warnings() as messages, located(partition):
        y_true, y_proba, weight = plain(plan.columns, block, plan.ignore_index)
        if len(y_true) > 0:
            update_together(sketches, y_true, y_proba, weight)
        counted = Counted()
        if plan.counted:
            counted = Counted.of(y_true, weight, plan.n_classes, plan.ignore_index)
    own = tuple((partition, message) for message in dict.fromkeys(messages))
    kind = sketches[0]._seen.reading.separate
    separate = frozenset[bool]() if kind is None else frozenset({kind})
    states = [sketch._state.arrays() for sketch in sketches]
    read = sketches[0]._seen.reading
    about = numbered_rows(block), counted, read.occurred, read.doubts, read.ruled_out, read.relation
    repeated = Repeated(frozenset(sketches[0]._seen.known.updates))
    return Shard(states, Notes(own, len(own)), separate, *about, repeated)


def join(plan: Plan, shards: Sequence[Shard]) -> Shard:
    """Add up what several parts add to the sketches."""
    states = [
        reduce(State.plus, (sketch._state for sketch in sketches)).arrays()
        for sketches in zip(*(shard.restored(plan) for shard in shards), strict=True)
    ]
    notes = reduce(Notes.plus, (shard.notes for shard in shards))
    separate = frozenset[bool]().union(*(shard.separate for shard in shards))
    numbered = tuple(pair for shard in shards for pair in shard.numbered)
    labels = Counted.joined([shard.labels for shard in shards], plan.n_classes)
    occurred = reduce(Occurred.plus, (shard.occurred for shard in shards))
    doubts = reduce(joined, (shard.doubts for shard in shards))
    ruled_out = reduce(ruled_out_by_both, (shard.ruled_out for shard in shards))
    relation = reduce(relation_of_both, (shard.relation for shard in shards))
    repeated = reduce(Repeated.plus, (shard.repeated for shard in shards))
    about = numbered, labels, occurred, doubts, ruled_out, relation
    return Shard(states, notes, separate, *about, repeated)


def names_in(most: int, ignore_index: Any, partition: int, block: Sequence[object]) -> list[Any]:
    """Return the different labels of a partition, but for those of rows that do not count."""
    y_true, *weights = block
    weight_name, labels_name = "sample_weight", "y_true"
    with located(partition):
        labels = hold(labels_name, y_true)
        values = read_values(labels)
        held = None
        for each in weights:
            held = in_order_of(hold(weight_name, each), labels, weight_name, labels_name).held
        weight = weights_given(held, len(values), ignore_index, labels, smallest=0)
        if weight is not None:
            values = values[weight > 0]
        return _few(most, set(values.ravel().tolist()))


def join_names(most: int, names: Sequence[Sequence[Any]]) -> list[Any]:
    """Return the different labels of several partitions."""
    return _few(most, set().union(*names))


def _few(most: int, names: set[Any]) -> list[Any]:
    # Too many are an error, which it takes no more than these to find.
    return sorted(names, key=repr)[:most]


def pick(
    columns: Columns, rows: npt.NDArray[np.intp], partition: int, block: Sequence[object]
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return some rows of a partition."""
    with located(partition):
        y_true, y_proba, _ = plain(columns, block)
        return y_true[rows], read_numpy("y_proba", y_proba)[rows]


@ignore_underflow
def choose(
    plan: Plan, pieces: Sequence[tuple[npt.NDArray[Any], npt.NDArray[Any]]]
) -> tuple[list[float], list[str]]:
    """Choose a bandwidth for each generator from rows; return them, and warnings."""
    y_true, y_proba = (np.concatenate(part) for part in zip(*pieces, strict=True))
    with located("the rows that the bandwidth is chosen from"), held_warnings():
        # What is to be said of the predictions is said of all of them, by their sketches.
        predictions = validate(
            y_true,
            y_proba,
            from_logits=plan.from_logits,
            labels=plan.labels,
            pos_label=plan.pos_label,
            link=plan.link,
        )
    with held_warnings() as messages:
        chosen = select_by_risk(
            as_notion(plan.notion).problems(predictions),
            as_kernel("dirichlet"),
            plan.generators,
            plan.algorithm,
        )
    return chosen, list(dict.fromkeys(messages))


@contextmanager
def located(place: int | str) -> Iterator[None]:
    """Let errors say which partition, or other set of rows, they are about."""
    where = place if isinstance(place, str) else f"partition {place}"
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{error} This is in {where}, counted from 0.") from error
