"""Every page as a browser opens it: whole, nothing cut off, and with text and picture beside the code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from theory_tests.book import browser
from theory_tests.book.sources import HTML
from theory_tests.book.test_in_browser import KINDS, PAGES, served

pytestmark = [
    pytest.mark.skipif(not (HTML / "index.html").exists(), reason="the book is not built; `make book` does so"),
    pytest.mark.skipif(browser.program() is None, reason="no Chromium is installed here"),
]

#: What should be on no page.
AMISS = {
    "not typeset": "[...document.querySelectorAll('.math')].filter(e => !e.querySelector('mjx-container')).map(e => e.textContent)",
    "wrong formulas": "[...document.querySelectorAll('[data-mml-node=merror], mjx-merror')].map(e => e.textContent)",
    "without a caption": "[...document.querySelectorAll('.bd-article img:not(.toggler)')].filter(i => !i.closest('figure')?.querySelector('figcaption')?.textContent.trim()).map(i => i.alt || i.src)",
    "empty images": "[...document.images].filter(i => i.loading !== 'lazy' && (!i.complete || !i.naturalWidth)).map(i => i.src)",
}
#: Everything that is wider than an ancestor shows, where all that is folded has been opened; it is folded again after.
CUT_OFF = """
(async () => {
  const folded = [...document.querySelectorAll('.bd-article details:not([open])')];
  folded.forEach(d => { d.open = true; });
  await new Promise(done => requestAnimationFrame(() => setTimeout(done, 30)));
  const found = [];
  const things = ['mjx-container > svg', 'pre', 'table', 'img'].map(t => `.bd-article ${t}`).join(', ');
  for (const thing of document.querySelectorAll(things)) {
    const box = thing.getBoundingClientRect();
    if (!box.width) continue;
    const own = getComputedStyle(thing);
    if (thing.matches('pre') && own.whiteSpace === 'pre-wrap') {
      // Prose may wrap. A row of a table that does is as good as cut off.
      const room = (thing.clientWidth - 2 * parseFloat(own.paddingLeft)) / (0.6 * parseFloat(own.fontSize));
      const broken = thing.textContent.split('\\n').find(line => line.length > room + 2 && (line.trim().match(/ {2,}/g) || []).length > 2);
      if (broken) found.push({what: 'ROW', by: broken.length - Math.round(room), bar: false, text: broken.slice(0, 60)});
    }
    const right = thing.matches('pre') ? box.left + thing.clientLeft + thing.scrollWidth : box.right;
    const from = thing.matches('pre') ? thing : thing.parentElement;
    for (let around = from; !around.matches('.bd-article'); around = around.parentElement) {
      const style = getComputedStyle(around);
      if (style.overflowX === 'visible' || style.display.startsWith('inline')) continue;
      const outer = around.getBoundingClientRect();
      const hidden = right - (outer.left + around.clientLeft + around.clientWidth);
      if (hidden > 1.5) {
        const borders = parseFloat(style.borderTopWidth) + parseFloat(style.borderBottomWidth);
        const bar = around.offsetHeight - around.clientHeight - borders;
        const text = (thing.textContent || thing.getAttribute('src') || thing.closest('.math')?.textContent || '').trim();
        found.push({what: thing.nodeName, by: Math.round(hidden), bar: bar >= 4, text: text.slice(0, 60)});
        break;
      }
    }
  }
  folded.forEach(d => { d.open = false; });
  return found;
})()
"""

#: Heights of a page and of the code and printed outputs on it, without what is folded.
HEIGHTS = """
(() => {
  const article = document.querySelector('.bd-article');
  const height = thing => thing.getBoundingClientRect().height;
  const code = [...(article?.querySelectorAll('pre') ?? [])].filter(thing => thing.checkVisibility());
  return [article ? height(article) : 0, code.reduce((sum, thing) => sum + height(thing), 0)];
})()
"""
WIDTHS = (1400, 400)
#: Screens of code to a screen of everything else.
_MOST_CODE = 3


class Seen(NamedTuple):
    """All pages at one width."""

    width: int
    total: dict[str, int]
    """How wide they are."""
    cut_off: dict[str, list[dict[str, Any]]]
    heights: dict[str, tuple[float, float]]
    """Of all and of code."""


class Walk(NamedTuple):
    """All pages, each opened once: typesetting takes most of the time, and is the same at every width."""

    wrong: dict[str, dict[str, list[str]]]
    """By page, what was asked of another server, failed, or is not as it was written."""
    formulas: int
    at: dict[int, Seen]


@pytest.fixture(scope="module")
def page() -> Iterator[browser.Page]:
    with browser.opened() as found:
        yield found


@pytest.fixture(scope="module")
def walk(page: browser.Page) -> Walk:
    wrong, formulas = {}, 0
    widths = {width: Seen(width, {}, {}, {}) for width in WIDTHS}
    with served(HTML) as address:
        for name in [*PAGES, KINDS[-1]]:
            page.resize(WIDTHS[0])
            visit = page.open(address + name)
            elsewhere = [url for url in visit.requests if not url.startswith((address, "data:"))]
            found = {"elsewhere": elsewhere, "failed": visit.failed, "errors": visit.errors}
            found |= {what: page.evaluate(script) for what, script in AMISS.items()}
            wrong[name] = {what: each for what, each in found.items() if each}
            formulas += page.evaluate("document.querySelectorAll('mjx-container').length")
            for width, seen in widths.items():
                page.resize(width)
                seen.total[name] = page.evaluate("document.documentElement.scrollWidth")
                seen.heights[name] = tuple(page.evaluate(HEIGHTS))
                if cut := page.evaluate(CUT_OFF):
                    seen.cut_off[name] = cut
    return Walk(wrong, formulas, widths)


@pytest.fixture(params=WIDTHS)
def seen(request: pytest.FixtureRequest, walk: Walk) -> Seen:
    return walk.at[request.param]


@pytest.mark.slow
def test_every_page_opens_whole(walk: Walk) -> None:
    assert len(PAGES) > 30
    assert {name: found for name, found in walk.wrong.items() if found} == {}
    assert walk.formulas > 500


@pytest.mark.slow
def test_no_page_is_wider_than_the_window(seen: Seen) -> None:
    assert {name: total for name, total in seen.total.items() if total > seen.width} == {}


@pytest.mark.slow
def test_nothing_is_cut_off(seen: Seen) -> None:
    """On a wide window nothing scrolls; on a narrow one what does shows a bar."""
    wide = seen.width > 1000
    found = {name: bad for name, cut in seen.cut_off.items() if (bad := [each for each in cut if wide or not each["bar"] or each["what"] == "IMG"])}
    assert found == {}


@pytest.mark.slow
def test_tables_of_results_fit_a_narrow_window(walk: Walk) -> None:
    """But for the longest, which is folded and has a column of words for each of two things."""
    of = walk.at[min(WIDTHS)].cut_off
    wide = {name: [each["text"] for each in cut if each["what"] == "TABLE"] for name, cut in of.items() if name.startswith("results/")}
    longest = [text for text in wide.pop("results/speed.html", []) if not text.startswith("series\ncalled in turn")]
    assert {name: found for name, found in {**wide, "results/speed.html": longest}.items() if found} == {}


@pytest.mark.slow
def test_no_page_is_mostly_code(seen: Seen) -> None:
    """A file of code is meant to be so."""
    shares = {name: code / (total - code) for name, (total, code) in seen.heights.items() if total > code and name not in KINDS[-1:]}
    assert len(shares) > 60
    assert max(shares.values()) > 0.5
    assert {name: round(share, 1) for name, share in shares.items() if share > _MOST_CODE} == {}


def test_code_is_measured_unless_it_is_folded(page: browser.Page) -> None:
    page.resize(1400)
    block = "<pre style='margin: 0; height: {}px'>code</pre>"
    rest = "<div style='height: 100px'></div>"
    page.open(f"data:text/html,<div class=bd-article>{block.format(400)}{rest}<details>{block.format(900)}</details></div>")
    total, code = page.evaluate(HEIGHTS)
    assert code == 400
    assert 500 <= total < 550


def test_an_overflow_is_seen(page: browser.Page) -> None:
    """One of each kind is reported, whether or not it has a bar, and what fits is not."""
    page.resize(400)
    wide = "<pre style='overflow-x: {}'>" + "x" * 200 + "</pre>"
    wrapped = "<pre style='white-space: pre-wrap'>{}</pre>"
    parts = [wide.format("hidden"), wide.format("scroll"), "<pre>short</pre>", wrapped.format("word " * 50), wrapped.format("1.25   " * 20)]
    page.open(f"data:text/html,<div class=bd-article>{''.join(parts)}</div>")
    assert [each["what"] for each in page.evaluate(CUT_OFF)] == ["PRE", "PRE", "ROW"]
