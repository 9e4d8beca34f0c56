"""The glossary: its numbers are those of the package, and its letters those of the chapters."""

from __future__ import annotations

import re

from propercal.recalibration.built_in import families_for
from theory_tests.book.sources import BOOK

TEXT = (BOOK / "glossary.md").read_text(encoding="utf-8")
DERIVATIONS = {path.stem: path.read_text(encoding="utf-8") for path in (BOOK / "derivations").glob("*.md")}


def test_the_number_of_families_is_that_of_the_default_method() -> None:
    found = re.search(r"averages (\d+) of them for two classes, (\d+) for three to (\d+), and fewer for more", TEXT)
    assert found is not None
    two, several, last = map(int, found.groups())
    assert len(families_for(2)) == two
    assert {len(families_for(k)) for k in range(3, last + 1)} == {several}
    fewer = [len(families_for(k)) for k in (last + 1, 50, 100, 1000, 10_000)]
    assert max(fewer) < several


def test_a_letter_with_a_second_meaning_occurs_in_the_chapters_named() -> None:
    rows = re.findall(r"^\| (\$[^|]+) \| ((?:\[[^|]+\]\([^|]+\))[^|]*) \|", TEXT, re.MULTILINE)
    assert len(rows) > 30
    for letters, chapters in rows:
        # Without indices and arguments: these stand for others.
        names = re.findall(r"\$\s*(\\[a-z]+|\w)[^$]*\$", letters)
        for chapter in re.findall(r"derivations/(\w+)\.md", chapters):
            formulas = " ".join(re.findall(r"\$\$.*?\$\$|\$[^$\n]+\$", DERIVATIONS[chapter], re.DOTALL))
            for name in names:
                assert re.search(rf"(?<![A-Za-z\\]){re.escape(name)}(?![A-Za-z])", formulas), (name, chapter)
