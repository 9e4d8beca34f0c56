"""Rows of which one side alone has an index stand side by side, unless predictions say that they are to be sorted."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from propercal import (
    CalibrationMonitor,
    CalibrationSketch,
    crps_decomposition,
    crps_difference,
    decompose,
    decompose_groups,
)
from propercal._data.dependence.groups import validate_groups

pd = pytest.importorskip("pandas", reason="needs pandas")

N, K = 60, 3
CODES = np.random.default_rng(1).permutation(N) % K
#: Of the class that occurred 0.6 or more, and different in each row.
TOP = np.linspace(0.6, 0.8, N)[:, None]
PROBA = np.where(np.eye(K)[CODES] == 1, TOP, (1 - TOP) / 2)
MARKS = np.random.default_rng(2).random((N, K)) < 0.4
SEPARATE = np.where(MARKS, 0.75, 0.2)
ORDER = np.random.default_rng(0).permutation(N)
RIGHT = float(((PROBA - np.eye(K)[CODES]) ** 2).sum(axis=1).mean())
TABLE = pd.DataFrame(PROBA)
SHUFFLED = TABLE.iloc[ORDER]
FOLDS = [TABLE[i::5] for i in range(5)]
TEXTS = [f"row_{i}" for i in range(N)]
DAYS = pd.date_range("2024-01-01", periods=N).strftime("%d/%m/%Y")
SIDE = r"^{} has the index .* has none: rows were read side by side, though by y_proba labels are e\^\d+ times as probable if {} is sorted by {}\. {}, or pass"


def risk(y_true: Any, y_proba: Any, **options: Any) -> float:
    return float(decompose(y_true, y_proba, generator="brier", method="risk", bandwidth=0.1, **options).risk)


@pytest.mark.parametrize(
    ("y_true", "table", "what", "how"),
    [
        (CODES, pd.concat(FOLDS, keys=range(5)), "level 1 of its index", r"Call \.sort_index\(level=1\) on it"),
        (CODES, pd.concat(FOLDS, keys=range(5), names=["fold", "row"]), "level 'row' of its index", r"Call \.sort_index\(level='row'\) on it"),
        (CODES, pd.concat([each.reset_index(drop=True) for each in FOLDS]), "its index", r'Call \.sort_index\(kind="stable"\) on it'),
        (pd.Series(CODES), TABLE.set_axis(TEXTS).sort_index(), "the numbers in its index", "Sort it so"),
        (CODES, TABLE.set_axis(TEXTS).iloc[ORDER], "the numbers in its index", "Sort it so"),
        (pd.Series(CODES), TABLE.set_axis(DAYS).sort_index(), "the times in its index", "Sort it so"),
    ],
    ids=["level", "named level", "folds", "texts sorted", "texts shuffled", "days"],
)
def test_what_rows_are_rather_sorted_by(y_true: Any, table: Any, what: str, how: str) -> None:
    with pytest.warns(UserWarning, match=SIDE.format("y_proba", "y_proba", what, how)):
        assert risk(y_true, table) > 1.5 * RIGHT


def test_labels_that_are_rather_sorted() -> None:
    with pytest.warns(UserWarning, match=SIDE.format("y_true", "y_true", "the numbers in its index", "Sort it so")):
        risk(pd.Series(CODES, TEXTS).sort_index(), TABLE)


def test_the_advice_is_right() -> None:
    assert risk(CODES, pd.concat(FOLDS, keys=range(5)).sort_index(level=1)) == pytest.approx(RIGHT, rel=1e-12)
    assert risk(CODES, pd.concat([each.reset_index(drop=True) for each in FOLDS]).sort_index(kind="stable")) == pytest.approx(RIGHT, rel=1e-12)
    assert risk(CODES[ORDER], SHUFFLED.to_numpy()) == pytest.approx(RIGHT, rel=1e-12)


def test_rows_that_do_not_count_do_not_hide_it() -> None:
    message = SIDE.format("y_proba", "y_proba", "its index", r"Call \.sort_index\(\) on it")
    weight, some = np.ones(N), CODES.copy()
    weight[5] = 0
    some[:3] = -1
    for y_true, options in ((CODES, {"sample_weight": weight}), (CODES, {"ignore_index": 7}), (some, {"ignore_index": -1})):
        with pytest.warns(UserWarning, match=message):
            risk(y_true, SHUFFLED, **options)
        risk(y_true, TABLE, **options)


def test_separate_columns_tell_rows_too() -> None:
    table = pd.DataFrame(SEPARATE, columns=list("abc"))
    marks = pd.DataFrame(MARKS, columns=list("abc"))
    right = risk(marks, table, notion="classwise")
    assert risk(marks.to_numpy(), table, notion="classwise") == pytest.approx(right, rel=1e-12)
    with pytest.warns(UserWarning, match=SIDE.format("y_proba", "y_proba", "its index", r"Call \.sort_index\(\) on it")):
        risk(MARKS, table.iloc[ORDER], notion="classwise")


def test_a_coordinate_is_an_index_too() -> None:
    xr = pytest.importorskip("xarray", reason="needs xarray")
    array = xr.DataArray(PROBA, dims=("i", "k")).assign_coords(row=("i", np.arange(N)), name=("i", [f"p{i:02}" for i in range(N)]))
    assert risk(pd.Series(CODES), array) == pytest.approx(RIGHT, rel=1e-12)
    with pytest.raises(ValueError, match=r"^y_true = rows of the index 0, 1, 2, 3, \.\.\.: expected the order of y_proba, whose index is .*\.sortby, \.drop_vars"):
        risk(pd.Series(CODES), array.drop_vars("name").isel(i=ORDER))
    for name in ("row", "name"):
        alone = array.drop_vars({"row", "name"} - {name}).isel(i=ORDER)
        with pytest.warns(UserWarning, match=SIDE.format("y_proba", "y_proba", f"the coordinate '{name}'", rf"Call \.sortby\('{name}'\) on it")):
            risk(CODES, alone)
        assert risk(CODES, alone.sortby(name)) == pytest.approx(RIGHT, rel=1e-12)


def test_a_level_that_is_a_shuffled_default_index_is_refused_beside_one() -> None:
    site = np.arange(N) % 4
    moved = TABLE.assign(site=site).sort_values("site", kind="stable").set_index("site", append=True)
    message = r"^y_true = rows of the index 0, 1, 2, 3, \.\.\.: expected the order of y_proba, whose index is"
    for table in (pd.concat(FOLDS, keys=range(5)), moved):
        with pytest.raises(ValueError, match=message):
            risk(pd.Series(CODES), table)
    # Whose levels both sides have are matched.
    both = pd.DataFrame({"y": CODES, "site": site}).set_index("site", append=True)["y"]
    assert risk(both, moved) == pytest.approx(RIGHT, rel=1e-12)
    weight = pd.Series(np.arange(N) + 1.0)
    with pytest.raises(ValueError, match=r"^sample_weight = rows of the index"):
        risk(pd.Series(CODES), TABLE, sample_weight=pd.concat([weight[i::5] for i in range(5)], keys=range(5)))


@pytest.mark.filterwarnings("ignore:no row had an outcome of predicted probability at most")
@pytest.mark.parametrize("argument", ["sample_weight", "groups"])
def test_what_was_shuffled_beside_arrays_is_refused(argument: str) -> None:
    given = pd.Series(np.arange(N) // 2 + 1)
    for moved in (given.iloc[ORDER], given[::-1]):
        with pytest.raises(ValueError, match=rf"^{argument} = rows of the index .*: expected 0 to 59 in order, or an index of y_true or y_proba too"):
            decompose(CODES, PROBA, generator="brier", **{argument: moved})
    right = decompose(CODES, PROBA, generator="brier", **{argument: given.to_numpy()})
    for each in (given.iloc[ORDER].sort_index(), given.set_axis(TEXTS), given.set_axis(np.arange(N) + 7)):
        found = decompose(CODES, PROBA, generator="brier", **{argument: each})
        assert found.risk == pytest.approx(right.risk, rel=1e-12)
    labels = pd.Series(CODES).iloc[ORDER]
    assert decompose(labels, PROBA[ORDER], generator="brier", **{argument: given.iloc[ORDER]}).risk == pytest.approx(right.risk, rel=1e-12)


def test_what_is_said_of_columns_is_not_said_of_rows() -> None:
    with pytest.warns(UserWarning, match="^y_proba has") as found:
        risk(pd.Series(CODES, np.arange(N)[::-1] + 5), PROBA[:, [2, 0, 1]])
    assert [str(each.message)[:19] for each in found] == ["y_proba has columns"]


IN_ORDER = r"^{} has the index .* has none: rows were read side by side, though .* if {} is in the order of {}\. Give {} the index of its rows, be it that of {} or of {}\.$"


@pytest.mark.parametrize("of_proba", [False, True], ids=["labels", "predictions"])
@pytest.mark.parametrize("name", ["sample_weight", "groups"])
def test_rows_that_are_rather_in_the_order_of_weights(name: str, of_proba: bool) -> None:
    ids = np.random.default_rng(3).permutation(1000)[:N]
    weight = np.linspace(0.5, 2, N) if name == "sample_weight" else np.arange(N) // 2
    beside = pd.Series(weight, pd.Index(ids, name="i"))
    # What has no index was made beside the weights.
    named, other = ("y_proba", "y_true") if of_proba else ("y_true", "y_proba")
    index = pd.Index(ids, name="i")[ORDER]
    labels = CODES if of_proba else pd.Series(CODES[ORDER], index)
    proba = pd.DataFrame(PROBA[ORDER], index) if of_proba else PROBA
    with pytest.warns(UserWarning, match=IN_ORDER.format(named, named, name, other, named, name)):
        validate_groups(labels, proba, **{name: beside})
    # As is advised.
    labels, proba = (pd.Series(CODES, ids), proba) if of_proba else (labels, pd.DataFrame(PROBA, ids))
    assert rows_of(labels, proba, beside, name) == rows_of(CODES, PROBA, weight, name)


def rows_of(y_true: Any, y_proba: Any, beside: Any, name: str) -> set[Any]:
    """Return the labels and the largest probabilities of rows of one weight, or of one group."""
    found = validate_groups(y_true, y_proba, **{name: beside})
    marks = found.weight if found.groups is None else found.groups
    rows = pd.DataFrame({"label": found.label, "top": found.prob.max(axis=1).round(12)})
    return {frozenset(each.itertuples(index=False)) for _, each in rows.groupby(np.round(marks, 12))}


def test_subgroups_and_coordinates_in_another_order() -> None:
    xarray = pytest.importorskip("xarray", reason="needs xarray")
    ids = np.random.default_rng(3).permutation(1000)[:N]
    labels = xarray.DataArray(CODES, dims="i", coords={"i": ids})[ORDER]
    weight = xarray.DataArray(np.linspace(0.5, 2, N), dims="i", coords={"i": ids})
    message = IN_ORDER.format("y_true", "y_true", "sample_weight", "y_proba", "y_true", "sample_weight")
    with pytest.warns(UserWarning, match=message):
        risk(labels, PROBA, sample_weight=weight)
    groups = pd.Series(np.where(np.arange(N) < N // 2, "u", "v"), ids)
    with pytest.warns(UserWarning, match=message.replace("sample_weight", "groups")):
        decompose_groups(labels.to_series(), PROBA, groups=groups, generator="brier", n_resamples=19)


def test_outcomes_of_which_one_side_has_an_index() -> None:
    """By the distance from the mean of members: outcomes are within 1 of it, and means 3 apart."""
    rng = np.random.default_rng(0)
    centre = 3 * rng.normal(size=80)
    outcome, members = centre + rng.normal(size=80), centre[:, None] + rng.normal(size=(80, 5))
    order, index = rng.permutation(80), pd.date_range("2024", periods=80)
    series, table = pd.Series(outcome, index), pd.DataFrame(members, index)
    right = crps_decomposition(outcome, members).risk
    assert crps_decomposition(series, members).risk == crps_decomposition(series.iloc[order], members[order]).risk == pytest.approx(right, rel=1e-12)
    told = r"^{} has the index .* has none: rows were read side by side, though by {} outcomes are e\^\d+ times as probable if {} is sorted by its index\. Call \.sort_index"
    with pytest.warns(UserWarning, match=told.format("y_true", "ensemble", "y_true")):
        assert crps_decomposition(series.iloc[order], members).risk > right
    with pytest.warns(UserWarning, match=told.format("ensemble", "ensemble", "ensemble")):
        crps_decomposition(outcome, table.iloc[order])
    with pytest.warns(UserWarning, match=told.format("ensemble_b", "ensemble_b", "ensemble_b")):
        crps_difference(outcome, members, table.iloc[order] + 0.3)
    # As the message says; and forecasts that say nothing doubt nothing.
    assert crps_decomposition(outcome, table.iloc[order].sort_index()).risk == pytest.approx(right, rel=1e-12)
    for seed in range(20):
        crps_decomposition(series.iloc[order], np.random.default_rng(seed).normal(size=(80, 5)))


def warned(call: Any) -> list[Any]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call()
    return found


@pytest.mark.parametrize("make", [CalibrationSketch, CalibrationMonitor])
def test_rows_of_an_update_of_which_one_side_has_an_index(make: Any) -> None:
    rng = np.random.default_rng(0)
    codes, order = np.arange(90) % 3, rng.permutation(90)
    proba, labels = np.eye(3)[codes] * 0.7 + 0.1, pd.Series(codes)
    with pytest.warns(UserWarning, match=r"^y_true has the index .* if y_true is sorted by its index"):
        make(3).update(labels.iloc[order], proba)
    make(3).update(labels.iloc[order], proba[order])
    # Columns in another order are no reason to doubt rows.
    told = [str(each.message) for each in warned(lambda: make(3).update(labels.iloc[order], proba[order][:, [1, 2, 0]]))]
    assert not any("side by side" in each for each in told)
