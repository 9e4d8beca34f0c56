"""Does temperature scaling win for the log loss, and isotonic regression for the Brier score?

The paper's Tables 2, 3 and 5: calibration errors, accuracy, log loss and Brier score before and
after recalibration, here by the paper's estimate and by the debiased one, with intervals, and the
two recalibrations compared on the same rows. Run `python studies/posthoc_calibration.py --help`.

The full study reads predictions of trained networks, one `.npz` a model, with `labels` (n,) and
`logits` or `probs` (n, k). `NAME_test.npz` is evaluated after calibration on `NAME_val.npz`; any
other file is split into two random halves, anew for each seed. Such files come from evaluating
your own network once, or from repositories with saved predictions.
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

from studies import posthoc_figures
from studies.command import Interruptible, add_places, drawn, n_workers, report, tag
from studies.data import DIGITS, digest
from studies.paths import DATA, RESULTS, shown
from studies.posthoc_design import Design, assemble, run_cell
from studies.posthoc_table import table

QUICK = Design(models=DIGITS)
FULL = Design(
    models=(
        "cifar10/kull_resnet110_test.npz",
        "cifar10/peterson_densenet_BC_100_12.npz",
        "cifar10/peterson_resnet_preact_bottleneck_164.npz",
        "cifar10/peterson_vgg_15_BN_64.npz",
        "cifar10/netcal_wideresnet-16-4-cifar-10.npz",
    ),
)


def main(arguments: Sequence[str] | None = None) -> int:
    began = time.perf_counter()
    options = _parse(arguments)
    name, design = _design(options)
    folder = options.output if options.output is not None else RESULTS / name
    workers = n_workers(options)
    with Interruptible() as run:
        summary = run_cells(
            partial(run_cell, data=options.data),
            design,
            folder / "posthoc_calibration.nc",
            assemble,
            n_workers=workers,
            progress=not options.quiet,
        )
        draw = partial(posthoc_figures.save, summary, folder)
        figures = posthoc_figures.FIGURES
        files = drawn(draw, figures, workers)
    if run.interrupted:
        return 130
    print(table(summary))
    report({"Dataset": folder / "posthoc_calibration.nc"}, files, began)
    return 0


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    preset = parser.add_mutually_exclusive_group()
    preset.add_argument(
        "--quick",
        action="store_true",
        help="three models of scikit-learn's digits, a minute or two (default)",
    )
    preset.add_argument(
        "--full",
        action="store_true",
        help="networks on CIFAR-10 from the data folder, about 20 minutes of processor time",
    )
    axes = parser.add_argument_group("axes of the design (default: those of the preset)")
    axes.add_argument("--files", nargs="+", metavar="FILE", help="npz files below the data folder")
    axes.add_argument("--digits", nargs="+", metavar="NAME", help=", ".join(DIGITS))
    axes.add_argument("--n-seeds", type=int, metavar="R", help="splits of each file")
    axes.add_argument("--max-rows", type=int, metavar="N", help="most rows on either side")
    axes.add_argument("--notions", nargs="+", metavar="NAME", help="classwise, canonical")
    axes.add_argument("--generators", nargs="+", metavar="NAME", help="log, brier, spherical, ...")
    axes.add_argument("--seed", type=int)
    where = parser.add_argument_group("where to read and run")
    where.add_argument(
        "--data", type=Path, default=DATA, metavar="FOLDER", help=f"default: {shown(DATA)}"
    )
    add_places(where)
    return parser.parse_args(arguments)


def _design(options: argparse.Namespace) -> tuple[str, Design]:
    """Return the design and a name that no other design has."""
    preset, base = ("full", FULL) if options.full else ("quick", QUICK)
    models = [*(options.files or ()), *(options.digits or ())]
    changed: dict[str, Any] = {
        field.name: tuple(level) if isinstance(level, list) else level
        for field in dataclasses.fields(base)
        if (level := getattr(options, field.name, None)) is not None
    }
    if models:
        changed["models"] = tuple(models)
    try:
        design = dataclasses.replace(base, **changed)
        name = "posthoc_calibration" if preset == "full" else "posthoc_calibration-quick"
        name += tag(design.to_json(), base.to_json())
        contents = tuple(digest(model, options.data) for model in design.models)
        return name, dataclasses.replace(design, contents=contents)
    except ValueError as error:
        sys.exit(f"posthoc_calibration.py: {error}")


if __name__ == "__main__":
    sys.exit(main())
