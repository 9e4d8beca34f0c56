"""The book's sources: no page is lost, every theorem has its test, every name its documentation."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import pytest

from theory_tests.book.sources import BOOK, ROOT, pages, source_links
from theory_tests.contracts.test_public_api import public_modules

TEXTS = {path: path.read_text(encoding="utf-8") for path in pages()}
LINKS = {path: source_links(text) for path, text in TEXTS.items()}


def resolved(name: str) -> Any:
    """Return the object of a dotted name."""
    module, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(module), attribute)


def test_every_page_is_in_the_contents() -> None:
    listed = set(re.findall(r"file: (\S+)", (BOOK / "_toc.yml").read_text(encoding="utf-8"))) | {"index"}
    written = {str(path.relative_to(BOOK).with_suffix("")) for path in TEXTS}
    assert written == listed


def test_links_to_files_lead_somewhere() -> None:
    dead = []
    for page, links in LINKS.items():
        for path, name in links:
            file = ROOT / path
            if not file.is_file() or (name and not re.search(rf"^\s*(?:def|class) {name}\b", file.read_text(encoding="utf-8"), re.MULTILINE)):
                dead.append((page.name, path, name))
    assert dead == []
    assert sum(map(len, LINKS.values())) > 40


def test_every_law_is_linked_from_a_derivation() -> None:
    linked = {path for page, links in LINKS.items() if page.parent.name == "derivations" for path, _ in links}
    laws = {str(path.relative_to(ROOT)) for path in (ROOT / "theory_tests" / "laws").glob("test_*.py")}
    assert sorted(laws - linked) == []


@pytest.mark.parametrize("page", [path for path in TEXTS if path.parent.name == "derivations"], ids=lambda path: path.stem)
def test_theorems_have_labels_and_proofs(page: Path) -> None:
    kinds = re.findall(r"^```\{prf:(\w+)\}", TEXTS[page], re.MULTILINE)
    assert kinds.count("theorem") >= 1
    assert kinds.count("proof") == kinds.count("theorem")
    assert len(re.findall(r"^:label: ", TEXTS[page], re.MULTILINE)) == len(kinds) - kinds.count("proof")
    # A proof follows its theorem; corollaries are argued in the text.
    others = [kind for kind in kinds if kind != "corollary"]
    assert others == ["theorem", "proof"] * kinds.count("theorem")


def test_labels_are_unique() -> None:
    found = [label for text in TEXTS.values() for label in re.findall(r"^:label: (\S+)|^\$\$ \((eq-\S+)\)", text, re.MULTILINE)]
    labels = [a or b for a, b in found]
    assert len(labels) == len(set(labels)) > 40


def test_every_public_name_is_documented() -> None:
    reference = "\n".join(text for path, text in TEXTS.items() if path.parent.name == "api")
    written = re.findall(r"^\.\. auto(?:function|class|data):: (\S+)", reference, re.MULTILINE)
    objects = {id(resolved(name)) for name in written} | {id(importlib.import_module(name)) for name in re.findall(r"automodule:: (\S+)", reference)}
    public = {f"{module.__name__}.{name}": getattr(module, name) for module in public_modules() for name in module.__all__}
    assert len(public) > 50
    assert [name for name, value in public.items() if id(value) not in objects] == []
    assert len(written) == len(set(written))


def test_every_kept_dataset_of_a_study_has_a_figure_that_its_readme_shows() -> None:
    studies = ROOT / "studies"
    kept = {path.stem for path in (studies / "reference").glob("*.nc")} - {"benchmark"}
    assert kept == {path.stem for path in (studies / "reference").glob("*.png")}
    shown = (studies / "README.md").read_text(encoding="utf-8")
    assert [name for name in sorted(kept) if f"](reference/{name}.png)" not in shown] == []
    assert all(path.stat().st_size < 1_000_000 for path in (studies / "reference").iterdir())


def test_every_kept_dataset_has_a_page() -> None:
    results = "\n".join(text for path, text in TEXTS.items() if path.parent.name == "results")
    kept = {path.stem for path in (ROOT / "studies" / "reference").glob("*.nc")}
    assert [name for name in sorted(kept) if f'"{name}"' not in results] == []


def test_figures_of_cells_have_alternative_texts() -> None:
    for path, text in TEXTS.items():
        for cell in re.findall(r"^```\{code-cell\} ipython3\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
            if "plt.show()" in cell or "study.figure(" in cell:
                assert "    alt: " in cell, f"{path.name}: {cell[:80]}"


def test_code_that_is_shown_fits_a_page() -> None:
    """88 columns, but for trees of files and the flow of a call, which are set smaller."""
    wide = []
    for path, text in TEXTS.items():
        for kind, code in re.findall(r"^```(.*?)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            columns = {"": 110, "text": 110, "python": 88, "{code-cell} ipython3": 88}.get(kind)
            if columns is None or "remove-input" in code:
                continue
            code = re.sub(r"\A---\n.*?^---\n", "", code, flags=re.MULTILINE | re.DOTALL)  # settings are not shown
            wide += [(path.name, line) for line in code.splitlines() if len(line) > columns]
    assert wide == []


def test_pages_name_no_machine() -> None:
    for path, text in TEXTS.items():
        assert not re.search(r"(?<![\w.])/(?:work|home|root|tmp|Users)/", text), path


def test_chunks_of_a_stream_are_joined_as_they_came() -> None:
    """A program's output comes in chunks that end anywhere."""
    streams = importlib.import_module("book._ext.streams")

    def chunk(name: str, text: str) -> dict[str, str]:
        return {"output_type": "stream", "name": name, "text": text}

    picture = {"output_type": "display_data"}
    outputs = [chunk("stdout", "rows  dr"), chunk("stderr", "a warn"), chunk("stdout", "ift\n  142"), chunk("stderr", "ing\n"), picture, chunk("stdout", "end")]
    assert streams.joined(outputs) == [chunk("stdout", "rows  drift\n  142"), chunk("stderr", "a warning\n"), picture, chunk("stdout", "end")]
    assert streams.first(lambda found: found[:1])([chunk("stdout", "a"), chunk("stdout", "b")]) == [chunk("stdout", "ab")]
