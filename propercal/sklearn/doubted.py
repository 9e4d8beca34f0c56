"""Predictions of displays, which contradict how their rows and columns are read: a warning.

They are told by their positions, which is why nothing else looks at what they say.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from propercal._data.classes.labels import Classes
from propercal._data.classes.one_column import OneColumn
from propercal._data.inputs.held import Held
from propercal._data.predictions.alignment import Aligned
from propercal._data.predictions.doubted import doubt
from propercal._data.rows.dimensions import of_rows
from propercal._data.words.tokens import key
from propercal.sklearn.responses import CALLED, Response

Floats = NDArray[np.floating[Any]]


def doubt_event(
    y_true: Any, y_prob: Any, read: tuple[NDArray[np.int64], Floats], pos_label: Any
) -> None:
    """Look at what occurred, and the probability of it, of one column; `pos_label` may be None."""
    occurred, prob = read
    labels, held = _held(y_true), _held(y_prob)
    said = pos_label is not None or OneColumn(None, None, held.name, CALLED).is_said(labels.name)
    classes = Classes(occurred, None, (0, 1), unsaid=not said)
    _look(np.stack([1 - prob, prob], axis=1), classes, labels, held)


def doubt_classes(
    y_true: Any, held: Held, codes: NDArray[np.int64], found: Response, *, listed: bool
) -> None:
    """Look at labels, as numbers of the columns of what was found in predictions that are held.

    These may stand in another order than columns that have the names of classes.
    """
    names = found.classes
    by_name = held.columns is not None and {*map(key, held.columns)} == {*map(key, names)}
    classes = Classes(
        codes,
        None,
        tuple(names),
        by_order=not (by_name or listed),
        listed=listed and not by_name,
    )
    _look(np.asarray(found.proba, dtype=np.float64), classes, _held(y_true), held)


def _held(values: Any) -> Held:
    return of_rows(CALLED.proba, values, CALLED, ())


def _look(prob: Floats, classes: Classes, labels: Held, held: Held) -> None:
    with np.errstate(divide="ignore", invalid="ignore"):
        log_prob = np.log(prob)
    doubt((prob, log_prob, None), classes, None, Aligned(labels, held, None), CALLED)
