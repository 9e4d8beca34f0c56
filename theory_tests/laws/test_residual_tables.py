"""The forms of two classes depend on labels through sums by point: exactly where few predictions are distinct.

Among others, bins take the place of points: every sum has the mean 0 all the same, the level is kept, and the forms are nearly
those of rows.
"""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

from propercal._data.predictions.notions import Problem, as_notion
from propercal._data.predictions.predictions import validate
from propercal._kernels.kernels import BANDWIDTHS
from propercal.generators import Brier, Log
from propercal.inference import calibration_test
from propercal.inference.evaluation import CountedTables, WeighedTables
from propercal.inference.quadratic_forms import quadratic_forms
from propercal.inference.residuals import Rows, Table
from theory_tests.instances import labels_of, softmax
from theory_tests.laws.test_calibration_test import check_uniform

FALSE_ALARM = 1e-6
N_SETS = 40


def problem_of(p: Any, weight: Any = None) -> Problem:
    (problem,) = as_notion("canonical").problems(validate(np.zeros(len(p), dtype=int), np.stack([1 - p, p], axis=1), sample_weight=weight))
    return problem


def drawn(p: Any, rng: Any, n_sets: int = N_SETS) -> Any:
    return (rng.random((n_sets, len(p))) < p).astype(np.int8)


def standardised(forms: Any) -> Any:
    return (forms - forms.mean(axis=1, keepdims=True)) / forms.std(axis=1, keepdims=True)


# ------------------------------------------------------------------ few distinct predictions
@pytest.mark.parametrize("generator", [Log(), Brier()])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("factor", [False, True])
def test_points_of_equal_predictions_give_the_forms_of_their_rows(generator: Any, weighted: bool, factor: bool) -> None:
    """Rows of one prediction follow each other, so that features of both rest on the same random points."""
    rng = np.random.default_rng(0)
    p = np.repeat(rng.permutation(np.linspace(0.02, 0.98, 49)), rng.integers(1, 30, 49))
    problem = problem_of(p, rng.uniform(0.2, 2, len(p)) if weighted else None)
    rows, table = Rows.of(problem), Table.of(problem)
    assert table.sums.size == 49
    y, own = drawn(p, rng), rng.uniform(0.5, 2, (N_SETS, len(p))) if factor else None
    expected = quadratic_forms(rows.at, generator, np.random.default_rng(1))(rows.residuals(y, own))
    found = quadratic_forms(table.sums.at, generator, np.random.default_rng(1))(table.residuals(y, own))
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)


