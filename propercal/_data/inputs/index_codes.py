"""The codes of a categorical index, which number what it names."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from propercal._data.words.tokens import number_otherwise


def codes_of(names: Any) -> dict[Hashable, Sequence[Any]]:
    """Return the codes of a categorical index of names, if they do not ascend."""
    codes = getattr(names, "codes", None) if hasattr(names, "categories") else None
    return {} if codes is None or not number_otherwise(codes.tolist()) else {None: codes.tolist()}
