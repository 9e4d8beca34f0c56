"""One source for every number: what the READMEs say that a kept dataset shows is made from that dataset."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("xarray")
pytest.importorskip("h5netcdf")
pytest.importorskip("matplotlib")

import propercal
from book import sentences, simulated_shares
from book.answers import ANSWERS
from book.datasets import available, kept
from theory_tests.book.sources import BOOK, ROOT

STUDIES = (ROOT / "studies" / "README.md").read_text(encoding="utf-8")
#: Numbers outside the blocks that are settings of a study, or the paper's, and no result.
_SETTING = re.compile(
    r"95 %|5 % level|power of 89 %|"  # what an interval, a test and a simulation are built to have
    r"\]\(#|`--|\(1\.5 expected if equal\)"
)


@pytest.fixture(scope="module")
def made() -> str:
    """The text of studies/README.md as the datasets have it."""
    return sentences.written(STUDIES)


def numbers(text: str) -> list[str]:
    """Return the numbers of a text."""
    return re.findall(r"\d+(?:\.\d+)?", text)


def blocks(text: str) -> dict[str, str]:
    """Return what stands between the comments, by the name of the dataset."""
    return {found[2]: found[3] for found in sentences._BLOCK.finditer(text)}


def test_every_study_has_a_block_and_an_answer() -> None:
    studies = set(available()) - {"benchmark"}
    assert set(blocks(STUDIES)) == set(sentences.BLOCKS) == set(ANSWERS) == studies


@pytest.mark.parametrize("name", sorted(sentences.BLOCKS))
def test_numbers_are_those_of_the_dataset(name: str, made: str) -> None:
    # `python -m book.sentences` writes them anew.
    assert blocks(STUDIES)[name] == blocks(made)[name]


@pytest.mark.parametrize("name", sorted(sentences.BLOCKS))
def test_a_changed_number_is_noticed(name: str) -> None:
    block = blocks(STUDIES)[name]
    found = list(re.finditer(r"\d(?![\d.])", block))
    assert len(numbers(block)) >= 4
    # The last digit of the first number, of one in the middle and of the last one.
    for place in (found[0], found[len(found) // 2], found[-1]):
        at = place.start()
        changed = f"{block[:at]}{(int(block[at]) + 1) % 10}{block[at + 1 :]}"
        text = STUDIES.replace(block, changed)
        assert text != STUDIES
        assert blocks(sentences.written(text))[name] != changed
        assert sentences.written(text) == STUDIES


def test_a_changed_dataset_is_noticed() -> None:
    of = kept("direct_vs_risk")
    before = sentences.BLOCKS["direct_vs_risk"](of)
    worse = of["calibration_error"].where(of["estimator"] != "debiased", 2 * of["calibration_error"])
    assert sentences.BLOCKS["direct_vs_risk"](of.assign(calibration_error=worse)) != before


def test_no_result_stands_outside_the_blocks() -> None:
    rest = _SETTING.sub("", sentences._BLOCK.sub("", STUDIES))
    assert re.findall(r"[^.\n]*\d %[^.\n]*|[^.\n]*\d ± \d[^.\n]*", rest) == []


@pytest.mark.parametrize("sentence", sentences.SENTENCES)
def test_readme_says_what_the_datasets_say(sentence: Callable[[], tuple[str, tuple[str, ...]]]) -> None:
    pattern, expected = sentence()
    text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    found = re.search(pattern, text)
    assert found is not None
    assert found.groups() == expected


def test_sentences_of_readme_are_written_anew() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    pattern, numbers = sentences.SENTENCES[0]()
    assert sentences.numbered(text) == text
    sentence = re.search(pattern, text)
    assert sentence is not None
    wrong = sentence[0].replace(numbers[0], "77")
    assert wrong != sentence[0]
    assert sentences.numbered(text.replace(sentence[0], wrong)) == text
    with pytest.raises(ValueError, match="no sentence"):
        sentences.numbered(text.replace(sentence[0], ""))


@pytest.mark.parametrize("page", sorted((BOOK / "results").glob("*.md")), ids=lambda page: page.stem)
def test_no_result_is_typed_into_a_page(page: Path) -> None:
    text = re.sub(r"^```\{code-cell\}.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    text = _SETTING.sub("", text)
    assert re.findall(r"[^.\n]*\d %[^.\n]*|[^.\n]*\d ± \d[^.\n]*|[^.\n]*\d\.\d\d\d+[^.\n]*", text) == []


@pytest.mark.parametrize("chapter", sorted({name for name, _, _ in simulated_shares.sentences()}))
def test_shares_in_derivations_are_those_that_were_simulated(chapter: str) -> None:
    text = (BOOK / "derivations" / f"{chapter}.md").read_text(encoding="utf-8")
    assert simulated_shares.numbered(chapter, text) == text
    numbers = next(numbers for name, _, numbers in simulated_shares.sentences() if name == chapter)
    changed = text.replace(f" {numbers[0]}", " 77")
    assert changed != text
    assert simulated_shares.numbered(chapter, changed) != changed


@pytest.mark.parametrize("page", sorted((BOOK / "derivations").glob("*.md")), ids=lambda page: page.stem)
def test_no_simulated_share_is_typed_into_a_derivation(page: Path) -> None:
    """A share of samples or draws stands in a sentence that a kept simulation has written."""
    text = page.read_text(encoding="utf-8")
    for name, pattern, _ in simulated_shares.sentences():
        if name == page.stem:
            text = re.sub(pattern.replace(" ", r"\s+"), "", text)
    text = re.sub(r"^```\{code-cell\}.*?^```|^## Exercises.*", "", text, flags=re.MULTILINE | re.DOTALL)
    assert re.findall(r"[^.\n]*\d %[^.\n]* (?:samples|draws)\b[^.\n]*|[^.\n]*\bof \d+ (?:samples|draws)\b[^.\n]*", text) == []


def test_the_reference_says_of_the_floor_what_was_simulated() -> None:
    power = json.loads(simulated_shares.KEPT.read_text(encoding="utf-8"))["power_at_the_floor"]
    said = " ".join((propercal.Decomposition.__doc__ or "").split())
    for words, shape in (("a slope and a shift for each class", "slope and shift"), ("an oscillation", "oscillation")):
        found = re.search(rf"{words} in (\.\d) to (\.\d)", said)
        assert found is not None
        shares = [share for name, share in power.items() if name.startswith(shape)]
        assert [float(end) for end in found.groups()] == pytest.approx([min(shares), max(shares)], abs=0.06)
