"""Names of groups: which of them are equal, and which stand for no group at all.

Groups are counted, so that numbers must not meet in floating point, and a number is the same
group as its digits. What says of rows that they have no group would else be one large group.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date
from fractions import Fraction
from math import inf
from numbers import Number
from typing import Any

import numpy as np
import numpy.typing as npt

from propercal._array import is_array
from propercal._data.inputs.held import Held
from propercal._data.inputs.holders import hold, is_labelled
from propercal._data.inputs.missing_codes import negative_codes
from propercal._data.inputs.noted_indexes import index_columns
from propercal._data.inputs.reading import is_hashable, is_missing
from propercal._data.inputs.texts import alike, as_time, is_nothing, nearly_equal
from propercal._data.rows.instants import DATED
from propercal._data.words.messages import bad_value, some_rows, warn
from propercal._data.words.tokens import key


def exact(argument: str, groups: Any) -> Any:
    """Return groups with numbers as text where floating point, or text among them, matters."""
    values = _one_by_one(groups)
    if _are_complex(groups, values):
        raise bad_value(
            argument,
            "complex numbers",
            "a number or a text for each group",
            "pass text, such as [str(each) for each in groups], or the real part",
        )
    if values is None or not _need_names(values):
        return groups
    times = _check_times(argument, values)
    names = np.empty(len(values), dtype=object)
    names[:] = [_name(each, times=times) for each in values]
    if is_labelled(groups):
        return groups.copy(data=names.reshape(groups.shape))
    held = hold(argument, groups)
    return replace(held, values=names.reshape(tuple(held.values.shape)))


def _are_complex(groups: Any, values: list[Any] | None) -> bool:
    """Tell whether groups are pairs of numbers, of which some code would take the first alone."""
    table = hasattr(type(groups), "iloc") and hasattr(groups, "dtypes") and groups.ndim == 2
    types = list(groups.dtypes) if table else [getattr(groups, "dtype", None)]
    return any("complex" in str(each) for each in types) or any(
        isinstance(each, complex | np.complexfloating) for each in values or ()
    )


def _one_by_one(groups: Any) -> list[Any] | None:
    """Return values as Python has them; None where a type says that all are alike."""
    if groups is None or isinstance(groups, Held):
        return None
    if isinstance(groups, list | tuple):
        plain = all(isinstance(x, str | Number) or is_missing(x) or _is_time(x) for x in groups)
        return list(groups) if plain else None
    dtype = getattr(groups, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind != "O":
        return None
    if is_labelled(groups) or isinstance(groups, np.ndarray):
        return np.ravel(np.ma.getdata(np.asarray(groups))).tolist()
    if is_array(groups):
        return None
    if hasattr(type(groups), "iloc") and hasattr(type(groups), "to_pandas"):
        # On a device (cuDF), values have no list.
        return _one_by_one(groups.to_pandas())
    if hasattr(type(groups), "iloc") and getattr(groups, "ndim", 1) == 2:
        return _one_by_one(groups.iloc[:, 0]) if groups.shape[1] == 1 else None
    if hasattr(groups, "column_names") or hasattr(groups, "columns"):
        return _only_column(groups)
    for name in ("to_list", "to_pylist", "tolist"):
        if hasattr(type(groups), name):
            return list(getattr(groups, name)())
    return None


def _only_column(table: Any) -> list[Any] | None:
    names = list(getattr(table, "column_names", None) or table.columns)
    index = index_columns(table) if hasattr(table, "column_names") else []
    names = [each for each in names if each not in index]
    if len(names) != 1 or not isinstance(names[0], str) or not hasattr(table, "__getitem__"):
        return None
    return None if hasattr(table, "collect") else _one_by_one(table[names[0]])


def _need_names(values: list[Any]) -> bool:
    numbers = [each for each in values if isinstance(each, Number) and not is_missing(each)]
    if numbers and any(isinstance(each, str) for each in values):
        return True
    if any(map(_is_time, values)) and len({*map(_kind, values)} - {None}) > 1:
        return True
    others = (each for each in numbers if not isinstance(each, float | complex | np.inexact))
    return any(_is_rounded(each) for each in others)


def _is_time(value: Any) -> bool:
    return isinstance(value, date | np.datetime64) or hasattr(value, "start_time")


def _kind(value: Any) -> Any:
    """Return the type of a value, of times with that of their zone; None for what is missing."""
    if is_missing(value):
        return None
    return type(value), getattr(value, "tzinfo", None) is not None


def _check_times(argument: str, values: list[Any]) -> bool:
    """Tell whether groups are times, or raise where others of them may be so in another form."""
    present = [each for each in values if not is_missing(each)]
    if not any(map(_is_time, present)):
        return False
    read = {each: as_time(each, zoned=True) for each in present if is_hashable(each)}
    odd = [x for x, time in read.items() if time is None and isinstance(x, str) and DATED.search(x)]
    zoned = {time.endswith("+00:00") for time in read.values() if time is not None}
    if odd or len(zoned) > 1:
        raise bad_value(
            argument,
            f"times beside the text {odd[0]!r}" if odd else "times of which some have a time zone",
            "times in one form, of which equal ones are equal",
            "read text by pandas.to_datetime(..., dayfirst=True), or dayfirst=False, first"
            if odd
            else "give others theirs by pandas.to_datetime(...).tz_localize(...), or bring all "
            "into one by .tz_convert(...) and .tz_localize(None)",
        )
    return True


def _is_rounded(value: Any) -> bool:
    """Tell whether floating point has another number for a number."""
    try:
        return bool(float(value) != value or abs(value) >= 2**53)
    except OverflowError:
        return True


def _name(value: Any, *, times: bool = False) -> Any:
    time = None if not times or is_missing(value) else as_time(value, zoned=True)
    if time is not None:
        return time.removesuffix("T00:00:00")
    if isinstance(value, bool | np.bool_):
        return str(value)
    if isinstance(value, str):
        return key(value)
    if not isinstance(value, Number) or isinstance(value, complex):
        return value
    if is_missing(value):
        return None
    number: Any = value
    if abs(number) == inf:
        # As floating point, which every type has alike.
        return str(float(number))
    if _is_rounded(value):
        return str(Fraction(number))
    number = float(number)
    return str(int(number)) if number.is_integer() else str(number)


def decoded(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return labels with bytes, as HDF5 has them, as the text that they are."""
    if values.dtype.kind == "S":
        return np.char.decode(values, "utf-8", "surrogateescape")
    if values.dtype.kind != "O" or bytes not in set(map(type, values.tolist())):
        return values
    text = np.empty(len(values), dtype=object)
    text[:] = [
        each.decode("utf-8", "surrogateescape") if isinstance(each, bytes) else each
        for each in values.tolist()
    ]
    return text


