"""What studies/README.md says of networks whose predictions were saved."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import numpy as np

from book.answers import spread
from propercal.experiments import beyond_chance, selections
from studies import bias_on_networks as subsets
from studies import classwise_ranking as ranking
from studies import posthoc_report

if TYPE_CHECKING:
    import xarray as xr


def bias_on_networks(of: xr.Dataset) -> list[str]:
    """Return the items of the study of subsets."""
    bias = 100 * subsets.relative_bias(of).mean("replicate")
    small = {
        (method, generator): spread(
            bias.sel({"method": method, "generator": generator, "sample_size": 200})
        )
        for method in ("risk", "direct")
        for generator in ("log", "brier")
    }
    close = sum(x.close for x in subsets.closeness(of) if x.method == "risk")
    ratio = of["reference"].sel({"method": "risk"}) / of["reference"].sel({"method": "debiased"})
    outside = [subsets.outside(of, g, "risk") for g in ("log", "brier")]
    ours = bias.sel({"method": "debiased", "generator": "log"})
    error = 100 * subsets.relative_bias(of).sel({"method": "debiased", "generator": "log"})
    late = beyond_chance(error.where(of["sample_size"] >= 1000, drop=True), "replicate")
    cover = [100 * subsets.coverage(of.sel(generator=g)) for g in ("log", "brier")]
    n = of.sizes["model"]
    return [
        (
            '"Estimates closely align with the whole set, even with a couple of hundred points": not within '
            f"10 %. Via the risk, the mean of subsets of 200 rows is {small['risk', 'log']} % (KL) and "
            f"{small['risk', 'brier']} % (L2) above the value of the whole set; in {close} of {2 * n} cases "
            f"(networks and losses) it is within 10 % at every size from 200 on. Direct, L2, it is "
            f"{small['direct', 'brier']} % above."
        ),
        (
            "The value of the whole set is no truth. Via the risk it is "
            f"{spread(ratio.sel(generator='log'), 1)} times the debiased one for KL and "
            f"{spread(ratio.sel(generator='brier'), 1)} times for L2. It is outside the 95 % interval of the "
            f"debiased one on {outside[0][0]} of {n} networks for KL and on {outside[1][0]} for L2."
        ),
        (
            "**The debiased estimate needs more rows here.** For KL its mean differs from its value on the "
            f"whole set by {spread(ours.sel(sample_size=[100, 200]))} % with 100 or 200 rows, so that it is "
            f"often negative, and by {spread(ours.sel(sample_size=500))} % with 500. From 1000 rows on, "
            f"{int(late.sum()) or 'none'} of {late.size} differences is beyond chance. Its intervals hold the "
            f"value of the whole set in {cover[0]:.0f} % of all subsets (L2: {cover[1]:.0f} %). A single "
            "confident mistake makes most of a network's log loss on 100 rows, and ten rows of a class are "
            "too few to learn a correction from. The library warns of it."
        ),
    ]


def posthoc_calibration(of: xr.Dataset, bullets: Callable[[Iterable[str]], str]) -> str:
    """Return the table and the items of the study of recalibrations."""
    lines = ['| | "risk", γ = 0.02 | debiased, at the 5 % level |', "|---|---|---|"]
    found = posthoc_report.wins(of)
    names = {"classwise": "class-wise", "log": "KL", "brier": "L2"}
    for w in (w for w in found if w.rival == "isotonic"):
        paper, ours = (" : ".join(map(str, each)) for each in (w.paper_style, w.debiased))
        notion = names.get(w.notion, w.notion)
        lines.append(f"| {notion}, {names[w.generator]} | {paper} | {ours} |")
    wins = [w for w in found if w.rival == "isotonic"]
    claimed = [0 if w.claim == "temperature" else 1 for w in wins]
    by_paper = [w.paper_style[i] for w, i in zip(wins, claimed, strict=True)]
    shown = [w.debiased[i] for w, i in zip(wins, claimed, strict=True)]
    smooth = [w.debiased for w in found if w.rival == "isotonic-smoothed"]
    n = of.sizes["model"]
    items = [
        (
            '"Temperature scaling wins for KL, isotonic regression for L2": by the paper\'s estimate on '
            f"{spread(by_paper)} networks of {n}, depending on the loss and the notion. Beyond chance it is "
            f"shown on {spread(shown)}."
        ),
        (
            "What isotonic regression loses for KL are its zeros (raised to 1e-7, as in the authors' code). "
            "Smoothed by a rule of succession it has none. It then loses to temperature scaling on "
            f"{max(w[0] for w in smooth) or 'no'} network and wins on {spread([w[1] for w in smooth])}, in "
            "both losses and both notions."
        ),
    ]
    return "\n".join(lines) + "\n\n" + bullets(items)


def classwise_ranking(of: xr.Dataset) -> list[str]:
    """Return the items of the study of rankings."""
    models = [at for _, at in selections(of, "model")]
    tau = {
        heading: spread(
            [ranking.agreement(at, *pair).kendall for at in models for pair in pairs], 2
        )
        for heading, pairs in ranking.PAIRS.items()
    }
    three, each_other, same_name, with_loss = tau.values()
    apart = {g: [ranking.told_apart(at, g) for at in models] for g in ("log", "brier")}
    at = of["estimate"]
    ratio = at.sel({"method": "risk"}) / at.sel({"method": "debiased"})
    ratios = (spread(ratio.sel(generator=g), 1) for g in ("log", "brier"))
    pairs = apart["log"][0][1]
    told = {g: spread(np.array(found)[:, 0]) for g, found in apart.items()}
    return [
        (
            f'"Rankings by the three are similar": yes. Kendall\'s τ is {three}. They agree about as well with '
            f"the ranking by the log loss of the class ({with_loss}, debiased ones included): classes that are "
            "hard are also badly calibrated."
        ),
        f"The debiased rankings agree with the paper's ({same_name}) and with each other ({each_other}). "
        "The order is that of the paper's estimates, the size is not: for a class they are "
        "{} times the debiased one for KL, and {} times for L2.".format(*ratios),
        (
            "Neighbours in such a ranking are often within noise. The debiased CE_KL tells "
            f"{told['log']} of {pairs} pairs of classes apart (at 5 %, one by one), the squared L2 error "
            f"{told['brier']}."
        ),
    ]
