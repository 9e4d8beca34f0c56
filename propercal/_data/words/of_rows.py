"""Names of what is known of rows, or of a run: when and where they are, and of which member.

What is selected by such a name says no class.
"""

from __future__ import annotations

import re
from typing import Any

from propercal._data.words.tokens import tokens

#: When rows are, and where.
_ROWS = set(
    re.findall(
        r"\w+",
        "date time datetime timestamp year month day hour valid init issue reference lead leadtime "
        "horizon step station site location lat latitude lon longitude altitude elevation height "
        "depth spatial crs surface",
    )
)
#: Which one of several runs, or of their parts.
_RUNS = set(
    re.findall(
        r"\w+",
        "number member realization realisation ensemble fold split seed run model version epoch",
    )
)
#: How far ahead of its start a forecast is; what has not started is at 0.
_LEADS = {"lead", "leadtime", "horizon", "step"}
#: Words of what is foretold.
_EVENTS = {"threshold", "thresholds", "thr", "level", "pressure", "plev", "isobaric", "quantile"}
_CLASSES = {"class", "classes", "label", "labels", "category", "outcome", "target"}


def is_of_rows(name: Any) -> bool:
    """Tell whether a coordinate says when or where rows are, or which run they are of."""
    said = set(tokens(name))
    return not said.isdisjoint(_ROWS | _RUNS) and said.isdisjoint(_CLASSES)


def are_of_two_events(name: Any, one: Any, other: Any) -> bool:
    """Tell whether numbers that differ under one name are of two events, such as thresholds."""
    said = set(tokens(name))
    started = bool(said & _LEADS) and bool(one) and bool(other)
    return one != other and (started or not said.isdisjoint(_EVENTS | _CLASSES))
