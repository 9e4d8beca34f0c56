"""Which class a column of a file is of, where the file has names in an array, categories, or no order of columns.

As in the tests of columns of files, the Brier score of three classes is 0.06, and of two 0.02.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from propercal import decompose
from propercal._files.matching import matched
from propercal.cli.command import main
from propercal.cli.files import read_predictions
from theory_tests.contracts.test_file_columns import risk
from theory_tests.contracts.test_misleading_names import CODES, FRAUD, LABELS, PROBA, SCORE, THREE, TWO, WORDS, F, P

#: Of the few rows here hardly any is surprising, which has a warning of its own.
pytestmark = pytest.mark.filterwarnings("ignore:(only [0-9]+|no) rows? had an outcome")

#: Columns c, a, b.
MOVED = PROBA[:, [2, 0, 1]]
CAB = np.array(["c", "a", "b"])
KEYS = ["classes", "classes_", "class_names", "label_names", "target_names", "names"]


def write(path: Path, **arrays: Any) -> None:
    np.savez(path, **arrays)


def of_arrays(folder: Path, **arrays: Any) -> float:
    np.savez(folder / "p.npz", **arrays)
    found = read_predictions(folder / "p.npz")
    return float(decompose(found.y_true, found.y_proba, from_logits=found.from_logits, generator="brier", kernel=None).risk)


# ---------------------------------------------------------------- names of classes in an npz file

def test_marks_are_doubted_beside_names_in_words_as_in_memory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing says that their columns stand as those of predictions do; --class names the latter alone."""
    marks = np.tile(np.eye(3)[CODES], (4, 1))
    for proba, names in ((MOVED, ["c", "a", "b"]), (PROBA, ["a", "b", "c"])):
        for key, given in (("classes", []), ("others", [f"--class={each}" for each in names])):
            write(tmp_path / "p.npz", labels=marks, probs=np.tile(proba, (4, 1)), **{key: names if key == "classes" else [0.0]})
            for command in ("decompose", "monitor"):
                main([command, str(tmp_path / "p.npz"), "--generator", "brier", *given])
                assert ("times as probable if it is" in capsys.readouterr().err) == (proba is MOVED)


@pytest.mark.parametrize("key", KEYS)
def test_an_array_of_class_names_says_the_order_of_columns(tmp_path: Path, key: str) -> None:
    for scores in ({"probs": MOVED}, {"logits": np.log(MOVED)}):
        for labels in (LABELS, LABELS[:, None], (CODES + 1) % 3, np.eye(3)[(CODES + 1) % 3]):
            assert of_arrays(tmp_path, labels=labels, **scores, **{key: CAB}) == pytest.approx(THREE, rel=1e-9)
    for labels, names in ((CODES, [2, 0, 1]), (CODES.astype(str), [2, 0, 1]), (CODES, ["2", "0", "1"]), (CODES + 5.0, [7, 5, 6])):
        assert of_arrays(tmp_path, labels=labels, probs=MOVED, **{key: names}) == pytest.approx(THREE, rel=1e-9)
    assert read_predictions(tmp_path / "p.npz").class_names == ("7", "5", "6")
    # Labels need not all occur.
    kept = LABELS != "b"
    assert of_arrays(tmp_path, labels=LABELS[kept], probs=MOVED[kept], **{key: CAB}) == pytest.approx(THREE, rel=1e-9)


def test_an_array_of_class_names_that_contradicts_labels_is_refused(tmp_path: Path) -> None:
    for names, labels, found in (
        (list("xyz"), LABELS, "labels 'a', 'b', 'c': expected some of 'classes', 'x', 'y', 'z'"),
        ([1, 2, 3], CODES, "labels '0': expected some of 'classes', '1', '2', '3'"),
        (["1", "2", "3"], CODES, "labels '0'"),
        (list("abcd"), LABELS, r"array 'classes' of shape \(4,\): expected the 3 different classes"),
        (list("aab"), LABELS, "expected the 3 different classes"),
        ([list("abc")], LABELS, "expected the 3 different classes"),
    ):
        with pytest.raises(ValueError, match=rf"p\.npz: {found}" if "expected the" not in found else found):
            of_arrays(tmp_path, labels=labels, probs=PROBA, classes=names)
    with pytest.raises(ValueError, match=r"arrays 'classes', 'names': expected the same classes in the same order"):
        of_arrays(tmp_path, labels=LABELS, probs=PROBA, classes=list("abc"), names=CAB)
    # Names that have an order of their own, beside labels that count columns.
    for names, labels in ((["III", "I", "II"], CODES), (["p_2", "p_0", "p_1"], CODES), (["two", "zero", "one"], np.eye(3)[CODES])):
        with pytest.raises(ValueError, match=r"p\.npz: labels = .*: expected names of columns of the file"):
            of_arrays(tmp_path, labels=labels, probs=MOVED, classes=names)
    with pytest.raises(ValueError, match="array 'classes' holds pickled"):
        of_arrays(tmp_path, labels=LABELS, probs=PROBA, classes=CAB.astype(object))


