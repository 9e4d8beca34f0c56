"""What labels drawn from the predictions decide: the forms of all problems of a notion."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from propercal._array import like, to_numpy
from propercal._data.predictions.class_weights import ClassWeights
from propercal._data.predictions.notions import Notion, Problem
from propercal._data.predictions.predictions import Predictions
from propercal._progress import steps
from propercal._typing import Array
from propercal.generators.base import BregmanGenerator
from propercal.inference.evaluation import (
    MOST_OF_ROWS,
    CountedTables,
    Evaluation,
    WeighedTables,
    rows_evaluation,
)
from propercal.inference.quadratic_forms import QuadraticForms, quadratic_forms
from propercal.inference.residuals import Rows, Table


class Draw(NamedTuple):
    """Labels that are drawn from one set of probabilities, and the forms that they decide."""

    prob: Array
    """(n, k) how probable each label is."""
    label: Array
    """(n,) the observed ones."""
    names: tuple[str, ...]
    """Names of the forms."""
    evaluate: Evaluation
    most: int
    """Largest number of label sets at a time."""


def draws(
    predictions: Predictions,
    notion: Notion,
    generator: BregmanGenerator,
    rng: np.random.Generator,
    weights: ClassWeights | None,
) -> Iterator[Draw]:
    """Yield draws, over which forms add up: mostly one, which decides about all problems."""
    if notion.n_outcomes(predictions.n_classes) > 2:
        yield _of_rows(predictions, notion, generator, rng, weights)
        return
    # One draw of the class of a row answers for it whether each class occurred.
    together = notion.per_class and not predictions.multilabel
    if together or weights is not None:
        yield _of_tables(predictions, notion, generator, rng, weights)
        return
    for problem in _problems(predictions, notion, weights):
        counted = CountedTables(problem.prob.shape[0], 2)
        counted.add(*_table(problem, generator, rng), 1)
        yield Draw(problem.prob, problem.label, counted.names, counted, counted.most)


def _of_rows(
    predictions: Predictions,
    notion: Notion,
    generator: BregmanGenerator,
    rng: np.random.Generator,
    weights: ClassWeights | None,
) -> Draw:
    (problem,) = _problems(predictions, notion, weights)
    rows = Rows.of(problem)
    forms = quadratic_forms(rows.at, generator, rng)
    of_class = None if weights is None else weights.of_class
    prob = predictions.prob if weights is None else weights.prob
    evaluate = rows_evaluation(rows, forms, of_class)
    return Draw(prob, predictions.label, forms.names, evaluate, MOST_OF_ROWS)


def _of_tables(
    predictions: Predictions,
    notion: Notion,
    generator: BregmanGenerator,
    rng: np.random.Generator,
    weights: ClassWeights | None,
) -> Draw:
    """Draw classes, which decide about the events of all problems."""
    evaluate: WeighedTables | CountedTables
    if weights is None:
        evaluate = CountedTables(predictions.n_samples, predictions.n_classes)
    else:
        evaluate = WeighedTables(weights.of_class)
    for i, problem in enumerate(_problems(predictions, notion, weights)):
        evaluate.add(*_table(problem, generator, rng), _event(predictions, notion, i))
    prob = predictions.prob if weights is None else weights.prob
    return Draw(prob, predictions.label, evaluate.names, evaluate, evaluate.most)


def _problems(
    predictions: Predictions, notion: Notion, weights: ClassWeights | None
) -> Iterator[Problem]:
    for problem in steps(notion.problems(predictions), share=0.3):
        if weights is None:
            yield problem
        else:
            equal = like(np.full(predictions.n_samples, 1.0), problem.prob)
            yield replace(problem, weight=equal / predictions.n_samples, uniform=True)


def _table(
    problem: Problem, generator: BregmanGenerator, rng: np.random.Generator
) -> tuple[Table, QuadraticForms]:
    table = Table.of(problem)
    return table, quadratic_forms(table.sums.at, generator, rng)


def _event(predictions: Predictions, notion: Notion, i: int) -> int | npt.NDArray[np.intp]:
    """Return the class that is the event of a problem, or that of each row."""
    if notion.per_class:
        return i
    if notion.whole:
        return 1
    top: npt.NDArray[np.intp] = to_numpy(predictions.log_prob).argmax(axis=1)
    return top
