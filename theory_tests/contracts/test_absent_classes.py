"""Columns of logits that no row is of the class of: named in a warning, or refused where a name says that it is no class.

Rows of probabilities sum to 1, so that one column too many shows; logits have no such sum.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

from propercal import CalibrationSketch, calibration_test, decompose, paired_difference
from propercal.recalibration import TemperatureScaling

#: Of the few rows here hardly any is surprising, which has a warning of its own.
pytestmark = pytest.mark.filterwarnings("ignore:only [0-9]+ rows? had an outcome")

N = 60
CODES = np.arange(N) % 3
WORDS = np.array(list("abc"))[CODES]
PROBA = np.eye(3)[CODES] * 0.7 + 0.1
LOGITS = pd.DataFrame(np.log(PROBA), columns=list("abc"))
SETTINGS: dict[str, Any] = {"generator": "brier", "notion": "classwise", "from_logits": True}
PUBLISHED: dict[str, Any] = {"method": "risk", "bandwidth": 0.1}
MESSAGE = r"^y_proba has columns \['{}'\], taken for logits of classes, though no row has such a label in y_true: drop them if they are none, or pass labels="


def in_memory(y_true: Any, y_proba: Any, **options: Any) -> Any:
    return decompose(y_true, y_proba, **PUBLISHED, **{**SETTINGS, **options})


def in_chunks(y_true: Any, y_proba: Any, **options: Any) -> Any:
    settings = {"bandwidth": 0.1, **SETTINGS, **options}
    sketch, other = (CalibrationSketch(y_proba.shape[1], **settings) for _ in range(2))
    for i in range(0, 30, 3):
        sketch.update(y_true[i : i + 3], y_proba[i : i + 3])
    other.update(y_true[30:], y_proba[30:])
    return CalibrationSketch.from_bytes(sketch.to_bytes()).merge(other).result(method="risk")


def in_partitions(y_true: Any, y_proba: Any, **options: Any) -> Any:
    dd = pytest.importorskip("dask.dataframe", reason="needs Dask data frames")
    frames = [dd.from_pandas(pd.DataFrame(each) if np.ndim(each) == 2 else pd.Series(each), npartitions=3) for each in (y_true, y_proba)]
    return decompose(frames[0], frames[1], **PUBLISHED, **{**SETTINGS, **options})


WAYS = [in_memory, in_chunks, in_partitions]


@pytest.mark.parametrize("notion", ["classwise", "top-label"])
@pytest.mark.parametrize("way", WAYS)
def test_a_column_that_no_row_has_the_label_of_is_named(way: Any, notion: str) -> None:
    names = ["row_nr", "patient"] if notion == "top-label" else ["time", "entropy"]
    for name in names:
        table = LOGITS.assign(**{name: np.arange(N) / 10})
        marked = pd.get_dummies(WORDS).assign(**{name: False})
        for labels, options in ((WORDS, {}), (CODES, {}), (marked, {"link": "softmax"})):
            with pytest.warns(UserWarning, match=MESSAGE.format(name)):
                way(labels, table, notion=notion, **options)


@pytest.mark.parametrize("way", WAYS)
def test_a_name_that_says_that_it_is_no_class_is_refused(way: Any) -> None:
    for name in ("Unnamed: 0", "groups", "Unnamed: 0_level_0", "sample_id"):
        with pytest.raises(ValueError, match=f"^y_proba = a column of logits named {name!r}: expected logits of classes alone"):
            way(WORDS, LOGITS.assign(**{name: np.arange(N) / 10}))
    labels = np.where(WORDS == "a", "groups", WORDS)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "y_proba has columns")
        found = way(labels, LOGITS.rename(columns={"a": "groups"}))
    assert found.risk == pytest.approx(in_memory(WORDS, LOGITS).risk, rel=1e-9)


@pytest.mark.parametrize("notion", ["classwise", "top-label"])
@pytest.mark.parametrize("way", WAYS)
def test_there_is_no_warning_where_each_column_is_of_a_class(way: Any, notion: str) -> None:
    numbers = LOGITS.set_axis(["logit_0", "logit_1", "logit_2"], axis=1)
    lacking = np.where(CODES == 2, 1, CODES)
    right = in_memory(CODES, np.log(PROBA), notion=notion).risk
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "y_proba has columns")
        for labels, table in ((WORDS, LOGITS), (CODES, LOGITS), (CODES, numbers), (pd.get_dummies(WORDS), LOGITS)):
            options = {"link": "softmax"} if np.ndim(labels) == 2 else {}
            assert way(labels, table, notion=notion, **options).risk == pytest.approx(right, rel=1e-9)
        # Names that are alike but for numbers, classes that the caller lists, and columns without names are of classes.
        for labels, given, listed in ((lacking, numbers, None), (np.array(list("abc"))[lacking], LOGITS, list("abc")), (lacking, LOGITS, [0, 1, 2])):
            way(labels, given, notion=notion, labels=listed)
        if way is not in_partitions:
            way(lacking, np.log(PROBA), notion=notion)


def test_each_function_names_it() -> None:
    table = LOGITS.assign(block=np.arange(N) / 10)
    with pytest.warns(UserWarning, match=MESSAGE.format("block")):
        calibration_test(WORDS, table, from_logits=True, notion="top-label")
    with pytest.warns(UserWarning, match="^y_proba_a has columns"), pytest.warns(UserWarning, match="^y_proba_b has columns"):
        paired_difference(WORDS, table, table, from_logits=True, notion="top-label", kernel=None)
    with pytest.raises(ValueError, match=r"^y_proba_b = columns \['a', 'b', 'c', 'block'\]"):
        paired_difference(WORDS, LOGITS, table, from_logits=True)
    with pytest.warns(UserWarning, match=r"^X has columns \['block'\], taken for logits of classes, though no row has such a label in y:"):
        TemperatureScaling(from_logits=True).fit(table[["a", "b", "block", "c"]], WORDS)


def test_bytes_hold_classes_of_a_top_label_sketch() -> None:
    sketch = CalibrationSketch(3, notion="top-label")
    sketch.update(CODES[CODES > 0], PROBA[CODES > 0])
    for known in (sketch, CalibrationSketch.from_bytes(sketch.to_bytes())):
        occurred = known._seen.reading.occurred
        assert occurred.classes == {1, 2}
        assert occurred.of_first == pytest.approx(0.1 * 40)
    sketch.reset()
    assert not sketch._seen.reading.occurred.classes


BINARY = (np.arange(N) % 3 == 0).astype(int)
TWO_LOGITS = np.stack([BINARY - 0.5, 2.0 * BINARY - 0.7], 1)
OF_MODELS = [("raw", "calibrated"), ("before", "after"), ("baseline", "challenger"), ("modelA", "modelB"), ("fold_0", "fold_1"), ("mean", "std"), ("logit", "logit_cal")]


@pytest.mark.parametrize("way", WAYS)
def test_logits_of_two_models_are_no_classes(way: Any) -> None:
    right = in_memory(BINARY, TWO_LOGITS).risk
    for names in OF_MODELS:
        table = pd.DataFrame(TWO_LOGITS, columns=list(names))
        with pytest.raises(ValueError, match=r"^y_proba = columns of logits named \[.*\]: expected those of classes"):
            way(BINARY, table)
        assert way(np.array(names)[BINARY], table).risk == pytest.approx(right, rel=1e-9)
    for names in (("rf_0", "rf_1"), ("model_neg", "model_pos"), ("forest", "water"), ("no", "yes")):
        assert way(BINARY, pd.DataFrame(TWO_LOGITS, columns=list(names))).risk == pytest.approx(right, rel=1e-9)


@pytest.mark.parametrize("dim", ["model", "member", "lead", "time", "seed", "quantile"])
def test_logits_along_models_members_or_times_are_no_classes(dim: str) -> None:
    xr = pytest.importorskip("xarray", reason="needs xarray")
    labels, logits = xr.DataArray(BINARY, dims="i"), xr.DataArray(TWO_LOGITS, dims=("i", dim))
    right = in_memory(BINARY, TWO_LOGITS).risk
    for given in (logits, logits.assign_coords({dim: [0, 1]})):
        with pytest.raises(ValueError, match=f"^y_proba = logits along '{dim}': expected those of classes"):
            in_memory(labels, given)
        assert in_memory(labels, given, labels=[0, 1]).risk == pytest.approx(right, rel=1e-12)
        assert in_memory(labels, given.rename({dim: "k"})).risk == pytest.approx(right, rel=1e-12)