def check_present(
    argument: str, used: npt.NDArray[Any], rows: npt.NDArray[np.intp], held: Held
) -> None:
    """Raise if the groups of rows that count say, as text or as a code, that they are missing."""
    odd = _absent(used)
    if odd.any():
        raise bad_value(
            argument,
            f"{used[odd].tolist()[0]!r} at {some_rows(held.given(rows[odd]))}",
            "a group for each row, not what is written for a missing one",
            "give rows that depend on no others a label of their own, or drop them; rename a group "
            "that is called so",
        )


def check_not_rounded(
    argument: str, used: npt.NDArray[Any], rows: npt.NDArray[np.intp], held: Held
) -> None:
    """Raise if numbers in floating point are so large that others may have been rounded to them."""
    most = 2.0 ** (np.finfo(used.dtype).nmant + 1)
    odd = ~(np.abs(used) < most)
    if odd.any():
        raise bad_value(
            argument,
            f"{float(used[odd][0])!r} at {some_rows(held.given(rows[odd]))}",
            f"numbers below {most:.0f}, as {used.dtype} has not all that are larger",
            "read them as integers or as text, so that different ones stay apart",
        )


def named_alike(
    argument: str, values: npt.NDArray[Any], used: npt.NDArray[Any]
) -> npt.NDArray[Any]:
    """Return labels in which equal numbers are written alike, or raise for texts that seem equal.

    `used` are those of rows that count.
    """
    texts = {each for each in used.tolist() if isinstance(each, str)}
    pair = alike(sorted(texts))
    if pair is not None:
        raise bad_value(
            argument,
            f"groups {pair[0]!r} and {pair[1]!r}, equal but for blanks or the form of letters",
            "one text for each group",
            "strip them, and bring them into one form by unicodedata.normalize",
        )
    near = nearly_equal(sorted({str(key(each)) for each in texts}))
    if near is not None:
        warn(
            f"{argument} has the groups {near[0]!r} and {near[1]!r}, which are {near[2]}: read as "
            "two groups. Write them in one way if they are one."
        )
    one = _two_of_one_key(sorted(texts))
    if one is None:
        return values
    warn(
        f"{argument} has the groups {one[0]!r} and {one[1]!r}, which are one number as programs "
        "write it: read as one group. Write it in one way, or write both with a letter, such as "
        "v1 and v1.0, if they are two."
    )
    names = np.empty(len(values), dtype=object)
    names[:] = [key(each) if isinstance(each, str) else each for each in values.tolist()]
    return names


