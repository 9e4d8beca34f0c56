"""Labels 1 to k − 1 beside k columns without names: read as numbers from 0, with a warning where class 0 is missed."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from propercal import CalibrationSketch, decompose, paired_difference

#: Of the few rows here none is surprising, which has two warnings of its own.
pytestmark = pytest.mark.filterwarnings("ignore:(only [0-9]+|no) rows? had an outcome", "ignore:.*is the most probable class in each of 120 rows", "ignore:.*is 1 for what occurred and 0 for what did not")

N = 120
CODES = np.arange(N) % 2 + 1
#: 24 rows of class 0 are expected, and of class 2.
PROBA = np.where(np.eye(3)[CODES] > 0, 0.6, 0.2)
MESSAGE = r"^y_true holds 1 to 2 and no 0: read as numbers of columns, counted from 0, though y_proba lets 24 rows be of class 0\. .*range\(1, 4\).*range\(3\)"
SETTINGS: dict[str, Any] = {"generator": "brier", "notion": "classwise", "method": "risk", "bandwidth": 0.1}


def in_memory(y_true: Any, y_proba: Any, **options: Any) -> float:
    return float(decompose(y_true, y_proba, **{**SETTINGS, **options}).risk)


def in_chunks(y_true: Any, y_proba: Any, **options: Any) -> float:
    settings = {"generator": "brier", "notion": "classwise", "bandwidth": 0.1, **options}
    sketch = CalibrationSketch(max(2, *np.shape(y_proba)[1:], 0), **settings)
    for rows in (slice(0, 1), slice(1, 70), slice(70, N)):
        sketch.update(y_true[rows], y_proba[rows])
    return float(CalibrationSketch.from_bytes(sketch.to_bytes()).result(method="risk").risk)


def in_partitions(y_true: Any, y_proba: Any, **options: Any) -> float:
    da = pytest.importorskip("dask.array", reason="needs Dask")
    if not isinstance(y_true, np.ndarray):
        dd = pytest.importorskip("dask.dataframe", reason="needs Dask data frames")
        frames = [dd.from_pandas(each, npartitions=3) if hasattr(each, "iloc") else each for each in (y_true, y_proba)]
        if frames[1] is y_proba:
            frames[1] = da.from_array(y_proba, chunks=(tuple(map(len, frames[0].partitions)), *y_proba.shape[1:]))
        return in_whole_partitions(*frames, **options)
    given = (da.from_array(np.asarray(each), chunks=(50, *each.shape[1:])) for each in (y_true, y_proba))
    return in_memory(*given, **options)


def in_whole_partitions(y_true: Any, y_proba: Any, **options: Any) -> float:
    """Rows that do not count take part in no published method."""
    method = {"method": "debiased"} if "ignore_index" in options else {}
    settings = {each: SETTINGS[each] for each in ("generator", "notion")} if method else SETTINGS
    return float(decompose(y_true, y_proba, **{**settings, **method}, **options).risk)


WAYS = [in_memory, in_chunks, in_partitions]
#: Of three problems of a Brier score of two classes each: 2 · 0.2² or 2 · 0.4² by class.
RIGHT = 2 * (0.2**2 * 2 + 0.4**2) / 3
#: Of labels 1 and 2 that are the first two columns, (0.2, 0.6, 0.2) or (0.2, 0.2, 0.6): 1 is never right.
OF_FIRST, OF_SECOND = 2 * (0.8**2 + 0.6**2 + 0.2**2) / 3, 2 * (0.2**2 + 0.8**2 + 0.6**2) / 3


@pytest.mark.parametrize("way", WAYS)
def test_a_warning_says_how_labels_were_read(way: Any) -> None:
    for labels in (CODES, CODES.astype(float)):
        with pytest.warns(UserWarning, match=MESSAGE):
            assert way(labels, PROBA) == pytest.approx(RIGHT, rel=1e-9)


@pytest.mark.parametrize("way", WAYS)
def test_so_it_does_top_label(way: Any) -> None:
    right = decompose(CODES, PROBA, generator="brier", notion="top-label", labels=[0, 1, 2], kernel=None).risk
    for labels in (CODES, CODES.astype(float)):
        with pytest.warns(UserWarning, match=MESSAGE):
            assert way(labels, PROBA, notion="top-label") == pytest.approx(right, rel=1e-9)
    way(CODES, PROBA, notion="top-label", labels=[0, 1, 2])
    some = CODES.copy()
    some[77] = 0
    way(some, PROBA, notion="top-label")


# In memory a list that predictions contradict is doubted in turn.
@pytest.mark.filterwarnings("ignore:y_proba has columns, read as those of the classes .1, 2, 3.")
@pytest.mark.parametrize("way", WAYS)
def test_labels_say_which_is_meant(way: Any) -> None:
    assert way(CODES, PROBA, labels=[0, 1, 2]) == pytest.approx(RIGHT, rel=1e-9)
    assert way(CODES, PROBA, labels=[1, 2, 3]) == pytest.approx((OF_FIRST + OF_SECOND) / 2, rel=1e-9)


@pytest.mark.parametrize("way", WAYS)
def test_there_is_no_warning_where_nothing_is_in_doubt(way: Any) -> None:
    rare = PROBA.copy()
    rare[:, 0], rare[:, 1] = 0.05, rare[:, 1] + 0.15
    some = CODES.copy()
    some[77] = 0
    for labels, proba in ((CODES, rare), (some, PROBA), (CODES * 0 + 1, PROBA)):
        way(labels, proba)
    # Labels with a 0 do not count from 1, whatever else they are taken for.
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        way(CODES - 1, PROBA)
    assert not any("counted from 1" in str(each.message) for each in found)


def test_names_say_which_is_meant() -> None:
    pd = pytest.importorskip("pandas", reason="needs pandas")
    table = pd.DataFrame(PROBA)
    for names in ([0, 1, 2], ["p_0", "p_1", "p_2"]):
        named = table.set_axis(names, axis=1)
        if names[0] != 0:
            assert in_memory(CODES, named) == pytest.approx(RIGHT, rel=1e-9)
            continue
        # A table numbers its columns by itself.
        with pytest.warns(UserWarning, match=MESSAGE):
            in_memory(CODES, named)
    assert in_memory(CODES, table.set_axis([1, 2, 3], axis=1)) == pytest.approx((OF_FIRST + OF_SECOND) / 2, rel=1e-9)
    assert in_memory(pd.Categorical(CODES, categories=[0, 1, 2]), PROBA) == pytest.approx(RIGHT, rel=1e-9)


@pytest.mark.filterwarnings("ignore:y_proba has columns .*, read as those of the classes .1, 2, 3.")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("names", [["a", "b", "c"], ["p_a", "p_b", "p_c"], ["I", "II", "III"], ["a1", "b1", "c1"]], ids=str)
def test_words_do_not_say_which_is_meant(way: Any, names: list[str]) -> None:
    pd = pytest.importorskip("pandas", reason="needs pandas")
    table = pd.DataFrame(PROBA, columns=names)
    for labels in (CODES, CODES.astype(float), pd.Series(pd.Categorical(CODES)), pd.Series(CODES, name="label")):
        given = pd.Series(labels)
        with pytest.warns(UserWarning, match=MESSAGE):
            assert way(given, table) == pytest.approx(RIGHT, rel=1e-9)
    assert way(pd.Series(CODES), table, labels=[1, 2, 3]) == pytest.approx((OF_FIRST + OF_SECOND) / 2, rel=1e-9)
    for kind in ("top-label", "canonical"):
        with pytest.warns(UserWarning, match=MESSAGE):
            decompose(CODES, table, generator="brier", notion=kind, kernel=None)


@pytest.mark.parametrize("way", WAYS)
def test_numbers_in_names_and_categories_say_it(way: Any) -> None:
    pd = pytest.importorskip("pandas", reason="needs pandas")
    for names in (["p_0", "p_1", "p_2"], ["zero", "one", "two"], ["class0", "class1", "class2"]):
        assert way(pd.Series(CODES), pd.DataFrame(PROBA, columns=names)) == pytest.approx(RIGHT, rel=1e-9)
    if way is not in_chunks:
        for table in (pd.DataFrame(PROBA, columns=list("abc")), pd.DataFrame(PROBA)):
            assert way(pd.Series(pd.Categorical(CODES, [0, 1, 2])), table) == pytest.approx(RIGHT, rel=1e-9)


@pytest.mark.parametrize("way", WAYS)
def test_of_two_columns_and_one_class_it_is_in_doubt_too(way: Any) -> None:
    pd = pytest.importorskip("pandas", reason="needs pandas")
    two, ones = np.tile([0.4, 0.6], (N, 1)), np.ones(N, dtype=int)
    for proba in (two, pd.DataFrame(two, columns=["a", "b"])):
        with pytest.warns(UserWarning, match=r"^y_true holds 1 and no 0: .* 48 rows be of class 0\. .*range\(1, 3\)"):
            assert way(pd.Series(ones) if proba is not two else ones, proba) == pytest.approx(2 * 0.4**2, rel=1e-9)
        assert way(ones, two, labels=[1, 2]) == pytest.approx(2 * 0.6**2, rel=1e-9)
        if way is in_chunks:
            with pytest.warns(UserWarning, match="48 rows be of class 0"):
                assert way(ones, two, notion="canonical") == pytest.approx(2 * 0.4**2, rel=1e-9)
    way(ones, two[:, 1])
    way(pd.Series(ones), pd.DataFrame(two, columns=["p_0", "p_1"]))


def test_predictions_say_that_labels_count_from_1_where_several_classes_are_absent() -> None:
    few = np.arange(N) % 3
    proba = np.where(np.eye(5)[few] > 0, 0.8, 0.05)
    evidence = r"^y_true holds 1 to 3 and no 0: .* by y_proba they are e\^333 times as probable .*range\(1, 6\).*range\(5\)"
    with pytest.warns(UserWarning, match=evidence):
        # 120 · log(0.8 / 0.05) = 332.7.
        in_memory(few + 1, proba)
    with pytest.warns(UserWarning, match=r"^y_true holds 3 and no 0: .* by y_proba they are e\^111 times"):
        in_memory(few[few == 2] + 1, proba[few == 2])
    # As they say, or with no more than two rows of evidence, they are numbers of columns.
    right = in_memory(few[few > 0], proba[few > 0])
    assert right == pytest.approx(in_memory(few[few > 0], proba[few > 0], labels=range(5)), rel=1e-12)
    in_memory(np.array([1, 2]), proba[:2])
    in_memory(few[few > 0], np.where(np.eye(5)[few[few > 0]] > 0, 1.0, 0.0))


def test_so_they_do_at_each_place_of_lazy_arrays() -> None:
    xr, _ = pytest.importorskip("xarray"), pytest.importorskip("dask.array", reason="needs Dask")
    from propercal.xarray import decompose as decompose_places

    few = np.stack([np.arange(N) % 3, np.arange(N) % 5])
    proba = xr.DataArray(np.where(np.eye(5)[few] > 0, 0.8, 0.05), dims=["place", "row", "k"])
    labels = xr.DataArray(few + 1, dims=["place", "row"])
    settings = {**SETTINGS, "class_dim": "k", "dim": "row"}
    right = decompose_places(labels, proba, **settings).risk
    assert right.values == pytest.approx(np.full(2, 2 * (0.2**2 + 4 * 0.05**2) / 5), rel=1e-9)
    with pytest.warns(UserWarning, match=r"^at place = 0: y_true holds 1 to 3 and no 0: .*e\^333 times"):
        lazy = decompose_places(labels.chunk(place=1), proba, **settings).risk.compute()
    assert float(lazy[1]) == pytest.approx(float(right[1]), rel=1e-12)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:y_proba has columns.* read as those of the classes")
# Of the rows that count the last class is the most probable, and none is of it.
@pytest.mark.filterwarnings("ignore:.* ascends from column to column")
def test_a_label_that_is_ignored_is_none_of_the_categories_that_count() -> None:
    pd = pytest.importorskip("pandas", reason="needs pandas")
    right = (OF_FIRST + OF_SECOND) / 2
    table = pd.DataFrame(PROBA, columns=list("abc"))
    labels = CODES.copy()
    labels[:40] = 0
    words = np.array(["void", "a", "b"])[labels]
    for ordered in (True, False):
        for y_true, void, proba in (
            (pd.Categorical(labels, [0, 1, 2, 3], ordered=ordered), 0, PROBA), (pd.Categorical(labels, [0, 1, 2, 3], ordered=ordered), 0, table),
            (pd.Categorical(words, ["a", "b", "c", "void"], ordered=ordered), "void", PROBA),
        ):
            for way in (in_memory, in_partitions):
                assert way(pd.Series(y_true), proba, ignore_index=void) == pytest.approx(right, rel=1e-9)
    # Of a class of its own, which is ignored, it is one of as many as there are columns.
    background = pd.Series(pd.Categorical(labels, [0, 1, 2]))
    for way in (in_memory, in_partitions):
        assert way(background, PROBA, ignore_index=0) == pytest.approx(RIGHT, rel=1e-9)


def test_rows_that_do_not_count_are_not_missed() -> None:
    weight = (np.arange(N) < 30) * 1.0
    for labels, options in ((CODES, {"sample_weight": weight}), (np.where(weight > 0, CODES, -1), {"ignore_index": -1})):
        in_memory(labels, PROBA, **options)


def test_each_of_two_predictions_is_named() -> None:
    with pytest.warns(UserWarning, match="though y_proba_a lets 24 rows"), pytest.warns(UserWarning, match="though y_proba_b lets 40 rows"):
        paired_difference(CODES, PROBA, np.full((N, 3), 1 / 3), kernel=None)


@pytest.mark.parametrize("way", [in_memory, in_partitions])
def test_zeros_that_do_not_count_say_that_labels_count_from_0(way: Any) -> None:
    labels = np.where(np.arange(N) < 40, 0, CODES)
    weight = (labels > 0) * 1.0
    right = in_memory(labels[40:], PROBA[40:], labels=[0, 1, 2])
    pd = pytest.importorskip("pandas", reason="needs pandas")
    assert way(pd.Series(labels), PROBA, ignore_index=0) == pytest.approx(right, rel=1e-9)
    if way is in_memory:
        assert way(labels, PROBA, sample_weight=weight) == pytest.approx(right, rel=1e-9)
    # Unless predictions say that 0 is none of them.
    with pytest.warns(UserWarning, match=r"e\^\d+ times as probable if counted from 1"):
        in_memory(labels, PROBA[:, [1, 2, 0]], ignore_index=0)
