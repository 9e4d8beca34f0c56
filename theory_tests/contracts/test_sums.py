"""What the sums behind an estimate promise: scales, threads, tiles, and means over problems."""

from __future__ import annotations

import math
import threading
from typing import Any

import numpy as np
import pytest

import propercal
from propercal import _threads
from propercal._kernels import tiles
from propercal._methods import cross_fitting
from propercal.generators import ItakuraSaito
from propercal.recalibration.family import TrainingSets
from theory_tests.instances import Floats, values


def test_distant_classes_keep_their_share_where_everything_underflows() -> None:
    """The nearest sources decide, and the others still count e^-200 times less, not 0.

    With x at a vertex and γ = 1e-3 the kernel of a source x at the target t is t_i^1000 up to a
    factor that both sources share: t = (1e-4, 1.2e-4, 1 - 2.2e-4), sources at e_0 and e_1. Both are below
    1e-3900, and the ratio of the two is (1 / 1.2)^1000 = e^-182.
    """
    t = np.array([1e-4, 1.2e-4, 1 - 2.2e-4])
    p = np.array([t, [1.0, 0, 0], [0, 1.0, 0]])
    mean = propercal.conditional_mean([2, 0, 1], p, bandwidth=1e-3)
    assert mean[0, 1] == pytest.approx(1, rel=1e-14)
    assert mean[0, 0] == pytest.approx(math.exp(1000 * math.log(1 / 1.2)), rel=1e-9)


def test_bins_have_fifteen_by_default() -> None:
    rng = np.random.default_rng(0)
    p = rng.uniform(size=80)
    y = rng.uniform(size=80) < p
    for kernel in ("uniform-bins", "quantile-bins"):
        found = propercal.decompose(y, p, method="risk", kernel=kernel, exclude_self=False)
        assert found.bandwidth == 1 / 15


def test_errors_of_classwise_terms_are_those_of_means_over_classes() -> None:
    """Rows are independent, classes of one row are not: their mean is one number for each row."""
    rng = np.random.default_rng(1)
    n = 400
    p = rng.dirichlet([5.0, 1.0, 0.3], size=n)
    y = (p.cumsum(1) < rng.uniform(size=(n, 1))).sum(1)
    found = propercal.decompose(y, p, generator="brier", notion="classwise", method="risk", bandwidth=0.1)
    outcome = np.eye(3)[y]
    for name, prediction in (("risk", p), ("uncertainty", np.broadcast_to(outcome.mean(0), p.shape))):
        rows = (2 * (outcome - prediction) ** 2).mean(axis=1)
        error = found.standard_errors[name]
        # The uncertainty adds a variance of second order, which is small where shares differ.
        assert error == pytest.approx(rows.std(ddof=1) / math.sqrt(n), rel=1e-12 if name == "risk" else 0.05)
        assert error >= rows.std(ddof=1) / math.sqrt(n) * (1 - 1e-12)


def test_a_loss_of_minus_infinity_is_told_from_one_of_infinity() -> None:
    """Itakura-Saito: a predicted 0 is +∞ where it occurred, −∞ where it did not."""
    rng = np.random.default_rng(2)
    p = rng.dirichlet(np.ones(3), size=30)
    y = rng.integers(0, 3, size=30)
    p[4], y[4] = [0.5, 0.5, 0.0], 0
    with pytest.warns(UserWarning, match="F is infinite where a predicted probability is 0"):
        found = propercal.decompose(y, p, generator=ItakuraSaito(), method="risk", bandwidth=0.5)
    assert found.risk == -math.inf
    y[4] = 2
    with pytest.warns(UserWarning, match="an outcome occurred to which the prediction gives probability 0"):
        found = propercal.decompose(y, p, generator=ItakuraSaito(), method="risk", bandwidth=0.5)
    assert found.risk == math.inf


@pytest.mark.parametrize("n_threads", ["1", "3"])
def test_threads_change_no_digit(n_threads: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    p = rng.dirichlet(np.ones(3), size=900)
    y = rng.integers(0, 3, size=900)
    seen: set[int] = set()
    step = tiles.add_by_class

    def spy(*arguments: Any) -> Any:
        seen.add(threading.get_ident())
        return step(*arguments)

    monkeypatch.setattr(tiles, "add_by_class", spy)
    monkeypatch.setenv("PROPERCAL_NUM_THREADS", n_threads)
    found = propercal.conditional_mean(y, p, bandwidth=0.05)
    assert len(seen - {threading.get_ident()}) == (0 if n_threads == "1" else len(seen))
    monkeypatch.setenv("PROPERCAL_NUM_THREADS", "1")
    np.testing.assert_array_equal(found, propercal.conditional_mean(y, p, bandwidth=0.05))


def test_one_blas_thread_is_lifted_by_the_last_who_asked() -> None:
    from threadpoolctl import threadpool_info, threadpool_limits

    def blas_threads() -> set[int]:
        return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}

    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with _threads.one_blas_thread:
            with _threads.one_blas_thread:
                assert blas_threads() == {1}
            assert blas_threads() == {1}
        assert blas_threads() == before


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
    fit = TrainingSets.fit

    def seen(train: TrainingSets, family: Any) -> Any:
        used.add(threading.get_ident())
        return fit(train, family)

    # As if these were enough rows for families to be fitted side by side.
    monkeypatch.setattr(cross_fitting, "_FEWEST_THREADED", 1)
    monkeypatch.setattr(TrainingSets, "fit", seen)
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
