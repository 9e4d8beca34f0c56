"""Checked predictions: one clean set from data as users have it, or one clear error.

Everything after this file may assume: n ≥ 2 rows of k ≥ 2 finite probabilities in double
precision with their exact logarithms, class numbers, and positive weights that sum to 1.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypedDict

import numpy as np
import numpy.typing as npt

from propercal._array import like, namespace, read_only
from propercal._data.classes.columns import check_logits, warn_of_zeros
from propercal._data.classes.labels import Classes, check_beside, read_labels
from propercal._data.inputs.held import Held, as_given
from propercal._data.inputs.masks import check_masked, filled
from propercal._data.inputs.reading import USUAL_NAMES, Names
from propercal._data.inputs.settings import check_flag
from propercal._data.predictions.alignment import Aligned, align
from propercal._data.predictions.doubted import doubt
from propercal._data.predictions.lengths import check_lengths
from propercal._data.predictions.links import check_link, chosen_link
from propercal._data.predictions.logarithms import check_logits_by_values, check_logits_of_names
from propercal._data.predictions.parts import (
    Parts,
    from_logits_of,
    from_probabilities,
    is_top,
    log1m,
)
from propercal._data.predictions.probabilities import (
    check_one_column,
    read_columns,
    read_sums,
    within_range,
)
from propercal._data.predictions.weights import normalised, weights_given
from propercal._data.rows.layout import Layout
from propercal._data.words.of_choice import say_answers
from propercal._typing import Array


@dataclass(frozen=True)
class Predictions:
    """Validated predictions and what occurred, in double precision on the caller's device."""

    prob: Array
    """(n, k) predicted probabilities."""
    log_prob: Array
    """(n, k) their logarithms, −inf at 0; from logits, exact where ``prob`` rounds."""
    rest: Array
    """(n,) probability of all classes but the most probable one, exact near 0 where rows sum to 1;
    where the columns are separate problems, (n, k) the probability that each does not occur."""
    log_rest: Array
    """Logarithm of ``rest``."""
    classes: Classes
    """The labels as they were read."""
    label: Array
    """(n,) class numbers (all 0 in multi-label problems, where only ``occurred`` is defined)."""
    weight: Array
    """(n,) sample weights that sum to 1."""
    uniform: bool
    """Whether all weights are equal."""
    rows: Array
    """(n,) NumPy positions in the caller's data (rows of weight 0 are left out)."""
    multilabel: bool
    """Whether the columns are separate yes-or-no problems."""
    dtype: Any
    """The caller's floating dtype, in which results are returned."""
    names: Names = USUAL_NAMES
    """What the caller calls the data."""
    places: npt.NDArray[np.intp] | None = None
    """Where rows were in ``y_proba`` before they were aligned; None where they stand as given."""
    groups: npt.NDArray[np.int64] | None = None
    """(n,) the number of the group of each row, if rows of some depend on each other."""
    n_groups: int | None = None
    """Number of groups, if any were given."""
    grouped_by: str = "groups"
    """The argument that says them, such as blocks."""
    index: Any = None
    """A pandas index of all rows that were read, of predictions or else of labels, if any."""
    in_any_order: bool = False
    """Whether nobody knows in which order rows were read, of a lazy table."""
    repeated: bool = False
    """Whether rows were found to repeat each other, and no groups given."""
    of_answers: bool = False
    """Whether labels are named as whether an answer was right."""

    def given(self, rows: Any) -> npt.NDArray[np.intp]:
        """Return the numbers that some of these rows had in the caller's ``y_proba``.

        They are −1 of rows whose order nobody knows.
        """
        if self.in_any_order:
            return np.full(len(self.rows[rows]), -1)
        return np.sort(as_given(self.rows[rows], self.places))

    @property
    def n_samples(self) -> int:
        """Number of rows n."""
        return int(self.prob.shape[0])

    @property
    def n_classes(self) -> int:
        """Number of classes k."""
        return int(self.prob.shape[1])

    def occurred(self, i: int) -> Array:
        """(n,) whether class `i` occurred."""
        if self.classes.indicator is None:
            return self.label == i
        return like(self.classes.indicator[self.rows, i], self.prob)

    @cached_property
    def top(self) -> Array:
        """(n,) the first most probable class; logarithms tell apart what rounds to a tie."""
        return namespace(self.log_prob).argmax(self.log_prob, axis=1)

    def complement(self) -> tuple[Array, Array]:
        """Return 1 − p and log(1 − p), both (n, k), without cancellation where p is near 1.

        Only the most probable class can come near 1, and there 1 − p is the sum of the others
        wherever rows sum to 1.
        """
        if self.multilabel:
            return self.rest, self.log_rest
        return self._without(self.prob, is_top(self.log_prob), (slice(None), None))

    def event(self, column: int | Array) -> tuple[Array, Array]:
        """Return (n, 2) 1 − p and p of a class, or of one for each row, and their logarithms."""
        xp = namespace(self.prob)

        def pick(values: Array) -> Array:
            if isinstance(column, int):
                return values[:, column]
            return xp.take_along_axis(values, column[:, None], axis=1)[:, 0]

        prob, log_prob = pick(self.prob), pick(self.log_prob)
        if self.multilabel:
            rest, log_rest = pick(self.rest), pick(self.log_rest)
        else:
            rest, log_rest = self._without(prob, self.top == column, slice(None))
        return xp.stack([rest, prob], axis=1), xp.stack([log_rest, log_prob], axis=1)

    def _without(self, prob: Array, top: Array, shape: Any) -> tuple[Array, Array]:
        """Return 1 − p and its logarithm of entries that are the top of their row, or not."""
        xp = namespace(prob)
        # Two may exceed ½ where rows do not sum to 1.
        near_one = (prob > 0.5) & top
        return (
            xp.where(near_one, self.rest[shape], 1 - prob),
            xp.where(near_one, self.log_rest[shape], log1m(prob)),
        )


