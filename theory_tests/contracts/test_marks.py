"""Marks of what occurred that do not fit the predictions beside them: events, rows without a label, lone columns.

The data are those of the tests of misleading names: the Brier score is 0.06 of three classes, and 0.02 of two.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import propercal
from propercal import CalibrationSketch
from propercal.recalibration import TemperatureScaling
from theory_tests.contracts.test_misleading_names import (
    CODES,
    FRAUD,
    LABELS,
    PROBA,
    SCORE,
    TWO,
    F,
    P,
    check,
    refused,
    risk,
)

# ---------------------------------------------------------------- an event beside all classes

RIGHT = PROBA.argmax(axis=1) == np.where(np.arange(30) < 25, CODES, 0)
EVENTS: dict[str, Any] = {
    "booleans": RIGHT,
    "list": RIGHT.tolist(),
    "nullable": pd.Series(RIGHT, dtype="boolean"),
    "categories": pd.Categorical(RIGHT),
    "labelled array": xr.DataArray(RIGHT),
    "of one class": CODES == 0,
    "true alone": CODES < 3,
}


@pytest.mark.parametrize("event", EVENTS)
def test_whether_an_event_occurred_is_not_which_of_three_classes(event: str) -> None:
    labels = EVENTS[event]
    match = "y_true = booleans: expected which of the 3 columns of y_proba occurred; pass the class of each row, or the probability of this event alone"
    for proba in (PROBA, P, P.set_axis([1, 2, 0], axis=1), pd.DataFrame(PROBA)):
        refused(match, labels, proba)
        refused(match, labels, proba, notion="top-label")
    refused(match, labels, PROBA, labels=[0, 1, 2])
    with pytest.raises(ValueError, match=match):
        CalibrationSketch(3, bandwidth=0.1).update(labels, PROBA)
    with pytest.raises(ValueError, match=r"^y = booleans: expected which of the 3 columns of X"):
        TemperatureScaling().fit(PROBA, labels)


@pytest.mark.filterwarnings("ignore:X has columns of the classes")
def test_whether_an_event_occurred_is_read_beside_its_probability() -> None:
    right = risk(RIGHT.astype(int), PROBA.max(axis=1))
    check(right, RIGHT, PROBA.max(axis=1))
    check(TWO, FRAUD == 1, F[["legit", "fraud"]])
    # Or where classes are named by it.
    three = pd.DataFrame({"unknown": 1e-9, "True": SCORE, "False": 1 - SCORE})
    check(TWO, FRAUD == 1, three)


# ---------------------------------------------------------------- rows that mark no class

MISSING = np.arange(30) < 3
DUMMIES = pd.get_dummies(pd.Series(LABELS).where(~MISSING))


@pytest.mark.parametrize("name", ["decompose", "calibration_test", "select_bandwidth"])
def test_rows_without_a_label_beside_rows_of_sum_1_are_refused(name: str) -> None:
    function = getattr(propercal, name)
    for marks in (DUMMIES, DUMMIES.to_numpy().astype(int)):
        with pytest.raises(ValueError, match=r"^y_true = no class at rows 0, 1, 2: expected one in each row, as rows of y_proba sum to 1; drop these rows"):
            function(marks, P, notion="classwise")
    for notion in ("canonical", "classwise"):
        check(risk(LABELS[3:], PROBA[3:], notion=notion), DUMMIES, P, sample_weight=~MISSING, notion=notion)


def test_rows_that_mark_no_class_are_read_where_columns_are_separate() -> None:
    apart = P * 0.85
    several = DUMMIES.to_numpy().copy()
    several[5] = True
    for marks, proba in ((DUMMIES, apart), (several, P), (several, apart)):
        found = risk(marks, proba, notion="classwise")
        assert found == pytest.approx(2 * np.mean((np.asarray(marks, float) - np.asarray(proba)) ** 2), rel=1e-12)


# Logarithms of probabilities, of which a sigmoid is doubted.
@pytest.mark.filterwarnings("ignore:y_proba has no value above 0")
def test_one_row_without_a_label_is_no_sigmoid() -> None:
    logits = np.log(P)
    options: dict[str, Any] = {"notion": "classwise", "from_logits": True}
    refused("link = None: expected 'softmax' or 'sigmoid'", DUMMIES, logits, **options)
    refused("link = None: expected 'softmax' or 'sigmoid'", pd.get_dummies(LABELS), logits, **options)
    check(risk(DUMMIES, 1 / (1 + np.exp(-logits)), notion="classwise"), DUMMIES, logits, link="sigmoid", **options)
    check(risk(LABELS[3:], PROBA[3:], notion="classwise"), DUMMIES, logits, link="softmax", sample_weight=~MISSING, **options)
    with pytest.raises(ValueError, match=r"^link = None"):
        CalibrationSketch(3, bandwidth=0.1, from_logits=True).update(DUMMIES, logits)


# Logarithms of probabilities, of which a sigmoid is doubted.
@pytest.mark.filterwarnings("ignore:y_proba has no value above 0")
def test_what_is_advised_of_rows_without_a_mark() -> None:
    """The softmax that was advised was refused: a row without a mark has no class, or no label."""
    logits, marks = np.log(P), DUMMIES.to_numpy()
    options: dict[str, Any] = {"notion": "classwise", "from_logits": True}
    advice = "drop these if they have no label, or give them weight 0, with link=.softmax."
    refused(f"link = None: .* pass link=.sigmoid. if rows that mark no class have none; {advice}", marks, logits, **options)
    refused("link = 'softmax': .* drop rows that mark no class, or give them weight 0", marks, logits, link="softmax", **options)
    kept = ~np.asarray(MISSING, bool)
    check(risk(LABELS[3:], PROBA[3:], notion="classwise"), marks[kept], logits[kept], link="softmax", **options)
    check(risk(marks, 1 / (1 + np.exp(-logits)), notion="classwise"), marks, logits, link="sigmoid", **options)
    several = marks.copy()
    several[5] = True
    # Sigmoids alone allow several.
    check(risk(several, 1 / (1 + np.exp(-logits)), notion="classwise"), several, logits, **options)


# ---------------------------------------------------------------- a one-hot of rows of one class


def test_a_one_hot_of_rows_of_one_class_is_not_class_1() -> None:
    polars = pytest.importorskip("polars")
    two, one = np.stack([1 - SCORE, SCORE], 1)[FRAUD == 0], SCORE[FRAUD == 0]
    words = pd.Series(["a"] * 10)
    for marks in (pd.get_dummies(words), pd.get_dummies(words, prefix="y"), pd.get_dummies(words, dtype=int), pd.get_dummies(pd.Series([0] * 10)), polars.Series("y", ["a"] * 10).to_dummies()):
        for proba in (two, one):
            refused("y_true = a table of one column .*, with 1 in each row: expected to know whether that is class 1", marks, proba)
    check(TWO, pd.get_dummies(words), pd.DataFrame(two, columns=["a", "b"]))


@pytest.mark.parametrize("name", ["label", "y", "target", 1, None])
def test_labels_of_rows_of_one_class_are(name: Any) -> None:
    ones = FRAUD[FRAUD == 1]
    for labels in (pd.DataFrame({name: ones}), pd.DataFrame({name: ones == 1}), pd.Series(ones, name="fraud")):
        check(TWO, labels, SCORE[FRAUD == 1])
    check(TWO, pd.DataFrame({"fraud": ones}), F.fraud[FRAUD == 1])
    check(TWO, pd.DataFrame({"fraud": ones}), F[["legit", "fraud"]][FRAUD == 1])


@pytest.mark.parametrize("kind", ["text", "None"])
def test_marks_that_are_no_numbers_are_refused_by_their_place(kind: str) -> None:
    marks = np.eye(3)[np.arange(6) % 3].astype(int).astype(str).astype(object)
    values = np.array([[1 if each == "1" else None for each in row] for row in marks]) if kind == "None" else marks
    with pytest.raises(ValueError, match=r"^y_true = ('1' at row 0, in the column 0|None at row 0, in the column 1): expected 0 or 1 in an indicator matrix"):
        propercal.decompose(values, np.full((6, 3), 1 / 3), method="risk", bandwidth=0.1)
