"""Progress of long calls: a bar on a terminal or in a notebook.

Loops say how far they are by going through :func:`steps`. What a call has done is a place between 0
and 1; each step has a part of the way to itself, which loops within it divide further. Without a
bar in the making, :func:`steps` returns what it was given.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from functools import wraps
from typing import Any, TypeVar, cast

from propercal._data.words.messages import bad_value

_Item = TypeVar("_Item")
_Function = TypeVar("_Function", bound=Callable[..., Any])

#: Seconds: a bar is shown for calls that are expected to take longer than the first, not before the
#: second has passed, and is drawn again after the third.
_LONG, _FIRST_LOOK, _REDRAWN = 10.0, 1.0, 0.1
#: Of steps whose number is not known each takes this share of the way that is left.
_UNKNOWN = 0.1


class _Progress:
    """How far a call is."""

    def __init__(self, *, forced: bool) -> None:
        self._forced = forced
        self._begin = self._drawn = time.monotonic()
        self._bar: Any = None
        self._closed = False
        self._here, self._end = 0.0, 1.0

    @contextmanager
    def part(self, share: float) -> Iterator[None]:
        """Give what happens within a share of the way that is left."""
        end = self._end
        self._end = self._here + share * (end - self._here)
        try:
            yield
        finally:
            self._here, self._end = self._end, end
            self._report()

    def steps(self, items: Iterable[_Item], share: float) -> Iterator[_Item]:
        """Yield items, each with its part of a share of the way that is left."""
        total = len(items) if isinstance(items, Sized) else None
        with self.part(share):
            for i, item in enumerate(items):
                with self.part(_UNKNOWN if total is None else 1 / max(total - i, 1)):
                    yield item

    def _report(self) -> None:
        # A loop that an error left may end late.
        if self._closed:
            return
        now = time.monotonic()
        seconds = now - self._begin
        if self._bar is None:
            # What has been done so far took its share of the time.
            if not self._forced and (seconds < _FIRST_LOOK or seconds <= _LONG * self._here):
                return
            self._bar = _new_bar(seconds)
        elif now - self._drawn < _REDRAWN:
            return
        self._drawn = now
        self._bar.n = round(100 * self._here, 1)
        self._bar.refresh()

    def close(self) -> None:
        """Take the bar away."""
        self._closed = True
        if self._bar is not None:
            self._bar.close()


_current: ContextVar[_Progress | None] = ContextVar("_current", default=None)


def steps(items: Iterable[_Item], share: float = 1.0) -> Iterable[_Item]:
    """Let a loop over `items` say how far it is.

    It has a share of what is left of the way that the step around it has.
    """
    progress = _current.get()
    return items if progress is None else progress.steps(items, share)


def part(share: float) -> AbstractContextManager[None]:
    """Give what happens within a share of what is left of the way of the step around it."""
    progress = _current.get()
    return nullcontext() if progress is None else progress.part(share)


@contextmanager
def _shown(progress: bool | None) -> Iterator[None]:
    """Show what is done within: always, never, or where somebody sees it and it takes long."""
    if progress is None and (_current.get() is not None or not (_is_terminal() or _in_notebook())):
        yield
        return
    made = None if progress is False else _Progress(forced=progress is True)
    token = _current.set(made)
    try:
        yield
    finally:
        _current.reset(token)
        if made is not None:
            made.close()


def with_progress(function: _Function) -> _Function:
    """Let the argument `progress` of a function show its progress."""

    @wraps(function)
    def wrapper(*given: Any, progress: object = None, **options: Any) -> Any:
        if not (progress is None or isinstance(progress, bool)):
            raise bad_value(
                "progress",
                repr(progress),
                "None, True or False",
                "None shows a bar where a call takes long and somebody sees it",
            )
        with _shown(progress):
            return function(*given, **options)

    return cast("_Function", wrapper)


def _is_terminal() -> bool:
    # There may be no standard error, as under pythonw.
    return sys.stderr is not None and sys.stderr.isatty()


def _in_notebook() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None


def _new_bar(seconds: float) -> Any:
    """Return a bar of 100 that began some time ago."""
    with warnings.catch_warnings():
        # That widgets are missing: it then draws with characters.
        warnings.filterwarnings("ignore", "IProgress not found")
        if _in_notebook():
            from tqdm.auto import tqdm
        else:
            from tqdm import tqdm
        # Without a thread that watches it.
        kind = type("Bar", (tqdm,), {"monitor_interval": 0})
        bar = kind(
            total=100.0,
            desc="propercal",
            leave=False,
            file=None if _in_notebook() else sys.stderr,
            bar_format="{desc}: {percentage:3.0f}%|{bar}| {elapsed}<{remaining}",
        )
    # A bar that TQDM_DISABLE switches off has no clock.
    if not bar.disable:
        bar.start_t -= seconds
    return bar
