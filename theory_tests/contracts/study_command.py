"""The command of a study, run in this process: a new one would import everything again."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Sequence
from types import ModuleType

import pytest

from propercal.experiments import Study, command, main
from studies import posthoc_calibration, preset_command


def printed(study: ModuleType, arguments: Sequence[object]) -> str:
    """What the command prints, which has to succeed."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        strings = [str(argument) for argument in arguments]
        declared = getattr(study, "STUDY", None)
        code = main(declared, strings) if isinstance(declared, Study) else study.main(strings)
    assert code == 0
    return output.getvalue()


def draw_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let commands of studies draw no figure, which takes longer than all else where all is known."""
    for old in (preset_command, posthoc_calibration):
        monkeypatch.setattr(old, "drawn", lambda *_: [])
    monkeypatch.setattr(command, "_drawn", lambda *_: [])
