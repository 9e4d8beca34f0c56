"""A study of seconds, written as a script of its own, and what may befall it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from propercal.experiments import StudyDesign, sources

ROOT = Path(__file__).resolve().parents[2]

#: Twelve cells of milliseconds.
SMALL = StudyDesign(generators=("brier",), notions=("classwise",), methods=("risk",), n_classes=(2,), bandwidths=(0.1,), sample_sizes=(20,), n_replicates=12)

SCRIPT = '''
"""A toy study."""

import sys
import time
from dataclasses import dataclass

import numpy as np

from propercal.experiments import Factors, Output, Study, factor, main


@dataclass(frozen=True)
class Design(Factors):
    replicates: int = factor(8, between="replicate", least=1)
    pause: float = 0.0
    seed: int = 0


def measure(factors, cell, seed):
    time.sleep(factors.pause)
    return {"number": np.random.default_rng(seed).random()}


STUDY = Study(
    name="toy",
    about=__doc__,
    presets={"tiny": (Design(), "at once"), "slow": (Design(replicates=400, pause=0.05), "slowly")},
    outputs=(Output("number", ("replicate",)),),
    measure=measure,
    table=lambda dataset: str(dataset["number"].mean().item()),
)
if __name__ == "__main__":
    sys.exit(main(STUDY))
'''


def environment(package: Path = ROOT) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1"}


def command(script: Path, folder: Path, *arguments: object) -> list[str]:
    return [sys.executable, str(script), "--quiet", "--output", str(folder), *map(str, arguments)]


def ended(script: Path, folder: Path, *arguments: object, package: Path = ROOT, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run the command of a study to its end."""
    words = command(script, folder, *arguments)
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=120, env=environment(package), **options)


def write_script(folder: Path, text: str = SCRIPT) -> Path:
    path = folder / "toy.py"
    path.write_text(text, encoding="utf-8")
    return path


def flipped(content: bytes, bit: int) -> bytes:
    """The bytes with one bit changed."""
    changed = bytearray(content)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def dask_process(folder: Path, program: str, *arguments: str, package: Path = ROOT) -> subprocess.Popen[bytes]:
    """Start a scheduler or a worker, with the package of a folder."""
    words = [sys.executable, "-m", f"distributed.cli.dask_{program}", *arguments, "--no-dashboard"]
    return subprocess.Popen(words, cwd=folder, env=environment(package), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def scheduler_address(file: Path) -> str:
    """Wait for the address that a scheduler writes to its file."""
    deadline = time.monotonic() + 60
    while not file.exists() or not file.read_bytes().endswith(b"}"):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return str(json.loads(file.read_text())["address"])


def older(folder: Path) -> Path:
    """A copy of the package with another version, in which a module has another name."""
    shutil.copytree(ROOT / "propercal", folder / "propercal", ignore=shutil.ignore_patterns("__pycache__"))
    first = folder / "propercal" / "__init__.py"
    first.write_text(first.read_text().replace(f'__version__ = "{sources.VERSION}"', '__version__ = "0.0.9"'))
    inner = folder / "propercal" / "experiments"
    (inner / "sources.py").rename(inner / "hashes.py")
    return folder