def test_names_that_count_order_an_indicator_matrix_too(tmp_path: Path) -> None:
    for names in ([2, 0, 1], ["2", "0", "1"], [2.0, 0.0, 1.0]):
        for marks in (np.eye(3)[CODES], np.eye(3, dtype=bool)[CODES]):
            assert of_arrays(tmp_path, labels=marks, probs=MOVED, classes=names) == pytest.approx(THREE, rel=1e-9)
            assert of_arrays(tmp_path, labels=marks, logits=np.log(MOVED), classes=names) == pytest.approx(THREE, rel=1e-9)
            assert read_predictions(tmp_path / "p.npz").labels == (0, 1, 2)
    two = np.stack([SCORE, 1 - SCORE], axis=1)
    for order in ([True, False], [1, 0], ["1", "0"]):
        assert of_arrays(tmp_path, labels=np.eye(2)[FRAUD], probs=two, classes=order) == pytest.approx(TWO, rel=1e-9)


@pytest.mark.parametrize("key", ["columns", "class_labels", "classnames", "label_map", "Classes"])
def test_classes_in_another_order_under_another_name_are_refused(tmp_path: Path, key: str) -> None:
    for labels, names in ((LABELS, CAB), (LABELS[:, None], CAB), (CODES, [2, 0, 1]), (CODES.astype(str), ["2", "0", "1"])):
        with pytest.raises(ValueError, match=rf"p\.npz: array '{key}' lists the classes as .*: expected one of 'classes', .* as its name"):
            of_arrays(tmp_path, labels=labels, probs=MOVED, **{key: names})
    # What lists them in the order that is read, or other things, is left unread.
    others: list[Any] = [list("abc"), ["a", "b", "c", "label"], [0, 1, 2], [0.2, 0.5, 0.3], list("xyz"), list("cab" * 2), [[2, 0, 1]], 3, np.eye(3)]
    for array in others:
        assert of_arrays(tmp_path, labels=LABELS, probs=PROBA, **{key: array}) == pytest.approx(THREE, rel=1e-9)
    order = {"labels": CODES, "probs": MOVED[:, [1, 2, 0]], "confidences": [2, 0, 1][:2], key: [0, 1, 2]}
    assert of_arrays(tmp_path, **order) == pytest.approx(THREE, rel=1e-9)


def test_such_a_list_may_have_other_names_and_forms(tmp_path: Path) -> None:
    pairs = [["c", "0"], ["a", "1"], ["b", "2"]]
    names: list[Any] = [["id", *CAB], [*CAB, "label", "fold"], [CAB], CAB[:, None], CAB.astype("S"), list("CAB"), ["c ", "a ", "b "], pairs, np.array(pairs).T]
    for array in names:
        with pytest.raises(ValueError, match="array 'columns' lists the classes as"):
            of_arrays(tmp_path, labels=LABELS, probs=MOVED, columns=array)
    with pytest.raises(ValueError, match="array 'columns' is pickled, and may list the classes"):
        of_arrays(tmp_path, labels=LABELS, probs=MOVED, columns=CAB.astype(object))
    with pytest.raises(ValueError, match="array 'columns' lists the classes as '2', '0', '1'"):
        of_arrays(tmp_path, labels=np.eye(3)[CODES], probs=MOVED, columns=[2, 0, 1])
    # Numbers count, whatever words there are.
    assert of_arrays(tmp_path, labels=CODES, probs=PROBA, columns=CAB.astype(object)) == pytest.approx(THREE, rel=1e-9)
    # Weights and groups are none.
    np.savez(tmp_path / "p.npz", labels=LABELS[:3], probs=PROBA[:3], group=CAB)
    assert read_predictions(tmp_path / "p.npz", group_column="group").groups is not None
    with pytest.raises(ValueError, match="array 'group' lists"):
        read_predictions(tmp_path / "p.npz")


