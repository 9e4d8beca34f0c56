"""The one form of every error and warning: argument = value, what was expected, what to do."""

from __future__ import annotations

import difflib
import sys
import warnings
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from propercal._data.words.advice import possible, possible_sentences

_PACKAGE = str(Path(__file__).parents[2])
_held: ContextVar[list[str] | None] = ContextVar("_held", default=None)
_unordered: ContextVar[bool] = ContextVar("_unordered", default=False)
_columns: ContextVar[tuple[object, ...]] = ContextVar("_columns", default=())


def bad_value(argument: str, found: object, expected: str, fix: str) -> ValueError:
    """Build the error for an argument whose value cannot be used."""
    return ValueError(f"{argument} = {found}: expected {expected}; {possible(fix)}.")


#: A message does not list more names.
_MANY = 20


def unknown_name(argument: str, found: object, valid: Collection[str]) -> ValueError:
    """Build the error for a name that is not one of `valid`, with the nearest that is."""
    close = difflib.get_close_matches(str(found).lower(), valid, n=3, cutoff=0.4)
    fix = f"did you mean {close[0]!r}?" if close else "choose one of these"
    shown, lead = list(valid), ""
    if len(shown) > _MANY:
        shown, lead = close or shown[:3], f"{len(shown)} names, such as "
    names = lead + ", ".join(repr(name) for name in shown)
    return ValueError(f"{argument} = {found!r}: expected one of {names}; {fix}")


def warn(message: str) -> None:
    """Warn at the line outside this package that led here."""
    message = possible_sentences(message)
    held = _held.get()
    if held is not None:
        held.append(message)
        return
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, UserWarning, stacklevel=level)


@contextmanager
def held_warnings() -> Iterator[list[str]]:
    """Keep what :func:`warn` is told by this thread, for a caller who says it elsewhere, or not.

    The filters of :mod:`warnings` belong to the process: threads that share it cannot record there.
    """
    messages: list[str] = []
    token = _held.set(messages)
    try:
        yield messages
    finally:
        _held.reset(token)


@contextmanager
def in_any_order(unknown: bool) -> Iterator[None]:
    """Let messages name no rows if nobody knows in which order these were computed."""
    token = _unordered.set(_unordered.get() or unknown)
    try:
        yield
    finally:
        _unordered.reset(token)


@contextmanager
def columns_called(names: Iterable[object]) -> Iterator[None]:
    """Let messages name the columns of arrays of predictions, which came from a file of these."""
    token = _columns.set(tuple(names))
    try:
        yield
    finally:
        _columns.reset(token)


def columns_at(places: Sequence[int], n: int, names: Sequence[object] | None = None) -> str:
    """Name some of n columns, or number them where neither an array nor its file has names."""
    known = _columns.get() if names is None else names
    found = [known[i] for i in places] if len(known) == n else list(places)
    return f"the column {found[0]!r}" if len(found) == 1 else f"the columns {some_names(found)}"


def some_rows(rows: Iterable[int | None], *, most: int = 5) -> str:
    """Name rows in words, at most `most` of them; those whose number nobody knows have −1, or None.

    Another table would come in another order, so that a number would be of another row.
    """
    rows = list(rows)
    if _unordered.get() or any(row is None or row < 0 for row in rows):
        return f"{len(rows)} row{'s' if len(rows) != 1 else ''} of a lazy table in any order"
    names = ", ".join(str(int(row)) for row in rows[:most] if row is not None)
    more = f" and {len(rows) - most} more" if len(rows) > most else ""
    return f"row{'s' if len(rows) != 1 else ''} {names}{more}"


def columns_said(names: Iterable[object] | None, what: str = "columns ") -> str:
    """Return names of columns, after what they are, or in words that there are none."""
    found = [] if names is None else list(names)
    return f"{what}{found}" if found not in ([], [None]) else "columns without names"


def some_names(names: Sequence[object], *, most: int = 5) -> str:
    """List names, at most `most` of them."""
    more = ", ..." if len(names) > most else ""
    return f"[{', '.join(map(repr, list(names)[:most]))}{more}]"
