"""Where a dataset comes from: the study, its seed, versions and the commit."""

from __future__ import annotations

import json
import platform
import subprocess
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from propercal.experiments.factors import Factors
from propercal.experiments.sources import VERSION, sources

#: Attributes that are equal where a dataset or a journal is of the same study by the same code.
SAME = ("design", "versions", "platform", "sources")


def provenance(factors: Factors, tasks: Iterable[Any] = ()) -> dict[str, str]:
    """Return the attributes of a dataset; no name of a machine or a folder is among them.

    `tasks` are what computes: hashes of the files that hold their functions are recorded.
    """
    packages = ("numpy", "scipy", "xarray")
    versions = {"propercal": VERSION, **{name: version(name) for name in packages}}
    return {
        "design": factors.to_json(),
        "seed": str(getattr(factors, "seed", 0)),
        "versions": json.dumps({**versions, "python": platform.python_version()}),
        "platform": f"{platform.system()} {platform.machine()}",
        "commit": _commit(),
        "sources": json.dumps(sources(tasks)),
    }


def _commit() -> str:
    """Return the commit of the source tree, if this file is part of one."""
    here = Path(__file__)

    def git(*arguments: str) -> str:
        return subprocess.run(  # noqa: S603
            ["git", *arguments],  # noqa: S607
            cwd=here.parent,
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()

    try:
        git("ls-files", "--error-unmatch", here.name)
        return git("describe", "--always", "--dirty", "--abbrev=40", "--exclude=*")
    except (OSError, subprocess.CalledProcessError):
        return "none"
