"""Every page of the built book as a browser shows it, from a server on this machine."""

from __future__ import annotations

import functools
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from theory_tests.book import browser
from theory_tests.book.sources import HTML

pytestmark = [
    pytest.mark.skipif(not (HTML / "index.html").exists(), reason="the book is not built; `make book` does so"),
    pytest.mark.skipif(browser.program() is None, reason="no Chromium is installed here"),
]

PAGES = sorted(path.relative_to(HTML).as_posix() for path in HTML.rglob("*.html") if not {"_static", "code"} & set(path.relative_to(HTML).parts))
#: One page of each kind, and one file of code.
KINDS = ["index.html", "derivations/debiasing.html", "guides/five_minutes.html", "results/index.html", "api/decompose.html", "code/theory_tests/laws/test_weights.py.html"]

#: Stops and brackets after a formula that stand on the line below it.
LEFT_ALONE = """
[...document.querySelectorAll('.bd-article span.math')].filter(formula => {
  const after = formula.nextSibling;
  if (after?.nodeType !== Node.TEXT_NODE || !/^[.,;:!?)]/.test(after.data) || !formula.checkVisibility()) return false;
  const range = document.createRange();
  range.setStart(after, 0);
  range.setEnd(after, 1);
  return range.getBoundingClientRect().left < [...formula.getClientRects()].at(-1).left;
}).map(formula => formula.parentElement.textContent.trim().slice(-40))
"""


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder on this machine, and say where."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with served(HTML) as found:
        yield found


@pytest.fixture(scope="module")
def page() -> Iterator[browser.Page]:
    with browser.opened() as found:
        yield found


@pytest.mark.slow
def test_no_line_begins_with_the_stop_after_a_formula(page: browser.Page, address: str) -> None:
    for width in (1400, 400):
        page.resize(width)
        for name in ("derivations/debiasing.html", "derivations/test.html"):
            page.open(address + name)
            assert page.evaluate("document.querySelectorAll('.with-marks').length") > 10, name
            assert page.evaluate(LEFT_ALONE) == [], (name, width)


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_stands_out_from_the_page(page: browser.Page, address: str, theme: str) -> None:
    """A contrast of 4.5 between text and background, on one page of each kind."""
    page.resize(1400)
    for name in KINDS:
        page.open(address + name)
        page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
        colour, background = (
            page.evaluate(f"getComputedStyle(document.querySelector('{element}')).{what}")
            for element, what in ((".bd-article h1, .source-page h1", "color"), ("body", "backgroundColor"))
        )
        assert contrast(colour, background) > 4.5, name
        assert (luminance(background) < 0.2) == (theme == "dark"), name


def test_figures_are_dark_on_a_dark_page(page: browser.Page, address: str) -> None:
    """Their white, turned round, is the colour of the page; without the rule there is a white box."""
    page.resize(1400)
    for name in ("derivations/kernel.html", "guides/reliability.html"):
        page.open(address + name)
        page.evaluate("document.documentElement.dataset.theme = 'dark'")
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        shades = page.evaluate("[...document.querySelectorAll('.bd-article img')].map(i => [getComputedStyle(i).filter, getComputedStyle(i).backgroundColor])")
        assert shades
        for shade, behind in shades:
            kept = re.match(r"invert\(([\d.]+)\) hue-rotate\(180deg\)$", shade)
            assert kept, (name, shade)
            assert behind == "rgba(0, 0, 0, 0)", name
            assert luminance(background) == pytest.approx(luminance(f"rgb({', '.join(3 * [str(255 * (1 - float(kept[1])))])})"), abs=0.002)


#: Words that must not break and do, and how many there are.
BROKEN = """
(() => {
  const words = [...document.querySelectorAll('.bd-article .whole-word')].filter(word => word.checkVisibility());
  return [words.filter(word => word.getClientRects().length > 1).map(word => word.textContent), words.length];
})()
"""


