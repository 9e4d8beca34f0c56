"""Generators that a user names on a command line."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from propercal._files.names import one_line

if TYPE_CHECKING:
    from propercal import BregmanGenerator


def load_generator(spec: str) -> BregmanGenerator:
    """Return the generator of a registered name, or of ``package.module:object``.

    Raises ValueError if there is none.
    """
    from propercal.generators import as_generator

    found = _load(spec) if ":" in spec else spec
    try:
        return as_generator(found)
    except (Exception, SystemExit) as error:
        if isinstance(error, ValueError) and str(error).startswith("generator = "):
            raise
        raise ValueError(
            f"cannot make a generator of {spec!r} ({_reason(error)}); expected a class that needs "
            "no arguments, or an instance"
        ) from error


def _load(spec: str) -> Any:
    module_name, _, names = spec.partition(":")
    # An installed command, unlike `python -m`, does not look for modules where it was started. They
    # come last, so that no file that lies there stands in for an installed package.
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.append(here)
    try:
        found = importlib.import_module(module_name)
        for name in names.split("."):
            found = getattr(found, name)
    except (Exception, SystemExit) as error:  # a user's module may fail in any way
        raise ValueError(
            f"cannot load {spec!r} ({_reason(error)}); expected "
            "package.module:object that can be imported from here"
        ) from error
    return found


def _reason(error: BaseException) -> str:
    return f"{type(error).__name__}: {one_line(error)}"
