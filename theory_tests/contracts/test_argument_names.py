"""Errors and warnings name arguments as the caller does, and leave the caller's values alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from propercal._data.predictions import validate
from propercal._data.reading import Names
from propercal.recalibration import ClasswiseIsotonic, TemperatureScaling

NAMES = Names(labels="outcome", proba="forecast", weight="mass")
USUAL = ("y_true", "y_proba", "sample_weight")
LABELS, PROBA = [0, 1, 0], [[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]]

#: (labels, predictions, further arguments, the name that the error begins with).
FAULTS = [
    pytest.param(LABELS, 0.5, {}, "forecast", id="no array"),
    pytest.param(LABELS, [], {}, "forecast", id="empty"),
    pytest.param(LABELS, [1j, 0, 0], {}, "forecast", id="complex"),
    pytest.param(LABELS, [0.1, np.nan, 0.2], {}, "forecast", id="missing"),
    pytest.param(LABELS, [0.1, np.inf, 0.2], {"from_logits": True}, "forecast", id="logit"),
    pytest.param([0], [0.5], {}, "forecast", id="one row"),
    pytest.param(LABELS, [1.0, 1.0, 1.0], {}, "forecast", id="ones"),
    pytest.param(LABELS, [[0.5, 0.1]] * 3, {}, "forecast", id="sums"),
    pytest.param([0, 1], PROBA, {}, "outcome", id="lengths"),
    pytest.param([0, 1, 2], PROBA, {}, "outcome", id="unknown class"),
    pytest.param([0, 1, 0.5], PROBA, {}, "outcome", id="part of a class"),
    pytest.param(["a", 1, 0], PROBA, {}, "outcome", id="mixed"),
    pytest.param(["a", "b", "c"], PROBA, {}, "outcome", id="too many names"),
    pytest.param([None, 1, 0], PROBA, {}, "outcome", id="no label"),
    pytest.param([[1, 0, 0]] * 3, PROBA, {}, "outcome", id="columns"),
    pytest.param([[1, 2]] * 3, PROBA, {}, "outcome", id="soft"),
    pytest.param([[[1]]], PROBA, {}, "outcome", id="cube"),
    pytest.param(LABELS, PROBA, {"sample_weight": [1, 2]}, "mass", id="weights"),
    pytest.param(LABELS, PROBA, {"sample_weight": [1, 2, -1]}, "mass", id="negative"),
    pytest.param(LABELS, PROBA, {"sample_weight": [1, 0, 0]}, "mass", id="one weight"),
    pytest.param(LABELS, PROBA, {"labels": ["a"]}, "labels", id="names of classes"),
]


@pytest.mark.parametrize(("labels", "proba", "more", "name"), FAULTS)
def test_an_error_names_the_argument_as_the_caller_does(
    labels: object, proba: object, more: dict[str, object], name: str
) -> None:
    with pytest.raises(ValueError, match=rf"^{name}") as caught:
        validate(labels, proba, names=NAMES, **more)  # type: ignore[arg-type]
    message = str(caught.value)
    assert not any(usual in message for usual in USUAL)


@pytest.mark.parametrize("proba", [[[0.5, 0.48]] * 3, [[1 + 1e-9, 0.0]] * 3])
def test_a_warning_names_the_argument_as_the_caller_does(proba: object) -> None:
    with pytest.warns(UserWarning, match=r"^forecast"):
        validate(LABELS, proba, names=NAMES)


@pytest.mark.parametrize("make", [TemperatureScaling, ClasswiseIsotonic])
def test_a_recalibrator_reports_labels_as_they_are(make: Callable[[], TemperatureScaling]) -> None:
    labels = ["y_true", "y_proba", "z"]
    with pytest.raises(ValueError, match=r"^y ") as caught:
        make().fit(PROBA, labels)
    message = str(caught.value)
    assert "'y_true'" in message
    assert "'y_proba'" in message
    assert "as X has columns" in message


@pytest.mark.parametrize("make", [TemperatureScaling, ClasswiseIsotonic])
def test_a_recalibrator_warns_about_x(make: Callable[[], TemperatureScaling]) -> None:
    with pytest.warns(UserWarning, match=r"^X has rows that sum to"):
        make().fit([[0.6, 0.38], [0.4, 0.58], [0.3, 0.68], [0.48, 0.5]], [0, 1, 1, 0])
