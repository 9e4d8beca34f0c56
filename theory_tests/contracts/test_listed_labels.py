"""An index of the classes that a caller lists says of which column each is: in the order of columns, or refused.

The Brier score of three classes is 0.2² + 2 · 0.1² = 0.06, and that of columns in another order larger.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from propercal import CalibrationMonitor, CalibrationSketch, decompose
from propercal.information import layer_sharpness
from propercal.recalibration import TemperatureScaling

CODES = np.arange(30) % 3
P = np.eye(3)[CODES] * 0.7 + 0.1
NAMES = ["c", "a", "b"]
LABELS = np.array(NAMES)[CODES]
RIGHT = 0.2**2 + 2 * 0.1**2


def risk(labels: Any, y_proba: Any = P) -> float:
    return float(decompose(LABELS, y_proba, labels=labels, generator="brier", method="risk", bandwidth=0.1).risk)


def listed(index: Any) -> list[Any]:
    """Return the classes of columns under an index, as those hold them that have one."""
    return [pd.Series(NAMES, index=index), xr.DataArray(NAMES, {"k": index}, ("k",)), pd.Series(NAMES, index=pd.Index(index)).astype("category")]


@pytest.mark.parametrize("index", [[0, 1, 2], [1, 2, 3], [4, 17, 30], [30, 4, 17], [3, 0, 7], list("xyz"), list("zxy"), [10.5, 3.5, 0.5]], ids=str)
def test_an_index_in_the_order_of_columns_or_of_rows_says_nothing_else(index: list[Any]) -> None:
    for labels in listed(index):
        assert risk(labels) == pytest.approx(RIGHT, rel=1e-12)


@pytest.mark.parametrize("index", [[2, 0, 1], [1, 0, 2], [3, 1, 2], ["2", "0", "1"], [2.0, 0.0, 1.0]], ids=str)
def test_an_index_that_numbers_columns_in_another_order_is_refused(index: list[Any]) -> None:
    for labels in listed(index):
        for call in (
            lambda labels=labels: risk(labels),
            lambda labels=labels: CalibrationSketch(3, labels=labels),
            lambda labels=labels: CalibrationMonitor(labels=labels),
            lambda labels=labels: TemperatureScaling(labels=labels).fit(P, LABELS),
            lambda labels=labels: layer_sharpness([P], LABELS, labels=labels),
        ):
            with pytest.raises(ValueError, match=r"^labels = \['c', 'a', 'b'\] under the numbers .*sort_index\(\).*to_numpy\(\)"):
                call()
    # The way out of it.
    assert risk(pd.Series(NAMES, index=index).to_numpy()) == pytest.approx(RIGHT, rel=1e-12)
    codes = pd.Series(NAMES).sort_values()
    assert risk(codes.sort_index()) == pytest.approx(RIGHT, rel=1e-12)


def test_an_index_that_names_columns_in_another_order_is_refused() -> None:
    table = pd.DataFrame(P, columns=["x", "y", "z"])
    for labels in listed(["x", "y", "z"]):
        assert risk(labels, table) == pytest.approx(RIGHT, rel=1e-12)
        with pytest.raises(ValueError, match=r"^labels = .* of the columns \['x', 'y', 'z'\]: expected the order of those of y_proba, \['z', 'x', 'y'\]"):
            risk(labels, table[["z", "x", "y"]])
    # Other names are not those of columns.
    for labels in listed(["u", "w", "v"]):
        assert risk(labels, table) == pytest.approx(RIGHT, rel=1e-12)