def _two_of_one_key(texts: list[str]) -> tuple[str, str] | None:
    """Return two texts that are one number, such as 1 and 1.0."""
    known: dict[Any, str] = {}
    pairs = ((known.setdefault(key(each), each), each) for each in texts)
    return next((pair for pair in pairs if pair[0] != pair[1]), None)


def _absent(used: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    none = np.zeros(len(used), dtype=bool)
    if used.dtype.kind in "if":
        found = negative_codes(used)
        if used.dtype == np.int64 and not found.any():
            # Times that are missing, as integers.
            return np.asarray(used == np.iinfo(np.int64).min)
        return found
    if used.dtype.kind not in "OU":
        return none
    texts = sorted({each for each in used.tolist() if isinstance(each, str)})
    empty = {each for each in texts if is_nothing(each)}
    if texts and all(re.fullmatch(r"-?\d{1,15}", each) for each in texts):
        codes = negative_codes(np.array(texts, dtype=np.float64))
        empty.update(each for each, odd in zip(texts, codes, strict=True) if odd)
    if not empty:
        return none
    return np.array([isinstance(each, str) and each in empty for each in used.tolist()])


#: What people write of a row of which something is not known.
_UNKNOWN = {
    *(
        "unknown",
        "unk",
        "missing",
        "undefined",
        "unspecified",
        "unassigned",
        "unbekannt",
        "inconnu",
    ),
    *("not available", "not known", "not specified", "not recorded", "not applicable", "no data"),
    *("nodata", "none", "nil", "na", "n.a.", "n. a.", "k.a.", "keine angabe", "blank", "empty"),
    *("?", "??", "???", "-", "--", "---", ".", "..", "*", "#", "–", "—"),
}


def warn_of_unknown(
    argument: str, used: npt.NDArray[Any], number: npt.NDArray[np.integer[Any]]
) -> None:
    """Say so where rows of one group are called as what is not known: they are no group."""
    if used.dtype.kind not in "OU":
        return
    _, first, sizes = np.unique(number, return_index=True, return_counts=True)
    for name, size in zip(used[first].tolist(), sizes.tolist(), strict=True):
        said = name.strip().lower().replace("_", " ") if isinstance(name, str) else None
        if size > 1 and said in _UNKNOWN:
            warn(
                f"{argument} has the group {name!r}, of {size} rows, which is usually written "
                "where the group of a row is not known: they are taken to depend on each other. "
                "Give rows that depend on no others a label of their own if it is no group."
            )
