"""Generators that a user names on a command line."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from propercal.cli.output import one_line

if TYPE_CHECKING:
    from propercal import BregmanGenerator


def load_generator(spec: str) -> BregmanGenerator:
    """Return the generator of a registered name, or of ``package.module:object``.

    Raises ValueError if there is none.
    """
    from propercal.generators import as_generator

    return as_generator(_load(spec) if ":" in spec else spec)


def _load(spec: str) -> Any:
    module_name, _, names = spec.partition(":")
    # An installed command, unlike `python -m`, does not look for modules where it was started.
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, here)
    try:
        found = importlib.import_module(module_name)
        for name in names.split("."):
            found = getattr(found, name)
    except Exception as error:  # a user's module may fail in any way
        reason = one_line(error)
        raise ValueError(
            f"cannot load {spec!r} ({type(error).__name__}: {reason}); expected "
            "package.module:object that can be imported from here"
        ) from error
    return found
