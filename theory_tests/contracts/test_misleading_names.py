"""Names that say another order or class than the data have: matched by what they say, or refused.

The rows are those of the tests of names: 0.8 for the class that occurs and 0.1 for the two others, so that the Brier
score is 0.2² + 2 · 0.1² = 0.06, and with columns in another order 0.7² + 0.8² + ... = 1.46. Of two classes one has 0.9:
the score is 2 · 0.1² = 0.02, and 2 · 0.9² = 1.62 if they are confused.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import propercal
import propercal.information
from propercal import decompose
from propercal._data.classes.columns import is_shuffled
from propercal._data.words.tokens import is_negation, numberings, of_class_0, tokens

CODES = np.arange(30) % 3
LABELS = np.array(["a", "b", "c"])[CODES]
PROBA = np.eye(3)[CODES] * 0.7 + 0.1
P = pd.DataFrame(PROBA, columns=list("abc"))
MOVED = P[list("cab")]
FRAUD, SCORE = np.array([1, 0] * 10), np.array([0.9, 0.1] * 10)
F = pd.DataFrame({"fraud": SCORE, "legit": 1 - SCORE})
WORDS = np.where(FRAUD == 1, "fraud", "legit")
THREE, TWO = 0.2**2 + 2 * 0.1**2, 2 * 0.1**2


def risk(y_true: Any, y_proba: Any, **options: Any) -> float:
    return float(decompose(y_true, y_proba, generator="brier", method="risk", bandwidth=0.1, **options).risk)


def check(right: float, y_true: Any, y_proba: Any, **options: Any) -> None:
    assert risk(y_true, y_proba, **options) == pytest.approx(right, rel=1e-12)


def refused(match: str, y_true: Any, y_proba: Any, **options: Any) -> None:
    with pytest.raises(ValueError, match=f"^{match}"):
        risk(y_true, y_proba, **options)


def columns(*names: Any) -> Any:
    """Return the moved predictions under other names."""
    return MOVED.set_axis(list(names), axis=1)


# ---------------------------------------------------------------- the name of 0/1 labels

ZERO_ONE: dict[str, Callable[[Any, str], Any]] = {
    "integers": lambda y, name: pd.Series(y, name=name),
    "floats": lambda y, name: pd.Series(y.astype(float), name=name),
    "booleans": lambda y, name: pd.Series(y == 1, name=name),
    "one column": lambda y, name: pd.DataFrame({name: y}),
    "array with a name": lambda y, name: xr.DataArray(y, dims="row", name=name),
    "polars": lambda y, name: pytest.importorskip("polars").Series(name, y),
    "pyarrow": lambda y, name: pytest.importorskip("pyarrow").table({name: y}),
}


@pytest.mark.parametrize("kind", ZERO_ONE)
def test_labels_0_and_1_are_of_the_column_whose_name_they_bear(kind: str) -> None:
    make = ZERO_ONE[kind]
    check(TWO, make(FRAUD, "fraud"), F)
    check(TWO, make(FRAUD, "fraud"), F[["legit", "fraud"]])
    check(TWO, make(1 - FRAUD, "legit"), F)
    check(TWO, make(FRAUD, "fraud"), F.fraud)
    # One that is no column's says nothing: the second column is class 1.
    check(TWO, make(FRAUD, "label"), F[["legit", "fraud"]])
    # Nearly a name is not matched, but does not pass where it says another order.
    refused("y_true = .*named 'fraud'.*pass the column 'p_fraud' alone", make(FRAUD, "fraud"), F.add_prefix("p_"))
    check(TWO, make(FRAUD, "fraud"), F[["legit", "fraud"]].add_prefix("p_"))
    refused("y_true = .*named 'b'.*pass the column 'b' alone", make((LABELS == "b").astype(int), "b"), P)
    refused("y_proba = a column named 'unstable'", make(FRAUD, "stable"), F.fraud.rename("unstable"))
    refused(r"labels = \[0, 1\]: expected class 1 for the column 'fraud'", make(FRAUD, "fraud"), F, labels=[0, 1])
    check(TWO, make(FRAUD, "fraud"), F, labels=[1, 0])


def test_dummies_of_one_class_are_its_labels() -> None:
    dummies = pd.get_dummies(pd.Series(WORDS))
    for name in ("fraud", "legit"):
        check(TWO, dummies[[name]], F)
        check(TWO, dummies[name], F[["legit", "fraud"]])
    refused("y_true = .*named 0", pd.get_dummies(FRAUD)[0], F.set_axis(["p_0", "p_1"], axis=1))
    found = propercal.calibration_test(dummies["fraud"], F, generator="brier", random_state=0).components
    right = propercal.calibration_test(WORDS, F, generator="brier", random_state=0).components
    assert found["temperature"] == pytest.approx(right["temperature"], rel=1e-12)


# ---------------------------------------------------------------- indicators without names

INDICATORS = [np.eye(3)[CODES], np.eye(3, dtype=bool)[CODES], pd.get_dummies(CODES), np.eye(3)[CODES].tolist()]


@pytest.mark.parametrize("one_hot", INDICATORS)
def test_an_indicator_without_names_stands_as_numbers_do(one_hot: Any) -> None:
    for names in (["p_2", "p_0", "p_1"], ["class_2.0", "class_0.0", "class_1.0"], ["p2_m1", "p0_m1", "p1_m1"]):
        refused("y_true = an indicator matrix without names of columns: .*expected|y_true = ", one_hot, columns(*names))
        refused("y_true = the names", CODES, columns(*names))
    check(THREE, one_hot, columns(2, 0, 1))
    check(THREE, one_hot, P)
    check(THREE, one_hot, P.set_axis(["p2_m0", "p2_m1", "p2_m2"], axis=1))
    # Whether it stands in the order of `labels`, or of columns that these name, is not known.
    refused("y_true = an indicator matrix", one_hot if not isinstance(one_hot, pd.DataFrame) else one_hot.to_numpy(), MOVED, labels=list("abc"))
    check(THREE, one_hot if not isinstance(one_hot, pd.DataFrame) else one_hot.to_numpy(), P, labels=list("abc"))


@pytest.mark.parametrize("names", [("pos", "neg"), ("fraud", "not_fraud"), ("yes_prob", "no_prob"), ("prob1_v2", "prob0_v2"), ("stable", "unstable"), ("spam", "non-spam"), ("y", "n"), ("cancer", "cancer free"), ("fraud", "rest"), ("p(y)", "p(¬y)")])
def test_a_second_column_that_negates_the_first_is_not_class_1(names: tuple[str, str]) -> None:
    frame = F.set_axis(list(names), axis=1)
    for labels in (FRAUD, FRAUD == 1, np.eye(2)[FRAUD], pd.Series(FRAUD, name="label")):
        refused("y_true = ", labels, frame)
    for labels in (FRAUD, np.eye(2)[FRAUD]):
        check(TWO, labels, frame[list(names[::-1])])
    check(TWO, FRAUD, frame, labels=[1, 0])


# ---------------------------------------------------------------- one column of class 0

OF_CLASS_0 = ["no_fraud", "nonfraud", "non-fraud", "y_hat_0", "prediction_0", "probs_0", "logits_0", "0_prob", "class0_prob", "negative_prob", "conf_0", "proba0", "column_0", "p(y=0)", "p_-1", "notFraud", "1-p", "P(False)", "zero", 0, "0", "0.0", "00"]


@pytest.mark.parametrize("name", OF_CLASS_0)
def test_one_column_that_may_be_of_class_0_is_asked_for(name: Any) -> None:
    column = pd.Series(1 - SCORE, name=name)
    for given in (column, column.to_frame()):
        for labels in (FRAUD, FRAUD == 1, FRAUD * 2 - 1):
            if name == "P(False)" and labels.dtype == bool:
                continue
            refused("y_proba = a column named .*pass pos_label=0 or pos_label=1", labels, given)
        check(TWO, FRAUD, given, pos_label=0)
        if not isinstance(name, str):
            check(2 * 0.9**2, FRAUD, given, pos_label=1)


TIMES = [pd.Timestamp("2024-01-01"), pd.Timedelta(0), pd.Timedelta(-6, "h"), np.timedelta64(0, "ns"), "12:00", "2024-01-01 00:00:00"]


@pytest.mark.parametrize("name", ["p", "score", "p_1", "prob_10", "1", 1, "fraud", "y_hat", "model_2", "prob_20", "normal", "nova", "v0.5", "north", *TIMES])
def test_other_names_of_one_column_are_not_asked_for(name: Any) -> None:
    assert not of_class_0(name)
    check(TWO, FRAUD, pd.Series(SCORE, name=name))


def test_one_column_of_a_table_of_two() -> None:
    both = np.stack([1 - SCORE, SCORE], 1)
    for frame in (pd.DataFrame(both), pd.DataFrame({0: 1 - SCORE, 1: SCORE})):
        refused("y_proba = a column named 0", FRAUD, frame[0])
        check(TWO, FRAUD, frame[[1]])
        # As tables number their only column too.
        with pytest.warns(UserWarning, match="y_proba is one column numbered 0"):
            propercal.decompose(FRAUD, frame[[0]], method="risk", bandwidth=0.1)
    polars = pytest.importorskip("polars")
    refused("y_proba = a column named 'column_0'", FRAUD, polars.DataFrame(both)["column_0"])
    check(TWO, FRAUD, polars.DataFrame(both)["column_1"])


def test_one_column_named_after_the_other_of_two_labels() -> None:
    for name in ("p_fraud", "fraud.prob", "not_legit"):
        refused(r"y_true = the names \['fraud', 'legit'\]: .*pass pos_label=", WORDS, F.fraud.rename(name), labels=["fraud", "legit"])
        check(TWO, WORDS, F.fraud.rename(name), labels=["legit", "fraud"])
        check(TWO, WORDS, F.fraud.rename(name), labels=["fraud", "legit"], pos_label="fraud")
    refused(r"y_true = the labels \[0, 1\]", FRAUD, F.legit.rename("p_0"), labels=[0, 1])
    refused(r"y_true = the labels \[0, 1\]", FRAUD, F.legit.rename("not_fraud"), labels=[0, 1])
    check(TWO, FRAUD, F.legit.rename("not_fraud"), labels=[1, 0])


# ---------------------------------------------------------------- numbers in names


def test_labels_are_matched_with_the_numbers_of_columns() -> None:
    seen = CODES < 2
    for names in (["class1", "class2", "class3"], ["m2_p1", "m2_p2", "m2_p3"]):
        check(THREE, CODES[seen] + 1, P[seen].set_axis(names, axis=1))
        check(THREE, CODES + 1, P.set_axis(names, axis=1))
        refused("y_true = the names", CODES, P.set_axis(names, axis=1))
        refused("y_true = the names", CODES[seen], P[seen].set_axis(names, axis=1))
    check(THREE, CODES, P.set_axis(["x10", "x20", "x30"], axis=1))
    refused("y_true = the names", CODES[seen] + 1, P[seen].set_axis(["p1_v3", "p2_v1", "p3_v2"], axis=1))
    pair = F[["legit", "fraud"]].set_axis(["p_0", "p_1"], axis=1)
    check(TWO, FRAUD * 2 - 1, pair)
    refused("y_true = the names", 2 - FRAUD, pair)


@pytest.mark.parametrize("names", [("p_c", "p_a", "p_b"), (2, 0, 1), ("2", "0", "1"), ("p_2", "p_0", "p_1"), ("bin 3", "bin 1", "bin 2")])
def test_a_list_of_labels_that_columns_contradict_is_refused(names: tuple[Any, ...]) -> None:
    refused(r"labels = \['a', 'b', 'c'\]: expected the names of the columns", LABELS, columns(*names), labels=list("abc"))
    if not str(names[0]).startswith(("p_c", "bin")) and not isinstance(names[0], int) and names[0] != "2":
        refused(r"labels = \[0, 1, 2\]: ", CODES, columns(*names), labels=[0, 1, 2])
        check(THREE, CODES, columns(*names), labels=[2, 0, 1])
    if names[0] == "p_c":
        check(THREE, LABELS, columns(*names), labels=list("cab"))


def test_a_list_of_labels_holds_where_columns_do_not_contradict() -> None:
    check(THREE, LABELS, columns("x", "y", "z"), labels=list("cab"))
    check(THREE, LABELS, columns("x3", "x10", "x20"), labels=list("cab"))
    check(THREE, LABELS, columns("x20", "x3", "x10"), labels=list("cab"))
    check(TWO, WORDS, F[["legit", "fraud"]].set_axis(["neg", "pos"], axis=1), labels=["legit", "fraud"])
    refused(r"labels = \[0, 1\]", FRAUD, F.set_axis(["pos", "neg"], axis=1), labels=[0, 1])


@pytest.mark.parametrize("write", [str, lambda i: f"{float(i)}", lambda i: f"class {i}", lambda i: f"{i}_v2"])
def test_names_whose_numbers_do_not_ascend_have_no_order(write: Callable[[int], str]) -> None:
    codes = np.arange(22) % 11
    names = np.array([write(i) for i in range(11)])
    refused("y_true = the names .*expected to know their order", names[codes], np.eye(11)[codes])
    check(0.0, names[codes], np.eye(11)[codes], labels=list(names))
    few = codes % 9
    check(0.0, names[few], np.eye(9)[few])


@pytest.mark.parametrize("names", [("a3", "b12", "c1"), ("2023-02-01", "2024-01-01", "2024-11-01"), ("B", "a", "c"), ("x1", "x2", "x3"), ("v9 cat", "v9 dog", "v9 eel")])
def test_numbers_that_do_not_order_names_leave_them_the_alphabet(names: tuple[str, ...]) -> None:
    check(THREE, np.array(names)[CODES], PROBA)


def test_a_number_that_all_columns_have_says_nothing() -> None:
    for names in (("neg_1", "pos_1"), ("legit v1", "fraud v1"), ("m0_a", "m0_b")):
        for labels in (FRAUD, np.eye(2)[FRAUD]):
            check(TWO, labels, F[["legit", "fraud"]].set_axis(list(names), axis=1))


# ---------------------------------------------------------------- categories


@pytest.mark.parametrize("kind", [int, float])
def test_categories_that_are_numbers_have_their_order(kind: type) -> None:
    order = [kind(2), kind(0), kind(1)]
    for labels in (pd.Categorical(CODES.astype(kind), order, ordered=True), pd.Series(pd.Categorical(CODES.astype(kind), order, ordered=True))):
        check(THREE, labels, MOVED.to_numpy())
        check(THREE, labels, columns("x", "y", "z"))
        refused("y_true = the names", labels, P.set_axis(["p_0", "p_1", "p_2"], axis=1))
    refused("y_true = the names .*expected to know their order", pd.Categorical(CODES.astype(kind), order), PROBA)
    seen = CODES < 2
    for ordered in (True, False):
        check(THREE, pd.Categorical((CODES[seen] + 1).astype(kind), [kind(1), kind(2), kind(3)], ordered=ordered), PROBA[seen])
        check(THREE, pd.Categorical((CODES[seen] + 1).astype(kind), [kind(1), kind(2), kind(3)], ordered=ordered), P[seen].set_axis(["x", "y", "z"], axis=1))
    check(THREE, pd.Categorical(CODES.astype(kind)), PROBA)
    refused("y_true = the names", pd.Categorical(CODES[seen] + 1, [1, 2, 3, 4]), PROBA[seen])
    refused("y_true = the names", pd.Categorical(CODES[seen], [-1, 0, 1]), PROBA[seen])
    many = np.arange(24) % 12
    check(0.0, pd.Categorical(many), np.eye(12)[many])


def test_categories_that_are_booleans_have_their_order() -> None:
    both = np.stack([SCORE, 1 - SCORE], 1)
    check(TWO, pd.Categorical(FRAUD == 1, [True, False], ordered=True), both)
    check(TWO, pd.Categorical(FRAUD == 1), both[:, ::-1])
    refused("y_true = the names .*expected to know their order", pd.Categorical(FRAUD == 1, [True, False]), both)


@pytest.mark.parametrize("kind", [str, int])
def test_dictionaries_of_pyarrow_have_their_order(kind: type) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    names = ["b", "c", "a"] if kind is str else [1, 2, 0]
    moved = P[list("bca")].to_numpy()
    codes = np.array([2, 0, 1])[CODES]
    ordered = pyarrow.DictionaryArray.from_arrays(pyarrow.array(codes), pyarrow.array(names), ordered=True)
    series = pd.Series(pd.arrays.ArrowExtensionArray(pyarrow.chunked_array([ordered])))
    for labels in (ordered, pyarrow.chunked_array([ordered[:7], ordered[7:]]), pyarrow.table({"y": ordered}), series):
        check(THREE, labels, moved)
        check(THREE, labels, P if kind is str else PROBA[:, [1, 2, 0]])
    other = pyarrow.DictionaryArray.from_arrays(pyarrow.array(codes), pyarrow.array(names[::-1]), ordered=True)
    refused("y_true = chunks whose dictionaries", pyarrow.chunked_array([ordered[:7], other[7:]]), moved)
    # Without an order they may stand as they came up, which says nothing; these do not.
    plain = pyarrow.DictionaryArray.from_arrays(pyarrow.array(codes), pyarrow.array(names))
    refused("y_true = the names .*expected to know their order", plain, PROBA)
    check(THREE, plain[1:], PROBA[1:])


# ---------------------------------------------------------------- lists of rows with names


def of_sqlite(frame: Any) -> list[Any]:
    base = sqlite3.connect(":memory:")
    base.row_factory = sqlite3.Row
    frame.to_sql("t", base, index=False)
    return base.execute("select * from t").fetchall()


def rows(frame: Any) -> dict[str, list[Any]]:
    array = xr.DataArray(frame.to_numpy(), dims=("row", "class"), coords={"class": list(frame.columns)})
    return {
        "named tuples": list(frame.itertuples(index=False)),
        "series": [row for _, row in frame.iterrows()],
        "rows of a database": of_sqlite(frame),
        "labelled arrays": list(array),
        "coordinates without an index": list(array.drop_vars("class").assign_coords(name=("class", list(frame.columns)))),
    }


@pytest.mark.parametrize("kind", rows(P))
def test_rows_that_name_their_values_are_matched_by_name(kind: str) -> None:
    check(THREE, LABELS, rows(P)[kind])
    check(THREE, LABELS, rows(MOVED)[kind])
    check(THREE, LABELS, tuple(rows(MOVED)[kind]))
    check(THREE, rows(pd.get_dummies(LABELS)[list("bca")].astype(int))[kind], rows(MOVED)[kind])
    mixed = rows(P)[kind][:15] + rows(MOVED)[kind][15:]
    refused(r"y_proba = rows of \['a', 'b', 'c'\] at row 0, \['c', 'a', 'b'\] at row 15: expected the same names", LABELS, mixed)
    refused("y_proba = rows of .*without names", LABELS, [*rows(P)[kind][:29], [0.1, 0.1, 0.8]])


def test_rows_that_lost_their_names_are_refused() -> None:
    for frame, index in ((MOVED, True), (columns(2, 0, 1), False), (columns("p a", "p b", "p c"), False)):
        refused("y_proba = named tuples of .*pass the table", LABELS, list(frame.itertuples(index=index)))
    refused("y_proba = a column of rows with names", LABELS, pd.Series(list(MOVED.itertuples(index=False))))


def test_rows_that_are_series_are_aligned() -> None:
    order = np.random.default_rng(0).permutation(30)
    ids = [f"r{i}" for i in range(30)]
    shuffled = [row for _, row in MOVED.set_axis(ids).iloc[order].iterrows()]
    check(THREE, pd.Series(LABELS, ids), shuffled)
    check(THREE, LABELS[order], shuffled)
    check(THREE, pd.Series(LABELS), [row for _, row in MOVED.iterrows()])
    refused("y_true = rows of the index", pd.Series(LABELS), [row for _, row in MOVED.iloc[order].iterrows()])


# ---------------------------------------------------------------- what names say


def test_tokens() -> None:
    assert tokens("p_2.0") == ("p", 2) == tokens("P2") == tokens("p(2)")
    assert tokens("notFraud") == ("not", "fraud")
    assert tokens("p_-1") == ("p", -1)
    assert tokens("a-1") == ("a", 1)
    assert tokens(np.float64(3)) == (3,)
    assert numberings(["p2_m1", "p0_m1"]) == [(2, 0)]
    assert numberings(["a", "b"]) == [] == numberings(["p_1", "p_1"])
    assert numberings(["cat 1", "dog", "v2 eel 3"]) == [(1, None, 2), (1, None, 3)]
    assert is_shuffled(["p2_m1", "p0_m1"])
    assert is_shuffled(["p_2.0", "p_0.0"])
    assert not is_shuffled(["p1_m9", "p2_m9"])
    assert not is_negation("p_neg", "p_pos")
    assert not is_negation("no disease", "disease")
    assert not is_negation("M", "F")


# ---------------------------------------------------------------- what is no data, nor a name


@pytest.mark.parametrize("odd", [pd.Series([1, 2]), np.array([1, 2]), [1, 2], {"a": 1}, pd.DataFrame([1])])
@pytest.mark.parametrize("argument", ["pos_label", "link", "ignore_index"])
def test_one_value_is_one(argument: str, odd: Any) -> None:
    refused(f"{argument} = a {type(odd).__name__}: expected ", FRAUD, SCORE, **{argument: odd})


def test_missing_labels_are_ignored_by_their_value() -> None:
    kept = CODES > 0
    missing = pd.Series(CODES, dtype="Int64").mask(CODES == 0)
    for labels, value in ((missing, pd.NA), (missing, np.nan), (np.where(kept, CODES, np.nan), np.nan), (pd.Series(LABELS).where(kept), np.nan)):
        options = {"labels": list("abc")} if labels.dtype.kind not in "iuf" else {}
        check(THREE, labels, PROBA, ignore_index=value, **options)
    refused("pos_label = <NA>: expected the name of a class", FRAUD, SCORE, pos_label=pd.NA)
    refused("y_true = ", missing, PROBA, ignore_index=-100)


def test_what_is_no_data_is_refused_in_words() -> None:
    refused("y_proba = .*None at row 0", CODES, np.array(None))
    refused("labels = 1.0: expected a list of 3 different names", CODES, PROBA, labels=np.array(1.0))
    refused("labels = .*expected a list of 3 different names", CODES, PROBA, labels=[{}, {}, {}])
    refused("y_proba = a type: expected an array", CODES, int)
    refused("y_proba = a type: expected an array", CODES, pd.Series)
    refused("y_true = a type: expected an array", xr.DataArray, PROBA)
    refused("y_true = a mix of strings and numbers", [1, "a"] * 15, PROBA)
    refused("y_true = a dict at row 0", [{"a": 1}] * 30, PROBA)
    with pytest.raises(ValueError, match=r"^y_true = a dict at row 0"):
        propercal.information.layer_sharpness([P], [{"a": 1}] * 30)


@pytest.mark.filterwarnings("ignore:.*(quantize|nested)")
def test_what_other_libraries_cannot_convert_is_refused_in_words() -> None:
    pyarrow, dask, torch = (pytest.importorskip(name) for name in ("pyarrow", "dask", "torch"))
    union = pyarrow.UnionArray.from_sparse(pyarrow.array([0] * 30, pyarrow.int8()), [pyarrow.array(CODES)])
    refused("y_true = values of type ", union, PROBA)
    with pytest.raises(ValueError, match=r"^y_proba = a Delayed"):
        propercal.conditional_mean(CODES, dask.delayed(PROBA), bandwidth=0.1)
    p = torch.tensor(PROBA, dtype=torch.float32)
    refused("y_proba = a nested or quantised tensor", CODES, torch.quantize_per_tensor(p, 0.1, 0, torch.quint8))
    for layout in (torch.strided, torch.jagged):
        refused("y_proba = a ", CODES, torch.nested.nested_tensor(list(p), layout=layout))
