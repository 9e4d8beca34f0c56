"""A monitor reads rows as a sketch does, refuses what it cannot answer for, and survives bytes, copies and threads."""

from __future__ import annotations

import copy
import math
import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from propercal import CalibrationMonitor
from propercal.generators import Brier, Log
from theory_tests.instances import CLASS_NAMES, calibrated


def fed(n: int = 60, seed: int = 0, **options: Any) -> CalibrationMonitor:
    y, p = calibrated(n, 3, seed, power=1.5)
    monitor = CalibrationMonitor(3, **options)
    monitor.update(y, p)
    return monitor


def state(monitor: CalibrationMonitor) -> tuple[Any, ...]:
    return monitor.n_samples, monitor.log_e_value, monitor.p_value, monitor.alarm_row, monitor.drift, monitor.lower_bound


def test_before_the_first_row() -> None:
    monitor = CalibrationMonitor(3)
    assert state(monitor) == (0, 0.0, 1.0, None, 0.0, 0.0)
    assert (monitor.e_value, monitor.alarm, monitor.drift_alarm, monitor.drift_start) == (1.0, False, False, None)
    assert monitor.history().sizes["row"] == 0
    monitor.update([], np.empty((0, 3)))
    assert monitor.n_samples == 0


def test_rows_of_names_and_columns_are_those_of_numbers() -> None:
    pd = pytest.importorskip("pandas")
    y, p = calibrated(60, 3, 2, power=1.5)
    expected = CalibrationMonitor(3)
    expected.update(y, p)
    named = CalibrationMonitor(labels=list(CLASS_NAMES))
    named.update(CLASS_NAMES[y], p)
    table = CalibrationMonitor(3)
    for part in (slice(0, 20), slice(20, 60)):
        order = [2, 0, 1] if part.start else [0, 1, 2]
        table.update(CLASS_NAMES[y[part]], pd.DataFrame(p[part][:, order], columns=CLASS_NAMES[order]))
    logits = CalibrationMonitor(3, from_logits=True)
    logits.update(y, np.log(p) + 3)
    for monitor in (named, table, logits):
        assert monitor.log_e_value == pytest.approx(expected.log_e_value, rel=1e-9)
        assert monitor.lower_bound == pytest.approx(expected.lower_bound, rel=1e-9)


def test_one_column_is_that_of_two() -> None:
    y, p = calibrated(60, 2, 3, power=2.0)
    two, one, named = CalibrationMonitor(2), CalibrationMonitor(2), CalibrationMonitor(2, pos_label="yes")
    two.update(y, p)
    one.update(y, p[:, 1])
    named.update(np.where(y, "yes", "no"), p[:, 1])
    assert one.log_e_value == pytest.approx(two.log_e_value, rel=1e-9)
    assert named.log_e_value == one.log_e_value


@pytest.mark.parametrize(("change", "message"), [
    (lambda m, y, p: m.update(y, p, np.ones(len(y))), "sample_weight = a ndarray: expected None, since a bet raised to"),
    (lambda m, y, p: m.update(y, p * 0.95), r"a sum of 0.95 at rows 0, 1"),
    (lambda m, y, p: m.update(y, p[:, :2]), "y_proba = 2 classes: expected 3, as rows before have"),
    (lambda m, y, p: m.update(y + 1, p), "y_true = 3"),
    (lambda m, y, p: m.update(np.eye(3)[y] + np.eye(3)[(y + 1) % 3], p), "canonical"),
    (lambda m, y, p: m.update(y, np.where(np.arange(len(y))[:, None] == 3, np.nan, p)), "nan at row 3"),
    (lambda m, y, p: m.merge(m.to_bytes()), "later = bytes: expected a CalibrationMonitor"),
    (lambda m, y, p: m.merge(fed(first_row=59)), "first row has the number 59: expected 60"),
    (lambda m, y, p: m.merge(fed(first_row=60, alpha=0.01)), "alpha = 0.01"),
    (lambda m, y, p: m.merge(fed(first_row=60, notion="top-label")), "notion = 'top-label'"),
    (lambda m, y, p: m.merge(fed(first_row=60, generator="brier")), r"generator = Brier\(\)"),
])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_what_is_refused_changes_nothing(change: Any, message: str) -> None:
    y, p = calibrated(60, 3, 4)
    monitor = fed()
    before = monitor.to_bytes()
    with pytest.raises(ValueError, match=message):
        change(monitor, y, p)
    assert monitor.to_bytes() == before


