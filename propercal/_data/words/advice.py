"""Advice in messages that can be followed: of arguments that the caller's function has.

What reads data is shared by functions of other arguments. Each says which it has; clauses of a
message that advise others are left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, TypeVar, cast

_Function = TypeVar("_Function", bound=Callable[..., Any])

_known: ContextVar[frozenset[str] | None] = ContextVar("_known", default=None)
_ADVISED = re.compile(r"(?<![\w.(])([a-z_]+)=(?!=)")
#: Of what is called there, arguments are those of another function.
_CALL = re.compile(r"\w[\w.]*\([^()]*\)")
_BETWEEN = re.compile(r"(, or |; or |; )")
_SENTENCE = re.compile(r"(?<=\.) (?=Pass )")
_VERB = re.compile(r"(?:pass|use) ")


@contextmanager
def advising(*names: str) -> Iterator[None]:
    """Let messages advise no other arguments; of calls within each other the first one tells."""
    if _known.get() is not None:
        yield
        return
    token = _known.set(frozenset(names))
    try:
        yield
    finally:
        _known.reset(token)


def advises(*names: str) -> Callable[[_Function], _Function]:
    """Return a decorator of functions with these arguments, as :func:`advising` has it."""

    def decorate(function: _Function) -> _Function:
        @wraps(function)
        def wrapper(*given: Any, **options: Any) -> Any:
            with advising(*names):
                return function(*given, **options)

        return cast("_Function", wrapper)

    return decorate


def known_of(*names: str) -> list[str]:
    """Return those of these arguments that the caller's function has."""
    known = _known.get()
    return [name for name in names if known is None or name in known]


def _advised(text: str) -> list[str]:
    return _ADVISED.findall(_CALL.sub("", text))


def possible(fix: str) -> str:
    """Return a fix without the clauses that advise what the caller's function has not."""
    known = _known.get()
    if known is None or known.issuperset(_advised(fix)):
        return fix
    first, *others = _BETWEEN.split(fix)
    verb = _VERB.match(first)
    found = first if known.issuperset(_advised(first)) else ""
    for between, clause in zip(others[::2], others[1::2], strict=True):
        if not known.issuperset(_advised(clause)):
            continue
        # The verb of clauses that are left out is that of those which have none.
        bare = verb is not None and not found and between != "; "
        found += f"{between if found else verb.group() if bare and verb else ''}{clause}"
    return found or "bring the data into this form first"


def possible_sentences(message: str) -> str:
    """Return a message without the sentences that advise what the caller's function has not."""
    known = _known.get()
    if known is None or known.issuperset(_advised(message)):
        return message
    first, *others = _SENTENCE.split(message)
    return " ".join([first, *(x for x in others if known.issuperset(_advised(x)))])
