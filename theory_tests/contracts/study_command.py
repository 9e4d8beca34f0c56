"""The command of a study, run in this process: a new one would import everything again."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Sequence
from types import ModuleType


def printed(study: ModuleType, arguments: Sequence[object]) -> str:
    """What the command prints, which has to succeed."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        code = study.main([str(argument) for argument in arguments])
    assert code == 0
    return output.getvalue()
