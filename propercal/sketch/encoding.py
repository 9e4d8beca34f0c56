"""Sketches as bytes: a compressed NumPy archive, and settings as JSON. Nothing is executed."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np

from propercal._messages import bad_value

_FORMAT = "propercal sketch 1"


def encode(settings: Mapping[str, Any], arrays: Mapping[str, np.ndarray[Any, Any]]) -> bytes:
    """Write settings and arrays."""
    text = json.dumps({"format": _FORMAT, **settings}, default=_plain)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, settings=np.array(text), **arrays)  # type: ignore[arg-type]
    return buffer.getvalue()


def decode(data: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
    """Read settings and arrays, or raise."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        settings = json.loads(str(arrays.pop("settings")))
        known = settings.pop("format")
    except (OSError, ValueError, KeyError, zipfile.BadZipFile, EOFError) as error:
        raise _unreadable(len(data), "the bytes of a sketch") from error
    if known != _FORMAT:
        raise _unreadable(len(data), f"{_FORMAT!r}, not {known!r}")
    return settings, arrays


def _unreadable(size: int, expected: str) -> ValueError:
    return bad_value("data", f"{size} bytes", expected, "pass what to_bytes() returned")


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise bad_value(
        "labels", f"{value!r}", "numbers, booleans or strings", "name classes by one of these"
    )
