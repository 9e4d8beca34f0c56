"""Which levels names say that columns are quantiles of, and where members are none."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from propercal._data.inputs.holders import Held
from propercal._data.words.messages import bad_value, some_names
from propercal._data.words.tokens import numberings, tokens

Floats = npt.NDArray[np.float64]

_PER_CENT = re.compile(r"(\d+(?:\.\d+)?)\s*%")
#: Words of quantiles, and others that stand beside per cent.
_QUANTILES = {"quantile", "quantiles", "percentile", "percentiles"}
_OF_QUANTILES = _QUANTILES | {"q", "quant", "pct", "pctl", "perc"}
_BESIDE_PER_CENT = {"p", "th", "st", "nd", "rd"}
#: Words of the two ends of an interval.
_LOWER, _UPPER = {"lo", "low", "lower"}, {"hi", "high", "up", "upper"}


def check_no_quantiles(values: Floats, argument: str, held: Held) -> None:
    """Raise if names say that columns are quantiles, which are no equally likely members.

    Per cent without a sign may number members, unless these mostly ascend as it does.
    """
    names = held.columns or ()
    along = _QUANTILES.intersection(tokens(held.along)) if values.shape[1] > 1 else ()
    said = named_levels(held) if len(names) > 1 else None
    if along or said is not None or _in_per_cent(names) or _are_ends(names):
        ascend = True
    else:
        said = per_cent_beside(held, np.empty(0)) if len(names) > 1 else None
        ascend = said is not None and np.mean(np.diff(values[:, np.argsort(said)]) < 0) < 1 / 4
    if ascend:
        found = f"columns named {some_names(names)}" if names else f"values along {held.along!r}"
        raise bad_value(
            argument,
            f"{found}, as quantiles{' of these levels' if names else ''} are",
            "members, which are equally likely",
            f"pass them as {argument.replace('ensemble', 'quantiles')}=..., or rename them if they "
            "are members",
        )


def _in_per_cent(names: Sequence[Any]) -> bool:
    """Tell whether names speak of quantiles, and number them in per cent, not by their places."""
    words = set.intersection(*(set(tokens(each)) for each in names)) if names else set()
    for numbers in _numbers(names) if len(names) > 1 else ():
        found = np.sort([float(cast("float", each)) for each in numbers if each is not None])
        fine = len(found) == len(names) and ((found > 0) & (found < 100)).all()
        if fine and (np.diff(found) > 0).all() and (np.diff(found) > 1).any():
            symmetric = np.allclose(found + found[::-1], 100)
            if words & _OF_QUANTILES or (symmetric and words & _BESIDE_PER_CENT):
                return True
    return False


def _are_ends(names: Sequence[Any]) -> bool:
    """Tell whether names are of lower and upper ends of the same intervals, such as lo95, hi95."""
    said = [set(tokens(each)) for each in names]
    lower, upper = (
        sorted(str(each - words) for each in said if each & words and len(each) > 1)
        for words in (_LOWER, _UPPER)
    )
    return bool(lower) and lower == upper


def named_levels(held: Held) -> Floats | None:
    """Return the levels that names of columns say, all between 0 and 1; None if they do not."""
    if held.columns is None:
        return None
    per_cent = [_PER_CENT.search(str(each)) for each in held.columns]
    said = [None if each is None else float(each[1]) / 100 for each in per_cent]
    for numbers in (said, *_numbers(held.columns)):
        if all(each is not None and 0 < each < 1 for each in numbers):
            found = np.array([float(cast("float", each)) for each in numbers])
            if len(np.unique(found)) == len(found):
                return found
    return None


def per_cent_beside(held: Held, taus: Floats) -> Floats | None:
    """Return levels that names say in per cent without a sign; None where they may say others.

    They do if they are those of the caller in some order, or as far below 50 as above.
    """
    for numbers in () if held.columns is None else _numbers(held.columns):
        if None in numbers or len(numbers) < 2:
            continue
        found = np.array([float(cast("float", each)) for each in numbers]) / 100
        ascending = np.sort(found)
        usual = [(ascending, 1 - ascending[::-1])]
        usual += [(ascending, np.sort(taus))] if len(taus) else []
        if any(np.allclose(*pair, rtol=0, atol=1e-6) for pair in usual):
            return found
    return None


def _numbers(columns: Sequence[Any]) -> list[Sequence[float | None]]:
    """Return the numbers that names may say, in each way."""
    return [[_number(each) for each in columns], *numberings(columns)]


def _number(name: Any) -> float | None:
    if isinstance(name, str) and "_" in name:
        # Python reads 0.1_2 as 0.12.
        return None
    try:
        return float(name)
    except (TypeError, ValueError):
        return None
