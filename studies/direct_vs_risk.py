"""Is the direct estimate of a calibration error better than the one via the risk?

The paper's Figure 2b, in its simulation, whose calibration error is known: class-wise, as there,
and canonical, at the bandwidth of its tables and at a small one; the debiased estimate stands
beside them. Run `python studies/direct_vs_risk.py --help`.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import xarray as xr

from studies import preset_command, simulated_command, simulated_figures, simulated_table
from studies.contests import Contest, contest
from studies.posthoc_table import SYMBOLS
from studies.simulated_design import Design

QUICK = Design(
    smoothers=("γ = 0.02", "γ = 0.001"),
    notions=("classwise", "canonical"),
    n_classes=(2, 5),
    sample_sizes=(100, 300, 1000),
    n_replicates=(10, 8, 6),
)
TINY = dataclasses.replace(QUICK, n_classes=(3,), sample_sizes=(60, 240), n_replicates=(3, 3))
FULL = dataclasses.replace(
    QUICK,
    n_classes=(2, 5, 10),
    sample_sizes=(100, 300, 1000, 3000, 10_000),
    n_replicates=(20, 20, 20, 12, 5),
)
_NOTIONS = {"classwise": "class-wise"}


def contests(summary: xr.Dataset) -> dict[tuple[str, str, str], Contest]:
    """Compare direct with risk, for each generator, notion and smoother."""
    names = summary["estimator"].values.tolist()
    smoothers = [n.partition(", ")[2] for n in names if n.startswith("direct, ")]
    return {
        (generator, notion, smoother): contest(
            summary.sel(generator=generator, notion=notion),
            f"direct, {smoother}",
            f"risk, {smoother}",
        )
        for generator in summary["generator"].values.tolist()
        for notion in summary["notion"].values.tolist()
        for smoother in smoothers
    }


def table(summary: xr.Dataset) -> str:
    """Return biases, comparisons and the verdict."""
    return simulated_table.table(summary, _verdict(summary))


def _verdict(summary: xr.Dataset) -> Iterator[str]:
    yield "Claim: the direct estimate performs even better than via the risk (class-wise CE_KL)."
    for (generator, notion, smoother), each in contests(summary).items():
        head = f"{SYMBOLS.get(generator, generator)}, {notion}"
        yield simulated_table.line(f"{head}, {smoother}: direct nearer than risk", each)
    for notion in summary["notion"].values.tolist():
        yield f"{_NOTIONS.get(notion, notion)}:"
        yield from simulated_table.debiased_lines(summary.sel(notion=notion))
    yield simulated_table.coverage(summary)


def rows(summary: xr.Dataset) -> dict[str, xr.Dataset]:
    """Show a row of panels for each notion."""
    return {
        f"({_NOTIONS.get(notion, notion)})": summary.sel(notion=notion)
        for notion in summary["notion"].values.tolist()
    }


STUDY = simulated_command.study(
    name="direct_vs_risk",
    about=__doc__ or "",
    presets={
        "tiny": (TINY, "two sample sizes, seconds"),
        "quick": (QUICK, "about a minute on two cores (default)"),
        "full": (FULL, "to ten classes and 10 000 samples, about half an hour of processor time"),
    },
    table=table,
    save=partial(
        simulated_figures.save, rows, "Direct estimate and via the risk, mean ± standard error"
    ),
)


def main(arguments: Sequence[str] | None = None) -> int:
    return preset_command.main(STUDY, arguments)


if __name__ == "__main__":
    sys.exit(main())
