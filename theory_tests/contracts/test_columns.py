"""Columns in one order first and in another later: matched by their names, or refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import propercal
from propercal import CalibrationSketch
from propercal.cli.files import read_predictions
from propercal.recalibration import ClasswiseIsotonic, TemperatureScaling
from theory_tests.instances import unrelated

#: Recalibrators say so where columns are not sorted.
pytestmark = pytest.mark.filterwarnings("ignore:X has columns of the classes")

Y, P = unrelated(200)
NAMES: dict[str, list[Any]] = {
    "default": [0, 1, 2],
    "numbers": [2, 1, 0],
    "digits": ["2", "1", "0"],
    "numbered": ["x2", "x1", "x0"],
    "letters": ["c", "a", "b"],
}
#: Which class each column is of.
PLACE: dict[str, list[int]] = {**{kind: [2, 1, 0] for kind in ("numbers", "digits", "numbered")}, "default": [0, 1, 2], "letters": [2, 0, 1]}


def table(kind: str) -> Any:
    """Return the predictions as an array, or in columns of these names."""
    return P if kind == "array" else pd.DataFrame(P[:, PLACE[kind]], columns=NAMES[kind])


def labels(*kinds: str) -> Any:
    """Return labels by the names of the columns."""
    if "letters" in kinds:
        return np.array(["a", "b", "c"])[Y]
    return np.array(["x0", "x1", "x2"])[Y] if "numbered" in kinds else Y


KINDS = ["array", *NAMES]
PAIRED: dict[str, Any] = {"generator": "brier", "kernel": None}
RIGHT = propercal.decompose(Y, P, notion="classwise", method="risk", bandwidth=0.1).risk




def tried(function: Callable[[], Any], *starts: str) -> Any:
    """Return what a function does, or None where it refuses what its error begins with."""
    try:
        return function()
    except ValueError as error:
        said = str(error)
    assert said.startswith(starts)
    return None


def sketch_of(*chunks: tuple[Any, Any]) -> CalibrationSketch:
    sketch = CalibrationSketch(3, bandwidth=0.1)
    for y_true, y_proba in chunks:
        sketch.update(y_true, y_proba)
    return sketch


@pytest.mark.parametrize("second", KINDS)
@pytest.mark.parametrize("first", KINDS)
def test_chunks_of_a_sketch_are_right_or_refused(first: str, second: str) -> None:
    y_true = labels(first, second)
    chunks = (y_true[:100], table(first)[:100]), (y_true[100:], table(second)[100:])
    streamed = tried(lambda: sketch_of(*chunks), "y_true = ", "y_proba = ")
    merged = tried(lambda: sketch_of(chunks[0]).merge(sketch_of(chunks[1])), "y_true = ", "y_proba = ", "other = ")
    assert streamed is not None or first != second or first == "numbered"
    for found in (streamed, merged):
        if found is not None:
            assert found.result(method="risk").risk == pytest.approx(RIGHT, rel=1e-12)


@pytest.mark.parametrize("second", KINDS)
@pytest.mark.parametrize("first", KINDS)
@pytest.mark.parametrize("kind", [ClasswiseIsotonic, TemperatureScaling])
def test_what_a_recalibrator_is_applied_to_is_right_or_refused(kind: Any, first: str, second: str) -> None:
    pytest.importorskip("sklearn")
    if "letters" in (first, second) and {first, second} & {"array", "default"}:
        pytest.skip("of two sides of which one has names, columns stand as they are")
    fitted = kind()
    found = tried(lambda: fitted.fit(table(first), labels(first)).predict_proba(table(second)), "y = ", "X = ")
    assert found is not None or first != second or first == "numbered"
    if found is not None:
        place = [str(name).removeprefix("x").translate(str.maketrans("abc", "012")) for name in fitted.classes_]
        wanted = kind().fit(P, Y).predict_proba(P)
        np.testing.assert_allclose(np.asarray(found)[:, np.argsort(place)], wanted, rtol=1e-12)


@pytest.mark.parametrize("second", KINDS)
@pytest.mark.parametrize("first", KINDS)
def test_two_models_are_paired_rightly_or_refused(first: str, second: str) -> None:
    y_true, pair = labels(first, second), (table(first), table(second))
    found = tried(lambda: propercal.paired_difference(y_true, *pair, generator="brier"), "y_true = ", "y_proba")
    same = {first, second} in ({"numbers", "digits"}, {"array", "default"}) or first == second != "numbered"
    assert found is not None or not same
    if found is not None:
        assert found.difference == pytest.approx(0, abs=1e-12)


FILES = [
    ("1,2,3", ["1.0", "2.0", "1.0"]),
    ("1,2,3", ["1", "2", "3"]),
    ("1,2,3", ["0", "1", "2"]),
    ("2,1,0", ["0.0", "1.0", "2.0"]),
    ("2,1,0", ["0", "1", "2"]),
    ("1,0", ["True", "False", "True"]),
    ("1,0", ["0", "1", "1"]),
    ("p2,p1,p0", ["0", "1", "2"]),
    ("p0,p1,p2", ["0", "1", "2"]),
    ("yes,no", ["0", "1", "1"]),
    ("no,yes", ["0", "1", "1"]),
    ("positive,negative", ["0", "1", "0"]),
    ("a,b,c", ["0.0", "2.0", "1.0"]),
    ("a,b,c", ["c", "a", "a"]),
    ("a,b,c", ["c", "a", "d"]),
    ("01,NA,None", ["01", "None", "NA"]),
    ("p0", ["0", "1", "1"]),
    ("0", ["0", "1", "1"]),
    ("no", ["0", "1", "1"]),
    ("p", ["0", "1", "1"]),
    ("p", ["-1", "1", "1"]),
    ("fraud", ["fraud", "legit", "legit"]),
    ("p", ["fraud", "legit", "legit"]),
]


@pytest.mark.parametrize(("header", "written"), FILES)
def test_a_file_means_what_the_same_table_does(tmp_path: Path, header: str, written: list[str]) -> None:
    columns = header.split(",")
    values = np.random.default_rng(0).dirichlet(np.ones(max(2, len(columns))), 3).round(4)[:, : len(columns)]
    values[:, -1] = 1 - values[:, :-1].sum(axis=1) if len(columns) > 1 else values[:, 0]
    frame = pd.DataFrame(values, columns=columns)
    path = tmp_path / "p.csv"
    frame.assign(label=written).to_csv(path, index=False)
    try:
        text = np.array([float(each) for each in written])
        plain = text.astype(int)
    except ValueError:
        plain = np.array(written)
    if set(written) <= {"True", "False"}:
        plain = np.array([each == "True" for each in written])
    kw: dict[str, Any] = {"notion": "classwise", "generator": "brier", "method": "risk", "bandwidth": 0.1}
    wanted = tried(lambda: propercal.decompose(plain, frame if len(columns) > 1 else frame[columns[0]], **kw), "y_")

    def from_file() -> Any:
        found = read_predictions(path)
        return propercal.decompose(found.y_true, found.y_proba, **kw)

    found = tried(from_file, f"{path}: ")
    assert (found is None) == (wanted is None)
    if found is not None:
        assert found.risk == pytest.approx(wanted.risk, rel=1e-12)


def test_the_label_of_a_single_column_is_said(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("p,label\n.2,legit\n.7,fraud\n", encoding="utf-8")
    np.testing.assert_array_equal(read_predictions(path, pos_label="fraud").y_true, [0, 1])
    np.testing.assert_array_equal(read_predictions(path, pos_label="legit").y_true, [1, 0])
    with pytest.raises(ValueError, match="--pos-label"):
        read_predictions(path)


# ---------------------------------------------------------------- one column of a recalibrator

HIT = np.arange(40) % 2
WORDS = np.where(HIT == 1, "fraud", "legit")
SCORE = np.where(HIT == 1, 0.9, 0.1)
#: Names of a column that a recalibrator is fitted to, and of columns of the same class, and not; settings.
ONE: dict[str, tuple[Any, list[Any], list[Any], dict[str, Any]]] = {
    "words": ("fraud", ["p_fraud", "fraud", "fraud_prob", "fraud_test", None], ["legit", "p_legit", "not_fraud", "score", "p_0", 0], {}),
    "uses": ("prob", ["p", "score", "p_1", 1, "p_train", None], ["legit", "p_0", "negative", "model_2"], {}),
    "numbers": ("model_1", ["p_model_1", None], ["model_2", "model_0", "fraud"], {}),
    "the positive label": ("fraud", ["p_fraud", "score", "p", None], ["legit", "not_fraud", "p_0", "neg", 0, "p_legit"], {"pos_label": "fraud"}),
    "the other label": ("legit", ["p_legit", "score", None], ["p_fraud", "p_1", "fraud", "not_legit"], {"pos_label": "legit"}),
}


@pytest.mark.parametrize("case", ONE)
@pytest.mark.parametrize("kind", [ClasswiseIsotonic, TemperatureScaling])
def test_one_column_is_that_of_fit_or_refused(kind: Any, case: str) -> None:
    pytest.importorskip("sklearn")
    name, same, others, settings = ONE[case]
    own = 1 - SCORE if settings.get("pos_label") == "legit" else SCORE
    noisy = np.where(np.arange(40) < 2, 1 - HIT, HIT)
    y = np.where(noisy == 1, "fraud", "legit") if settings else noisy
    fitted = kind(**settings).fit(pd.Series(own, name=name), y)
    right = fitted.predict_proba(own)
    for new in same:
        np.testing.assert_array_equal(fitted.predict_proba(pd.Series(own, name=new)), right)
        if new is not None:
            np.testing.assert_array_equal(fitted.predict_proba(pd.DataFrame({new: own})), right)
    for new in others:
        with pytest.raises(ValueError, match=r"^X = a column named .*pass the column it was fitted to, or that without its name"):
            fitted.predict_proba(pd.Series(1 - own, name=new))


@pytest.mark.parametrize(("name", "settings"), [("p_0", {}), ("negative", {}), ("p_legit", {"pos_label": "fraud"}), ("no_fraud", {"pos_label": "fraud"})])
def test_a_column_without_a_name_is_then_not_of_the_other_class(name: str, settings: dict[str, Any]) -> None:
    y = np.where(np.arange(40) < 2, 1 - HIT, HIT)
    fitted = TemperatureScaling(**settings).fit(SCORE, np.where(y, "fraud", "legit") if settings else y)
    with pytest.raises(ValueError, match=r"^X = a column named '\w+': expected the probability of .*, as in fit"):
        fitted.predict_proba(pd.Series(1 - SCORE, name=name))


def test_numbers_that_a_caller_gives_columns_are_names() -> None:
    pytest.importorskip("sklearn")
    two = pd.DataFrame({"fraud": SCORE, "legit": 1 - SCORE})
    fitted = ClasswiseIsotonic(smoothed=True).fit(two, WORDS)
    with pytest.raises(ValueError, match=r"^X = columns \[0, 1\]: expected \['fraud', 'legit'\], in the order of fit"):
        fitted.predict_proba(two[["legit", "fraud"]].set_axis([0, 1], axis=1))
    np.testing.assert_array_equal(fitted.predict_proba(pd.DataFrame(two.to_numpy())), fitted.predict_proba(two))


def test_what_was_fitted_stays_as_it_is_until_the_next_fit() -> None:
    pytest.importorskip("sklearn")
    fitted = ClasswiseIsotonic(smoothed=True).fit(P, Y)
    right = fitted.predict_proba(P)
    np.testing.assert_array_equal(fitted.set_params(from_logits=True).predict_proba(P), right)
    one = ClasswiseIsotonic(smoothed=True, pos_label="fraud").fit(pd.Series(SCORE, name="p_fraud"), WORDS)
    right = one.predict_proba(SCORE)
    one.set_params(pos_label="legit")
    np.testing.assert_array_equal(one.predict_proba(pd.Series(SCORE, name="fraud_test")), right)


@pytest.mark.parametrize("labels", [WORDS, HIT], ids=["words", "numbers"])
def test_a_column_that_was_selected_is_that_of_fit_or_refused(labels: Any) -> None:
    pytest.importorskip("sklearn")
    xr = pytest.importorskip("xarray")
    both = xr.DataArray(np.stack([SCORE, 1 - SCORE], 1), dims=("s", "k"), coords={"k": ["fraud", "legit"] if labels is WORDS else [1, 0]})
    named = both.assign_coords(k=["fraud", "legit"])
    for array, one, other in ((both, *both.k.to_numpy()), (named, "fraud", "legit")):
        fitted = ClasswiseIsotonic(smoothed=True).fit(array.sel(k=one), labels)
        right = fitted.predict_proba(SCORE)
        for given in (array.sel(k=one), array.sel(k=one).assign_coords(fold=0.5, day=7), array.sel(k=one).drop_vars("k")):
            np.testing.assert_array_equal(fitted.predict_proba(given), right)
        for given in (array.sel(k=other), array.sel(k=other).assign_coords(fold=0.5)):
            with pytest.raises(ValueError, match=r"^X = (a column named|an array selected by 'k' = 'legit': expected 'fraud', as in fit)"):
                fitted.predict_proba(given)
    # The first column of a table that numbers its own is not the second.
    frame = pd.DataFrame(np.stack([1 - SCORE, SCORE], 1))
    fitted = ClasswiseIsotonic(smoothed=True).fit(frame[1], HIT)
    for given in (frame[0], frame[[0]]):
        with pytest.raises(ValueError, match=r"^X = a column named 0: expected the probability of 1, named 1 in fit"):
            fitted.predict_proba(given)
    np.testing.assert_array_equal(fitted.predict_proba(frame[[1]]), fitted.predict_proba(SCORE))
    series = pd.Series(SCORE, name="fraud")
    for first, other in ((series, named.sel(k="legit")), (named.sel(k="fraud"), (1 - series).rename("legit"))):
        fitted = ClasswiseIsotonic(smoothed=True).fit(first, HIT)
        np.testing.assert_array_equal(fitted.predict_proba(series), fitted.predict_proba(named.sel(k="fraud")))
        with pytest.raises(ValueError, match=r"^X = a column named 'legit'"):
            fitted.predict_proba(other)
    halves = named.sel(k="fraud").expand_dims(split=["cal", "test"])
    fitted = ClasswiseIsotonic(smoothed=True).fit(halves.sel(split="cal"), labels)
    np.testing.assert_array_equal(fitted.predict_proba(halves.sel(split="test")), fitted.predict_proba(SCORE))
    with pytest.raises(ValueError, match=r"^X = coordinates 'k' = .*\.drop_vars|^X = a column|^X = an array selected"):
        fitted.predict_proba(named.sel(k="legit").assign_coords(c=0))


# ---------------------------------------------------------------- labels that count columns

MARKS = np.eye(3)[Y]
ABC = pd.DataFrame(P, columns=list("abc"))
OTHER = pd.DataFrame(P[::-1], columns=list("abc"))


@pytest.mark.parametrize("labels", [Y, MARKS, Y.tolist(), pd.Series(Y, name="label")], ids=["numbers", "one-hot", "list", "series"])
def test_labels_that_count_columns_do_so_in_one_order(labels: Any) -> None:
    settings: dict[str, Any] = {"generator": "brier", "kernel": None}
    for first, second in ((ABC, OTHER[list("cab")]), (ABC[list("cab")], OTHER)):
        with pytest.raises(ValueError, match=r"^y_proba_b = columns .*: expected the order of y_proba_a, .* y_true names none of them, but counts columns; bring the columns of both"):
            propercal.paired_difference(labels, first, second, **settings)
    found = propercal.paired_difference(labels, ABC, OTHER, **settings)
    assert found.difference == pytest.approx(propercal.paired_difference(labels, P, P[::-1], **settings).difference, rel=1e-12)
    # What names columns, or names their class, is right in any order.
    words = np.array(list("abc"))[Y]
    for named in (words, pd.get_dummies(words)):
        assert propercal.paired_difference(named, ABC, OTHER[list("cab")], **settings).difference == pytest.approx(found.difference, rel=1e-12)


def test_numbers_in_chunks_count_columns_in_one_order() -> None:
    for first in (Y, MARKS[:, [2, 0, 1]]):
        sketch = sketch_of((first[:100], ABC[list("cab")][:100]))
        with pytest.raises(ValueError, match=r"^y_proba = columns \['a', 'b', 'c'\]: expected the order of rows before, .* names none of them, but counts columns"):
            sketch.update(Y[100:], ABC[100:])
    words = np.array(list("abc"))[Y]
    for labels in (words, pd.get_dummies(words)):
        chunks = (MARKS[:100][:, [2, 0, 1]], ABC[list("cab")][:100]), (labels[100:], ABC[100:])
        assert sketch_of(*chunks).result(method="risk").risk == pytest.approx(RIGHT, rel=1e-12)
    pair = pd.DataFrame({"fraud": SCORE, "legit": 1 - SCORE})
    cases: list[tuple[Any, bool]] = [(pd.Series(HIT, name="fraud"), True), (HIT == 1, False), (WORDS, True)]
    for labels, read in cases:
        two = CalibrationSketch(2, bandwidth=0.1, generator="brier")
        two.update(labels, pair[["legit", "fraud"]])
        if read:
            two.update(labels, pair)
            assert two.result(method="risk").risk == pytest.approx(0.02, rel=1e-12)
        else:
            with pytest.raises(ValueError, match=r"^y_proba = columns \['fraud', 'legit'\]: expected the order of rows before"):
                two.update(labels, pair)


def test_named_one_hots_beside_columns_without_names_stand_in_the_order_before() -> None:
    words = np.array(list("abc"))[Y]
    for first in ((pd.Categorical(words[:100], list("bca"), ordered=True), P[:100][:, [1, 2, 0]]), (words[:100], ABC[list("bca")][:100])):
        sketch = sketch_of(first)
        with pytest.raises(ValueError, match=r"^y_proba = columns without names: expected those of \['b', 'c', 'a'\]"):
            sketch.update(pd.get_dummies(words)[100:], P[100:])
    numbers = sketch_of((Y[:100], P[:100]))
    with pytest.raises(ValueError, match=r"^y_proba = columns without names: expected those of \[0, 1, 2\]"):
        numbers.update(pd.Categorical(Y[100:], [2, 0, 1], ordered=True), P[100:][:, [2, 0, 1]])
    numbers.update(pd.Categorical(Y[100:]), P[100:])
    assert numbers.result(method="risk").risk == pytest.approx(RIGHT, rel=1e-12)
    numbers = sketch_of((Y[:100], P[:100]), (pd.get_dummies(Y)[[2, 0, 1]][100:], P[100:]))
    assert numbers.result(method="risk").risk == pytest.approx(RIGHT, rel=1e-12)
    two = CalibrationSketch(2, bandwidth=0.1)
    two.update(WORDS, pd.Series(SCORE, name="fraud"))
    with pytest.raises(ValueError, match=r"^y_proba = columns without names: expected those of \['legit', 'fraud'\]"):
        two.update(pd.get_dummies(WORDS), np.stack([SCORE, 1 - SCORE], 1))


@pytest.mark.parametrize("labels", [Y, np.eye(3)[Y], np.eye(3)[Y].astype(bool)], ids=["numbers", "one-hot", "booleans"])
def test_words_in_no_alphabetical_order_stand_beside_no_columns_without_names(labels: Any) -> None:
    named, settings = pd.DataFrame(P, columns=list("cab")), PAIRED
    message = r"^y_proba_b = columns (\['c', 'a', 'b'\]: expected those of y_proba_a, columns without names|without names: expected those of y_proba_a, \['c', 'a', 'b'\]); name the columns of both alike"
    pairs: list[tuple[Any, Any]] = [(P, named), (named, P)]
    for first, second in pairs:
        with pytest.raises(ValueError, match=message):
            propercal.paired_difference(labels, first, second, **settings)
        chunks = (labels[:100], first[:100]), (labels[100:], second[100:])
        with pytest.raises(ValueError, match=r"^y_proba = columns (\[|without names)"):
            sketch_of(*chunks)
        with pytest.raises(ValueError, match=r"^other = a sketch of columns "):
            sketch_of(chunks[0]).merge(sketch_of(chunks[1]))
    # In alphabetical order, or numbered, columns are as those without names are read.
    for names in (["a", "b", "c"], ["p_0", "p_1", "p_2"]):
        table = pd.DataFrame(P, columns=names)
        assert propercal.paired_difference(labels, P, table, **settings).difference == pytest.approx(0, abs=1e-12)
        assert sketch_of((labels[:100], P[:100]), (labels[100:], table[100:])).result(method="risk").risk == pytest.approx(RIGHT, rel=1e-12)


def test_a_column_of_zeros_that_no_label_is_of_is_told() -> None:
    """Three classes and a flag: class-wise numbers are 3/4 of those of three."""
    names = np.array(["cat", "dog", "emu"])
    rng = np.random.default_rng(0)
    proba = rng.dirichlet(np.ones(3), 60)
    y = names[[rng.choice(3, p=each) for each in proba]]
    options: dict[str, Any] = {"generator": "brier", "notion": "classwise", "method": "risk", "bandwidth": 0.1}
    table = pd.DataFrame(proba, columns=names)
    right = propercal.decompose(y, table, **options).risk
    flagged = table.assign(is_test=0)
    with pytest.warns(UserWarning, match=r"columns \['is_test'\], taken for classes, though no row has such a label .*all of their probabilities are 0"):
        assert propercal.decompose(y, flagged, **options).risk == pytest.approx(0.75 * right)
    # A class that is listed, that occurs, or that has some probability is one.
    listed = pd.Categorical(y, categories=[*names, "is_test"])
    assert propercal.decompose(pd.Series(listed), flagged, **options).risk == pytest.approx(0.75 * right)
    propercal.decompose(y, flagged, labels=[*names, "is_test"], **options)
    propercal.decompose(y, table.assign(is_test=1e-9), **options)
    propercal.decompose(np.arange(60) % 3, np.c_[proba, np.zeros(60)], **options)


BESIDE: dict[str, tuple[Any, str]] = {
    "id": (range(200), r"2\.0 at rows 2, .* in the column 'more'.*; leave it out if it is of no class"),
    "text": ("north", r"'north' at row 0 in the column 'more'.*; leave it out if it is of no class"),
    "confidence": (P.max(axis=1), r"rows that sum to .*, and to 1 without the column 'more'.*; pass the columns of classes alone\.$"),
    "loss": (-np.log(P[:, 0]) / 100, r"rows that sum to .*, and to 1 without the column 'more'.*; pass the columns of classes alone\.$"),
    "right": (P.argmax(axis=1) == Y, r"rows that sum to .*, and to 1 without the column 'more'.*; pass the columns of classes alone\.$"),
}


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("kind", BESIDE)
def test_a_column_of_something_else_is_named(kind: str, library: str) -> None:
    values, message = BESIDE[kind]
    found = pd.DataFrame(P, columns=list("abc")).assign(more=values)
    given: Any = found
    if library == "polars":
        given = pytest.importorskip("polars", reason="needs polars").from_pandas(found)
    elif library == "pyarrow":
        given = pytest.importorskip("pyarrow", reason="needs pyarrow").Table.from_pandas(found)
    with pytest.raises(ValueError, match=f"^y_proba = .*{message}"):
        propercal.decompose(labels("letters"), given, notion="classwise", method="risk", bandwidth=0.1)
    # As the message says.
    assert propercal.decompose(labels("letters"), found.drop(columns="more"), notion="classwise", method="risk", bandwidth=0.1).risk == RIGHT