@pytest.mark.parametrize(("name", "word"), [("api/command_line.html", "--drop"), ("api/recalibration.html", "1e-15")])
def test_flags_and_numbers_do_not_break(page: browser.Page, address: str, name: str, word: str) -> None:
    page.resize(400)
    page.open(address + name)
    assert word in page.evaluate("[...document.querySelectorAll('.whole-word')].map(e => e.textContent)")
    broken, seen = page.evaluate(BROKEN)
    assert broken == []
    assert seen > 0


def test_a_dotted_name_does_not_break_behind_a_dot_that_it_begins_with(page: browser.Page, address: str) -> None:
    page.open(address + "api/index.html")
    names = page.evaluate("[...document.querySelectorAll('.bd-article code span.pre')].map(e => [...e.childNodes].map(n => n.textContent))")
    assert [".propercal"] in names
    assert any(len(parts) > 1 for parts in names)


def test_the_column_of_pages_shows_the_page_that_is_open(page: browser.Page, address: str) -> None:
    """The theme shows where the column was left, which after a click elsewhere is another part."""
    page.resize(1400)
    for name in ("results/speed.html", "guides/why.html", "api/testing.html"):
        page.open(address + name)
        column, link = page.evaluate(
            "new Promise(done => requestAnimationFrame(() => setTimeout(() => done(['.bd-sidebar-primary', '.bd-sidebar-primary li.current > a.current']"
            ".map(e => document.querySelector(e).getBoundingClientRect()).map(r => [r.top, r.bottom])), 50)))"
        )
        assert column[0] <= link[0] <= link[1] <= column[1], name


def test_links_to_the_pages_beside_are_whole(page: browser.Page, address: str) -> None:
    """Two long words beside each other pushed an arrow out of a narrow window."""
    page.resize(400)
    for name in ("api/training.html", "derivations/linear.html"):
        page.open(address + name)
        ends = page.evaluate("[...document.querySelectorAll('.prev-next-area a > :is(i, svg)')].map(e => e.getBoundingClientRect()).map(r => [r.left, r.right])")
        assert len(ends) == 2
        assert all(0 <= left < right <= 400 for left, right in ends), name


def test_search_finds_a_theorem(page: browser.Page, address: str) -> None:
    page.resize(1400)
    visit = page.open(address + "search.html?q=monotonicity")
    found = page.evaluate(
        "new Promise(done => { let n = 0; const timer = setInterval(() => {"
        "const hits = [...document.querySelectorAll('#search-results li a')].map(a => a.href);"
        "if (hits.length || ++n > 100) { clearInterval(timer); done(hits); } }, 50); })"
    )
    assert any("derivations/information" in hit for hit in found)
    # Extracts are filled in later.
    text = page.evaluate(
        "new Promise(done => { let n = 0; const timer = setInterval(() => {"
        "const found = [...document.querySelectorAll('#search-results li p.context')].map(p => p.textContent).join(' ');"
        "if (found || ++n > 100) { clearInterval(timer); done(found); } }, 50); })"
    )
    assert "monotonicity" in text.lower()
    assert "\\(" not in text
    assert visit.errors == []


@pytest.mark.parametrize("word", ["ECE", "MCB", "resolution", "temperature", "grouping loss"])
def test_search_finds_words_that_others_use(page: browser.Page, address: str, word: str) -> None:
    page.resize(1400)
    page.open(address + f"search.html?q={word.replace(' ', '+')}")
    found = page.evaluate(
        "new Promise(done => { let n = 0; const timer = setInterval(() => {"
        "const hits = [...document.querySelectorAll('#search-results li a')].map(a => a.href);"
        "if (hits.some(h => h.includes('glossary')) || ++n > 100) { clearInterval(timer); done(hits); } }, 50); })"
    )
    assert any("glossary" in hit for hit in found)


def luminance(colour: str) -> float:
    red, green, blue = (float(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3])
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (red, green, blue)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_contrast() -> None:
    assert contrast("rgb(0, 0, 0)", "rgb(255, 255, 255)") == pytest.approx(21)
