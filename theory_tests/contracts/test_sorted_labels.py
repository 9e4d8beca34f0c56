"""Rows that are sorted by what occurred, where their order is taken for that of time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from propercal import CalibrationMonitor, decompose
from propercal._data.dependence.sorted_labels import are_in_pieces, evidence_of_sorting

RNG = np.random.default_rng(5)


def drawn(n: int, k: int) -> tuple[Any, Any]:
    proba = RNG.dirichlet(np.full(k, 0.8), n)
    return (RNG.random((n, 1)) > proba.cumsum(axis=1)).sum(axis=1), proba


def monitored(label: Any, proba: Any) -> None:
    CalibrationMonitor(proba.shape[1]).update(label, proba)


def in_blocks(label: Any, proba: Any) -> None:
    decompose(label, proba, generator="brier", blocks=10)


@pytest.mark.parametrize("work", [monitored, in_blocks])
@pytest.mark.parametrize("k", [2, 3])
def test_rows_that_are_sorted_by_label(work: Any, k: int) -> None:
    """Folders by class, in whatever order; and rows that are right before those that are wrong."""
    label, proba = drawn(300, k)
    work(label, proba)
    for key in (label, -label):
        rows = np.argsort(key, kind="stable")
        with pytest.warns(UserWarning, match=r"^y_true is sorted: its labels stand in one piece each, which by y_proba has a probability of e\^-\d+ or less in the order of time: .* Pass rows in the order in which they came; of rows"):
            work(label[rows], proba[rows])
    rows = np.argsort(proba.argmax(axis=1) != label, kind="stable")
    with pytest.warns(UserWarning, match="rows are sorted by whether the class that y_proba has for the most probable one"):
        work(label[rows], proba[rows])


def test_labels_in_pieces_that_predictions_follow() -> None:
    """What failed has failed; a season; few events; rows sorted by what is predicted."""
    one = np.repeat([0.03, 0.97], 150)
    monitored(one > 0.5, np.stack([1 - one, one], axis=1))
    turning = 1 / (1 + np.exp(-(np.arange(400) - 200) / 20))
    label = (RNG.random(400) < turning).astype(int)
    monitored(label, np.stack([1 - turning, turning], axis=1))
    rare = np.full(400, 0.01)
    monitored(np.arange(400) >= 395, np.stack([1 - rare, rare], axis=1))
    label, proba = drawn(300, 3)
    rows = np.argsort(proba[:, 1])
    monitored(label[rows], proba[rows])
    monitored(np.sort(label[:20]), proba[:20])


def test_the_probability_that_classes_stand_in_pieces() -> None:
    """It is the sum over the rows at which the first class ends, for each order of the classes."""
    n = 60
    _, proba = drawn(n, 2)
    label = np.repeat([0, 1], n // 2)
    ahead = sum(np.prod(proba[:cut, 0]) * np.prod(proba[cut:, 1]) for cut in range(1, n))
    found = evidence_of_sorting(np.log(proba), label)
    chance = -np.log(2.0) + sum(np.log((30 + i) / i) for i in range(1, 31))
    assert found == pytest.approx(min(-np.log(2 * ahead), chance), rel=1e-9)


def test_pieces() -> None:
    rows = np.arange(6)
    assert are_in_pieces([rows[3:], rows[:3]])
    assert not are_in_pieces([rows[::2], rows[1::2]])
    assert not are_in_pieces([rows[:3], rows[:0]])


def test_folds_of_rows_that_are_sorted_by_class() -> None:
    pytest.importorskip("sklearn", minversion="1.6")
    from sklearn.datasets import make_classification
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import KFold

    from propercal.sklearn import RecalibratedClassifier

    x, y = make_classification(300, 6, n_informative=4, n_classes=3, random_state=0)
    rows = np.argsort(y, kind="stable")

    def temperature(cv: Any, of: Any = rows) -> float:
        return float(RecalibratedClassifier(LogisticRegression(), cv=cv).fit(x[of], y[of]).recalibrator_.temperature_)

    usual = temperature(4)
    for cv in (KFold(4, shuffle=True, random_state=0), 3):
        assert temperature(cv) == pytest.approx(usual, rel=0.2)
    assert temperature(KFold(4), np.arange(300)) == pytest.approx(usual, rel=0.2)
    with pytest.warns(UserWarning, match=r"y is sorted by class, and cv = KFold\(n_splits=4.*Pass a number of folds, which have all classes, or folds that are shuffled"):
        assert temperature(KFold(4)) > 1.5 * usual
