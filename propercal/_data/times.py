"""Whether rows stand in the order of their time stamps, or of their numbers.

Times may be text, in one of the forms that pandas reads. Where a form has two meanings, as 3/4/2024
has, rows are in order if either has them so.
"""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np

from propercal._data.rows import row_numbers

#: What pandas calls an index of times, and one of other values that have an order of their own.
_TIMES = {"datetime64", "datetime", "date", "timedelta64", "timedelta", "period"}
_ORDERED = {"integer", "floating", "decimal", "mixed-integer-float", "interval"}
#: Text that is in the order of time if it is in that of the alphabet, and other text of times.
_YEAR_FIRST = re.compile(r"\d{4}(?:[-/.]\d\d|-?[QW]\d)")
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_TIME = re.compile(
    rf"\d+([-/. ])\d+\1\d+|\b\d\d?:\d\d|\b{_MONTH}\W+\d|\d\W*{_MONTH}\b", re.IGNORECASE
)


def times_of(index: Any) -> list[Any]:
    """Return the times of an index, in each way that it may be read; none for other values."""
    if index.inferred_type in _TIMES:
        return [index]
    if index.inferred_type != "string":
        return []
    texts = index.tolist()
    if all(map(_YEAR_FIRST.match, texts)):
        return [index]
    if not all(map(_TIME.search, texts)):
        return []
    import pandas as pd

    with warnings.catch_warnings():
        # That a form was not found, or has two meanings.
        warnings.simplefilter("ignore")
        found = [
            pd.to_datetime(texts, errors="coerce", dayfirst=day_first, utc=True)
            for day_first in (False, True)
        ]
    return [each for each in found if not each.hasnans]


def is_ordered(index: Any) -> bool | None:
    """Tell whether an index goes up, or down, all the way; None if it has no order of its own."""
    times = times_of(index)
    if times or index.inferred_type in _ORDERED:
        found = times or [index]
        return any(each.is_monotonic_increasing or each.is_monotonic_decreasing for each in found)
    numbers = row_numbers(index) if index.inferred_type == "string" else None
    if numbers is None:
        return None
    steps = np.diff(numbers)
    return bool((steps >= 0).all() or (steps <= 0).all())


def run_back(index: Any) -> bool:
    """Tell whether an index is of times, and some are before the ones that they follow."""
    times = times_of(index)
    return bool(times) and not any(each.is_monotonic_increasing for each in times)
