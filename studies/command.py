"""What the command of every study does: where to run, interruption, figures, and the last lines."""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Any

from propercal.experiments.workers import in_processes
from studies.paths import shown


def add_places(parser: argparse._ArgumentGroup) -> None:
    """Add the options that say where a study runs and writes."""
    parser.add_argument("--workers", type=int, help="local processes (default: one for each core)")
    parser.add_argument(
        "--output", type=Path, metavar="FOLDER", help="default: studies/results/..."
    )
    parser.add_argument("--quiet", action="store_true", help="no progress bar")


def n_workers(options: argparse.Namespace) -> int:
    return int(options.workers or os.cpu_count() or 1)


def tag(design: str, base: str) -> str:
    """Return what tells a design, as JSON, from the preset that it changes: nothing if it is it."""
    return "" if design == base else "-" + hashlib.sha256(design.encode()).hexdigest()[:8]


class Interruptible(AbstractContextManager["Interruptible"]):
    """A context that ends on Ctrl-C with one line, and then has `interrupted` set."""

    interrupted = False

    def __exit__(
        self,
        kind: type[BaseException] | None,
        _: BaseException | None,
        __: TracebackType | None,
    ) -> bool:
        self.interrupted = kind is not None and issubclass(kind, KeyboardInterrupt)
        if self.interrupted:
            print(
                "\nInterrupted. Finished cells are kept; the same command goes on from here.",
                file=sys.stderr,
            )
        return self.interrupted


def drawn(
    draw: Callable[[Any], Sequence[Path]], figures: Iterable[Any], workers: int
) -> list[Path]:
    """Draw figures in processes and return their files."""
    return sorted(path for paths in in_processes(draw, figures, workers) for path in paths)


def report(datasets: dict[str, Path], files: Iterable[Path], began: float) -> None:
    """Print where datasets and figures lie, and how long it took."""
    print()
    for name, path in datasets.items():
        print(f"{name:<12}{shown(path)}")
    for path in files:
        if path.suffix == ".png":
            print(f"{'Figure':<12}{shown(path)} (and .svg)")
    print(f"Done in {time.perf_counter() - began:.0f} s.")
