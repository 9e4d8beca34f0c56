"""Rows that depend on each other, told by groups.

- Where each row has a group of its own, nothing changes, to the last digit; nor do names of groups matter, nor,
  but for rounding, the order of the rows.
- Rows that are repeated, each with its repetitions as a group, say what they say once: terms, standard errors,
  V and what is chosen are those of the rows without repetitions. For counts in units of rows, folds, kernel
  sums and sums of squares are the same then, since the correlation within groups is 1.
- The variance of a weighted mean is that of sums over groups.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import propercal
from propercal._data.dependence.groups import validate_groups
from propercal._data.predictions.notions import Problem, as_notion
from propercal._kernels.kernels import DirichletKernel
from propercal._methods.dependence import design_effect, intraclass_correlation
from propercal._methods.fold_sums import Sources, fold_kernel
from propercal._methods.folds import assign_folds
from propercal._methods.grouped_sums import GroupedRowSums, GroupedTableSums
from propercal._methods.recipe import make_recipe
from propercal._methods.table import group_rows, make_table
from propercal._results.intervals import standard_error_of_groups
from propercal.generators import as_generator
from propercal.inference.quadratic_forms import quadratic_forms
from propercal.inference.residuals import Rows, Table
from propercal.inference.signs import forms_of_signs, signs_of_groups
from propercal.recalibration.points import interior
from propercal.result import TERMS
from propercal.simulation import TemperatureScaledSimplex

# Sums are taken in another order, and fits end within 1e-8 of their optimum.
REL = 1e-6
NOTIONS = ("canonical", "classwise", "top-label")


def sample(k: int, n: int, seed: int = 0) -> tuple[Any, Any, Any]:
    return TemperatureScaledSimplex(k).sample(n, random_state=seed)


def numbers(result: propercal.Decomposition) -> dict[str, float]:
    errors = {f"error of {name}": value for name, value in result.standard_errors.items()}
    assert result.lower_bound is not None
    terms = {name: float(getattr(result, name)) for name in TERMS}
    return terms | errors | {"lower bound": result.lower_bound, "bandwidth": result.bandwidth}


@pytest.mark.parametrize("notion", NOTIONS)
def test_a_group_for_each_row_changes_nothing(notion: str) -> None:
    y, p, _ = sample(3, 150)
    groups = np.random.default_rng(0).permutation(150)
    plain, grouped = (propercal.decompose(y, p, notion=notion, groups=g) for g in (None, groups))
    assert numbers(plain) == numbers(grouped)
    assert (plain.n_groups, grouped.n_groups) == (None, 150)
    first, second = (propercal.calibration_test(y, p, notion=notion, groups=g, random_state=1) for g in (None, groups))
    assert (first.statistic, first.pvalue, first.null) == (second.statistic, second.pvalue, "labels")
    assert second.n_groups == 150
    one, other = (propercal.paired_difference(y, p, p[:, ::-1] * 0.5 + p * 0.5, notion=notion, groups=g) for g in (None, groups))
    assert (one.difference, one.standard_error) == (other.difference, other.standard_error)


@pytest.mark.filterwarnings("ignore:.*only the kernel sees")
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize(("k", "seed"), [(2, 1), (3, 2), (5, 1)])
def test_repeated_rows_in_groups_say_what_they_say_once(k: int, seed: int, notion: str, weighted: bool) -> None:
    n, m = 160, 4
    y, p, _ = sample(k, n, seed)
    weight = np.random.default_rng(seed).uniform(0.5, 2, n) if weighted else None
    repeated = np.repeat(np.arange(n), m)
    again = None if weight is None else weight[repeated]
    once = propercal.decompose(y, p, notion=notion, sample_weight=weight)
    often = propercal.decompose(y[repeated], p[repeated], notion=notion, sample_weight=again, groups=repeated)
    wanted = numbers(once)
    for name, value in numbers(often).items():
        assert value == pytest.approx(wanted[name], rel=REL, abs=1e-9), name
    assert (often.n_samples, often.n_groups) == (n * m, n)
    assert f"n = {n * m} in {n} groups" in str(often)


def test_paired_differences_of_repeated_rows_are_those_of_the_rows() -> None:
    y, p, truth = sample(3, 200, 4)
    repeated = np.repeat(np.arange(200), 3)
    once = propercal.paired_difference(y, p, truth)
    often = propercal.paired_difference(y[repeated], p[repeated], truth[repeated], groups=repeated)
    assert often.difference == pytest.approx(once.difference, rel=REL)
    assert often.standard_error == pytest.approx(once.standard_error, rel=REL)
    assert "n = 600 in 200 groups" in str(often)


@pytest.mark.parametrize("k", [2, 4])
def test_neither_names_nor_order_of_groups_matter(k: int) -> None:
    y, p, _ = sample(k, 240, 3)
    groups = np.repeat(np.arange(60), 4)
    rng = np.random.default_rng(0)
    renamed = np.array([f"patient {i}" for i in rng.permutation(60)])[groups]
    order = rng.permutation(240)
    result = propercal.decompose(y, p, groups=groups)
    assert numbers(propercal.decompose(y, p, groups=renamed)) == numbers(result)
    permuted = numbers(propercal.decompose(y[order], p[order], groups=groups[order]))
    for name, value in numbers(result).items():
        assert permuted[name] == pytest.approx(value, rel=REL), name
    test = propercal.calibration_test(y, p, groups=groups, random_state=0)
    assert propercal.calibration_test(y, p, groups=renamed, random_state=0).pvalue == test.pvalue
    assert (test.null, test.n_groups) == ("signs", 60)
    assert "signs by group" in str(test)


def test_blocks_are_groups_of_neighbours_and_weightless_rows_have_none() -> None:
    y, p, _ = sample(2, 205, 5)
    weight = np.ones(205)
    weight[[3, 100, 204]] = 0
    wanted = numbers(propercal.decompose(y, p, sample_weight=weight, groups=np.arange(205) // 4))
    assert numbers(propercal.decompose(y, p, sample_weight=weight, blocks=4)) == wanted
    assert propercal.decompose(y, p, blocks="auto").n_groups == 35  # ⌈205^(1/3)⌉ = 6 rows each
    groups = (np.arange(205) // 4).astype(object)
    groups[[3, 204]] = None, "of no row that counts"
    assert numbers(propercal.decompose(y, p, sample_weight=weight, groups=groups)) == wanted


def test_all_rows_of_a_group_come_into_one_fold() -> None:
    rng = np.random.default_rng(0)
    g = rng.dirichlet([1.0] * 3, 90)
    groups = rng.integers(0, 23, 90)
    folds = assign_folds(g, 5, 0, groups)
    assert all(len(set(folds[groups == c])) == 1 for c in range(23))
    each = [len(set(groups[folds == f])) for f in range(5)]
    assert sorted(each) in ([4, 4, 5, 5, 5], [4, 5, 5, 5, 4])
    np.testing.assert_array_equal(assign_folds(g, 5, 0, np.arange(90)), assign_folds(g, 5, 0))


def test_the_error_of_a_mean_is_that_of_sums_over_groups() -> None:
    """With groups of m equal values it is that of the means; by independence, else, that of the law of variances."""
    rng = np.random.default_rng(1)
    values = rng.normal(size=50)
    of_rows = values.std(ddof=1) / np.sqrt(50)
    group = np.repeat(np.arange(50), 3)
    found = standard_error_of_groups(values[group], np.full(150, 1 / 150), group)
    assert found == pytest.approx(of_rows, rel=1e-12)
    assert standard_error_of_groups(values, np.full(50, 0.02), np.arange(50)) == pytest.approx(of_rows, rel=1e-12)
    assert standard_error_of_groups(np.array([1.0, np.inf]), np.array([0.5, 0.5]), np.arange(2)) == np.inf


def test_correlation_within_groups_and_what_it_costs() -> None:
    group = np.repeat(np.arange(4000), 5)
    rng = np.random.default_rng(2)
    one = np.ones(len(group))
    shared = rng.normal(size=(4000, 2))[group]
    for rho in (0.0, 0.5, 1.0):
        e = np.sqrt(rho) * shared + np.sqrt(1 - rho) * rng.normal(size=(len(group), 2))
        # A mean over 80 000 pairs of products of variance 1 or so, in groups: an error below .01.
        assert intraclass_correlation(e, group, one, one) == pytest.approx(rho, abs=0.03)
        assert design_effect(e, group, one, one) == pytest.approx(1 + 4 * rho, abs=0.12)
    assert intraclass_correlation(shared, group, one, one) == pytest.approx(1, rel=1e-12)
    assert design_effect(shared[::5], group[::5], one[::5], one[::5]) == 1


def kernel_sums(sources: Sources, gamma: float, i: int, columns: Any) -> tuple[Any, Any, Any]:
    """Sums for source i over sources of other groups, in a loop, in units of their total."""
    features = DirichletKernel().features(sources.points.prob, sources.points.log_prob, gamma)
    others = np.flatnonzero(sources.group != sources.group[i])  # type: ignore[index]
    exponent = features.target[i] @ features.source[:, others]
    weight = np.ones(len(others)) if sources.weight is None else np.asarray(sources.weight)[others]
    w = weight * np.exp(exponent - exponent.max())
    w /= w.sum()
    labels = np.zeros((sources.n_folds, sources.n_classes))
    np.add.at(labels, (sources.fold[others], sources.label[others]), w)
    squares = np.zeros(sources.n_folds)
    count = np.ones(len(others)) if sources.count is None else np.asarray(sources.count)[others]
    np.add.at(squares, sources.fold[others], (1 - sources.correlation) * w**2 / count)
    for c in set(sources.group[others]):  # type: ignore[index]
        mine = sources.group[others] == c  # type: ignore[index]
        squares[sources.fold[others][mine][0]] += sources.correlation * w[mine].sum() ** 2
    return labels, squares, w @ columns[others]


def grouped_sources(k: int, n: int, weighted: bool) -> Sources:
    rng = np.random.default_rng(3)
    g = rng.dirichlet([1.0] * k, n)
    group = rng.integers(0, n // 3, n)
    fold, label = (group % 3), rng.integers(0, k, n)
    order = np.lexsort((label, fold))
    weight = rng.uniform(0.5, 2, n) if weighted else None
    return Sources(interior(np.log(g)), label[order], weight, fold[order], 3, k, group=group[order], correlation=0.4)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("k", [2, 3])
def test_kernel_sums_leave_out_the_group(k: int, weighted: bool) -> None:
    sources = grouped_sources(k, 45, weighted)
    columns = np.random.default_rng(4).uniform(size=(45, 3))
    sums_of = GroupedRowSums(sources, DirichletKernel(), 0.05)
    for rows in sources.folds:
        check_sums(sums_of(rows, columns), sources, 0.05, range(rows.start, rows.stop), columns, 1e-9)


def check_sums(found: Any, sources: Sources, gamma: float, rows: range, columns: Any, rtol: float) -> None:
    for j, i in enumerate(rows):
        total = found.labels[j].sum()
        wanted = kernel_sums(sources, gamma, i, columns)
        got = (found.labels[j] / total, found.squares[j] / total**2, found.columns[j] / total)
        for a, b in zip(got, wanted, strict=True):
            np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-9)


def test_groups_of_one_row_have_the_kernel_sums_of_rows() -> None:
    grouped = grouped_sources(3, 45, weighted=False)
    rows = grouped.folds[1]
    columns = np.random.default_rng(4).uniform(size=(45, 3))
    single = Sources(grouped.points, grouped.label, None, grouped.fold, 3, 3, group=np.arange(45), correlation=0.7)
    a = fold_kernel(grouped, DirichletKernel(), 0.05, "exact")(rows, columns)
    b = GroupedRowSums(single, DirichletKernel(), 0.05)(rows, columns)
    for power, x, y in ((1, a.labels, b.labels), (2, a.squares, b.squares), (1, a.columns, b.columns)):
        of_a, of_b = (s.labels.sum(axis=(1, 2)) ** power for s in (a, b))
        shape = (-1,) + (1,) * (x.ndim - 1)
        np.testing.assert_allclose(x / of_a.reshape(shape), y / of_b.reshape(shape), rtol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("gamma", [0.3, 0.02])
def test_sums_over_a_table_leave_out_the_group(k: int, gamma: float, weighted: bool) -> None:
    rng = np.random.default_rng(5)
    few = rng.dirichlet([0.7] * k, 25)
    row = np.concatenate([np.arange(25), rng.integers(0, 6, 50)])
    weight = rng.uniform(0.1, 2, 25)[row] if weighted else np.ones(75)
    groups = rng.integers(0, 25, 75)
    groups[:2] = 0, 24
    problem = Problem(few[row], np.log(few)[row], rng.integers(0, k, 75), weight / weight.sum(), not weighted, k, groups)
    recipe = make_recipe("dirichlet", None, None, 3, 0)
    folds = groups % 3
    table = make_table(problem, folds, recipe, group_rows(problem, recipe))
    assert table is not None
    assert table.sources.group is not None
    np.testing.assert_array_equal(table.sources.group[table.cell], groups)
    table = replace(table, sources=replace(table.sources, correlation=0.4))
    columns = rng.uniform(size=(len(table.weight), 2))
    sums_of = GroupedTableSums(table, DirichletKernel(), gamma)
    for rows in table.sources.folds:
        check_sums(sums_of(rows, columns), table.sources, gamma, range(rows.start, rows.stop), columns, 1e-7)


def test_rows_of_one_group_see_no_others() -> None:
    """Points that only one group has, and none nearby: nothing is left, and nothing is corrected."""
    p = np.concatenate([np.full(10, 0.02), np.repeat([0.5, 0.98], 60)])
    y = np.tile([0, 1], 65)
    groups = np.concatenate([np.zeros(10), np.arange(1, 121)])
    result = propercal.decompose(y, p, groups=groups, bandwidth=1e-4)
    assert np.isfinite(float(result.calibration_error))


@pytest.mark.parametrize("notion", ["canonical", "classwise"])
def test_large_samples_choose_and_sum_by_group(notion: str) -> None:
    """Beyond 2000 rows of three classes, some of the rows judge; groups of repetitions stay together."""
    y, p, _ = sample(3, 700, 6)
    repeated = np.repeat(np.arange(700), 4)
    jitter = 1 + 1e-7 * np.random.default_rng(0).normal(size=(2800, 3))
    near = p[repeated] * jitter
    near /= near.sum(axis=1, keepdims=True)
    once = propercal.decompose(y, p, notion=notion, kernel=None)
    often = propercal.decompose(y[repeated], near, notion=notion, kernel=None, groups=repeated)
    assert float(often.calibration_error) == pytest.approx(float(once.calibration_error), rel=0.02)
    assert often.standard_errors["calibration_error"] == pytest.approx(once.standard_errors["calibration_error"], rel=0.02)
    with_kernel = propercal.decompose(y[repeated], near, notion=notion, groups=repeated, bandwidth=0.05)
    low, high = with_kernel.interval("calibration_error")
    assert low <= float(once.calibration_error) <= high


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("k", "notion"), [(2, "canonical"), (3, "canonical"), (3, "classwise"), (4, "top-label")])
def test_forms_of_signs_are_those_of_residuals_with_these_signs(k: int, notion: str, weighted: bool) -> None:
    """Residuals of a group are multiplied by one number, 1 in the observed set, then summed up as labels' are."""
    y, p, _ = sample(k, 120, 7)
    weight = np.random.default_rng(0).uniform(0.5, 2, 120) if weighted else None
    groups = np.repeat(np.arange(30), 4)
    predictions = validate_groups(y, p, groups=groups, sample_weight=weight)
    reduction, generator = as_notion(notion), as_generator("brier")
    signs = signs_of_groups(30, 40, np.random.default_rng(0))
    assert signs.shape == (41, 30)
    assert set(np.unique(signs)) == {-1, 1}
    assert (signs[0] == 1).all()
    names, found = forms_of_signs(predictions, reduction, generator, signs, np.random.default_rng(1))
    rng = np.random.default_rng(1)
    total: Any = 0.0
    for problem in reduction.problems(predictions):
        data: Any = Rows.of(problem) if problem.n_classes > 2 else Table.of(problem)
        forms = quadratic_forms(data.at if problem.n_classes > 2 else data.sums.at, generator, rng)
        total = total + forms(data.residuals(np.asarray(problem.label)[None, :], signs[:, groups]))
    np.testing.assert_allclose(found, total, rtol=1e-9, atol=1e-9 * np.abs(total).max())
    assert len(names) == len(found)
