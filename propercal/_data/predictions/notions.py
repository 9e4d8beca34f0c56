"""Notions of calibration: each turns validated predictions into problems the estimators can take.

An estimator sees only :class:`Problem`, a set of points on a simplex with one-hot labels. It never
learns which notion made it, and a notion never learns what is estimated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from propercal._array import namespace, no_gradient, to_numpy
from propercal._data.predictions.predictions import Predictions
from propercal._data.words.messages import bad_value, some_rows, unknown_name, warn
from propercal._typing import Array


@dataclass(frozen=True)
class Problem:
    """Points on a simplex with the class that occurred at each."""

    prob: Array
    """(n, k) predicted probabilities g, or points of another simplex that are to inform about the
    label (:mod:`propercal.information`): then their columns are not the classes."""
    log_prob: Array
    """Logarithms of ``prob``, −inf at 0, exact even where it underflows or rounds to 1."""
    label: Array
    """(n,) the class that occurred, 0 to k − 1."""
    weight: Array
    """(n,) sample weights that sum to 1."""
    uniform: bool
    """Whether all weights are equal."""
    n_classes: int
    """Number of classes k."""
    groups: npt.NDArray[np.int64] | None = None
    """(n,) number of the group of each row; None where rows are independent."""
    grouped_by: str = "groups"
    """The argument that says them."""
    is_event: bool = False
    """Whether the second column is that of an event, and the first that of its absence."""
    of_confidence: bool = False
    """Whether the event is that a chosen class occurs, so that a prediction claims more the more
    probable it makes the event."""


#: What to do where one column is a confidence in an answer, of which nothing is to be folded.
_LEAVE_OUT = 'Leave out notion="top-label" for confidences as they are.'

Problems = Iterable[Problem]
"""The problems of a notion, which can be gone through more than once."""


@dataclass(frozen=True)
class Notion:
    """A reduction to problems, and how their conditional means are put together again."""

    name: str
    reduce: Callable[[Predictions], Iterator[Problem]]
    """Yields the problems one by one: those of many classes would not fit into memory together."""
    join: Callable[[Sequence[Array]], Array]
    per_class: bool = False
    """Whether there is a problem for each class."""
    whole: bool = False
    """Whether a problem has all classes, rather than whether an event occurred."""
    of_choice: bool = False
    """Whether the event is that the first choice occurred."""

    def problems(self, predictions: Predictions, otherwise: str = _LEAVE_OUT) -> Problems:
        """Return the problems of predictions, made anew whenever they are gone through.

        What they take for right that may not be is said, and what to do `otherwise`: once, as what
        goes through them again takes :meth:`again`.
        """
        if self.of_choice:
            _warn_of_other_choice(predictions, otherwise)
        return _Problems(self, predictions)

    def again(self, predictions: Predictions) -> Problems:
        """Return the problems of predictions of which all has been said, or nothing is to be."""
        return _Problems(self, predictions)

    def n_problems(self, n_classes: int) -> int:
        """Return the number of problems."""
        return n_classes if self.per_class else 1

    def n_outcomes(self, n_classes: int) -> int:
        """Return the number of classes of a problem."""
        return n_classes if self.whole else 2


@dataclass(frozen=True)
class _Problems:
    notion: Notion
    predictions: Predictions

    def __iter__(self) -> Iterator[Problem]:
        return self.notion.reduce(self.predictions)

    def __len__(self) -> int:
        return self.notion.n_problems(self.predictions.n_classes)


def _canonical(predictions: Predictions) -> Iterator[Problem]:
    if predictions.multilabel:
        raise _needs_one_class("canonical", predictions)
    yield Problem(
        predictions.prob,
        predictions.log_prob,
        predictions.label,
        predictions.weight,
        predictions.uniform,
        predictions.n_classes,
        predictions.groups,
        predictions.grouped_by,
    )


def _classwise(predictions: Predictions) -> Iterator[Problem]:
    for i in range(predictions.n_classes):
        yield _event_problem(predictions, i, predictions.occurred(i))


def _top_label(predictions: Predictions) -> Iterator[Problem]:
    if predictions.multilabel:
        raise _needs_one_class("top-label", predictions)
    top = predictions.top
    yield replace(_event_problem(predictions, top, predictions.label == top), of_confidence=True)


def _warn_of_other_choice(predictions: Predictions, otherwise: str) -> None:
    """Say so if labels are whether an answer was right, and some rows are read as that it was not.

    Of the classes of a model the probability of the first choice is not below ½.
    """
    if not predictions.of_answers or predictions.n_classes != 2 or predictions.multilabel:
        return
    with no_gradient(predictions.prob):
        below = np.flatnonzero(to_numpy(predictions.prob)[:, 1] < 0.5)
    if len(below):
        called = predictions.names
        warn(
            f"{called.labels} says whether an answer was right, by its name, and {called.proba} is "
            f"below ½ at {some_rows(predictions.given(below))}: read there as 1 − p for its being "
            f"wrong, the first choice of two. {otherwise}"
        )


def _event_problem(predictions: Predictions, column: int | Array, occurred: Array) -> Problem:
    """Make the binary problem "did the event occur" on pairs (1 − p, p)."""
    xp = namespace(predictions.prob)
    prob, log_prob = predictions.event(column)
    return Problem(
        prob,
        log_prob,
        xp.astype(occurred, xp.int64),
        predictions.weight,
        predictions.uniform,
        2,
        predictions.groups,
        predictions.grouped_by,
        is_event=True,
    )


def _needs_one_class(notion: str, predictions: Predictions) -> ValueError:
    if predictions.classes.codes is not None:
        sums = namespace(predictions.prob).sum(predictions.prob, axis=1)
        return bad_value(
            predictions.names.proba,
            f"rows that sum to {float(sums.min()):.6g} to {float(sums.max()):.6g}",
            f"rows that sum to 1 for notion={notion!r}",
            'normalise them, or use notion="classwise" if the columns are separate problems',
        )
    return bad_value(
        predictions.names.labels,
        "an indicator matrix whose rows do not all mark exactly one class",
        f"one class per row for notion={notion!r}",
        'score each column by itself, or use notion="classwise", for multi-label predictions',
    )


def _only(means: Sequence[Array]) -> Array:
    return means[0]


def _event(means: Sequence[Array]) -> Array:
    return means[0][:, 1]


def _columns(means: Sequence[Array]) -> Array:
    return namespace(means[0]).stack([mean[:, 1] for mean in means], axis=1)


_NOTIONS = {
    notion.name: notion
    for notion in (
        Notion("canonical", _canonical, _only, whole=True),
        Notion("classwise", _classwise, _columns, per_class=True),
        Notion("top-label", _top_label, _event, of_choice=True),
    )
}


def as_notion(notion: object) -> Notion:
    """Return a notion, or the one of a name; raise with the nearest valid name."""
    if isinstance(notion, Notion):
        return notion
    if not isinstance(notion, str) or notion not in _NOTIONS:
        raise unknown_name("notion", notion, _NOTIONS)
    return _NOTIONS[notion]
