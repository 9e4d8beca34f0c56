"""Bias, RMSE and coverage of the debiased calibration error, and size and power of the test.

Over simulations with a known calibration error, against published estimates and tests.
Run `python studies/debiasing.py --help`.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))


from propercal.experiments.cells import run_cells
from propercal.experiments.store import write_dataset
from studies import debiasing_figures
from studies.command import Interruptible, add_places, drawn, n_workers, report, tag
from studies.debiasing_design import SCENARIOS, Design, assemble, run_cell
from studies.debiasing_summary import summarise, truths
from studies.debiasing_table import table
from studies.paths import RESULTS

_WEAK = ("over-confident", "mixture", "vector-scaling", "neighbour", "group-noise")
QUICK = Design(
    scenarios=("over-confident", "mixture", "group-noise", "calibrated"),
    n_classes=(2, 5),
    sample_sizes=(300, 1000),
    n_replicates=(5, 3),
    test_scenarios=("calibrated", "mixture"),
    test_n_classes=(2, 5),
    test_sample_sizes=(300,),
    test_replicates=(6,),
)
FULL = Design(
    scenarios=tuple(SCENARIOS),
    n_classes=(2, 3, 5, 10),
    sample_sizes=(300, 1000, 3000, 10_000),
    n_replicates=(12, 24, 10, 2),
    test_scenarios=("calibrated", "calibrated-concentrated", *_WEAK),
    test_n_classes=(2, 5, 10),
    test_sample_sizes=(300, 1000, 3000),
    test_replicates=(40, 16, 4),
)


def main(arguments: Sequence[str] | None = None) -> int:
    began = time.perf_counter()
    options = _parse(arguments)
    name, design = _design(options)
    folder = options.output if options.output is not None else RESULTS / name
    workers = n_workers(options)
    with Interruptible() as run:
        replicates = run_cells(
            run_cell,
            design,
            folder / "replicates.nc",
            assemble,
            n_workers=workers,
            progress=not options.quiet,
        )
        print("Integrating the truths ...", file=sys.stderr)
        summary = summarise(replicates, truths(design, workers), design)
        summary = summary.assign_attrs(replicates.attrs)
        write_dataset(summary, folder / "debiasing.nc")
        draw = partial(debiasing_figures.save, summary, folder)
        figures = debiasing_figures.all_figures(summary)
        files = drawn(draw, figures, workers)
    if run.interrupted:
        return 130
    print(table(summary))
    datasets = {"Summary": folder / "debiasing.nc", "Replicates": folder / "replicates.nc"}
    report(datasets, files, began)
    return 0


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    preset = parser.add_mutually_exclusive_group()
    preset.add_argument("--quick", action="store_true", help="two minutes on two cores (default)")
    preset.add_argument("--full", action="store_true", help="over an hour of processor time")
    axes = parser.add_argument_group("axes of the design (default: those of the preset)")
    names = ", ".join(SCENARIOS)
    for prefix, what in (("", "estimates"), ("test-", "tests (simulated closer to calibrated)")):
        axes.add_argument(
            f"--{prefix}scenarios", nargs="+", metavar="NAME", help=f"{what}: {names}"
        )
        axes.add_argument(f"--{prefix}n-classes", type=int, nargs="+", metavar="K")
        axes.add_argument(f"--{prefix}sample-sizes", type=int, nargs="+", metavar="N")
        axes.add_argument(
            f"--{prefix}replicates",
            type=int,
            nargs="+",
            metavar="R",
            help="one for each N" + ("; four times as many where calibrated" if prefix else ""),
        )
    axes.add_argument("--generators", nargs="+", metavar="NAME", help="log, brier, spherical, ...")
    axes.add_argument("--seed", type=int)
    where = parser.add_argument_group("where to run")
    add_places(where)
    return parser.parse_args(arguments)


def _design(options: argparse.Namespace) -> tuple[str, Design]:
    """Return the design and a name that no other design has."""
    preset, base = ("full", FULL) if options.full else ("quick", QUICK)
    given = {**vars(options), "n_replicates": options.replicates}
    changed: dict[str, Any] = {
        field.name: tuple(level) if isinstance(level, list) else level
        for field in dataclasses.fields(base)
        if (level := given.get(field.name)) is not None
    }
    try:
        design = dataclasses.replace(base, **changed)
    except ValueError as error:
        sys.exit(f"debiasing.py: {error}")
    return f"debiasing-{preset}" + tag(design.to_json(), base.to_json()), design


if __name__ == "__main__":
    sys.exit(main())
