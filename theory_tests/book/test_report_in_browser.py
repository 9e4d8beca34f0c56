"""Reports as a browser shows them: on a phone and a desk, in both themes, with nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import propercal
from theory_tests.book import browser
from theory_tests.book.test_in_browser import contrast, luminance

for name in ("jinja2", "matplotlib", "tornado", "sklearn"):
    pytest.importorskip(name)

pytestmark = pytest.mark.skipif(browser.program() is None, reason="no Chromium is installed here")

#: Anything whose box leaves the window, but for what scrolls within a box of its own.
WIDE = """[...document.querySelectorAll('body *')].filter(e => !e.closest('.scrolls, pre, svg *')
    && e.getBoundingClientRect().right > document.documentElement.clientWidth + 1).map(e => e.outerHTML.slice(0, 80))"""
#: Letters of figures, as large as they are shown.
SMALLEST = """Math.min(...[...document.querySelectorAll('svg.drawing text')].map(e =>
    parseFloat(getComputedStyle(e).fontSize) * e.ownerSVGElement.getBoundingClientRect().width / e.ownerSVGElement.viewBox.baseVal.width))"""
#: Text of a figure that leaves it.
CUT = """[...document.querySelectorAll('svg.drawing text')].filter(e => { const a = e.getBoundingClientRect(), b = e.ownerSVGElement.getBoundingClientRect();
    return a.left < b.left - 1 || a.right > b.right + 1 || a.top < b.top - 1 || a.bottom > b.bottom + 1 }).map(e => e.textContent)"""
COLOURS = """[...document.querySelectorAll('main p, main li, main td, main th, main small, figcaption, caption, dt, dd, svg.drawing text')].map(e => {
    let b = e; while (b && ['rgba(0, 0, 0, 0)', 'transparent'].includes(getComputedStyle(b).backgroundColor)) b = b.parentElement;
    return [getComputedStyle(e)[e instanceof SVGElement ? 'fill' : 'color'], getComputedStyle(b || document.body).backgroundColor, e.textContent.slice(0, 40)] })"""


def predictions(name: str) -> tuple[Any, Any, dict[str, Any]]:
    from sklearn import datasets
    from sklearn.model_selection import cross_val_predict
    from sklearn.naive_bayes import GaussianNB

    data = getattr(datasets, f"load_{name}")()
    features, y = data.data[:600], data.target[:600]
    y = y if name == "digits" else data.target_names[y]
    proba = cross_val_predict(GaussianNB(), features, y, cv=3, method="predict_proba")
    more: dict[str, Any] = {"generator": "brier"}
    if name == "breast_cancer":
        more["subgroups"] = np.where(features[:, 0] > 15, "large <i>&", "small")
    if name == "wine":
        proba = {"naive Bayes": proba, "frequencies": np.full_like(proba, 1 / 3)}
    return y, proba, more


@pytest.fixture(scope="module")
def page() -> Iterator[browser.Page]:
    with browser.opened() as found:
        yield found


@pytest.fixture(scope="module", params=["breast_cancer", "digits", "wine"])
def file(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    y, proba, more = predictions(request.param)
    path = tmp_path_factory.mktemp("report") / f"{request.param}.html"
    propercal.report(y, proba, path=path, title=request.param, **more)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("width", [400, 1400])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_report_reads_well(file: Path, page: browser.Page, width: int, theme: str) -> None:
    page.resize(width)
    page.command("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])
    visit = page.open(file.as_uri())
    assert visit.requests[0] == file.as_uri()
    assert [url for url in visit.requests[1:] if not url.startswith("data:")] == []
    assert visit.failed == []
    assert visit.errors == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(WIDE) == []
    assert page.evaluate(CUT) == []
    assert page.evaluate(SMALLEST) >= 9.5
    colours = page.evaluate(COLOURS)
    assert len(colours) > 50
    assert [each for each in colours if contrast(each[0], each[1]) < 4.5] == []
    assert (luminance(page.evaluate("getComputedStyle(document.body).backgroundColor")) < 0.2) == (theme == "dark")


@pytest.mark.slow
def test_a_report_prints_in_dark_ink(file: Path, page: browser.Page) -> None:
    page.resize(700)
    page.command("Emulation.setEmulatedMedia", media="print", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    page.open(file.as_uri())
    assert luminance(page.evaluate("getComputedStyle(document.body).backgroundColor")) > 0.9
    assert [each for each in page.evaluate(COLOURS) if contrast(each[0], each[1]) < 4.5] == []
    assert page.evaluate("getComputedStyle(document.querySelector('nav')).display") == "none"
    page.command("Emulation.setEmulatedMedia", media="", features=[])
