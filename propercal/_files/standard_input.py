"""Standard input: what it holds is told by its first bytes, since it has no name."""

from __future__ import annotations

import gzip
import sys
import zlib
from pathlib import Path

from propercal._files.formats import LIMIT, check_size
from propercal._files.names import reason

STANDARD_INPUT = Path("-")

_GZIP, _ZIP = b"\x1f\x8b", b"PK\x03\x04"
#: What else files may begin with.
_OTHERS = {b"PAR1": "a parquet file", b"\x93NUMPY": "an npy file", b"[": "an array of JSON"}


def read_standard_input(path: Path) -> tuple[str, bytes]:
    """Return the suffix that a file of this content would have, and the content, unpacked."""
    content = _content()
    if content.startswith(_GZIP):
        content = _unpacked(path, content)
    check_size(path, len(content))
    for start, what in _OTHERS.items():
        if content.lstrip().startswith(start):
            fix = "write one object a line" if start == b"[" else "save it first, and name the file"
            raise ValueError(
                f"{path}: {what} on standard input: expected csv, tsv, jsonl or npz; {fix}."
            )
    return suffix_of(content), content


def suffix_of(content: bytes) -> str:
    """Return the suffix that a file of this content would have."""
    if content.startswith(_ZIP):
        return ".npz"
    text = content.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text.startswith(b"{"):
        return ".jsonl"
    first, _, _ = text.partition(b"\n")
    return ".tsv" if b"\t" in first and b"," not in first else ".csv"


def _content() -> bytes:
    # A program that calls `main` may have put a stream of text there, which has no bytes.
    stream = getattr(sys.stdin, "buffer", None)
    if stream is None:
        return sys.stdin.read(LIMIT + 1).encode()
    found: bytes = stream.read(LIMIT + 1)
    return found


def _unpacked(path: Path, content: bytes) -> bytes:
    import io

    try:
        with gzip.open(io.BytesIO(content)) as stream:
            return stream.read(LIMIT + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{path}: not readable as gzip: {reason(error)}; pack it anew.") from error
