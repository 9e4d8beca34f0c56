"""Signatures of functions that pass arguments on, for help, completion and what is misspelt."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Collection
from functools import wraps
from typing import Any, TypeVar, cast

_Function = TypeVar("_Function", bound=Callable[..., Any])

#: What is called otherwise elsewhere in this package.
_INSTEAD = {"sample_weight": "weights", "sample_dims": "reduce_dims"}


def with_options(
    function: Callable[..., Any], without: Collection[str]
) -> Callable[[_Function], _Function]:
    """Let a function name the keyword arguments that it passes on to another."""

    def decorate(wrapped: _Function) -> _Function:
        signature = inspect.signature(wrapped)
        own = [each for each in signature.parameters.values() if each.kind != each.VAR_KEYWORD]
        names = {each.name for each in own}
        more = [
            each
            for each in inspect.signature(function).parameters.values()
            if each.kind == each.KEYWORD_ONLY and each.name not in {*names, *without}
        ]
        known = {*names, *(each.name for each in more)}

        @wraps(wrapped)
        def wrapper(*given: Any, **options: Any) -> Any:
            for name in options.keys() - known:
                raise TypeError(
                    f"{wrapped.__name__}() got an unexpected keyword argument {name!r}"
                    + _hint(name, known)
                )
            return wrapped(*given, **options)

        wrapper.__signature__ = signature.replace(parameters=[*own, *more])  # type: ignore[attr-defined]
        return cast("_Function", wrapper)

    return decorate


def _hint(name: str, known: Collection[str]) -> str:
    """Say what may be meant by a name that is none."""
    instead = {
        "sample_weight": "weights",
        "sample_dims": "reduce_dims",
        "sample_dim": "reduce_dims",
    }
    if name in instead:
        return f"; it is {instead[name]}= here, as in xskillscore and scores"
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.7)
    return f"; did you mean {close[0]!r}?" if close else ""


def as_method_of(
    function: Callable[..., Any], without: Collection[str] = ()
) -> Callable[[_Function], _Function]:
    """Let a method show the arguments of a function that it calls."""

    def decorate(method: _Function) -> _Function:
        signature = inspect.signature(function)
        kept = [each for each in signature.parameters.values() if each.name not in without]
        self = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        method.__signature__ = signature.replace(parameters=[self, *kept])  # type: ignore[attr-defined]
        return method

    return decorate
