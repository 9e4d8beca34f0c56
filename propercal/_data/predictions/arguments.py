"""Arguments that say how data are read, which every function that reads takes."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from propercal._data.predictions.predictions import Reading, validate
from propercal._data.words.advice import advising

_Function = TypeVar("_Function", bound=Callable[..., Any])


def with_reading(function: _Function) -> _Function:
    """Let the signature of a function name the arguments that it passes on to reading.

    Their defaults are those of :func:`propercal._data.predictions.predictions.validate`, which
    stand once.
    """
    signature = inspect.signature(function)
    named = [each for each in signature.parameters.values() if each.kind != each.VAR_KEYWORD]
    of_reading = inspect.signature(validate).parameters
    more = [of_reading[name] for name in Reading.__annotations__]
    known = {each.name for each in (*named, *more)}

    @wraps(function)
    def wrapper(*given: Any, **options: Any) -> Any:
        # So that pytest shows a user's own line for an assertion.
        __tracebackhide__ = True
        for name in options.keys() - known:
            close = difflib.get_close_matches(name, known, n=1, cutoff=0.7)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise TypeError(
                f"{function.__name__}() got an unexpected keyword argument {name!r}{hint}"
            )
        with advising(*known):
            return function(*given, **options)

    wrapper.__signature__ = signature.replace(parameters=[*named, *more])  # type: ignore[attr-defined]
    return cast("_Function", wrapper)
