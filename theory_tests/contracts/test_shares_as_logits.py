"""Percentages that are rounded, scores and votes that are given as logits."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from propercal import decompose
from propercal.reporting.plain import in_plain_words

RNG = np.random.default_rng(0)
N = 200
PROBA = RNG.dirichlet(np.ones(3), N)
LABEL = np.array([RNG.choice(3, p=row) for row in PROBA])
P = RNG.random(N)
Y = (RNG.random(N) < P) * 1
QUICK: dict[str, Any] = {"generator": "brier", "method": "risk", "bandwidth": 0.1}


@pytest.mark.parametrize("decimals", [0, 1, 2])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_rounded_percentages_of_several_columns(decimals: int, dtype: str) -> None:
    """Their sums are 100 but for rounding; divided by these they are nearly the probabilities."""
    given = np.round(PROBA * 100, decimals).astype(dtype)
    with pytest.warns(UserWarning, match=r"rows that sum to [\d.]+(, but for rounding)?, though .* percentages or counts, it seems. If they are, divide (each row by its sum|them by 100)"):
        decompose(LABEL, given, from_logits=True, **QUICK)
    found = decompose(LABEL, given / given.sum(axis=1, keepdims=True), **QUICK).risk
    assert found == pytest.approx(np.mean(np.sum((PROBA - np.eye(3)[LABEL]) ** 2, axis=1)), abs=0.01)


@pytest.mark.parametrize(
    ("given", "what"),
    [
        (np.round(P * 10), "scores of 10"),
        (np.round(P * 20) / 2, "scores of 10"),
        (P * 10, "scores of 10"),
        (np.round(P * 100), "percentages"),
        (np.round(P * 255).astype(np.uint8), "scores of 255"),
        (P * 1000, "scores of 1000"),
        (np.round(P * 500).astype(int), "counts, such as of votes"),
        (np.round(P * 15).astype(int), "counts, such as of votes"),
    ],
)
def test_one_column_of_another_scale(given: npt.NDArray[Any], what: str) -> None:
    with pytest.warns(UserWarning, match=rf"labels are (more|e\^\d+ times as) probable if they are {what}, though from_logits=True") as told:
        decompose(Y, given, from_logits=True, **QUICK)
    assert "read as logits" in in_plain_words(str(told[0].message))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("decimals", [0, 1, 9])
def test_logits_that_are_not_below_0(seed: int, decimals: int) -> None:
    """As a rectifier leaves them, and as they were rounded."""
    rng = np.random.default_rng(seed)
    logits = np.maximum(2 * rng.normal(size=(N, 3)) + 1, 0)
    prob = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    label = np.array([rng.choice(3, p=row) for row in prob])
    decompose(label, np.round(logits, decimals), from_logits=True, **QUICK)
    occurred = (rng.random(N) < 1 / (1 + np.exp(-logits[:, 0]))) * 1
    decompose(occurred, np.round(logits[:, 0], decimals), from_logits=True, **QUICK)
