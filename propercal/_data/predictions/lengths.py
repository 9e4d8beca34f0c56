"""Lengths of labels and predictions, which are compared before anything else is read."""

from __future__ import annotations

from propercal._data.inputs.held import Held
from propercal._data.inputs.reading import Names
from propercal._data.words.messages import bad_value

Shape = tuple[int, ...]


def check_lengths(labels: Held, proba: Held, called: Names) -> int:
    """Return the number of rows of predictions, or raise unless there are as many labels.

    The error says what would fit.
    """
    own, wanted = tuple(labels.values.shape), tuple(proba.values.shape)
    odd = not {len(own), len(wanted)} <= {1, 2} or 0 in wanted
    if odd or own[0] == wanted[0]:
        # What has no rows, or other axes, is named where it is read.
        return wanted[0] if wanted else 0
    raise bad_value(
        called.labels,
        f"{own[0]} labels{_of_shape(own)}",
        f"{wanted[0]}, one per row of {called.proba}{_of_shape(wanted)}",
        _what_fits(own, wanted, called),
    )


def _of_shape(shape: Shape) -> str:
    return f" of shape {shape}" if len(shape) == 2 else ""


def _what_fits(own: Shape, wanted: Shape, called: Names) -> str:
    """Say what has as many rows as the other: a transpose, or what was flattened."""
    rows_of_proba, rows_of_labels = wanted[1:] == own[:1], own[1:] == wanted[:1]
    if rows_of_proba and not (rows_of_labels and own[0] < own[1]):
        return f"pass the transpose of {called.proba}, which has a row for each label"
    if rows_of_labels:
        return f"pass the transpose of {called.labels}, which has a row for each prediction"
    both = (called.proba, wanted, own[0]), (called.labels, own, wanted[0])
    for name, (size, *columns), n in both:
        if columns in ([], [1]) and n > 1 and size % n == 0:
            return f"pass {name} of shape ({n}, {size // n}) if it was flattened, or align the two"
    return "align the two"
