"""Where a dataset comes from: the study, its seed, versions and the commit."""

from __future__ import annotations

import json
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path

from propercal.experiments.factors import Factors


def provenance(factors: Factors) -> dict[str, str]:
    """Return the attributes of a dataset; no name of a machine or a folder is among them."""
    packages = ("numpy", "scipy", "xarray")
    versions = {"propercal": _own_version(), **{name: version(name) for name in packages}}
    return {
        "design": factors.to_json(),
        "seed": str(getattr(factors, "seed", 0)),
        "versions": json.dumps({**versions, "python": platform.python_version()}),
        "platform": f"{platform.system()} {platform.machine()}",
        "commit": _commit(),
    }


def _own_version() -> str:
    from propercal import __version__

    return __version__


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
