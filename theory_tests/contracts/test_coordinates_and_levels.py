"""Coordinates of labelled arrays beside levels of an index, and a grid of coordinates beside an index: never ignored.

The rows are those of `test_rows.py`: the Brier score is 0.06 in all but the first.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from propercal import CalibrationMonitor, decompose
from theory_tests.contracts.test_rows import (
    IDS,
    LABELS,
    ORDER,
    PROBA,
    SETTINGS,
    WEIGHT,
    WEIGHTED,
    N,
    array,
    check,
    refused,
)

pytestmark = pytest.mark.filterwarnings("ignore:(only [0-9]+|no) rows? had an outcome")

ALL = np.arange(N)
#: Three visits of each patient, so that no patient tells a row.
PATIENT, VISIT = np.array([f"p{i // 3}" for i in ALL]), ALL % 3
LEVELS = pd.MultiIndex.from_arrays([PATIENT, VISIT], names=["patient", "visit"])
ANOTHER = "in another order"


def beside(**others: Any) -> xr.DataArray:
    """Return predictions whose rows have coordinates of other names than their dimension."""
    return array(PROBA, "row", "class", **{"class": list("abc")}, **{name: ("row", each) for name, each in others.items()})


def indexed(values: Any, index: Any) -> pd.Series:
    return pd.Series(values, index=index)


def test_a_level_beside_a_coordinate_of_its_name() -> None:
    stacked = beside().assign_coords(xr.Coordinates.from_pandas_multiindex(LEVELS, "row"))
    for name, level in (("patient", PATIENT), ("visit", VISIT)):
        check(array(LABELS, "row", **{name: ("row", level)}), stacked)
        moved = array(LABELS, "row", **{name: ("row", level)})[ORDER]
        refused(f"y_true = coordinates .* of '{name}'", moved, stacked)
        refused(f"sample_weight = .*'{name}'", LABELS, stacked, sample_weight=moved.copy(data=WEIGHT[ORDER]))
    # One of several dimensions has it.
    cube = stacked.expand_dims(member=2).assign_coords(member=["u", "v"])
    labels = array([LABELS, LABELS], "member", "row", member=["u", "v"], patient=("row", PATIENT))
    check(labels, cube, class_dim="class")
    refused("y_true = coordinates .* of 'patient'", labels[:, ORDER], cube, class_dim="class")


def test_a_level_that_tells_rows_matches_them() -> None:
    levels = pd.MultiIndex.from_arrays([IDS, VISIT], names=["id", "visit"])
    stacked = beside().assign_coords(xr.Coordinates.from_pandas_multiindex(levels, "row"))
    weight = array(WEIGHT, "row", id=("row", IDS))
    check(array(LABELS, "row", id=("row", IDS))[ORDER], stacked, WEIGHTED, sample_weight=weight[ORDER[::-1]])


@pytest.mark.parametrize("index", [LEVELS, LEVELS.swaplevel(), LEVELS.droplevel("visit"), pd.MultiIndex.from_arrays([PATIENT, VISIT, ALL], names=["patient", "visit", "n"])])
def test_a_named_index_beside_a_coordinate_of_its_name(index: Any) -> None:
    for proba in (beside(patient=PATIENT), beside(patient=PATIENT, visit=VISIT), beside(patient=PATIENT, other=WEIGHT)):
        check(indexed(LABELS, index), proba, WEIGHTED, sample_weight=indexed(WEIGHT, index))
        refused(ANOTHER, indexed(LABELS, index).iloc[ORDER], proba)
        refused("sample_weight = .*" + ANOTHER, LABELS, proba, sample_weight=indexed(WEIGHT, index).iloc[ORDER])
        refused("groups = .*" + ANOTHER, LABELS, proba, groups=indexed(PATIENT, index).iloc[ORDER])
    # Other names, of values that repeat, say nothing of each other.
    check(indexed(LABELS, pd.Index(VISIT[ORDER], name="visit")), beside(patient=VISIT))


def test_times_of_other_types() -> None:
    days = pd.date_range("2024-01-01", periods=N)
    forms = [days, days.tz_localize("UTC"), days.to_period("D"), pd.Index(list(days.date)), days.strftime("%Y-%m-%d")]
    for own in forms:
        for wanted in (days, days.strftime("%Y-%m-%d").to_numpy()):
            check(indexed(LABELS, own), beside(when=wanted))
            refused(ANOTHER, indexed(LABELS, own).iloc[ORDER], beside(when=wanted))
    # Of other days, or of none.
    check(indexed(LABELS, (days + pd.Timedelta(days=1))[ORDER]), beside(when=days))
    check(indexed(LABELS, IDS[ORDER]), beside(when=days))


@pytest.mark.parametrize("turned", [False, True])
def test_a_grid_of_coordinates_beside_an_index(turned: bool) -> None:
    ids = (("a", "b"), IDS.to_numpy().reshape(5, 6))
    proba = array(PROBA.reshape(5, 6, 3), "a", "b", "c", c=list("abc"), id=ids)
    labels, weight = array(LABELS.reshape(5, 6), "a", "b", id=ids), indexed(WEIGHT, IDS)
    if turned:
        labels = labels.transpose("b", "a")
    check(indexed(LABELS, IDS), proba, WEIGHTED, class_dim="c", sample_weight=weight)
    refused("y_true = .*" + ANOTHER, indexed(LABELS, IDS).iloc[ORDER], proba, class_dim="c")
    refused("sample_weight = .*" + ANOTHER, LABELS, proba, class_dim="c", sample_weight=weight.iloc[ORDER])
    refused("sample_weight = rows|.*" + ANOTHER, labels, proba, class_dim="c", sample_weight=weight.iloc[ORDER])
    refused("groups = .*" + ANOTHER, LABELS, proba, class_dim="c", groups=indexed(PATIENT, IDS).iloc[ORDER])
    # Others say nothing.
    check(indexed(LABELS, [f"x{i}" for i in ORDER]), proba, class_dim="c")


def test_a_grid_of_times_is_no_series() -> None:
    """As of forecasts, whose times are those of their starts and as much later as they look ahead."""
    times = pd.date_range("2024-01-01", periods=5).to_numpy()[:, None] + np.arange(6) * np.timedelta64(1, "D")
    proba = array(PROBA.reshape(5, 6, 3), "a", "b", "c", valid=(("a", "b"), times))
    monitor, expected = CalibrationMonitor(3), CalibrationMonitor(3)
    codes = np.array(["abc".index(each) for each in LABELS])
    monitor.update(array(codes.reshape(5, 6), "a", "b"), proba)
    expected.update(codes, PROBA)
    assert monitor.log_e_value == expected.log_e_value


def test_text_of_pyarrow_in_labelled_arrays() -> None:
    pytest.importorskip("pyarrow")
    labels = xr.DataArray(indexed(LABELS, IDS).astype("string[pyarrow]"))
    proba = xr.DataArray(pd.DataFrame(PROBA, IDS, list("abc")))
    weight = indexed(WEIGHT, IDS)
    check(labels, proba)
    assert decompose(xr.DataArray(indexed(LABELS, IDS).astype("string[pyarrow]").iloc[ORDER]), proba, sample_weight=weight, **SETTINGS).risk == pytest.approx(WEIGHTED, rel=1e-12)
