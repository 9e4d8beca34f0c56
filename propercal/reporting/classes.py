"""What each class adds to the class-wise calibration error."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from propercal._array import to_numpy
from propercal._data.predictions.notions import Problem, as_notion
from propercal._data.predictions.predictions import Predictions
from propercal._methods.completion import decompositions
from propercal._methods.method import Method
from propercal._progress import steps
from propercal.generators.base import BregmanGenerator


class ClassPart(NamedTuple):
    """One class against the rest."""

    number: int
    """Its column."""
    share: float
    """Of the rows in which it occurred, by weight."""
    predicted: float
    """Its mean probability."""
    error: float
    """What it adds to the class-wise calibration error, which is the sum of these."""
    interval: tuple[float, float] | None
    n_occurred: int


def class_parts(
    predictions: Predictions, method: Method, generator: BregmanGenerator, confidence_level: float
) -> list[ClassPart]:
    """Return the parts of all classes, in the order of the columns."""
    k = predictions.n_classes
    problems = steps(as_notion("classwise").problems(predictions))
    return [
        _part(i, problem, k, predictions, method, generator, confidence_level)
        for i, problem in enumerate(problems)
    ]


def _part(
    i: int,
    problem: Problem,
    k: int,
    predictions: Predictions,
    method: Method,
    generator: BregmanGenerator,
    confidence_level: float,
) -> ClassPart:
    alone = replace(as_notion("top-label"), name="one class", reduce=lambda _: iter([problem]))
    (_, found) = decompositions(predictions, alone, method, [generator], confidence_level)[0]
    weight, occurred = to_numpy(problem.weight), to_numpy(problem.label) == 1
    value = float(to_numpy(found.calibration_error))
    interval = None
    if math.isfinite(value) and "calibration_error" in found.standard_errors:
        low, high = found.interval("calibration_error")
        interval = low / k, high / k
    return ClassPart(
        i,
        float(weight @ occurred),
        float(weight @ to_numpy(problem.prob)[:, 1]),
        value / k,
        interval,
        int(np.count_nonzero(occurred)),
    )


def ranked(parts: list[ClassPart]) -> list[ClassPart]:
    """Return parts, the largest first; those that are unknown last."""
    return sorted(parts, key=lambda each: (math.isnan(each.error), -each.error, each.number))
