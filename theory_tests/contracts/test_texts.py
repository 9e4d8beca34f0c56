"""Texts that stand for no value, or are equal but for blanks or the form of letters."""

from __future__ import annotations

import unicodedata
from typing import Any

import numpy as np
import pandas as pd
import pytest

from propercal import decompose, decompose_groups
from propercal._data.dependence.groups import validate_groups
from propercal._data.inputs.texts import alike, as_seen, is_nothing
from propercal.reporting.plain import in_plain_words

SETTINGS: dict[str, Any] = {"generator": "brier", "method": "risk", "bandwidth": 0.1}
CODES = np.arange(40) % 2
VALUES = np.random.default_rng(0).dirichlet(np.ones(3), 40)
NFC = unicodedata.normalize("NFC", "cafe\u0301")
NFD = unicodedata.normalize("NFD", NFC)
PAIR = np.arange(40) // 2


def test_what_is_seen_alike() -> None:
    assert as_seen("\ufeff a\u00a0b ") == "a b"
    assert alike(["a", "b", "A", NFC]) is None
    assert alike(["a", "b", " a"]) == ("a", " a")
    assert alike([NFC, NFD]) == (NFC, NFD)
    assert is_nothing(" nan ")
    assert not is_nothing("none")


@pytest.mark.parametrize("odd", ["nan", "", "NA", "None", "#N/A", "<NA>"])
def test_missing_values_as_text_are_no_class(odd: str) -> None:
    # Class c does not occur, so that there are as many names as columns.
    y = np.where(np.arange(40) < 4, odd, np.array(["a", "b"])[CODES])
    with pytest.raises(ValueError, match="written for a missing value"):
        decompose(y, VALUES, **SETTINGS)
    right = decompose(y, VALUES, labels=["a", "b", odd], **SETTINGS).risk
    assert right == pytest.approx(decompose(np.where(np.arange(40) < 4, 2, CODES), VALUES, **SETTINGS).risk, rel=1e-12)
    with pytest.raises(ValueError, match="written for a missing value"):
        decompose(np.where(CODES == 1, "yes", odd), VALUES[:, 0], pos_label="yes", **SETTINGS)
    pd = pytest.importorskip("pandas")
    named = decompose(y, pd.DataFrame(VALUES, columns=["a", "b", odd]), **SETTINGS).risk
    assert named == pytest.approx(right, rel=1e-12)


@pytest.mark.parametrize(("one", "other"), [("a", "a "), (NFC, NFD), ("a", "\ufeffa"), ("a b", "a\u00a0b")])
def test_classes_that_seem_equal_are_refused(one: str, other: str) -> None:
    y = np.where(CODES == 0, "z", np.where(np.arange(40) < 9, one, other))
    with pytest.raises(ValueError, match="equal but for blanks or the form of letters"):
        decompose(y, VALUES, **SETTINGS)
    listed = decompose(y, VALUES, labels=[one, other, "z"], **SETTINGS).risk
    codes = np.where(CODES == 0, 2, np.where(np.arange(40) < 9, 0, 1))
    assert listed == pytest.approx(decompose(codes, VALUES, labels=[0, 1, 2], **SETTINGS).risk, rel=1e-12)
    # Rows that do not count may hold anything.
    labels = np.where(np.arange(40) < 9, np.where(CODES == 0, "y", one), np.where(CODES == 0, "y", "z"))
    labels[3] = other
    assert np.isfinite(decompose(labels, VALUES[:, :3], sample_weight=(np.arange(40) != 3) * 1.0, **SETTINGS).risk)


def n_groups(groups: Any) -> int | None:
    return validate_groups(CODES, VALUES, groups=groups).n_groups


@pytest.mark.parametrize("form", ["{} ", "\ufeff{}", "NFD"])
def test_groups_that_seem_equal_are_refused(form: str) -> None:
    names = [f"é{i}" for i in PAIR]
    odd = [(unicodedata.normalize("NFD", name) if form == "NFD" else form.format(name)) if i % 2 else name for i, name in enumerate(names)]
    assert n_groups(names) == 20
    for groups in (odd, np.array(odd), np.array(odd, dtype=object)):
        with pytest.raises(ValueError, match="equal but for blanks or the form of letters"):
            n_groups(groups)


