"""Sketches as bytes: a compressed NumPy archive, and settings as JSON. Nothing is executed."""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from propercal._data.messages import bad_value

_FORMAT = "propercal sketch 1"
#: What reading bytes that are none, or not all, of a sketch may raise.
_DAMAGE = (
    OSError,
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    NotImplementedError,
    EOFError,
    zipfile.BadZipFile,
    zlib.error,
)


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
    except _DAMAGE as error:
        raise _unreadable(data, "the bytes of a sketch") from error
    if known != _FORMAT:
        raise _unreadable(data, f"{_FORMAT!r}, not {known!r}")
    return settings, arrays


def _unreadable(data: object, expected: str) -> ValueError:
    found = f"{len(data)} bytes" if isinstance(data, bytes) else type(data).__name__
    return bad_value("data", found, expected, "pass what to_bytes() returned")


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise bad_value(
        "labels", f"{value!r}", "numbers, booleans or strings", "name classes by one of these"
    )
