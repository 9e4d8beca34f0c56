"""Which levels names say that columns are quantiles of, and where members are none."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from propercal._data.classes.members import name_quantiles
from propercal._data.inputs.held import Held
from propercal._data.words.messages import bad_value, some_names, warn
from propercal._data.words.tokens import numberings, tokens

Floats = npt.NDArray[np.float64]

_PER_CENT = re.compile(r"(\d+(?:\.\d+)?)\s*%")
#: Numbers of levels whose point is written as what can stand in a name: q_0_1, p97_5.
_POINT = re.compile(r"^(q|p|tau|quantile|percentile)_?(\d+)_(\d+)$", re.IGNORECASE)
#: Words of quantiles, and others that stand beside per cent.
_QUANTILES = {
    each + plural
    for each in ("quantile", "percentile", "decile", "quintile", "quartile", "tercile")
    for plural in ("", "s")
}
_OF_QUANTILES = _QUANTILES | {"q", "quant", "pct", "pctl", "perc"}
_BESIDE_PER_CENT = {"p", "th", "st", "rd"}
#: Letters of quartiles and deciles, and the number of the last of them.
_PARTS = (("q", 3), ("d", 9))
#: Rows in which members that are equally likely do not stand in one order.
_FEWEST = 20


def check_no_quantiles(values: Floats, argument: str, held: Held) -> None:
    """Raise if names say that columns are quantiles, which are no equally likely members."""
    names = held.columns or ()
    along = _QUANTILES.intersection(tokens(held.along)) if values.shape[1] > 1 else ()
    in_words = bool(names) and all(not _QUANTILES.isdisjoint(tokens(each)) for each in names)
    if len(names) < 2 and not along:
        return
    said = along or in_words or named_levels(held) is not None or name_quantiles(names)
    if said or any(_are_per_cent(each, names, values) for each in _numbers(names)):
        found = f"columns named {some_names(names)}" if names else f"values along {held.along!r}"
        raise bad_value(
            argument,
            f"{found}, as quantiles{' of these levels' if names else ''} are",
            "members, which are equally likely",
            f"pass them as {argument.replace('ensemble', 'quantiles')}=..., with levels=[...] "
            "unless names say them, or rename them if they are members",
        )


def warn_of_one_order(values: Floats, argument: str, held: Held) -> None:
    """Say so where members under words of their own stand in one order in each of many rows.

    Members that are numbered may have been sorted, but for those that are called as the parts of a
    distribution are: Q1 to Q3, D1 to D9.
    """
    names = held.columns or ()
    if len(names) < 2 or len(values) < _FEWEST:
        return
    parts = _number_parts(names)
    if parts is None and any(None not in each for each in _numbers(names)):
        return
    order = np.argsort(values[0], kind="stable") if parts is None else np.argsort(parts)
    steps = np.diff(values[:, order], axis=1)
    if (steps > 0).all() or (parts is not None and (steps >= 0).all() and (steps > 0).any()):
        quantiles = argument.replace("ensemble", "quantiles")
        warn(
            f"Columns {some_names(names)} of {argument} stand in one order in each of "
            f"{len(values)} rows, as quantiles or scenarios do, and are taken for members, which "
            f"are equally likely. Pass them as {quantiles}=..., with levels=[...], if they are "
            f"quantiles; {'number' if parts is None else 'rename'} them if they are members that "
            "were sorted."
        )


def _number_parts(names: Sequence[Any]) -> list[int] | None:
    """Return the numbers of quartiles, Q1 to Q3, or deciles, D1 to D9; None of other names."""
    found = [tokens(each) for each in names]
    for letter, last in _PARTS:
        if len(found) == last and set(found) == {(letter, i) for i in range(1, last + 1)}:
            return [int(said[1]) for said in found]
    return None


def _are_per_cent(numbers: Sequence[float | None], names: Sequence[Any], values: Floats) -> bool:
    """Tell whether numbers in names are levels in per cent, not those of members.

    Members have them one after the other, and do not rise with them. Quantiles that are each fitted
    by themselves do not in all rows.
    """
    found = np.array([np.nan if each is None else float(each) for each in numbers])
    order = np.argsort(found)
    steps = np.diff(found[order])
    if not (((found >= 0) & (found <= 100)).all() and (steps > 0).all()):
        return False
    has_gaps, symmetric = (
        bool((steps > 1).any()),
        np.allclose(found[order] + found[order[::-1]], 100),
    )
    words = set.intersection(*(set(tokens(each)) for each in names))
    if has_gaps and words & (_OF_QUANTILES | (_BESIDE_PER_CENT if symmetric else set())):
        return True
    falls = np.diff(values[:, order], axis=1) < 0
    return (has_gaps or symmetric) and bool(falls.mean() < 1 / 4)


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
    points = [_POINT.sub(r"\1\2.\3", str(each)) for each in columns]
    return [[_number(each) for each in columns], *numberings(columns), *numberings(points)]


def _number(name: Any) -> float | None:
    if isinstance(name, str) and "_" in name:
        # Python reads 0.1_2 as 0.12.
        return None
    try:
        return float(name)
    except (TypeError, ValueError):
        return None
