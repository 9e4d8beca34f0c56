"""The study of subsets of a test set as text, with its verdict on the paper's claim."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import xarray as xr

from studies.data import short
from studies.posthoc_table import SYMBOLS

#: "A (couple of) hundred points": the claim is looked at from this size on.
COUPLE_OF_HUNDRED = 200
#: "Closely": a mean within this share of the value of the whole set.
CLOSE = 0.1
_WIDTH = 32

_PREAMBLE = """Class-wise calibration error × 100 of the whole test set (debiased: [95 % interval]),
and of subsets of it, relative to that of the whole set by the same estimate: relative bias in %,
mean ± standard error. The whole set's value is an estimate, not the truth, and subsets of a large
part of the set share most of its rows."""


class Closeness(NamedTuple):
    """Whether subsets agree with the whole set, by one estimate."""

    generator: str
    method: str
    close: int
    """models whose mean is within CLOSE at every size of the claim"""
    off: int
    """models whose mean is outside by more than two standard errors at some size"""
    undecided: int

    @property
    def said(self) -> str:
        if self.off:
            return "fails" if not self.close else "holds in part"
        return "holds" if not self.undecided else "not shown for all"


def relative_bias(summary: xr.Dataset) -> xr.DataArray:
    """Return (estimate − reference) / reference."""
    return summary["estimate"] / summary["reference"] - 1


def mean_and_error(values: xr.DataArray) -> tuple[xr.DataArray, xr.DataArray]:
    """Return the mean over subsets and its standard error."""
    n = values.sizes["replicate"]
    return values.mean("replicate"), values.std("replicate", ddof=1) / np.sqrt(n)


def verdicts(summary: xr.Dataset) -> list[Closeness]:
    """Judge the claim for each generator and method, over models."""
    mean, error = mean_and_error(relative_bias(summary))
    large = summary["sample_size"] >= COUPLE_OF_HUNDRED
    mean, error = (each.where(large, drop=True) for each in (mean, error))
    beyond = abs(mean) - CLOSE
    found = []
    for generator in summary["generator"].values.tolist():
        for method in summary["method"].values.tolist():
            at = {"generator": generator, "method": method}
            excess = beyond.sel(at)
            close = (excess <= 0).all("sample_size")
            off = (excess > 2 * error.sel(at)).any("sample_size")
            counts = int(close.sum()), int(off.sum())
            found.append(Closeness(generator, method, *counts, close.size - sum(counts)))
    return found


def outside(summary: xr.Dataset, generator: str, method: str) -> int:
    """Count the models whose whole-set value is outside the debiased one's interval."""
    of = summary.sel(generator=generator)
    reference = of["reference"].sel({"method": method})
    return int(((reference < of["reference_lower"]) | (reference > of["reference_upper"])).sum())


def coverage(summary: xr.Dataset, generator: str) -> float:
    """Return the share of subsets whose debiased interval holds the debiased whole-set value."""
    of = summary.sel(generator=generator)
    reference = of["reference"].sel({"method": "debiased"})
    return float(((of["lower"] <= reference) & (reference <= of["upper"])).mean())


def table(summary: xr.Dataset) -> str:
    """Return references, relative biases and the verdict."""
    return "\n".join(["", _PREAMBLE, *_biases(summary), "", *_verdict(summary)])


def _biases(summary: xr.Dataset) -> Iterator[str]:
    sizes = summary["sample_size"].values.tolist()
    mean, error = mean_and_error(100 * relative_bias(summary))
    for generator in summary["generator"].values.tolist():
        heads = "".join(f" {f'n = {n}':>11}" for n in sizes)
        title = f"{SYMBOLS.get(generator, generator)}, class-wise"
        yield f"\n{title:{_WIDTH}} {'method':9} {'whole set':>22}{heads}"
        for model in summary["model"].values.tolist():
            at = summary.sel(generator=generator, model=model)
            for method in summary["method"].values.tolist():
                whole = f"{100 * at['reference'].sel({'method': method}).item():.3f}"
                if method == "debiased":
                    ends = (100 * at[f"reference_{end}"].item() for end in ("lower", "upper"))
                    whole += " [{:.3f}, {:.3f}]".format(*ends)
                where = {"generator": generator, "model": model, "method": method}
                pairs = zip(mean.sel(where).values, error.sel(where).values, strict=True)
                cells = "".join(f" {f'{m:.0f} ± {e:.0f}':>11}" for m, e in pairs)
                yield f"{short(model):{_WIDTH}} {method:9} {whole:>22}{cells}"


def _verdict(summary: xr.Dataset) -> Iterator[str]:
    n_models = summary.sizes["model"]
    yield (
        "Claim: estimates closely align with the ground truth (the whole set), even with a couple "
        f"of hundred points.\nModels whose mean is within {100 * CLOSE:.0f} % at every n ≥ "
        f"{COUPLE_OF_HUNDRED} : beyond it by two standard errors : undecided."
    )
    for each in verdicts(summary):
        counts = f"{each.close}:{each.off}:{each.undecided}"
        name = f"{SYMBOLS.get(each.generator, each.generator)}, {each.method}"
        yield f"  {name:18} {counts:>8}   {each.said}"
    yield "Is the value of the whole set the truth? Against the debiased estimate's 95 % interval:"
    for generator in summary["generator"].values.tolist():
        reference = summary["reference"].sel({"generator": generator})
        for method in ("risk", "direct"):
            ratio = (
                reference.sel({"method": method}) / reference.sel({"method": "debiased"})
            ).values
            yield (
                f"  {SYMBOLS.get(generator, generator)}, {method}: outside for "
                f"{outside(summary, generator, method)} of {n_models} models "
                f"(ratios to the debiased value: {', '.join(f'{r:.2g}' for r in ratio)})"
            )
        yield (
            f"  {SYMBOLS.get(generator, generator)}: intervals of subsets hold the debiased value "
            f"of the whole set in {100 * coverage(summary, generator):.0f} % of cases"
        )
