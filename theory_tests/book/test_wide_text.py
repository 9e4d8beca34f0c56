"""Printed text is made to fit a page: nothing is lost, and rows keep the words they begin with."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("xarray")
pytest.importorskip("IPython")

from book.pages import Study, available
from book.wide_text import WIDTH, fitted

HEAD = "model        loss   " + "  ".join(f"n = {n:>6}" for n in range(100, 2000, 200))
ROWS = [f"{name:<12} log    " + "  ".join(f"{i + 10 * k:>10}" for i in range(10)) for k, name in enumerate(("one", "two"))]


def words(text: str) -> list[str]:
    return sorted(set(text.split()))


def test_a_wide_table_comes_in_parts() -> None:
    parts = fitted("\n".join(["A title", HEAD, *ROWS]), 80).split("\n\n")
    assert len(parts) == 3 - (len(HEAD) <= 140)
    for part in parts:
        lines = part.removeprefix("A title\n").splitlines()
        assert [line.split()[:2] for line in lines] == [["model", "loss"], ["one", "log"], ["two", "log"]]
        assert max(map(len, lines)) <= 80
    assert words(" ".join(parts)) == words("\n".join(["A title", HEAD, *ROWS]))


def test_what_fits_is_left_alone() -> None:
    text = "A title\n\na  b  c\n1  2  3\n  indented"
    assert fitted(text) == text


def test_prose_breaks_between_words() -> None:
    text = "  " + "word " * 60
    lines = fitted(text).splitlines()
    assert max(map(len, lines)) <= WIDTH
    assert all(line.startswith("  ") for line in lines)
    assert " ".join(lines).split() == text.split()


@pytest.mark.parametrize("name", [name for name in available() if name != "benchmark"])
def test_no_printed_result_is_wider_than_a_page_or_loses_a_word(name: str) -> None:
    study = Study(name)
    text = study.declared.text(study.summary)
    made = fitted(text)
    assert max(map(len, made.splitlines())) <= WIDTH
    pieces = re.findall(r"\S+", text)
    assert words(made) == sorted(set(pieces))