@pytest.mark.parametrize(("options", "message"), [
    ({}, "n_classes = None: expected the number of classes"),
    ({"n_classes": 1}, "n_classes = 1: expected a whole number, 2 or more"),
    ({"n_classes": True}, "n_classes = True"),
    ({"n_classes": 3, "alpha": 0.0}, "alpha = 0.0: expected a number between 0 and 1"),
    ({"n_classes": 3, "alpha": "5%"}, "alpha = '5%'"),
    ({"n_classes": 3, "run_length": 1}, "run_length = 1"),
    ({"n_classes": 3, "first_row": -1}, "first_row = -1"),
    ({"n_classes": 3, "first_row": 10**20}, "first_row = 10+: expected a whole number, 0 or more and at most"),
    ({"n_classes": 3, "notion": "class-wise"}, "did you mean 'classwise'"),
    ({"n_classes": 3, "generator": "spherical"}, "generator = Spherical.*expected the log loss or a quadratic one"),
    ({"n_classes": 2, "labels": ["a", "b", "c"]}, "labels = "),
    ({"n_classes": 3, "link": "sigmoid"}, "link"),
])
def test_bad_settings(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CalibrationMonitor(**options)


def test_the_impossible_makes_it_infinite() -> None:
    """An outcome of predicted probability 0 has no place under calibration, and one of 1 says nothing."""
    monitor = CalibrationMonitor(3)
    monitor.update([0] * 50, [[1.0, 0.0, 0.0]] * 50)
    assert monitor.log_e_value == pytest.approx(0, abs=1e-12)
    monitor.update([1], [[1.0, 0.0, 0.0]])
    assert (monitor.e_value, monitor.p_value, monitor.alarm_row, monitor.drift_row) == (math.inf, 0.0, 50, 50)
    assert monitor.lower_bound == math.inf
    y, p = calibrated(40)
    monitor.update(y, p)
    assert (monitor.e_value, monitor.drift, monitor.lower_bound, monitor.n_samples) == (math.inf, math.inf, math.inf, 91)
    again = CalibrationMonitor.from_bytes(monitor.to_bytes())
    assert state(again) == state(monitor)
    later = CalibrationMonitor(3, first_row=91)
    later.update(y, p)
    assert monitor.merge(later).e_value == math.inf
    assert not np.isnan(monitor.history().to_array()).any()


def test_a_bounded_loss_stays_finite_beside_the_impossible() -> None:
    """Recalibrations keep a probability of 0, so that the bound comes from the other rows."""
    y, p = calibrated(400, 3, 12, power=3.0)
    monitor, without = (CalibrationMonitor(3, generator="brier") for _ in range(2))
    monitor.update([*y, 1], [*p, [1.0, 0.0, 0.0]])
    without.update(y, p)
    assert math.isinf(monitor.e_value)
    assert monitor.lower_bound == pytest.approx(without.lower_bound * 400 / 401, rel=1e-3)
    assert monitor.lower_bound > 0


@pytest.mark.parametrize("options", [{}, {"notion": "classwise", "generator": "brier"}, {"notion": "top-label", "labels": ["a", "b", "c"]}, {"from_logits": True, "first_row": 7}])
def test_bytes_are_all_there_is(options: dict[str, Any]) -> None:
    y, p = calibrated(90, 3, 5, power=1.5)
    y = np.array(["a", "b", "c"])[y] if "labels" in options else y
    p = np.log(p) if "from_logits" in options else p
    whole, half = CalibrationMonitor(3, **options), CalibrationMonitor(3, **options)
    whole.update(y, p)
    half.update(y[:50], p[:50])
    read = CalibrationMonitor.from_bytes(half.to_bytes(key=b"k"), key=b"k")
    read.update(y[50:], p[50:])
    assert read.to_bytes() == whole.to_bytes()
    for again in (copy.deepcopy(whole), pickle.loads(pickle.dumps(whole)), CalibrationMonitor.from_bytes(whole.to_bytes())):  # noqa: S301
        assert again.to_bytes() == whole.to_bytes()
        assert state(again) == state(whole)
        assert again.history().identical(whole.history())


def test_damaged_bytes_are_refused() -> None:
    data = fed().to_bytes()
    for i in (0, 25, 60, len(data) - 1):
        with pytest.raises(ValueError, match="data = "):
            CalibrationMonitor.from_bytes(data[:i] + bytes([data[i] ^ 1]) + data[i + 1 :])
    for bad in (data[:-1], data + b"0", b"", "text", b"propercal sketch 4\n" + data[20:]):
        with pytest.raises(ValueError, match="data = "):
            CalibrationMonitor.from_bytes(bad)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="same key"):
        CalibrationMonitor.from_bytes(data, key=b"other")
    with pytest.raises(ValueError, match="generator = Brier"):
        CalibrationMonitor.from_bytes(data, generator=Brier())
    assert CalibrationMonitor.from_bytes(data, generator=Log()).to_bytes() == data


