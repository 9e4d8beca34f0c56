"""What the published strategies draw is valid, and their boundary cases really occur."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from propercal.generators import BregmanGenerator, ItakuraSaito, Log, Quadratic
from propercal.testing import strategies
from propercal.testing.strategies import Vector

T = TypeVar("T")


def simplest(strategy: SearchStrategy[T], condition: Callable[[T], Any]) -> T:
    """Shrink the first of 3000 examples that fulfils `condition`; raises NoSuchExample if none does."""
    plan = settings(max_examples=3000, database=None, deadline=None, phases=(Phase.generate, Phase.shrink))
    return find(strategy, lambda x: bool(condition(x)), settings=plan, random=random.Random(1))  # noqa: S311


# Points
@given(st.data(), st.sampled_from([2, 3, 5, 40]), st.booleans())
def test_points_are_on_the_simplex(data: st.DataObject, k: int, boundary: bool) -> None:
    p = data.draw(strategies.simplex_points(k, boundary=boundary))
    assert p.shape == (k,)
    assert p.dtype == np.float64
    assert p.min() >= (0 if boundary else 1 / (100 * k))
    assert abs(p.sum() - 1) <= 1e-15 * k


@pytest.mark.parametrize("occurs", [
    pytest.param(lambda p: (p == 1).any(), id="vertex"),
    pytest.param(lambda p: p[0] == 1, id="first vertex"),
    pytest.param(lambda p: p[-1] == 1, id="last vertex"),
    pytest.param(lambda p: (p == 0).sum() == 1, id="face"),
    pytest.param(lambda p: p.min() == 1e-300, id="1e-300 from a face"),
    pytest.param(lambda p: p.min() == 1e-16, id="1e-16 from a face"),
    pytest.param(lambda p: p.max() > 0.999 and p.min() > 0, id="close to a vertex"),
    pytest.param(lambda p: np.sort(p)[:-1].max() == 1e-300, id="1e-300 from a vertex"),
    pytest.param(lambda p: (p == p[0]).all(), id="uniform"),
    pytest.param(lambda p: p.min() > 0.1 and (p * 16 % 1).all(), id="inside, off the grid"),
])
@pytest.mark.parametrize("k", [2, 3, 5])
def test_boundary_cases_occur(occurs: Callable[[Vector], Any], k: int) -> None:
    assert occurs(simplest(strategies.simplex_points(k), occurs))


def test_points_shrink_to_simple_numbers() -> None:
    points = strategies.simplex_points(2)
    assert simplest(points, lambda p: True).tolist() == [0.5, 0.5]
    assert simplest(points, lambda p: p[0] < 0.4).tolist() == [0.25, 0.75]
    assert simplest(points, lambda p: p[0] > 0.9).tolist() == [1.0, 0.0]


def test_one_class_is_refused() -> None:
    with pytest.raises(ValueError, match="n_classes = 1: expected 2 or more"):
        strategies.simplex_points(1)


# Pairs
@pytest.mark.parametrize("occurs", [
    pytest.param(lambda p, q: (p == q).all(), id="equal"),
    pytest.param(lambda p, q: 0 < np.abs(p - q).max() < 1e-6, id="nearly equal"),
    pytest.param(lambda p, q: 0 < np.abs(p - q).max() < 1e-11, id="very nearly equal"),
    pytest.param(lambda p, q: np.abs(p - q).max() == 1, id="two vertices"),
    pytest.param(lambda p, q: ((q == 0) & (p > 0)).any(), id="divergence may be infinite"),
])
def test_pairs_are_equal_nearly_equal_and_apart(occurs: Callable[[Vector, Vector], Any]) -> None:
    p, q = simplest(strategies.pairs(3), lambda pair: occurs(*pair))
    assert occurs(p, q)
    assert p is not q


# Predictions and populations
@given(st.data(), st.booleans())
def test_predictions_are_valid(data: st.DataObject, weighted: bool) -> None:
    drawn = data.draw(strategies.predictions(3, min_samples=2, max_samples=6, weighted=weighted))
    n = len(drawn.y_true)
    assert 2 <= n <= 6
    assert drawn.y_proba.shape == (n, 3)
    assert np.isin(drawn.y_true, [0, 1, 2]).all()
    assert (drawn.sample_weight is not None) is weighted
    if drawn.sample_weight is not None:
        assert drawn.sample_weight.shape == (n,)
        assert drawn.sample_weight.min() >= 0 < drawn.sample_weight.sum()


@given(strategies.joint_tables(3, min_predictions=2, max_predictions=4))
def test_joint_tables_are_distributions(table: Vector) -> None:
    assert 2 <= len(table) <= 4
    assert table.shape[1] == 3
    assert table.min() >= 0
    assert (table.sum(axis=1) > 0).all()
    assert abs(table.sum() - 1) <= 1e-14


# Kernels and generators
@given(st.data(), st.integers(1, 4), st.integers(2, 5))
def test_kernels_have_distributions_as_rows(data: st.DataObject, m: int, n: int) -> None:
    kernel = data.draw(strategies.markov_kernels(m, n))
    assert kernel.shape == (m, n)
    assert kernel.min() >= 0
    np.testing.assert_allclose(kernel.sum(axis=1), 1, rtol=0, atol=1e-14)


def is_deterministic(kernel: Vector) -> bool:
    return bool((kernel.max(axis=1) == 1).all())


def is_injective(kernel: Vector) -> bool:
    return is_deterministic(kernel) and len(np.unique(kernel, axis=0)) == len(kernel)


@given(strategies.markov_kernels(3, 4, injective=True))
def test_injective_kernels(kernel: Vector) -> None:
    assert is_injective(kernel)


def test_injective_kernels_need_room() -> None:
    with pytest.raises(ValueError, match="n_outputs = 2: expected 3 or more"):
        strategies.markov_kernels(3, 2, injective=True)


@given(strategies.generators(n_classes=3, finite_at_vertices=True))
def test_generators_are_finite_at_vertices_on_demand(generator: BregmanGenerator) -> None:
    assert np.isfinite(generator.value(np.eye(3))).all()


HARD: dict[str, tuple[SearchStrategy[Any], dict[str, Callable[[Any], Any]]]] = {
    "predictions": (strategies.predictions(3, weighted=True), {
        "duplicates": lambda d: len(np.unique(d.y_proba, axis=0)) < len(d.y_proba),
        "absent class": lambda d: len(set(d.y_true)) < 3 <= len(d.y_true),
        "all classes": lambda d: len(set(d.y_true)) == 3,
        "class of one sample": lambda d: 1 in np.bincount(d.y_true) and len(d.y_true) > 2,
        "weight 0": lambda d: (d.sample_weight == 0).any(),
        "infinite log loss": lambda d: (d.y_proba[np.arange(len(d.y_true)), d.y_true] == 0).any(),
    }),
    "tables": (strategies.joint_tables(2), {
        "zero cell": lambda t: (t == 0).any(),
        "class that does not occur": lambda t: (t.sum(axis=0) == 0).any(),
        "constant prediction": lambda t: len(t) == 1,
        "all cells": lambda t: len(t) > 1 and (t > 0).all(),
        "label determined": lambda t: len(t) > 1 and ((t > 0).sum(axis=1) == 1).all(),
    }),
    "kernels": (strategies.markov_kernels(3, 4), {
        "injective": is_injective,
        "merging": lambda t: is_deterministic(t) and not is_injective(t),
        "noisy": lambda t: not is_deterministic(t),
        "forgets everything": lambda t: (t == t[0]).all(),
    }),
    "generators": (strategies.generators(n_classes=3), {
        "log": lambda g: g == Log(),
        "infinite at vertices": lambda g: g == ItakuraSaito(),
        "quadratic": lambda g: isinstance(g, Quadratic),
        "composed": lambda g: " + " in repr(g),
        "tsallis": lambda g: "Tsallis" in repr(g),
    }),
}


@pytest.mark.parametrize(("kind", "case"), [(kind, case) for kind, (_, cases) in HARD.items() for case in cases])
def test_hard_cases_occur(kind: str, case: str) -> None:
    strategy, cases = HARD[kind]
    assert cases[case](simplest(strategy, cases[case]))
