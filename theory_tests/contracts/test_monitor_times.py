"""Times of the rows of a monitor, which must not go back, also after it was written and read again."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
import pytest

from propercal import CalibrationMonitor
from propercal.generators import Quadratic
from propercal.monitor.times import read
from theory_tests.instances import unrelated

pd = pytest.importorskip("pandas")

CODES, PROBA = unrelated(60)


def _monitor_of(index: Any, rows: slice) -> CalibrationMonitor:
    monitor = CalibrationMonitor(3)
    monitor.update(pd.Series(CODES[rows], index), pd.DataFrame(PROBA[rows], index))
    return monitor


@pytest.mark.parametrize("times", ["stamps", "zone", "dates", "text", "steps", "periods"])
def test_bytes_hold_the_time_of_the_last_row(times: str) -> None:
    stamps = pd.date_range("2024-01-01 00:00:00.123456789", periods=60, freq="h")
    index = {
        "stamps": stamps,
        "zone": stamps.tz_localize("Asia/Tokyo"),
        "dates": pd.Index(pd.date_range("2024-01-01", periods=60).date),
        "text": stamps.astype(str),
        "steps": stamps - stamps[0],
        "periods": stamps.to_period("h"),
    }[times]
    first, later = slice(30), slice(30, 60)
    monitor = CalibrationMonitor.from_bytes(_monitor_of(index[later], first).to_bytes())
    assert monitor.to_bytes() == CalibrationMonitor.from_bytes(monitor.to_bytes()).to_bytes()
    if times == "periods":
        # They have a frequency too, which bytes do not hold.
        return
    with pytest.raises(ValueError, match="rows of the time"):
        monitor.update(pd.Series(CODES[later], index[first]), PROBA[later])
    with pytest.raises(ValueError, match="rows of the time"):
        monitor.update(pd.Series(CODES[first], index[later]), PROBA[first])
    monitor = CalibrationMonitor.from_bytes(_monitor_of(index[first], first).to_bytes())
    monitor.update(pd.Series(CODES[later], index[later]), PROBA[later])
    assert monitor.n_samples == 60


def test_times_with_and_without_a_zone_are_compared_where_no_zone_matters() -> None:
    index = pd.date_range("2024-01-01", periods=60, freq="h")
    monitor = _monitor_of(index[30:].tz_localize("UTC"), slice(30))
    with pytest.raises(ValueError, match="rows of the time 2024-01-01 00:00:00, after those of"):
        monitor.update(pd.Series(CODES[30:], index[:30]), PROBA[30:])
    # The clock of where it is may be behind.
    monitor.update(pd.Series(CODES[30:], index[30:] + pd.Timedelta("18h")), PROBA[30:])


@pytest.mark.parametrize(
    "saved", [[], "time", ["time", "2024"], ["time", "2024-01-01", 3], ["date", "x", "y"], ["microseconds", "1", 2], [[], 1, 2], ["text", 1, "a"], ["microseconds", 1e300, 1]]
)
def test_times_that_no_monitor_wrote(saved: Any) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  # whoever reads bytes says what is wrong with them
        read(saved)


def test_a_monitor_of_costs_is_saved_and_merged() -> None:
    costs = np.array([[2.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    whole, first, later = (
        CalibrationMonitor(3, generator=Quadratic(costs), first_row=start) for start in (0, 0, 30)
    )
    whole.update(CODES, PROBA)
    first.update(CODES[:30], PROBA[:30])
    later.update(CODES[30:], PROBA[30:])
    again = CalibrationMonitor.from_bytes(whole.to_bytes(), generator=Quadratic(costs))
    assert again.lower_bound == whole.lower_bound
    assert first.merge(later).n_samples == 60
    with pytest.raises(ValueError, match="generator = Quadratic"):
        CalibrationMonitor.from_bytes(whole.to_bytes(), generator=Quadratic(2 * costs))
    with pytest.raises(ValueError, match="later = a monitor with generator"):
        whole.merge(CalibrationMonitor(3, generator=Quadratic(2 * costs), first_row=60))


@pytest.mark.parametrize("holder", ["arrow", "rows", "labelled rows", "narwhals", "deque"])
def test_times_in_every_holder_of_rows_that_has_some(holder: str) -> None:
    narwhals, pa, xr = (pytest.importorskip(each) for each in ("narwhals", "pyarrow", "xarray"))
    days = pd.date_range("2024-01-01", periods=60)
    order, steps = np.random.default_rng(0).permutation(60), np.arange(60)
    expected = CalibrationMonitor(3)
    expected.update(CODES, PROBA)

    def held(rows: Any, values: Any = PROBA) -> Any:
        frame = pd.DataFrame(values[rows], days[rows], ["0", "1", "2"])
        if holder == "arrow":
            return pa.Table.from_pandas(frame)
        if holder == "narwhals":
            return narwhals.from_native(frame)
        if holder == "labelled rows":
            return list(xr.DataArray(frame.to_numpy(), dims=("row", "class"), coords={"row": days[rows]}))
        each = [row for _, row in frame.iterrows()]
        return deque(each) if holder == "deque" else each

    monitor = CalibrationMonitor(3)
    monitor.update(CODES[:30], held(steps[:30]))
    with pytest.raises(ValueError, match=r"rows of the time 2024-01-21 .*after those of 2024-01-30"):
        monitor.update(CODES[20:], held(steps[20:]))
    for odd in ((CODES, held(order)), (held(order, np.eye(3)[CODES]), PROBA)):
        with pytest.raises(ValueError, match=r"y_proba = rows of the times .*expected rows in the order of time"):
            CalibrationMonitor(3).update(*odd)
    monitor.update(CODES[30:], held(steps[30:]))
    assert monitor.log_e_value == pytest.approx(expected.log_e_value, rel=1e-12)
