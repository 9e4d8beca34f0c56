"""The one-step estimate of the refinement of one problem."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from propercal._array import like, namespace, no_gradient, one_hot, to_numpy
from propercal._data.notions import Problem
from propercal._kernels.algorithm import joint_algorithm
from propercal._methods.candidates import Bases, Candidates, OneStep
from propercal._methods.cross_fitting import CrossFits, cross_fit
from propercal._methods.fold_sums import Sources, fold_kernel
from propercal._methods.folds import assign_folds
from propercal._methods.recipe import Recipe
from propercal._methods.terms import OneStepRows
from propercal._progress import steps
from propercal._threads import one_blas_thread
from propercal._typing import Array
from propercal.generators.base import BregmanGenerator
from propercal.recalibration.points import interior
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
        order = np.lexsort((to_numpy(problem.label), folds))
        index = like(order, problem.prob)
        back = like(np.argsort(order), problem.prob)
        weight = xp.take(problem.weight, index)
        label = xp.take(problem.label, index)
        sources = Sources(
            interior(xp.take(problem.log_prob, index, axis=0)),
            label,
            None if problem.uniform else weight,
            folds[order],
            recipe.n_folds,
            problem.n_classes,
        )
        outcome = one_hot(label, problem.n_classes, problem.prob.dtype)
        fits = cross_fit(sources, outcome, weight, recipe.families(problem.n_classes))
        results = _in_fold_order(fits, generators, recipe)
    return [
        found._replace(rows=OneStepRows(*(xp.take(each, back) for each in found.rows)))
        for found in results
    ]


def _in_fold_order(
    fits: CrossFits, generators: Sequence[BregmanGenerator], recipe: Recipe
) -> list[OneStep]:
    sources, rows = fits.sources, fits.sources.folds
    stacks = fits.stacks(generators)
    outer = [fits.combined(frozenset({f}), stacks[f]) for f in range(recipe.n_folds)]
    candidates = [Candidates(g, fits.outcome, fits.weight, rows) for g in generators]
    kernel = recipe.kernel
    kernels = (
        []
        if kernel is None
        else [
            (gamma, fold_kernel(sources, kernel, gamma, recipe.algorithm))
            for gamma in recipe.bandwidths
        ]
    )
    for e in steps(range(recipe.n_folds)):
        bases, columns = _bases(fits, stacks, outer, e)
        for found, base in zip(candidates, bases, strict=True):
            found.add_base(e, base)
        width = columns.shape[1] // len(generators)
        for j, (gamma, sums_of) in enumerate(steps(kernels)):
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
