"""Rows of an update → the problems of a monitor."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from propercal._array import namespace, no_gradient, to_numpy
from propercal._data.classes.labels import Classes
from propercal._data.dependence.blocks import times_in_order
from propercal._data.dependence.sorted_labels import doubt_order_of_time
from propercal._data.inputs.lazy_tables import check_ordered, collected
from propercal._data.predictions.predictions import Predictions
from propercal._data.predictions.probabilities import rounding
from propercal._data.words.advice import advises
from propercal._data.words.messages import bad_value, some_rows
from propercal.monitor.bets import log_sum
from propercal.monitor.repetition import digests_of
from propercal.monitor.settings import Settings
from propercal.monitor.state import Rows
from propercal.sketch.chunk_reading import read_rows
from propercal.sketch.convention import Convention

Floats = npt.NDArray[np.float64]

#: Of this logarithm of a probability, exponents times the number of rows stay finite.
_LEAST = -1e280


class Read(NamedTuple):
    """Rows as they were read."""

    rows: Rows
    reading: Convention
    classes: Classes
    occurred: npt.NDArray[np.int64]
    """(k,) how often each class occurred."""
    of_class_0: Floats
    """(n,) predicted probability of the first class."""
    digests: npt.NDArray[np.int64]
    """(n,) numbers that tell rows apart."""
    times: tuple[Any, Any] | None = None
    """Those of the first and the last row, if they have any."""


def refuse_weights(sample_weight: object) -> None:
    """Raise if there are any."""
    if sample_weight is not None:
        raise bad_value(
            "sample_weight",
            f"a {type(sample_weight).__name__}",
            "None, since a bet raised to the power of a weight gains on average also from a "
            "calibrated model",
            "pass each row that counts once, in the order of time",
        )


@advises("labels", "pos_label", "from_logits", "link", "notion", "first_row")
def read(y_true: object, y_proba: object, own: Settings, reading: Convention) -> Read | None:
    """Read rows as those before, or raise; None where there are none."""
    for argument, values in (("y_true", y_true), ("y_proba", y_proba)):
        check_ordered(argument, values, "rows in the order of time, in which bets are made")
    y_true, y_proba = collected(y_true, y_proba)
    index = times_in_order(y_true, y_proba)
    times = None if index is None or not len(index) else (index[0], index[-1])
    found = read_rows(
        y_true,
        y_proba,
        n_classes=own.n_classes,
        from_logits=own.from_logits,
        reading=reading,
        labels=own.labels,
        pos_label=own.pos_label,
        link=own.link,
    )
    if found is None:
        return None
    predictions, settled, _ = found
    doubt_order_of_time(
        predictions,
        "a bet on the next row then gains by the order, also from a calibrated model",
        "Pass rows in the order in which they came; of rows without one, in a random order.",
    )
    notion = own.reduction
    with no_gradient(predictions.prob):
        problems = list(notion.problems(predictions))
        if notion.whole and not own.from_logits:
            _check_sums(predictions)
        log_prob = np.stack([to_numpy(each.log_prob) for each in problems])
        label = np.stack([to_numpy(each.label) for each in problems]).astype(np.int64)
        occurred = np.array(
            [int(to_numpy(predictions.occurred(i)).sum()) for i in range(own.n_classes)]
        )
        of_class_0 = to_numpy(predictions.prob[:, 0])
    log_prob = log_prob.astype(np.float64) - log_sum(log_prob)[..., None]
    _check_size(log_prob, predictions)
    rows, classes = Rows(log_prob, label), predictions.classes
    return Read(rows, settled, classes, occurred, of_class_0, digests_of(rows), times)


def _check_size(log_prob: Floats, predictions: Predictions) -> None:
    """Raise where sums of logarithms of probabilities would overflow."""
    odd = np.flatnonzero((np.isfinite(log_prob) & (log_prob < _LEAST)).any(axis=(0, 2)))
    if odd.size:
        raise bad_value(
            predictions.names.proba,
            f"logits that differ by more than {-_LEAST:g} at {some_rows(predictions.given(odd))}",
            "sums of them that are finite",
            "use -inf for a probability of 0",
        )


def _check_sums(predictions: Predictions) -> None:
    """Raise where rows are no probabilities, from which no outcome is drawn."""
    sums = to_numpy(namespace(predictions.prob).sum(predictions.prob, axis=1))
    odd = np.flatnonzero(np.abs(sums - 1) > rounding(predictions.dtype))
    if odd.size:
        raise bad_value(
            predictions.names.proba,
            f"a sum of {float(sums[odd[0]]):.6g} at {some_rows(predictions.given(odd))}",
            "rows that sum to 1, since bets are against what they say",
            "divide each row by its sum if these are rounded probabilities",
        )
