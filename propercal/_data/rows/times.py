"""Whether rows stand in the order of their time stamps, or of their numbers.

Times may be text, in one of the forms that pandas reads. Where a form has two meanings, as 3/4/2024
has, rows are in order if either has them so.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from propercal._data.inputs.reading import is_missing
from propercal._data.rows.instants import DATED, TIME, TIMES, YEAR_FIRST, times_of_texts
from propercal._data.rows.rows import row_numbers

#: Numbers that by chance do not fall from each to the next.
_ENOUGH = 10
#: Of the steps between rows, those that go back where rows are in no order.
_SHUFFLED = 0.25
#: What pandas calls an index of values other than times that have an order of their own.
_ORDERED = {"integer", "floating", "decimal", "mixed-integer-float", "interval"}
#: Names of numbers that are times, such as seconds since 1970, or 20240131.
_OF_TIMES = re.compile(
    r"(?:.*[\W_])?(?:time_?stamps?|date_?time|date|ts|unix(?:[\W_]?time)?)", re.IGNORECASE
)
#: Of what may begin anew with each day too.
_OF_CLOCK = re.compile(r"(?:.*[\W_])?time", re.IGNORECASE)
#: Parts of text that has the year first: quarters, weeks or months, days, and the time of day.
_PARTS = re.compile(
    r"(\d{4})[-/.]?([QW]?)(\d{1,2})(?:[-/.](\d{1,2}))?"
    r"(?:[T\s,]+(\d{1,2})(?::(\d{1,2}))?(?::(\d{1,2}(?:\.\d+)?))?\s*(?:([AP])\.?M\b\.?)?)?",
    re.IGNORECASE,
)
#: What text that has the year first says of its zone.
_OFFSET = re.compile(r"(?<=\d)\s*(?:Z|UTC|GMT|[+-]\d\d:?(?:\d\d)?)\s*$", re.IGNORECASE)


def times_of(index: Any) -> list[Any]:
    """Return the times of an index, in each way that it may be read; none for other values."""
    index = _present(index)
    if index.inferred_type in TIMES or _is_called(index, _OF_TIMES, _OF_CLOCK):
        return [index]
    if index.inferred_type != "string":
        return []
    texts = index.tolist()
    if all(map(YEAR_FIRST.match, texts)):
        return [_instants(index, texts)]
    if not all(map(TIME.search, texts)):
        return []
    return [each for each in map(times_of_texts, (texts, texts), (False, True)) if not each.hasnans]


def _is_called(index: Any, *names: re.Pattern[str]) -> bool:
    """Tell whether an index of numbers has one of these names."""
    if index.inferred_type not in _ORDERED - {"interval"} or not isinstance(index.name, str):
        return False
    return any(each.fullmatch(index.name.strip()) for each in names)


def _instants(index: Any, texts: list[str]) -> Any:
    """Return text that has the year first, as times where it is of several zones, if it is."""
    import pandas as pd

    zones = {None if found is None else found[0] for found in map(_OFFSET.search, texts)}
    if len(zones) == 1 or None in zones:
        return _in_full(index, texts)
    found = pd.to_datetime(texts, format="ISO8601", utc=True, errors="coerce")
    return index if found.hasnans else found


def _in_full(index: Any, texts: list[str]) -> Any:
    """Return text that has the year first with all its zeros, of 24 hours, if it has not."""
    if len({re.sub(r"\d", "0", each) for each in texts}) == 1 and not _half_of_day(texts[0]):
        return index
    found = [_parts(each) for each in texts]
    kinds = {None if each is None else each[0] for each in found}
    return index if len(kinds) > 1 or None in kinds else type(index)([x[1] for x in found if x])


def _half_of_day(text: str) -> str | None:
    found = _PARTS.match(text.strip())
    return None if found is None else found[8]


def _parts(text: str) -> tuple[str, str] | None:
    """Return what follows the year, and text that is in the order of time; None of other text."""
    text = text.strip()
    match = _PARTS.match(text)
    rest = None if match is None else text[match.end() :]
    if match is None or (rest and not _OFFSET.fullmatch(match[0][-1] + rest, 1)):
        return None
    year, kind, month, day, hour, minute, second, half = match.groups()
    if half is not None:
        hour = str(int(hour) % 12 + 12 * (half in "pP"))
    seconds = None if second is None else f"{float(second):09.6f}"
    clock = (each if each is None else each.zfill(2) for each in (month, day, hour, minute))
    return kind.upper(), "-".join(each for each in (year, *clock, seconds) if each is not None)


def _present(index: Any) -> Any:
    """Return the values of an index without categories, and without rows that have none.

    Nothing says that these go back.
    """
    if index.dtype == object:
        # pandas compares a value with itself, which not all allow.
        missing = np.array([is_missing(each) for each in index.tolist()], dtype=bool)
    else:
        missing = index.isna()
    index = index[~missing] if missing.any() else index
    categories = getattr(index, "categories", None)
    return index if categories is None else index.astype(categories.dtype)


def kept(index: Any) -> Any:
    """Return the times of rows that are in order, to compare with those of other rows; or None.

    Text is read where one way has rows in order; else it remains, to be read beside the other.
    """
    index = _present(index)
    times = times_of(index)
    if _is_called(index, _OF_CLOCK) and not _is_called(index, _OF_TIMES):
        return None
    in_words = all(each.inferred_type == "string" for each in times)
    if not times or in_words or any(each is index for each in times):
        return index if times else None
    if not all(map(DATED.search, index.tolist())):
        return None
    forward = [each for each in times if each.is_monotonic_increasing]
    alike = bool(forward) and all(each.equals(forward[0]) for each in forward)
    return forward[0] if alike else index


def read_alike(first: Any, second: Any) -> list[tuple[Any, Any]]:
    """Return two times in each way that both may be read, where they are text."""
    if not (isinstance(first, str) or isinstance(second, str)):
        return [(first, second)]
    pairs = [tuple(_one(each, way) for each in (first, second)) for way in (False, True)]
    found = [(one, other) for one, other in pairs if one == one and other == other]
    if not found and all(isinstance(x, str) and YEAR_FIRST.match(x) for x in (first, second)):
        # What pandas does not read, such as weeks, is in the order of the alphabet with all zeros.
        parts = [_parts(each) for each in (first, second)]
        alike = parts[0] is not None is not parts[1] and parts[0][0] == parts[1][0]
        return [(parts[0][1], parts[1][1])] if alike else [(first, second)]  # type: ignore[index]
    return found


def _one(time: Any, day_first: bool) -> Any:
    if not isinstance(time, str):
        return time
    return times_of_texts([time], day_first and not YEAR_FIRST.match(time))[0]


def is_ordered(index: Any) -> bool | None:
    """Tell whether an index goes up, or down, all the way; None if it has no order of its own."""
    index = _present(index)
    times = times_of(index)
    if times or index.inferred_type in _ORDERED:
        found = times or [index]
        return any(each.is_monotonic_increasing or each.is_monotonic_decreasing for each in found)
    numbers = row_numbers(index) if index.inferred_type == "string" else None
    if numbers is None:
        return None
    steps = np.diff(numbers)
    return bool((steps >= 0).all() or (steps <= 0).all())


def run_back(index: Any, series: Any = None) -> bool:
    """Tell whether an index is of times, and some are before the ones that they follow.

    `series` say of which of several series each row is: within one they must not.
    """
    times = times_of(index)
    if series is not None and any(len(each) == len(series) for each in times):
        number = series.factorize()[0]
        order = np.argsort(number, kind="stable")
        same = np.diff(number[order]) == 0
        parts = [each.take(order) for each in times]
        return not any((~same | (each[1:] >= each[:-1])).all() for each in parts)
    return bool(times) and not any(each.is_monotonic_increasing for each in times)


def fall(index: Any) -> bool:
    """Tell whether an index is of numbers of rows, of which the newest is the first."""
    numbers = None if len(index) < _ENOUGH or times_of(index) else row_numbers(index)
    return numbers is not None and bool((np.diff(numbers) < 0).all())


def newest_first(index: Any) -> bool:
    """Tell whether an index is of times, of which none is after the one that it follows.

    So rows stand that were sorted by it, not those of another time, such as a date of birth.
    """
    times = [] if len(index) < _ENOUGH else times_of(index)
    if any(each.is_monotonic_increasing for each in times):
        return False
    return any(each.is_monotonic_decreasing for each in times)


def are_shuffled(index: Any) -> bool:
    """Tell whether an index is of times that go back in a quarter of the steps, or more.

    So rows stand that are in no order of it. Of a log that several write, few come late.
    """
    late = share_late(index)
    return late is not None and late >= _SHUFFLED


def share_late(index: Any) -> float | None:
    """Return in which share of its steps an index of times goes back; None of other ones."""
    times = [] if len(index) < _ENOUGH else times_of(index)
    steps = [np.count_nonzero(each[1:] < each[:-1]) / max(1, len(each) - 1) for each in times]
    return float(min(steps)) if steps else None


def count_down(index: Any) -> bool:
    """Tell whether an index is of numbers of rows one after the other, the newest one first."""
    numbers = row_numbers(index) if fall(index) else None
    return numbers is not None and bool((np.diff(numbers) == -1).all())
