"""The Dirichlet kernel against bins, in estimates of a calibration error.

The paper's Figure 2a: class-wise calibration error against the number of samples, in its
simulation, whose calibration error is known. Labels are averaged by the Dirichlet kernel (at the
bandwidth of the paper's tables, at a small one, and at the one of largest likelihood) and in 15
bins of equal width or weight; the debiased estimate stands beside them.
"""

from __future__ import annotations

import studies.interrupts  # noqa: F401 (for what it does)

import dataclasses
import sys
from collections.abc import Iterator
from functools import partial

import xarray as xr

from propercal.experiments import Claim, main
from propercal.methods import PUBLISHED_METHODS
from studies import simulated
from studies.losses import symbol
from studies.simulated import DEBIASED, SMOOTHERS, Contest, Design

QUICK = Design(
    smoothers=tuple(SMOOTHERS),
    n_classes=(2, 5),
    sample_sizes=(100, 300, 1000),
    n_replicates=(10, 8, 6),
)
TINY = dataclasses.replace(QUICK, n_classes=(3,), sample_sizes=(60, 240), n_replicates=(3, 3))
FULL = Design(
    smoothers=tuple(SMOOTHERS),
    n_classes=(2, 5, 10),
    sample_sizes=(100, 300, 1000, 3000, 10_000),
    n_replicates=(20, 20, 20, 12, 8),
)


def kernels(summary: xr.Dataset) -> tuple[list[str], list[str]]:
    """Return the smoothers of the study: bandwidths of the Dirichlet kernel, and bins."""
    names = list(dict.fromkeys(n.partition(", ")[2] for n in summary["estimator"].values.tolist()))
    names = [name for name in names if name]
    return [n for n in names if "bins" not in n], [n for n in names if "bins" in n]


def contests(summary: xr.Dataset, generator: str, method: str) -> dict[tuple[str, str], Contest]:
    """Compare every bandwidth of the Dirichlet kernel with all bins."""
    of = summary.sel(generator=generator)
    dirichlet, bins = kernels(summary)
    return {
        (one, other): simulated.contest(of, f"{method}, {one}", f"{method}, {other}")
        for one in dirichlet
        for other in bins
    }


def _judge(method: str, summary: xr.Dataset) -> tuple[str, str]:
    whole = simulated.sum_of(contests(summary, "log", method).values())
    counts = simulated.counted(whole, "the kernel", "the estimate by bins")
    return f"Log loss, all bandwidths and kinds of bins: {counts}", whole.said


def _verdict(summary: xr.Dataset) -> Iterator[str]:
    yield "Claim: the Dirichlet kernel performs better than bins (class-wise CE_KL)."
    for generator in summary["generator"].values.tolist():
        for method in PUBLISHED_METHODS:
            found = contests(summary, generator, method)
            head = f"{symbol(generator)}, {method}"
            for (one, other), each in found.items():
                yield simulated.line(f"{head}: {one} nearer than {other}", each)
            yield simulated.line(f"{head}: all of these", simulated.sum_of(found.values()))
    yield from simulated.debiased_lines(summary)
    yield simulated.coverage(summary)


def _rows(summary: xr.Dataset) -> dict[str, xr.Dataset]:
    """Show a column of panels for each method, with a line for each kernel."""
    names = [name for group in kernels(summary) for name in group]
    return {
        f"({method} estimate)": summary.sel(
            notion="classwise", estimator=[*(f"{method}, {name}" for name in names), DEBIASED]
        ).assign_coords(estimator=[*names, DEBIASED])
        for method in reversed(PUBLISHED_METHODS)
    }


STUDY = simulated.study(
    name="kernel_comparison",
    about=__doc__ or "",
    presets={
        "tiny": (TINY, "two sample sizes, seconds"),
        "quick": (QUICK, "about a minute on two cores"),
        "full": (FULL, "to ten classes and 10 000 samples, about 20 minutes of processor time"),
    },
    verdict=_verdict,
    claims=[
        Claim(
            f"The Dirichlet kernel performs better than bins ({method})",
            partial(_judge, method),
            "section 6.1, Fig. 2a",
        )
        for method in reversed(PUBLISHED_METHODS)
    ],
    rows=_rows,
    title="Class-wise calibration error: Dirichlet kernel (γ) and bins, mean ± standard error",
    source="Fig. 2a",
)

if __name__ == "__main__":
    sys.exit(main(STUDY))
