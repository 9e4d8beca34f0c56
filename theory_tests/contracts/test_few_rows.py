"""A loss that a few rows make is a warning: what they are cannot be learnt from the others."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from propercal import CalibrationSketch, decompose
from propercal.recalibration import ClasswiseIsotonic, TemperatureScaling
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


@pytest.mark.parametrize("kind", [TemperatureScaling, ClasswiseIsotonic])
def test_recalibration_of_no_rows(kind: type[TemperatureScaling | ClasswiseIsotonic]) -> None:
    """No rows in, none out, of the same kind and columns; what is fitted needs some."""
    y, p, _ = TemperatureScaledSimplex(3).sample(100, random_state=0)
    fitted = kind().fit(p, y)
    for dtype in ("float32", "float64"):
        found: Any = fitted.predict_proba(np.zeros((0, 3), dtype=dtype))
        assert found.shape == (0, 3)
        assert found.dtype == dtype
    assert fitted.predict(p[:0]).shape == (0,)
    np.testing.assert_array_equal(fitted.predict_proba(p[:1]), fitted.predict_proba(p)[:1])
    with pytest.raises(ValueError, match="X = 2 classes: expected 3, as in fit"):
        fitted.predict_proba(np.zeros((0, 2)))
    with pytest.raises(ValueError, match=r"X = an array of shape \(0,\): expected one column for each class"):
        fitted.predict_proba([])
    of_two = kind().fit(p[:, 0], y == 0)
    nothing: tuple[Any, ...] = (p[:0, 0], p[:0, :1], [])
    for none in nothing:
        assert np.shape(of_two.predict_proba(none)) == (0, 2)
    torch = pytest.importorskip("torch")
    tensor = fitted.predict_proba(torch.zeros((0, 3), dtype=torch.float32))
    assert torch.is_tensor(tensor)
    assert tuple(tensor.shape) == (0, 3)
    assert tensor.dtype == torch.float32
    with pytest.raises(ValueError, match="X = "):
        kind().fit(p[:0], y[:0])


def test_logits_of_no_rows() -> None:
    """No rows are made up that could be warned of."""
    y, p, _ = TemperatureScaledSimplex(3).sample(100, random_state=0)
    logits = np.log(p)
    for X, occurred in ((logits, y), (logits[:, 0] - logits[:, 1], y == 0), (logits[:, :1] - logits[:, 1:2], y == 0)):
        fitted = TemperatureScaling(from_logits=True).fit(X, occurred)
        assert np.shape(fitted.predict_proba(X[:0])) == (0, 2 if occurred.dtype == bool else 3)