def test_numbers_that_no_rows_come_to_are_refused() -> None:
    monitor = fed()
    seen = monitor._seen
    problem = seen.state.problems[0]
    for broken in (
        seen._replace(occurred=seen.occurred + 1),
        seen._replace(state=seen.state._replace(alarm=61)),
        seen._replace(state=seen.state._replace(highest=-1.0)),
        seen._replace(state=seen.state._replace(problems=(problem._replace(wealth=problem.wealth * np.nan),))),
        seen._replace(state=seen.state._replace(problems=(problem._replace(since=problem.since + 99),))),
        seen._replace(state=seen.state._replace(problems=(problem._replace(learner=problem.learner._replace(n_rows=59)),))),
    ):
        monitor._seen = broken
        with pytest.raises(ValueError, match="numbers that rows can come to"):
            CalibrationMonitor.from_bytes(monitor.to_bytes())


def test_reset_and_first_row() -> None:
    monitor = fed(300, first_row=1000)
    assert monitor.alarm_row is not None
    assert monitor.alarm_row >= 1000
    assert int(monitor.history().row[-1]) == 1299
    monitor.reset()
    assert monitor.to_bytes() == CalibrationMonitor(3, first_row=1000).to_bytes()


def test_merging_nothing_and_into_nothing() -> None:
    monitor = fed()
    before = monitor.to_bytes()
    assert monitor.merge(CalibrationMonitor(3, first_row=60)).to_bytes() == before
    assert CalibrationMonitor(3).merge(monitor).to_bytes() == before


def test_alarms_after_a_merge() -> None:
    """At its end if the product says so; that of drift where the later monitor gave it."""
    y, p = calibrated(800, 3, 6, power=2.5)
    first, second = CalibrationMonitor(3), CalibrationMonitor(3, first_row=10)
    first.update(y[:10], p[:10])
    second.update(y[10:], p[10:])
    assert not first.alarm
    assert second.drift_row is not None
    merged = first.merge(second)
    assert (merged.alarm_row, merged.drift_row) == (799, second.drift_row)


def test_threads_lose_no_rows() -> None:
    y, p = calibrated(400, 3, 7)
    monitor = CalibrationMonitor(3)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda i: monitor.update(y[i : i + 10], p[i : i + 10]), range(0, 400, 10)))
    assert monitor.n_samples == 400
    assert monitor._seen.occurred.tolist() == np.bincount(y).tolist()


def test_history_is_what_was_known() -> None:
    y, p = calibrated(700, 3, 8, power=1.5)
    monitor, early = CalibrationMonitor(3), CalibrationMonitor(3)
    monitor.update(y, p)
    early.update(y[:400], p[:400])
    history = monitor.history()
    assert history.row.values.tolist() == list(range(1, 700, 2))
    then = history.sel(row=399)
    assert float(then.log_e_value) == early.log_e_value
    assert float(then.p_value) == early.p_value
    assert float(then.lower_bound) == early.lower_bound
    assert math.exp(float(then.log_drift)) == pytest.approx(early.drift)
    assert history.attrs["n_samples"] == 700


def test_labels_from_one_are_said() -> None:
    y, p = calibrated(100, 3, 9)
    monitor = CalibrationMonitor(3)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        monitor.update(np.where(y == 0, 1, y), p)
    assert any("read as numbers of columns, counted from 0" in str(each.message) for each in caught)


def test_many_classes() -> None:
    """Where steps are not learnt, and where there are several problems."""
    y, p = calibrated(60, 40, 10, power=2.0)
    for notion in ("canonical", "classwise", "top-label"):
        monitor = CalibrationMonitor(40, notion=notion)
        monitor.update(y, p)
        assert math.isfinite(monitor.log_e_value)
        assert CalibrationMonitor.from_bytes(monitor.to_bytes()).to_bytes() == monitor.to_bytes()


def test_separate_columns_are_bet_on_one_by_one() -> None:
    rng = np.random.default_rng(11)
    p = rng.uniform(0.02, 0.98, (300, 3))
    marks = rng.uniform(size=(300, 3)) < p**3
    marks[0] = True
    monitor = CalibrationMonitor(3, notion="classwise")
    monitor.update(marks, p)
    alone = [CalibrationMonitor(2) for _ in range(3)]
    for i, each in enumerate(alone):
        each.update(marks[:, i], p[:, i])
    assert monitor.e_value == pytest.approx(np.mean([each.e_value for each in alone]), rel=1e-9)
    assert monitor.alarm
    two = CalibrationMonitor(2, notion="classwise")
    two.update(marks[:, :2], p[:, :2])
    for each in (monitor, two):
        assert CalibrationMonitor.from_bytes(each.to_bytes()).to_bytes() == each.to_bytes()


def test_words() -> None:
    monitor = fed(200)
    assert repr(monitor).startswith("CalibrationMonitor(3, alpha=0.05, notion='canonical'): 200 rows, log e-value")
    assert "alarm at row" in repr(monitor)


