"""Nothing on a page is cut off: formulas, code, outputs, tables and pictures, as a browser lays them out."""

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

#: Everything that is wider than an ancestor shows, after all that is folded has been opened.
CUT_OFF = """
(async () => {
  document.querySelectorAll('.bd-article details').forEach(d => { d.open = true; });
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
  return found;
})()
"""


class Seen(NamedTuple):
    """All pages at one width."""

    width: int
    total: dict[str, int]
    """How wide they are."""
    cut_off: dict[str, list[dict[str, Any]]]


@pytest.fixture(scope="module")
def page() -> Iterator[browser.Page]:
    with browser.opened() as found:
        yield found


@pytest.fixture(scope="module", params=[400, 1400])
def seen(request: pytest.FixtureRequest, page: browser.Page) -> Seen:
    page.resize(request.param)
    total, cut_off = {}, {}
    with served(HTML) as address:
        for name in [*PAGES, KINDS[-1]]:
            page.open(address + name)
            total[name] = page.evaluate("document.documentElement.scrollWidth")
            if cut := page.evaluate(CUT_OFF):
                cut_off[name] = cut
    return Seen(request.param, total, cut_off)


def test_no_page_is_wider_than_the_window(seen: Seen) -> None:
    assert {name: total for name, total in seen.total.items() if total > seen.width} == {}


def test_nothing_is_cut_off(seen: Seen) -> None:
    """On a wide window nothing scrolls; on a narrow one what does shows a bar."""
    wide = seen.width > 1000
    found = {name: bad for name, cut in seen.cut_off.items() if (bad := [each for each in cut if wide or not each["bar"] or each["what"] == "IMG"])}
    assert found == {}


def test_an_overflow_is_seen(page: browser.Page) -> None:
    """One of each kind is reported, whether or not it has a bar, and what fits is not."""
    page.resize(400)
    wide = "<pre style='overflow-x: {}'>" + "x" * 200 + "</pre>"
    wrapped = "<pre style='white-space: pre-wrap'>{}</pre>"
    parts = [wide.format("hidden"), wide.format("scroll"), "<pre>short</pre>", wrapped.format("word " * 50), wrapped.format("1.25   " * 20)]
    page.open(f"data:text/html,<div class=bd-article>{''.join(parts)}</div>")
    assert [each["what"] for each in page.evaluate(CUT_OFF)] == ["PRE", "PRE", "ROW"]
