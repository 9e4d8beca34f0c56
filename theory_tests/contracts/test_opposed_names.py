"""Names of one column and of labels that are of two classes are refused, and those of one class are read.

As in the tests of misleading names, the Brier score of two classes is 2 · 0.1² = 0.02.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from propercal import CalibrationSketch, decompose
from propercal._data.words.opposed import contradicts
from propercal._data.words.short_names import bearers
from propercal._data.words.tokens import is_negation, tokens
from propercal.recalibration import TemperatureScaling

EVENT = np.array([1, 0] * 10)
SCORE = np.array([0.9, 0.1] * 10)
#: Labels that the score tells apart but for three, so that some temperature is best.
HARD = np.array([0, 1, 0, 0] + [1, 0] * 8)
P = np.stack([1 - SCORE, SCORE], axis=1)
RIGHT = 2 * 0.1**2


def risk(y_true: Any, y_proba: Any, **options: Any) -> float:
    return float(decompose(y_true, y_proba, generator="brier", method="risk", bandwidth=0.1, **options).risk)


def check(y_true: Any, y_proba: Any, **options: Any) -> None:
    assert risk(y_true, y_proba, **options) == pytest.approx(RIGHT, rel=1e-12)


def refused(match: str, y_true: Any, y_proba: Any, **options: Any) -> None:
    with pytest.raises(ValueError, match=f"^{match}"):
        risk(y_true, y_proba, **options)


# ---------------------------------------------------------------- labels 0 and 1 beside one column

#: Names of two classes of one question.
TWO = [
    (">50K", "<=50K"),
    ("income>50K", "income≤50K"),
    ("gt50", "lt50"),
    ("age_over_50", "age_under_50"),
    ("≥5", "<5"),
    ("Over50", "below 50"),
    ("sex_Female", "sex_Male"),
    ("away_win", "home_win"),
    ("price_down", "price_up"),
    ("team_a_wins", "team_b_wins"),
    ("animal_dog", "animal_cat"),
    ("golden retriever", "labrador retriever"),
    ("stage II", "stage III"),
    ("class_1", "class_2"),
    ("p_class_1", "class_2"),
    ("ER-", "ER+"),
    ("HER2_neg", "HER2_pos"),
    ("-", "+"),
    ("right", "left"),
    ("left_turn", "right_turn"),
    ("n", "y"),
    # Words that otherwise name no class, beside their opposites.
    ("correct", "p_error"),
    ("is_correct", "prob_wrong"),
    ("correct_answer", "p_wrong_answer"),
    ("answer_correct", "p_answer_error"),
    ("misclassified", "p_correct"),
    ("correct", "p_misclassified"),
    ("correct", "uncertainty"),
    ("right", "p_wrong"),
    ("error", "p_right"),
    ("hit", "p_miss"),
    ("event", "p_survival"),
]
HOLDERS: dict[str, Callable[[Any, str], Any]] = {
    "series": lambda values, name: pd.Series(values, name=name),
    "one column": lambda values, name: pd.DataFrame({name: values}),
    "labelled array": lambda values, name: xr.DataArray(values, dims="row", name=name),
}


@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize(("label", "column"), TWO, ids=str)
def test_labels_and_a_column_of_two_classes_are_refused(label: str, column: str, holder: str) -> None:
    make = HOLDERS[holder]
    if not is_negation(column, label):
        refused(r"y_true = \[0, 1\], named .* to know of which of them y_proba is, a column named", make(EVENT, label), make(1 - SCORE, column))
    with pytest.raises(ValueError, match=r"^y_(true|proba) = "):
        risk(make(EVENT, column), make(1 - SCORE, label))
    with pytest.raises(ValueError, match=r"^y_(true|proba) = "):
        CalibrationSketch(2, bandwidth=0.1).update(make(EVENT, label), make(1 - SCORE, column))
    check(EVENT, make(SCORE, column), pos_label=1)
    check(make(EVENT, label), SCORE)
    if not is_negation("x", label) and label != "-":
        check(make(EVENT, label), make(SCORE, label))


def test_columns_of_dummies_of_two_classes_are_refused() -> None:
    animals = pd.Series(np.where(EVENT == 1, "dog", "cat"))
    for prefix in ("animal", "p_animal", "which animal"):
        marks = pd.get_dummies(animals, prefix=prefix)
        proba = pd.DataFrame(P, columns=marks.columns)
        refused("y_true = ", marks.iloc[:, 1], proba.iloc[:, 0])
        refused("y_true = ", marks.iloc[:, 0], proba.iloc[:, 1])
        check(marks.iloc[:, 1], proba.iloc[:, 1])
        check(marks.iloc[:, 0], proba.iloc[:, 0])


#: Names of labels and of a column that may well be of one class.
ONE = [
    ("income>50K", "p_>50K"),
    (">50K", "income_gt_50K"),
    ("over_50k", "p(>50K)"),
    ("rating>=4", "rating≥4"),
    ("rain", "P(rain>1mm)"),
    ("event", "P(T<=5)"),
    ("customer_churn", "churn_tabnet"),
    ("churn", "tabnet_churn"),
    ("fraud_actual", "fraud_tabnet"),
    ("fraud_label", "fraud_score"),
    ("outcome_2020", "risk_2021"),
    ("readmitted_30d", "readmitted_p30"),
    ("sex_Female", "p_Female"),
    ("home_win", "p_home"),
    ("home_team_won", "home_win_prob"),
    ("price_up", "p_price_up"),
    ("stage_II", "p_stage_II"),
    ("malignant", "p_M"),
    ("malignant", "M"),
    ("ER+", "p_ER"),
    ("gt", "pred"),
    ("gt_1", "p_1"),
    ("right", "p"),
    ("is_right", "confidence"),
    ("correct", "p_right"),
    ("correct", "confidence"),
    ("correct", "p_hit"),
    ("is_error", "p_error"),
    ("event", "hazard"),
    ("outcome", "p_error"),
    ("<unk>", "p_<unk>"),
    ("a->b", "p_a->b"),
    ("class_1", "p_1"),
    ("label", "p_m"),
    ("fraud", "yhat"),
    ("fraudulent", "model_a"),
    ("y", "g"),
    ("y", "x"),
    # As tables without a header, and polars, number their columns.
    (1, 2),
    ("V1", "V2"),
    ("column_1", "column_2"),
    ("f1", "f2"),
    ("fold_1", "fold_2"),
    ("churn", "before"),
    ("churn", "champion"),
    # No class is counted by what these count.
    ("fold_1", "fold_0"),
    ("churn", "model_0"),
    ("y", "v0"),
]


@pytest.mark.parametrize(("label", "column"), ONE, ids=str)
def test_labels_and_a_column_of_one_class_are_read(label: Any, column: Any) -> None:
    check(pd.Series(EVENT, name=label), pd.Series(SCORE, name=column))


def test_signs_are_words_of_names() -> None:
    assert tokens("income ≤ 50K") == tokens("income=<50K") == tokens("income_lte_50k") == ("income", "<", 50, "k")
    assert tokens("more than 3") == (">", 3) == tokens("Over3")
    # Words that no number follows compare nothing, and arrows neither.
    assert tokens("left over") == ("left", "over")
    assert tokens("a->b <- c") == ("a", "b", "c")
    assert tokens("p(-)") == ("p", "-") == tokens("p −")
    assert tokens("p(y=−1)") == ("p", "y", -1)
    assert tokens("x - y") == ("x", "y")
    assert is_negation("p(+)", "p(-)")
    assert not is_negation("p(-)", "p(+)")


# ---------------------------------------------------------------- labels 0 and 1 beside two columns

#: The name of labels, the column that it is of, and the other one.
BEARERS = [
    ("income>50K", ">50K", "<=50K"),
    ("is_over_50K", "p >50K", "p <=50K"),
    ("is_ER+", "ER+", "ER-"),
    ("female", "F", "M"),
    ("sex_Female", "p_F", "p_M"),
    ("malignant", "M", "B"),
    ("benign", "B", "M"),
    ("win", "W", "L"),
    ("home_win", "H", "A"),
    ("malignant", "mal", "ben"),
    ("fraud", "F", "L"),
]


@pytest.mark.parametrize(("label", "column", "other"), BEARERS, ids=str)
def test_labels_named_after_the_first_of_two_columns_do_not_count_them(label: str, column: str, other: str) -> None:
    for labels in (pd.Series(EVENT, name=label), pd.Series(EVENT == 1, name=label)):
        refused(f"y_true = .*named '{label.replace('+', '.')}'.*pass the column .* alone", labels, pd.DataFrame(P[:, ::-1], columns=[column, other]))
        check(labels, pd.DataFrame(P, columns=[other, column]))
    with pytest.raises(ValueError, match=r"^y_true = "):
        CalibrationSketch(2, bandwidth=0.1).update(pd.Series(EVENT, name=label), pd.DataFrame(P[:, ::-1], columns=[column, other]))


@pytest.mark.parametrize(
    ("label", "columns"),
    [
        # Letters that count, that answer, and words that name no class.
        ("attrition", ["A", "B"]),
        ("fraud", ["F", "T"]),
        ("no_show", ["N", "Y"]),
        ("nodule", ["N", "P"]),
        ("label", ["L", "W"]),
        ("actual", ["A", "Z"]),
        ("event", ["E", "S"]),
        ("nodule", ["no", "yes"]),
        ("value", ["low", "high"]),
        ("target", ["F", "M"]),
    ],
    ids=str,
)
def test_other_letters_of_columns_say_nothing_of_labels(label: str, columns: list[str]) -> None:
    check(pd.Series(EVENT, name=label), pd.DataFrame(P, columns=columns))


def test_of_three_columns_letters_are_initials_too() -> None:
    assert bearers(["H", "D", "A"], "home_win") == [0]
    assert bearers(["A", "B", "C"], "attrition") == []
    home = pd.DataFrame({"H": SCORE, "D": (1 - SCORE) / 2, "A": (1 - SCORE) / 2})
    refused("y_true = .*named 'home_win'.*pass the column 'H' alone", pd.Series(EVENT, name="home_win"), home)


# ---------------------------------------------------------------- a positive class beside a name

#: The positive class, the other one, and names of columns that are of the latter.
NEGATIVE = [
    (">50K", "<=50K", ["p(<=50K)", "proba_<=50K", "P(income ≤ 50K)", "under_50k"]),
    ("+", "-", ["p(-)", "p_-", "-"]),
    ("ER+", "ER-", ["p_ER-", "P(ER-)"]),
    ("Female", "Male", ["p_M", "M", "P(y=M)", "prob_m"]),
    ("malignant", "benign", ["p_benign", "ben"]),
    ("Yes", "No", ["p_N", "N"]),
    ("win", "loss", ["p_l", "P(L)"]),
]


@pytest.mark.parametrize(("positive", "negative", "names"), NEGATIVE, ids=str)
def test_a_column_of_the_other_class_is_not_of_the_positive_one(positive: str, negative: str, names: list[str]) -> None:
    words = np.where(EVENT == 1, positive, negative)
    for name in names:
        column = pd.Series(1 - SCORE, name=name)
        if name != "ben":
            refused("pos_label = .*, the name of y_proba", words, column, pos_label=positive)
        if name != negative and name != "ben":
            refused("y_true = the names", words, column, labels=[negative, positive])
        check(words, column, pos_label=negative)
    for own in (f"p_{positive}", f"P({positive})", positive, "score", None):
        check(words, pd.Series(SCORE, name=own), pos_label=positive)


@pytest.mark.parametrize(
    ("name", "positive", "negative"),
    [
        # Letters of models, of formulas and of subscripts.
        ("p_a", "dead", "alive"),
        ("p_B", "malignant", "benign"),
        ("g", "bad", "good"),
        ("f", "no", "fraud"),
        ("h", "spam", "ham"),
        ("p_n", "yes", "no"),
        ("m", "Female", "Male"),
        # The positive class may begin with it as well.
        ("p_m", "mild", "moderate"),
        ("p_s", "severe", "slight"),
        ("P(y=N)", "N", "not N"),
        ("p_M", "Male", "Female"),
        ("p", "+", "-"),
        ("p_ER+", "ER+", "ER-"),
    ],
)
def test_other_letters_of_a_column_do_not_contradict(name: str, positive: str, negative: str) -> None:
    assert not contradicts(name, positive, negative)


# ---------------------------------------------------------------- recalibrators and chunks


def test_a_recalibrator_is_not_applied_to_the_column_of_the_other_class() -> None:
    fitted = TemperatureScaling().fit(pd.Series(SCORE, name=">50K"), HARD)
    right = fitted.predict_proba(pd.Series(SCORE, name="p(>50K)"))
    for name in ("<=50K", "p_<=50K", "≤50K"):
        with pytest.raises(ValueError, match=r"^X = a column named"):
            fitted.predict_proba(pd.Series(1 - SCORE, name=name))
    assert np.array_equal(right, fitted.predict_proba(SCORE))


def chunks(*names: str, of_columns: bool = False) -> CalibrationSketch:
    """Add two chunks whose labels, or columns, have names."""
    sketch = CalibrationSketch(2, bandwidth=0.1, generator="brier")
    for name in names:
        if of_columns:
            sketch.update(HARD, pd.Series(SCORE, name=name))
        else:
            sketch.update(pd.Series(HARD, name=name), SCORE)
    return sketch


def check_chunks(sketch: CalibrationSketch) -> None:
    assert sketch.result().risk == pytest.approx((17 * RIGHT + 3 * 2 * 0.9**2) / 20, rel=1e-9)


@pytest.mark.parametrize("names", [(">50K", "<=50K"), ("≥5", "<5"), ("spam", "ham"), ("ER+", "ER-"), ("+", "ER-"), ("fraud", "no_fraud"), ("y", "n"), ("y", "no"), ("score", "p_no"), ("x", "1-x"), ("home_win", "away_win"), ("sex_Male", "sex_Female"), ("sex_F", "sex_M"), ("gender_f", "gender_m"), ("animal_cat", "animal_dog"), ("which animal_cat", "which animal_dog"), ("species_setosa", "species_virginica")])
def test_labels_of_two_classes_in_chunks_are_refused(names: tuple[str, str]) -> None:
    for first, second in (names, names[::-1]):
        with pytest.raises(ValueError, match=r"^y_true = labels named"):
            chunks(first, second)
        with pytest.raises(ValueError, match=r"^other = labels named"):
            chunks(first).merge(chunks(second))
        check_chunks(chunks(first, first))


@pytest.mark.parametrize("names", [("died_may", "died_june"), ("churn_jan", "churn_feb"), ("label_1", "label_2"), ("eye_left", "eye_right"), ("win_a", "win_b"), ("y", "label"), ("fraud", "is_fraud"), ("before", "after"), ("train", "test"), ("fold_0", "fold_1"), ("v0", "v1"), ("jan", "feb"), ("pre", "post"), ("monday", "label"), ("died_F", "died_M"), ("sex_F", "is_sex_F"), ("sex_F_train", "sex_F_test"), ("p_sex_F", "sex_F")])
def test_labels_of_parts_of_the_data_are_read(names: tuple[str, str]) -> None:
    check_chunks(chunks(*names))
    check_chunks(chunks(*names[::-1]))


@pytest.mark.parametrize("names", [(">50K", "<=50K"), ("≥5", "<5"), ("p", "p̄"), ("ER+", "p(ER+) x"), ("q", "1-q")])
def test_columns_of_two_classes_in_chunks_are_refused(names: tuple[str, str]) -> None:
    with pytest.raises(ValueError, match=r"^y_proba = a column named"):
        chunks(*names, of_columns=True)
    check_chunks(chunks(names[0], names[0], of_columns=True))


def test_a_chunk_without_names_lets_no_other_class_in() -> None:
    for of_columns, first, second in ((False, "sex_F", "sex_M"), (True, "sex_F", "sex_M"), (True, "p_spam", "p_ham")):
        sketch = chunks(first, of_columns=of_columns).merge(chunks())
        sketch.update(HARD, SCORE)
        again = CalibrationSketch.from_bytes(sketch.to_bytes())
        for one in (sketch, again):
            with pytest.raises(ValueError, match=r"^y_(true|proba) = (labels|a column) named"):
                one.update(pd.Series(HARD, name=None if of_columns else second), pd.Series(SCORE, name=second if of_columns else None))
            one.update(pd.Series(HARD, name=None if of_columns else first), pd.Series(SCORE, name=first if of_columns else None))


@pytest.mark.parametrize("names", [(">50K", "p(>50K)"), ("≥5", "p_>=5"), ("p", "p̂"), ("p", "score"), ("ER+", "p_ER+")])
def test_columns_of_one_class_in_chunks_are_read(names: tuple[str, str]) -> None:
    check_chunks(chunks(*names, of_columns=True))


# ---------------------------------------------------------------- booleans that are all true

TRUE = np.ones(20, dtype=bool)


@pytest.mark.parametrize("columns", [[1, 2], ["1", "2"], ["class_1", "class_2"]])
def test_rows_that_are_all_true_are_none_of_a_class_1_beside_a_class_2(columns: list[Any]) -> None:
    """As they are not where one is false."""
    for labels in (TRUE, EVENT == 1):
        refused("y_true = the names .*: expected names of columns", labels, pd.DataFrame(P, columns=columns))
    # Numbers are.
    assert risk(TRUE.astype(int), pd.DataFrame(P, columns=columns)) == pytest.approx(np.mean(2 * SCORE**2), rel=1e-12)


@pytest.mark.parametrize("columns", [["class_0", "class_1"], ["False", "True"], ["0_v2", "1_v2"]])
def test_rows_that_are_all_true_are_of_class_1_beside_a_class_0(columns: list[Any]) -> None:
    assert risk(TRUE, pd.DataFrame(P, columns=columns)) == pytest.approx(np.mean(2 * (1 - SCORE) ** 2), rel=1e-12)
    check(EVENT == 1, pd.DataFrame(P, columns=columns))


# ---------------------------------------------------------------- the column "1" beside labels 1 and 2


@pytest.mark.parametrize("name", ["1", "1.0"])
def test_the_column_1_beside_1_and_2_may_be_the_second(name: str) -> None:
    """It is read as that of class 1, and doubted where it falls with what occurs; the integer 1, of tables, is refused."""
    labels = 1 + EVENT
    with pytest.warns(UserWarning, match=r"^y_proba is one column, '1.*', read as the probability of 1, though"):
        assert risk(labels, pd.Series(SCORE, name=name)) == pytest.approx(2 * 0.9**2, rel=1e-12)
    check(labels, pd.Series(1 - SCORE, name=name))
    refused("y_true = the labels", labels, pd.Series(SCORE, name=1))
    # Beside 0 and 1 it is said.
    assert risk(EVENT, pd.Series(1 - SCORE, name=name)) == pytest.approx(2 * 0.9**2, rel=1e-12)


# ---------------------------------------------------------------- of one class in the words of class 0


@pytest.mark.filterwarnings("ignore:no row had an outcome of predicted probability at most")
@pytest.mark.parametrize(
    ("label", "column"),
    [
        ("no_show", "no_show_prob"), ("no_show", "no_show"), ("non_compliant", "p_non_compliant"), ("nonresponse", "p_nonresponse"),
        ("negative_review", "p_negative_review"), ("is_negative", "p_negative"), ("absent", "p_absent"), ("false_alarm", "p_false_alarm"),
        ("without_helmet", "p_without_helmet"), ("is_zero", "p_zero"), ("other", "p_other"),
    ],
)
def test_labels_and_column_of_one_name_are_of_one_class_whatever_it_says(label: str, column: str) -> None:
    score = pd.Series(SCORE, name=column)
    check(pd.Series(EVENT, name=label), score)
    refused(f"y_proba = a column named '{column}': expected to know which class", EVENT, score)
    sketch = CalibrationSketch(2, generator="brier")
    for part in (slice(0, 10), slice(10, 20)):
        sketch.update(pd.Series(EVENT, name=label)[part], score[part])
    assert sketch.result().risk == pytest.approx(RIGHT, rel=1e-9)


@pytest.mark.parametrize("name", ["notified", "p_note", "notebook", "notice", "negligible_risk", "negotiated", "neglected", "notable", "nonsense"])
def test_words_that_merely_begin_as_a_negation_does_name_class_1(name: str) -> None:
    check(EVENT, pd.Series(SCORE, name=name))
    check(pd.Series(EVENT, name=name), pd.Series(SCORE, name=name))


@pytest.mark.parametrize("name", ["p_no", "nonfraud", "notfraud", "not_fraud", "no_fraud", "neg", "p_neg", "negative", "non_event", "not_event"])
def test_negations_name_class_0(name: str) -> None:
    refused(f"y_proba = a column named '{name}'", EVENT, pd.Series(SCORE, name=name))
    refused("y_proba = a column named|y_true = ", pd.Series(EVENT, name="fraud"), pd.Series(SCORE, name=name))
