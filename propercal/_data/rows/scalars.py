"""Coordinates without a dimension: what a labelled array was selected by.

They may name a class, unless they are times, name what is known of rows, or are those of both
labels and predictions.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from numbers import Real
from typing import Any

from propercal._data.inputs.holders import is_labelled
from propercal._data.rows.coordinates import coordinate, is_text
from propercal._data.rows.indexes import order_of
from propercal._data.words.messages import bad_value
from propercal._data.words.of_rows import is_of_event, is_of_lead, is_of_rows, is_of_run
from propercal._data.words.tokens import content, is_number, key, of_class_0


def scalars_of(values: Any) -> dict[Hashable, Any]:
    """Return the coordinates without a dimension, which xarray keeps of what was selected."""
    return {n: each.item() for n, each in values.coords.items() if not each.dims and each.size}


def may_name_class(values: Any, other: Any = None) -> dict[Hashable, Any]:
    """Return those that may be the name of a class, which is not what the other has as well."""
    theirs = scalars_of(other) if is_labelled(other) else {}
    return {
        name: value
        for name, value in scalars_of(values).items()
        if values.coords[name].dtype.kind not in "mM"
        and isinstance(value, str | Real)
        and not is_of_rows(name)
        and (name not in theirs or theirs[name] != value)
    }


def selected(argument: str, values: Any, classes: Sequence[Any], labels: Any = None) -> Any:
    """Return the class that a vector was selected by; None for none, or raise for several.

    A number is that of a class where these are 0 and 1; others may number anything.
    """
    known = {key(each) for each in classes}
    usual = known <= {"0", "1"}
    found = {
        name: value
        for name, value in may_name_class(values, labels).items()
        if (key(value) in known or of_class_0(value)) and (usual or not is_number(value))
    }
    if len({key(each) for each in found.values()}) > 1:
        raise bad_value(
            argument,
            f"coordinates {', '.join(f'{name!r} = {v!r}' for name, v in found.items())}",
            "to know which of them is the class that it is the probability of",
            "drop the others by .drop_vars",
        )
    return next(iter(found.values()), None)


def texts_of(values: Any) -> list[str]:
    """Return the words that an array was selected by."""
    return [each for each in scalars_of(values).values() if isinstance(each, str)]


def check_selected(
    argument: str, values: Any, other: Any, other_argument: str, *, weight: bool = False
) -> None:
    """Raise if both were selected by different words, times or numbers of one coordinate.

    Places in floating point may lie nearby. A `weight` may be kept of any one time, and is another
    variable of a data set.
    """
    theirs = scalars_of(other)
    for name, value in scalars_of(values).items():
        wanted = theirs.get(name, value)
        if weight and (name == "variable" or not isinstance(value, str)):
            continue
        if value != wanted and _contradict(name, values, other):
            raise bad_value(
                argument,
                f"an array selected by {name!r} = {_shown(values, name)}",
                f"{_shown(other, name)}, as {other_argument} was",
                f"select the same of both, or drop the coordinate by .drop_vars({name!r})",
            )


def _shown(values: Any, name: Hashable) -> str:
    """Write a coordinate, times as such."""
    each = values.coords[name]
    return str(each.to_numpy()[()]) if each.dtype.kind in "mM" else repr(each.item())


def _contradict(name: Hashable, values: Any, other: Any) -> bool:
    """Tell whether two arrays that were selected by two values are not of the same.

    What came true has started, and a time of another name may be the same for both.
    """
    value, wanted = (each.coords[name].item() for each in (values, other))
    kinds = {each.coords[name].dtype.kind for each in (values, other)}
    if isinstance(value, str) and isinstance(wanted, str):
        return bool(content(value) and content(wanted))
    if kinds == {"M"}:
        return not any(
            each.dtype.kind == "M" and scalars_of(other).get(same) == each.item()
            for same, each in values.coords.items()
            if not each.dims
        )
    if {value, wanted} == {0, 1}:
        return True
    if is_of_lead(name) or kinds == {"m"}:
        return kinds <= {"i", "u", "f", "m"} and bool(value) and bool(wanted)
    whole = kinds <= {"i", "u"} and not is_of_run(name)
    numbers = all(map(is_number, (value, wanted)))
    return whole or (numbers and is_of_event(name))


def check_place(
    argument: str, values: Any, reference: Any, dim: Hashable, other: str, *, words: bool
) -> None:
    """Raise if an array was selected at one place of a dimension along which another has others.

    With `words`, only one in words says so: what does not change may be kept of any one time.
    """
    if dim in values.dims or dim not in scalars_of(values):
        return
    import pandas as pd

    own = pd.Index([values.coords[dim].to_numpy()[()]])
    places = coordinate(reference, dim)
    told = is_text(own) if words else places is not None or reference.sizes[dim] > 1
    if told and (places is None or order_of(own, places) is None):
        raise bad_value(
            argument,
            f"an array selected by {dim!r} = {own[0]!s}",
            f"the places along {dim!r} that {other} has",
            f"select the same of both, or drop the coordinate by .drop_vars({dim!r}) if it holds "
            "at all of them",
        )
