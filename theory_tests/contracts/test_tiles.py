"""Sums do not depend on the tiles they are taken in, nor on the number of threads."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import propercal
from propercal import _threads
from propercal._kernels import tiles
from propercal._methods import cross_fitting
from propercal.recalibration.families import TrainingSet
from theory_tests.instances import Floats, values


def sample(n: int = 83, k: int = 4) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(6)
    # Rows far from all others are summed again by themselves.
    prob = np.concatenate([rng.dirichlet([0.4] * k, n - 3), np.eye(k)[:3] * (1 - 1e-9) + 1e-9 / k])
    prob /= prob.sum(axis=1, keepdims=True)
    return rng.integers(0, k, n), prob, rng.uniform(0.1, 3, n)


def terms(**settings: Any) -> list[Floats]:
    y_true, y_proba, weight = sample()
    found = []
    for sample_weight in (None, weight):
        result = propercal.decompose(y_true, y_proba, sample_weight=sample_weight, algorithm="exact", **settings)
        found.append(values(result))
    return found


@pytest.mark.parametrize("shape", [(1, 1), (7, 11), (82, 5), (5, 83), (500, 500)])
@pytest.mark.parametrize("threads", ["1", "3"])
@pytest.mark.parametrize("settings", [
    {"method": "risk", "bandwidth": 0.1},
    {"method": "direct", "bandwidth": 1e-3, "notion": "classwise"},
    {"method": "risk", "bandwidth": 0.1, "exclude_self": False},
])
def test_tiles_and_threads_change_nothing(
    shape: tuple[int, int], threads: str, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = terms(**settings)
    monkeypatch.setattr(tiles, "TILE", shape)
    monkeypatch.setenv("PROPERCAL_NUM_THREADS", threads)
    np.testing.assert_allclose(terms(**settings), wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("shape", "threads"), [((7, 11), "3"), ((82, 5), "1")])
def test_nor_do_they_for_the_debiased_method(
    shape: tuple[int, int], threads: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings: dict[str, Any] = {"method": "debiased", "generator": "brier"}
    wanted = terms(**settings)
    used: set[int] = set()
    fit = TrainingSet.fit

    def seen(train: TrainingSet, family: Any) -> Any:
        used.add(threading.get_ident())
        return fit(train, family)

    # As if these were enough rows for families to be fitted side by side.
    monkeypatch.setattr(cross_fitting, "_THREADED_ROWS", 1)
    monkeypatch.setattr(TrainingSet, "fit", seen)
    monkeypatch.setattr(tiles, "TILE", shape)
    monkeypatch.setenv("PROPERCAL_NUM_THREADS", threads)
    np.testing.assert_allclose(terms(**settings), wanted, rtol=1e-9, atol=1e-12)
    assert used
    assert (threading.get_ident() in used) is (threads == "1")


@pytest.mark.parametrize("value", ["0", "-1", "two", "1.5"])
def test_a_number_of_threads_that_is_none(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROPERCAL_NUM_THREADS", value)
    with pytest.raises(ValueError, match=f"PROPERCAL_NUM_THREADS = '{value}': expected a whole number"):
        _threads.n_threads()
    monkeypatch.setenv("PROPERCAL_NUM_THREADS", "3")
    assert _threads.n_threads() == 3
    monkeypatch.delenv("PROPERCAL_NUM_THREADS")
    assert _threads.n_threads() >= 1
