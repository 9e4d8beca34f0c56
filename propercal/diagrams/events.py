"""One event of a prediction: how probable it was said to be, and whether it occurred."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple, Unpack

import numpy as np
import numpy.typing as npt

from propercal._array import to_numpy
from propercal._data.dependence.blocks import check_all_series
from propercal._data.dependence.group_names import exact
from propercal._data.dependence.groups import check_groups, validate_groups
from propercal._data.inputs.lazy_tables import collected
from propercal._data.inputs.reading import Names, check_scalar
from propercal._data.predictions.notions import Notion, as_notion
from propercal._data.predictions.predictions import Predictions, Reading
from propercal._data.predictions.several_models import align_models
from propercal._data.rows.layout import Layout
from propercal._data.words.messages import bad_value, some_names
from propercal._data.words.tokens import key

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

#: What says which dimension or axis is which.
_LAYOUT = ("class_axis", "class_dim", "sample_dims")
#: What a single prediction without a name is called.
_ALONE = "model"


class Event(NamedTuple):
    """Rows of one yes-or-no question."""

    prob: Floats
    """(n, 2) probabilities that it does not occur, and that it does."""
    log_prob: Floats
    """(n, 2) their logarithms."""
    occurred: npt.NDArray[np.bool_]
    """(n,) whether it did."""
    weight: Floats
    """(n,) weights that sum to 1."""
    uniform: bool
    """Whether all weights are equal."""
    groups: Integers | None
    """(n,) number of the group of each row; None where rows are independent."""
    n_groups: int | None
    """Number of groups that were given."""
    name: Any
    """The class whose occurrence is the event; None for the most probable one."""
    notion: str
    n_classes: int
    """Number of classes that were predicted."""
    classes: Predictions
    """Rows of all classes, one or more of which are the event."""
    occurring: int | Integers
    """The class whose occurrence is the event, of all rows or each."""

    @property
    def predicted(self) -> Floats:
        """(n,) predicted probability of the event."""
        return self.prob[:, 1]

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return len(self.occurred)

    @property
    def base_rate(self) -> float:
        """Weighted share of rows in which the event occurred."""
        if self.occurred.all() or not self.occurred.any():
            return float(self.occurred[0])
        return float(self.occurred.mean() if self.uniform else self.weight @ self.occurred)

    @property
    def words(self) -> str:
        """What the event is called on an axis."""
        return "the top class" if self.name is None else f"class {self.name}"


def read_event(
    y_true: object,
    y_proba: object,
    *,
    notion: str | Notion | None,
    event: object,
    groups: object = None,
    blocks: object = None,
    **reading: Unpack[Reading],
) -> Event:
    """Read data, and choose the event."""
    chosen = None if notion is None else as_notion(notion)
    predictions = validate_groups(
        y_true,
        y_proba,
        groups=groups,
        blocks=blocks,
        one_class=_one_class(chosen, event),
        **reading,
    )
    return _event(predictions, chosen, event)


def read_models(
    y_true: object,
    predictions: object,
    *,
    notion: str | Notion | None,
    event: object,
    groups: object = None,
    blocks: object = None,
    **reading: Unpack[Reading],
) -> dict[str, Event]:
    """Read one prediction, or several by name, of the same rows and the same event."""
    if not isinstance(predictions, Mapping):
        given: dict[str, Any] = {"notion": notion, "event": event, **reading}
        return {_ALONE: read_event(y_true, predictions, groups=groups, blocks=blocks, **given)}
    chosen = None if notion is None else as_notion(notion)
    models = _check_names(predictions)
    names = {each: Names(proba=f"predictions[{each!r}]", model=each) for each in models}
    rows = _aligned(y_true, models, names, groups, blocks, reading)
    # Rows that were aligned have neither dimensions nor axes any more.
    told = {"sample_weight"} if len(models) == 1 else {"sample_weight", *_LAYOUT}
    plain: Any = {name: value for name, value in reading.items() if name not in told}
    found = {}
    for each, (labels, proba, weight, of_groups) in rows.items():
        read = validate_groups(
            labels,
            proba,
            sample_weight=weight,
            groups=of_groups,
            blocks=blocks,
            one_class=_one_class(chosen, event),
            names=names[each],
            **plain,
        )
        found[each] = _event(read, chosen, event)
    _check_same_event(found)
    return found


def _one_class(notion: Notion | None, event: object) -> bool:
    return event is None and (notion is None or not notion.per_class)


def _check_names(predictions: Mapping[Any, Any]) -> dict[str, Any]:
    names = list(predictions)
    if not names or not all(isinstance(each, str) for each in names):
        raise bad_value(
            "predictions",
            f"a mapping with the keys {names!r}",
            "one name or more, each a string, with the predictions of that model",
            'pass {"a": proba_a, "b": proba_b}',
        )
    return dict(predictions)


def _aligned(
    y_true: object,
    models: Mapping[str, object],
    names: Mapping[str, Names],
    groups: object,
    blocks: object,
    reading: Reading,
) -> dict[str, tuple[object, object, object, object]]:
    """Bring rows and columns of all models, weights and groups into the order of the first."""
    check_groups(groups, blocks, y_true, *models.values())
    layout = Layout(*(reading.get(each) for each in _LAYOUT))  # type: ignore[arg-type]
    y_true, weight, groups, *given = collected(
        y_true, reading.get("sample_weight"), exact("groups", groups), *models.values()
    )
    models = dict(zip(models, given, strict=True))
    if len(models) == 1:
        return {name: (y_true, each, weight, groups) for name, each in models.items()}
    called = [names[each] for each in models]
    check_all_series(blocks, y_true, given, layout, called, weight)
    listed = reading.get("labels")
    rows = align_models(y_true, given, weight, layout=layout, called=called, labels=listed)
    of_groups: Any = None
    if groups is not None:
        beside = [replace(each, weight="groups") for each in called]
        of_groups = align_models(
            y_true, given, groups, layout=layout, called=beside, labels=listed
        )[0].weight
    return {
        name: (held.labels, held.proba, held.weight, of_groups)
        for name, held in zip(models, rows, strict=True)
    }


def _check_same_event(found: Mapping[str, Event]) -> None:
    """Refuse models that are asked different questions."""
    (first, one), *others = found.items()
    for name, each in others:
        if (each.n_classes, each.name) != (one.n_classes, one.name):
            raise bad_value(
                f"predictions[{name!r}]",
                f"{each.n_classes} classes, the event being {each.words}",
                f"{one.n_classes} and {one.words}, as in predictions[{first!r}]",
                "compare models of the same classes",
            )
        if len(each.occurred) != len(one.occurred) or (each.occurred != one.occurred).any():
            raise bad_value(
                "event",
                "None",
                f"one event for all models: that of predictions[{first!r}] occurs in other rows "
                f"than that of predictions[{name!r}]",
                "choose a class by event=, since the most probable one differs between models",
            )


def _event(predictions: Predictions, notion: Notion | None, event: object) -> Event:
    """Return the event's rows: a column, the second of two classes, or the top label."""
    k = predictions.n_classes
    if notion is not None and notion.whole:
        raise bad_value(
            "notion",
            repr(notion.name),
            "'top-label', 'classwise', or None",
            "a diagram asks how often one event occurs: choose a class by event=",
        )
    if event is not None:
        event = column_of(predictions.classes.names, event)
    if event is not None and notion is not None and not notion.per_class:
        raise bad_value(
            "event",
            repr(event),
            f"None beside notion={notion.name!r}, whose event is another one",
            "leave one of the two out",
        )
    if event is None and notion is None and k == 2 and not predictions.multilabel:
        event = 1
    if event is None and notion is not None and notion.per_class:
        raise bad_value("event", "None", f"a column from 0 to {k - 1}", "choose one class to draw")
    reduction = as_notion("top-label" if event is None else "classwise")
    i = 0 if event is None else event
    problem = next(islice(iter(reduction.problems(predictions)), i, None))
    return Event(
        to_numpy(problem.prob),
        to_numpy(problem.log_prob),
        to_numpy(problem.label) == 1,
        to_numpy(problem.weight),
        problem.uniform,
        problem.groups,
        predictions.n_groups,
        None if event is None else predictions.classes.names[i],
        reduction.name,
        k,
        predictions,
        to_numpy(predictions.log_prob).argmax(axis=1) if event is None else int(event),
    )


def column_of(names: Sequence[Any], event: Any, argument: str = "event") -> int:
    """Return the column of an event, which is counted from 0, or named in words, or raise."""
    k = len(names)
    check_scalar(argument, event)
    named = [i for i, name in enumerate(names) if key(name) == key(event)]
    if isinstance(event, str) and len(named) == 1:
        return named[0]
    whole = isinstance(event, int | np.integer) and not isinstance(event, bool)
    if not whole or not 0 <= event < k:
        raise bad_value(
            argument,
            repr(event),
            f"a column from 0 to {k - 1}, or one of the classes {some_names(names)} in words",
            "columns are counted from 0",
        )
    if named and named != [event]:
        raise bad_value(
            argument,
            repr(event),
            f"to know whether column {event} is meant, of class {names[event]}, or class {event}",
            f"pass {str(names[event])!r} or {str(event)!r}, the name of the class, as {argument}",
        )
    return int(event)
