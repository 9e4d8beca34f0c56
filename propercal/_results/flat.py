"""Datasets as flat numbers, under keys that trackers of experiments take."""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Hashable, Iterator, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import xarray as xr

BOUND, INTERVAL, ERROR = "bound", "_interval", "_standard_error"

#: Letters of a name within a key: MLflow takes 250 in all.
_LONGEST = 60
#: Signs of which words say the same.
_SIGNS = {
    "<=": "at most",
    ">=": "at least",
    "≤": "at most",
    "≥": "at least",
    "!=": "not",
    "≠": "not",
    "<": "below",
    ">": "above",
    "+": "plus",
}
_SIGN = re.compile("|".join(map(re.escape, _SIGNS)))
#: Settings that say nothing of the data.
_OF_FORMAT = {"format_version"}


class Number(NamedTuple):
    """One number of a dataset."""

    place: tuple[str, ...]
    """The dimension that it is along, and where; more of these, or none."""
    variable: str
    value: Any
    bound: str = ""
    """Which end of an interval it is."""

    @property
    def name(self) -> str:
        """What it is called: "risk", or "risk_lower" for the end of an interval."""
        if not self.bound:
            return self.variable
        return f"{stem(self.variable)}_{self.bound}".lstrip("_")

    @property
    def key(self) -> str:
        """Its name, after where it is."""
        return "/".join((*self.place, self.name))


def stem(variable: str) -> str:
    """Return what a variable is the interval of; "" where that is the only one."""
    return f"_{variable}".removesuffix(INTERVAL).lstrip("_")


def numbers_of(data: xr.Dataset) -> Iterator[Number]:
    """Yield the numbers of a dataset, variable by variable."""
    for name, variable in data.data_vars.items():
        if variable.dtype.kind not in "biuf":
            continue
        dims = [dim for dim in variable.dims if dim != BOUND]
        bounds = data[BOUND].to_numpy().tolist() if BOUND in variable.dims else [""]
        values = variable.transpose(*dims, *([BOUND] if bounds != [""] else [])).to_numpy()
        places = [[(str(dim), label) for label in labels_of(data, dim)] for dim in dims]
        flat = iter(values.ravel().tolist())
        for place in product(*places):
            for bound in bounds:
                yield Number(tuple(part for pair in place for part in pair), str(name),
                             next(flat), bound)  # fmt: skip


def flat_numbers(data: xr.Dataset) -> dict[str, float]:
    """Return finite numbers of a dataset and its settings by their keys."""
    found = {each.key: each.value for each in numbers_of(data)}
    settings = {str(name): value for name, value in data.attrs.items() if name not in _OF_FORMAT}
    found = {name: value for name, value in settings.items() if is_number(value)} | found
    return {name: float(value) for name, value in found.items() if math.isfinite(value)}


def is_number(value: object) -> bool:
    """Tell whether a value is a real number, or a flag."""
    return isinstance(value, int | float | np.number | np.bool_)


def labels_of(data: xr.Dataset, dim: Hashable) -> list[str]:
    """Return what the places along a dimension are called in keys, each by another name."""
    if dim not in data.coords:
        return [str(i) for i in range(data.sizes[dim])]
    return keys_of(data[dim].to_numpy().tolist())


def as_key(name: object) -> str:
    """Return a name of letters, digits, underscores, hyphens, full stops and spaces alone.

    Signs that are all that tells names apart, as those of <50 and >50, become words.
    """
    text = _SIGN.sub(lambda found: f" {_SIGNS[found[0]]} ", str(name))
    if text != str(name):
        text = " ".join(text.split())
    words = re.sub(r"[^\w\-. ]", "_", text).strip(" .")
    return words[:_LONGEST].strip(" .") or "_"


def keys_of(names: Sequence[object]) -> list[str]:
    """Return keys of names, each by another.

    Names that become one have a number made of the name, which does not depend on what other names
    there are, nor on their order; one that is written as its key stays.
    """
    found = [as_key(each) for each in names]
    pairs = zip(names, found, strict=True)
    return distinct(
        [
            key if found.count(key) == 1 or str(name) == key else f"{key}_{_digest(name)}"
            for name, key in pairs
        ]
    )


def _digest(name: object) -> str:
    return f"{zlib.crc32(str(name).encode('utf-8', 'surrogatepass')):08x}"


def distinct(names: Sequence[str]) -> list[str]:
    """Return names, those that came before with a number that makes them new."""
    found: list[str] = []
    taken = set(names)
    for name in names:
        new, i = name, 2
        while new in found or (new != name and new in taken):
            new, i = f"{name}_{i}", i + 1
        found.append(new)
    return found
