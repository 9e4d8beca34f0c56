"""The one-step estimate of the refinement of one problem."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from itertools import pairwise
from typing import Any

import numpy as np

from propercal._array import (
    by_rows,
    is_numpy,
    like,
    namespace,
    no_gradient,
    one_hot,
    take_rows,
    to_numpy,
)
from propercal._data.predictions.notions import Problem
from propercal._kernels import linear
from propercal._kernels.algorithm import joint_algorithm
from propercal._kernels.kernels import BilinearKernel
from propercal._methods.candidates import (
    NO_CORRECTION,
    Bases,
    Candidates,
    Choice,
    OneStep,
)
from propercal._methods.chosen import Kernel, rows_as_chosen, squares_of
from propercal._methods.cross_fitting import (
    THREADED_NUMBERS,
    CrossFits,
    cross_fit_rows,
    cross_fit_table,
    map_some,
    weights_of,
)
from propercal._methods.fold_sums import FoldKernel, Sources, fold_kernel
from propercal._methods.folds import assign_folds
from propercal._methods.grouped_sums import GroupedRowSums, GroupedTableSums
from propercal._methods.misfit_search import misfits
from propercal._methods.recipe import Recipe
from propercal._methods.sampling import Judged, is_whole, judged, kernel_sources, training_sources
from propercal._methods.signs import is_kept, reference, tilt_of
from propercal._methods.table import Grouped, Table, group_rows, inner_losses, make_table
from propercal._methods.table_sums import TableSums
from propercal._methods.terms import OneStepRows
from propercal._methods.variance import bounded
from propercal._progress import steps
from propercal._threads import one_blas_thread, one_openmp_thread
from propercal._typing import Array
from propercal.generators.base import BregmanGenerator
from propercal.recalibration.descent import Floats
from propercal.recalibration.points import Points, interior

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
    # Products are small here: threads would wait for each other more than they compute.
    alone = nullcontext() if is_numpy(problem.prob) else one_openmp_thread()
    with no_gradient(problem.prob), one_blas_thread, alone:
        xp = namespace(problem.prob)
        if recipe.kernel is not None and recipe.algorithm == "linear":
            linear.check_possible(recipe.kernel, problem.prob, problem.log_prob)
        folds = assign_folds(problem.prob, recipe.n_folds, recipe.random_state, problem.groups)
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
            group=None if problem.groups is None else problem.groups[order],
        )
        trained = training_sources(sources) if recipe.of_points else sources
        fits = cross_fit_rows(sources, trained, recipe.families(problem.n_classes))
        results = _in_fold_order(fits, generators, recipe)
        centre = reference(problem)
        return [
            found._replace(rows=_with_tilt(found.rows.take(back), problem.prob, centre))
            for found in results
        ]


def _with_tilt(rows: OneStepRows, prob: Array, centre: Array) -> OneStepRows:
    """Add which way r̂ lies from predictions (n, k), and keep r̂ itself where it is not too large."""
    assert rows.recalibrated is not None  # noqa: S101  # as it is made
    kept = rows.recalibrated if is_kept(prob) else None
    return rows._replace(tilt=tilt_of(prob, rows.recalibrated, centre), recalibrated=kept)


def _points(problem: Problem, grouped: Grouped | None) -> Points:
    points = interior(problem.log_prob)
    if grouped is None:
        return points
    group = like(grouped.number, problem.prob)
    return Points(points.prob, points.log_prob, group, grouped.points)


def of_table(table: Table, generators: Sequence[BregmanGenerator], recipe: Recipe) -> list[OneStep]:
    """Estimate the refinement of a table, by cells."""
    sources = table.sources
    fits = cross_fit_table(table, recipe.families(sources.n_classes))
    return _in_fold_order(fits, generators, recipe)


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
    cell = like(table.cell, problem.prob)
    centre = reference(problem)
    results = []
    for generator, found in zip(generators, by_cell, strict=True):
        of_cells = _with_tilt(found.rows, table.sources.points.prob, centre)
        if not is_kept(problem.prob):
            of_cells = of_cells._replace(recalibrated=None)
        rows = of_cells.take(cell)
        if not table.exact:
            moved = _within_bins(problem, table, generator, cell)
            rows = rows._replace(loss=rows.loss + moved, base_loss=rows.base_loss + moved)
        n = len(table.cell)
        kernel_rows = None if found.kernel_rows is None else n
        results.append(found._replace(rows=rows, kernel_rows=kernel_rows, training_rows=n))
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
    fits: CrossFits, generators: Sequence[BregmanGenerator], recipe: Recipe
) -> list[OneStep]:
    """Estimate from fits, and look for what these leave unexplained."""
    stacks = fits.stacks(generators)
    found = _estimated(fits, stacks, generators, recipe)
    if fits.first_is_identity:
        prob, weight = fits.sources.points.prob, weights_of(fits.sources)
        found = [
            each._replace(rows=bounded(each.rows, generator, prob, weight))
            for each, generator in zip(found, generators, strict=True)
        ]
    looked = misfits(fits, stacks, generators)
    return [each._replace(misfit=misfit) for each, misfit in zip(found, looked, strict=True)]


def _estimated(
    fits: CrossFits,
    stacks: Sequence[Sequence[Floats]],
    generators: Sequence[BregmanGenerator],
    recipe: Recipe,
) -> list[OneStep]:
    """Estimate from fits; where there are many rows, corrections are chosen on a part of them."""
    if recipe.kernel is None:
        nothing = [[NO_CORRECTION] * recipe.n_folds for _ in generators]
        return [
            OneStep(rows, _bandwidths(choices), training_rows=len(fits.trained.fold))
            for rows, choices in zip(
                rows_as_chosen(fits, stacks, generators, nothing), nothing, strict=True
            )
        ]
    fits = fits.with_correlation()
    sources, numbers = kernel_sources(fits.sources)
    candidates, algorithm = _judge(fits, stacks, sources, generators, recipe)
    choices = [found.choose() for found in candidates]
    if is_whole(fits.sources):
        rows = [found.rows() for found in candidates]
    else:
        kernel = Kernel(recipe.kernel, sources, numbers, len(fits.sources.fold))
        rows = rows_as_chosen(fits, stacks, generators, choices, kernel)
    return [
        OneStep(of_one, _bandwidths(chosen), algorithm, len(sources.fold), len(fits.trained.fold))
        for of_one, chosen in zip(rows, choices, strict=True)
    ]


def _bandwidths(choices: Sequence[Choice]) -> tuple[float, ...]:
    return tuple(choice.bandwidth for choice in choices)


def _judge(
    fits: CrossFits,
    stacks: Sequence[Sequence[Floats]],
    sources: Sources,
    generators: Sequence[BregmanGenerator],
    recipe: Recipe,
) -> tuple[list[Candidates], str]:
    """Judge the corrections on some of the sources; return how the kernel was summed too."""
    parts = judged(sources)
    rows = np.concatenate([np.arange(len(sources.fold))[part.rows] for part in parts])
    kernels = [
        (
            gamma,
            _kernel_sums(fits, sources, recipe.kernel, gamma, recipe.algorithm, rows),
        )
        for gamma in recipe.bandwidths
        if recipe.kernel is not None
    ]
    labels = [_at(sources.label, part) for part in parts]
    weights = [part.weight for part in parts]
    log_probs = [_at(sources.points.log_prob, part) for part in parts]
    missing = 1 - sum(weight.shape[0] for weight in weights) / len(fits.sources.fold)
    candidates = [Candidates(g, labels, weights, log_probs, missing) for g in generators]
    bases_of = _Bases(fits, stacks, sources, parts, rows)
    for e, part in enumerate(steps(parts)):
        bases, columns = bases_of(e)
        for found, base in zip(candidates, bases, strict=True):
            found.add_base(e, base)
        for j, (gamma, sums_of) in enumerate(steps(kernels)):
            sums = sums_of(part.rows, columns)
            for i, (found, base) in enumerate(zip(candidates, bases, strict=True)):
                own = sums._replace(columns=_of_generator(sums.columns, i, len(generators), base))
                found.add_corrected(e, base, own, gamma, PRIORS, 1 + j * len(PRIORS))
    return candidates, joint_algorithm(sums_of.algorithm for _, sums_of in kernels)


def _kernel_sums(
    fits: CrossFits,
    sources: Sources,
    kernel: BilinearKernel,
    bandwidth: float,
    algorithm: str,
    targets: np.ndarray[Any, Any],
) -> FoldKernel:
    """Return the kernel of one bandwidth over all sources, or those of other groups."""
    if fits.table is None and sources.group is None:
        return fold_kernel(sources, kernel, bandwidth, algorithm, targets)
    if fits.table is None:
        return GroupedRowSums(sources, kernel, bandwidth)
    sums = TableSums if sources.group is None else GroupedTableSums
    return sums(fits.table, kernel, bandwidth)


class _Bases:
    """The bases of each fold at its judged rows, and their values at all sources."""

    def __init__(
        self,
        fits: CrossFits,
        stacks: Sequence[Sequence[Floats]],
        sources: Sources,
        parts: Sequence[Judged],
        rows: np.ndarray[Any, Any],
    ) -> None:
        self._fits, self._stacks, self._sources, self._parts = fits, stacks, sources, parts
        self._all_judged = is_whole(sources)
        points = sources.points
        if not self._all_judged:
            points = points.take(like(rows, points.prob))
        # By fold that is left out, then by generator, at the judged rows of all folds.
        self._outer = [
            fits.combined(frozenset({f}), stack, points) for f, stack in enumerate(stacks)
        ]
        ends = np.cumsum([0, *(part.weight.shape[0] for part in parts)])
        self._place = [slice(int(a), int(b)) for a, b in pairwise(ends)]

    def __call__(self, e: int) -> tuple[list[Bases], Array]:
        """Return the bases of fold `e` for each generator, and the columns of the kernel sums.

        The columns are the base of fold `e` for each generator, and for every other fold f its
        base without f and `e` for each generator, which is 0 at the rows of f; then Σ_i b_i² of
        the base of fold `e` for each generator.
        """
        xp = namespace(self._sources.label)
        points, folds = self._sources.points, self._sources.folds
        own = self._outer[e]
        if not self._all_judged:
            own = self._fits.combined(frozenset({e}), self._stacks[e], points)
        bases = []
        for i in range(len(own)):
            # How much the fits without each fold differ at the rows of this one.
            others = [by_generator[i][self._place[e], :] for by_generator in self._outer]
            bases.append(Bases(own=others[e], inner=[], others=others))

        def without(f: int) -> list[Array]:
            return self._fits.combined(frozenset({e, f}), self._stacks[f], points)

        def blocks() -> Iterator[Array]:
            yield from own
            others = [f for f in range(len(folds)) if f != e]
            few = points.prob.shape[0] * points.prob.shape[1] <= THREADED_NUMBERS
            inners = iter(
                map_some(without, others, points.prob, 0.3) if few else map(without, others)
            )
            for f, inner in zip(others, inners, strict=True):
                outside = 1.0 - xp.astype(_marks(points.prob, folds[f]), points.prob.dtype)[:, None]
                for found, base in zip(bases, inner, strict=True):
                    found.inner.append(_at(base, self._parts[e]))
                    yield base * outside

        columns = _side_by_side(blocks(), len(own) * len(folds), points.prob)
        return bases, namespace(columns).concat([columns, squares_of(own)], axis=1)


def _side_by_side(blocks: Iterator[Array], n_blocks: int, block: Array) -> Array:
    """(n, m k) join blocks of the shape (n, k) of `block`, of which two at a time are in memory."""
    if not is_numpy(block):
        return namespace(block).concat(list(blocks), axis=1)
    n, k = block.shape
    result = np.empty((n, n_blocks * k))
    for i, values in enumerate(blocks):
        result[:, i * k : (i + 1) * k] = values
    return result


def _of_generator(columns: Array, i: int, n_generators: int, base: Bases) -> Array:
    """Return the sums of the columns of one generator."""
    if n_generators == 1:
        return columns
    xp, (r, k) = namespace(columns), base.own.shape
    bases, squares = columns[:, :-n_generators], columns[:, -n_generators:]
    own = xp.reshape(xp.reshape(bases, (r, -1, n_generators, k))[:, :, i, :], (r, -1))
    return xp.concat([own, squares[:, i : i + 1]], axis=1)


def _at(values: Array, part: Judged) -> Array:
    """Return values of the sources at the judged rows of a fold."""
    if isinstance(part.rows, slice):
        return values[part.rows, ...]
    return take_rows(values, part.rows)


def _marks(values: Array, rows: slice) -> Array:
    """(n,) whether a row of `values` is one of `rows`."""
    index = like(np.arange(values.shape[0]), values)
    return (index >= rows.start) & (index < rows.stop)
