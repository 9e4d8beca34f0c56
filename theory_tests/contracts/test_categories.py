"""The order of categories, whatever holds them, and the numbers that labels stand for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from propercal import CalibrationSketch, decompose
from theory_tests.contracts.test_misleading_names import CODES, LABELS, PROBA, THREE, P, check, refused

BCA = [1, 2, 0]
MOVED = PROBA[:, BCA]


def arrow(values: Any) -> Any:
    pyarrow = pytest.importorskip("pyarrow")
    return pyarrow.DictionaryArray.from_arrays(pyarrow.array(values.codes), pyarrow.array(values.categories.tolist()), ordered=values.ordered)


def extension(values: Any) -> Any:
    return pd.arrays.ArrowExtensionArray(pytest.importorskip("pyarrow").chunked_array([arrow(values)]))


#: What holds a column of categories.
HOLDERS: dict[str, Callable[[Any], Any]] = {
    "categorical": lambda c: c,
    "series": pd.Series,
    "index": pd.CategoricalIndex,
    "frame": lambda c: pd.DataFrame({"y": c}),
    "labelled array": lambda c: pd.Series(c).to_xarray(),
    "of a data set": lambda c: pd.DataFrame({"y": c}).to_xarray().y,
    "pyarrow": arrow,
    "array of pandas and pyarrow": extension,
    "series of pyarrow": lambda c: pd.Series(extension(c)),
    "labelled array of pyarrow": lambda c: pd.Series(extension(c)).to_xarray(),
}


@pytest.mark.parametrize("holder", HOLDERS)
def test_ordered_categories_have_their_order_in_every_holder(holder: str) -> None:
    make = HOLDERS[holder]
    words = make(pd.Categorical(LABELS, list("bca"), ordered=True))
    check(THREE, words, MOVED)
    check(THREE, words, P)
    check(THREE, make(pd.Categorical(CODES, BCA, ordered=True)), MOVED)
    seen = CODES < 2
    check(THREE, make(pd.Categorical(CODES[seen] + 1, [1, 2, 3], ordered=True)), PROBA[seen])
    sketch = CalibrationSketch(3, generator="brier", bandwidth=0.1)
    sketch.update(words, MOVED)
    assert sketch.result(method="risk").risk == pytest.approx(0.04, rel=1e-9)


@pytest.mark.parametrize("holder", HOLDERS)
def test_the_order_of_categories_that_have_none_is_asked_for(holder: str) -> None:
    labels = HOLDERS[holder](pd.Categorical(LABELS, list("bca")))
    refused(r"y_true = the names \['b', 'c', 'a'\]: expected to know their order", labels, MOVED)
    check(THREE, labels, P)
    seen = CODES < 2
    check(THREE, HOLDERS[holder](pd.Categorical(CODES[seen] + 1, [1, 2, 3])), PROBA[seen])


def test_a_dictionary_in_the_order_in_which_labels_came_up_means_nothing() -> None:
    """So encoding makes them; any other order is one that somebody gave, as that of categories is."""
    pa = pytest.importorskip("pyarrow")
    order = np.argsort(CODES % 3 != 1, kind="stable")
    words, p = LABELS[order], PROBA[order]
    encoded = pa.array(words.tolist()).dictionary_encode()
    assert encoded.dictionary.to_pylist() == ["b", "a", "c"]
    halves = pa.chunked_array([words[:12].tolist(), words[12:].tolist()]).dictionary_encode()
    assert halves.num_chunks == 2
    for labels in (encoded, halves, halves.unify_dictionaries(), pa.table({"y": encoded}), pd.Series(pd.arrays.ArrowExtensionArray(halves))):
        check(THREE, labels, p)
    assert encoded[::-1].dictionary.to_pylist() == ["b", "a", "c"]
    refused("y_true = the names .*expected to know their order", encoded[::-1], p[::-1])
    check(THREE, encoded[::-1].cast(pa.string()), p[::-1])
    check(THREE, pa.array(["c", "a", "b"] * 4 + [None]).dictionary_encode()[:12], PROBA[:12][[2, 0, 1, 5, 3, 4, 8, 6, 7, 11, 9, 10]])


def test_categories_of_labelled_arrays_are_aligned() -> None:
    order = np.random.default_rng(0).permutation(30)
    labels = pd.Series(pd.Categorical(LABELS, list("bca"), ordered=True)).to_xarray()
    proba = xr.DataArray(MOVED, dims=("index", "k"), coords={"index": np.arange(30)})
    for y, p in ((labels, proba), (labels[order], proba), (labels, proba[order]), (labels[order], proba[order])):
        check(THREE, y, p)
    wanted = decompose(LABELS, P, generator="brier", method="risk", bandwidth=0.1).risk
    assert decompose(labels, proba, generator="brier", method="risk", bandwidth=0.1).risk == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("holder", HOLDERS)
def test_digits_of_categories_without_an_order_are_not_alphabetical(holder: str) -> None:
    many = np.arange(22) % 11
    refused("y_true = the names .*expected to know their order", HOLDERS[holder](pd.Categorical(many.astype(str))), np.eye(11)[many])
    check(0.0, HOLDERS[holder](pd.Categorical(many)), np.eye(11)[many])
    check(0.0, HOLDERS[holder](pd.Categorical(many.astype(str), [str(i) for i in range(11)], ordered=True)), np.eye(11)[many])


# ---------------------------------------------------------------- columns that are named by their numbers

NUMBERED: dict[str, Callable[[Any], Any]] = {
    "integers": lambda p: pd.DataFrame(p).set_axis([0, 1, 2], axis=1),
    "digits": lambda p: pd.DataFrame(p, columns=list("012")),
    "polars": lambda p: pytest.importorskip("polars").DataFrame(dict(zip("012", p.T, strict=True))),
    "coordinates": lambda p: xr.DataArray(p, dims=("row", "k"), coords={"k": [0, 1, 2]}),
}


@pytest.mark.parametrize("holder", NUMBERED)
def test_an_order_of_numbers_that_those_of_columns_contradict_is_refused(holder: str) -> None:
    table = NUMBERED[holder](PROBA)
    for kind in (int, str):
        categories = np.array([2, 0, 1]).astype(kind)
        labels = pd.Categorical(CODES.astype(kind), categories, ordered=True)
        refused(r"y_true = the classes .*, in this order: expected that of the columns of y_proba, named 0 to 2", labels, table)
        refused(r"labels = the classes .*, in this order: expected that of the columns of y_proba, named 0 to 2", CODES.astype(kind), table, labels=categories.tolist())
        check(THREE, CODES.astype(kind), table)
        check(THREE, CODES.astype(kind), table, labels=np.arange(3).astype(kind).tolist())
        check(THREE, pd.Categorical(CODES.astype(kind)), table)
    sketch = CalibrationSketch(3, bandwidth=0.1, labels=[0, 2, 1])
    with pytest.raises(ValueError, match=r"^labels = the classes"):
        sketch.update(CODES, table)


def test_numbers_that_a_table_gives_say_nothing_of_an_order() -> None:
    moved = PROBA[:, [2, 0, 1]]
    polars = pytest.importorskip("polars")
    for table in (pd.DataFrame(moved), polars.DataFrame(moved), moved):
        check(THREE, pd.Categorical(CODES, [2, 0, 1], ordered=True), table)
        check(THREE, CODES, table, labels=[2, 0, 1])


def test_booleans_are_names_of_columns() -> None:
    hit, score = np.arange(20) % 2 == 1, np.where(np.arange(20) % 2 == 1, 0.9, 0.1)
    table = pd.DataFrame({False: 1 - score, True: score})
    one_hot = pd.get_dummies(hit)
    for columns in (table, table.iloc[:, ::-1]):
        for labels in (hit, hit.astype(int), one_hot, one_hot.iloc[:, ::-1], pd.get_dummies(hit.astype(int)), pd.Categorical(hit, [True, False], ordered=True)):
            check(0.02, labels, columns)
    polars = pytest.importorskip("polars")
    refused(r"y_true = columns named \['True', 'False'\]: expected those of y_proba, \[False, True\]", polars.DataFrame({"True": hit, "False": ~hit}), table)
    check(0.02, one_hot, table.to_numpy())
