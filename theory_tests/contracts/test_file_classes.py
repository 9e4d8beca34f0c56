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
from propercal.cli.files import read_predictions
from theory_tests.contracts.test_file_columns import risk
from theory_tests.contracts.test_misleading_names import CODES, FRAUD, LABELS, PROBA, SCORE, THREE, TWO, WORDS, F, P

#: Of the few rows here hardly any is surprising, which has a warning of its own.
pytestmark = pytest.mark.filterwarnings("ignore:(only [0-9]+|no) rows? had an outcome")

#: Columns c, a, b.
MOVED = PROBA[:, [2, 0, 1]]
CAB = np.array(["c", "a", "b"])
KEYS = ["classes", "classes_", "class_names", "label_names", "target_names", "names"]


def of_arrays(folder: Path, **arrays: Any) -> float:
    np.savez(folder / "p.npz", **arrays)
    found = read_predictions(folder / "p.npz")
    return float(decompose(found.y_true, found.y_proba, from_logits=found.from_logits, generator="brier", kernel=None).risk)


# ---------------------------------------------------------------- names of classes in an npz file

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
    for table, labels in ((P, CODES), (P.iloc[:, [2, 0, 1]], CODES), (P, CODES + 1), (F, FRAUD), (F, FRAUD == 1), (F.iloc[:, ::-1], 2 * FRAUD - 1)):
        with pytest.raises(ValueError, match=r"p\.jsonl: labels .*: expected the names of classes, .*, since objects of JSON have no order"):
            risk(tmp_path, table.assign(label=labels), ".jsonl")
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
