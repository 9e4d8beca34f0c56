"""A run as a table, one line a case as it comes, and the exponents."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

import numpy as np
import xarray as xr

from benchmarks.cases import Case, Outcome
from benchmarks.results import centre
from benchmarks.series import SERIES

HEAD = (
    f"{'series':24}{'n':>9}{'k':>6}{'time':>11}{'± ':>9}{'ratio':>9}  {'to':15}"
    f"{'memory':>11}{'of it data':>12}"
)


def line(case: Case, outcome: Outcome) -> str:
    """Return one case."""
    size = f"{case.series:24}{case.n:>9}{case.k:>6}"
    if outcome.error:
        return f"{size}  {outcome.error}"
    middle, spread = centre(outcome.seconds)
    ratio = f"{median(outcome.ratios):9.3g}" if outcome.ratios else " " * 9
    return (
        f"{size}{middle:>9.4f} s{spread:>9.4f}{ratio}  {SERIES[case.series].reference_name:15}"
        f"{outcome.memory_mib:>7.0f} MiB{outcome.data_mib:>8.0f} MiB"
    )


def exponents(result: xr.Dataset) -> str:
    """Return how time and memory grow, where sizes allow to say it."""
    return "\n".join(
        [
            "Growth: slopes of log time and log memory over the largest decade of sizes",
            *_growth(result, "n", "n_classes", "k", ""),
            *_growth(result, "k", "sample_size", "n", "_in_k"),
        ]
    )


def _growth(result: xr.Dataset, of: str, dim: str, letter: str, suffix: str) -> Iterator[str]:
    for series in result["series"].values:
        for fixed in result[dim].values:
            at = result.sel({"series": series, dim: fixed})
            time, memory = (at[f"{what}_exponent{suffix}"].item() for what in ("time", "memory"))
            if np.isfinite(time):
                size = f"{letter} = {fixed}"
                yield f"{series:24}{size:>12}   time {of}^{time:<6.2f} memory {of}^{memory:.2f}"
