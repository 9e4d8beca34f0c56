"""An index of times beside one of text: never read as times, which pandas does month first and for one side alone."""

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


@pytest.mark.parametrize("form", ["%d/%m/%Y", "%m/%d/%Y", "%Y-%m-%d"])
def test_text_is_no_time(form: str) -> None:
    text, letters = pd.Index(DAYS.strftime(form)), list("x" * N)
    pairs = [
        (DAYS, text), (pd.CategoricalIndex(DAYS), text), (DAYS, pd.CategoricalIndex(text)),
        tuple(pd.MultiIndex.from_arrays([each, letters], names=["day", "site"]) for each in (DAYS, text)),
        (DAYS.to_period("D"), text), (DAYS - DAYS[0], pd.Index((DAYS - DAYS[0]).astype(str))),
    ]
    for both in pairs:
        for own, other in (both, both[::-1]):
            for order in (ORDER, slice(None)):
                with pytest.raises(ValueError, match=r"^y_true = rows of the index .*: expected the rows of y_proba"):
                    risk(pd.Series(Y, own), pd.DataFrame(P, other).iloc[order])
    for own, other in ((DAYS, text), (text, DAYS)):
        arrays = xr.DataArray(Y, dims="s", coords={"s": own.to_numpy()}), xr.DataArray(P, dims=("s", "k"), coords={"s": other.to_numpy()})[ORDER]
        with pytest.raises(ValueError, match=r"^y_true = coordinates .* of 's'"):
            risk(*arrays, class_dim="k")
    with pytest.raises(ValueError, match="rows of the index"):
        paired_difference(pd.Series(Y, DAYS), P, pd.DataFrame(P, text), generator="brier")
    with pytest.raises(ValueError, match=r"^groups = rows of the index"):
        risk(pd.Series(Y, DAYS), P, groups=pd.Series(np.arange(N) // 2, text))


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
