"""Texts of lists of numbers, as Python, NumPy and PyTorch write them, and files have columns of."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

_LIST = re.compile(r"\s*(?:tensor\()?[\[(][-+.,\s\deE]*[\])]\)?\s*")
#: How numbers are made of them.
READ_LISTS = (
    "read it, by numpy.array([each.strip().strip('tensor[]()').replace(',', ' ').split() for each "
    "in ...], float)"
)


def are_lists(texts: Collection[Any]) -> bool:
    """Tell whether all values, and there are some, are texts of lists of numbers."""
    return bool(texts) and all(
        isinstance(each, str) and _LIST.fullmatch(each) is not None for each in texts
    )
