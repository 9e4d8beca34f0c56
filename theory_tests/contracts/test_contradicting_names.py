"""Names of labels, of a single column and of the caller that contradict each other: refused, or right.

As in the tests of misleading names, one of two classes has 0.9, so that the Brier score is 2 · 0.1² = 0.02, and
2 · 0.9² = 1.62 if they are confused; of three classes the one that occurs has 0.8, and the score is 0.06.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from propercal import CalibrationSketch, calibration_test, paired_difference, select_bandwidth
from propercal._data.words.opposed import contradicts
from propercal._data.words.short_names import bearers
from propercal._data.words.tokens import negates, of_class_0
from theory_tests.contracts.test_misleading_names import (
    CODES,
    FRAUD,
    PROBA,
    SCORE,
    THREE,
    TWO,
    WORDS,
    F,
    P,
    check,
    refused,
)

TURNED = F[["legit", "fraud"]]
#: Columns of two classes, that of class 1 first.
TABLES = [F, F.add_prefix("p_"), F.add_suffix("_prob"), F.set_axis(["P(fraud)", "P(legit)"], axis=1)]


# ---------------------------------------------------------------- labels 0 and 1 named after a class

OF_FRAUD = ["is_fraud", "fraud_label", "y_fraud", "target_fraud", "fraud_flag", "has_fraud", "isFraud", "isfraud", "label_fraud", "fraudulent", "p_fraud"]


@pytest.mark.parametrize("name", OF_FRAUD)
def test_labels_named_after_a_class_are_not_counted_in_another_order(name: str) -> None:
    for labels in (pd.Series(FRAUD, name=name), pd.Series(FRAUD == 1, name=name), pd.DataFrame({name: FRAUD})):
        for table in TABLES:
            if name in table:
                check(TWO, labels, table)
            else:
                refused(r"y_true = \[\S+, \S+\], named .*: expected to know of which classes y_proba has columns.*pass the column .* alone", labels, table)
            check(TWO, labels, table.iloc[:, ::-1])
        check(TWO, labels, F.fraud)
        refused("y_true = .*named", labels, F.assign(other=0.0))
    of_three = P.set_axis(["fraud", "error", "legit"], axis=1)
    refused("y_true = .*named", pd.Series((CODES == 0) * 1, name=name), of_three)


@pytest.mark.parametrize("name", ["fraud", "is_fraud"])
def test_other_numbers_named_after_a_class_are_not_counted_in_another_order(name: str) -> None:
    for labels in (FRAUD * 2 - 1, FRAUD + 1):
        for table in TABLES:
            refused("y_true = .*named", pd.Series(labels, name=name), table)
            check(TWO, pd.Series(labels, name=name), table.iloc[:, ::-1])


@pytest.mark.parametrize("name", ["label", "target", "y", "outcome", "y_true", "fraud_or_legit", None])
def test_labels_named_after_no_class_are_counted(name: Any) -> None:
    check(TWO, pd.Series(FRAUD, name=name), TURNED)
    check(TWO, pd.Series(FRAUD, name=name), SCORE)
    check(THREE, pd.Series(CODES, name=name), P)


def test_labels_named_after_a_class_are_refused_by_every_function() -> None:
    labels = pd.Series(FRAUD, name="is_fraud")
    for function in (
        lambda: calibration_test(labels, F, random_state=0),
        lambda: select_bandwidth(labels, F),
        lambda: paired_difference(labels, F, F, generator="brier", kernel=None),
        lambda: CalibrationSketch(2, bandwidth=0.1).update(labels, F),
    ):
        with pytest.raises(ValueError, match=r"^y_true = \[0, 1\], named 'is_fraud'"):
            function()


@pytest.mark.parametrize("name", ["no_fraud", "not_fraud", "nonfraud", "is_not_fraud", "non-fraud", "notFraud"])
def test_labels_of_the_opposite_are_not_those_of_the_column(name: str) -> None:
    labels = pd.Series(1 - FRAUD, name=name)
    for column in (F.fraud, F[["fraud"]], F.fraud.rename("p_fraud")):
        refused(r"y_true = \[0, 1\], named .* a column named .* pass pos_label=", labels, column)
        refused("y_true = .* named .* a column named", labels * 2 - 1, column)
        check(TWO, labels, column, pos_label=0)
    for table in TABLES:
        for given in (table, table.iloc[:, ::-1]):
            refused("y_true = .*named", labels, given)
    check(TWO, labels, TURNED.iloc[:, ::-1].set_axis(["fraud", name], axis=1))
    # One that speaks of another thing is no opposite; yet which of the two the column is of is not said.
    refused("y_true = .*named 'no_show'.* a column named 'fraud'", pd.Series(FRAUD, name="no_show"), F.fraud)
    check(TWO, pd.Series(FRAUD, name="no_show"), F.fraud, pos_label=1)
    check(TWO, pd.Series(FRAUD, name="no_show"), F.fraud.rename("score"))


@pytest.mark.parametrize("name", ["fraud_free", "unfraud", "fraudless", "fraud_absent", "p_nonfraud", "zeroth"])
def test_columns_of_the_opposite_are_not_those_of_the_labels(name: str) -> None:
    for label in ("fraud", "is_fraud", "fraud_flag", "y_fraud"):
        refused(r"(y_true|y_proba) = .*named", pd.Series(FRAUD, name=label), F.legit.rename(name))
        check(TWO, pd.Series(FRAUD, name=label), F.legit.rename(name), pos_label=0)
        for column in ("fraud", "p_fraud", "fraud_score"):
            check(TWO, pd.Series(FRAUD, name=label), F.fraud.rename(column))


def test_the_column_of_a_one_hot_that_is_of_class_0_is_not_that_of_class_1() -> None:
    for prefix in (None, "y", "class"):
        dummies = pd.get_dummies(FRAUD, prefix=prefix)
        for column in (SCORE, F.fraud, F.fraud.rename("p_1")):
            refused("y_true = .*named", dummies.iloc[:, 0], column)
            check(TWO, dummies.iloc[:, 1], column)
        check(TWO, dummies.iloc[:, 0], 1 - SCORE, pos_label=True)
    refused("y_true = .*named 'class_0'.* a column named 'p_1'", pd.Series(1 - FRAUD, name="class_0"), F.fraud.rename("p_1"))
    # The first column of a table may hold labels.
    check(TWO, pd.Series(FRAUD, name=0), SCORE)


# ---------------------------------------------------------------- a positive class beside a name


@pytest.mark.parametrize("name", ["p_legit", "legit_prob", "not_fraud", "nonfraud", "p_no_fraud"])
def test_a_positive_class_that_the_name_of_the_column_contradicts_is_refused(name: str) -> None:
    column = F.legit.rename(name)
    for options in ({}, {"labels": ["legit", "fraud"]}, {"labels": ["fraud", "legit"]}):
        for given in (column, column.to_frame()):
            refused(r"pos_label = 'fraud': expected .*, the name of y_proba", WORDS, given, pos_label="fraud", **options)
            check(TWO, WORDS, given, pos_label="legit", **options)
    with pytest.raises(ValueError, match="pos_label = 'fraud'"):
        CalibrationSketch(2, bandwidth=0.1, pos_label="fraud").update(WORDS, column)


@pytest.mark.parametrize("name", ["p_0", "class0_prob", "y_hat_0", "p=0"])
def test_a_numbered_column_is_of_its_number(name: str) -> None:
    refused("pos_label = 1: expected", FRAUD, F.legit.rename(name), pos_label=1)
    refused("pos_label = 0: expected", FRAUD, F.fraud.rename(name.replace("0", "1")), pos_label=0)
    refused("pos_label = 2: expected", FRAUD + 1, F.legit.rename(name.replace("0", "1")), pos_label=2)
    check(TWO, FRAUD, F.legit.rename(name), pos_label=0)
    check(TWO, FRAUD, F.fraud.rename(name.replace("0", "1")), pos_label=1)


@pytest.mark.parametrize("name", ["p", "score", "fraud", "p_fraud", "not_legit", "model_3", "no_show", "column_0", None])
def test_a_positive_class_holds_where_the_name_does_not_contradict(name: Any) -> None:
    check(TWO, WORDS, F.fraud.rename(name), pos_label="fraud")
    if name != "fraud":
        check(TWO, FRAUD, F.fraud.rename(name), pos_label=1)


@pytest.mark.parametrize("name", ["+", "-", "p-", "other", "rest", "p_other"])
def test_signs_and_the_rest_are_names_of_class_0(name: str) -> None:
    column = F.legit.rename(name)
    if name != "+":
        refused("y_proba = a column named .*pos_label=0 or pos_label=1", FRAUD, column)
        check(TWO, FRAUD, column, pos_label=0)
    refused("y_true = the names", FRAUD, F.set_axis(["p+" if name == "+" else "p", "p-" if name == "+" else name], axis=1))
    check(TWO, FRAUD, TURNED.set_axis(["p-", "p+"], axis=1))


# ---------------------------------------------------------------- indicators with names beside none


def test_named_indicators_whose_numbers_do_not_ascend_are_refused_beside_columns_without_names() -> None:
    dummies = pd.get_dummies(CODES, prefix="y")
    check(THREE, dummies, PROBA)
    check(THREE, pd.get_dummies(CODES)[[2, 0, 1]], PROBA)
    for names in (["y_2", "y_0", "y_1"], ["y_1", "y_0", "y_2"]):
        for given in (PROBA, pd.DataFrame(PROBA), PROBA.tolist()):
            refused(r"y_true = columns named .* whose numbers do not ascend: .* in which order y_proba", dummies[names], given)
        check(THREE, dummies[names], P.set_axis(["y_0", "y_1", "y_2"], axis=1))
    check(THREE, pd.get_dummies(np.array(["cat", "dog", "eel"])[CODES]), PROBA)


# ---------------------------------------------------------------- what names say


def test_what_names_say_of_each_other() -> None:
    assert bearers(["p_fraud", "p_legit"], "is_fraud") == [0] == bearers(["fraud", "legit"], "fraudulent")
    assert bearers(["p_fraud", "p_legit"], "p_label") == [] == bearers(["fraud", "no_fraud"], "fraud_flag")
    assert bearers(["male", "female"], "is_female") == [1]
    assert negates("no_fraud", "p_fraud")
    assert negates("cancer free", "p_cancer")
    assert not negates("p_no_fraud", "no_fraud")
    assert not negates("no_show", "score")
    assert contradicts("p_fraud", "not fraud", "fraud")
    assert not contradicts("p_not_fraud", "not fraud", "fraud")
    assert not contradicts("1-p", 0, 1)
    assert contradicts("class a", "class b", "class a")
    assert of_class_0("HER2-")
    assert not of_class_0("HER2+")


# ---------------------------------------------------------------- rows that do not count


def test_rows_that_do_not_count_do_not_change_how_the_others_are_numbered() -> None:
    kept = CODES < 2
    weights = [kept.astype(int), kept * (1.0 + CODES)]
    for labels in (CODES + 1, CODES + 1.0, (CODES + 1).tolist()):
        refused(r"y_true = \[1, 2\] in rows that count, and \[3(\.0)?\] in others: .*pass labels=", labels, PROBA, ignore_index=3)
        for weight in weights:
            refused(r"y_true = \[1, 2\] in rows that count", labels, PROBA, sample_weight=weight)
            check(THREE, labels, PROBA, sample_weight=weight, labels=[1, 2, 3])
            check(THREE, labels, P.set_axis([1, 2, 3], axis=1), sample_weight=weight)
    two = np.stack([1 - SCORE, SCORE], axis=1)
    for given in (two, SCORE):
        refused(r"y_true = \[1\] in rows that count, and \[2\] in others", FRAUD + 1, given, sample_weight=FRAUD == 0)
    check(TWO, FRAUD * 2 - 1, two, sample_weight=FRAUD == 1)
    check(THREE, pd.Categorical(CODES + 1), PROBA, sample_weight=weights[0])


@pytest.mark.parametrize("void", [255, -100, 3, np.nan, -1, 0])
def test_what_stands_for_no_label_is_no_class(void: Any) -> None:
    kept = CODES > 0
    labels = np.where(kept, CODES, void)
    if void == 3:
        refused(r"y_true = \[1, 2\] in rows that count", labels, PROBA, ignore_index=void)
        labels[1], labels[2] = 0, 1
        check((18 * THREE + 2 * 1.46) / 20, labels, PROBA, ignore_index=void)
        return
    check(THREE, labels, PROBA, ignore_index=void)
    if void != 255:
        check(THREE, labels, PROBA, sample_weight=kept)


def test_a_number_and_its_digits_are_the_same_label_to_ignore() -> None:
    labels = np.where(CODES > 0, CODES, 7)
    for given, value in ((labels, "7"), (labels.astype(str), 7), (labels.astype(object), "7"), (labels.astype(float), "7")):
        options = {"labels": ["0", "1", "2"]} if isinstance(given[0], str) else {}
        check(THREE, given, PROBA, ignore_index=value, **options)


# ---------------------------------------------------------------- one column beside two


def test_an_indicator_of_two_columns_beside_one_marks_one_class_a_row() -> None:
    marks = np.eye(2)[FRAUD]
    for row in ([0, 0], [1, 1]):
        several = np.append(marks[:-1], [row], axis=0)
        for options in ({}, {"pos_label": 0}, {"from_logits": True}, {"from_logits": True, "link": "sigmoid"}):
            for notion in ("classwise", "canonical"):
                refused("y_true = an indicator matrix of two columns, whose rows mark none or both, beside one column of y_proba", several, SCORE, notion=notion, **options)
        for function in (calibration_test, select_bandwidth):
            with pytest.raises(ValueError, match=r"^y_true = an indicator matrix of two columns"):
                function(several, SCORE)
        with pytest.raises(ValueError, match=r"^y_true = an indicator matrix of two columns"):
            paired_difference(several, SCORE, SCORE)
        check(TWO, several, SCORE, sample_weight=np.arange(20) < 19)
    check(TWO, marks, SCORE)


def test_columns_of_a_one_hot_that_are_counted_are_not_in_the_order_of_listed_numbers() -> None:
    marks = np.eye(2)[FRAUD]
    cases: list[tuple[Any, list[Any]]] = [(marks, [1, 0]), (pd.get_dummies(FRAUD), [1, 0]), (pd.get_dummies(FRAUD == 1), [True, False]), (pd.get_dummies(FRAUD.astype(str)), ["1", "0"])]
    for one_hot, listed in cases:
        check(TWO, one_hot, 1 - SCORE, labels=listed)
        check(TWO, one_hot, SCORE, labels=listed[::-1])
        check(TWO, one_hot, np.stack([SCORE, 1 - SCORE], axis=1), labels=listed)
    # Names that are no numbers have no other order than the listed one.
    check(TWO, marks, SCORE, labels=["legit", "fraud"])


def test_a_column_that_a_table_has_numbered_is_no_class_of_that_number() -> None:
    two = pd.DataFrame(np.stack([1 - SCORE, SCORE], axis=1))
    for labels in (FRAUD + 1, (FRAUD + 1).astype(str), pd.get_dummies(FRAUD + 1)):
        for column in (two[1], two[[1]]):
            refused("y_true = .*pos_label=", labels, column)
            positive = "2" if getattr(labels, "dtype", None) is not None and labels.dtype.kind == "U" else 2
            # Under names of classes, which a table may have too, it would be that of class 1.
            refused("pos_label = .*rename it, or pass it without a name", labels, column, pos_label=positive)
            check(TWO, labels, column.to_numpy(), pos_label=positive)
        check(TWO, labels, two[1].rename("2"))
        check(TWO, labels, two[0].rename("1"))
    for labels in (FRAUD, FRAUD == 1, FRAUD * 2 - 1):
        check(TWO, labels, two[1])
    check(TWO, FRAUD * 2 + 2, two[1], pos_label=4)
    check(TWO, WORDS, two[1], pos_label="fraud")
    twos = np.full(20, 2)
    refused("pos_label = 2: expected 1", twos, two[0].rename(1), pos_label=2)
    check(float(np.mean(2 * (1 - SCORE) ** 2)), twos, two[1].rename("2"))


def test_false_is_the_name_of_a_class() -> None:
    event = FRAUD == 1
    for column in (pd.Series(1 - SCORE, name=False), pd.DataFrame({False: 1 - SCORE})):
        refused("pos_label = True: expected False", event, column, pos_label=True)
        check(TWO, event, column, pos_label=False)
        with pytest.raises(ValueError, match="pos_label = True"):
            CalibrationSketch(2, pos_label=True).update(event, column)
    check(TWO, event, pd.Series(SCORE, name=0), pos_label=True)


@pytest.mark.parametrize("name", ["p_{}", "prob_{}", "P(y={})", "P(y = {})", "{}_prob"])
def test_a_name_has_booleans_in_words_or_in_digits(name: str) -> None:
    event = FRAUD == 1
    for forms in (("False", "True"), ("0", "1"), ("false", "true")):
        negative, positive = (name.format(form) for form in forms)
        for true, false in ((True, False), (1, 0), (np.True_, np.False_)):
            refused("pos_label = ", event, pd.Series(1 - SCORE, name=negative), pos_label=true)
            check(TWO, event, pd.Series(SCORE, name=positive), pos_label=true)
            refused("pos_label = ", event, pd.Series(SCORE, name=positive), pos_label=false)
            check(TWO, event, pd.Series(1 - SCORE, name=negative), pos_label=false)
        refused("y_true = ", event, pd.Series(1 - SCORE, name=negative), labels=[False, True])
        # All rows are of one class.
        refused("pos_label = ", event | True, pd.Series(1 - SCORE, name=negative), pos_label=True)
        refused("pos_label = ", event & False, pd.Series(SCORE, name=positive), pos_label=False)


@pytest.mark.parametrize(("yes", "no"), [("Y", "N"), ("P", "N"), ("p", "other"), ("y", "no")])
def test_words_of_use_before_a_class_are_no_names_of_it(yes: str, no: str) -> None:
    words = np.where(FRAUD == 1, yes, no)
    for name in ("P(y={})", "P(Y = {})", "p_{}", "y_{}", "p({})", "prob[{}]"):
        other, right = (pd.Series(SCORE, name=name.format(each)) for each in (no, yes))
        refused("pos_label = ", words, 1 - other, pos_label=yes)
        refused("y_true = the names", words, 1 - other, labels=[no, yes])
        check(TWO, words, right, pos_label=yes)
        check(TWO, words, right, labels=[no, yes])
    for plain in (None, "score", "y_prob", "y_pred", "p"):
        check(TWO, words, pd.Series(SCORE, name=plain), labels=[no, yes])


# ---------------------------------------------------------------- rows of one class

#: Of rows that are all of the positive class.
ONES = float(np.mean(2 * (1 - SCORE) ** 2))


@pytest.mark.parametrize(("labels", "positive"), [
    ([1] * 20, "fraud"), ([0] * 20, "fraud"), ([True] * 20, "fraud"), ([True] * 20, "True"), ([True] * 20, 2), (["fraud"] * 20, 1), (["fraud"] * 20, True),
])
def test_a_positive_class_of_another_kind_than_labels_is_refused(labels: Any, positive: Any) -> None:
    match = r"pos_label = .*: expected a class like those of y_true"
    refused(match, labels, SCORE, pos_label=positive)
    with pytest.raises(ValueError, match=match):
        CalibrationSketch(2, pos_label=positive).update(labels, SCORE)
    for given, same in (([1] * 20, "1"), (["1"] * 20, 1), ([True] * 20, 1), ([2] * 20, 2), (["fraud"] * 20, "fraud")):
        check(ONES, given, SCORE, pos_label=same)
    for given, other in (([0] * 20, 1), ([False] * 20, True), (["0"] * 20, 1), ([1] * 20, 2), (["legit"] * 20, "fraud")):
        check(float(np.mean(2 * SCORE**2)), given, SCORE, pos_label=other)


@pytest.mark.parametrize(("label", "name"), [
    ("fraud", "legit"), ("fraud", "p_legit"), ("fraud", "not_fraud"), ("yes", "no"), ("yes", "p_no"), ("1", "0"), ("1", "p_0"), ("1", "prob_0"),
    ("neg", "P(y=pos)"), ("no", "yes"), ("not cat", "prob_cat"), ("1", "P(y=-1)"), ("1", "2_prob"), ("2", "p_1"),
    ("Y", "N"), ("Y", "P(y=N)"), ("P", "p_N"), ("A", "B"), ("N", "Y"), ("N", "P(y=Y)"),
])
def test_a_column_of_another_class_than_the_only_one_is_refused(label: str, name: str) -> None:
    column = pd.Series(1 - SCORE, name=name)
    refused("pos_label = ", [label] * 20, column, pos_label=label)
    with pytest.raises(ValueError, match="pos_label = "):
        CalibrationSketch(2, pos_label=label).update([label] * 20, column)
    for own in (label, f"p_{label}", "score", "y_proba", None):
        check(ONES, [label] * 20, pd.Series(SCORE, name=own), pos_label=label)


@pytest.mark.parametrize("name", [2, "2", "prob_2", "p_2"])
def test_rows_of_class_1_beside_a_column_of_class_2_are_in_doubt(name: Any) -> None:
    column = pd.Series(SCORE, name=name)
    refused(r"y_true = the labels \[1\].*pos_label=", [1] * 20, column)
    refused("pos_label = 1: expected", [1] * 20, column, pos_label=1)
    check(ONES, [1] * 20, column.rename(None), pos_label=1)
    check(ONES, [1] * 20, column.rename("model_2"), pos_label=1)
    check(float(np.mean(2 * SCORE**2)), [1] * 20, column, pos_label=2)
    check(TWO, FRAUD + 1, column.rename(2))


@pytest.mark.parametrize("name", ["R²", "x③", "y₂", "p¹"])
def test_digits_that_are_no_decimals_are_digits(name: str) -> None:
    check(TWO, FRAUD, pd.Series(SCORE, name=name))
    check(TWO, pd.Series(FRAUD, name=name), F.iloc[:, ::-1])
    # As c2, c0, c1 would, they say another order.
    for names in (["c²", "c⁰", "c¹"], ["②", "⓪", "①"], ["p₂", "p₀", "p₁"]):
        refused(r"y_true = the names \[0, 1, 2\]: expected names of columns", CODES, P.set_axis(names, axis=1))
        check(THREE, CODES, P.set_axis([names[i] for i in (1, 2, 0)], axis=1))


# ---------------------------------------------------------------- marks of tokenizers

@pytest.mark.parametrize("mark", ["Ġ", "Ċ", "▁", " "])
def test_tokens_of_the_names_of_classes_are_near_them(mark: str) -> None:
    """As `convert_ids_to_tokens` has a blank, or a new line, before a word."""
    words, turned = np.array(list("abc"))[CODES], P.iloc[:, [2, 0, 1]]
    tokens = turned.set_axis([f"{mark}{name}" for name in "cab"], axis=1)
    refused(r"y_proba|y_true|labels", words, tokens)
    refused(r"y_proba|y_true|labels", words, tokens, labels=list("abc"))
    refused("pos_label = 'legit'", WORDS, pd.Series(SCORE, name=f"{mark}fraud"), pos_label="legit")
    check(TWO, WORDS, pd.Series(SCORE, name=f"{mark}fraud"), pos_label="fraud")
