"""Times of several zones, as timestamps and as text, and rows that come with the newest first.

Instants are those of ISO 8601: 02:30+02:00 is half an hour before 02:00+01:00.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import propercal
from propercal.cli.command import main

pd = pytest.importorskip("pandas")

N = 60
RNG = np.random.default_rng(0)
P = RNG.random(N)
Y = (RNG.random(N) < P) * 1
#: Half hours around the end of summer time in Berlin.
UTC = pd.date_range("2024-10-26T18:00", periods=N, freq="30min", tz="UTC")
LOCAL = UTC.tz_convert("Europe/Berlin")
TEXT = pd.Index([each.isoformat() for each in LOCAL])
#: Of which the clock goes on, and time goes back by two hours.
BACK = pd.Index([f"2024-01-01T{10 + i // 30}:{i % 30:02d}:00{'+00:00' if i < 30 else '+03:00'}" for i in range(N)])


def monitored(index: Any, size: int = N) -> float:
    monitor = propercal.CalibrationMonitor(2)
    for start in range(0, N, size):
        rows = slice(start, start + size)
        monitor.update(pd.Series(Y[rows], index[rows]), pd.Series(P[rows], index[rows]))
    return monitor.e_value


def in_blocks(index: Any) -> float:
    y, a, b = (pd.Series(each, index) for each in (Y, P, P**2))
    return float(propercal.paired_difference(y, a, b, term="risk", blocks=3).standard_error)


@pytest.mark.parametrize("of", [monitored, in_blocks])
def test_text_of_several_zones_is_in_the_order_of_time(of: Callable[[Any], float]) -> None:
    right = of(UTC)
    assert of(LOCAL) == right
    assert not TEXT.is_monotonic_increasing
    assert of(TEXT) == right
    for index in (BACK, pd.DatetimeIndex([pd.Timestamp(each).tz_convert("UTC") for each in BACK])):
        with pytest.raises(ValueError, match=r"order of (time|the series)"):
            of(index)


@pytest.mark.parametrize("size", [1, 7, 12, 30])
def test_chunks_of_several_zones_follow_each_other(size: int) -> None:
    np.testing.assert_allclose(monitored(TEXT, size), monitored(UTC, size))
    with pytest.raises(ValueError, match="time"):
        monitored(BACK, size)


def test_one_time_may_be_written_in_two_zones() -> None:
    times = pd.Index([f"2024-01-01T{12 - i % 2:02d}:00:00+0{1 - i % 2}:00" for i in range(N)])
    assert monitored(times) > 0


def test_a_column_of_such_text_is_read_alike(tmp_path: Path) -> None:
    for name, index, code in (("good", TEXT, (0, 3)), ("back", BACK, (1,))):
        path = tmp_path / f"{name}.csv"
        pd.DataFrame({"label": Y, "p": P, "time": index}).to_csv(path, index=False)
        assert main(["monitor", str(path), "--id-column", "time"]) in code
        flags = ["--blocks", "3", "--id-column", "time"]
        assert main(["decompose", str(path), *flags]) in code


def test_the_same_instants_in_two_zones_are_the_same_rows() -> None:
    right = propercal.decompose(Y, P, method="risk", bandwidth=0.1).risk
    found = propercal.decompose(pd.Series(Y, LOCAL), pd.Series(P, UTC), method="risk", bandwidth=0.1)
    assert found.risk == right
    turned = propercal.decompose(pd.Series(Y, LOCAL)[::-1], pd.Series(P, UTC), method="risk", bandwidth=0.1)
    np.testing.assert_allclose(turned.risk, right)
    with pytest.raises(ValueError, match="expected the rows of y_proba"):
        propercal.decompose(pd.Series(Y, LOCAL), pd.Series(P, UTC + pd.Timedelta("30min")), method="risk", bandwidth=0.1)


# ---------------------------------------------------------------- the newest first


def test_rows_with_the_newest_first_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match=r"rows of the index 59, 58, 57, 56, \.\.\.: expected rows in the order of time"):
        monitored(pd.RangeIndex(N)[::-1])
    seconds = 1_700_000_000 + 60 * np.arange(N)
    for ids, code in ((seconds, (0, 3)), (seconds[::-1], (1,)), (RNG.permutation(seconds), (0, 3))):
        path = tmp_path / "a.csv"
        pd.DataFrame({"label": Y, "p": P, "t": ids}).to_csv(path, index=False)
        assert main(["monitor", str(path), "--id-column", "t"]) in code
        np.savez(tmp_path / "a.npz", labels=Y, probs=P, t=ids)
        assert main(["monitor", str(tmp_path / "a.npz"), "--id-column", "t"]) in code
    assert "expected rows in the order of time" in capsys.readouterr().err
    # A few fall by chance.
    assert monitored(pd.Index([3, 2, 1] * 20), 3) > 0
