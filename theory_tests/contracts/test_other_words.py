"""Columns named after classes in other words than labels: in their order, or refused.

As in the tests of misleading names, the Brier score of three classes is 0.06, and of two 0.02.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from propercal import CalibrationSketch
from propercal._data.words.other_words import contradict, say_another_order, spelt
from theory_tests.contracts.test_misleading_names import CODES, PROBA, SCORE, THREE, TWO, WORDS, check, refused

MOVED = [2, 0, 1]
MARKS = np.eye(3)[CODES]


def table(names: Any, order: Any = (0, 1, 2)) -> Any:
    """Columns in an order, each under the name of its class."""
    return pd.DataFrame(PROBA[:, list(order)], columns=[names[i] for i in order])


# ---------------------------------------------------------------- numbers that are spelt out

SPELT = {
    "cardinals": ["zero", "one", "two"], "from one": ["p_one", "p_two", "p_three"], "ordinals": ["first", "second", "third"],
    "Roman": ["I", "II", "III"], "class": ["class I", "class II", "class III"], "in one word": ["ClassI", "ClassII", "ClassIII"],
    "small": ["grade_ix", "grade_x", "grade_xi"],
}


@pytest.mark.parametrize("kind", SPELT)
def test_numbers_in_words_that_stand_in_another_order_do_not_count_columns(kind: str) -> None:
    names = SPELT[kind]
    for order in (MOVED, [2, 1, 0], [0, 2, 1]):
        for labels in (CODES, CODES + 1, MARKS):
            refused("y_true = ", labels, table(names, order))
        with pytest.raises(ValueError, match="y_"):
            CalibrationSketch(3, bandwidth=0.1).update(CODES, table(names, order))
        first = int(kind == "from one")
        check(THREE, CODES + first, table(names, order), labels=[i + first for i in order])
    check(THREE, MARKS, table(names))
    if kind != "from one":
        check(THREE, CODES, table(names))
    if kind != "cardinals":
        check(THREE, CODES + 1, table(names))


def test_numbers_in_words_are_those_of_classes() -> None:
    """As digits are: one is class 1, wherever it stands."""
    refused("y_true = the names", CODES + 1, table(SPELT["cardinals"]))
    refused("y_true = the names", CODES, table(SPELT["from one"]))


def test_two_columns_and_one() -> None:
    fraud = (WORDS == "fraud") * 1
    for first, second in (("one", "zero"), ("II", "I"), ("second", "first")):
        refused("y_true = ", fraud, pd.DataFrame({first: SCORE, second: 1 - SCORE}))
        check(TWO, fraud, pd.DataFrame({second: 1 - SCORE, first: SCORE}))
    for name in ("one", "I", "second"):
        check(TWO, fraud, pd.Series(SCORE, name=name))


def test_letters_are_no_numerals() -> None:
    for names in (["x", "i", "v"], ["v", "i", "x"]):
        assert spelt(names) == []
        check(THREE, CODES, table(names))
    assert say_another_order(["viii", "vii"])
    assert not say_another_order(["mix", "vim"])
    assert not say_another_order(["someone", "no one"])
    # What all names share says nothing.
    assert not say_another_order(["two_cats", "two_ants"])


# ---------------------------------------------------------------- other words for the same classes

#: Labels, and what their columns are called.
OTHERS = [
    (["cats", "dogs", "eels"], ["cat", "dog", "eel"]), (["cat", "dog", "eel"], ["p_cats", "p_dogs", "p_eels"]),
    (["setosa", "versicolor", "virginica"], ["seto", "vers", "virg"]), (["low", "medium", "high"], ["lo", "med", "hi"]),
    (["c", "c++", "c#"], ["p_c", "p_c++", "p_c#"]), (["A", "A+", "A-"], ["p_A", "p_A+", "p_A-"]),
    (["猫", "犬", "鳥"], ["猫の確率", "犬の確率", "鳥の確率"]), (["猫", "犬", "鳥"], ["p猫", "p犬", "p鳥"]),
    (["1", "2", "3"], ["I", "II", "III"]), (["one", "two", "three"], ["c1", "c2", "c3"]), (["I", "II", "III"], ["p_1", "p_2", "p_3"]),
]


@pytest.mark.parametrize(("labels", "names"), OTHERS, ids=str)
def test_columns_of_other_words_stand_in_the_order_of_labels(labels: Any, names: Any) -> None:
    y_true = np.array(labels)[CODES]
    check(THREE, y_true, table(names), labels=labels)
    for order in (MOVED, [1, 0, 2]):
        refused("labels = .*: expected the names of the columns", y_true, table(names, order), labels=labels)
        check(THREE, y_true, table(names, order), labels=[labels[i] for i in order])
    refused("y_true = ", y_true, table(names, MOVED))


def test_words_that_say_nothing_of_classes_are_taken_as_they_stand() -> None:
    for names in (["x", "y", "z"], ["model", "other", "third_one"], ["left", "right", "straight"]):
        check(THREE, np.array(["a", "b", "c"])[CODES], table(names), labels=["a", "b", "c"])
    assert not contradict(["category", "dogma"], ["cat", "dog"])
    assert contradict(["dogma", "category"], ["cat", "dog"])
    many = [f"w{chr(97 + i % 26)}{chr(97 + i // 26)}" for i in range(400)]
    assert not contradict(many, [f"{each}x" for each in many])


def test_a_single_column_of_another_form_of_the_other_class_is_refused() -> None:
    for name in ("legitimate", "p_legitimate", "legits"):
        column = pd.Series(1 - SCORE, name=name)
        refused("pos_label = 'fraud'", WORDS, column, pos_label="fraud")
        refused("y_true = ", WORDS, column, labels=["legit", "fraud"])
        check(TWO, WORDS, column, pos_label="legit")
    for name in ("fraudulent", "p_frauds"):
        check(TWO, WORDS, pd.Series(SCORE, name=name), pos_label="fraud")


# ---------------------------------------------------------------- initials


@pytest.mark.parametrize(
    ("names", "letters"), [(["low", "mid", "high"], ["L", "M", "H"]), (["red", "green", "blue"], ["r", "g", "b"]), (["risk_low", "risk_mid", "risk_high"], ["l", "m", "h"])]
)
def test_labels_that_are_initials_of_columns_are_in_their_order(names: list[str], letters: list[str]) -> None:
    labels = np.array(letters)[CODES]
    check(THREE, labels, table(names), labels=letters)
    check(THREE, np.array(names)[CODES], table(letters), labels=names)
    for order in (MOVED, [2, 1, 0]):
        refused(r"labels = \[.*\]: expected the names of the columns", labels, table(names), labels=[letters[i] for i in order])
        refused(r"labels = \[.*\]: expected the names of the columns", np.array(names)[CODES], table(letters, order), labels=names)


def test_letters_that_are_no_initials_or_count_say_nothing() -> None:
    assert contradict(["male", "female"], ["F", "M"])
    assert not contradict(["male", "female"], ["M", "F"])
    for letters in (["c", "a", "b"], ["x", "y", "z"], ["l", "m", "m"], ["l", "mi", "h"]):
        assert not contradict(["low", "mid", "high"], letters)
    # Letters in a row count classes.
    assert not contradict(["beech", "ash", "cedar"], ["a", "b", "c"])
