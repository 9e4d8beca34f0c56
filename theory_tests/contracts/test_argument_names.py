"""Errors and warnings name arguments as the caller does, and leave the caller's values alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from propercal import compare_models, decompose, murphy, paired_difference
from propercal._data.inputs.reading import Names
from propercal._data.predictions.predictions import validate
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
    pytest.param([0, 0, 0], [[1.0], [1.0], [1.0]], {}, "forecast", id="ones"),
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


P = np.random.default_rng(0).dirichlet([1.0, 1.0, 1.0], size=40)
Y = np.arange(40) % 3
BAD: dict[str, tuple[Any, str]] = {
    "above 1": (2 * P, "= .*probabilities between 0 and 1"),
    "sums": (np.where(np.arange(40)[:, None] == 7, 0.5 * P, P), r"= rows that sum to 0\.5"),
    "rows": (P[:30], "one per row of "),
    "shape": (P[None], r"= an array of shape \(1, 40, 3\)"),
    "text": (P.astype(str), "= values of type <U"),
    "set": ({1.0}, "= a set"),
    "masked": (np.ma.masked_less(P, 0.1), "= masked entries"),
}
CALLERS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "decompose": ("y_proba", lambda p: decompose(Y, p)),
    "paired, first": ("y_proba_a", lambda p: paired_difference(Y, p, P)),
    "paired, second": ("y_proba_b", lambda p: paired_difference(Y, P, p)),
    "murphy": ("predictions['b']", lambda p: murphy(Y, {"a": P, "b": p}, event=0)),
    "several, third": ("models['c']", lambda p: compare_models(Y, {"a": P, "b": P, "c": p})),
    "temperature": ("X", lambda p: TemperatureScaling().fit(p, Y)),
    "isotonic": ("X", lambda p: ClasswiseIsotonic().fit(p, Y)),
}


@pytest.mark.parametrize("caller", CALLERS)
@pytest.mark.parametrize("kind", BAD)
def test_bad_predictions_are_called_by_their_argument(caller: str, kind: str) -> None:
    name, call = CALLERS[caller]
    values, message = BAD[kind]
    with pytest.raises(ValueError, match=message) as caught:
        call(values)
    text = str(caught.value)
    assert f"{name} " in text or f"of {name};" in text
    others = {"y_proba", "y_proba_a", "y_proba_b", "X"} - {name}
    assert not any(f"{other} " in text or f"of {other};" in text for other in others)


@pytest.mark.parametrize("make", [TemperatureScaling, ClasswiseIsotonic])
def test_labels_that_are_called_as_an_argument_keep_their_names(make: Any) -> None:
    labels = np.array(["y_true", "y_proba", "z"])[Y]
    with pytest.raises(ValueError, match=r"^y = the names \['y_proba', 'y_true', 'z'\]: .* as X has columns"):
        make().fit(P[:, :2] / P[:, :2].sum(axis=1, keepdims=True), labels)


def test_warnings_name_the_argument_too() -> None:
    rounded = P.round(2)
    with pytest.warns(UserWarning, match="^y_proba_b has rows that sum to"):
        paired_difference(Y, P, rounded)
