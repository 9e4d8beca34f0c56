"""Times of the rows of a monitor: the first and the last one, whether rows go back, and as text."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

from propercal._data.messages import bad_value
from propercal._data.times import read_alike

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


def _is_earlier(one: Any, other: Any) -> bool:
    try:
        return bool(one < other)
    except TypeError:
        # Of other types, or of one without a time zone.
        if not (isinstance(one, datetime) and isinstance(other, datetime)):
            return False
    return bool(_in_utc(one) + _ZONES < _in_utc(other))


def _in_utc(time: datetime) -> datetime:
    """Return a time of UTC without its zone; one that had none as it is."""
    offset = time.utcoffset()
    return time.replace(tzinfo=None) - (offset or timedelta())


def written(times: Times | None) -> list[Any] | None:
    """Return times as JSON holds them, to microseconds; None for none, or for others than these."""
    if times is None:
        return None
    for kind, (of, text) in _KINDS.items():
        # A time is a date too.
        if all(isinstance(each, of) for each in times) and (
            of is not date or not any(isinstance(each, datetime) for each in times)
        ):
            return [kind, *(text(each) for each in times)]
    return None


def read(saved: Any) -> Times | None:
    """Return what :func:`written` gave, or raise a ValueError."""
    if saved is None:
        return None
    kind, *texts = saved if isinstance(saved, list) and len(saved) == 3 else [None]
    if not isinstance(kind, str) or kind not in _READ:
        raise ValueError(kind)
    try:
        first, last = (_READ[kind](each) for each in texts)
        # As written again, or it is another one.
        if written((first, last)) != saved:
            raise ValueError(kind)
    except (TypeError, OverflowError) as error:
        raise ValueError(kind) from error
    return first, last


def _to_microseconds(time: Any) -> Any:
    """Return a time of pandas, which may have nanoseconds, as Python has it."""
    return time.floor("us").to_pydatetime() if hasattr(time, "to_pydatetime") else time


def _microseconds(time: Any) -> int:
    plain = time.floor("us").to_pytimedelta() if hasattr(time, "to_pytimedelta") else time
    return int(plain / timedelta(microseconds=1))


_KINDS: dict[str, tuple[type, Any]] = {
    "time": (datetime, lambda each: _to_microseconds(each).isoformat()),
    "date": (date, lambda each: each.isoformat()),
    "microseconds": (timedelta, _microseconds),
    "text": (str, str),
}
_READ: dict[str, Any] = {
    "time": datetime.fromisoformat,
    "date": date.fromisoformat,
    "microseconds": lambda number: timedelta(microseconds=number),
    "text": lambda text: text if isinstance(text, str) else None,
}
