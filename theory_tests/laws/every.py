"""One search for counter-examples that is shared by several generators."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

from propercal.generators import BregmanGenerator


def for_every(generators: Iterable[BregmanGenerator]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Let a law, `law(generator, ...)` of a drawn example, be tried on each of the generators.

    Drawing an example takes longer than trying it. A failure names the generator.
    """
    chosen = tuple(generators)

    def decorate(law: Callable[..., None]) -> Callable[..., None]:
        @wraps(law)
        def every(*drawn: Any, **named: Any) -> None:
            for generator in chosen:
                try:
                    law(generator, *drawn, **named)
                except Exception as error:
                    error.add_note(f"generator = {generator!r}")
                    raise

        # Hypothesis asks for the arguments that are drawn.
        signature = inspect.signature(law)
        _, *others = signature.parameters.values()
        every.__signature__ = signature.replace(parameters=others)  # type: ignore[attr-defined]
        return every

    return decorate
