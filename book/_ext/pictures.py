"""Pictures of the derivations, drawn before pages are read, each by its module in book/pictures.

A page shows one by {figure} with the path /_build/pictures/NAME.svg.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from book.pictures import canvas

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def draw_missing(app: Sphinx) -> None:
    """Draw what is not there, or older than its module."""
    folder = Path(app.srcdir) / "_build" / "pictures"
    folder.mkdir(parents=True, exist_ok=True)
    sources = Path(canvas.__file__).parent
    for name in canvas.names():
        path = folder / f"{name}.svg"
        changed = max((sources / f"{each}.py").stat().st_mtime for each in (name, "canvas"))
        if not path.exists() or path.stat().st_mtime < changed:
            canvas.write(name, path)


def setup(app: Sphinx) -> dict[str, Any]:
    """Draw when the build begins."""
    app.connect("builder-inited", draw_missing)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
