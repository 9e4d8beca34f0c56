"""One run at a time for each dataset: a lock that names who holds it."""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from propercal._data.words.messages import bad_value

_held: ContextVar[frozenset[Path]] = ContextVar("_held", default=frozenset())


@contextmanager
def only_run(path: Path) -> Iterator[None]:
    """Hold the lock of a dataset, which ends with the process however it ends.

    What already holds it may take it once more.

    Raises
    ------
    ValueError
        If another process, or another thread, holds it.
    """
    try:
        from filelock import FileLock, Timeout
    except ImportError as error:
        raise ImportError(
            'studies need filelock; install it with: pip install "propercal[study]"'
        ) from error

    path = path.absolute()
    held = _held.get()
    if path in held:
        yield
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    # Opening the lock's own file may empty it, so the name of the holder stands in another.
    owner = path.with_name(f".{path.name}.owner")
    lock = FileLock(path.with_name(f".{path.name}.lock"), timeout=0)
    try:
        lock.acquire()
    except Timeout:
        raise bad_value(
            "folder",
            str(path.parent),
            f"no other run of {path.name} there, but {_read(owner)} is at it",
            "wait for it, or choose another folder",
        ) from None
    token = _held.set(held | {path})
    try:
        _write(owner)
        yield
    finally:
        _held.reset(token)
        owner.unlink(missing_ok=True)
        lock.release()


def _write(owner: Path) -> None:
    name = {
        "process": os.getpid(),
        "command": " ".join([Path(sys.argv[0]).name, *sys.argv[1:]])[:200],
        "machine": platform.node(),
        "since": time.strftime("%Y-%m-%d %H:%M:%S"),
    }
    owner.write_text(json.dumps(name) + "\n", encoding="utf-8")


def _read(owner: Path) -> str:
    try:
        found = json.loads(owner.read_text(encoding="utf-8"))
        return (
            f"process {found['process']} on {found['machine']} "
            f"({found['command']}, since {found['since']})"
        )
    except (OSError, ValueError, KeyError, TypeError):
        # It has begun, and not yet said so.
        return "another process"