def test_predictions_that_rounding_took_apart_are_one_point() -> None:
    rng = np.random.default_rng(8)
    p = rng.choice(np.linspace(0.05, 0.95, 19), 400)
    table, noisy = Table.of(problem_of(p)), Table.of(problem_of(p * (1 + 1e-14 * rng.standard_normal(400))))
    assert table.sums.size == noisy.sums.size == 19
    assert (table.number == noisy.number).all()
    y = drawn(p, rng)
    expected, found = (
        quadratic_forms(each.sums.at, Log(), np.random.default_rng(0))(each.residuals(y)) for each in (table, noisy)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("largest_exact", [0, 2000])
def test_counts_give_the_residuals(weighted: bool, largest_exact: int) -> None:
    """In a bin, 1 − 2 g of the rows where the event is differs from its mean by twice the width at most, .025 / 4 in g."""
    rng = np.random.default_rng(2)
    p = rng.beta(0.8, 1.2, 500)
    weight = rng.uniform(0.2, 2, 500) if weighted else None
    table = Table.of(problem_of(p, weight), largest_exact)
    y = drawn(p, rng)
    (expected,) = table.residuals(y)
    w = np.ones(500) if weight is None else 500 * weight / weight.sum()
    counts: list[Any] = [np.stack([np.bincount(table.number, w**s * each, table.sums.size) for each in y]) for s in (1, 2)]
    found = table.sums.residuals(counts[0], counts[1])
    np.testing.assert_allclose(found.linear, expected.linear, atol=1e-10)
    assert found.square is not None
    assert expected.square is not None
    if largest_exact:
        np.testing.assert_allclose(found.square, expected.square, atol=1e-10)
    else:
        assert (np.abs(found.square - expected.square) <= 2 * 0.025 / 4 * 1.01 * counts[1] + 1e-12).all()
        assert table.sums.size < 400


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("largest_exact", [0, 2000])
def test_residual_sums_have_the_mean_0_and_squares_that_of_rows(weighted: bool, largest_exact: int) -> None:
    """Over labels that occur with their predicted probabilities, which are each row's own."""
    rng = np.random.default_rng(3)
    p = rng.beta(0.5, 2, 700)
    table = Table.of(problem_of(p, rng.uniform(0.2, 2, 700) if weighted else None), largest_exact)
    w = np.ones(700) if table.weight is None else table.weight
    expected: list[Any] = [np.bincount(table.number, w**s * p, table.sums.size)[None] for s in (1, 2)]
    found = table.sums.residuals(expected[0], expected[1])
    np.testing.assert_allclose(found.linear, 0, atol=1e-10)
    assert found.square is not None
    variance = np.bincount(table.number, w**2 * p * (1 - p), table.sums.size)
    np.testing.assert_allclose(found.square[0], variance, rtol=1e-10, atol=1e-12)


# ------------------------------------------------------------------ classes of one label set
@pytest.mark.parametrize("weighted", [False, True])
def test_a_row_counts_in_the_table_of_its_class_alone(weighted: bool) -> None:
    """The counted sum of all tables is that of each table from the residuals of every row."""
    rng = np.random.default_rng(4)
    n, k = 300, 4
    g = rng.dirichlet([1.0] * k, n)
    predictions = validate(labels_of(g, rng), g, sample_weight=rng.uniform(0.5, 2, n) if weighted else None)
    y = np.stack([labels_of(g, rng) for _ in range(N_SETS)])
    counted, every = CountedTables(n, k), WeighedTables(np.ones(k))
    for i, problem in enumerate(as_notion("classwise").problems(predictions)):
        table = Table.of(problem)
        forms = quadratic_forms(table.sums.at, Log(), rng)
        counted.add(table, forms, i)
        every.add(table, forms, i)
    assert counted.names == every.names
    np.testing.assert_allclose(counted(y), every(y), rtol=1e-8, atol=1e-8)


# ------------------------------------------------------------------ many distinct predictions
KINDS = {
    "even": lambda rng, n: rng.random(n),
    "normal": lambda rng, n: 1 / (1 + np.exp(-2 * rng.standard_normal(n))),
    "extreme": lambda rng, n: 1 / (1 + np.exp(-8 * rng.standard_normal(n))),
    "narrow": lambda rng, n: 0.3 + 0.01 * rng.random(n),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighted", [False, True])
def test_bins_give_nearly_the_forms_of_rows(kind: str, weighted: bool) -> None:
    """In standard deviations of each form, over sets that are calibrated and sets that are not.

    Score tests change by what a smooth function does within a bin. Features of the kernels leave out 1 % of the trace whatever
    the points are, and rest on other draws: what they change is compared with what other draws of rows do.
    """
    rng = np.random.default_rng(5)
    p = KINDS[kind](rng, 1500)
    problem = problem_of(p, rng.uniform(0.2, 2, len(p)) if weighted else None)
    rows, table = Rows.of(problem), Table.of(problem, 0)
    assert table.sums.size < 700 < len(p)
    r = 1 / (1 + np.exp(-0.9 * np.log(p / (1 - p)) - 0.1))
    y = np.concatenate([drawn(p, rng, 200), drawn(r, rng, 200)])
    expected, again, found = (
        standardised(quadratic_forms(at, Log(), np.random.default_rng(seed))(each.residuals(y)))
        for each, at, seed in ((rows, rows.at, 0), (rows, rows.at, 1), (table, table.sums.at, 0))
    )
    n_scores = len(expected) - len(BANDWIDTHS)
    difference = np.sqrt(((found - expected) ** 2).mean(axis=1))
    draws = np.sqrt(((again - expected) ** 2).mean(axis=1))
    assert (difference[:n_scores] < 0.02).all()
    assert (difference[n_scores:] < 1.5 * draws[n_scores:] + 0.02).all()


@pytest.mark.slow
@pytest.mark.parametrize("notion", ["classwise", "top-label"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_p_value_is_uniform_where_predictions_are_binned(notion: str, weighted: bool) -> None:
    n, n_samples, n_resamples = 2500, 150, 19
    rng = np.random.default_rng(6)
    p_values = []
    for _ in range(n_samples):
        g = softmax(1.5 * rng.standard_normal((n, 3)))
        weight = rng.uniform(0.1, 2, n) if weighted else None
        options: Any = {"notion": notion, "n_resamples": n_resamples, "sample_weight": weight, "random_state": rng}
        p_values.append(calibration_test(labels_of(g, rng), g, **options).pvalue)
    check_uniform(p_values, n_resamples)


@pytest.mark.parametrize("notion", ["canonical", "classwise", "top-label"])
def test_memory_does_not_grow_with_the_number_of_sets(notion: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Each thread has a block of sets.
    monkeypatch.setenv("PROPERCAL_NUM_THREADS", "1")
    rng = np.random.default_rng(7)
    g = rng.dirichlet([1.0] * 3, 10_000)
    y = labels_of(g, rng)
    peaks = []
    for n_resamples in (200, 800):
        tracemalloc.start()
        calibration_test(y, g, notion=notion, n_resamples=n_resamples, random_state=0)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    # The label sets alone would be 6 MB more, the random numbers 48 MB.
    assert peaks[1] < peaks[0] + 2**20
