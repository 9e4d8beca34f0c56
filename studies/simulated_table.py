"""Estimates of a known calibration error as text: their bias, and who is nearer to the truth."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import xarray as xr

from studies.contests import Contest, contest, sum_of
from studies.posthoc_table import SYMBOLS
from studies.simulated_design import DEBIASED

_PREAMBLE = """Relative bias in %, mean over samples ± standard error. Who is nearer to the truth is
judged by the squared error on the same samples, in each cell (class count, n) at the 5 % level:
cells in which the first is nearer : the second is : undecided."""


def table(summary: xr.Dataset, verdict: Iterable[str]) -> str:
    """Return biases, and what a study concludes."""
    return "\n".join(["", _PREAMBLE, *_biases(summary), "", *verdict])


def _biases(summary: xr.Dataset) -> Iterator[str]:
    """Yield a block for each notion and generator: estimates by class count and sample size."""
    sizes = summary["sample_size"].values.tolist()
    width = max(len(name) for name in summary["estimator"].values.tolist())
    for notion in summary["notion"].values:
        for generator in summary["generator"].values.tolist():
            heads = "".join(f" {f'n = {n}':>14}" for n in sizes)
            yield f"\n{f'{SYMBOLS.get(generator, generator)}, {notion}':{width + 3}} {heads}"
            for k in summary["n_classes"].values.tolist():
                at = summary.sel(notion=notion, generator=generator, n_classes=k)
                yield f"{k} classes, truth {at['truth'].item():.5f}"
                for name in summary["estimator"].values.tolist():
                    cells = "".join(f" {cell:>14}" for cell in _row(at.sel(estimator=name)))
                    yield f"   {name:{width}} {cells}"


def _row(at: xr.Dataset) -> list[str]:
    relative = 100 * (at["calibration_error"] / at["truth"] - 1)
    mean = relative.mean("replicate")
    error = relative.std("replicate", ddof=1) / relative.notnull().sum("replicate") ** 0.5
    return [f"{m:.0f} ± {e:.0f}" for m, e in zip(mean.values, error.values, strict=True)]


def coverage(summary: xr.Dataset) -> str:
    """Say how often the debiased estimate's interval holds the truth."""
    inside = (summary["lower"] <= summary["truth"]) & (summary["truth"] <= summary["upper"])
    n = int(summary["lower"].notnull().sum())
    return f"95 % intervals of the debiased estimate hold the truth in {int(inside.sum())} of {n}."


def against(summary: xr.Dataset, pairs: Sequence[tuple[str, str]]) -> Contest:
    """Count the cells of several comparisons."""
    return sum_of([contest(summary, *pair) for pair in pairs])


def line(name: str, of: Contest) -> str:
    """Write a comparison."""
    return f"  {name:60} {':'.join(map(str, of)):>9}   {of.said}"


def debiased_lines(summary: xr.Dataset) -> Iterator[str]:
    """Compare the debiased estimate with every published one."""
    yield "The debiased estimate against each published one:"
    for name in summary["estimator"].values.tolist():
        if name != DEBIASED:
            yield line(f"debiased nearer than {name}", contest(summary, DEBIASED, name))
