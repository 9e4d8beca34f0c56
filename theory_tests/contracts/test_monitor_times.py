"""Times of the rows of a monitor, which must not go back, also after it was written and read again."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
import pytest

from propercal import CalibrationMonitor, decompose
from propercal.generators import Quadratic
from propercal.monitor.times import read, written
from theory_tests.instances import unrelated

pd = pytest.importorskip("pandas")

CODES, PROBA = unrelated(60)


def _monitor_of(index: Any, rows: slice) -> CalibrationMonitor:
    monitor = CalibrationMonitor(3)
    monitor.update(pd.Series(CODES[rows], index), pd.DataFrame(PROBA[rows], index))
    return monitor


@pytest.mark.parametrize("times", ["stamps", "zone", "dates", "text", "steps", "periods", "weeks", "quarters"])
def test_bytes_hold_the_time_of_the_last_row(times: str) -> None:
    stamps = pd.date_range("2024-01-01 00:00:00.123456789", periods=60, freq="h")
    index = {
        "stamps": stamps,
        "zone": stamps.tz_localize("Asia/Tokyo"),
        "dates": pd.Index(pd.date_range("2024-01-01", periods=60).date),
        "text": stamps.astype(str),
        "steps": stamps - stamps[0],
        "periods": stamps.to_period("h"),
        "weeks": pd.period_range("2024-01-01", periods=60, freq="W-WED"),
        "quarters": pd.period_range("1990Q1", periods=60, freq="Q-MAR"),
    }[times]
    first, later = slice(30), slice(30, 60)
    monitor = CalibrationMonitor.from_bytes(_monitor_of(index[later], first).to_bytes())
    assert monitor.to_bytes() == CalibrationMonitor.from_bytes(monitor.to_bytes()).to_bytes()
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
    "saved", [[], "time", ["time", "2024"], ["time", "2024-01-01", 3], ["date", "x", "y"], ["microseconds", "1", 2], [[], 1, 2], ["text", 1, "a"], ["microseconds", 1e300, 1], ["period", "1", "2"], ["period", "1 x", "2 x"], ["period", "a D", "2 D"], ["period", 1, 2], ["text", "a", "odd", "b"], ["period", "01 D", "period", "2 D"], ["number", "1", 2], ["number", True, 2], ["number", float("inf"), 2], ["number", None, 2]]
)
def test_times_that_no_monitor_wrote(saved: Any) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  # whoever reads bytes says what is wrong with them
        read(saved)


def test_times_of_two_kinds_are_kept() -> None:
    days = pd.period_range("2024-01-01", periods=60, freq="D")
    monitor = _monitor_of(days[:30], slice(30))
    monitor.update(pd.Series(CODES[30:40], days[30:40].to_timestamp()), PROBA[30:40])
    again = CalibrationMonitor.from_bytes(monitor.to_bytes())
    assert again._seen.times == (days[0], days[39].to_timestamp().to_pydatetime())
    with pytest.raises(ValueError, match="rows of the time 2024-01-01, after those of 2024-02-09"):
        again.update(pd.Series(CODES[:30], days[:30]), PROBA[:30])


def test_periods_of_two_lengths_are_compared_where_they_do_not_meet() -> None:
    days, months = pd.period_range("2024-03-01", periods=30, freq="D"), pd.period_range("2024-01", periods=30, freq="M")
    monitor = _monitor_of(days, slice(30))
    # The last day is in this month.
    monitor.update(pd.Series(CODES[30:58], months[2:]), PROBA[30:58])
    monitor = _monitor_of(days, slice(30))
    for before in (months[:2], months[:2].to_timestamp(), pd.Index(months[:2].to_timestamp().date)):
        with pytest.raises(ValueError, match="rows of the time 2024-01"):
            monitor.update(pd.Series(CODES[:2], before), PROBA[:2])


def test_bytes_of_times_of_one_kind_are_read_as_an_earlier_version_wrote_them() -> None:
    assert read(["text", "a", "b"]) == ("a", "b")
    assert read(["date", "2024-01-01", "2024-01-02"]) == read(["date", "2024-01-01", "date", "2024-01-02"])


def test_times_that_bytes_cannot_hold_are_refused() -> None:
    with pytest.raises(ValueError, match=r"rows whose last time is b'7', of type bytes: expected times that bytes can hold"):
        written((b"7", b"7"))


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


TEXTS = ["%d.%m.%Y %H:%M", "%m/%d/%Y %H:%M", "%d %b %Y %H:%M", "%d.%m.%Y %H:%M+02:00", "%Y-%m-%d %H:%M", "%Y/%m/%d", "%Y-W%V"]


@pytest.mark.parametrize("saved", [False, True])
@pytest.mark.parametrize("form", [*TEXTS, "category"])
def test_text_and_categories_do_not_go_back_from_one_update_to_the_next(form: str, saved: bool) -> None:
    stamps = pd.date_range("2024-01-20", periods=60, freq="D")
    index = pd.CategoricalIndex(stamps) if form == "category" else pd.Index(stamps.strftime(form))
    first, later = slice(30), slice(30, 60)

    def seen(rows: slice) -> CalibrationMonitor:
        monitor = _monitor_of(index[rows], rows)
        return CalibrationMonitor.from_bytes(monitor.to_bytes()) if saved else monitor

    with pytest.raises(ValueError, match="rows of the time"):
        seen(later).update(pd.Series(CODES[first], index[first]), PROBA[first])
    monitor = seen(first)
    monitor.update(pd.Series(CODES[later], index[later]), PROBA[later])
    assert monitor.n_samples == 60


def test_text_is_compared_with_times() -> None:
    stamps = pd.date_range("2024-01-20", periods=60, freq="D")
    kinds = [stamps, pd.Index(stamps.strftime("%d.%m.%Y")), pd.Index(stamps.strftime("%Y-%m-%d"))]
    for one in kinds:
        for other in kinds:
            with pytest.raises(ValueError, match="rows of the time"):
                _monitor_of(one[30:], slice(30)).update(pd.Series(CODES[30:], other[:30]), PROBA[30:])
            monitor = _monitor_of(one[:30], slice(30))
            monitor.update(pd.Series(CODES[30:], other[30:]), PROBA[30:])
            assert monitor.n_samples == 60


def test_text_that_may_go_on_is_not_refused() -> None:
    """Times of a day come again the next day, months without a year the next year, and 3/4/2024 is one of two days."""
    clock = pd.Index(pd.date_range("2024-01-01 09:00", periods=30, freq="min").strftime("%H:%M"))
    month = pd.Index(pd.date_range("2024-11-01", periods=30, freq="D").strftime("%b %d %H:%M"))
    pairs = [
        (clock, clock),
        (month, pd.Index(pd.date_range("2025-01-01", periods=30, freq="D").strftime("%b %d %H:%M"))),
        # March 4 and April 3 if months come first; April 3 and March 4 if days do.
        (pd.Index(["03/04/2024"] * 30), pd.Index(["04/03/2024"] * 30)),
        (pd.Index([f"r{i}" for i in range(30)]), pd.Index([f"a{i}" for i in range(30)])),
    ]
    for first, later in pairs:
        for saved in (False, True):
            monitor = _monitor_of(first, slice(30))
            monitor = CalibrationMonitor.from_bytes(monitor.to_bytes()) if saved else monitor
            monitor.update(pd.Series(CODES[30:], later), PROBA[30:])
            assert monitor.n_samples == 60
    # Both ways it is before.
    with pytest.raises(ValueError, match="rows of the time 01/02/2024, after those of 03/04/2024"):
        _monitor_of(pairs[2][0], slice(30)).update(pd.Series(CODES[30:], ["01/02/2024"] * 30), PROBA[30:])


def test_blocks_of_categories_of_times_are_in_their_order() -> None:
    times = pd.CategoricalIndex(pd.date_range("2024-01-01", periods=60, freq="D"))
    for rows, fine in ((np.arange(60), True), (np.arange(60)[::-1], True), (np.random.default_rng(0).permutation(60), False)):
        data = pd.Series(CODES[rows], times[rows]), pd.DataFrame(PROBA[rows], times[rows])
        if fine:
            decompose(*data, blocks=2)
            continue
        with pytest.raises(ValueError, match="beside rows of the index"):
            decompose(*data, blocks=2)


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


#: Names of numbers that are times, whether those of one update follow those of the last, and others.
NUMBERED = {"timestamp": True, "ts": True, "event_ts": True, "Unix Time": True, "date": True, "time": False, "event_time": False}


@pytest.mark.parametrize("saved", [False, True])
@pytest.mark.parametrize("dtype", [np.int64, np.float64, np.uint32])
@pytest.mark.parametrize("name", NUMBERED)
def test_numbers_that_are_called_times_do_not_go_back(name: str, dtype: Any, saved: bool) -> None:
    index = pd.Index((1_700_000_000 + 60 * np.arange(60)).astype(dtype), name=name)
    for order in (np.random.default_rng(0).permutation(60), np.arange(60)[::-1]):
        with pytest.raises(ValueError, match=r"y_proba = rows of the times .*: expected rows in the order of time"):
            CalibrationMonitor(3).update(pd.Series(CODES[order], index[order]), PROBA[order])
    first, later = slice(30), slice(30, 60)

    def seen(rows: slice) -> CalibrationMonitor:
        monitor = _monitor_of(index[rows], rows)
        return CalibrationMonitor.from_bytes(monitor.to_bytes()) if saved else monitor

    monitor = seen(first)
    monitor.update(pd.Series(CODES[later], index[later]), PROBA[later])
    assert monitor.n_samples == 60
    back = pd.Series(CODES[first], index[first]), PROBA[first]
    if not NUMBERED[name]:
        # Hours begin anew with each day.
        seen(later).update(*back)
        return
    with pytest.raises(ValueError, match=r"y_proba = rows of the time 1700000000.*, after those of 1700003540"):
        seen(later).update(*back)


@pytest.mark.parametrize("name", ["id", "step", "epoch", "lifetime", "update", "case", None])
def test_other_numbers_may_come_in_any_order(name: str | None) -> None:
    order = np.random.default_rng(0).permutation(60)
    index = pd.Index(1_700_000_000 + order, name=name)
    monitor = _monitor_of(index, slice(60))
    monitor.update(pd.Series(CODES, index), PROBA[::-1])
    assert CalibrationMonitor.from_bytes(monitor.to_bytes()).n_samples == 120


def test_numbers_of_a_coordinate_that_is_called_a_time() -> None:
    xr = pytest.importorskip("xarray")
    order = np.random.default_rng(0).permutation(60)
    for dim, name in (("row", "timestamp"), ("time", "time")):
        for rows, fine in ((np.arange(60), True), (order, False)):
            own = {name: (dim, rows * 1.0)}
            data = xr.DataArray(CODES[rows], dims=dim, coords=own), xr.DataArray(PROBA[rows], dims=(dim, "class"), coords=own)
            if fine:
                CalibrationMonitor(3).update(*data)
                continue
            with pytest.raises(ValueError, match="expected rows in the order of time"):
                CalibrationMonitor(3).update(*data)
            with pytest.raises(ValueError, match="expected the order of the series"):
                decompose(*data, blocks=2)
