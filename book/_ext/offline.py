"""A book that needs no network: it brings its own MathJax, and no page names another host.

The single file comes from the package sphinx-mathjax-offline, of which nothing else is needed. The
scripts of thebe, which would run code on a server, are left out.
"""

from __future__ import annotations

import shutil
from importlib.metadata import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

PACKAGE = "sphinx-mathjax-offline"
NAME = "tex-svg.js"


def mathjax_file() -> Path:
    """Return the installed file of MathJax 3."""
    for path in files(PACKAGE) or ():
        if path.name == NAME:
            return Path(str(path.locate()))
    raise FileNotFoundError(f"{PACKAGE} has no file {NAME}")


def use_the_copy(_: Sphinx, config: Any) -> None:
    config.mathjax_path = NAME


def without_thebe(_: Sphinx, __: str, ___: str, context: dict[str, Any], ____: object) -> None:
    def kept(script: Any) -> bool:
        text = f"{script} {getattr(script, 'attributes', {}).get('body', '')}"
        return "thebe" not in text.lower()

    context["script_files"] = [script for script in context["script_files"] if kept(script)]


def copy_mathjax(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        target = Path(app.outdir) / "_static" / NAME
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(mathjax_file(), target)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the copy, which takes the place of an address elsewhere."""
    app.connect("config-inited", use_the_copy, priority=900)
    app.connect("html-page-context", without_thebe, priority=900)
    app.connect("build-finished", copy_mathjax)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
