"""Names of what is known of rows, or of a run: when and where they are, and of which member.

What is selected by such a name says no class.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from propercal._data.words.tokens import COUNTED, OF_MODELS, OF_USE, SETS_OF_ROWS, tokens

#: When rows are, and where.
_ROWS = set(
    re.findall(
        r"\w+",
        "date time datetime timestamp year month day hour valid init issue reference lead leadtime "
        "horizon step station site location lat latitude lon longitude altitude elevation height "
        "depth spatial crs surface",
    )
)
#: Which one of several runs a forecast is of, which those of labels need not be.
_RUNS = set(
    re.findall(r"\w+", "number member realization realisation ensemble run model version epoch")
)
#: Which part of the rows.
_PARTS = {"fold", "split", "seed"}
#: What is computed of a distribution, or of a sample.
STATISTICS = set(
    re.findall(
        r"\w+",
        "mean average avg std sd stdev se stderr err sigma variance var spread loc scale count "
        "skew kurtosis iqr",
    )
)
#: How far ahead of its start a forecast is; what has not started is at 0.
_LEADS = {"lead", "leadtime", "horizon", "step"}
#: Words of what is foretold.
_EVENTS = {"threshold", "thresholds", "level", "pressure", "plev", "isobaric", "quantile"}
_CLASSES = {"class", "classes", "label", "labels", "category", "outcome", "target"}


def is_of_rows(name: Any) -> bool:
    """Tell whether a coordinate says when or where rows are, or which run they are of."""
    said = set(tokens(name))
    return not said.isdisjoint(_ROWS | _RUNS | _PARTS) and said.isdisjoint(_CLASSES)


def are_names_of_models(names: Sequence[Any]) -> bool:
    """Tell whether names say which model, or which statistic, each column is of, and no class."""
    said = [set(tokens(each)) - OF_USE for each in names]
    words = [{x for x in each if isinstance(x, str) and len(x) > 1} for each in said]
    of_models = OF_MODELS | SETS_OF_ROWS | STATISTICS
    # The columns of one model are numbered by classes.
    several = any(each != words[0] or each & COUNTED for each in words)
    return any(words) and several and all(each <= of_models for each in words)


def is_of_event(name: Any) -> bool:
    """Tell whether a coordinate says of which event something is, such as a threshold."""
    return not set(tokens(name)).isdisjoint(_EVENTS | _CLASSES)


def is_of_run(name: Any) -> bool:
    """Tell whether a coordinate says which one of several runs something is of."""
    return not set(tokens(name)).isdisjoint(_RUNS)


def is_of_lead(name: Any) -> bool:
    """Tell whether a coordinate says how far ahead of its start a forecast is."""
    return not set(tokens(name)).isdisjoint(_LEADS)
