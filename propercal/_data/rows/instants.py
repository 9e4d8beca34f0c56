"""Indexes of times and of text beside each other: which of their values are the same instant.

Text, periods, dates and numbers such as 20240131 are read in each way in which they may be, and
compared with what the other side says. Times without a zone are no instants of one that has it.
"""

from __future__ import annotations

import re
import warnings
from itertools import product
from typing import Any

#: What pandas calls an index of times, and one of other values that have an order of their own.
TIMES = {"datetime64", "datetime", "date", "timedelta64", "timedelta", "period"}
#: Text that is in the order of time if it is in that of the alphabet, and other text of times.
YEAR_FIRST = re.compile(r"\d{4}(?:[-/.]\d\d(?!\d)|-?[QW]\d)")
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
TIME = re.compile(
    rf"\d+([-/. ])\d+\1\d+|\b\d\d?:\d\d|\b{_MONTH}\W+\d|\d\W*{_MONTH}\b", re.IGNORECASE
)
#: Text that says a year too, without which those of two days, or of two years, are not compared.
DATED = re.compile(rf"\d+([-/. ])\d+\1\d+|{_MONTH}.*\d{{4}}|\d{{4}}.*{_MONTH}", re.IGNORECASE)
#: What text says of its zone.
ZONE = re.compile(r"(?:Z|UTC|GMT|[T:]\d\d(?:\.\d+)?\s*[+-]\d\d:?(?:\d\d)?)\s*$", re.IGNORECASE)
#: Words of such text; others may be of a zone that pandas leaves out.
_WORDS = re.compile(
    rf"{_MONTH}|(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*|[ap]\.?m|a|p|m|utc|gmt|t|z|st|[nr]d|th|of",
    re.IGNORECASE,
)
_LETTERS = re.compile(r"[^\W\d_]+")
_PERIODS = (("M", re.compile(r"\d{4}-\d\d")), ("Q", re.compile(r"\d{4}-?Q[1-4]", re.IGNORECASE)))
_SPAN = re.compile(r"-?\d+ days?\b.*|-?\d+:\d\d:\d\d(?:\.\d+)?", re.IGNORECASE)
#: Numbers such as 20240131.
_DAY = re.compile(r"(?:1[89]|2[01])\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])")
#: A date that has the year first, with or without a time of day.
_DATE = re.compile(r"(\d{4})[/.](\d\d)[/.](\d\d)(?!\d)")


def times_of_texts(texts: list[str], day_first: bool) -> Any:
    """Return text as times, without a zone where none has one."""
    import pandas as pd

    with warnings.catch_warnings():
        # That a form was not found, or has two meanings.
        warnings.simplefilter("ignore")
        found = pd.to_datetime(texts, errors="coerce", dayfirst=day_first, utc=True)
    return found if any(map(ZONE.search, texts)) else found.tz_localize(None)


def pairs_of_instants(own: Any, wanted: Any) -> list[tuple[Any, Any]]:
    """Return two indexes as times that can be compared, in each way that both may be read.

    Numbers alone are no times.
    """
    if own.inferred_type == wanted.inferred_type == "integer":
        return []
    readings = product(map(_in_utc, _readings(own)), map(_in_utc, _readings(wanted)))
    return [pair for pair in readings if _kind(pair[0]) == _kind(pair[1])]


def _in_utc(times: Any) -> Any:
    """Return times with a zone in one in which no hour comes twice."""
    return times if getattr(times, "tz", None) is None else times.tz_convert("UTC")


def zone_beside_none(own: Any, wanted: Any) -> Any:
    """Return the zone of one of two indexes of times of which the other has none; else None."""
    zones = [
        next((each.tz for each in _readings(index) if hasattr(each, "tz")), "no time")
        for index in (own, wanted)
    ]
    said = [each for each in zones if each is not None]
    return said[0] if len(said) == 1 and said != ["no time"] else None


def _kind(times: Any) -> tuple[str, bool]:
    """Return what times are compared with: spans of time, or times with a zone, or without."""
    return times.dtype.kind, getattr(times, "tz", None) is not None


def _readings(index: Any) -> list[Any]:
    """Return the times of an index in each way that it may be read; none of what is no time."""
    try:
        return [each for each in _each_reading(index) if not each.hasnans]
    except (ValueError, OverflowError):
        # Of a form that has times, such as 2024-13, or beyond those that pandas has.
        return []


def _each_reading(index: Any) -> list[Any]:
    import pandas as pd

    categories = getattr(index, "categories", None)
    index = index if categories is None else index.astype(categories.dtype)
    kind, found = index.inferred_type, []
    if kind in ("datetime64", "timedelta64"):
        found = [index]
    elif kind == "period":
        # A month may be called by its first day, or by its last.
        found = [index.to_timestamp(), index.to_timestamp(how="end").normalize()]
    elif kind in ("date", "datetime"):
        aware = {getattr(each, "tzinfo", None) is not None for each in index.tolist()}
        times = pd.to_datetime(index, errors="coerce", utc=True)
        found = [times if True in aware else times.tz_localize(None)] if len(aware) < 2 else []
    elif kind == "timedelta":
        found = [pd.to_timedelta(index, errors="coerce")]
    elif kind == "string":
        found = _of_texts([each.strip() for each in index.tolist()])
    elif kind == "integer" and not index.hasnans:
        found = _of_numbers([str(each) for each in index.tolist()])
    return found


def _of_numbers(digits: list[str]) -> list[Any]:
    """Return such numbers as 20240131 as times; none if some are no days."""
    import pandas as pd

    if not all(map(_DAY.fullmatch, digits)):
        return []
    return [pd.to_datetime(digits, format="%Y%m%d", errors="coerce")]


def _of_texts(texts: list[str]) -> list[Any]:
    """Return text as times in each way in which all of it may be read."""
    import pandas as pd

    for frequency, form in _PERIODS:
        if all(map(form.fullmatch, texts)):
            return _each_reading(pd.PeriodIndex([each.upper() for each in texts], freq=frequency))
    if all(map(_SPAN.fullmatch, texts)):
        return [pd.to_timedelta(texts, errors="coerce")]
    words = {word for each in texts for word in _LETTERS.findall(each)}
    if not all(map(_WORDS.fullmatch, words)) or len({*map(_has_zone, texts)}) > 1:
        return []
    if found := _of_numbers(texts):
        return found
    if all(map(YEAR_FIRST.match, texts)):
        iso = [_DATE.sub(r"\1-\2-\3", each, count=1) for each in texts]
        times = pd.to_datetime(iso, format="ISO8601", errors="coerce", utc=True)
        times = times if _has_zone(texts[0]) else times.tz_localize(None)
        return [times_of_texts(texts, day_first=False) if times.hasnans else times]
    if not all(map(DATED.search, texts)):
        return []
    return [times_of_texts(texts, day_first) for day_first in (False, True)]


def _has_zone(text: str) -> bool:
    return ZONE.search(text) is not None
