"""What weights of rows do, from 0 to very unequal ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import propercal
from theory_tests.contracts.forms import (
    METHODS,
    NOTIONS,
    N,
    same,
    sample,
    terms,
)


@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kernel", ["dirichlet", "uniform-bins", "quantile-bins"])
def test_weights(kernel: str, method: str, notion: str) -> None:
    # Cells of a whole simplex would leave points alone in theirs.
    y, p = sample(n=90, k=2 if (kernel, notion) == ("quantile-bins", "canonical") else 3)
    w = np.random.default_rng(3).uniform(0.1, 3, 90)
    args: dict[str, Any] = {
        "notion": notion,
        "method": method,
        "kernel": kernel,
        "generator": "brier",
        "bandwidth": 0.5 if kernel != "dirichlet" else 0.05,
    }
    plain = terms(y, p, **args)
    same(terms(y, p, sample_weight=np.ones(90), **args), plain)
    same(terms(y, p, sample_weight=np.full(90, 1e-200), **args), plain)
    same(terms(y, p, sample_weight=np.full(90, 7), **args), plain)
    weighted = terms(y, p, sample_weight=w, **args)
    same(terms(y, p, sample_weight=w * 1e200, **args), weighted)
    same(terms(y, p, sample_weight=w.tolist(), **args), weighted)
    same(terms(y, p, sample_weight=pd.Series(w, index=np.arange(90)[::-1]), **args), weighted)
    assert not np.allclose(weighted, plain, rtol=1e-4)


@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kernel", ["dirichlet", "uniform-bins", "quantile-bins"])
def test_weight_zero_is_removal(kernel: str, method: str, notion: str) -> None:
    # Cells of a whole simplex would leave points alone in theirs.
    y, p = sample(n=90, k=2 if (kernel, notion) == ("quantile-bins", "canonical") else 3)
    w = np.random.default_rng(3).uniform(0.1, 3, 90)
    w[::4] = 0
    keep = w > 0
    args: dict[str, Any] = {
        "notion": notion,
        "method": method,
        "kernel": kernel,
        "generator": "brier",
        "bandwidth": 0.5 if kernel != "dirichlet" else 0.05,
    }
    same(
        terms(y, p, sample_weight=w, **args),
        terms(y[keep], p[keep], sample_weight=w[keep], **args),
    )


def test_weight_zero_removes_an_impossible_event_too() -> None:
    """0 × ∞: a row that counts for nothing cannot make the log loss infinite, nor earn a warning."""
    y, p = sample()
    p[7], y[7] = [0.5, 0.5, 0.0], 2
    w = np.ones(N)
    w[7] = 0
    keep = w > 0
    for notion in NOTIONS:
        a = terms(y, p, notion=notion, sample_weight=w)
        same(a, terms(y[keep], p[keep], notion=notion))


@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("method", METHODS)
def test_weight_two_is_a_copy_when_a_point_sees_itself(method: str, notion: str) -> None:
    y, p = sample()
    copies = np.random.default_rng(4).integers(1, 4, N)
    args: dict[str, Any] = {"notion": notion, "method": method, "exclude_self": False}
    same(
        terms(y, p, sample_weight=copies, **args),
        terms(np.repeat(y, copies), np.repeat(p, copies, axis=0), **args),
    )


def test_selected_bandwidth_knows_the_weights() -> None:
    rng = np.random.default_rng(13)
    p = rng.dirichlet([2.0, 6.0, 12.0], size=120)
    y = np.where(p[:, 1] > 0.3, 1, rng.choice([0, 2], size=120))
    w = np.where(np.arange(120) < 80, 1.0, 0.0)
    for criterion in ("risk", "likelihood"):
        args: dict[str, Any] = {"generator": "brier", "notion": "canonical", "criterion": criterion}
        a = propercal.select_bandwidth(y, p, sample_weight=w, **args)
        b = propercal.select_bandwidth(y[:80], p[:80], **args)
        assert a == pytest.approx(b, rel=1e-4)  # a search stops somewhere in a flat valley
