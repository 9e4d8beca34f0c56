"""The direct estimate of a calibration error against the one via the risk.

Which is nearer? The paper's Figure 2b, in its simulation, whose calibration error is known:
class-wise, as there, and canonical, at the bandwidth of its tables and at a small one; the debiased
estimate stands beside them.
"""

from __future__ import annotations

import studies.interrupts  # noqa: F401 (for what it does)

import dataclasses
import sys
from collections.abc import Iterator

import xarray as xr

from propercal.experiments import Claim, main, selections
from studies import simulated
from studies.data import notion_name
from studies.losses import symbol
from studies.simulated import Contest, Design

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


def contests(summary: xr.Dataset) -> dict[tuple[str, str, str], Contest]:
    """Compare direct with risk, for each generator, notion and smoother."""
    names = summary["estimator"].values.tolist()
    smoothers = [n.partition(", ")[2] for n in names if n.startswith("direct, ")]
    return {
        (*levels, smoother): simulated.contest(at, f"direct, {smoother}", f"risk, {smoother}")
        for levels, at in selections(summary, "generator", "notion")
        for smoother in smoothers
    }


def _judge(summary: xr.Dataset) -> tuple[str, str]:
    found = {key[1:]: each for key, each in contests(summary).items() if key[0] == "log"}
    lines = [
        f"{notion_name(notion)}, {smoother}: {simulated.counted(each, 'direct', 'risk')}"
        for (notion, smoother), each in found.items()
    ]
    whole = {
        notion: simulated.sum_of(each for key, each in found.items() if key[0] == notion)
        for notion, _ in found
    }
    said = "; ".join(f"{notion_name(notion)}, {each.said}" for notion, each in whole.items())
    return "\n".join(["Log loss:", *lines]), said


def _verdict(summary: xr.Dataset) -> Iterator[str]:
    yield "Claim: the direct estimate performs even better than via the risk (class-wise CE_KL)."
    for (generator, notion, smoother), each in contests(summary).items():
        head = f"{symbol(generator)}, {notion}"
        yield simulated.line(f"{head}, {smoother}: direct nearer than risk", each)
    for (notion,), at in selections(summary, "notion"):
        yield f"{notion_name(notion)}:"
        yield from simulated.debiased_lines(at)
    yield simulated.coverage(summary)


def _rows(summary: xr.Dataset) -> dict[str, xr.Dataset]:
    """Show a column of panels for each notion."""
    return {f"({notion_name(name)})": at for (name,), at in selections(summary, "notion")}


STUDY = simulated.study(
    name="direct_vs_risk",
    about=__doc__ or "",
    presets={
        "tiny": (TINY, "two sample sizes, seconds"),
        "quick": (QUICK, "about a minute on two cores"),
        "full": (FULL, "to ten classes and 10 000 samples, about half an hour of processor time"),
    },
    verdict=_verdict,
    claims=[
        Claim(
            "The direct estimate performs even better than that via risk",
            _judge,
            "section 6.1, Fig. 2b",
        )
    ],
    rows=_rows,
    title="Direct estimate and via the risk, mean ± standard error",
    source="Fig. 2b",
)

if __name__ == "__main__":
    sys.exit(main(STUDY))
