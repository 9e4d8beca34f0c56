"""README.md says what is so: its code runs, prints what it shows, and its links lead somewhere."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from propercal.cli.command import main

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


class Block(NamedTuple):
    """A fenced block and its language."""

    language: str
    text: str


BLOCKS = [Block(*found) for found in re.findall(r"^```(\w*)\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)]


def printed_by(code: str, names: dict[str, Any]) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "README.md", "exec"), names)  # noqa: S102
    return out.getvalue()


def shown_by(command: str) -> str:
    program, *arguments = shlex.split(command)
    assert program == "propercal"
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(shown):
        assert main(arguments) == 0
    return shown.getvalue()


NUMBER = re.compile(r"-?\d+\.\d+(?:e[+-]\d+)?")


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines()]


def assert_shows(printed: str, shown: str) -> None:
    """Words and layout are the same, and numbers to 1e-4 or a unit of their last digit.

    scikit-learn stops its iterations where they have nearly converged, so that what it fits, and all
    that is computed from it, differs in the seventh digit from processor to processor.
    """
    words = [[NUMBER.sub("#", line).split() for line in lines(text)] for text in (printed, shown)]
    assert words[0] == words[1]
    found, wanted = NUMBER.findall(printed), NUMBER.findall(shown)
    for a, b in zip(found, wanted, strict=True):
        digits = len(b.partition("e")[0].partition(".")[2])
        unit = 1.01 * 10.0 ** (int(b.partition("e")[2] or 0) - digits)
        assert float(a) == pytest.approx(float(b), rel=1e-4, abs=unit), f"{a} for {b}"


def test_code_prints_what_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks run in order in one namespace; a text block shows what the code before it prints."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    printed, checked = "", 0
    for block in BLOCKS:
        if block.language == "python":
            printed = printed_by(block.text, names)
        elif block.language == "text":
            assert_shows(printed, block.text)
            checked += 1
        elif block.language == "console":
            command, _, expected = block.text.removeprefix("$ ").partition("\n")
            if command.startswith("propercal "):
                assert_shows(shown_by(command), expected)
                checked += 1
    assert checked >= 3


def test_blocks_are_of_a_known_kind() -> None:
    assert {block.language for block in BLOCKS} <= {"python", "text", "console"}


def test_links_lead_somewhere() -> None:
    targets = re.findall(r"\]\(([^)#]+)", README)
    local = [target for target in targets if "://" not in target]
    assert local
    assert [target for target in local if not (ROOT / target).exists()] == []


def test_make_commands_exist() -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    commands = set(re.findall(r"[`$] ?make ([a-z]+)", README))
    assert {"study", "test"} <= commands <= targets
