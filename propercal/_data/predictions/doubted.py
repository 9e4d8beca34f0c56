"""What no name decides of labels and predictions that were read: looked at, one after the other.

What is said of columns may be why rows seem to stand in another order, so that these are looked at
last, and only where nothing else is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
import numpy.typing as npt

from propercal._array import like, namespace, to_numpy
from propercal._data.classes.as_predicted import Agreement
from propercal._data.classes.columns import keys
from propercal._data.classes.from_zero import (
    are_in_doubt,
    evidence_of_shift,
    warn_of_no_zero,
    warn_of_shift,
)
from propercal._data.classes.labels import Classes
from propercal._data.classes.other_readings import (
    FLOOR,
    Doubted,
    doubt_class,
    doubt_columns,
    doubt_marks,
    evidence,
    some_rows_of,
)
from propercal._data.classes.ranks import doubt_first_choice, doubt_ranks
from propercal._data.inputs.held import Held
from propercal._data.inputs.reading import Names
from propercal._data.predictions.alignment import Aligned
from propercal._data.predictions.other_rows import doubt_rows, have_index_of_one
from propercal._data.predictions.own_rows import doubt_own_rows
from propercal._data.predictions.twice import doubt_softmax_twice
from propercal._data.predictions.unrelated import doubt_relation
from propercal._data.words.messages import held_warnings, warn
from propercal._data.words.of_choice import (
    say_right,
    says_one_of,
    says_percent,
    says_predicted,
)
from propercal._typing import Array

Used = npt.NDArray[np.bool_] | None


def doubt(
    values: tuple[Array, Array, Array | None],
    classes: Classes,
    used: Used,
    held: Aligned,
    names: Names,
    *,
    of_chunk: bool = False,
) -> None:
    """Say so if predictions do not go with how labels of rows that count were read.

    `values` are probabilities and their logarithms, and, of columns that are separate, those of
    what is left of 1. Of columns of a chunk nothing is said: all chunks tell of these together.
    """
    rows = have_index_of_one(held.labels, held.proba)
    if of_chunk and says_predicted(held.labels.name):
        counted = slice(None) if used is None else used
        _agreement(values, classes, counted).check_name(held.labels.name, names)
    if of_chunk and not rows:
        return
    with held_warnings() if of_chunk else nullcontext():
        said = _doubt_columns(values, classes, used, held, names)
    if rows and not said:
        said = doubt_rows(values[1:], classes, used, held, names)
    if not (said or of_chunk):
        _doubt_fit(values[1:], classes, used, names)


def _doubt_columns(
    values: tuple[Array, Array, Array | None],
    classes: Classes,
    used: Used,
    held: Aligned,
    names: Names,
) -> bool:
    """Say so, and tell, if predictions are rather of other classes, or none."""
    prob, log_prob, log_rest = values
    listed = classes.listed or held.proba.listed
    by_place = classes.by_order or listed
    rows = slice(None) if used is None else used
    said = False
    single = 1 in (held.proba.values.ndim, *held.proba.values.shape[1:])
    if log_rest is None and _may_be_ranks(classes, held, single=single):
        assert classes.codes is not None  # noqa: S101
        logs, codes = to_numpy(log_prob)[rows], classes.codes[rows]
        said = (
            doubt_first_choice(logs, codes, classes.names, names)
            if single
            else doubt_ranks(logs, codes, names)
        )
    if classes.in_doubt and log_rest is None and not said:
        zero = _has_zero_left_out(held.labels, used)
        said = _doubt_count(to_numpy(prob)[rows], classes, used, names, zero=zero)
    if by_place and not said:
        shape = held.labels.values.shape
        marks = len(shape) == 2 and shape[1] > 1
        columns = None if held.proba.listed else held.proba.columns
        doubted = Doubted(columns, listed, marks)
        said = _doubt_order(log_prob, log_rest, classes, used, doubted, names, held.proba.turned)
    unsaid = single and log_rest is None and leaves_class(classes, held.proba.name)
    if unsaid and not (held.proba.first or said):
        assert classes.codes is not None  # noqa: S101  # as its caller has seen
        occurred = classes.codes[rows] == 1
        name = held.proba.name
        said = doubt_class(to_numpy(prob)[rows, 1], occurred, classes.names, name, names) or said
    if single and log_rest is None and not said and says_percent(held.proba.name):
        said = _doubt_units(to_numpy(prob)[rows, 1], classes, rows, names)
    return said or _agreement(values, classes, rows).check(held.labels.name, names)


def _doubt_fit(
    both: tuple[Array, Array | None], classes: Classes, used: Used, names: Names
) -> None:
    """Warn where predictions of one class a row tell nothing of the labels, or were fitted to them.

    Nor are they probabilities where a softmax was applied twice.
    """
    log_prob, log_rest = both
    if log_rest is not None or classes.codes is None:
        return
    some = _some_rows(classes.n_samples, int(log_prob.shape[1]), used)
    label = classes.codes if some is None else classes.codes[some]
    logs = to_numpy(_taken(log_prob, some))
    if not (doubt_relation(logs, label, names) or doubt_softmax_twice(logs, label, names)):
        rows = slice(None) if used is None else used
        doubt_own_rows(to_numpy(log_prob)[rows], classes.codes[rows], names)


def _some_rows(n: int, k: int, used: Used) -> npt.NDArray[np.intp] | None:
    """Return as many rows that count as tell enough of k columns; None for all of n."""
    some = some_rows_of(n if used is None else int(used.sum()), k)
    if used is None:
        return some
    of_all = np.flatnonzero(used)
    return of_all if some is None else of_all[some]


def _taken(values: Array, rows: npt.NDArray[np.intp] | None) -> Array:
    return values if rows is None else namespace(values).take(values, like(rows, values), axis=0)


def _doubt_units(prob: npt.NDArray[Any], classes: Classes, rows: Any, names: Names) -> bool:
    """Warn, and tell, where a column that is called per cent is rather that than a probability."""
    assert classes.codes is not None  # noqa: S101  # of one column
    occurred = classes.codes[rows] == 1
    own, other = (np.where(occurred, each, 1 - each) for each in (prob, prob / 100))
    nats = evidence(own, other)
    if nats:
        warn(
            f"{names.proba} is called per cent, and labels are e^{nats:.0f} times as probable if "
            "its values are percentages, all of them below 1: divide it by 100 if they are."
        )
    return bool(nats)


def _agreement(values: tuple[Array, Array, Array | None], classes: Classes, rows: Any) -> Agreement:
    """Return whether predictions of rows are the labels or decisions, or labels the predictions."""
    prob, log_prob = (to_numpy(each)[rows] for each in values[:2])
    occurred = classes.indicator if classes.codes is None else classes.codes
    assert occurred is not None  # noqa: S101
    return Agreement.of(prob, log_prob, occurred[rows])


def _may_be_ranks(classes: Classes, held: Aligned, *, single: bool) -> bool:
    """Tell whether no name says that columns are classes, or one column that of a class."""
    if not single:
        return classes.by_order or classes.listed or held.proba.numbered
    return leaves_class(classes, held.proba.name) and not say_right(
        held.labels.name, *classes.names
    )


def leaves_class(classes: Classes, name: Any) -> bool:
    """Tell whether no name says of which class one column is: of words the caller has to say one.

    That may be the other one, as a list of columns may be in another order.
    """
    words = any(isinstance(each, str) for each in classes.names)
    return classes.unsaid or (words and not says_one_of(name, *classes.names))


def _has_zero_left_out(labels: Held, used: Used) -> bool:
    """Tell whether a row that does not count has the label 0, from which classes are counted."""
    values = to_numpy(labels.values)
    left = values[:0] if used is None or len(used) != len(values) else values[~used]
    return bool(left.dtype.kind in "iuf" and (left == 0).any())


def _doubt_count(
    prob: npt.NDArray[Any], classes: Classes, used: Used, names: Names, *, zero: bool
) -> bool:
    """Warn, and tell, where labels without a 0 may be counted from 1, unless others have a `zero`.

    It may be the label of no class, too.
    """
    assert classes.codes is not None  # noqa: S101
    label, k = classes.codes if used is None else classes.codes[used], prob.shape[1]
    occurring = set(label.tolist())
    if are_in_doubt(occurring, k) and not zero:
        return warn_of_no_zero(float(prob[:, 0].sum()), k, names.labels, names.proba)
    nats = evidence_of_shift(prob, label)
    return warn_of_shift(nats, occurring, k, names.labels, names.proba)


def _doubt_order(
    log_prob: Array,
    log_rest: Array | None,
    classes: Classes,
    used: Used,
    doubted: Doubted,
    names: Names,
    turned: Sequence[Any] | None = None,
) -> bool:
    """Warn, and tell, where columns are rather those of the classes in another order.

    `turned` are the names of columns in the order in which the caller has them.
    """
    marks = classes.indicator
    some = _some_rows(classes.n_samples, int(log_prob.shape[1]), used)
    log_prob = _taken(log_prob, some)
    log_rest = None if log_rest is None else _taken(log_rest, some)
    if log_rest is not None:
        assert marks is not None  # noqa: S101
        own, rest = (np.maximum(to_numpy(each), FLOOR) for each in (log_prob, log_rest))
        marks = marks if some is None else marks[some]
        return doubt_marks(own - rest, marks, doubted, classes.names, names)
    assert classes.codes is not None  # noqa: S101
    label = classes.codes if some is None else classes.codes[some]
    logs, said = to_numpy(log_prob), tuple(classes.names)
    if turned is not None and keys(turned) != keys(said):
        order = np.array([keys(said).index(each) for each in keys(turned)])
        logs, said, label = logs[:, order], tuple(turned), np.argsort(order)[label]
    return doubt_columns(logs, label, doubted, said, names)