def test_the_name_of_one_column_is_read_as_in_memory(tmp_path: Path) -> None:
    for labels, name in ((WORDS, "fraud"), (FRAUD, "fraud"), (FRAUD, "p_fraud")):
        for scores in (SCORE, SCORE[:, None]):
            assert of_arrays(tmp_path, labels=labels, probs=scores, classes=[name]) == pytest.approx(TWO, rel=1e-9)
    assert read_predictions(tmp_path / "p.npz").class_names == ("p_fraud",)
    assert of_arrays(tmp_path, labels=WORDS, probs=1 - SCORE, classes=["legit"]) == pytest.approx(TWO, rel=1e-9)
    assert of_arrays(tmp_path, labels=FRAUD, probs=SCORE, classes=[0, 1]) == pytest.approx(TWO, rel=1e-9)
    others: list[Any] = ["no_fraud", 0, "p_0"]
    for labels, other in (*((FRAUD, each) for each in others), (WORDS, "x")):
        with pytest.raises(ValueError, match=r"p\.npz: .*: expected"):
            of_arrays(tmp_path, labels=labels, probs=1 - SCORE, classes=[other])
    descending: list[Any] = [[1, 0], ["1", "0"], [True, False]]
    for names in descending:
        with pytest.raises(ValueError, match="expected to know of which of them the one column is the probability"):
            of_arrays(tmp_path, labels=FRAUD, probs=1 - SCORE, classes=names)
    with pytest.raises(ValueError, match="expected 0 and 1, or to know of which class"):
        of_arrays(tmp_path, labels=WORDS, probs=SCORE, classes=["legit", "fraud"])


def test_there_is_a_warning_of_labels_from_1_where_a_file_does_not_say_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = CODES > 0
    codes, proba = np.tile(CODES[kept], 5), np.tile(PROBA[kept] * [0, 0.8, 0.8] + [0.2, 0, 0], (5, 1))
    table, path = pd.DataFrame(proba / proba.sum(axis=1, keepdims=True), columns=list("abc")), tmp_path / "p.csv"
    numbers = table.set_axis(["0", "1", "2"], axis=1)
    lines = [json.dumps({"label": int(code), "probs": row.tolist()}) for code, row in zip(codes, proba, strict=True)]
    names = np.array(list("abc"))
    for given, warned in ((table.assign(label=names[codes]), False), (table.assign(label=codes), True), (numbers.assign(label=codes), False), (lines, True)):
        if isinstance(given, list):
            path = tmp_path / "p.jsonl"
            path.write_text("\n".join(given))
        else:
            given.to_csv(path, index=False)
        assert main(["decompose", str(path)]) == 0
        assert ("labels hold 1 to 2 and no 0" in capsys.readouterr().err) == warned
    path = tmp_path / "p.npz"
    for labels, classes, warned in ((names[codes], names, False), (codes, names, True), (codes, [0, 1, 2], False), (codes, None, True), (names[codes], CAB, False)):
        beside: dict[str, Any] = {} if classes is None else {"classes": np.asarray(classes)}
        np.savez(path, labels=labels, probs=proba, **beside)
        assert main(["decompose", str(path)]) == 0
        assert ("labels hold 1 to 2 and no 0" in capsys.readouterr().err) == warned


def test_names_of_rows_are_none_of_classes(tmp_path: Path) -> None:
    rows = np.array([f"r{i}" for i in range(len(CODES))])
    assert of_arrays(tmp_path, labels=CODES, probs=PROBA, names=rows) == pytest.approx(THREE, rel=1e-9)
    # The confidence in a class is right or wrong, whatever classes there are.
    assert of_arrays(tmp_path, labels=FRAUD, confidence=SCORE, classes=["legit", "fraud"]) == pytest.approx(TWO, rel=1e-9)


# ---------------------------------------------------------------- categories that parquet loses

CATEGORIES = {
    "ordered": pd.Categorical(CODES, [2, 0, 1], ordered=True),
    "of another order": pd.Categorical(CODES, [2, 0, 1]),
    "floats": pd.Categorical(CODES + 0.5),
    "one that does not occur": pd.Categorical(np.where(CODES == 2, 0, CODES) + 1, [1, 2, 3]),
}