class Reading(TypedDict, total=False):
    """Keyword arguments that say how data are to be read, as in :func:`propercal.decompose`."""

    from_logits: bool
    sample_weight: object
    labels: Sequence[Any] | None
    pos_label: Any
    link: str | None
    ignore_index: Any
    class_axis: int | None
    class_dim: Hashable | None
    sample_dims: Hashable | Sequence[Hashable] | None


def validate(
    y_true: object,
    y_proba: object,
    *,
    from_logits: bool = False,
    sample_weight: object = None,
    labels: Sequence[Any] | None = None,
    pos_label: Any = None,
    link: str | None = None,
    ignore_index: Any = None,
    class_axis: int | None = None,
    class_dim: Hashable | None = None,
    sample_dims: Hashable | Sequence[Hashable] | None = None,
    one_class: bool = False,
    keep_weightless: bool = False,
    made_up: bool = False,
    smallest: int = 2,
    names: Names = USUAL_NAMES,
) -> Predictions:
    """Check all data arguments together and bring them into one form.

    `one_class` says that rows mark one class each, so that there is no sigmoid of several columns;
    `keep_weightless` keeps rows of weight 0, which then count as targets but not as sources;
    `made_up` says that labels are those of no rows, and tell nothing of predictions;
    `smallest` is the least number of rows; `names` is what errors call the arguments.
    """
    check_flag("from_logits", from_logits)
    check_link(link, from_logits)
    layout = Layout(class_axis, class_dim, sample_dims)
    held = _aligned((y_true, y_proba), sample_weight, ignore_index, layout, names)
    n = check_lengths(held.labels, held.proba, names)
    given = weights_given(held.weight, n, ignore_index, held.labels, smallest, names)
    used = None if given is None or (given > 0).all() else given > 0
    check_masked((y_true, y_proba), (held.labels, held.proba), used, class_axis, names)
    values, dtype = read_columns(
        held.proba, from_logits, smallest, names, None if keep_weightless else used
    )
    n_columns = values.shape[1]
    classes = read_labels(
        held.labels,
        max(2, n_columns),
        labels=labels,
        proba=held.proba,
        pos_label=pos_label,
        used=used,
        ignore_index=ignore_index,
        called=names,
    )
    check_beside(classes, n_columns, names)
    if from_logits and labels is None:
        check_logits(classes, held.proba, names, are_all=smallest > 1)
    classes, (prob, log_prob, rest, log_rest), multilabel = _read_rows(
        values, dtype, classes, link if from_logits else "", one_class, smallest, names, held.proba
    )
    of_weight = names.weight, None if held.weight is None else held.weight.places
    weight, uniform, keep = normalised(given, n, prob, keep_weightless, smallest, *of_weight)
    predictions = Predictions(
        prob=read_only(prob),
        log_prob=read_only(log_prob),
        rest=rest,
        log_rest=log_rest,
        classes=classes,
        label=like(np.zeros(n, dtype=np.int64) if classes.codes is None else classes.codes, prob),
        weight=weight,
        uniform=uniform,
        multilabel=multilabel,
        dtype=dtype,
        names=names,
        **_where(held, n, classes),
    )
    if smallest > 1 and not from_logits and labels is None:
        warn_of_zeros(held.proba.columns, classes, prob, held.labels, names)
    if (multilabel or classes.codes is not None) and not made_up:
        values_read = prob, log_prob, log_rest if multilabel else None
        doubt(values_read, classes, used, held, names, of_chunk=smallest < 2)
    return predictions if keep is None else _take(predictions, keep)


