"""The book as it is written and, where it was built, as it is read."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parents[2]
BOOK = ROOT / "book"
HTML = BOOK / "_build" / "html"

#: {src}`path::name` or {src}`text <path>`, as book/_ext/source_pages.py reads them.
_SOURCE = re.compile(r"\{src\}`(?:[^`<]*<)?([^`<>:]+)(?:::(\w+))?>?`")
_VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
#: Attributes that make a browser load something when the page is opened.
_LOADED = {"img": "src", "script": "src", "link": "href", "source": "src", "iframe": "src", "object": "data", "video": "src", "audio": "src"}
#: Links that are no requests.
_NOT_LOADED = {"canonical", "next", "prev", "search", "index", "author", "help"}


def pages() -> list[Path]:
    """Return the sources of all pages."""
    return sorted(path for path in BOOK.rglob("*.md") if "_build" not in path.parts)


def source_links(text: str) -> list[tuple[str, str | None]]:
    """Return path and name of every link to a file of the project."""
    return [(path.strip(), name or None) for path, name in _SOURCE.findall(text)]


class Image(NamedTuple):
    """An image of a page."""

    source: str
    alt: str | None


class Convention(HTMLParser):
    """What a page links, loads, names and says."""

    def __init__(self, path: Path) -> None:
        super().__init__(convert_charrefs=True)
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.images: list[Image] = []
        self.names: set[str] = set()
        self.text: list[str] = []
        """Outside formulas, code and scripts."""
        self._skipped: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        classes = (found.get("class") or "").split()
        self.names |= {value for value in (found.get("id"), found.get("name")) if value}
        if tag == "a" and found.get("href"):
            self.links.append(str(found["href"]))
        loads = found.get(_LOADED.get(tag, ""))
        if loads and not (tag == "link" and set((found.get("rel") or "").split()) & _NOT_LOADED):
            self.loaded.append(loads)
        if tag == "img":
            self.images.append(Image(found.get("src") or "", found.get("alt")))
        if tag in _VOID:
            return
        if self._skipped or tag in {"script", "style", "pre", "code", "svg", "title"} or "math" in classes:
            self._skipped.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._skipped and tag not in _VOID:
            self._skipped.pop()

    def handle_data(self, data: str) -> None:
        if not self._skipped:
            self.text.append(data)


def read_site() -> dict[Path, Convention]:
    """Return every page of the built book, by its path below the folder of the site."""
    return {path.relative_to(HTML): Convention(path) for path in sorted(HTML.rglob("*.html")) if "_static" not in path.parts}


def is_elsewhere(address: str) -> bool:
    """Tell whether an address is on another host."""
    return bool(urlsplit(address).netloc)


def target_of(page: Path, address: str) -> tuple[Path, str]:
    """Return the file, below the folder of the site, and the anchor that a link on a page leads to."""
    parts = urlsplit(address)
    path = HTML / page if not parts.path else (HTML / page).parent / unquote(parts.path)
    if path.is_dir():
        path = path / "index.html"
    return Path(re.sub(r"/\./", "/", str(path.resolve()))).relative_to(HTML.resolve()), unquote(parts.fragment)
