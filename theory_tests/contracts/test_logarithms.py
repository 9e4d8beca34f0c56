"""Logarithms of probabilities as logits: a softmax gives probabilities back, and a sigmoid is refused or doubted."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from propercal import CalibrationSketch, decompose
from propercal._data.predictions.predictions import validate
from propercal._data.words.of_choice import say_right, says_logarithm, says_one_of, says_predicted

SETTINGS: dict[str, Any] = {"generator": "brier", "method": "risk", "bandwidth": 0.1}
#: Probabilities that are near 1 in some rows, and what occurred.
PROBA = np.random.default_rng(1).beta(2, 1, 300)
OCCURRED = np.random.default_rng(2).random(300) < PROBA
RIGHT = float(2 * np.mean((PROBA - OCCURRED) ** 2))
TOLD = r"^y_proba has no value above 0.*: logarithms of probabilities, it seems, though from_logits=True says"


def risk(y_true: Any, y_proba: Any, **options: Any) -> float:
    return float(decompose(y_true, y_proba, **SETTINGS, **options).risk)


@pytest.mark.parametrize("name", ["logprob", "log_prob", "logprobs", "log_proba", "log p", "logprob_yes", "sum_logprob", "ln_p"])
def test_one_column_that_is_called_so(name: str) -> None:
    pd = pytest.importorskip("pandas", reason="needs pandas")
    column = pd.Series(np.log(PROBA), name=name)
    with pytest.raises(ValueError, match=rf"^y_proba = logarithms of probabilities, as its name '{name}' says: expected logits.*; pass numpy\.exp\(y_proba\) without from_logits, or rename it"):
        risk(OCCURRED, column, from_logits=True)
    assert risk(OCCURRED, np.exp(column), pos_label=True) == pytest.approx(RIGHT, rel=1e-12)
    # Of two columns they are what a softmax takes.
    both = pd.DataFrame({f"{name}_0": np.log(1 - PROBA), f"{name}_1": np.log(PROBA)})
    assert risk(OCCURRED, both.to_numpy(), from_logits=True) == pytest.approx(RIGHT, rel=1e-9)
    # What exceeds 0 is no logarithm of a probability.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        risk(OCCURRED, pd.Series(np.log(PROBA / (1 - PROBA)), name=name), from_logits=True, pos_label=True)


def test_separate_columns_that_are_called_so() -> None:
    pd = pytest.importorskip("pandas", reason="needs pandas")
    marks = pd.DataFrame({"logprob_a": OCCURRED, "logprob_b": ~OCCURRED}).astype(int)
    marks.iloc[0] = 1
    table = pd.DataFrame({"logprob_a": np.log(PROBA), "logprob_b": np.log(1 - PROBA)})
    with pytest.raises(ValueError, match=r"as their names 'logprob_a', 'logprob_b' say"):
        risk(marks, table, from_logits=True, notion="classwise")


def test_without_a_name() -> None:
    logs = np.log(PROBA)
    for y_true, y_proba in ((OCCURRED, logs), (OCCURRED, logs[:, None]), (np.stack([OCCURRED, OCCURRED], axis=1), np.stack([logs, logs], axis=1))):
        several = np.ndim(y_true) == 2
        with pytest.warns(UserWarning, match=TOLD):
            risk(y_true, y_proba, from_logits=True, notion="classwise" if several else "canonical")
    # As the message says.
    assert risk(OCCURRED, np.exp(logs)) == pytest.approx(RIGHT, rel=1e-12)
    sketch = CalibrationSketch(2, generator="brier", from_logits=True)
    with pytest.warns(UserWarning, match=TOLD):
        sketch.update(OCCURRED, logs)


def test_labels_tell_where_few_are_near_0() -> None:
    rng = np.random.default_rng(0)
    proba = rng.uniform(0.3, 0.88, 4000)
    occurred = rng.random(4000) < proba
    with pytest.warns(UserWarning, match=r"labels are e\^\d+ times as probable by exp\(x\): logarithms"):
        risk(occurred, np.log(proba), from_logits=True)


@pytest.mark.parametrize("shift", [0, -2])
@pytest.mark.parametrize("scale", [0.5, 1, 2])
def test_logits_of_rare_events(shift: float, scale: float) -> None:
    rng = np.random.default_rng(0)
    logit = np.minimum(-3 + 0.7 * rng.normal(size=1000), -0.2)
    occurred = rng.random(1000) < 1 / (1 + np.exp(-logit))
    validate(occurred, scale * logit + shift, from_logits=True)
    # Of one value, which is near 0, nothing is said.
    validate(occurred, np.full(1000, -0.05), from_logits=True)


@pytest.mark.parametrize(("base", "times"), [("1/e", -1.0), ("1/2", -np.log(2)), ("1/10", -np.log(10))])
def test_rows_of_less_than_logarithms(base: str, times: float) -> None:
    both = np.stack([1 - PROBA, PROBA], axis=1)
    values = np.log(both) / times
    sketch = CalibrationSketch(2, generator="brier", from_logits=True)
    for read in (lambda: risk(OCCURRED, values, from_logits=True), lambda: sketch.update(OCCURRED, values)):
        with pytest.raises(ValueError, match=rf"^y_proba = rows whose powers of {base} sum to 1, which are −log p: expected logits, .*; multiply them by -(1|numpy\.log\(\d+\))\.$"):
            read()
    # As the message says.
    assert risk(OCCURRED, values * times, from_logits=True) == pytest.approx(RIGHT, rel=1e-9)
    # A class that is certain has the logit 0 beside large ones.
    sure = np.where(np.eye(2)[OCCURRED * 1] == 1, 800.0, 0.0)
    sure[:2] = sure[:2, ::-1]
    validate(OCCURRED, sure, from_logits=True)


def test_advice_on_one_column_below_0() -> None:
    with pytest.raises(ValueError, match=r"pass from_logits=True if these are logits; pass numpy\.exp\(y_proba\) if they are logarithms of probabilities\.$"):
        risk(OCCURRED, np.log(PROBA))


def test_words() -> None:
    assert all(map(says_logarithm, ("logprob", "log_prob", "logProb", "loglikelihood", "mean_logprob", "log p(yes)")))
    assert not any(map(says_logarithm, ("logit", "log_odds", "prob", "log", "logistic_prob", "catalog_p", None)))
    assert all(map(says_predicted, ("y_pred", "predicted", "prediction", "yhat", "y_hat", "pred_label", "predicted_class")))
    assert not any(map(says_predicted, ("y", "label", "hat", "predicted_default", "target", None)))
    assert not any(says_one_of(each, "yes", "no") for each in ("score", "mortality", "SAPS II", "positive", None))
    assert all(says_one_of(each, "yes", "no") for each in ("yes", "p_yes", "P(no)"))
    assert say_right("is_correct")
    assert not say_right(None, "label", "fraud")


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("total", [100, 1000, 7.5])
def test_rows_that_sum_to_one_number_are_shares(k: int, total: float) -> None:
    """Percentages, votes of trees, counts of neighbours: no logits have such sums by chance."""
    rng = np.random.default_rng(5)
    proba = rng.dirichlet([2.0] * k, 60)
    label = (rng.random((60, 1)) > proba.cumsum(axis=1)[:, :-1]).sum(axis=1)
    right = float(((proba - np.eye(k)[label]) ** 2).sum(axis=1).mean())
    with pytest.warns(UserWarning, match=rf"no value below 0, and rows that sum to {total:g}, though from_logits=True.* divide them by {total:g}, and leave"):
        risk(label, proba * total, from_logits=True, notion="canonical")
    assert risk(label, proba, notion="canonical") == pytest.approx(right, rel=1e-12)
    with pytest.raises(ValueError, match=r"(divide y_proba by 100 if these are percentages; )?pass from_logits=True if these are logits"):
        risk(label, proba * total, notion="canonical")
    # Logits none of which is below 0 sum to many numbers.
    logits = np.log(proba) - np.log(proba).min() + 1
    assert risk(label, logits, from_logits=True, notion="canonical") == pytest.approx(right, rel=1e-9)


def test_percentages_of_one_column_are_told_by_labels() -> None:
    rng = np.random.default_rng(6)
    score = rng.beta(1, 2, 200)
    occurred = (rng.random(200) < score).astype(int)
    with pytest.warns(UserWarning, match=r"no value below 0 or above 100, and labels are e\^\d+ times as probable if they are percentages.* divide them by 100"):
        risk(occurred, 100 * score, from_logits=True)
    with pytest.raises(ValueError, match=r"divide y_proba by 100 if these are percentages; pass from_logits=True"):
        risk(occurred, 100 * score)
    # Logits of events that are mostly likely, as they are and too large.
    logits = rng.uniform(0, 4, 200)
    likely = (rng.random(200) < 1 / (1 + np.exp(-logits))).astype(int)
    for scale in (1, 2, 5):
        risk(likely, scale * logits, from_logits=True)


@pytest.mark.parametrize("name", ["risk_pct", "percent", "risk_%", "p (percentage)"])
def test_percentages_below_1_are_told_by_their_name_and_labels(name: str) -> None:
    pd = pytest.importorskip("pandas", reason="needs pandas")
    rng = np.random.default_rng(1)
    rate = rng.uniform(0.0005, 0.009, 3000)
    occurred = (rng.random(3000) < rate).astype(int)
    right = float((2 * (rate - occurred) ** 2).mean())
    with pytest.warns(UserWarning, match=r"^y_proba is called per cent, and labels are e\^\d+ times as probable .* divide it by 100"):
        risk(occurred, pd.Series(100 * rate, name=name))
    assert risk(occurred, pd.Series(rate, name=name)) == pytest.approx(right, rel=1e-12)
    # Of another name they are merely too large.
    risk(occurred, pd.Series(100 * rate, name="risk"))


def uniform(low: float = 0.02, high: float = 0.98, n: int = 400) -> tuple[Any, Any, float]:
    rng = np.random.default_rng(7)
    proba = rng.uniform(low, high, n)
    occurred = (rng.random(n) < proba).astype(int)
    return occurred, proba, float((2 * (proba - occurred) ** 2).mean())


@pytest.mark.filterwarnings("ignore:y_proba is one column of no value below")
def test_odds_and_minus_log_p_of_one_column_are_told_by_labels() -> None:
    occurred, proba, right = uniform()
    odds, loss = proba / (1 - proba), -np.log(proba)
    with pytest.warns(UserWarning, match=r"no value below 0.*, and labels are e\^\d+ times as probable if they are odds, p / \(1 − p\), though from_logits=True.*pass y_proba / \(1 \+ y_proba\), and leave"):
        risk(occurred, odds, from_logits=True)
    assert risk(occurred, odds / (1 + odds)) == pytest.approx(right, rel=1e-12)
    with pytest.warns(UserWarning, match=r"no value below 0.*, and labels are e\^\d+ times as probable if they are −log p, though from_logits=True.*pass numpy\.exp\(-y_proba\), and leave"):
        risk(occurred, loss, from_logits=True)
    assert risk(occurred, np.exp(-loss)) == pytest.approx(right, rel=1e-12)
    # Separate columns are told by all of them.
    marks, columns = np.stack([occurred, 1 - occurred, occurred], axis=1), np.stack([odds, 1 / odds, odds], axis=1)
    with pytest.warns(UserWarning, match=r"if they are odds"):
        risk(marks, columns, from_logits=True, notion="classwise")


def test_logits_above_0_are_no_odds() -> None:
    """Such as those of an answer that is right: as they are, too large, too small, or moved."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for seed in range(20):
            rng = np.random.default_rng(seed)
            logits = rng.uniform(0, 5, 400) if seed % 2 else rng.exponential(2, 400)
            likely = (rng.random(400) < 1 / (1 + np.exp(-logits))).astype(int)
            for scale, shift in ((1, 0), (3, 0), (0.3, 0), (1, 2)):
                validate(likely, scale * logits + shift, from_logits=True)


@pytest.mark.parametrize("k", [2, 3])
def test_odds_and_scores_of_one_against_the_rest_in_a_softmax(k: int) -> None:
    rng = np.random.default_rng(8)
    proba = rng.dirichlet([2.0] * k, 60)
    label = (rng.random((60, 1)) > proba.cumsum(axis=1)[:, :-1]).sum(axis=1)
    right = float(((proba - np.eye(k)[label]) ** 2).sum(axis=1).mean())
    odds = proba / (1 - proba)
    with pytest.warns(UserWarning, match=r"rows whose x / \(1 \+ x\) sum to 1, though from_logits=True.*pass y_proba / \(1 \+ y_proba\), and leave"):
        risk(label, odds, from_logits=True)
    assert risk(label, odds / (1 + odds)) == pytest.approx(right, rel=1e-12)
    scores = proba * rng.uniform(0.5, 1, (60, 1))
    with pytest.warns(UserWarning, match=r"no value below 0 or above 1, though from_logits=True.* if they are probabilities, and divide each row by its sum\."):
        risk(label, scores, from_logits=True)
    assert risk(label, scores / scores.sum(axis=1, keepdims=True)) == pytest.approx(right, rel=1e-9)
    risk(label, np.log(proba), from_logits=True)
