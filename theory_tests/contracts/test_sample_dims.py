"""The order of `sample_dims=`, which arrays without names have: that of some labelled array, or refused.

As in the tests of rows, labels or weights that are given to other rows change the Brier score.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from propercal import conditional_mean, decompose, paired_difference
from theory_tests.contracts.test_rows import CODES, PROBA, RIGHT, WEIGHT, WEIGHTED, array, check, pair, risk

#: Of the few rows here hardly any is surprising, which has a warning of its own.
pytestmark = pytest.mark.filterwarnings("ignore:only [0-9]+ rows? had an outcome")

LABELS, GRID, WEIGHTS = array(CODES.reshape(5, 6), "u", "v"), array(PROBA.reshape(5, 6, 3), "u", "v", "k"), array(WEIGHT.reshape(5, 6), "u", "v")
TURNED: dict[str, Any] = {"sample_dims": ("v", "u")}
MESSAGE = r"an array of shape .* without names of dimensions: expected to know whether it is in the order of sample_dims, 'v', 'u', or of y_(true|proba|proba_a), 'u', 'v'"


def test_arrays_with_names_may_be_said_in_any_order() -> None:
    for labels in (LABELS, LABELS.T):
        for grid in (GRID, GRID.transpose("k", "v", "u")):
            for order in (("u", "v"), ("v", "u")):
                check(labels, grid, sample_dims=order)
                for weights in (WEIGHTS, WEIGHTS.T):
                    check(labels, grid, WEIGHTED, sample_dims=order, sample_weight=weights)


@pytest.mark.parametrize("shape", [(30,), (5, 6)], ids=str)
def test_arrays_without_names_are_refused_beside_dimensions_in_another_order(shape: tuple[int, ...]) -> None:
    groups = np.arange(30) // 2
    calls: list[Callable[[], Any]] = [
        lambda: risk(CODES.reshape(shape), GRID, **TURNED),
        lambda: risk(LABELS, PROBA.reshape(*shape, 3), **TURNED),
        lambda: risk(LABELS, GRID, sample_weight=WEIGHT.reshape(shape), **TURNED),
        lambda: risk(LABELS, GRID, groups=groups.reshape(shape), **TURNED),
        lambda: pair(LABELS, GRID, PROBA.reshape(*shape, 3), **TURNED),
        lambda: pair(CODES.reshape(shape), GRID, GRID, **TURNED),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=MESSAGE):
            call()


def test_they_stand_in_an_order_that_some_array_has() -> None:
    # In that of both, of the labels alone, and of the predictions alone.
    for labels, grid in ((LABELS, GRID), (LABELS, GRID.transpose("v", "u", "k")), (LABELS.T, GRID)):
        for shape in ((30,), (5, 6)):
            check(labels, grid, WEIGHTED, sample_dims=("u", "v"), sample_weight=WEIGHT.reshape(shape))
    check(CODES, GRID, sample_dims=("u", "v"))
    assert pair(CODES.reshape(5, 6).T.ravel(), GRID, GRID.transpose("v", "u", "k"), sample_dims=("v", "u")) == pytest.approx((RIGHT, RIGHT), rel=1e-12)
    assert pair(CODES, GRID.transpose("v", "u", "k"), GRID, sample_dims=("u", "v")) == pytest.approx((RIGHT, RIGHT), rel=1e-12)


def test_an_index_of_the_dimensions_needs_no_order() -> None:
    series = LABELS.to_series()
    for labels in (series, series.sample(frac=1, random_state=0), series.swaplevel()):
        check(labels, GRID, **TURNED)
    named = {"u": list("abcde"), "v": range(6)}
    placed, grid = (each.assign_coords(named) for each in (LABELS, GRID))
    check(placed.to_series()[::-1], grid, **TURNED)
    check(placed, pd.DataFrame(PROBA, placed.to_series().index)[::-1], **TURNED)


def test_one_dimension_has_no_order() -> None:
    check(CODES, array(PROBA, "s", "k"), sample_dims="s")
    assert decompose(CODES, array(PROBA, "s", "k"), sample_dims=["s"], generator="brier", kernel=None).risk == pytest.approx(RIGHT)
    found = paired_difference(CODES, array(PROBA, "s", "k"), PROBA, sample_dims="s", generator="brier", kernel=None)
    assert found.difference == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("dims", [("u", "v"), ("v", "u")])
def test_means_stand_in_the_order_of_the_predictions(dims: tuple[str, ...]) -> None:
    index = pd.MultiIndex.from_product([range(5), range(6)], names=["u", "v"])
    labels = LABELS.assign_coords(u=range(5), v=range(6))
    order = np.random.default_rng(0).permutation(30)
    right = conditional_mean(CODES, PROBA, bandwidth=0.1)
    for rows in (np.arange(30), order):
        found = conditional_mean(labels, pd.DataFrame(PROBA, index).iloc[rows], bandwidth=0.1, sample_dims=dims)
        np.testing.assert_allclose(found, right[rows], rtol=1e-9)


def test_wide_tables_whose_axes_have_names_are_refused() -> None:
    codes, weight = pd.DataFrame(CODES.reshape(5, 6)), pd.DataFrame(WEIGHT.reshape(5, 6))
    counted = GRID.assign_coords(u=range(5), v=range(6))
    for grid in (GRID, counted):
        check(codes, grid, class_dim="k")
        check(LABELS, GRID, WEIGHTED, sample_weight=weight, class_dim="k")
        for odd in (codes.iloc[[1, 0, 2, 3, 4]], codes.iloc[:, ::-1], codes.set_axis([*"abcdef"], axis=1), codes.set_axis([*"abcde"])):
            with pytest.raises(ValueError, match=r"y_true = (a table of shape .*, whose axes have names|rows of the index)"):
                risk(odd, grid, class_dim="k")
        for odd in (weight.iloc[::-1], weight.iloc[:, [0, 2, 1, 3, 4, 5]]):
            with pytest.raises(ValueError, match=r"sample_weight = (a table of shape .*, whose axes have names|rows of the index)"):
                risk(LABELS, grid, sample_weight=odd, class_dim="k")


def test_dimensions_that_nothing_else_has_are_in_no_order() -> None:
    weights = WEIGHTS.assign_coords(u=range(5), v=range(6))
    for given in (weights, weights.T, weights[::-1], WEIGHTS):
        with pytest.raises(ValueError, match=r"sample_weight = dimensions .*: expected one of rows, as neither y_true nor y_proba has names"):
            risk(CODES, PROBA, sample_weight=given)
        with pytest.raises(ValueError, match="groups = dimensions"):
            decompose(CODES, PROBA, groups=given, generator="brier")
    index = pd.MultiIndex.from_product([range(5), range(6)], names=["u", "v"])
    for given in (weights, weights.T, weights[::-1]):
        check(pd.Series(CODES, index), PROBA, WEIGHTED, sample_weight=given)
        check(CODES, pd.DataFrame(PROBA, index), WEIGHTED, sample_weight=given)
