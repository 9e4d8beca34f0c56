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


@pytest.mark.parametrize("holder", [name for name in HOLDERS if "pyarrow" not in name])
def test_the_order_of_categories_that_have_none_is_asked_for(holder: str) -> None:
    labels = HOLDERS[holder](pd.Categorical(LABELS, list("bca")))
    refused(r"y_true = the names \['b', 'c', 'a'\]: expected to know their order", labels, MOVED)
    check(THREE, labels, P)
    seen = CODES < 2
    check(THREE, HOLDERS[holder](pd.Categorical(CODES[seen] + 1, [1, 2, 3])), PROBA[seen])


def test_categories_of_labelled_arrays_are_aligned() -> None:
    order = np.random.default_rng(0).permutation(30)
    labels = pd.Series(pd.Categorical(LABELS, list("bca"), ordered=True)).to_xarray()
    proba = xr.DataArray(MOVED, dims=("index", "k"), coords={"index": np.arange(30)})
    for y, p in ((labels, proba), (labels[order], proba), (labels, proba[order]), (labels[order], proba[order])):
        check(THREE, y, p)
    wanted = decompose(LABELS, P, generator="brier", method="risk", bandwidth=0.1).risk
    assert decompose(labels, proba, generator="brier", method="risk", bandwidth=0.1).risk == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("holder", [name for name in HOLDERS if "pyarrow" not in name])
def test_digits_of_categories_without_an_order_are_not_alphabetical(holder: str) -> None:
    many = np.arange(22) % 11
    refused("y_true = the names .*expected to know their order", HOLDERS[holder](pd.Categorical(many.astype(str))), np.eye(11)[many])
    check(0.0, HOLDERS[holder](pd.Categorical(many)), np.eye(11)[many])
    check(0.0, HOLDERS[holder](pd.Categorical(many.astype(str), [str(i) for i in range(11)], ordered=True)), np.eye(11)[many])
