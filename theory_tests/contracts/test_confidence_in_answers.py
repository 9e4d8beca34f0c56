"""Confidences beside whether answers were right: pairs of which nothing is folded without a word."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import propercal as pc
from propercal._data.predictions.predictions import validate
from propercal.monitor import CalibrationMonitor
from propercal.reporting.confidence import stated_confidence
from propercal.sketch import CalibrationSketch

pd = pytest.importorskip("pandas", reason="needs pandas")

RNG = np.random.default_rng(0)
CONFIDENCE = 0.2 + 0.8 * RNG.random(80)
CORRECT = pd.Series((RNG.random(80) < CONFIDENCE) * 1, name="correct")
QUICK: dict[str, Any] = {"generator": "brier", "method": "risk", "bandwidth": 0.1}
TOLD = r"^y_true says whether an answer was right, by its name, and y_proba is below ½ at rows .*: read there as 1 − p .* Leave out notion="


def sketched(right: Any, confidence: Any, **settings: Any) -> None:
    CalibrationSketch(2, generator="brier", **settings).update(right, confidence)


def monitored(right: Any, confidence: Any, **settings: Any) -> None:
    CalibrationMonitor(2, **settings).update(right, confidence)


@pytest.mark.parametrize(
    "of",
    [
        lambda *data, **notion: pc.decompose(*data, **{**QUICK, **notion}),
        lambda *data, **notion: pc.calibration_test(*data, n_resamples=9, **notion),
        pc.calibration_slope,
        pc.hosmer_lemeshow,
        pc.reliability,
        sketched,
        monitored,
    ],
)
def test_a_confidence_below_one_half_is_not_folded_without_a_word(of: Callable[..., Any]) -> None:
    """The first choice of two classes has ½ or more; a confidence in one of several answers has not."""
    with pytest.warns(UserWarning, match=TOLD) as told:
        of(CORRECT, CONFIDENCE, notion="top-label")
    assert len(told) == 1
    of(CORRECT, CONFIDENCE)
    of(CORRECT.rename("fraud"), CONFIDENCE, notion="top-label")
    of(CORRECT, 0.5 + CONFIDENCE / 2, notion="top-label")


def test_right_and_wrong_in_words() -> None:
    """As in numbers; left and right are two classes as others are."""
    words = CORRECT.rename(None).map({0: "incorrect", 1: "correct"})
    with pytest.warns(UserWarning, match=TOLD):
        pc.decompose(words, CONFIDENCE, pos_label="correct", notion="top-label", **QUICK)
    sides = words.map({"incorrect": "left", "correct": "right"})
    pc.decompose(sides, CONFIDENCE, pos_label="right", notion="top-label", **QUICK)


def test_the_advice_gives_the_slope_of_the_classes() -> None:
    """Pairs of the first choice among four classes have the slope that the classes have."""
    proba = RNG.dirichlet(np.ones(4) * 2, 300)
    y_true = np.array([RNG.choice(4, p=row) for row in proba])
    right = pd.Series((proba.argmax(axis=1) == y_true) * 1, name="correct")
    wanted = pc.calibration_slope(y_true, proba, notion="top-label")
    found = pc.calibration_slope(right, pd.Series(proba.max(axis=1), name="confidence"))
    assert found.slope == pytest.approx(wanted.slope, rel=1e-6)
    assert found.intercept == pytest.approx(wanted.intercept, rel=1e-6)


@pytest.mark.parametrize("name", ["max_prob", "msp", "top1_prob", "max_softmax", "p_max"])
@pytest.mark.parametrize("labels", ["acc", "accuracy", "exact_match", "answer_correct", "success"])
def test_a_column_of_the_first_choice_is_of_answers_that_are_right(labels: str, name: str) -> None:
    """Neither name is of a class, so that they are not of two."""
    found = pc.decompose(CORRECT.rename(labels), pd.Series(CONFIDENCE, name=name), **QUICK)
    assert found.risk == pytest.approx(2 * np.mean((CONFIDENCE - CORRECT) ** 2))


def test_a_report_takes_confidences_as_they_are() -> None:
    """Means of what was said and of what was right."""
    found = stated_confidence(validate(CORRECT, CONFIDENCE), 0.95)
    assert found.stated == pytest.approx(CONFIDENCE.mean())
    assert found.right == pytest.approx(CORRECT.mean())
