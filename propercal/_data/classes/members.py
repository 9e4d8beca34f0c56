"""Columns that are all of one kind: members of an ensemble, quantiles, coordinates of a layer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations, pairwise, product
from typing import Any

import numpy as np
import numpy.typing as npt

from propercal._data.classes.columns import numbers_rows
from propercal._data.inputs.held import Held
from propercal._data.inputs.reading import Names
from propercal._data.words.messages import bad_value
from propercal._data.words.of_rows import STATISTICS
from propercal._data.words.tokens import (
    are_alike_but_for_numbers,
    content,
    distinct,
    key,
    tokens,
)

#: Names of what came true, in lower case.
LABELS = {
    *("label", "labels", "target", "targets", "truth", "ground_truth", "true", "y_true", "ytrue"),
    *("outcome", "outcomes", "actual", "actuals"),
}
_OUTCOMES = LABELS | {
    *("obs", "y_obs", "yobs", "observed", "observation", "observations"),
}
#: Names of what is known of a row beside its predictions.
_OF_SAMPLING = {"sample_weight", "sample_weights", "fold", "split"}
_OF_ROWS = _OF_SAMPLING | {
    *("weight", "weights", "group", "groups", "case", "cases", "epoch", "season"),
    *("date", "time", "datetime", "timestamp", "year", "month", "day", "hour", "valid_time"),
    *("init_time", "issue_time", "reference_time", "lead", "leadtime", "lead_time", "horizon"),
    *("step", "station", "site", "location", "lat", "latitude", "lon", "longitude", "altitude"),
    "elevation",
}
#: Words of what is computed of a distribution, beside statistics, which are no quantiles either.
_ORDER_STATISTICS = {"median", "min", "minimum", "max", "maximum", "lower", "upper", "lo", "hi"}
#: Words of what a statistic beside them is of: se.fit, prediction_sd.
_OF_STATISTICS = {
    "dev",
    "standard",
    "fit",
    "fitted",
    "pred",
    "predicted",
    "prediction",
    "predictions",
}
#: Statistics that are none of these.
_MOMENTS = STATISTICS | {"error", "deviation"}
#: Words of quantiles, and of the ends of intervals.
_QUANTILES = {"q", "ql", "quantile", "quantiles", "percentile", "tau", "median"}
_ENDS = {"lwr", "upr", "lcl", "ucl", "lci", "uci", "lb", "ub", "lbound", "ubound"}
_LOWER = {"lo", "low", "lower", "l", "lb", "lwr", "lcl", "lci", "lbound"}
_UPPER = {"hi", "high", "upper", "u", "ub", "upr", "ucl", "uci", "ubound", "up"}
#: So many columns may be named by letters, of which l and u are two.
_LETTERS = 10
#: Values of an outcome that are not all foretold by chance.
_DIFFERENT = 10
#: Words of a forecast as a whole.
_OF_FORECASTS = {"ens", "ensemble", "forecast", "forecasts", "fcst", "yhat"}

#: What names say that columns are not, and words that none of them consists of.
_NONE_OF = {
    "activations": (LABELS | _OF_SAMPLING, set[str]()),
    "members": (_OUTCOMES | _OF_ROWS, _MOMENTS | _ORDER_STATISTICS),
    "quantiles": (_OUTCOMES | _OF_ROWS, _MOMENTS),
}


def check_members(
    held: Held, labels: Held, argument: str, called: Names, what: str, weight: object = None
) -> None:
    """Raise if one of several columns of `what` is by its name the outcome, or another thing.

    So is what has the name of the `weight` of rows.
    """
    others = {called.labels: labels.name, called.weight: _name_of(weight)}
    columns = held.columns or ()
    beside = _beside_numbered(columns) if what == "activations" else set()
    for name in columns:
        owners = [owner for owner, own in others.items() if _are_one(own, name)]
        if owners or numbers_rows(name) or name in beside or _is_another_thing(name, what):
            raise bad_value(
                argument,
                f"a column named {name!r}" + (f", as {owners[0]} is" if owners else ""),
                f"columns of {what} alone",
                f"drop it, or rename it if it is one of the {what}",
            )


def name_quantiles(names: Sequence[object]) -> bool:
    """Tell whether names say that columns are quantiles, or ends of intervals of some level."""
    said = [set(tokens(each)) for each in names]
    numbered = [each for each in said if any(isinstance(x, int | float) for x in each)]
    ends = [any(each & words for each in numbered) for words in (_LOWER, _UPPER)]
    # Numbers one after the other are those of members.
    numbers = sorted(x for each in numbered for x in each if isinstance(x, int | float))
    counted = all(after - before == 1 for before, after in pairwise(numbers))
    if all(ends) or (not counted and all(each & _QUANTILES for each in said)):
        return True
    letters = len(names) > _LETTERS
    lower, upper = (
        [
            each
            for each, words in zip(names, said, strict=True)
            if words & ends and not (letters and words & {"l", "u"})
        ]
        for ends in (_LOWER, _UPPER)
    )
    if any(_are_ends(*pair) for pair in product(lower, upper)):
        return True
    levels = [each for each, words in zip(names, said, strict=True) if words & _QUANTILES]
    return not counted and any(_are_symmetric(*pair) for pair in combinations(levels, 2))


def _are_ends(lower: object, upper: object) -> bool:
    """Tell whether names are alike but for the end of an interval they are of: ci_low, ci_high."""
    own, others = distinct([lower, upper])
    if len(own) != 1 or len(others) != 1 or own[0] not in _LOWER or others[0] not in _UPPER:
        return False
    # Words by themselves may be those of members, such as low, mid and high.
    return {*own, *others} <= _ENDS or not set(tokens(lower)).isdisjoint(tokens(upper))


def _are_symmetric(first: object, second: object) -> bool:
    """Tell whether names are of levels as far below one half as above it: Q2.5 and Q97.5."""
    own, others = distinct([first, second])
    numbers = [each for each in (*own, *others) if isinstance(each, int | float)]
    return len(own) == len(others) == 1 and len(numbers) == 2 and sum(numbers) in (1, 100)


def _name_of(values: Any) -> Any:
    """Return the name of one column, if it has one."""
    # A lazy table has no shape, and names of columns at a price.
    columns = getattr(values, "columns", None) if hasattr(values, "shape") else None
    if columns is None:
        return getattr(values, "name", None)
    return columns[0] if len(columns) == 1 else None


def _are_one(own: object, name: object) -> bool:
    return isinstance(own, str) and own != "" and key(own) == key(name)


def _beside_numbered(columns: Sequence[Any]) -> set[Any]:
    """Return columns of what is known of rows, beside others that are alike but for numbers.

    The first layer may be of features, such as a weight and an hour, which have names of their own.
    """
    known = {name for name in columns if isinstance(name, str) and _bare(name) in _OF_ROWS}
    rest = [name for name in columns if name not in known]
    numbered = len(rest) > 1 and are_alike_but_for_numbers(rest)
    return known if numbered else set()


def _is_another_thing(name: object, what: str) -> bool:
    if not isinstance(name, str):
        return False
    names, words = _NONE_OF[what]
    said = set(content(name) or tokens(name)) - _OF_FORECASTS
    told = bool(said & words) and said <= words | _OF_STATISTICS
    return _bare(name) in names or told


def _bare(name: str) -> str:
    return re.sub(r"[\W_]+", "_", name.lower()).strip("_")


def column_of_outcomes(members: npt.NDArray[np.float64], outcome: npt.NDArray[np.float64]) -> int:
    """Return the place of the one of several columns that is the outcome in every row, else −1.

    Few rows, or few values, may be foretold, and a forecast without a spread is one column.
    """
    equal = np.flatnonzero((members == outcome[:, None]).all(axis=0))
    told = members.shape[1] > 1 and len(equal) == 1 and not few_outcomes(outcome)
    return int(equal[0]) if told else -1


def few_outcomes(outcome: npt.NDArray[np.float64]) -> bool:
    """Tell whether outcomes have so few values that they may be foretold."""
    return len(np.unique(outcome)) < _DIFFERENT
