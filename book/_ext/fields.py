"""Fields of named tuples in the reference, where their class has said what they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

#: What Python says of a field of which nobody said anything.
_EMPTY = "Alias for field number "


def is_left_out(_: Sphinx, __: str, ___: str, found: object, *____: object) -> bool | None:
    """Leave out a field that has no text of its own. None is for others to decide."""
    text = getattr(found, "__doc__", None) or ""
    return True if text.startswith(_EMPTY) else None


def setup(app: Sphinx) -> dict[str, Any]:
    """Ask at every member."""
    app.connect("autodoc-skip-member", is_left_out)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
