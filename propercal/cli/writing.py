"""Files that the command line writes: never over another one unless that is asked for."""

from __future__ import annotations

import contextlib
import gzip
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from propercal._files.formats import format_of


def check_new(path: Path, inputs: Sequence[Path], *, force: bool) -> None:
    """Raise if a file is there already, or is one that is read."""
    for each in inputs:
        with contextlib.suppress(OSError):
            if path.exists() and path.samefile(each):
                raise ValueError(f"{path}: is a file that is read: expected another; name one.")
    if os.path.lexists(path) and not force:
        raise ValueError(f"{path}: exists already: name another file, or overwrite it by --force.")
    if not path.absolute().parent.is_dir():
        raise ValueError(f"{path}: there is no folder {path.parent}: make it first.")


def write(path: Path, content: bytes) -> None:
    """Write a file at once: a reader sees it whole, or what was there before."""
    if format_of(path)[1]:
        # Equal contents make equal files.
        content = gzip.compress(content, mtime=0)
    folder = path.absolute().parent
    handle, name = tempfile.mkstemp(dir=folder, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        Path(name).chmod(0o666 & ~_umask())
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise


def _umask() -> int:
    found = os.umask(0)
    os.umask(found)
    return found
