"""The command of the studies that train networks."""

from __future__ import annotations

import argparse
import dataclasses
import importlib.util
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import xarray as xr

from propercal.simulation.cells import run_cells
from studies.command import Interruptible, add_places, drawn, n_workers, report, tag
from studies.paths import DATA, RESULTS, shown
from studies.training_data import digest
from studies.training_design import Design, Layout, Measure, assemble, run_cell


@dataclasses.dataclass(frozen=True)
class Study:
    """All that tells one study of training from another."""

    name: str
    about: str
    presets: Mapping[str, tuple[Design, str]]
    """tiny, quick and full, each with the help of its option"""
    measure: Measure
    layout: Layout
    table: Callable[[xr.Dataset], str]
    figures: Sequence[str]
    save: Callable[[xr.Dataset, Path, str], list[Path]]
    """From the dataset, a folder and one of the figures, the files"""


def main(study: Study, arguments: Sequence[str] | None) -> int:
    began = time.perf_counter()
    options = _parse(study, arguments)
    if importlib.util.find_spec("torch") is None:
        sys.exit(f'{study.name}.py: training needs torch: pip install "propercal[torch]"')
    name, design = _design(study, options)
    folder = options.output if options.output is not None else RESULTS / name
    path = folder / f"{study.name}.nc"
    workers = n_workers(options)
    with Interruptible() as run:
        summary = run_cells(
            partial(run_cell, measure=study.measure, data=options.folder),
            design,
            path,
            partial(assemble, study.layout),
            n_workers=workers,
            progress=not options.quiet,
        )
        files = drawn(partial(study.save, summary, folder), study.figures, workers)
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
    axes.add_argument("--activations", nargs="+", metavar="NAME", help="relu, tanh")
    axes.add_argument("--epochs", nargs="+", type=int, metavar="E", help="when to look")
    axes.add_argument("--n-seeds", type=int, metavar="R", help="networks, each with its rows")
    axes.add_argument("--n-train", type=int, metavar="N", help="rows to train on")
    axes.add_argument("--n-evaluated", type=int, metavar="N", help="rows to look at")
    axes.add_argument("--seed", type=int)
    where = parser.add_argument_group("where to read and run")
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


def _design(study: Study, options: argparse.Namespace) -> tuple[str, Design]:
    """Return the design and a name that no other design has."""
    base, _ = study.presets[options.preset]
    changed: dict[str, Any] = {
        field.name: tuple(level) if isinstance(level, list) else level
        for field in dataclasses.fields(base)
        if (level := getattr(options, field.name, None)) is not None
    }
    try:
        design = dataclasses.replace(base, **changed)
        name = study.name + ("" if options.preset == "full" else f"-{options.preset}")
        name += tag(design.to_json(), base.to_json())
        return name, dataclasses.replace(design, content=digest(design.data, options.folder))
    except ValueError as error:
        sys.exit(f"{study.name}.py: {error}")
