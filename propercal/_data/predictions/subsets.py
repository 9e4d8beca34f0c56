"""Some of the rows of predictions, as if no others had been given."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from propercal._array import namespace, take_rows
from propercal._data.predictions.predictions import Predictions


def subset(predictions: Predictions, rows: npt.NDArray[np.intp]) -> Predictions:
    """Return some of the rows, by their numbers, with weights that sum to 1 again."""
    weight = take_rows(predictions.weight, rows)
    groups = n_groups = None
    if predictions.groups is not None:
        found, groups = np.unique(predictions.groups[rows], return_inverse=True)
        n_groups = len(found)
    return replace(
        predictions,
        prob=take_rows(predictions.prob, rows),
        log_prob=take_rows(predictions.log_prob, rows),
        rest=take_rows(predictions.rest, rows),
        log_rest=take_rows(predictions.log_rest, rows),
        label=take_rows(predictions.label, rows),
        weight=weight / namespace(weight).sum(weight),
        rows=predictions.rows[rows],
        groups=groups,
        n_groups=n_groups,
    )
