"""The command of a study, run in this process: a new one would import everything again."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Sequence
from types import ModuleType

import pytest

from studies import posthoc_calibration, preset_command


def printed(study: ModuleType, arguments: Sequence[object]) -> str:
    """What the command prints, which has to succeed."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        code = study.main([str(argument) for argument in arguments])
    assert code == 0
    return output.getvalue()


def draw_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let commands of studies draw no figure, which takes longer than all else where all is known."""
    for command in (preset_command, posthoc_calibration):
        monkeypatch.setattr(command, "drawn", lambda *_: [])
