"""The folders of the repository and of its data; the only file that knows."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Predictions that others made, which no study needs for its quick preset.
DATA = ROOT.parent / "shared" / "data"
