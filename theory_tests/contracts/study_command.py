"""The command of a study, run in this process: a new one would import everything again."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Sequence
from types import ModuleType

import pytest

from propercal.experiments import main


def command(study: ModuleType, arguments: Sequence[object]) -> int:
    """Run the command of a study, and return its exit status."""
    return main(study.STUDY, [str(argument) for argument in arguments])


def printed(study: ModuleType, arguments: Sequence[object]) -> str:
    """What the command prints, which has to succeed."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        code = command(study, arguments)
    assert code == 0
    return output.getvalue()


def draw_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let commands of studies draw no figure, which takes longer than all else where all is known."""
    monkeypatch.setattr("propercal.experiments.command._drawn", lambda *_: [])