def test_logits_whose_sums_overflow_are_refused() -> None:
    monitor = CalibrationMonitor(2, from_logits=True)
    monitor.update([0, 1], [[0.0, 1e270], [1e270, 0.0]])
    before = monitor.to_bytes()
    assert np.isfinite(monitor.log_e_value)
    with pytest.raises(ValueError, match=r"y_proba = logits that differ by more than 1e\+280 at row 1"):
        monitor.update([0, 1], [[0.0, 1.0], [1e307, 0.0]])
    assert monitor.to_bytes() == before


def test_rows_come_in_the_order_of_their_times() -> None:
    pd = pytest.importorskip("pandas")
    xr = pytest.importorskip("xarray")
    y, p = calibrated(60, 3, 4, power=1.5)
    expected, order = CalibrationMonitor(3), np.random.default_rng(0).permutation(60)
    expected.update(y, p)
    days = pd.date_range("2024-01-01", periods=60)
    for index in (days, days.to_period("D"), days.strftime("%d.%m.%Y")):
        labels, proba = pd.Series(y, index), pd.DataFrame(p, index)
        for given in ((labels, proba), (labels.iloc[order], proba), (y, proba), (labels, p)):
            monitor = CalibrationMonitor(3)
            monitor.update(*given)
            assert state(monitor) == state(expected)
        parts = CalibrationMonitor(3)
        for part in (slice(0, 20), slice(20, 45), slice(45, 60)):
            parts.update(labels[part], proba[part])
        assert state(parts) == state(expected)
        for odd in ((labels, proba.iloc[order]), (labels[::-1], proba[::-1]), (y, proba.iloc[order]), (labels.iloc[order], p)):
            with pytest.raises(ValueError, match=r"y_proba = rows of the times .*expected rows in the order of time"):
                CalibrationMonitor(3).update(*odd)
    array = xr.DataArray(p, dims=("row", "class"), coords={"time": ("row", days)})
    with pytest.raises(ValueError, match="in the order of time"):
        CalibrationMonitor(3).update(y, array[order])
    monitor = CalibrationMonitor(3)
    monitor.update(y[:40], array[:40])
    with pytest.raises(ValueError, match=r"rows of the time 2024-01-21 .*after those of 2024-02-09"):
        monitor.update(y[20:], array[20:])
    assert monitor.n_samples == 40
    for begin, good in ((20, False), (40, True)):
        later = CalibrationMonitor(3, first_row=40)
        later.update(y[begin:], array[begin:])
        if not good:
            with pytest.raises(ValueError, match="rows of the time 2024-01-21"):
                copy.deepcopy(monitor).merge(later)
        assert good is False or copy.deepcopy(monitor).merge(later).n_samples == 60
    monitor.update(y[40:], array[40:])
    assert state(monitor) == state(expected)


def test_names_of_rows_are_no_times() -> None:
    pd = pytest.importorskip("pandas")
    y, p = calibrated(60, 3, 4, power=1.5)
    expected, order = CalibrationMonitor(3), np.random.default_rng(0).permutation(60)
    expected.update(y, p)
    days = pd.date_range("2024-01-01", periods=60)
    # Three series, one after the other.
    several = pd.MultiIndex.from_arrays([np.arange(60) // 20, days[np.arange(60) % 20]])
    for index in (order, [f"r{i}" for i in order], [f"{i}-3" for i in order], several):
        monitor = CalibrationMonitor(3)
        monitor.update(pd.Series(y, index), pd.DataFrame(p, index))
        assert state(monitor) == state(expected)


def test_each_of_several_series_is_in_the_order_of_time() -> None:
    pd = pytest.importorskip("pandas")
    y, p = calibrated(60, 3, 4, power=1.5)
    days, one = pd.date_range("2024-01-01", periods=20), np.arange(60)
    back = pd.MultiIndex.from_arrays([one // 20, days[19 - one % 20]], names=["site", "day"])
    mixed = pd.MultiIndex.from_arrays([one % 3, days[19 - one // 3]])
    for index, level in ((back, "'day'"), (mixed, "1")):
        with pytest.raises(ValueError, match=rf"rows of the times 2024-01-20 .* such as by \.sort_index\(level={level}\)"):
            CalibrationMonitor(3).update(pd.Series(y, index), pd.DataFrame(p, index))
    # The advice, and days of several sites after each other.
    labels, table = pd.Series(y, back).sort_index(level="day"), pd.DataFrame(p, back).sort_index(level="day")
    monitor = CalibrationMonitor(3)
    monitor.update(labels, table)
    with pytest.raises(ValueError, match=r"rows of the time 2024-01-01 .*, after those of 2024-01-20"):
        monitor.update(labels, table)
