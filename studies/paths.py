"""Where studies read and write; the only file that knows."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Predictions that others made, which no study needs for its quick preset.
DATA = ROOT.parent / "shared" / "data"


def shown(path: Path) -> str:
    """Return `path` as a reader would type it: relative to the current directory where it can."""
    return os.path.relpath(path) if path.is_relative_to(Path.cwd()) else str(path)
