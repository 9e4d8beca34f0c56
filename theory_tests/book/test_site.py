"""The built book: it is whole, and needs nothing from elsewhere. `make book` builds it."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest

from theory_tests.book.sources import HTML, ROOT, Convention, is_elsewhere, pages, read_site, target_of

pytestmark = pytest.mark.skipif(not (HTML / "index.html").exists(), reason="the book is not built; `make book` does so")


@pytest.fixture(scope="module")
def site() -> dict[Path, Convention]:
    return read_site()


@pytest.mark.slow
def test_every_source_has_a_page_that_is_not_older(site: dict[Path, Convention]) -> None:
    for source in pages():
        page = source.relative_to(ROOT / "book").with_suffix(".html")
        assert page in site
        if source.stat().st_mtime > (HTML / page).stat().st_mtime:
            pytest.skip("the book was changed since it was built; run `make book`")


def test_nothing_is_loaded_from_another_host(site: dict[Path, Convention]) -> None:
    assert {path: found for path, page in site.items() if (found := [a for a in page.loaded if is_elsewhere(a)])} == {}
    sheets = [*(HTML / "_static").rglob("*.css")]
    assert sheets
    for sheet in sheets:
        # Comments and namespaces of SVG are no requests.
        urls = re.findall(r"url\(\s*['\"]?(https?:)?//", re.sub(r"/\*.*?\*/", "", sheet.read_text(encoding="utf-8"), flags=re.DOTALL))
        assert not urls, sheet


def test_everything_that_is_loaded_is_there(site: dict[Path, Convention]) -> None:
    missing = {(path, address) for path, page in site.items() for address in page.loaded if not address.startswith("data:") and not (HTML / target_of(path, address)[0]).is_file()}
    assert missing == set()


@pytest.mark.slow
def test_links_and_anchors_lead_somewhere(site: dict[Path, Convention]) -> None:
    dead = []
    for path, page in site.items():
        for address in page.links:
            if is_elsewhere(address) or address.startswith(("mailto:", "data:", "javascript:")) or address == "#":
                continue
            file, anchor = target_of(path, address)
            alive = (HTML / file).is_file() and (not anchor or file not in site or anchor in site[file].names)
            if not alive:
                dead.append((str(path), address))
    assert dead == []
    assert sum(len(page.links) for page in site.values()) > 1000


def test_attributes_keep_the_underscore_that_they_end_with() -> None:
    text = re.sub(r"<[^>]+>", "", (HTML / "api" / "recalibration.html").read_text(encoding="utf-8"))
    assert {"temperature_", "classes_", "functions_"} <= set(re.findall(r"\w+_(?= \()", text))


def test_the_reference_says_nothing_that_only_python_says() -> None:
    pages = sorted((HTML / "api").glob("*.html"))
    assert len(pages) > 10
    for path in pages:
        text = re.sub(r"<[^>]+>", "", path.read_text(encoding="utf-8"))
        assert not re.findall(r"Alias for field number \d|Bases: \w+", text), path.name


def test_classes_have_attributes_and_the_arguments_that_they_are_made_with() -> None:
    """Sphinx says "Variables"; and a class whose base is absent takes anything, as far as it can see."""
    text = re.sub(r"<[^>]+>", "", (HTML / "api" / "training.html").read_text(encoding="utf-8"))
    assert "Attributes:" in text
    assert "Variables:" not in text
    assert not re.search(r"class \w+\(\*args", text)
    assert re.search(r"class ProperCalibrationError\(\*, generator=.log., notion=", text)


def test_items_of_a_list_within_an_argument_stay_apart() -> None:
    """Arguments that share a text are merged; two scores are no arguments."""
    text = (HTML / "api" / "sklearn.html").read_text(encoding="utf-8")
    items = [html.unescape(re.sub(r"<[^>]+>", "", item)) for item in re.findall(r"<li><p>(.*?)</p></li>", text, re.DOTALL)]
    assert [item.startswith('"sharpness": ') for item in items].count(True) == 1


def test_images_have_alternative_texts(site: dict[Path, Convention]) -> None:
    images = [(path, image) for path, page in site.items() for image in page.images]
    assert len(images) > 8
    assert [(path, image) for path, image in images if not image.alt or image.alt.endswith((".png", ".svg"))] == []


def test_no_formula_is_left_as_text(site: dict[Path, Convention]) -> None:
    raw = re.compile(r"\$\$|\\(?:frac|mathbb|sum|E\b|inner|begin)|\{(?:prf|eq|src|cite)[:}]|\$[^$\s][^$\n]*\\[a-z]")
    assert {str(path): found for path, page in site.items() if path.parts[0] != "code" and (found := raw.findall(" ".join(page.text)))} == {}


def test_mathjax_is_in_the_site(site: dict[Path, Convention]) -> None:
    assert (HTML / "_static" / "tex-svg.js").stat().st_size > 1_000_000
    assert any(address.partition("?")[0].endswith("_static/tex-svg.js") for address in site[Path("derivations/kernel.html")].loaded)


def test_search_has_an_index_of_every_page() -> None:
    index = (HTML / "searchindex.js").read_text(encoding="utf-8")
    for source in pages():
        assert f'"{source.relative_to(ROOT / "book").with_suffix("").as_posix()}"' in index


def test_cells_found_their_programs_and_name_no_machine(site: dict[Path, Convention]) -> None:
    for path in site:
        text = (HTML / path).read_text(encoding="utf-8")
        assert "command not found" not in text, path
        assert not re.search(r"(?<![\w.:/])/(?:work|home|root|tmp)/\w", text), path