def _aligned(
    data: tuple[object, object], weight: object, ignore_index: Any, layout: Layout, names: Names
) -> Aligned:
    """Return labels, predictions and weights; rows that are ignored may lack values."""
    labels, proba = data if ignore_index is None else filled(*data)
    return align(labels, proba, weight, layout=layout, called=names)


def _where(held: Aligned, n: int, classes: Classes) -> dict[str, Any]:
    """Say where rows stood, and what the caller calls them."""
    answers = say_answers(held.labels.name, classes.names)
    index = held.labels.rows if held.proba.rows is None else held.proba.rows
    places = held.proba.places
    return {"rows": np.arange(n), "places": places, "index": index, "of_answers": answers}


def _read_rows(
    values: Array,
    dtype: Any,
    classes: Classes,
    link: str | None,
    one_class: bool,
    smallest: int,
    names: Names,
    proba: Held,
) -> tuple[Classes, Parts, bool]:
    """Read logits (`link` is not empty) or probabilities, and tell whether columns are separate."""
    if link == "":
        if values.shape[1] == 1 and smallest > 1:
            check_one_column(values, classes, names)
        sums_to_1, multilabel = read_sums(values, dtype, classes, smallest, names, proba)
        values = within_range(values, names, proba)
        return classes, from_probabilities(values, multilabel, sums_to_1), multilabel
    sigmoid = chosen_link(link, int(values.shape[1]), classes, one_class, names) == "sigmoid"
    multilabel = sigmoid and (values.shape[1] > 1 or classes.codes is None)
    if multilabel and classes.indicator is None:
        assert classes.codes is not None  # noqa: S101
        marked = classes.codes[:, None] == np.arange(values.shape[1])
        classes = classes._replace(codes=None, indicator=marked)
    elif multilabel:
        classes = classes._replace(codes=None)
    check_logits_of_names(proba, values, sigmoid, names)
    check_logits_by_values(values, dtype, classes, sigmoid, names)
    return classes, from_logits_of(values, multilabel), multilabel


def _take(predictions: Predictions, keep: Array) -> Predictions:
    """Keep some rows."""
    xp = namespace(predictions.prob)
    index = like(keep, predictions.prob)
    names = ("prob", "log_prob", "rest", "log_rest", "label", "weight")
    taken = {name: xp.take(getattr(predictions, name), index, axis=0) for name in names}
    kept = replace(predictions, rows=predictions.rows[keep], **taken)
    return replace(kept, uniform=bool(xp.all(kept.weight == kept.weight[0])))