@pytest.mark.parametrize("name", CATEGORIES)
def test_categories_of_numbers_have_lost_their_order(tmp_path: Path, name: str) -> None:
    for table in (P, P.iloc[:, [2, 0, 1]]):
        with pytest.raises(ValueError, match=r"p\.parquet: column 'label' was written as categories that are no text, whose order parquet does not keep"):
            risk(tmp_path, table.assign(label=CATEGORIES[name]), ".parquet")


def test_categories_of_numbers_that_name_columns_need_no_order(tmp_path: Path) -> None:
    moved = pd.DataFrame(MOVED, columns=["2", "0", "1"])
    for label in (CATEGORIES["ordered"], CATEGORIES["of another order"], pd.Categorical(CODES)):
        assert risk(tmp_path, moved.assign(label=label), ".parquet") == pytest.approx(THREE, rel=1e-9)
    assert risk(tmp_path, pd.DataFrame({"label": pd.Categorical(FRAUD, [1, 0], ordered=True), "p": SCORE}), ".parquet") == pytest.approx(TWO, rel=1e-9)
    assert risk(tmp_path, P.assign(label=CODES), ".parquet") == pytest.approx(THREE, rel=1e-9)


def test_a_dictionary_of_pyarrow_is_such_a_column(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    label = pa.DictionaryArray.from_arrays(pa.array((CODES + 1) % 3), pa.array([2, 0, 1]), ordered=True)
    parquet.write_table(pa.table({"label": label, **{name: P[name].to_numpy() for name in "cab"}}), tmp_path / "p.parquet")
    with pytest.raises(ValueError, match="whose order parquet does not keep"):
        read_predictions(tmp_path / "p.parquet")


# ---------------------------------------------------------------- objects of JSON

def test_numbers_do_not_count_the_keys_of_objects(tmp_path: Path) -> None:
    for table, labels in ((P, CODES), (P.iloc[:, [2, 0, 1]], CODES), (P, CODES + 1), (F, FRAUD), (F.iloc[:, ::-1], 2 * FRAUD - 1)):
        with pytest.raises(ValueError, match=r"p\.jsonl: labels .*: expected the names of classes, .*, since objects of JSON have no order"):
            risk(tmp_path, table.assign(label=labels), ".jsonl")
    with pytest.raises(ValueError, match=r"p\.jsonl: labels = booleans: expected to know which of the columns"):
        risk(tmp_path, F.assign(label=FRAUD == 1), ".jsonl")
    for table, labels, right in (
        (P.iloc[:, [2, 0, 1]], LABELS, THREE), (P.set_axis(["p_0", "p_1", "p_2"], axis=1), CODES, THREE),
        (pd.DataFrame(MOVED, columns=["2", "0", "1"]), CODES, THREE), (F, WORDS, TWO), (F[["fraud"]], FRAUD, TWO),
        (F.iloc[:, ::-1].set_axis(["no_fraud", "fraud"], axis=1), FRAUD, TWO),
    ):
        assert risk(tmp_path, table.assign(label=labels), ".jsonl") == pytest.approx(right, rel=1e-9)
    lines = [json.dumps({"probs": row.tolist(), "label": int(code)}) for row, code in zip(PROBA, CODES, strict=True)]
    (tmp_path / "q.jsonl").write_text("\n".join(lines))
    found = read_predictions(tmp_path / "q.jsonl")
    assert decompose(found.y_true, found.y_proba, generator="brier", kernel=None).risk == pytest.approx(THREE)


# ---------------------------------------------------------------- files of which one names its columns


def test_names_in_their_own_order_beside_none_need_labels_that_tell_it(tmp_path: Path) -> None:
    """Of four classes two occur: the others' columns are c, d in one file, and nobody knows in which order in the other."""
    codes = np.arange(30) % 2
    proba = np.full((30, 4), [0.3, 0.3, 0.3, 0.1])
    np.savez(tmp_path / "a.npz", labels=codes, probs=proba)
    np.savez(tmp_path / "named.npz", labels=codes, probs=proba, classes=list("abdc"))

    def models(names: str, labels: Any, other: str = "a.npz") -> Any:
        pd.DataFrame(proba, columns=list(names)).assign(label=np.array(list(names))[labels]).to_csv(tmp_path / "b.csv", index=False)
        return matched([read_predictions(tmp_path / each) for each in ("b.csv", other)]).models

    with pytest.raises(ValueError, match=r"a\.npz: class columns none, and 'a', 'b', 'd', 'c' in .*b\.csv: expected names in both"):
        models("abdc", codes)
    with pytest.raises(ValueError, match=r"expected names in both"):
        matched([read_predictions(tmp_path / each) for each in ("a.npz", "b.csv")])
    np.testing.assert_array_equal(models("abdc", codes, "named.npz")["named.npz"], proba)
    # In the order that columns without names have, and where labels tell which column is which.
    np.testing.assert_array_equal(models("abcd", codes)["a.npz"], proba)
    occurring = np.arange(30) % 3
    np.savez(tmp_path / "a.npz", labels=occurring, probs=proba)
    np.testing.assert_array_equal(models("abdc", occurring)["a.npz"], proba)


# ---------------------------------------------------------------- one name, and names in bytes

@pytest.mark.parametrize("key", KEYS)
def test_the_only_column_may_have_its_name_in_any_of_these_arrays(tmp_path: Path, key: str) -> None:
    for name, score in (("fraud", SCORE), ("legit", 1 - SCORE)):
        for proba in (score, score[:, None]):
            assert of_arrays(tmp_path, labels=WORDS, probs=proba, **{key: np.array([name])}) == pytest.approx(TWO)
    write(tmp_path / "fit.npz", labels=WORDS, probs=SCORE, **{key: np.array(["fraud"])})
    write(tmp_path / "new.npz", probs=1 - SCORE, **{key: np.array(["legit"])})
    arguments = ["recalibrate", str(tmp_path / "fit.npz"), "--apply", str(tmp_path / "new.npz"), "-o", str(tmp_path / "out.npz")]
    assert main(arguments) == 1
    write(tmp_path / "new.npz", probs=SCORE, **{key: np.array(["fraud"])})
    assert main(arguments) == 0
    # In one row it may be the name of the row.
    np.savez(tmp_path / "row.npz", labels=[1], probs=[0.9], names=np.array(["legit"]))
    assert read_predictions(tmp_path / "row.npz").class_names == ()


def test_names_and_labels_in_bytes_are_the_text_that_they_are(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    for labels in (LABELS, LABELS.astype("S"), CODES[:, None] == [2, 0, 1]):
        assert of_arrays(tmp_path, labels=labels, probs=MOVED, classes=CAB.astype("S")) == pytest.approx(THREE)
    assert read_predictions(tmp_path / "p.npz").class_names == ("c", "a", "b")
    table = {name: MOVED[:, i] for i, name in enumerate("cab")} | {"label": pyarrow.array([each.encode() for each in LABELS])}
    parquet.write_table(pyarrow.table(table), tmp_path / "p.parquet")
    found = read_predictions(tmp_path / "p.parquet")
    assert float(decompose(found.y_true, found.y_proba, generator="brier", kernel=None).risk) == pytest.approx(THREE)


@pytest.mark.parametrize("kind", ["numbers", "words"])
def test_an_array_that_says_the_class_of_each_value_of_sorted_rows(tmp_path: Path, kind: str) -> None:
    rng = np.random.default_rng(0)
    proba = rng.dirichlet(np.ones(3), size=30)
    codes, order = rng.integers(3, size=30), np.argsort(-proba, axis=1)
    names = np.arange(3) if kind == "numbers" else np.array(["cat", "dog", "eel"])
    labels, classes, values = names[codes], names[order], np.take_along_axis(proba, order, axis=1)
    path = tmp_path / "p.npz"
    write(path, labels=labels, probs=values, top=classes)
    with pytest.raises(ValueError, match=r"p\.npz: 'probs' has rows sorted by size, whose classes 'top' says: expected one order"):
        read_predictions(path)
    # As the message says.
    back = np.take_along_axis(values, np.argsort(classes, axis=1), axis=1)
    assert of_arrays(tmp_path, labels=labels, probs=back) == pytest.approx(((proba - np.eye(3)[codes]) ** 2).sum(axis=1).mean(), rel=1e-12)
    # Numbers of another sort, and rows in one order of columns, are none of that.
    write(path, labels=labels, probs=values, top=rng.integers(9, size=(30, 3)))
    read_predictions(path)
    write(path, labels=labels, probs=values, top=classes[:1].repeat(30, axis=0))
    read_predictions(path)
