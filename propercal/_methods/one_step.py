"""The one-step estimate of the refinement of one problem."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from propercal._array import by_rows, like, namespace, no_gradient, one_hot, to_numpy
from propercal._data.notions import Problem
from propercal._kernels.algorithm import joint_algorithm
from propercal._methods.candidates import Bases, Candidates, OneStep
from propercal._methods.cross_fitting import CrossFits, cross_fit_rows, cross_fit_table
from propercal._methods.fold_sums import FoldKernel, Sources, fold_kernel
from propercal._methods.folds import assign_folds
from propercal._methods.recipe import Recipe
from propercal._methods.table import Grouped, Table, group_rows, inner_losses, make_table
from propercal._methods.table_sums import TableSums
from propercal._methods.terms import OneStepRows
from propercal._threads import one_blas_thread
from propercal._typing import Array
from propercal.generators.base import BregmanGenerator
from propercal.recalibration.points import Points, interior
from propercal.recalibration.stacking import Floats

#: Effective counts with which the kernel correction is drawn to its base.
PRIORS = (3.0, 20.0, 120.0)


def one_step(
    problem: Problem, generators: Sequence[BregmanGenerator], recipe: Recipe
) -> list[OneStep]:
    r"""Estimate the refinement of a problem under each generator.

    r̂_h is fitted without row h, so that

    .. math:: E[L_F(\hat r_h, y_h) \mid \text{the rest}] = -F(r_h) + D_F(r_h, \hat r_h) :

    what it adds to the refinement is of second order in r̂ − r, and V_h estimates its variance
    part. All generators share fits and kernel sums.

    Parameters
    ----------
    problem : Problem
        Of n rows.
    generators : sequence of BregmanGenerator
        Each F.
    recipe : Recipe
        What r̂ is made of.

    Returns
    -------
    list of OneStep
        In the order of the rows.
    """
    # Products are small here: threads of BLAS would wait for each other more than they compute.
    with no_gradient(problem.prob), one_blas_thread:
        xp = namespace(problem.prob)
        folds = assign_folds(problem.prob, recipe.n_folds, recipe.random_state)
        grouped = group_rows(problem, recipe)
        table = make_table(problem, folds, recipe, grouped)
        if table is not None:
            return _of_rows(problem, table, generators, of_table(table, generators, recipe))
        order = np.lexsort((to_numpy(problem.label), folds))
        index = like(order, problem.prob)
        back = like(np.argsort(order), problem.prob)
        weight = xp.take(problem.weight, index)
        label = xp.take(problem.label, index)
        sources = Sources(
            _points(problem, grouped).take(index),
            label,
            None if problem.uniform else weight,
            folds[order],
            recipe.n_folds,
            problem.n_classes,
        )
        outcome = one_hot(label, problem.n_classes, problem.prob.dtype)
        fits = cross_fit_rows(sources, outcome, weight, recipe.families(problem.n_classes))

        def kernel_of(gamma: float) -> FoldKernel:
            return fold_kernel(sources, recipe.kernel, gamma, recipe.algorithm)

        results = _in_fold_order(fits, generators, recipe, kernel_of)
    return [
        found._replace(rows=OneStepRows(*(xp.take(each, back) for each in found.rows)))
        for found in results
    ]


def _points(problem: Problem, grouped: Grouped | None) -> Points:
    points = interior(problem.log_prob)
    if grouped is None:
        return points
    group = like(grouped.number, problem.prob)
    return Points(points.prob, points.log_prob, group, grouped.points)


def of_table(table: Table, generators: Sequence[BregmanGenerator], recipe: Recipe) -> list[OneStep]:
    """Estimate the refinement of a table, by cells."""
    sources = table.sources
    xp = namespace(table.weight)
    outcome = one_hot(sources.label, sources.n_classes, table.weight.dtype)
    fits = cross_fit_table(
        table, outcome, table.weight / xp.sum(table.weight), recipe.families(sources.n_classes)
    )
    return _in_fold_order(
        fits, generators, recipe, lambda gamma: TableSums(table, recipe.kernel, gamma)
    )


def _of_rows(
    problem: Problem,
    table: Table,
    generators: Sequence[BregmanGenerator],
    by_cell: Sequence[OneStep],
) -> list[OneStep]:
    """Give each row what its cell has, corrected for where in its bin it lies.

    What a recalibration saves changes slowly within a bin, while the losses with and without it
    need not: the difference of the losses without it is known exactly.
    """
    xp = namespace(problem.prob)
    cell = like(table.cell, problem.prob)
    results = []
    for generator, found in zip(generators, by_cell, strict=True):
        rows = OneStepRows(*(xp.take(each, cell) for each in found.rows))
        if not table.exact:
            moved = _within_bins(problem, table, generator, cell)
            rows = OneStepRows(rows.loss + moved, rows.correction, rows.base_loss + moved)
        results.append(found._replace(rows=rows))
    return results


def _within_bins(problem: Problem, table: Table, generator: BregmanGenerator, cell: Array) -> Array:
    """(n,) by how much the loss of a prediction exceeds that of the point that stands for it."""
    xp = namespace(problem.prob)
    k = problem.n_classes

    def losses(prob: Array, log_prob: Array, label: Array) -> Array:
        return generator.loss(prob, one_hot(label, k, prob.dtype), log_q=log_prob)

    points = table.sources.points
    at_points = losses(points.prob, points.log_prob, table.sources.label)
    exact = by_rows(losses, problem.prob, problem.log_prob, problem.label)
    # Points are kept inside the simplex.
    exact = inner_losses(generator, problem.log_prob, problem.label, exact)
    return exact - xp.take(at_points, cell)


def _in_fold_order(
    fits: CrossFits,
    generators: Sequence[BregmanGenerator],
    recipe: Recipe,
    kernel_of: Callable[[float], FoldKernel],
) -> list[OneStep]:
    rows = fits.sources.folds
    stacks = fits.stacks(generators)
    outer = [fits.combined(frozenset({f}), stacks[f]) for f in range(recipe.n_folds)]
    candidates = [Candidates(g, fits.outcome, fits.weight, rows) for g in generators]
    kernels = (
        [] if recipe.kernel is None else [(gamma, kernel_of(gamma)) for gamma in recipe.bandwidths]
    )
    for e in range(recipe.n_folds):
        bases, columns = _bases(fits, stacks, outer, e)
        for found, base in zip(candidates, bases, strict=True):
            found.add_base(e, base)
        width = columns.shape[1] // len(generators)
        for j, (gamma, sums_of) in enumerate(kernels):
            sums = sums_of(e, columns)
            for i, (found, base) in enumerate(zip(candidates, bases, strict=True)):
                own = sums._replace(columns=sums.columns[:, i * width : (i + 1) * width])
                found.add_corrected(e, base, own, gamma, PRIORS, 1 + j * len(PRIORS))
    algorithm = joint_algorithm(sums_of.algorithm for _, sums_of in kernels)
    return [found.choose()._replace(algorithm=algorithm) for found in candidates]


def _bases(
    fits: CrossFits, stacks: Sequence[Sequence[Floats]], outer: Sequence[Sequence[Array]], e: int
) -> tuple[list[Bases], Array]:
    """Return the bases of fold `e` for each generator, and their values at all sources.

    `outer` has, for each fold and generator, the base of that fold at all sources. The columns are,
    for each generator, the base of fold `e` and for every other fold f its base
    without f and `e`, which is 0 at the rows of f.
    """
    xp = namespace(fits.outcome)
    rows = fits.sources.folds
    others = [f for f in range(len(rows)) if f != e]
    inner = [fits.combined(frozenset({e, f}), stacks[f]) for f in others]
    outside = [1.0 - xp.astype(_marks(fits.outcome, rows[f]), outer[e][0].dtype) for f in others]
    bases, columns = [], []
    for i, at_sources in enumerate(outer[e]):
        without = [by_generator[i] for by_generator in inner]
        bases.append(
            Bases(
                own=at_sources[rows[e], :],
                inner=[base[rows[e], :] for base in without],
                # How much the fits without each fold differ at the rows of this one.
                others=[by_generator[i][rows[e], :] for by_generator in outer],
            )
        )
        columns.append(at_sources)
        columns += [base * out[:, None] for base, out in zip(without, outside, strict=True)]
    return bases, xp.concat(columns, axis=1)


def _marks(outcome: Array, rows: slice) -> Array:
    """(n,) whether a row is one of `rows`."""
    index = like(np.arange(outcome.shape[0]), outcome)
    return (index >= rows.start) & (index < rows.stop)
