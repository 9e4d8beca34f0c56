"""Where a convention decides which column or row is which, predictions that contradict it give a warning."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest

from propercal import CalibrationSketch, decompose
from propercal._data.classes.other_readings import _log_by_chance, evidence
from propercal._data.predictions.predictions import validate

N, K = 60, 3
CODES = np.arange(N) % K
#: Of the class that occurred 0.6 or more, so that each reading that exchanges classes is less probable.
PROBA = np.where(np.eye(K)[CODES] == 1, np.linspace(0.6, 0.8, N)[:, None], (1 - np.linspace(0.6, 0.8, N)[:, None]) / 2)
WORDS = np.array(list("abc"))[CODES]
#: Separate columns, each nearer to what occurs than to what does not.
MARKS = np.random.default_rng(2).random((N, K)) < 0.4
SEPARATE = np.where(MARKS, 0.75, 0.2)
ORDER = np.random.default_rng(0).permutation(N)
SETTINGS: dict[str, Any] = {"generator": "brier", "method": "risk", "bandwidth": 0.1}
TURNED = [2, 0, 1]


def risk(y_true: Any, y_proba: Any, **options: Any) -> float:
    return float(decompose(y_true, y_proba, **SETTINGS, **options).risk)


RIGHT = float(((PROBA - np.eye(K)[CODES]) ** 2).sum(axis=1).mean())


def test_evidence() -> None:
    own, other = np.full(20, 0.2), np.full(20, 0.6)
    assert evidence(own, other) == pytest.approx(20 * np.log(3), rel=1e-12)
    assert evidence(other, own) == 0
    # Of three rows, all may be better by chance; of twenty, half of them are.
    assert evidence(own[:3], np.ones(3)) == 0
    half = np.where(np.arange(20) < 10, 1.0, 0.19)
    assert np.log(half / own).sum() > 7
    assert evidence(own, half) == 0
    # 2 · log 20! readings were compared, which 22 nats are not enough for.
    assert evidence(own, other, tried=2 * 42.0) == 0
    # No row says more than ten nats.
    assert evidence(np.zeros(20), np.ones(20)) == pytest.approx(200, rel=1e-12)


def test_predictions_that_say_nothing_doubt_nothing() -> None:
    rng = np.random.default_rng(1)
    for n, k in ((30, 2), (500, 3), (2000, 8)):
        for _ in range(5):
            risk(rng.choice([f"c{i}" for i in range(k)], n), rng.dirichlet(np.full(k, 0.5), n), notion="top-label")


@pytest.mark.parametrize("kind", ["words", "numbers", "numbers from 1", "one-hot", "one-hot without names", "no names", "no names, one-hot", "counted from 1", "counted from 1, of more", "names by a table"])
def test_columns_that_are_matched_by_their_order(kind: str) -> None:
    pd = pytest.importorskip("pandas", reason="needs pandas")
    table, marks = pd.DataFrame(PROBA, columns=list("abc")), pd.DataFrame(np.eye(K)[CODES], columns=list("abc"))
    names = ["c", "a", "b"]
    y_true, right, wrong = {
        "words": (WORDS, PROBA, PROBA[:, TURNED]),
        "no names": (CODES, PROBA, PROBA[:, TURNED]),
        "no names, one-hot": (np.eye(K)[CODES], PROBA, PROBA[:, TURNED]),
        "counted from 1": (CODES + 1, PROBA, PROBA[:, TURNED]),
        "counted from 1, of more": (CODES + 1, np.insert(PROBA, 0, 0, axis=1), np.insert(PROBA[:, TURNED], 0, 0, axis=1)),
        "names by a table": (CODES, pd.DataFrame(PROBA), pd.DataFrame(PROBA[:, TURNED])),
        "numbers": (CODES, table, table[names]),
        "numbers from 1": (CODES + 1, table, table[names]),
        "one-hot": (marks[names], PROBA[:, TURNED], PROBA),
        "one-hot without names": (np.eye(K)[CODES], table, table[names]),
    }[kind]
    assert risk(y_true, right) == pytest.approx(RIGHT, rel=1e-12)
    with pytest.warns(UserWarning, match=r"read as those of the classes .* in this order, though by y_proba labels are e\^\d+ times"):
        found = risk(y_true, wrong)
    assert found > RIGHT
    if kind == "words":
        # A list that predictions contradict is doubted; names of columns are not.
        for listed in (["a", "b", "c"], ["b", "a", "c"]):
            with pytest.warns(UserWarning, match=r"if it is \['c', 'a', 'b'\]\. Pass labels=\[\.\.\.\] in the order of the columns, or name these by their classes"):
                risk(y_true, wrong, labels=listed)
            risk(y_true, pd.DataFrame(wrong, columns=listed))
        assert risk(y_true, wrong, labels=["c", "a", "b"]) == pytest.approx(RIGHT, rel=1e-12)
        with pytest.warns(UserWarning, match=r"classes \['a', 'b', 'c'\], in this order.* if it is \['c', 'a', 'b'\]\. Pass labels="):
            risk(y_true, wrong)


def test_signs_beside_two_columns_of_other_names() -> None:
    pd = pytest.importorskip("pandas", reason="needs pandas")
    table = pd.DataFrame({"down": PROBA[:, 0], "up": 1 - PROBA[:, 0]})
    signs = np.where(CODES == 0, -1, 1)
    right = risk(CODES > 0, table.to_numpy())
    assert risk(signs, table) == pytest.approx(right, rel=1e-12)
    with pytest.warns(UserWarning, match=r"read as those of the classes \[-1, 1\].* if it is \[1, -1\]"):
        risk(signs, table[["up", "down"]])
    # Numbers that are names of columns are matched with them, in any order.
    numbered = table.set_axis(["-1", "1"], axis=1)
    assert risk(signs, numbered[["1", "-1"]]) == pytest.approx(right, rel=1e-12)


@pytest.mark.parametrize("some", [N, 40])
@pytest.mark.parametrize("side", ["y_true", "y_proba"])
def test_rows_of_which_one_side_has_an_index(side: str, some: int) -> None:
    pd = pytest.importorskip("pandas", reason="needs pandas")
    rows = ORDER[:some]
    labels, table = pd.Series(CODES).iloc[rows], pd.DataFrame(PROBA).iloc[rows]
    right = risk(labels, table)
    message = rf"^{side} has the index .* has none: rows were read side by side, though .* if {side} is sorted by its index"
    if side == "y_true":
        assert risk(labels, PROBA[rows]) == pytest.approx(right, rel=1e-12)
        with pytest.warns(UserWarning, match=message):
            risk(labels, PROBA[np.sort(rows)])
        risk(labels.to_numpy(), PROBA[np.sort(rows)])
    else:
        assert risk(CODES[rows], table) == pytest.approx(right, rel=1e-12)
        with pytest.warns(UserWarning, match=message):
            risk(CODES[np.sort(rows)], table)


def test_an_index_without_an_order_says_nothing() -> None:
    pd = pytest.importorskip("pandas", reason="needs pandas")
    risk(pd.Series(CODES, [*["a"] * 30, *range(30)]), PROBA)
    lists: Any = np.empty(N, dtype=object)
    lists[:] = [[i] for i in ORDER]
    risk(pd.Series(CODES, pd.Index(lists)), PROBA)
    mixed = pd.Index([f"r{i}" if i % 2 else i for i in range(N)], dtype=object)
    risk(pd.Series(CODES, mixed), PROBA)


def test_numbers_that_columns_are_named_by_are_not_doubted() -> None:
    pd = pytest.importorskip("pandas", reason="needs pandas")
    wrong = pd.DataFrame(PROBA[:, TURNED], columns=["0", "1", "2"])
    assert risk(CODES, wrong) == risk(pd.DataFrame(np.eye(K)[CODES], columns=["0", "1", "2"]), wrong)
    assert risk(CODES, PROBA[:, TURNED], labels=[2, 0, 1]) == pytest.approx(RIGHT, rel=1e-12)
    risk(CODES, wrong, labels=[0, 1, 2])
    # Those that the caller lists say no more than their place.
    with pytest.warns(UserWarning, match=r"if it is \[2, 0, 1\]\. Pass labels="):
        risk(CODES, PROBA[:, TURNED], labels=[0, 1, 2])


def test_of_all_orders_the_most_probable_is_named() -> None:
    # Each of the six orders by itself: none is more probable than the one that data were made by.
    for order in itertools.permutations(range(K)):
        values = PROBA[:, order]
        if order == (0, 1, 2):
            risk(CODES, values)
            continue
        with pytest.warns(UserWarning, match=rf" if it is {re.escape(str(list(order)))}\. "):
            risk(CODES, values)


def test_a_part_of_many_rows_tells() -> None:
    n, k = 60_000, 40
    rng = np.random.default_rng(2)
    values = rng.dirichlet(np.full(k, 0.3), n)
    codes = (values.cumsum(axis=1) > rng.random(n)[:, None]).argmax(axis=1)
    order = rng.permutation(k)
    validate(codes, values)
    with pytest.warns(UserWarning, match=rf" if it is \[{', '.join(map(str, order[:5]))}, \.\.\.\]"):
        validate(codes, values[:, order])
    # Rows that do not count do not tell.
    weight = np.where(codes < 3, 1.0, 0.0)
    found, right = values.copy(), codes < 3
    found[~right] = found[~right][:, order]
    validate(codes, found, sample_weight=weight)


def test_chance_that_is_too_small_for_floating_point() -> None:
    # Of n tosses all are heads: n log 2. The bound is the exact value there.
    assert _log_by_chance(500, 0) == pytest.approx(-500 * np.log(2), rel=1e-12)
    assert _log_by_chance(5000, 0) == pytest.approx(-5000 * np.log(2), rel=1e-12)
    assert _log_by_chance(5000, 50) < -3000
    assert _log_by_chance(0, 5) == 0


BINARY = np.arange(N) % 2
#: Of class 1, and on the other side of one half from what occurs.
ONE = np.where(BINARY == 1, np.linspace(0.6, 0.8, N), np.linspace(0.4, 0.2, N))


@pytest.mark.parametrize("labels", [BINARY, 2 * BINARY - 1, BINARY == 1, np.eye(2, dtype=int)[BINARY]], ids=["0/1", "-1/1", "booleans", "one-hot"])
def test_a_column_that_is_of_the_other_class(labels: Any) -> None:
    message = r"y_proba is one column, read as the probability of (1|True), though by y_proba labels are e\^\d+ times"
    with pytest.warns(UserWarning, match=message):
        risk(labels, 1 - ONE)
    right = 2 * float(((1 - ONE - BINARY) ** 2).mean())
    assert risk(labels, ONE) == pytest.approx(2 * float(((ONE - BINARY) ** 2).mean()), rel=1e-12)
    if labels.ndim == 1:
        # Who says which class it is, knows.
        assert risk(labels, 1 - ONE, pos_label=1) == pytest.approx(right, rel=1e-12)


def test_names_say_of_which_class_a_column_is() -> None:
    pd = pytest.importorskip("pandas", reason="needs pandas")
    for name in ("p_1", "prob_pos", "yes"):
        risk(BINARY, pd.Series(1 - ONE, name=name))
    risk(pd.Series(BINARY, name="is_fraud"), pd.Series(1 - ONE, name="p_fraud"))
    for name in ("legit", "score"):
        with pytest.warns(UserWarning, match=f"y_proba is one column, '{name}', read as the probability of 1"):
            risk(BINARY, pd.Series(1 - ONE, name=name))


def test_one_column_that_is_biased_or_says_nothing_is_not_doubted() -> None:
    rng = np.random.default_rng(3)
    rare = np.arange(400) % 10 == 0
    # Too large everywhere, and larger where the event occurs.
    risk(rare, 0.6 + 0.2 * rare + rng.uniform(-0.2, 0.2, 400))
    for n in (30, 500, 2000):
        risk(rng.integers(0, 2, n), rng.uniform(size=n))
    # Of one class alone no order is known.
    risk(np.ones(N, dtype=int), np.full(N, 0.1))


@pytest.mark.parametrize("kind", ["marks", "named marks", "named columns", "listed", "logits", "labels"])
def test_separate_columns_in_another_order(kind: str) -> None:
    pd = pytest.importorskip("pandas", reason="needs pandas")
    names, moved = list("abc"), SEPARATE[:, TURNED]
    logits = np.log(SEPARATE / (1 - SEPARATE))
    cases: dict[str, Any] = {
        "marks": (MARKS, SEPARATE, moved, {}),
        "named marks": (pd.DataFrame(MARKS, columns=names), SEPARATE, moved, {}),
        "named columns": (MARKS, pd.DataFrame(SEPARATE, columns=names), pd.DataFrame(moved, columns=names), {}),
        "listed": (MARKS, SEPARATE, moved, {"labels": names}),
        "logits": (MARKS, logits, logits[:, TURNED], {"from_logits": True, "link": "sigmoid"}),
        "labels": (CODES, 8 * PROBA - 4, 8 * PROBA[:, TURNED] - 4, {"from_logits": True, "link": "sigmoid"}),
    }
    y_true, right, wrong, options = cases[kind]
    options = {"notion": "classwise", **options}
    found = risk(y_true, right, **options)
    # Both losses of a pair (1 - p, p), of three columns, of which one has another prediction of each label.
    if kind != "labels":
        assert found == pytest.approx(2 * float(((SEPARATE - MARKS) ** 2).mean()), rel=1e-9)
    fix = r"Pass labels=" if kind == "labels" else "Bring the columns of y_true and y_proba into one order, or name those of both"
    with pytest.warns(UserWarning, match=rf"^y_proba has columns.* labels are e\^\d+ times as probable if it is \[.*\]\. {fix}"):
        assert risk(y_true, wrong, **options) > found
    # Names of both leave no doubt, nor what says nothing.
    risk(pd.DataFrame(MARKS, columns=names), pd.DataFrame(moved, columns=names), notion="classwise")
    risk(MARKS, np.full((N, K), 0.4), notion="classwise")


def test_separate_columns_that_are_biased_are_not_doubted() -> None:
    rng = np.random.default_rng(4)
    for rate in ((0.05, 0.3, 0.5), (0.02, 0.02, 0.6)):
        logits = np.log(rate) - np.log1p(-np.array(rate)) + rng.normal(size=(500, 3))
        marks = rng.random((500, 3)) < 1 / (1 + np.exp(-logits))
        # The rare are given as much as the frequent.
        risk(marks, logits + np.array([1.5, 1.0, -1.5]), from_logits=True, link="sigmoid", notion="classwise")
        risk(marks, rng.normal(size=(500, 3)), from_logits=True, link="sigmoid", notion="classwise")


@pytest.mark.parametrize("kind", ["ordered type", "one-hot", "numbers"])
def test_what_lists_classes_is_doubted_too(kind: str) -> None:
    pd = pytest.importorskip("pandas", reason="needs pandas")
    listed, moved = ["c", "a", "b"], PROBA[:, TURNED]
    cases: dict[str, Any] = {
        "ordered type": (pd.Series(pd.Categorical(WORDS, listed, ordered=True)), moved, PROBA, {}),
        "one-hot": (np.eye(K)[CODES], PROBA, moved, {"labels": listed}),
        "numbers": (CODES, pd.DataFrame(PROBA, columns=list("abc")), pd.DataFrame(moved, columns=listed), {"labels": [0, 1, 2]}),
    }
    y_true, right, wrong, options = cases[kind]
    assert risk(y_true, right, **options) == pytest.approx(RIGHT, rel=1e-12)
    with pytest.warns(UserWarning, match=r"read as those of the classes .* in this order, though by y_proba"):
        risk(y_true, wrong, **options)


def test_booleans_beside_two_columns_of_other_names() -> None:
    pd = pytest.importorskip("pandas", reason="needs pandas")
    table = pd.DataFrame({"down": PROBA[:, 0], "up": 1 - PROBA[:, 0]})
    right = risk(CODES > 0, table.to_numpy())
    assert risk(CODES > 0, table.set_axis(["up", "down"], axis=1)) == pytest.approx(right, rel=1e-12)
    with pytest.warns(UserWarning, match=r"classes \[False, True\].* if it is \[True, False\]"):
        risk(CODES > 0, table[["up", "down"]])


@pytest.mark.parametrize("event", ["up", "down"])
def test_booleans_beside_two_columns_in_alphabetical_order(event: str) -> None:
    pd = pytest.importorskip("pandas", reason="needs pandas")
    words = np.where(CODES > 0, "up", "down")
    table = pd.DataFrame({"down": PROBA[:, 0], "up": 1 - PROBA[:, 0]})
    right, occurred = risk(words, table), words == event
    sketch = CalibrationSketch(2, generator="brier")
    for read in (lambda: risk(occurred, table), lambda: risk(occurred[:1].repeat(2), table[:2]), lambda: sketch.update(occurred, table)):
        with pytest.raises(ValueError, match=r"^y_true = booleans: expected to know which of the columns of y_proba, \['down', 'up'\], True is of; pass the names of the classes, or"):
            read()
    # As the message says.
    assert risk(occurred, table[event]) == pytest.approx(right, rel=1e-12)
    assert risk(occurred, table, labels=[False, True] if event == "up" else [True, False]) == pytest.approx(right, rel=1e-12)
    assert risk(pd.Series(occurred, name=event), table) == pytest.approx(right, rel=1e-12)
    for names in (["no", "yes"], ["neg", "pos"], ["not_up", "up"], ["p0", "p1"], ["False", "True"], ["other", "up"], ["score_0", "score_1"]):
        assert risk(words == "up", table.set_axis(names, axis=1)) == pytest.approx(right, rel=1e-12)


@pytest.mark.parametrize("place", [0, 1, 2, 3])
@pytest.mark.filterwarnings(r"ignore:y_proba has columns \['flag'\], taken for classes")
def test_a_column_that_no_row_is_of_the_class_of(place: int) -> None:
    pd = pytest.importorskip("pandas", reason="needs pandas")
    table = pd.DataFrame(PROBA, columns=list("abc"))
    table.insert(place, "flag", 0.0)
    assert risk(WORDS, table) == pytest.approx(RIGHT, rel=1e-12)
    if place == K:
        assert risk(CODES, table) == pytest.approx(RIGHT, rel=1e-12)
        return
    meant = [*range(place), K, *range(place, K)]
    sketch = CalibrationSketch(K + 1, generator="brier", notion="classwise")
    sketch.update(CODES, table)
    for read in (lambda: risk(CODES, table), lambda: risk(CODES, table.to_numpy()), sketch.result):
        with pytest.warns(UserWarning, match=re.escape(f" if it is {meant}. ")):
            read()
    assert risk(CODES, table, labels=meant) == pytest.approx(RIGHT, rel=1e-12)


def test_a_class_that_is_too_probable_and_never_occurs_is_not_doubted() -> None:
    rng = np.random.default_rng(5)
    for k, absent in ((3, 1), (5, 2), (10, 5)):
        for _ in range(5):
            logits = rng.normal(size=(300, k))
            prob = np.exp(logits[:, :-absent])
            codes = (rng.random(300)[:, None] * prob.sum(axis=1, keepdims=True) > prob.cumsum(axis=1)).sum(axis=1)
            shifted = np.exp(logits + np.where(np.arange(k) < k - absent, 0.0, 1.5))
            risk(codes, shifted / shifted.sum(axis=1, keepdims=True), notion="top-label")


def test_a_class_that_the_caller_says_of_a_column_without_a_name() -> None:
    """As a list of columns is doubted, which may be in another order; a name of the column is not."""
    pd = pytest.importorskip("pandas", reason="needs pandas")
    words, proba = np.where(CODES == 0, "y", "n"), PROBA[:, 0]
    right = float(2 * ((proba - (CODES == 0)) ** 2).mean())
    assert risk(words, proba, pos_label="y") == risk(words, 1 - proba, pos_label="n") == pytest.approx(right, rel=1e-12)
    # Names that say no class at all say as little as no name.
    named = [pd.Series(1 - proba, name=name) for name in ("score", "mortality", "SAPS II", "xgb_v2", "col7")]
    for column in (1 - proba, *named):
        with pytest.warns(UserWarning, match=r"read as the probability of 'y', though by y_proba labels are e\^\d+ times as probable if it is that of 'n'\. Pass pos_label"):
            risk(words, column, pos_label="y")
    for column in named:
        risk(words, column, pos_label="n")
    risk(words, pd.Series(1 - proba, name="y"), pos_label="y")
