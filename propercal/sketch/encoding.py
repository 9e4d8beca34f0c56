"""Sketches as bytes: a line of format, a digest, and compressed settings (JSON) and numbers.

Nothing is executed, and nothing is unpacked before the digest fits. The shapes of all arrays follow
from the settings, so there is no header that could ask for memory.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import struct
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from propercal._data.words.messages import bad_value

Arrays = dict[str, np.ndarray[Any, Any]]

_FORMAT = b"propercal sketch 5\n"
#: Which has no doubts.
_BEFORE = b"propercal sketch 4\n"
_EARLIER = b"PK", b"propercal sketch 2\n", b"propercal sketch 3\n"
_DIGEST = hashlib.sha256().digest_size
#: Bytes that a sketch may unpack to: those written, and so many more for each of them. Compression
#: of the sums of a sketch gains less than a factor 50.
_UNPACKED, _UNPACKED_PER_BYTE = 1 << 22, 100
#: What the settings of a sketch may be; True is no whole number.
_KINDS: dict[str, tuple[type, ...]] = {
    "n_classes": (int,),
    "generator": (str,),
    "name": (str,),
    "values": (list,),
    "notion": (str,),
    "bandwidth": (float, int, type(None)),
    "n_folds": (int,),
    "random_state": (int,),
    "labels": (list, type(None)),
    "from_logits": (bool,),
    "pos_label": (str, int, float, bool, type(None)),
    "link": (str, type(None)),
    "reading": (list,),
    "occurred": (list,),
    "doubts": (list, type(None)),
    "ruled_out": (list, type(None)),
    "relation": (list,),
    "weights_given": (list,),
    "origins": (list,),
    "known": (list,),
    "n_points": (int,),
    "weighted": (bool,),
    "used": (int, type(None)),
}


def encode(settings: Mapping[str, Any], arrays: Arrays, key: bytes | None) -> bytes:
    """Write settings and arrays, signed where there is a key."""
    sizes = {
        "n_points": len(arrays["keys"]),
        "weighted": "weight" in arrays,
        "used": len(arrays["used"]) if "used" in arrays else None,
    }
    text = json.dumps({**settings, **sizes}, default=plain).encode()
    numbers = [
        np.ascontiguousarray(arrays[name], dtype=dtype).tobytes()
        for name, dtype in _DTYPES.items()
        if name in arrays
    ]
    return sealed(_FORMAT, text, numbers, key)


def sealed(form: bytes, text: bytes, numbers: Sequence[bytes], key: bytes | None) -> bytes:
    """Return a line of format, a digest, and a compressed text and numbers."""
    content = zlib.compress(b"".join([struct.pack("<Q", len(text)), text, *numbers]))
    return form + _digest(form, content, _checked(key)) + content


def decode(data: object, key: bytes | None) -> tuple[dict[str, Any], bytes]:
    """Read settings and the bytes of the arrays, or raise."""
    if not isinstance(data, bytes):
        raise unreadable(data, "the bytes of a sketch")
    if data.startswith(_EARLIER):
        raise unreadable(
            data,
            f"the bytes of a sketch of format {_FORMAT.decode().split()[-1]}, which an earlier "
            "version of this package did not write",
        )
    form = _BEFORE if data.startswith(_BEFORE) else _FORMAT
    settings, numbers = opened(form, data, key, "the bytes of a sketch")
    if form == _BEFORE and isinstance(settings, dict):
        settings.setdefault("doubts", None)
    if isinstance(settings, dict):
        settings.setdefault("origins", [])
        settings.setdefault("ruled_out", [])
        settings.setdefault("relation", [])
        settings.setdefault("weights_given", [])
        settings.setdefault("known", [[], [], [], [0]])
    _check_kinds(data, settings)
    return settings, numbers


def opened(form: bytes, data: object, key: bytes | None, what: str) -> tuple[Any, bytes]:
    """Return what was written as a text of JSON, and the numbers, or raise."""
    if not isinstance(data, bytes):
        raise unreadable(data, what)
    start, end = len(form), len(form) + _DIGEST
    if not data.startswith(form) or len(data) <= end:
        raise unreadable(data, what)
    content = data[end:]
    if not hmac.compare_digest(data[start:end], _digest(form, content, _checked(key))):
        raise unreadable(
            data,
            "bytes that are those written"
            + (", with the same key" if key is not None else ", and without a key"),
        )
    unpacked = _unpack(data, content, what)
    try:
        (length,) = struct.unpack_from("<Q", unpacked)
        text, numbers = unpacked[8 : 8 + length], unpacked[8 + length :]
        settings = json.loads(text, parse_constant=_no_constant)
    except (ValueError, struct.error, RecursionError, OverflowError) as error:
        raise unreadable(data, "settings that can be read") from error
    return settings, numbers


def unpack(data: object, numbers: bytes, shapes: Mapping[str, tuple[int, ...]]) -> Arrays:
    """Return the arrays, of these shapes, or raise."""
    sizes = {name: 8 * int(np.prod(shape, dtype=object)) for name, shape in shapes.items()}
    if sum(sizes.values()) != len(numbers):
        raise unreadable(data, f"{sum(sizes.values())} bytes of numbers, not {len(numbers)},")
    arrays, start = {}, 0
    for name, dtype in _DTYPES.items():
        if name not in shapes:
            continue
        part = numbers[start : start + sizes[name]]
        arrays[name] = np.frombuffer(part, dtype=dtype).reshape(shapes[name]).astype(dtype[1:])
        start += sizes[name]
    return arrays


def unreadable(data: object, expected: str) -> ValueError:
    """Build the error for bytes that are no sketch."""
    found = f"{len(data)} bytes" if isinstance(data, bytes) else type(data).__name__
    return bad_value("data", found, expected, "pass what to_bytes() returned")


#: Arrays in the order of the file, as they are on every machine.
_DTYPES = {
    "sums": "<f8",
    "bounds": "<f8",
    "zeros": "<i8",
    "rows": "<i8",
    "points": "<i8",
    "exact": "<i8",
    "keys": "<f8",
    "total": "<f8",
    "low": "<f8",
    "high": "<f8",
    "size": "<i8",
    "weight": "<f8",
    "squares": "<f8",
    "used": "<i8",
    "cells": "<f8",
    "sizes": "<i8",
}


def _checked(key: object) -> bytes | None:
    if key is None:
        return None
    if isinstance(key, bytes) and key:
        return key
    raise bad_value("key", type(key).__name__, "bytes, one or more", "secrets.token_bytes(32)")


def _digest(form: bytes, content: bytes, key: bytes | None) -> bytes:
    if key is None:
        return hashlib.sha256(form + content).digest()
    return hmac.digest(key, form + content, "sha256")


def _unpack(data: bytes, content: bytes, what: str) -> bytes:
    most = _UNPACKED + _UNPACKED_PER_BYTE * len(content)
    decompressor = zlib.decompressobj()
    try:
        unpacked = decompressor.decompress(content, most)
    except zlib.error as error:
        raise unreadable(data, what) from error
    if not decompressor.eof or decompressor.unused_data:
        raise unreadable(data, f"bytes that end, and unpack to {most} at most")
    return unpacked


def _check_kinds(data: object, settings: object) -> None:
    if not isinstance(settings, dict) or set(settings) != set(_KINDS):
        raise unreadable(data, f"the settings {', '.join(_KINDS)}")
    for name, kinds in _KINDS.items():
        if type(settings[name]) not in kinds:
            raise unreadable(data, f"a setting {name} that is {kinds[0].__name__}")
    values = settings["values"]
    if not all(type(x) in (int, float) for x in values):
        raise unreadable(data, "values of F that are numbers")
    check_reading(data, settings["reading"], settings["labels"], settings["n_classes"])


def check_reading(data: object, reading: list[Any], labels: list[Any] | None, n: int) -> None:
    """Raise unless a convention of reading rows, and names of n classes, are such."""
    if not (
        len(reading) == 5
        and type(reading[4]) is list
        and len(reading[4]) == 2
        and all(type(each) in (str, int, float, bool, type(None)) for each in reading[4])
        and type(reading[3]) is bool
        and type(reading[1]) in (bool, type(None))
        and all(type(each) in (list, type(None)) for each in (labels, *reading[0:3:2]))
        and all(
            type(x) in (int, float, bool, str)
            for each in (labels, *reading[0:3:2])
            for x in each or []
        )
    ):
        raise unreadable(data, "settings of plain numbers, booleans and strings")
    # A single column names one class of two, of which rows may have named no other.
    sizes = {n}, {n, 1 if n == 2 else n}, {n, 1 if n == 2 else n}
    for names, lengths in zip((labels, *reading[0:3:2]), sizes, strict=True):
        if names is not None and len(names) not in lengths:
            raise unreadable(data, "a name for each class")


def _no_constant(name: str) -> float:
    raise ValueError(name)


def plain(value: Any) -> Any:
    """Return what JSON can write for a value of NumPy, or raise."""
    if isinstance(value, np.generic):
        return value.item()
    raise bad_value(
        "labels", f"{value!r}", "numbers, booleans or strings", "name classes by one of these"
    )
