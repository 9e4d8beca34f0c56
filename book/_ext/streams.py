"""What a cell prints, in one piece: the build would end a line wherever a chunk of it ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def joined(outputs: list[Any]) -> list[Any]:
    """Return outputs in which chunks of one stream are put together as they came.

    Chunks of the two streams may come in turn; each goes where its stream began, or began anew
    after an output of another kind.
    """
    found: list[Any] = []
    last: dict[str, Any] = {}
    for output in outputs:
        if output["output_type"] != "stream":
            last.clear()
            found.append(output)
        elif output["name"] in last:
            last[output["name"]]["text"] += output["text"]
        else:
            last[output["name"]] = output
            found.append(output)
    return found


def first(before: Callable[[list[Any]], list[Any]]) -> Callable[[list[Any]], list[Any]]:
    """Return a function that joins chunks before another one merges streams."""

    def merged(outputs: list[Any]) -> list[Any]:
        return before(joined(outputs))

    return merged


def setup(_: Sphinx) -> dict[str, Any]:
    """Join before myst-nb merges, which ends each chunk with a new line."""
    from myst_nb.core import render

    render.coalesce_streams = first(render.coalesce_streams)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
