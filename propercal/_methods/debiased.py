"""The terms of the debiased method, by cross-fitted recalibration and a one-step estimate."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add

from propercal._array import namespace, tracks_gradient
from propercal._data.messages import bad_value, warn
from propercal._data.notions import Problem, Problems
from propercal._kernels.algorithm import joint_algorithm
from propercal._methods.candidates import OneStep
from propercal._methods.one_step import one_step
from propercal._methods.recipe import SMALLEST_SAMPLE, Recipe, lower_median
from propercal._methods.terms import OneStepRows, ProblemTerms, Terms, complete_terms, mean_terms
from propercal._typing import Array
from propercal.generators.base import BregmanGenerator


def debiased_terms(
    problems: Problems, generators: Sequence[BregmanGenerator], recipe: Recipe
) -> list[Terms]:
    """Estimate the terms of each generator, which share fits and kernel sums."""
    parts: list[list[ProblemTerms]] = []
    found: list[list[OneStep]] = []
    for i, problem in enumerate(problems):
        if i == 0:
            _check_rows(problem)
        centre = namespace(problem.prob).full_like(problem.prob[:1, :], 1 / problem.n_classes)
        for generator in generators:
            check_curvature(generator, centre)
        check_size(int(problem.prob.shape[0]))
        steps = one_step(problem, generators, recipe)
        xp = namespace(problem.prob)
        parts.append(
            [
                ProblemTerms.of_refinement(
                    problem, generator, xp.sum(problem.weight * step.rows.loss)
                )
                for generator, step in zip(generators, steps, strict=True)
            ]
        )
        found.append(steps)
    return [
        complete_terms(
            mean,
            recipe.kernel_name,
            lower_median([gamma for step in steps for gamma in step.bandwidths]),
            joint_algorithm(step.algorithm for step in steps),
            one_step=_mean_rows(steps),
        )
        for mean, steps in zip(mean_terms(parts), zip(*found, strict=True), strict=True)
    ]


def _mean_rows(steps: Sequence[OneStep]) -> OneStepRows:
    """Average what each row adds over problems."""
    xp = namespace(steps[0].rows.loss)
    rows = [xp.stack(list(step.rows), axis=1) for step in steps]
    mean = reduce(add, rows) / len(rows)
    return OneStepRows(mean[:, 0], mean[:, 1], mean[:, 2])


def _check_rows(problem: Problem) -> None:
    """Raise if a gradient is asked for; warn if few rows have most of the weight."""
    if tracks_gradient(problem.prob, problem.log_prob):
        raise bad_value(
            "y_proba",
            "a tensor that tracks a gradient",
            'one that does not for method="debiased", whose fits are not differentiated',
            'pass y_proba.detach(), or use method="direct" or "risk" to train on the estimate',
        )
    if not problem.uniform:
        effective = 1 / float(namespace(problem.weight).sum(problem.weight**2))
        warn_unequal_weights(effective, int(problem.prob.shape[0]))


def warn_unequal_weights(effective: float, n: int) -> None:
    """Say so if few of `n` rows of unequal weights have most of it."""
    if effective < SMALLEST_SAMPLE:
        warn(
            f"sample_weight leaves an effective number of {effective:.3g} rows of "
            f"{n}: the estimate rests on these few, and its interval on less "
            "than the theory asks for."
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
