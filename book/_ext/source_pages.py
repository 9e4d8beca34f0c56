"""Files of the project as pages of the book, each one click away from the text.

The role {src}`path` links to the highlighted file, {src}`path::name` to a function or class in it,
{src}`text <path>` says something else. A file or name that does not exist is a warning, on which
the build fails.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from docutils import nodes
from sphinx.util import logging
from sphinx.util.osutil import relative_uri

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

logger = logging.getLogger(__name__)
ROOT = Path(__file__).resolve().parents[2]
_WRITTEN = re.compile(r"(?:(?P<text>[^<]+?)\s*<)?(?P<path>[^<>:]+)(?:::(?P<name>\w+))?>?")


class Target(NamedTuple):
    """A file, as a path from the root of the project, and the line to go to."""

    path: str
    line: int | None


def source_role(
    _name: str, _rawtext: str, written: str, lineno: int, inliner: Any, *_: Any
) -> tuple[list[Any], list[Any]]:
    """Return a link that is completed once it is known from which page it leads."""
    env = inliner.document.settings.env
    try:
        path, name, text = _read(written)
        line = None if name is None else line_of(ROOT / path, name)
    except LookupError as error:
        logger.warning("source link: %s", error, location=(env.docname, lineno))
        return [nodes.Text(written)], []
    link = nodes.reference("", "", internal=True, source_page=Target(path, line))
    shown = text or name or Path(path).name
    link += nodes.Text(shown) if text else nodes.literal(shown, shown)
    pages(env).setdefault(path, set()).add(env.docname)
    return [link], []


def _read(written: str) -> tuple[str, str | None, str | None]:
    found = _WRITTEN.fullmatch(written)
    if found is None:
        raise LookupError(f"cannot read {written!r}")
    path = found["path"].strip()
    if not (ROOT / path).is_file():
        raise LookupError(f"no file {path!r} in the project")
    return path, found["name"], found["text"]


def line_of(path: Path, name: str) -> int:
    """Return the line on which a function or class is defined."""
    start = re.compile(rf"\s*(?:async )?(?:def|class) {re.escape(name)}\b")
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if start.match(line):
            return number
    raise LookupError(f"no function or class {name!r} in {path.name}")


def pages(env: BuildEnvironment) -> dict[str, set[str]]:
    """Return the files that are linked, with the documents that link them."""
    if not hasattr(env, "source_pages"):
        setattr(env, "source_pages", {})  # noqa: B010  # the environment is pickled with it
    found: dict[str, set[str]] = getattr(env, "source_pages")  # noqa: B009
    return found


def page_name(path: str) -> str:
    """Return the page of a file."""
    return f"code/{path}"


def resolve(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    for link in doctree.findall(nodes.reference):
        target = link.get("source_page")
        if target is None:
            continue
        page = app.builder.get_target_uri(page_name(target.path))
        uri = relative_uri(app.builder.get_target_uri(docname), page)
        link["refuri"] = uri + (f"#line-{target.line}" if target.line else "")


def forget(_: Sphinx, env: BuildEnvironment, docname: str) -> None:
    for path in list(pages(env)):
        pages(env)[path].discard(docname)
        if not pages(env)[path]:
            del pages(env)[path]


def merge(_: Sphinx, env: BuildEnvironment, __: object, other: BuildEnvironment) -> None:
    for path, documents in pages(other).items():
        pages(env).setdefault(path, set()).update(documents)


def make_pages(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import get_lexer_for_filename

    formatter = HtmlFormatter(cssclass="highlight", lineanchors="line", wrapcode=True)
    for path in sorted(pages(app.env)):
        text = (ROOT / path).read_text(encoding="utf-8")
        code = highlight(text, get_lexer_for_filename(path), formatter)
        body = f'<section class="source-page"><h1>{path}</h1>{code}</section>'
        context = {"title": path, "body": body, "parents": []}
        yield page_name(path), context, "page.html"


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the role and the pages."""
    app.add_role("src", source_role)
    app.connect("doctree-resolved", resolve)
    app.connect("env-purge-doc", forget)
    app.connect("env-merge-info", merge)
    app.connect("html-collect-pages", make_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
