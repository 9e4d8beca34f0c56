"""Text of times that begins with the year, but is not in the order of the alphabet: halves of days, and numbers without zeros."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from propercal import CalibrationMonitor, decompose
from theory_tests.instances import unrelated

pd = pytest.importorskip("pandas")

N = 60
CODES, PROBA = unrelated(N)
HOURS = pd.date_range("2024-01-08 00:30", periods=N, freq="h")
WEEKS = pd.date_range("2024-01-01", periods=N, freq="7D")


def week(stamp: Any, form: str) -> str:
    year, number, day = stamp.isocalendar()
    return form.format(year=year, week=number, day=day)


def mixed(stamp: Any) -> str:
    return str(stamp.strftime("%Y-%m-%dT%H:%M" if stamp.hour % 2 else "%Y/%m/%d %H:%M:00.5"))


#: Times, and how they are written.
FORMS: dict[str, tuple[Any, Callable[[Any], str]]] = {
    "halves of days": (HOURS, lambda x: x.strftime("%Y-%m-%d %I:%M %p")),
    "halves without zeros": (HOURS, lambda x: x.strftime("%Y/%m/%d ") + f"{(x.hour - 1) % 12 + 1}:{x.minute:02d} " + ("a.m." if x.hour < 12 else "p.m.")),
    "hours alone": (HOURS, lambda x: x.strftime("%Y-%m-%d ") + f"{(x.hour - 1) % 12 + 1}{'am' if x.hour < 12 else 'pm'}"),
    "hours without zeros": (HOURS, lambda x: x.strftime("%Y-%m-%d ") + f"{x.hour}:{x.minute:02d}"),
    "days without zeros": (HOURS, lambda x: x.strftime("%Y-%m-") + f"{x.day} {x.hour:02d}:{x.minute:02d}"),
    "two forms": (HOURS, mixed),
    "with an offset": (HOURS, lambda x: x.strftime("%Y-%m-%d ") + f"{x.hour}:{x.minute:02d}+02:00"),
    "weeks without zeros": (WEEKS, lambda x: week(x, "{year}-W{week}")),
    "short weeks": (WEEKS, lambda x: week(x, "{year}W{week}")),
    "weeks and days": (WEEKS, lambda x: week(x, "{year}-W{week}-{day}")),
}  # fmt: skip


def index_of(form: str) -> Any:
    stamps, text = FORMS[form]
    return pd.Index([text(each) for each in stamps])


def rows(index: Any, which: Any) -> tuple[Any, Any]:
    return pd.Series(CODES[which], index[which]), pd.DataFrame(PROBA[which], index[which])


@pytest.mark.parametrize("form", FORMS)
def test_they_are_in_the_order_of_time(form: str) -> None:
    index = index_of(form)
    assert not index.is_monotonic_increasing
    monitor = CalibrationMonitor(3)
    monitor.update(*rows(index, np.arange(N)))
    assert monitor.n_samples == N
    right = decompose(CODES, PROBA, blocks=2)
    for order in (np.arange(N), np.arange(N)[::-1]):
        assert decompose(*rows(index, order), blocks=2).risk == pytest.approx(right.risk, rel=1e-12)


@pytest.mark.parametrize("form", FORMS)
def test_the_order_of_the_alphabet_is_refused(form: str) -> None:
    index = index_of(form)
    order = np.argsort(index.to_numpy(), kind="stable")
    assert index[order].is_monotonic_increasing
    with pytest.raises(ValueError, match="expected rows in the order of time"):
        CalibrationMonitor(3).update(*rows(index, order))
    with pytest.raises(ValueError, match="expected the order of the series"):
        decompose(*rows(index, order), blocks=2)


@pytest.mark.parametrize("saved", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_updates_follow_each_other(form: str, saved: bool) -> None:
    """Also where the next one is before in the alphabet."""
    index = index_of(form)
    for cut in range(1, N - 1):
        first, later = np.arange(cut - 1, cut), np.arange(cut, cut + 1)

        def seen(which: Any) -> CalibrationMonitor:
            monitor = CalibrationMonitor(3)
            monitor.update(*rows(index, which))
            return CalibrationMonitor.from_bytes(monitor.to_bytes()) if saved else monitor

        seen(first).update(*rows(index, later))
        # Half a second is after a minute, not before it.
        with pytest.raises(ValueError, match=r"y_proba = rows of the time .*, after those of .*: expected rows in the order of time"):
            seen(later).update(*rows(index, first))


@pytest.mark.parametrize(
    "texts",
    [
        ["2024-01-05 run b", "2024-01-05 run a"],
        ["2024-W10", "2024-02-01"],
        ["2024-W10", "2024-Q1"],
    ],
)
def test_what_is_no_time_or_of_two_kinds_is_in_the_order_of_the_alphabet(texts: list[str]) -> None:
    data = CODES[:2], pd.DataFrame(PROBA[:2], texts)
    if texts == sorted(texts):
        CalibrationMonitor(3).update(*data)
        return
    with pytest.raises(ValueError, match="expected rows in the order of time"):
        CalibrationMonitor(3).update(*data)
