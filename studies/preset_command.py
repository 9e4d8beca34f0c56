"""The command of a study whose options are its presets and the axes of its design."""

from __future__ import annotations

import argparse
import dataclasses
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import xarray as xr

from propercal.experiments.cells import run_cells
from propercal.experiments.store import CellResult
from studies.command import Interruptible, add_places, drawn, n_workers, report, tag
from studies.paths import DATA, RESULTS, shown


@dataclasses.dataclass(frozen=True)
class Study:
    """All that tells one study from another."""

    name: str
    about: str
    presets: Mapping[str, tuple[Any, str]]
    """tiny, quick and full, each with the help of its option"""
    axes: Mapping[str, Mapping[str, Any]]
    """For each field of the design that has an option, what argparse needs to know"""
    run_cell: Callable[..., CellResult]
    assemble: Callable[[Any, Iterable[CellResult]], xr.Dataset]
    table: Callable[[xr.Dataset], str]
    figures: Callable[[xr.Dataset], Sequence[Any]]
    save: Callable[[xr.Dataset, Path, Any], list[Path]]
    """From the dataset, a folder and one of the figures, the files"""
    read: Callable[[Any, Path], Any] | None = None
    """Of a study of files: from the design and the data folder, the design that names what they
    hold. Its `run_cell` takes the folder as `data`."""


def main(study: Study, arguments: Sequence[str] | None) -> int:
    began = time.perf_counter()
    options = _parse(study, arguments)
    name, design = _design(study, options)
    folder = options.output if options.output is not None else RESULTS / name
    path = folder / f"{study.name}.nc"
    run_cell = study.run_cell
    if study.read is not None:
        run_cell = partial(run_cell, data=options.folder)
    workers = n_workers(options)
    with Interruptible() as run:
        summary = run_cells(
            run_cell, design, path, study.assemble, n_workers=workers, progress=not options.quiet
        )
        files = drawn(partial(study.save, summary, folder), study.figures(summary), workers)
    if run.interrupted:
        return 130
    print(study.table(summary))
    report({"Dataset": path}, files, began)
    return 0


def _parse(study: Study, arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=study.about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    chosen = parser.add_mutually_exclusive_group()
    for name, (_, explained) in study.presets.items():
        chosen.add_argument(
            f"--{name}",
            dest="preset",
            action="store_const",
            const=name,
            default="quick",
            help=explained,
        )
    axes = parser.add_argument_group("axes of the design (default: those of the preset)")
    for name, settings in study.axes.items():
        axes.add_argument(f"--{name.replace('_', '-')}", **settings)
    axes.add_argument("--seed", type=int)
    where = parser.add_argument_group("where to read and run")
    if study.read is not None:
        where.add_argument(
            "--data",
            dest="folder",
            type=Path,
            default=DATA,
            metavar="FOLDER",
            help=f"default: {shown(DATA)}",
        )
    add_places(where)
    return parser.parse_args(arguments)


def _design(study: Study, options: argparse.Namespace) -> tuple[str, Any]:
    """Return the design and a name that no other design has."""
    base, _ = study.presets[options.preset]
    changed = {
        name: tuple(level) if isinstance(level, list) else level
        for name in (*study.axes, "seed")
        if (level := getattr(options, name)) is not None
    }
    try:
        design = dataclasses.replace(base, **changed)
        name = study.name + ("" if options.preset == "full" else f"-{options.preset}")
        name += tag(design.to_json(), base.to_json())
        return name, design if study.read is None else study.read(design, options.folder)
    except ValueError as error:
        sys.exit(f"{study.name}.py: {error}")
