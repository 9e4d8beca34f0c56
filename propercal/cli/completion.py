"""Completion of the command line in a shell, by argcomplete, which is optional."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
from pathlib import Path
from typing import Any

#: Characters of a file of text in which its first line is looked for.
_MOST = 1 << 20


def is_completing() -> bool:
    """Tell whether a shell asks what may come next."""
    return "_ARGCOMPLETE" in os.environ


def complete(parser: argparse.ArgumentParser) -> None:
    """Answer a shell, which ends the process; without argcomplete there is no answer."""
    with contextlib.suppress(ImportError):
        import argcomplete

        argcomplete.autocomplete(parser)


def columns_of_files(*, parsed_args: Any = None, **_: object) -> list[str]:
    """Return the names of the columns of the files that were given so far."""
    found: list[str] = []
    files = getattr(parsed_args, "files", None) or []
    for path in files if isinstance(files, list) else [files]:
        with contextlib.suppress(Exception):
            found += [name for name in _columns(Path(path)) if name not in found]
    return found


def _columns(path: Path) -> list[str]:
    from propercal._files import formats

    suffix, packed = formats.format_of(path)
    if suffix == ".npz":
        with formats.Npz(path) as archive:
            return archive.names
    if suffix == ".parquet":
        import pyarrow.parquet as pq

        return list(pq.read_schema(path).names)
    formats.check_regular(path)
    if packed:
        import gzip

        with gzip.open(path, "rt", encoding="utf-8-sig") as stream:
            line = stream.readline(_MOST)
    else:
        with path.open(encoding="utf-8-sig") as stream:
            line = stream.readline(_MOST)
    if suffix == ".jsonl":
        return list(json.loads(line))
    separator = formats.SEPARATORS[suffix]
    return [name.strip().strip('"') for name in line.strip().split(separator)]
