"""A loss that a few rows make is a warning: what they are cannot be learnt from the others."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from propercal import CalibrationSketch, decompose
from propercal.simulation import MiscalibratedSimplex, TemperatureScaledSimplex


def warned(y: Any, p: Any, **options: Any) -> bool:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        decompose(y, p, **options)
    return any("the others having next to none" in str(each.message) for each in caught)


@pytest.mark.parametrize("notion", ["canonical", "classwise", "top-label"])
def test_a_confident_model_on_few_rows(notion: str) -> None:
    """Its errors are 1 in 20 rows or fewer; the number in the message is (Σ L)² / Σ L²."""
    y, p, _ = MiscalibratedSimplex(5, "temperature", 30.0).sample(100, random_state=0)
    with pytest.warns(UserWarning, match="the log loss is that of about"):
        decompose(y, p, notion=notion)
    loss = -np.log(p[np.arange(100), y])
    few = loss.sum() ** 2 / (loss @ loss)
    assert few < 15
    if notion == "canonical":
        with pytest.warns(UserWarning, match=f"about {few:.0f} of the rows"):
            decompose(y, p)
    # A bounded loss is not that of few rows, nor is that of the published methods an interval's matter.
    assert not warned(y, p, notion=notion, generator="brier")
    assert not warned(y, p, notion=notion, method="risk", bandwidth=0.02)


def test_no_warning_where_many_rows_count() -> None:
    y, p, _ = TemperatureScaledSimplex(5).sample(300, random_state=0)
    assert not warned(y, p)
    assert not warned(y[:25], p[:25])
    # Few rows because of their weights: that is said elsewhere.
    weight = np.r_[np.ones(5), np.full(295, 1e-9)]
    assert not warned(y, p, sample_weight=weight)


@pytest.mark.parametrize("notion", ["canonical", "classwise", "top-label"])
@pytest.mark.parametrize("events", [0, 1, 4, 5])
def test_events_are_counted_where_they_are_few(events: int, notion: str) -> None:
    """Under any loss, and in a sketch too; five are no longer few."""
    p = np.random.default_rng(0).uniform(0.001, 0.05, 400)
    y = np.r_[np.ones(events, dtype=int), np.zeros(400 - events, dtype=int)]
    how_many = f"only {events} row{'s' * (events > 1)}" if events else "no row"
    message = f"{how_many} had an outcome of predicted probability at most 1/2"
    sketch = CalibrationSketch(2, notion=notion, generator="brier")
    sketch.update(y, np.stack([1 - p, p], axis=1))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        decompose(y, np.stack([1 - p, p], axis=1), notion=notion, generator="brier")
        sketch.result()
    assert sum(message in str(each.message) for each in caught) == 2 * (events < 5)


def test_where_every_prediction_is_right_the_warning_says_what_cannot_be_learnt() -> None:
    y = np.arange(40) % 2
    p = np.where(np.eye(2)[y] > 0, 0.97, 0.03)
    with pytest.warns(UserWarning, match="how often predictions are wrong cannot be learnt where none is") as caught:
        decompose(y, p)
    assert not any("only" in str(each.message) for each in caught)
