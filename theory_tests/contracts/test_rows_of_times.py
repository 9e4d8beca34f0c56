"""Indexes of times, and of text, periods or digits of the same ones: matched where one reading fits, else refused.

The risk is the same as of rows in one order. Pandas reads text month first, and for one side alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from propercal import decompose, paired_difference
from theory_tests.instances import unrelated

#: Days 1 to 12 of each month, of which month and day may be swapped.
DAYS = pd.DatetimeIndex([f"2024-{month:02d}-{day:02d}" for month in range(1, 13) for day in range(1, 13)])
N = len(DAYS)
Y, P = unrelated(N)
ORDER = np.random.default_rng(0).permutation(N)
SETTINGS: dict[str, Any] = {"generator": "brier", "method": "risk", "bandwidth": 0.1}
RIGHT = 2 * np.mean(1 - P[np.arange(N), Y]) + np.mean((P**2).sum(axis=1)) - 1


def risk(labels: Any, proba: Any, **options: Any) -> float:
    return float(decompose(labels, proba, **SETTINGS, **options).risk)


def pairs_of(days: Any, text: Any) -> list[tuple[Any, Any]]:
    letters = ["x"] * len(days)
    return [
        (days, text), (pd.CategoricalIndex(days), text), (days, pd.CategoricalIndex(text)), (days.to_period("D"), text), (pd.Index(days.date), text),
        tuple(pd.MultiIndex.from_arrays([each, letters], names=["day", "site"]) for each in (days, text)),
        (pd.MultiIndex.from_arrays([days, letters], names=["day", "site"]), pd.MultiIndex.from_arrays([letters, text], names=["site", "day"])),
    ]


@pytest.mark.parametrize("form", ["%Y-%m-%d", "%Y/%m/%d", "%Y%m%d", "%b %d, %Y", "%d %B %Y", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d 00:00:00.000"])
def test_text_is_the_time_that_it_says(form: str) -> None:
    text = pd.Index(DAYS.strftime(form))
    for both in [*pairs_of(DAYS, text), (DAYS.tz_localize("UTC"), pd.Index(DAYS.strftime("%Y-%m-%dT02:00:00.0+02:00")))]:
        for own, other in (both, both[::-1]):
            for order in (ORDER, slice(None)):
                assert risk(pd.Series(Y, own), pd.DataFrame(P, other).iloc[order]) == pytest.approx(RIGHT, rel=1e-12)
    for own, other in ((DAYS, text), (text, DAYS)):
        arrays = xr.DataArray(Y, dims="s", coords={"s": own.to_numpy()}), xr.DataArray(P, dims=("s", "k"), coords={"s": other.to_numpy()})[ORDER]
        assert risk(*arrays, class_dim="k") == pytest.approx(RIGHT, rel=1e-12)


@pytest.mark.parametrize("form", ["%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y 00:00"])
def test_text_of_two_readings_is_a_time_where_one_fits(form: str) -> None:
    text = pd.Index(DAYS.strftime(form))
    for both in pairs_of(DAYS, text):
        for own, other in (both, both[::-1]):
            with pytest.raises(ValueError, match=r"^y_true = rows of the index .*: expected the rows of y_proba, .*, as times with the day first, or with the month first, both of which fit; read text by pandas"):
                risk(pd.Series(Y, own), pd.DataFrame(P, other).iloc[ORDER])
            part = slice(0, 30)
            assert risk(pd.Series(Y, own)[part][::-1], pd.DataFrame(P, other)[part]) == pytest.approx(risk(Y[part], P[part]), rel=1e-12)
    # What is advised holds.
    read = pd.to_datetime(text, dayfirst=form[1] == "d")
    assert risk(pd.Series(Y, read), pd.DataFrame(P, DAYS).iloc[ORDER]) == pytest.approx(RIGHT, rel=1e-12)
    arrays = xr.DataArray(Y, dims="s", coords={"s": text.to_numpy()}), xr.DataArray(P, dims=("s", "k"), coords={"s": DAYS})[ORDER]
    with pytest.raises(ValueError, match=r"^y_true = coordinates .* of 's'.*both of which fit"):
        risk(*arrays, class_dim="k")
    with pytest.raises(ValueError, match="rows of the index"):
        paired_difference(pd.Series(Y, DAYS), P, pd.DataFrame(P, text), generator="brier")
    with pytest.raises(ValueError, match=r"^groups = rows of the index .*both of which fit"):
        risk(pd.Series(Y, DAYS), P, groups=pd.Series(np.arange(N) // 2, text))


def test_months_and_spans_of_time_are_what_text_says() -> None:
    months = pd.period_range("2013-01", periods=N, freq="M")
    spans = DAYS - DAYS[0]
    pairs: list[tuple[Any, Any]] = [
        (months, months.to_timestamp()), (months, months.to_timestamp(how="end").normalize()), (months, pd.Index(months.astype(str))),
        (months.to_timestamp(), pd.Index(months.astype(str))), (months.asfreq("Q")[::3], pd.Index(months.asfreq("Q")[::3].astype(str))),
        (spans, pd.Index(spans.astype(str))), (DAYS, pd.Index(DAYS.strftime("%Y%m%d").astype(int))),
    ]
    for both in pairs:
        n = len(both[0])
        right = risk(Y[:n], P[:n])
        for own, other in (both, both[::-1]):
            assert risk(pd.Series(Y[:n], own)[::-1], pd.DataFrame(P[:n], other)) == pytest.approx(right, rel=1e-12)


def test_text_that_says_no_time_of_its_own_is_none() -> None:
    hours = pd.date_range("2024-01-01", periods=24, freq="h")
    today = pd.Timestamp.now().normalize() + (hours - hours[0])
    for own, text in (
        (today, hours.strftime("%H:%M")), (hours, hours.strftime("%Y-%m-%d %H:%M CET")), (hours, hours.strftime("%b %d %H:%M")),
        (hours, [f"{each:%Y-%m-%d %H:%M}{zone}" for each, zone in zip(hours, ["", "Z"] * 12, strict=True)]),
        (hours, pd.Index(hours.as_unit("s").asi8)), (pd.Index([f"v{i}" for i in range(24)]), hours),
        (hours, [f"2024-{13 + i}" for i in range(24)]), (pd.period_range("9990", periods=24, freq="Y"), [f"{9990 + i}-01-01" for i in range(24)]),
    ):
        with pytest.raises(ValueError, match=r"^y_true = rows of the index .*each of them once"):
            risk(pd.Series(Y[:24], pd.Index(text)), pd.DataFrame(P[:24], own))


def test_times_of_a_zone_beside_none_are_refused_with_the_reason() -> None:
    zone = DAYS.tz_localize("Europe/Berlin")
    for own, other in ((zone, DAYS), (zone, pd.Index(DAYS.strftime("%Y-%m-%d"))), (pd.Index([each.isoformat() for each in zone]), DAYS)):
        for first, second in ((own, other), (other, own)):
            with pytest.raises(ValueError, match=r"of which one side alone has a time zone; read those without one by pandas.to_datetime\(\.\.\.\)\.tz_localize"):
                risk(pd.Series(Y, first), pd.DataFrame(P, second).iloc[ORDER])
    # What is advised holds.
    read = pd.to_datetime(pd.Index(DAYS.strftime("%Y-%m-%d"))).tz_localize("Europe/Berlin")
    assert risk(pd.Series(Y, zone), pd.DataFrame(P, read).iloc[ORDER]) == pytest.approx(RIGHT, rel=1e-12)


def test_levels_of_numbers_are_their_digits() -> None:
    a, b = np.arange(N) // 12, np.arange(N) % 12
    named = ["a", "b"]
    right = pd.MultiIndex.from_arrays([a, b], names=named)
    for own in (
        pd.MultiIndex.from_arrays([a.astype(str), b], names=named), pd.MultiIndex.from_arrays([a, b.astype(str)], names=named),
        pd.MultiIndex.from_arrays([b.astype(str), a], names=named[::-1]), pd.MultiIndex.from_arrays([a.astype("S2"), b * 1.0], names=named),
    ):
        for first, second in ((own, right), (right, own)):
            assert risk(pd.Series(Y, first), pd.DataFrame(P, second).iloc[ORDER]) == pytest.approx(RIGHT, rel=1e-12)
    twice = pd.MultiIndex.from_arrays([[0, "0", *a[2:]], [0, 0, *b[2:]]], names=named)
    with pytest.raises(ValueError, match="each of them once"):
        risk(pd.Series(Y, twice), pd.DataFrame(P, right).iloc[ORDER])


def test_times_and_numbers_of_other_types_are_the_same() -> None:
    zone = DAYS.tz_localize("UTC")
    numbers = np.arange(N) * 2
    for own, other in (
        (DAYS, DAYS), (DAYS, DAYS.astype("datetime64[s]")), (DAYS, pd.Index(list(DAYS), dtype=object)), (DAYS, pd.CategoricalIndex(DAYS)),
        (zone, zone.tz_convert("Asia/Tokyo")), (pd.Index(numbers), pd.Index(numbers * 1.0)), (pd.Index(numbers), pd.Index(numbers, dtype="Int64")),
        (pd.Index(numbers.astype(str)), pd.CategoricalIndex(numbers.astype(str))), (pd.Index(numbers), pd.Index(numbers.astype(object))),
    ):
        for first, second in ((own, other), (other, own)):
            assert risk(pd.Series(Y, first), pd.DataFrame(P, second).iloc[ORDER]) == pytest.approx(RIGHT, rel=1e-12)
    # Rows that repeat an index stand in its order.
    assert risk(pd.Series(Y, numbers // 4), pd.DataFrame(P, numbers // 4 * 1.0)) == pytest.approx(RIGHT, rel=1e-12)
    with pytest.raises(ValueError, match="expected the rows of y_proba"):
        risk(pd.Series(Y, zone), pd.DataFrame(P, DAYS))


def test_large_numbers_of_other_types_are_compared_exactly() -> None:
    """Floating point has every second number from 2**53 on."""
    large = [2**53 + i for i in range(N)]
    kinds: list[Any] = [np.array(large), np.array(large, dtype=np.uint64), pd.array(large, dtype="Int64"), pd.array(large, dtype="UInt64"), pd.Categorical(large)]
    for own in kinds:
        for other in kinds:
            y, p = pd.Series(Y, pd.Index(own)), pd.DataFrame(P, pd.Index(other))
            assert risk(y.iloc[ORDER], p) == pytest.approx(RIGHT, rel=1e-12)
            levels = [pd.MultiIndex.from_arrays([each, np.zeros(N, int)]) for each in (own, other)]
            assert risk(y.set_axis(levels[0]).iloc[ORDER], p.set_axis(levels[1])) == pytest.approx(RIGHT, rel=1e-12)
