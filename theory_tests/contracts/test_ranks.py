"""Rows that were sorted by size, whose columns are ranks, and the probability of the first choice: a warning."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from propercal import CalibrationMonitor, CalibrationSketch, compare_models, decompose, expected_calibration_error
from propercal._data.predictions.predictions import validate

N = 120
SETTINGS: dict[str, Any] = {"generator": "brier", "method": "risk", "bandwidth": 0.1}
SORTED = r"^{} {} from column to column in each of 120 rows, though by it labels are e\^\d+ times less probable than by how often each occurs"
CHOSEN = r"^y_proba is one column of no value below ½ in \d+ rows, though by it labels are e\^\d+ times less probable"


def drawn(k: int, seed: int = 0, n: int = N, sharp: float = 1.5) -> tuple[Any, Any]:
    """Labels of equally frequent classes, and what is right to say of each after one look at it."""
    rng = np.random.default_rng(seed)
    label, look = np.arange(n) % k, rng.normal(size=(n, k))
    look[np.arange(n), label] += sharp
    odds = np.exp(sharp * look)
    return label, odds / odds.sum(axis=1, keepdims=True)


def risk(y_true: Any, y_proba: Any, **options: Any) -> float:
    return float(decompose(y_true, y_proba, **SETTINGS, **options).risk)


def brier(label: Any, proba: Any) -> float:
    return float(((proba - np.eye(proba.shape[1])[label]) ** 2).sum(axis=1).mean())


LABEL, PROBA = drawn(3)
DOWN = -np.sort(-PROBA, axis=1)


@pytest.mark.parametrize("k", [2, 3, 8])
@pytest.mark.parametrize("way", ["descends", "ascends"])
def test_rows_sorted_by_size(k: int, way: str) -> None:
    label, proba = drawn(k)
    order = np.argsort(proba, axis=1)[:, :: 1 if way == "ascends" else -1]
    values, told = np.take_along_axis(proba, order, axis=1), SORTED.format("y_proba", way)
    words = np.array([f"c{i}" for i in range(k)])[label]
    for y_true, given, options in ((label, values, {}), (words, values, {}), (np.eye(k)[label], values, {}), (label, np.log(values), {"from_logits": True})):
        link = {"link": "softmax"} if options and np.ndim(y_true) == 2 else {}
        with pytest.warns(UserWarning, match=told):
            assert risk(y_true, given, **options, **link) > brier(label, proba)
    # As the message says, and as the definition of the Brier score has it.
    back = np.empty_like(values)
    np.put_along_axis(back, order, values, axis=1)
    assert risk(label, back) == pytest.approx(brier(label, proba), rel=1e-12)


def test_each_function_and_holder() -> None:
    pd = pytest.importorskip("pandas", reason="needs pandas")
    told = SORTED.format("y_proba", "descends")
    for given in (pd.DataFrame(DOWN), pd.DataFrame(DOWN).add_prefix("score_"), pd.DataFrame(DOWN, columns=["0", "1", "2"]), DOWN.tolist()):
        with pytest.warns(UserWarning, match=told):
            risk(LABEL, given)
    with pytest.warns(UserWarning, match=told):
        expected_calibration_error(LABEL, DOWN, n_resamples=9)
    with pytest.warns(UserWarning, match=SORTED.format(r"models\['sorted'\]", "descends")):
        compare_models(LABEL, {"sorted": DOWN, "right": PROBA}, **SETTINGS)
    # Names of columns that labels bear are not doubted.
    named = pd.DataFrame(DOWN, columns=list("abc"))
    assert risk(np.array(list("abc"))[LABEL], named) == pytest.approx(brier(LABEL, DOWN), rel=1e-12)


def test_labels_that_are_ranks() -> None:
    rank = (PROBA[np.arange(N), LABEL][:, None] < PROBA).sum(axis=1)
    assert risk(rank, DOWN) == pytest.approx(brier(LABEL, PROBA), rel=1e-12)


@pytest.mark.parametrize("kind", ["rare", "flat", "biased", "constant"])
def test_models_of_classes_that_become_rarer(kind: str) -> None:
    rng = np.random.default_rng(3)
    prior = np.array([0.5, 0.3, 0.15, 0.05])
    logits = np.log(prior) + {"rare": 0.1, "flat": 0.05, "biased": 0.2, "constant": 0.0}[kind] * rng.normal(size=(400, 4))
    label = rng.choice(4, size=400, p=prior)
    proba = np.exp(logits * {"flat": 0.6}.get(kind, 1.0) + {"biased": 1.0}.get(kind, 0.0) * np.arange(4)[::-1])
    proba /= proba.sum(axis=1, keepdims=True)
    assert kind == "rare" or (np.diff(proba, axis=1) < 0).all()
    validate(label, proba)


@pytest.mark.parametrize("name", [None, "score", "confidence", "prediction_score", "max_prob"])
def test_one_column_of_the_class_that_was_predicted(name: str | None) -> None:
    pd = pytest.importorskip("pandas", reason="needs pandas")
    label, proba = drawn(2)
    score, predicted = proba.max(axis=1), proba.argmax(axis=1)
    column = score if name is None else pd.Series(score, name=name)
    words = np.array(["NEG", "POS"])
    for y_true, options in ((label, {}), (label == 1, {}), (words[label], {"pos_label": "POS"}), (2 * label - 1, {})):
        with pytest.warns(UserWarning, match=CHOSEN):
            risk(y_true, column, **options)
    # As the message says.
    assert risk(label, np.where(predicted == 1, score, 1 - score)) == pytest.approx(brier(label, proba), rel=1e-12)
    of_one = float(2 * np.mean((score - label) ** 2))
    assert risk(label, column, pos_label=1) == pytest.approx(of_one, rel=1e-12)
    assert risk(words[label], pd.Series(score, name="POS"), pos_label="POS") == pytest.approx(of_one, rel=1e-12)


def test_whether_the_first_choice_was_right() -> None:
    pd = pytest.importorskip("pandas", reason="needs pandas")
    label, proba = drawn(2)
    score, right = proba.max(axis=1), proba.argmax(axis=1) == label
    assert risk(right, score) == pytest.approx(brier(label, proba), rel=1e-12)
    # Of a model that is far too sure, labels tell by their name what they are.
    wrong = np.arange(N) % 2 == 0
    for name in ("correct", "is_correct", "exact_match"):
        risk(pd.Series(wrong, name=name), score)
        sketch = CalibrationSketch(2, generator="brier")
        sketch.update(pd.Series(wrong, name=name), score)
        sketch.result()
    risk(np.where(wrong, "right", "wrong"), score, pos_label="right")


def test_rare_events() -> None:
    rng = np.random.default_rng(1)
    logit = -2 + 0.5 * rng.normal(size=400)
    proba = 1 / (1 + np.exp(-logit))
    occurred = rng.random(400) < proba
    # Too small by one nat, and too sharp.
    for each in (logit, logit - 1, 2 * logit):
        validate(occurred, each, from_logits=True)
        validate(occurred, np.stack([-each, 0 * each], axis=1), from_logits=True)


def monitored(k: int, y_true: Any, y_proba: Any) -> None:
    monitor = CalibrationMonitor(k)
    for i in range(0, N, 12):
        monitor.update(y_true[i : i + 12], y_proba[i : i + 12])


def test_streams() -> None:
    label, proba = drawn(2)
    for k, y_true, given, told in ((3, LABEL, DOWN, SORTED.format("y_proba", "descends")), (3, LABEL, DOWN[:, ::-1], SORTED.format("y_proba", "ascends")), (2, label, proba.max(axis=1), CHOSEN)):
        sketch = CalibrationSketch(k, notion="top-label", generator="brier")
        for i in range(0, N, 12):
            sketch.update(y_true[i : i + 12], given[i : i + 12])
        with pytest.warns(UserWarning, match=told):
            CalibrationSketch.from_bytes(sketch.to_bytes()).result()
        with pytest.warns(UserWarning, match=told.replace("120", r"\d+")):
            monitored(k, y_true, given)
    sketch = CalibrationSketch(3, notion="top-label", generator="brier")
    sketch.update(LABEL, PROBA)
    sketch.result()


def test_the_error_of_confidences_beside_whether_the_answer_was_right() -> None:
    """Of pairs as they are: sums of residuals in 15 bins of the confidence (Guo et al., 2017, eq. 3)."""
    pd = pytest.importorskip("pandas", reason="needs pandas")
    rng = np.random.default_rng(0)
    confidence = rng.random(200)
    right = pd.Series(rng.random(200) < confidence**1.3, name="correct")
    place = np.ceil(15 * confidence).astype(int)
    wanted = sum(abs((right - confidence)[place == i].sum()) for i in range(1, 16)) / 200
    with pytest.warns(UserWarning, match=r'^y_true says whether an answer was right, by its name, and y_proba is below ½ at rows .*: read there as 1 − p .* Pass kind="classwise"'):
        assert expected_calibration_error(right, confidence, n_resamples=9).value != pytest.approx(wanted)
    assert expected_calibration_error(right, confidence, kind="classwise", n_resamples=9).value == pytest.approx(wanted, rel=1e-12)
    expected_calibration_error(right, 0.5 + confidence / 2, n_resamples=9)
    expected_calibration_error(right.rename("fraud"), confidence, n_resamples=9)