def test_numbers_as_text_are_the_same_group_however_they_are_written() -> None:
    texts = [f"{i}.0" if j % 2 else f"{i}" for j, i in enumerate(PAIR)]
    for groups in (texts, np.array(texts), np.array(texts, dtype=object), pd.Series(texts)):
        with pytest.warns(UserWarning, match=r"groups has the groups '0' and '0\.0', which are one number as programs write it: read as one group") as found:
            assert n_groups(groups) == 20
        assert in_plain_words(str(found[0].message)).startswith("The groups '0' and '0.0' are one number, and are read as one.")
    # As is advised, and numbers beside the digits of some.
    assert n_groups([f"v{each}" for each in texts]) == 40
    assert n_groups([each if "." in each else int(each) for each in texts]) == 20


@pytest.mark.parametrize(
    ("one", "other", "words"),
    [("01", "1", "one number"), ("1.5", "1.50", "one number"), ("+2", "2", "one number"), ("F", "f", "capitals"), ("Ward 1", "ward 1", "capitals"), ("ﬁt", "fit", "form of letters"), ("１", "1", "one number")],
)
def test_groups_that_are_nearly_equal_are_told(one: str, other: str, words: str) -> None:
    """They are two groups, as they are written, or else one that a table has in two ways: a warning."""
    names = np.array([f"g{i}" for i in PAIR])
    near = np.where(PAIR == 0, one, np.where(PAIR == 1, other, names))
    for groups in (near, near.astype(object), near.tolist()):
        with pytest.warns(UserWarning, match=f"groups has the groups .* which are .*{words}.*: read as two groups"):
            assert n_groups(groups) == n_groups(names) == 20
    with pytest.warns(UserWarning, match="read as two groups"):
        assert len(decompose_groups(CODES, VALUES, groups=np.where(np.arange(len(CODES)) < len(CODES) // 2, one, other), generator="brier").groups) == 2
    # Numbers as such are read so beside text.
    if one == "01":
        mixed = [1 if each == other else each for each in near.tolist()]
        with pytest.warns(UserWarning, match="'01' and '1', which are one number"):
            n_groups(mixed)


def test_groups_that_are_not_alike_are_not_told() -> None:
    for names in (["e", "é"], ["<50", ">50"], ["a-b", "a_b"], ["1e2", "100"], ["f1", "f01"], ["1", "10"], ["-1.5", "1.5"]):
        n_groups(np.where(PAIR == 0, names[0], np.where(PAIR == 1, names[1], np.array([f"g{i}" for i in PAIR]))))


@pytest.mark.parametrize(("one", "other"), [("01", "1"), ("1", "1.00"), ("+1", "1"), ("0.50", ".5"), ("１", "1")])
def test_classes_that_are_one_number_are_refused(one: str, other: str) -> None:
    y = np.where(CODES == 0, "z", np.where(np.arange(40) < 9, one, other))
    with pytest.raises(ValueError, match=r"which are one number: .* or pass labels="):
        decompose(y, VALUES, **SETTINGS)
    right = decompose(np.where(CODES == 0, 2, np.where(np.arange(40) < 9, 0, 1)), VALUES, labels=[0, 1, 2], **SETTINGS).risk
    assert decompose(y, VALUES, labels=[one, other, "z"], **SETTINGS).risk == pytest.approx(right, rel=1e-12)
    pd = pytest.importorskip("pandas")
    # Columns of both say that they are two.
    assert decompose(y, pd.DataFrame(VALUES, columns=[one, other, "z"]), **SETTINGS).risk == pytest.approx(right, rel=1e-12)
    # Against columns that have the other text alone, no class is found.
    with pytest.raises(ValueError, match="y_true = "):
        decompose(np.where(CODES == 0, "z", one), pd.DataFrame(VALUES, columns=[other, "y", "z"]), **SETTINGS)


def test_a_class_and_a_label_to_ignore_that_are_one_number() -> None:
    with pytest.raises(ValueError, match="pos_label = '01': expected a label that occurs in y_true"):
        decompose(["1"] * 40, VALUES[:, 0], pos_label="01", **SETTINGS)
    with pytest.raises(ValueError, match="ignore_index = '03': expected a label of y_true, which has '3'"):
        decompose(np.where(np.arange(40) < 4, "3", np.array(["0", "1"])[CODES]), VALUES, ignore_index="03", **SETTINGS)


@pytest.mark.parametrize(("dtype", "first"), [("float64", 2**53), ("float32", 2**24), ("float16", 2**11)])
def test_groups_that_floating_point_cannot_tell_apart_are_refused(dtype: str, first: int) -> None:
    assert n_groups((first - 1 - PAIR).astype(dtype)) == 20
    for numbers in ((first + PAIR).astype(dtype), -(first + PAIR).astype(dtype), np.where(PAIR == 0, np.inf, PAIR).astype(dtype)):
        with pytest.raises(ValueError, match=f"numbers below {first}"):
            n_groups(numbers)
    ids = (10**18 + PAIR).tolist()
    assert n_groups(ids) == n_groups(np.array(ids)) == 20
    assert n_groups([2**53 + 2 * i for i in PAIR.tolist()]) == 20


def test_the_least_integer_and_codes_of_databases_are_no_group() -> None:
    for groups in (np.where(PAIR == 0, np.iinfo(np.int64).min, PAIR), np.where(PAIR == 0, "\\N", "g"), np.where(PAIR == 0, "#N/A", "g")):
        with pytest.raises(ValueError, match="missing"):
            n_groups(groups)


def test_columns_of_a_one_hot_that_mark_missing_labels_are_refused() -> None:
    pd = pytest.importorskip("pandas")
    y = pd.Series([None if i < 4 else "ab"[code] for i, code in enumerate(CODES)], dtype=object)
    tables = [pd.get_dummies(y, dummy_na=True), pd.get_dummies(y, prefix="y", dummy_na=True), pd.get_dummies(y.fillna("nan"))]
    tables.append(tables[0].set_axis(["y_a", "y_b", "y_null"], axis=1))
    for table in tables:
        with pytest.raises(ValueError, match="marks missing labels"):
            decompose(table, VALUES, **SETTINGS)
    with pytest.raises(ValueError, match="equal but for blanks"):
        decompose(tables[0].set_axis(["a", "b", "a "], axis=1), VALUES, **SETTINGS)
    listed = decompose(tables[2], VALUES, labels=["a", "b", "nan"], **SETTINGS).risk
    assert listed == pytest.approx(decompose(np.where(np.arange(40) < 4, 2, CODES), VALUES, **SETTINGS).risk, rel=1e-12)


def test_categories_count_as_listed_where_they_have_an_order_of_their_own() -> None:
    pd = pytest.importorskip("pandas")
    words = np.array(["None", "Mild", "Severe"])[np.arange(40) % 3]
    own = pd.Categorical(words, ["None", "Mild", "Severe"], ordered=True)
    assert decompose(own, VALUES, **SETTINGS).risk == pytest.approx(decompose(np.arange(40) % 3, VALUES, **SETTINGS).risk, rel=1e-12)
    with pytest.raises(ValueError, match="written for a missing value"):
        decompose(pd.Categorical(words), VALUES, **SETTINGS)


def test_layers_are_told_of_missing_labels_too() -> None:
    from propercal.information import layer_sharpness

    y = np.where(np.arange(40) < 4, "nan", np.array(["a", "b"])[CODES])
    with pytest.raises(ValueError, match="written for a missing value"):
        layer_sharpness([VALUES], y, bandwidth=0.1)
    with pytest.raises(ValueError, match="equal but for blanks"):
        layer_sharpness([VALUES], np.where(y == "nan", "a ", y), bandwidth=0.1)
