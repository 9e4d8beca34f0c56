"""How sure a model said to be of its first choice, and how often that was right."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from propercal._array import to_numpy
from propercal._data.predictions.notions import as_notion
from propercal._data.predictions.predictions import Predictions
from propercal._results.intervals import error_of_rows, half_width


class Confidence(NamedTuple):
    """Means over rows."""

    stated: float
    right: float
    interval: tuple[float, float]
    """Of the difference stated − right."""

    @property
    def gap(self) -> float:
        """By how much the model was too sure."""
        return self.stated - self.right

    @property
    def is_sure(self) -> bool:
        """Whether the gap is more than chance explains."""
        return self.interval[0] > 0 or self.interval[1] < 0


def stated_confidence(predictions: Predictions, confidence_level: float) -> Confidence:
    """Return the means of the first choice, which of answers is that in which one is sure."""
    of_answers = predictions.of_answers and predictions.n_classes == 2
    notion = as_notion("classwise" if of_answers else "top-label")
    *_, problem = notion.again(predictions)
    weight, right = to_numpy(problem.weight), to_numpy(problem.label) == 1
    stated = to_numpy(problem.prob)[:, 1]
    gap = stated - right
    half = half_width(error_of_rows(gap, weight, predictions.groups), confidence_level)
    mean = float(weight @ gap)
    # Of certain predictions a mean may miss 1 by rounding.
    shown = float(weight @ stated), float(weight @ right)
    said, was = (float(np.clip(each, 0.0, 1.0)) for each in shown)
    return Confidence(said, was, (mean - half, mean + half))
