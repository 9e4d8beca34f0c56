"""Attributes of labelled arrays that list the classes, in another order than is read.

These are refused. Attributes name nothing by themselves, as most operations of xarray drop them.
Lists of names, and the ``flag_meanings`` of the CF conventions, may say that an order which no name
decides is another. By the same conventions attributes say how values are packed, and which are
none: xarray takes them away where it reads values as they are meant.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from propercal._data.words.messages import bad_value, some_names
from propercal._data.words.tokens import key

#: Attributes that say which number is no value.
_FILLS = "_FillValue", "missing_value"

Lists = Mapping[Hashable, tuple[str, ...]]


def lists_of(attributes: Mapping[Hashable, Any]) -> Lists:
    """Return the attributes that list different words, by their names."""
    found = {name: _words(each) for name, each in attributes.items()}
    meanings, values = attributes.get("flag_meanings"), attributes.get("flag_values")
    if isinstance(meanings, str):
        words: Sequence[str] = meanings.split()
        numbers = np.ravel(values if values is not None else range(len(words)))
        if len(numbers) == len(words) and numbers.dtype.kind in "iuf":
            words = [words[i] for i in np.argsort(numbers)]
        found["flag_meanings"] = _words(words)
    return {name: words for name, words in found.items() if words}


def check_decoded(argument: str, attributes: Mapping[Hashable, Any]) -> None:
    """Raise where attributes say that values are packed: to be scaled, or moved, first."""
    for name, neutral in (("scale_factor", 1), ("add_offset", 0)):
        packed = [each for each in _numbers(attributes.get(name)) if each != neutral]
        if packed:
            raise bad_value(
                argument,
                f"an array whose attribute {name!r} is {packed[0]:g}: packed values",
                "values as they are meant",
                "decode them, by xarray.decode_cf(...) of their Dataset, or leave the attribute "
                "out (.drop_attrs()) if that has been done",
            )


def fills_of(attributes: Mapping[Hashable, Any]) -> tuple[float, ...]:
    """Return the numbers that attributes say stand for missing values."""
    found = [each for name in _FILLS for each in _numbers(attributes.get(name))]
    return tuple(dict.fromkeys(found))


def _numbers(value: Any) -> list[Any]:
    """Return one number, or several, and none of what is no number."""
    found = np.ravel(value) if value is not None else np.empty(0)
    return [each for each in found.tolist() if each == each] if found.dtype.kind in "iuf" else []


def _words(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple | np.ndarray) or np.ndim(value) != 1:
        return ()
    words = list(value)
    texts = tuple(str(each) for each in words if isinstance(each, str))
    return texts if len(set(texts)) == len(words) > 1 else ()


def check_lists(
    read: Sequence[Any] | None, labels: Lists, proba: Lists, called: Sequence[str]
) -> None:
    """Raise where an attribute lists the classes that are `read`, by their order, in another one.

    Where labels count columns without names, those of both are compared with each other.
    """
    for argument, lists in zip(called, (labels, proba), strict=True):
        for name, words in lists.items():
            if read is not None and _are_in_other_order(words, read):
                raise _other_order(
                    argument, name, words, f"the order in which they are read, {some_names(read)}"
                )
    for own, words in labels.items() if read is None else ():
        for name, others in proba.items():
            if _are_in_other_order(words, others):
                where = f"the order of the attribute {own!r} of {called[0]}, {some_names(words)}"
                raise _other_order(called[1], name, others, where)


def _are_in_other_order(words: Sequence[Any], others: Sequence[Any]) -> bool:
    own, wanted = ([str(key(each)) for each in names] for names in (words, others))
    return own != wanted and sorted(own) == sorted(wanted)


def _other_order(argument: str, name: Hashable, words: Sequence[str], order: str) -> ValueError:
    return bad_value(
        argument,
        f"an attribute {name!r} that lists classes as {some_names(words)}",
        order,
        "pass labels=[...], the class of every column in order, or leave the attribute out "
        "(.drop_attrs())",
    )
