"""The event whose probability is checked: a class, or that the first choice is right."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from propercal._array import to_numpy
from propercal._data.inputs.reading import check_scalar
from propercal._data.predictions.notions import Notion, Problem, as_notion
from propercal._data.predictions.predictions import Predictions
from propercal._data.words.messages import bad_value, some_names, some_rows
from propercal._data.words.tokens import key

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Event:
    """Predicted probabilities of an event, and where it occurred."""

    name: str
    """In words."""
    prob: Floats
    """(n,) of the event."""
    log_odds: Floats
    """(n,) exact where probabilities round to 1; infinite for certainty."""
    occurred: Floats
    """(n,) 0 or 1."""
    weight: Floats
    """(n,) of sum 1."""
    predictions: Predictions

    @property
    def groups(self) -> npt.NDArray[np.int64] | None:
        """(n,) number of the group of each row, if rows of some depend on each other."""
        return self.predictions.groups

    def check_finite(self, why: str) -> None:
        """Refuse predictions of certainty."""
        certain = np.isinf(self.log_odds)
        if certain.any():
            raise bad_value(
                self.predictions.names.proba,
                f"probabilities of exactly 0 or 1 at {some_rows(self.predictions.given(certain))}",
                f"probabilities between 0 and 1: {why}",
                "correct them if they are rounded, pass logits with from_logits=True if these are "
                "known, or leave these rows out and say so",
            )

    def check_both(self) -> None:
        """Refuse data in which the event always occurs, or never."""
        if self.occurred.min() == self.occurred.max():
            found = "always" if self.occurred[0] else "never"
            raise bad_value(
                self.predictions.names.labels,
                f"labels by which {self.name} {found} occurs",
                "rows of both outcomes",
                "nothing can be fitted to one outcome alone; collect more rows",
            )


def event_of(predictions: Predictions, notion: Notion, event: Any) -> Event:
    """Return the event that is asked for, or raise where that is not clear."""
    if event is not None:
        if not (notion.whole or notion.per_class):
            raise bad_value(
                "event",
                repr(event),
                f"None with notion={notion.name!r}, whose event is that the first choice is right",
                "leave one of the two out",
            )
        i = _number(predictions, event)
        problem = next(islice(as_notion("classwise").problems(predictions), i, None))
        return _of(f"class {predictions.classes.names[i]}", problem, predictions)
    k = predictions.n_classes
    if k == 2 and not predictions.multilabel:
        *_, problem = notion.problems(predictions)
        name = f"class {predictions.classes.names[1]}"
        return _of(_TOP if problem.of_confidence else name, problem, predictions)
    if notion.n_outcomes(k) > 2 or notion.n_problems(k) > 1:
        raise bad_value(
            predictions.names.proba,
            f"{k} classes",
            "two, or an event of which there are two outcomes",
            f"pass event=... for one of {some_names(predictions.classes.names)} against the rest, "
            'or notion="top-label" for whether the first choice is right',
        )
    (problem,) = notion.problems(predictions)
    return _of(_TOP, problem, predictions)


_TOP = "a right first choice"


def _of(name: str, problem: Problem, predictions: Predictions) -> Event:
    log_prob = to_numpy(problem.log_prob)
    return Event(
        name,
        to_numpy(problem.prob)[:, 1],
        log_prob[:, 1] - log_prob[:, 0],
        (to_numpy(problem.label) == 1).astype(np.float64),
        to_numpy(problem.weight),
        predictions,
    )


def _number(predictions: Predictions, event: Any) -> int:
    names = predictions.classes.names
    check_scalar("event", event)
    found = [i for i, name in enumerate(names) if key(name) == key(event)]
    if len(found) != 1:
        raise bad_value(
            "event",
            repr(event),
            f"one of the classes {some_names(names)}",
            "pass the name of the class as the labels have it",
        )
    return found[0]
