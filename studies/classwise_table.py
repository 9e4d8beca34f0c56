"""The study of single classes as text: values, ranks, and how far rankings agree."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

import numpy as np
import xarray as xr
from scipy.stats import kendalltau, norm, rankdata, spearmanr

from studies.predictions import Floats, short

LEVEL = 0.05

_PREAMBLE = """Calibration error of each class against the rest, with its rank (1: least).
risk: the paper's estimate, γ = 0.02; CE_1: binned, and below it what labels drawn from the
predictions give, that is, its value for a calibrated model. ±: standard error."""


class Agreement(NamedTuple):
    """How far two rankings of the classes agree."""

    kendall: float
    spearman: float
    pvalue: float
    """of Kendall's coefficient, two-sided"""

    @property
    def shown(self) -> bool:
        return bool(self.kendall > 0 and self.pvalue < LEVEL)


def columns(of: xr.Dataset) -> dict[str, Floats]:
    """Return the quantities of one model by which classes are ranked."""
    kl, l2 = (of["estimate"].sel({"generator": name}) for name in ("log", "brier"))
    return {
        "CE_KL risk": kl.sel({"method": "risk"}).values,
        "CE_2² risk": l2.sel({"method": "risk"}).values,
        "CE_1 binned": of["binned"].values,
        "CE_KL debiased": kl.sel({"method": "debiased"}).values,
        "CE_2² debiased": l2.sel({"method": "debiased"}).values,
        "log loss": of["loss"].sel(generator="log").values,
    }


PAPER = ("CE_KL risk", "CE_2² risk", "CE_1 binned")
OURS = ("CE_KL debiased", "CE_2² debiased")
#: Which rankings are compared, and under which heading.
PAIRS = {
    "the paper's three": tuple(combinations(PAPER, 2)),
    "debiased, with each other": (OURS,),
    "debiased with the paper's of the same name": (
        ("CE_KL risk", "CE_KL debiased"),
        ("CE_2² risk", "CE_2² debiased"),
    ),
    "with the log loss of the class": tuple((name, "log loss") for name in (*PAPER, *OURS)),
}


def agreement(of: xr.Dataset, one: str, other: str) -> Agreement:
    """Compare two rankings of the classes of one model."""
    a, b = (columns(of)[name] for name in (one, other))
    tau = kendalltau(a, b)
    return Agreement(float(tau.statistic), float(spearmanr(a, b).statistic), float(tau.pvalue))


def told_apart(of: xr.Dataset, generator: str) -> tuple[int, int]:
    """Count the pairs of classes whose debiased values differ at the 5 % level, and all pairs.

    As if classes were independent, and without a correction for their number.
    """
    at = of.sel(generator=generator)
    value = at["estimate"].sel({"method": "debiased"}).values
    error = at["standard_error"].values
    pairs = list(combinations(range(len(value)), 2))
    bound = norm.ppf(1 - LEVEL / 2)
    apart = [abs(value[i] - value[j]) > bound * np.hypot(error[i], error[j]) for i, j in pairs]
    return int(sum(apart)), len(pairs)


def table(summary: xr.Dataset) -> str:
    """Return values with ranks, agreements and the verdict."""
    models = summary["model"].values.tolist()
    blocks = [_PREAMBLE]
    blocks += ["\n".join(_values(summary.sel(model=m), short(m))) for m in models]
    blocks.append("\n".join(_agreements(summary)))
    return "\n" + "\n\n".join(blocks)


def _values(of: xr.Dataset, name: str) -> Iterator[str]:
    classes = of["class"].values.tolist()
    yield f"{name:40}" + "".join(f" {f'class {i}':>17}" for i in classes)
    found = columns(of)
    for title, scale in (
        ("CE_KL risk", 100),
        ("CE_2² risk", 1000),
        ("CE_1 binned", 1000),
        ("CE_KL debiased", 100),
        ("CE_2² debiased", 1000),
    ):
        ranks = rankdata(found[title]).astype(int)
        texts = [f"{scale * v:.2f}" for v in found[title]]
        if title in OURS:
            errors = of["standard_error"].isel(generator=OURS.index(title)).values
            texts = [f"{t} ± {scale * e:.2f}" for t, e in zip(texts, errors, strict=True)]
        cells = (f"{t} ({r})" for t, r in zip(texts, ranks, strict=True))
        yield f"{f'{title} × {scale}':40}" + "".join(f" {cell:>17}" for cell in cells)
        if title == "CE_1 binned":
            null = (f"{scale * v:.2f}    " for v in of["binned_null"].values)
            yield f"{'   if calibrated':40}" + "".join(f" {cell:>17}" for cell in null)


def _agreements(summary: xr.Dataset) -> Iterator[str]:
    models = summary["model"].values.tolist()
    yield (
        "Claim: the three rankings are similar. Kendall's τ (Spearman's ρ) of the classes, "
        f"*: τ > 0 at the {100 * LEVEL:.0f} % level"
    )
    width = max(14, *(len(short(model)) for model in models))
    yield f"{'':34}" + "".join(f" {short(model):>{width}}" for model in models)
    counts = {}
    for heading, pairs in PAIRS.items():
        yield f"{heading}:"
        found = []
        for one, other in pairs:
            row = [agreement(summary.sel(model=model), one, other) for model in models]
            cells = (f"{a.kendall:.2f} ({a.spearman:.2f}){'*' if a.shown else ' '}" for a in row)
            yield f"  {f'{one}, {other}':32}" + "".join(f" {cell:>{width}}" for cell in cells)
            found += row
        counts[heading] = sum(a.shown for a in found), len(found)
    for generator, title in (("log", "CE_KL"), ("brier", "CE_2²")):
        apart = [told_apart(summary.sel(model=model), generator) for model in models]
        text = ", ".join(f"{a} of {n}" for a, n in apart)
        yield f"Pairs of classes that debiased {title} tells apart at 5 %, by model: {text}"
    for heading, (shown, n) in counts.items():
        said = "holds" if shown == n else "not shown" if shown == 0 else "shown in part"
        yield f"  agreement {heading}: {shown} of {n}   {said}"
