"""What recalibrations save of the loss, on rows that took no part in their fit."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from propercal._array import one_hot, to_numpy
from propercal._data.predictions.notions import as_notion
from propercal._data.predictions.predictions import Predictions
from propercal._data.predictions.weights import in_rows
from propercal._data.words.messages import held_warnings
from propercal._methods.folds import assign_folds
from propercal._progress import steps
from propercal._results.intervals import error_of_rows, half_width
from propercal.generators.base import BregmanGenerator
from propercal.recalibration import ClasswiseIsotonic, TemperatureScaling
from propercal.result import Decomposition

Floats = npt.NDArray[np.float64]

#: Folds of cross-fitting, as of the debiased method.
N_FOLDS = 5
_MAPS: Mapping[str, Callable[[list[int]], Any]] = {
    "temperature": lambda labels: TemperatureScaling(labels=labels),
    "isotonic": lambda labels: ClasswiseIsotonic(smoothed=True, labels=labels),
}


class Saving(NamedTuple):
    """By how much a recalibration lowers the mean loss of rows that it has not seen."""

    name: str
    saved: float
    """NaN where the loss stays infinite."""
    interval: tuple[float, float] | None
    """Such that the intervals of all recalibrations hold together; None for an infinite saving."""
    temperature: float | None = None
    """That of all rows, of a temperature."""

    @property
    def helps(self) -> bool:
        """Whether it saves something beyond chance."""
        return self.saved == math.inf or (self.interval is not None and self.interval[0] > 0)


def savings(
    predictions: Predictions,
    result: Decomposition,
    generator: BregmanGenerator,
    random_state: Any,
    *,
    whole: bool,
) -> list[Saving]:
    """Return what each recalibration saves: maps that anyone may use, and the estimate's own.

    Maps are of whole predictions; where `result` is not, that is left out which is not comparable.
    """
    rows: dict[str, tuple[Floats, float | None]] = {}
    if whole and not predictions.multilabel:
        for name in steps(list(_MAPS)):
            # A map that needs a package that is not there is left out.
            with contextlib.suppress(ImportError):
                rows[name] = _saved_by(_MAPS[name], predictions, generator, random_state)
    own = _own(result)
    if own is not None:
        rows["average"] = own, None
    weight = to_numpy(predictions.weight)
    level = 1 - (1 - result.confidence_level) / max(len(rows), 1)
    return [
        _saving(name, saved, weight, predictions.groups, level, temperature)
        for name, (saved, temperature) in rows.items()
    ]


def _saving(
    name: str,
    saved: Floats,
    weight: Floats,
    groups: Any,
    level: float,
    temperature: float | None,
) -> Saving:
    mean = float(weight @ saved)
    if not math.isfinite(mean):
        return Saving(name, mean, None, temperature)
    half = half_width(error_of_rows(saved, weight, groups), level)
    return Saving(name, mean, (mean - half, mean + half), temperature)


def _saved_by(
    make: Callable[[list[int]], Any],
    predictions: Predictions,
    generator: BregmanGenerator,
    random_state: Any,
) -> tuple[Floats, float | None]:
    """Return (n,) losses before, less those after, and the temperature of all rows if it is one."""
    problem = next(iter(as_notion("canonical").problems(predictions)))
    prob, label = to_numpy(problem.prob), to_numpy(problem.label)
    outcome = one_hot(label, problem.n_classes, prob.dtype)
    # Probabilities that do not quite sum to 1 were said to be so before.
    points = prob / prob.sum(axis=1, keepdims=True)
    weight = in_rows(to_numpy(problem.weight))
    fold = assign_folds(prob, N_FOLDS, random_state, predictions.groups)
    names = list(range(problem.n_classes))
    after = np.empty_like(prob)
    with held_warnings(), np.errstate(all="ignore"):
        for f in steps(range(N_FOLDS)):
            train, rest = fold != f, fold == f
            fitted = make(names).fit(points[train], label[train], weight[train])
            after[rest] = to_numpy(fitted.predict_proba(points[rest]))
        on_all = make(names).fit(points, label, weight)
        before = to_numpy(generator.loss(prob, outcome, log_q=to_numpy(problem.log_prob)))
        saved = before - to_numpy(generator.loss(after, outcome))
    return saved, getattr(on_all, "temperature_", None)


def _own(result: Decomposition) -> Floats | None:
    """Return (n,) what the average of the built-in recalibrations saves, where it was made."""
    rows = result._kept_rows
    if rows is None or rows.correction is None or rows.refined is None:
        return None
    with np.errstate(invalid="ignore"):
        found = to_numpy(rows.loss) - to_numpy(rows.refined) - to_numpy(rows.correction)
    return np.asarray(found, dtype=np.float64)
