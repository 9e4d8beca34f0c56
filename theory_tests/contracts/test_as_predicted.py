"""Predictions that are the labels or decisions, and labels that are the predictions: a warning, or a refusal by name."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from propercal import compare_models, decompose, expected_calibration_error
from propercal._data.predictions.predictions import validate
from theory_tests.contracts.test_ranks import brier, drawn

SETTINGS: dict[str, Any] = {"generator": "brier", "method": "risk", "bandwidth": 0.1}
LABEL, PROBA = drawn(3)
TOP = PROBA.argmax(axis=1)
ITSELF = r"^{} is 1 for what occurred and 0 for what did not in each of 120 rows: y_true itself, it seems"
DECIDED = r"^{} is 0 or 1 in each of {} rows: classes that were decided on, it seems"
PREDICTED = r"^y_true is the most probable class in each of 120 rows, which happens with probability e\^-\d+ if y_proba is calibrated"


def risk(y_true: Any, y_proba: Any, **options: Any) -> float:
    return float(decompose(y_true, y_proba, **SETTINGS, **options).risk)


@pytest.mark.parametrize("form", ["one-hot", "column", "marks", "words"])
def test_labels_as_predictions(form: str) -> None:
    marks = np.eye(3)[LABEL]
    y_true, y_proba, options = {
        "one-hot": (LABEL, marks, {}),
        "column": (LABEL == 1, (LABEL == 1) * 1.0, {}),
        "marks": (np.stack([LABEL > 0, LABEL < 2], axis=1), np.stack([LABEL > 0, LABEL < 2], axis=1) * 1.0, {"notion": "classwise"}),
        "words": (np.array(list("abc"))[LABEL], marks, {}),
    }[form]
    with pytest.warns(UserWarning, match=ITSELF.format("y_proba")):
        assert risk(y_true, y_proba, **options) == 0
    # With one row of another class they are decisions, of which each wrong one costs 2 (the mean of two problems: 1).
    wrong = y_proba.copy()
    wrong[:1] = 1 - wrong[:1] if wrong.ndim == 1 or form == "marks" else wrong[:1, [1, 2, 0]]
    with pytest.warns(UserWarning, match=DECIDED.format("y_proba", 120)):
        assert risk(y_true, wrong, **options) == pytest.approx(2 / 120, rel=1e-12)


def test_decisions_as_probabilities() -> None:
    """Source: the Brier score of the decision for a class is twice the share of wrong ones."""
    decided = np.eye(3)[TOP]
    wrong = float((TOP != LABEL).mean())
    with pytest.warns(UserWarning, match=DECIDED.format("y_proba", 120)):
        assert risk(LABEL, decided) == pytest.approx(2 * wrong, rel=1e-12)
    for call in (
        lambda: expected_calibration_error(LABEL, decided, n_resamples=9),
        lambda: risk(LABEL == 1, (TOP == 1) * 1),
        lambda: risk(LABEL, decided.astype(np.float32)),
        lambda: risk(np.concatenate([LABEL, LABEL]), np.concatenate([decided, PROBA]), sample_weight=np.repeat([1.0, 0.0], 120)),
    ):
        with pytest.warns(UserWarning, match=DECIDED.format("y_proba", 120)):
            call()
    # Sigmoids that round to 0 or 1 in nearly all rows, a constant, and a few rows are no decisions.
    sure = decided.copy()
    sure[0] = [0.98, 0.01, 0.01]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        risk(LABEL, sure)
        risk(LABEL == 1, np.zeros(120))
        risk(LABEL[:40], decided[:40])


def test_labels_among_models() -> None:
    pd = pytest.importorskip("pandas", reason="needs pandas")
    y = LABEL == 1
    table = pd.DataFrame({"y": y * 1.0, "a": PROBA[:, 1]})
    with pytest.warns(UserWarning, match=ITSELF.format(r"models\['y'\]")):
        compare_models(y, {name: table[name] for name in table}, **SETTINGS)
    with pytest.warns(UserWarning, match=ITSELF.format("y_proba")):
        expected_calibration_error(y, y * 1.0, n_resamples=9)


@pytest.mark.parametrize("name", ["y_pred", "predicted", "prediction", "yhat", "predicted_class", "y_hat"])
def test_predictions_as_labels(name: str) -> None:
    pd = pytest.importorskip("pandas", reason="needs pandas")
    with pytest.raises(ValueError, match=rf"^y_true = labels named '{name}', which are of the most probable class in each of 120 rows: expected what occurred"):
        risk(pd.Series(TOP, name=name), PROBA)
    # A name alone says nothing where labels are not what was predicted.
    assert risk(pd.Series(LABEL, name=name), PROBA) == pytest.approx(brier(LABEL, PROBA), rel=1e-12)


def test_predictions_without_a_name() -> None:
    flat = 0.5 * PROBA + 0.5 / 3
    for y_true, y_proba in ((TOP, flat), (np.array(list("abc"))[TOP], flat), (flat[:, 0] / (flat[:, 0] + flat[:, 1]) > 0.5, flat[:, 0] / (flat[:, 0] + flat[:, 1]))):
        with pytest.warns(UserWarning, match=PREDICTED):
            risk(y_true, y_proba)
    # Of a model that is nearly always right, all rows may be.
    sure = np.where(np.eye(3)[TOP] == 1, 0.98, 0.01)
    validate(TOP, sure)
    validate(TOP[:60], flat[:60])
