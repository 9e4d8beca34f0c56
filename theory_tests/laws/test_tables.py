"""A table of weighted points gives what its rows give: exactly where the points are the predictions, else nearly.

Sources: a sum over rows of a function of the prediction is a sum over distinct predictions; a bin of width h that is
replaced by its mean leaves h² / 24 of the second derivative out (midpoint rule).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import expit, gammaln, logsumexp

from propercal import decompose
from propercal._data.predictions.notions import Problem
from propercal._kernels.kernels import DirichletKernel
from propercal._methods.correction import residuals, without_fold
from propercal._methods.recipe import make_recipe
from propercal._methods.table import Table, group_rows, make_table
from propercal._methods.table_sums import TableSums

TERMS = ("risk", "calibration_error", "refinement", "sharpness", "uncertainty", "lower_bound")
pytestmark = pytest.mark.filterwarnings("ignore:.*only the kernel sees", "ignore:.*that of about")


def few_predictions(kind: str, k: int, n: int = 400) -> tuple[Any, Any, Any]:
    """Labels, predictions of few distinct values, and weights that are the same for equal rows."""
    rng = np.random.default_rng(17)
    few = rng.dirichlet([0.8] * k, 23)
    if kind == "boundary":
        few[::4] = np.eye(k)[rng.integers(0, k, len(few[::4]))]
    row = rng.integers(0, len(few), n)
    p = few[row]
    if kind == "continuous":
        p = rng.dirichlet([0.8] * k, n)
    y = (rng.random(n)[:, None] > (0.8 * p + 0.2 / k).cumsum(axis=1)).sum(axis=1)
    return y, p, rng.uniform(0.1, 3, len(few))[row] if kind == "weights" else None


def difference(y: Any, p: Any, weight: Any, **settings: Any) -> float:
    """Largest difference of the terms of a table and of rows, in standard errors."""
    largest = 0.0
    by_table, by_rows = (
        decompose(y, p, sample_weight=weight, algorithm=each, generator=["brier", "spherical", "log"], **settings)
        for each in ("auto", "exact")
    )
    for found, wanted in zip(by_table, by_rows, strict=True):
        for term in TERMS:
            a, b = getattr(found, term), getattr(wanted, term)
            largest = max(largest, 0.0 if a == b else abs(a - b) / wanted.standard_errors["refinement"])
        for term, error in wanted.standard_errors.items():
            assert found.standard_errors[term] == pytest.approx(error, rel=0.1)
    return largest


@pytest.mark.parametrize("kind", ["ties", "continuous", "weights", "boundary"])
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("notion", ["canonical", "classwise", "top-label"])
@pytest.mark.filterwarnings("ignore:.*infinite")
def test_points_that_are_the_predictions_give_what_rows_give(kind: str, k: int, notion: str) -> None:
    y, p, weight = few_predictions(kind, k)
    settings: dict[str, Any] = {"sample_weight": weight, "notion": notion, "generator": ["brier", "spherical"]}
    by_table, by_rows = (decompose(y, p, algorithm=each, **settings) for each in ("auto", "exact"))
    for found, wanted in zip(by_table, by_rows, strict=True):
        assert found.algorithm == wanted.algorithm == "exact"
        assert found.bandwidth == wanted.bandwidth
        for term in TERMS:
            assert getattr(found, term) == pytest.approx(getattr(wanted, term), rel=1e-9, abs=1e-11)
        for term, error in wanted.standard_errors.items():
            assert found.standard_errors[term] == pytest.approx(error, rel=1e-8, abs=1e-11)


def z_and_labels(kind: str, n: int, seed: int) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    z = 1.5 * rng.standard_normal(n)
    if kind == "network":
        z = 5 * rng.standard_normal(n) - 3
    r = {
        "temperature": lambda: expit(0.7 * z + 0.2),
        "wavy": lambda: expit(0.8 * z + 0.5 * np.sin(3 * z)),
        "steps": lambda: np.clip(expit(z) + 0.08 * np.where(z > 0.7, -1, 1), 0.01, 0.99),
        "network": lambda: expit(0.6 * z + 0.3),
        "weights": lambda: expit(0.7 * z + 0.2),
        "atom": lambda: expit(z) + np.where(np.abs(z) < 0.6, 0.2 * np.cos(np.pi * z / 1.2), 0),
    }[kind]()
    if kind == "atom":
        z = np.where(rng.random(n) < 0.2, -0.85, z)
    return (rng.random(n) < r).astype(int), z, rng.gamma(2, size=n) if kind == "weights" else None


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["temperature", "wavy", "steps", "network", "weights", "atom"])
def test_bins_give_nearly_what_rows_give(kind: str) -> None:
    """Most differences are some thousandths of a standard error; a choice between two kernels may tip over."""
    found = []
    for seed in range(2):
        y, z, weight = z_and_labels(kind, 2600, seed)
        found.append(difference(y, expit(z), weight))
    assert np.median(found) < 0.03
    assert max(found) < 0.15


def test_a_result_says_whether_points_are_the_predictions() -> None:
    y, z, _ = z_and_labels("temperature", 2600, 0)
    assert decompose(y, expit(z)).algorithm == "linear"
    assert decompose(y, expit(np.round(z, 2))).algorithm == "exact"
    assert decompose(y, expit(z), algorithm="exact").algorithm == "exact"


def test_what_bins_leave_out_of_the_loss_is_known() -> None:
    """The refinement and the calibration error add up to the loss of the rows, not of the points."""
    y, z, _ = z_and_labels("wavy", 3000, 1)
    g = expit(z)
    for found in decompose(y, g, generator=["log", "brier"]):
        wanted = np.mean(found.generator.loss(np.stack([1 - g, g], 1), np.eye(2)[y]))
        assert found.risk == pytest.approx(wanted, rel=1e-12)
        assert found.calibration_error + found.refinement == pytest.approx(wanted, rel=1e-12)


def test_bins_heed_neither_the_order_of_rows_nor_that_of_classes() -> None:
    y, z, _ = z_and_labels("network", 2600, 2)
    order = np.random.default_rng(0).permutation(len(y))
    wanted = decompose(y, expit(z))
    for found in (decompose(y[order], expit(z)[order]), decompose(1 - y, expit(-z))):
        for term in TERMS:
            assert getattr(found, term) == pytest.approx(getattr(wanted, term), rel=1e-7)


def a_table(weighted: bool, k: int, n: int = 60, n_folds: int = 3) -> Table:
    """A table with points of one row and of many."""
    rng = np.random.default_rng(5)
    few = rng.dirichlet([0.7] * k, 25)
    row = np.concatenate([np.arange(25), rng.integers(0, 6, n - 25)])
    weight = rng.uniform(0.1, 2, 25)[row] if weighted else np.ones(n)
    log_prob = np.log(few)[row]
    label = rng.integers(0, k, n)
    problem = Problem(few[row], log_prob, label, weight / weight.sum(), not weighted, k)
    recipe = make_recipe("dirichlet", None, None, n_folds, 0)
    table = make_table(problem, rng.integers(0, n_folds, n), recipe, group_rows(problem, recipe))
    assert table is not None
    assert table.exact
    return table


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("gamma", [0.3, 0.02, 1e-3, 1e-5])
def test_sums_over_a_table_are_those_over_its_rows(weighted: bool, k: int, gamma: float) -> None:
    """Each cell stands for rows that see all others, written out here with dense matrices.

    A row that shares its point with others sees them at distance 0, whatever the bandwidth is.
    """
    table = a_table(weighted, k)
    sources = table.sources
    m, c = table.points.prob.shape[0], len(sources.fold)
    base = np.random.default_rng(6).dirichlet([2.0] * k, m)[table.place]
    outcome = np.eye(k)[sources.label]
    u = table.points.prob / gamma
    constant = gammaln(u.sum(axis=1) + k) - gammaln(u + 1).sum(axis=1)
    log_k = constant[None, :] + table.points.log_prob @ u.T
    sums_of = TableSums(table, DirichletKernel(), gamma)
    rtol = 1e-9 + 104 / gamma * 1e-15
    for e, rows in enumerate(sources.folds):
        columns = [base, *(base * (sources.fold != f)[:, None] for f in range(3))]
        sums = sums_of(rows, np.concatenate(columns, axis=1))
        for f in (None, *(f for f in range(3) if f != e)):
            if f is None:
                found = residuals(sums.labels.sum(axis=1), sums.squares.sum(axis=1), sums.columns[:, :k])
            else:
                found = without_fold(sums, f, sums.columns[:, (1 + f) * k : (2 + f) * k])
            for i, cell in enumerate(range(rows.start, rows.stop)):
                kept = np.ones(c, dtype=bool) if f is None else sources.fold != f
                size = table.weight / table.own
                # One row of the cell is the target itself.
                size = size - (np.arange(c) == cell)
                kept &= size > 0.5
                if not kept.any():
                    assert found.size[i, 0] == 0
                    continue
                logs = log_k[table.place[cell], table.place[kept]] + np.log(table.own[kept])
                scaled = np.exp(logs - logs.max())
                w = size[kept] * scaled
                n_e = w.sum() ** 2 / (size[kept] @ scaled**2)
                share = logsumexp(logs, b=size[kept])
                every = size > 0.5
                whole = logsumexp(log_k[table.place[cell], table.place[every]] + np.log(table.own[every]), b=size[every])
                if share - whole < np.log(1e-6):
                    continue
                np.testing.assert_allclose(found.size[i, 0], n_e, rtol=rtol)
                np.testing.assert_allclose(found.observed[i], n_e * (w @ outcome[kept]) / w.sum(), rtol=rtol, atol=1e-9)
                np.testing.assert_allclose(found.expected[i], n_e * (w @ base[kept]) / w.sum(), rtol=rtol, atol=1e-9)


def test_many_rows_of_few_predictions_are_few_cells() -> None:
    rng = np.random.default_rng(7)
    few = rng.dirichlet([1.0] * 4, 3)
    row = rng.integers(0, 3, 100_000)
    label = rng.integers(0, 4, len(row))
    problem = Problem(few[row], np.log(few)[row], label, np.full(len(row), 1 / len(row)), True, 4)
    recipe = make_recipe("dirichlet", None, None, 5, 0)
    table = make_table(problem, rng.integers(0, 5, len(row)), recipe, group_rows(problem, recipe))
    assert table is not None
    assert (len(table.points.prob), len(table.weight)) == (3, 60)
    assert table.weight.sum() == len(row)
