"""How the bias of calibration-error estimates falls with n, and where it stops falling.

The bias against the fixed-bandwidth limit falls like 1/n; against the true calibration error it
ends at a floor that the bandwidth sets. Run `python studies/bias_rate.py --help`.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
import xarray as xr

from propercal.experiments import StudyDesign, run_study
from propercal.experiments.store import read_dataset, write_dataset
from studies import bias_figures
from studies.bias_summary import references, summarise
from studies.command import Interruptible, add_places, drawn, n_workers, report, tag
from studies.paths import RESULTS

QUICK = StudyDesign(
    bandwidths=(0.1, 0.02),
    sample_sizes=(50, 100, 200, 400, 800),
    n_replicates=(40, 40, 30, 20, 20),
)
FULL = StudyDesign(
    bandwidths=(0.1, 0.02, 0.005, 0.001),
    sample_sizes=(50, 100, 200, 400, 800, 1600, 3200, 6400, 10_000),
    n_replicates=(400, 400, 400, 200, 100, 60, 40, 20, 20),
)


def main(arguments: Sequence[str] | None = None) -> int:
    began = time.perf_counter()
    options = _parse(arguments)
    name, design = _design(options)
    folder = options.output if options.output is not None else RESULTS / name
    workers = n_workers(options)
    with Interruptible() as run:
        replicates = run_study(
            design,
            folder / "replicates.nc",
            n_workers=workers,
            scheduler=options.scheduler,
            progress=not options.quiet,
        )
        summary = _summary(replicates, folder / "bias_rate.nc", design, workers)
        figures = bias_figures.all_figures(summary)
        draw = partial(bias_figures.save, summary, folder)
        files = drawn(draw, figures, workers)
    if run.interrupted:
        return 130
    print(table(summary))
    datasets = {"Summary": folder / "bias_rate.nc", "Replicates": folder / "replicates.nc"}
    report(datasets, files, began)
    return 0


def _summary(replicates: xr.Dataset, path: Path, design: StudyDesign, workers: int) -> xr.Dataset:
    earlier = _earlier(path, replicates.attrs)
    if earlier is not None:
        return earlier
    print("Integrating the truth and the limits ...", file=sys.stderr)
    summary = summarise(replicates, references(design, workers), design)
    summary = summary.assign_attrs(replicates.attrs)
    write_dataset(summary, path)
    return summary


def _earlier(path: Path, provenance: Mapping[str, Any]) -> xr.Dataset | None:
    """Return the summary of an earlier run of this very study: its integrals take most of the time.

    Code that is not committed leaves no trace in the provenance, so it is never relied upon.
    """
    if not path.exists() or str(provenance["commit"]).endswith("-dirty"):
        return None
    earlier = read_dataset(path)
    same = all(earlier.attrs.get(name) == value for name, value in provenance.items())
    return earlier if same else None


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    preset = parser.add_mutually_exclusive_group()
    preset.add_argument("--quick", action="store_true", help="a minute on two cores (default)")
    preset.add_argument("--full", action="store_true", help="half an hour on two cores")
    axes = parser.add_argument_group("axes of the design (default: those of the preset)")
    axes.add_argument("--n-classes", type=int, nargs="+", metavar="K")
    axes.add_argument("--sample-sizes", type=int, nargs="+", metavar="N")
    axes.add_argument("--bandwidths", type=float, nargs="+", metavar="GAMMA")
    axes.add_argument("--generators", nargs="+", metavar="NAME", help="log, brier, spherical, ...")
    axes.add_argument("--methods", nargs="+", metavar="NAME", help="direct, risk")
    axes.add_argument("--notions", nargs="+", metavar="NAME", help="canonical, classwise")
    axes.add_argument(
        "--replicates", type=int, nargs="+", metavar="R", help="one number, or one for each N"
    )
    axes.add_argument("--label-temperature", type=float, metavar="T1")
    axes.add_argument("--score-temperature", type=float, metavar="T2")
    axes.add_argument("--seed", type=int)
    where = parser.add_argument_group("where to run")
    add_places(where)
    where.add_argument("--scheduler", metavar="ADDRESS", help="Dask scheduler to run the cells on")
    return parser.parse_args(arguments)


def _design(options: argparse.Namespace) -> tuple[str, StudyDesign]:
    """Return the design and a name that no other design has."""
    preset, base = ("full", FULL) if options.full else ("quick", QUICK)
    axes = {
        "n_classes": options.n_classes,
        "sample_sizes": options.sample_sizes,
        "bandwidths": options.bandwidths,
        "generators": options.generators,
        "methods": options.methods,
        "notions": options.notions,
        "n_replicates": options.replicates,
        "label_temperature": options.label_temperature,
        "score_temperature": options.score_temperature,
        "seed": options.seed,
    }
    changed = {name: value for name, value in axes.items() if value is not None}
    if len(changed.get("n_replicates", ())) == 1:
        changed["n_replicates"] = changed["n_replicates"][0]
    elif "sample_sizes" in changed and "n_replicates" not in changed:
        changed["n_replicates"] = 20
    try:
        design = StudyDesign(**{**{f: getattr(base, f) for f in axes}, **changed})
    except ValueError as error:
        sys.exit(f"bias_rate.py: {error}")
    return f"bias_rate-{preset}" + tag(design.to_json(), base.to_json()), design


_PREAMBLE = (
    "",
    "Calibration error (log: nats). Biases are those at the largest n, ± standard error.",
    "Slope of log |bias against the limit| on log n: theory says −1. It is fitted where",
    "|bias| > 2 s.e. and n ≥ γ^(−d/2), d = 1 class-wise, k − 1 canonical; [points used].",
    "'none: n ≫ N' says that the 1/n rate cannot be seen below N samples.",
    "",
)


def table(summary: xr.Dataset) -> str:
    """Return one line for each estimator: truth, limit, bias, and the rate of the bias."""
    n = summary["sample_size"].values
    head = (
        f"{'notion':9} {'k':>3} {'F':6} {'γ':>6} {'method':6} {'truth':>8} {'limit':>8} "
        f"{'bias against limit, n=' + str(n[-1]):>27} {'bias against truth':>20} {'%':>6}  "
        f"{'slope':17} slope of E T_n − E T_2n"
    )
    lines = [*_PREAMBLE, head]
    for notion in summary["notion"].values:
        for k in summary["n_classes"].values:
            for generator in summary["generator"].values:
                for gamma in summary["bandwidth"].values:
                    for method in summary["method"].values:
                        at = {
                            "notion": notion,
                            "n_classes": k,
                            "generator": generator,
                            "bandwidth": gamma,
                            "method": method,
                        }
                        lines.append(_line(summary.sel(at)))
    return "\n".join(lines)


def _line(row: xr.Dataset) -> str:
    last = row.isel(sample_size=-1)
    return (
        f"{row['notion'].item():9} {row['n_classes'].item():3d} {row['generator'].item():6.6} "
        f"{row['bandwidth'].item():6g} {row['method'].item():6} {row['truth'].item():8.5f} "
        f"{row['limit'].item():8.5f} "
        f"{last['bias_from_limit'].item():15.5f} ± {last['bias_from_limit_se'].item():.5f}    "
        f"{last['bias_from_truth'].item():8.5f} ± {last['bias_from_truth_se'].item():.5f} "
        f"{last['relative_bias'].item():6.0f}  {_slope(row, 'slope'):17} "
        f"{_slope(row, 'nested_slope')}"
    )


def _slope(row: xr.Dataset, name: str) -> str:
    points = row[f"{name}_points"].item()
    needed = row["asymptotic_sample_size"].item()
    if needed > row["sample_size"].values[-2 if row.sizes["sample_size"] > 1 else -1]:
        return f"none: n ≫ {needed:.0e}"
    if not np.isfinite(row[name].item()):
        return f"in the noise [{points:.0f}]" if np.isfinite(points) else "no pairs (n, 2n)"
    return f"{row[name].item():5.2f} ± {row[f'{name}_se'].item():.2f} [{points:.0f}]"


if __name__ == "__main__":
    sys.exit(main())
