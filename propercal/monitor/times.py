"""Times of the rows of a monitor: the first and the last one, whether rows go back, and as text.

A period is before another time if all of it is.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, timedelta
from math import isfinite
from numbers import Real
from typing import Any

from propercal._data.rows.times import read_alike
from propercal._data.words.messages import bad_value

Times = tuple[Any, Any]
"""Of the first and the last row that have one."""

#: No two clocks that tell the time of one moment are further apart than one is from UTC.
_ZONES = timedelta(hours=14)


def joined(before: Times | None, after: Times | None) -> Times | None:
    """Return the first and the last time of rows, or raise if later ones are earlier ones."""
    if before is None or after is None:
        return after if before is None else before
    pairs = read_alike(after[0], before[1])
    if pairs and all(_is_earlier(one, other) for one, other in pairs):
        raise bad_value(
            "y_proba",
            f"rows of the time {after[0]}, after those of {before[1]}",
            "rows in the order of time",
            "begin with the others, or pass arrays without an index if rows are in order",
        )
    return before[0], after[1]


def are_before(times: Times, others: Times) -> bool:
    """Tell whether rows of these times all come before those of others."""
    pairs = read_alike(times[1], others[0])
    return bool(pairs) and all(_is_earlier(one, other) for one, other in pairs)


def _is_earlier(one: Any, other: Any) -> bool:
    """Tell whether a time is before another one, wherever the clocks of both are."""
    try:
        return bool(one < other)
    except (TypeError, ValueError):
        # Of other types, of one without a time zone, or of periods of other lengths.
        found, after = _span(one), _span(other)
    if found is None or after is None:
        return False
    return found[1] + _ZONES < after[0]


def _span(time: Any) -> tuple[datetime, datetime] | None:
    """Return the first and the last moment of a time, without a zone; None of other values."""
    if is_period(time):
        first, last = (_to_microseconds(each) for each in (time.start_time, time.end_time))
        return first, last
    if isinstance(time, datetime):
        return _in_utc(time), _in_utc(time)
    if isinstance(time, date):
        first = datetime.combine(time, datetime.min.time())
        return first, first + timedelta(days=1)
    return None


def is_period(time: Any) -> bool:
    """Tell whether a time is a period of pandas, which is not imported for that."""
    return hasattr(time, "ordinal") and hasattr(time, "freqstr")


def _in_utc(time: datetime) -> datetime:
    """Return a time of UTC without its zone; one that had none as it is."""
    offset = time.utcoffset()
    plain: datetime = _to_microseconds(time).replace(tzinfo=None)
    return plain - (offset or timedelta())


def written(times: Times | None) -> list[Any] | None:
    """Return times as JSON holds them, to microseconds, each after its kind; None for none.

    It raises for others than these, after which rows could go back in time unseen.
    """
    if times is None:
        return None
    return [part for each in times for part in _written(each)]


def _written(time: Any) -> tuple[str, Any]:
    for kind, (is_of, text) in _KINDS.items():
        if is_of(time):
            return kind, text(time)
    raise bad_value(
        "y_proba",
        f"rows whose last time is {time!r}, of type {type(time).__name__}",
        "times that bytes can hold: datetimes, dates, periods, time differences or text",
        "convert the index, such as by pandas.to_datetime, or pass arrays without one",
    )


def read(saved: Any) -> Times | None:
    """Return what :func:`written` gave, or raise a ValueError."""
    if saved is None:
        return None
    if not isinstance(saved, list) or len(saved) not in (3, 4):
        raise ValueError("times")
    if len(saved) == 3:
        # Both were of one kind, which was written once.
        kind, *texts = saved
        saved = [kind, texts[0], kind, texts[1]]
    first, last = (_read(*saved[i : i + 2]) for i in (0, 2))
    # As written again, or it is another one.
    if written((first, last)) != saved:
        raise ValueError("times")
    return first, last


def _read(kind: Any, text: Any) -> Any:
    if not isinstance(kind, str) or kind not in _READ:
        raise ValueError(kind)
    try:
        return _READ[kind](text)
    except (TypeError, OverflowError, AttributeError) as error:
        raise ValueError(kind) from error


def _period(text: str) -> Any:
    import pandas as pd

    ordinal, _, frequency = text.partition(" ")
    return pd.Period(ordinal=int(ordinal), freq=frequency)


def _to_microseconds(time: Any) -> Any:
    """Return a time of pandas, which may have nanoseconds, as Python has it."""
    return time.floor("us").to_pydatetime() if hasattr(time, "to_pydatetime") else time


def _microseconds(time: Any) -> int:
    plain = time.floor("us").to_pytimedelta() if hasattr(time, "to_pytimedelta") else time
    return int(plain / timedelta(microseconds=1))


#: A time is a date too.
_KINDS: dict[str, tuple[Callable[[Any], bool], Callable[[Any], Any]]] = {
    "time": (lambda each: isinstance(each, datetime), lambda x: _to_microseconds(x).isoformat()),
    "date": (lambda each: isinstance(each, date), lambda each: each.isoformat()),
    "microseconds": (lambda each: isinstance(each, timedelta), _microseconds),
    "text": (lambda each: isinstance(each, str), str),
    "period": (is_period, lambda each: f"{each.ordinal} {each.freqstr}"),
    "number": (lambda each: isinstance(each, Real), lambda x: getattr(x, "item", lambda: x)()),
}
_READ: dict[str, Any] = {
    "time": datetime.fromisoformat,
    "date": date.fromisoformat,
    "microseconds": lambda number: timedelta(microseconds=number),
    "text": lambda text: text if isinstance(text, str) else None,
    "period": _period,
    "number": lambda number: number if type(number) in (int, float) and isfinite(number) else None,
}
