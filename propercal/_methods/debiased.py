"""The terms of the debiased method, by cross-fitted recalibration and a one-step estimate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from propercal._array import is_numpy, namespace, to_numpy, tracks_gradient
from propercal._data.dependence.groups import check_number
from propercal._data.predictions.notions import Problem, Problems
from propercal._data.words.messages import bad_value, warn
from propercal._kernels.algorithm import joint_algorithm
from propercal._methods.candidates import OneStep
from propercal._methods.label_noise import of_problems
from propercal._methods.misfit import joint_misfit
from propercal._methods.one_step import one_step
from propercal._methods.recipe import SMALLEST_SAMPLE, Recipe, lower_median
from propercal._methods.signs import KeptMeans, gaps
from propercal._methods.terms import (
    Kept,
    OneStepRows,
    ProblemTerms,
    Terms,
    complete_terms,
    five_terms,
)
from propercal._progress import steps as in_steps
from propercal._results.kept_rows import OutwardRows
from propercal._threads import map_threads, n_threads
from propercal._typing import Array
from propercal.generators.base import BregmanGenerator

#: With fewer rows, what is computed from tables rules, and threads wait for the interpreter.
_THREADED_ROWS = 200_000


def debiased_terms(
    problems: Problems, generators: Sequence[BregmanGenerator], recipe: Recipe
) -> list[Terms]:
    """Estimate the terms of each generator, which share fits and kernel sums."""
    totals: list[_Total] = []
    for found in _of_each(problems, generators, recipe):
        if totals:
            _add(totals, found)
        else:
            totals = [_Total(each) for each in found]
        # What is added up is let go of before the next is made.
        found.clear()
    return [total.terms(recipe) for total in totals]


def _add(totals: Sequence[_Total], found: _Found) -> None:
    for total, each in zip(totals, found, strict=True):
        total.add(each)


class _Total:
    """Terms of one generator, added up over problems: rows of all of them are too many to keep."""

    def __init__(self, found: ProblemEstimate) -> None:
        terms, step = found.terms, found.step
        self._terms, self._rows, self._n_problems = terms, step.rows, 1
        self._parts, self._gaps, self._means = [_five(terms)], [found.gaps], KeptMeans()
        self._outward: OutwardRows | None = None
        self._means.add(found.problem, step.rows.recalibrated)
        self._kernel_rows, self._training_rows = step.kernel_rows, step.training_rows
        self._bandwidths = list(step.bandwidths)
        self._algorithms = {step.algorithm}
        self._misfits = [step.misfit]

    def add(self, found: ProblemEstimate) -> None:
        """Add another problem of the same rows."""
        terms, step = found.terms, found.step
        if self._outward is None:
            self._outward = _outward(self._terms, self._rows)
        self._outward = self._outward.plus(_outward(terms, step.rows))
        self._parts.append(_five(terms))
        self._gaps.append(found.gaps)
        self._means.add(found.problem, step.rows.recalibrated)
        self._terms = self._terms.plus(terms)
        self._rows = self._rows.plus(step.rows)
        self._n_problems += 1
        self._bandwidths += step.bandwidths
        self._algorithms.add(step.algorithm)
        self._misfits.append(step.misfit)

    def terms(self, recipe: Recipe) -> Terms:
        """Return the mean over problems."""
        rows, xp = self._rows.over(self._n_problems), namespace(self._rows.loss)
        outward = None if self._outward is None else self._outward.over(self._n_problems)
        return complete_terms(
            self._terms.over(self._n_problems),
            recipe.kernel_name,
            lower_median(self._bandwidths),
            joint_algorithm(self._algorithms),
            one_step=rows._replace(noise=of_problems(self._rows.noise, self._n_problems)),
        )._replace(
            kernel_rows=self._kernel_rows,
            training_rows=self._training_rows,
            misfit=joint_misfit(self._misfits),
            kept=Kept(
                xp.stack(self._parts),
                self._means.joined(),
                outward=outward,
                gap=xp.concat(self._gaps),
            ),
        )


def _five(terms: ProblemTerms) -> Array:
    return five_terms(terms, measures_divergence=False, debiased=True)


def _outward(terms: ProblemTerms, rows: OneStepRows) -> OutwardRows:
    assert rows.tilt is not None  # noqa: S101  # rows of one problem
    noise = rows.noise[:, 0], rows.noise[:, 1]
    return OutwardRows.of(OutwardRows(terms.loss - rows.loss, rows.correction, *noise), rows.tilt)


class ProblemEstimate(NamedTuple):
    """What is found of one problem and generator."""

    problem: Problem
    terms: ProblemTerms
    step: OneStep
    gaps: Array
    """(m, 2) mean g − y and its standard error."""


_Found = list[ProblemEstimate]


def _of_each(
    problems: Problems, generators: Sequence[BregmanGenerator], recipe: Recipe
) -> Iterator[_Found]:
    """Yield the terms of each generator, problem by problem."""

    def estimated(problem: Problem) -> _Found:
        steps = one_step(problem, generators, recipe)
        total = namespace(problem.prob).sum
        found = gaps(problem)
        return [
            ProblemEstimate(
                problem,
                ProblemTerms.of_refinement(problem, each, total(problem.weight * step.rows.loss)),
                step,
                found,
            )
            for each, step in zip(generators, steps, strict=True)
        ]

    checked = _checked(problems, generators)
    first = next(checked)
    threaded = _in_threads(first, recipe)
    yield estimated(first)
    del first
    if not threaded:
        yield from map(estimated, checked)
        return
    # No more at a time than are worked on, and none longer than it is asked for.
    while few := list(islice(checked, n_threads())):
        results = map_threads(estimated, few)
        few.clear()
        while results:
            yield results.pop(0)


def _in_threads(problem: Problem, recipe: Recipe) -> bool:
    """Tell whether problems can be, and are worth to be, worked on side by side."""
    # Numbers that are drawn one problem after the other would differ.
    repeatable = recipe.random_state is None or isinstance(recipe.random_state, int | np.integer)
    many = problem.n_classes == 2 and problem.prob.shape[0] >= _THREADED_ROWS
    return repeatable and many and recipe.of_points and is_numpy(problem.prob)


def _checked(problems: Problems, generators: Sequence[BregmanGenerator]) -> Iterator[Problem]:
    for i, problem in enumerate(in_steps(problems)):
        if i == 0:
            _check_rows(problem)
        centre = namespace(problem.prob).full_like(problem.prob[:1, :], 1 / problem.n_classes)
        for generator in generators:
            check_curvature(generator, centre)
        check_size(int(problem.prob.shape[0]))
        yield problem


def _check_rows(problem: Problem) -> None:
    """Raise if a gradient is asked for; warn if few rows have most of the weight."""
    if tracks_gradient(problem.prob, problem.log_prob):
        raise bad_value(
            "y_proba",
            "a tensor that tracks a gradient",
            'one that does not for method="debiased", whose fits are not differentiated',
            'pass y_proba.detach(), or use method="direct" or "risk" to train on the estimate',
        )
    if problem.groups is not None:
        weight = np.bincount(problem.groups, to_numpy(problem.weight))
        check_number(len(weight), 'method="debiased"', problem.grouped_by)
        warn_unequal_groups(1 / float(weight @ weight), len(weight))
    elif not problem.uniform:
        effective = 1 / float(namespace(problem.weight).sum(problem.weight**2))
        warn_unequal_weights(effective, int(problem.prob.shape[0]))


def _are_few(effective: float, n: int) -> bool:
    """Tell whether an effective number is small because parts are unequal.

    Of blocks of which the last is shorter it is n - 1 or more.
    """
    return effective < min(SMALLEST_SAMPLE, n - 1) * (1 - 1e-9)


def warn_unequal_weights(effective: float, n: int) -> None:
    """Say so if few of `n` rows of unequal weights have most of it."""
    if _are_few(effective, n):
        warn(
            f"sample_weight leaves an effective number of {effective:.3g} rows of "
            f"{n}: the estimate rests on these few, and its interval on less "
            "than the theory asks for."
        )


def warn_unequal_groups(effective: float, n: int) -> None:
    """Say so if few of `n` groups have most of the rows, or of their weight."""
    if _are_few(effective, n):
        warn(
            f"groups of very unequal size leave an effective number of {effective:.3g} of {n}: the "
            "estimate rests on these few, and its interval on less than the theory asks for."
        )


def check_size(n: int) -> None:
    """Raise if there are too few rows to fit recalibrations to."""
    if n < SMALLEST_SAMPLE:
        raise bad_value(
            "y_proba",
            f"{n} row{'s' * (n > 1)}",
            f'{SMALLEST_SAMPLE} or more for method="debiased", which fits recalibrations',
            'collect more, or use method="risk" for a number without an interval',
        )


def check_curvature(generator: BregmanGenerator, centre: Array) -> None:
    """Raise, before any work is done, where neither the class nor torch gives ∇²F at (1, k)."""
    try:
        generator.hessian_times(centre, centre)
    except (TypeError, AttributeError, RuntimeError) as error:
        raise bad_value(
            "generator",
            repr(generator),
            f'a Hessian for method="debiased", but torch cannot derive one '
            f"({type(error).__name__}: {error})",
            'give hessian(p), write value(p) and gradient(p) with operators, or use method="risk"',
        ) from error
