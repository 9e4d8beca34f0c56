"""What recalibrators call the data: X and y, unless who calls them has other names for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from propercal._data.inputs.reading import Names

_USUAL = Names(labels="y", proba="X")
_names: ContextVar[Names | None] = ContextVar("_names", default=None)


def names_said() -> Names:
    """Return the names of the data that errors and warnings say."""
    return _names.get() or _USUAL


def are_callers() -> bool:
    """Tell whether a user calls the recalibrator, and gets what it returns, without names."""
    return _names.get() is None


@contextmanager
def calling(names: Names) -> Iterator[None]:
    """Let recalibrators call the data by these names, which the caller of the caller knows."""
    token = _names.set(names)
    try:
        yield
    finally:
        _names.reset(token)
