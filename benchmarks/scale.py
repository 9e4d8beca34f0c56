"""What propercal costs as data grow: time and memory, in one run, against what else there is.

    python benchmarks/scale.py --quick                 # two minutes (default)
    python benchmarks/scale.py --full                  # a quarter of an hour
    python benchmarks/scale.py --full --authors PATH   # beside the code of the paper
    python benchmarks/scale.py --only classwise sketch

Times on one machine differ from run to run; ratios to a reference that was called in turn with a
case differ less. benchmarks/README.md describes the series and the file that is written.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import studies.interrupts  # noqa: F401 (for what it does)

from benchmarks import figure, table
from benchmarks.cases import Case, Outcome
from benchmarks.machine import gpu_name, has_gpu, provenance
from benchmarks.plan import outcomes
from benchmarks.presets import PRESETS
from benchmarks.results import dataset
from benchmarks.rivals import AUTHORS_FUNCTION
from benchmarks.series import SERIES
from propercal._interrupts import raise_again
from propercal.experiments.command import shown
from propercal.experiments.datasets import write_dataset
from studies.paths import ROOT


def main(arguments: Sequence[str] | None = None) -> int:
    began = time.perf_counter()
    if arguments is None:
        raise_again()
    options = _parse(arguments)
    preset = PRESETS[options.preset]
    authors = "" if options.authors is None else str(options.authors.resolve())
    plan = preset.plan(authors=bool(authors), only=options.only)
    attributes = {**provenance(), "preset": options.preset, "device": options.device}
    if options.device != "cpu":
        attributes["gpu"] = gpu_name(options.device)
    template = Case(
        series="",
        n=0,
        k=0,
        max_repeats=preset.max_repeats,
        device=options.device,
        authors=authors,
        authors_function=options.authors_function,
    )
    found: list[tuple[Case, Outcome]] = []
    interrupted = False
    print(table.HEAD)
    try:
        for case, outcome in outcomes(plan, preset, template):
            found.append((case, outcome))
            print(table.line(case, outcome), flush=True)
    except KeyboardInterrupt:
        interrupted = True
        print("\nInterrupted. What was measured so far is written.", file=sys.stderr)
    if found:
        result = dataset(found, attributes)
        write_dataset(result, options.output)
        print(f"\n{table.exponents(result)}\n\n{'Results':<12}{shown(options.output.resolve())}")
        if options.figure is not None:
            paths = figure.save(result, options.figure)
            print(f"{'Figure':<12}{shown(paths[0].resolve())} (and .svg)")
    print(f"Done in {time.perf_counter() - began:.0f} s.")
    return 130 if interrupted else 0


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    presets = parser.add_mutually_exclusive_group()
    for name, what in (
        ("tiny", "ten seconds, to see that it runs"),
        ("quick", "two minutes on two cores (default)"),
        ("full", "a quarter of an hour on two cores"),
    ):
        presets.add_argument(
            f"--{name}", dest="preset", action="store_const", const=name, help=what
        )
    parser.set_defaults(preset="quick")
    parser.add_argument(
        "--only", nargs="+", choices=SERIES, metavar="SERIES", help=", ".join(SERIES)
    )
    parser.add_argument(
        "--device",
        default="cpu",
        choices=("cpu", "cuda"),
        help="where the torch series compute: cpu (default) or cuda",
    )
    parser.add_argument(
        "--authors",
        type=Path,
        metavar="PATH",
        help="bregman_ce.py of the paper's authors, or alike",
    )
    parser.add_argument(
        "--authors-function",
        default=AUTHORS_FUNCTION,
        metavar="NAME",
        help="called as NAME(probs, labels, bandwidth) on tensors (n, k) and (n,) "
        "(default: %(default)s)",
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=ROOT / "benchmarks" / "results.nc",
        metavar="FILE",
        help="netCDF (default: benchmarks/results.nc)",
    )
    parser.add_argument("--figure", type=Path, metavar="PATH", help="draw PATH as .png and .svg")
    options = parser.parse_args(arguments)
    if options.authors is not None and not options.authors.is_file():
        parser.error(f"--authors = {options.authors}: no such file")
    if options.authors is None and options.only and "authors" in options.only:
        parser.error("--only authors needs --authors PATH")
    if options.device == "cuda" and not has_gpu():
        parser.error("--device cuda needs torch and a GPU that it finds")
    return options


if __name__ == "__main__":
    sys.exit(main())
