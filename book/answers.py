"""The answer of each study in one sentence, with the numbers of its kept dataset.

A page of results begins with it, the index shows it beside a bar, and a test compares it with what
the READMEs say.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from propercal.experiments import mean_and_error, selections
from studies import (
    bias_on_networks,
    classwise_ranking,
    direct_vs_risk,
    information_monotonicity,
    kernel_comparison,
    missed_shapes,
    model_selection,
    posthoc_report,
    simulated,
    training_monitor,
)
from studies.bias_rate_report import once
from studies.debiasing_summary import MET, NOT_ASKED

if TYPE_CHECKING:
    import xarray as xr


class Answer(NamedTuple):
    """What a study found."""

    claim: str
    """what the paper says, in a few words"""
    text: str
    share: float
    """of the bar, from 0 to 1"""
    bar: str
    """what the bar shows, with its number"""


def _of(share: float, what: str) -> tuple[float, str]:
    """Return a share for the bar, and the words below it."""
    return share, f"{100 * share:.0f} % of {what}"


def spread(values: Any, digits: int = 0) -> str:
    """Return the range of some numbers."""
    low, high = (minus(f"{float(end):.{digits}f}") for end in (np.min(values), np.max(values)))
    return low if low == high else f"{low} to {high}"


def minus(text: str) -> str:
    """Return numbers with the sign that a reader expects, zeros without one."""
    text = re.sub(r"(?<![\w.])-(?=[\d.])", "−", text)
    return re.sub(r"−(?=0(?:\.0*)?(?![\d.]))", "", text)


def _bias_rate(of: xr.Dataset) -> Answer:
    last = of.isel(sample_size=-1).sel({"notion": "classwise", "method": "risk"})
    off = last["relative_bias"].sel(bandwidth=0.02)
    slope = once(of["slope"].where(of["slope_points"] >= 3)).median().item()
    text = (
        f"The bias does fall like 1/n (median slope {spread(slope, 2)}), but towards a limit that "
        f"is not the truth: with {last['sample_size'].item()} samples, the class-wise estimate via "
        f"the risk at γ = 0.02 is {spread(off)} % too high."
    )
    near = float((abs(off) <= 10).mean())
    return Answer(
        "Reliable class-wise estimates, whose bias falls like 1/n",
        text,
        *_of(near, "cells (loss, number of classes) are within 10 % of the truth"),
    )


def _kernel_comparison(of: xr.Dataset) -> Answer:
    found = {
        method: simulated.sum_of(
            each
            for generator in of["generator"].values.tolist()
            for each in kernel_comparison.contests(of, generator, method).values()
        )
        for method in ("direct", "risk")
    }
    direct, risk = found.values()
    both = simulated.sum_of(found.values())
    text = (
        f"It depends on the estimate and on the bandwidth: with the direct estimate, the Dirichlet "
        f"kernel is nearer to the truth than bins in {direct.wins} of {sum(direct)} comparisons, "
        f"via the risk in {risk.wins} of {sum(risk)}."
    )
    return Answer(
        "The Dirichlet kernel performs better than bins",
        text,
        *_of(both.wins / sum(both), "comparisons are won by the kernel"),
    )


def _direct_vs_risk(of: xr.Dataset) -> Answer:
    found = direct_vs_risk.contests(of)
    both = {
        notion: simulated.sum_of(each for key, each in found.items() if key[1] == notion)
        for notion in ("classwise", "canonical")
    }
    one, other = both.values()
    text = (
        f"Class-wise, yes: the direct estimate is nearer to the truth in {one.wins} of "
        f"{sum(one)} cells and farther in {one.losses or 'none'}. For the canonical notion it is "
        f"nearer in {other.wins} of {sum(other)} and farther in {other.losses}."
    )
    total = simulated.sum_of(both.values())
    return Answer(
        "The direct estimate performs even better than that via the risk",
        text,
        *_of(total.wins / sum(total), "cells have the direct estimate nearer"),
    )


def _bias_on_networks(of: xr.Dataset) -> Answer:
    close = [x for x in bias_on_networks.closeness(of) if x.method == "risk"]
    n = of.sizes["model"] * len(close)
    bias = 100 * bias_on_networks.relative_bias(of).mean("replicate")
    small = bias.sel({"method": "risk", "sample_size": 200, "generator": "log"})
    near = sum(x.close for x in close)
    text = (
        f"No: with 200 rows the estimate via the risk (log loss) is {spread(small)} % above its "
        f"value on the whole test set; it is within 10 % at every size from 200 on in "
        f"{near or 'none'} of {n} cases (networks and losses)."
    )
    return Answer(
        "A couple of hundred rows suffice",
        text,
        *_of(near / n, "cases (networks and losses) are within 10 %"),
    )


def miscalibrated(of: xr.Dataset) -> xr.Dataset:
    """Return the simulations of the debiasing study whose calibration error is not 0."""
    return of.isel(scenario=np.flatnonzero((of["truth"] > 0).any(["n_classes", "generator"])))


def median_biases(of: xr.Dataset, generators: Iterable[str] = ("log", "brier")) -> dict[str, float]:
    """Return the median of |relative bias| in %, n ≥ 1000, by method.

    Over miscalibrated cells in which every canonical method was measured: the same for all.
    """
    of = miscalibrated(of).sel(generator=list(generators))
    bias = abs(of["relative_bias"]).where(of["sample_size"] >= 1000, drop=True)
    methods = [m for m in of["method"].values.tolist() if not m.startswith("binned")]
    bias = bias.sel({"method": methods})
    bias = bias.where(bias.notnull().all("method"))
    return {m: bias.sel({"method": m}).median().item() for m in methods}


def times_of_default(benchmark: xr.Dataset) -> tuple[str, ...]:
    """Return the seconds that the default takes with 10 classes: 10⁶ rows class by class, 10⁵
    first choices, and 10⁴ rows canonical.
    """
    seconds = benchmark["seconds_median"].sel(n_classes=10)
    cases = (("classwise", 10**6), ("top-label", 10**5), ("canonical", 10**4))
    return tuple(
        f"{seconds.sel(series=f'default {notion}', sample_size=n).item():.1f}"
        for notion, n in cases
    )


def _debiasing(of: xr.Dataset) -> Answer:
    found = median_biases(of)
    verdict = of["bias_verdict"]
    asked = (verdict != NOT_ASKED) & (of["truth"] > 0)
    share = float(((verdict == MET) & asked).sum() / asked.sum())
    text = (
        f"It can be done in most cases: over all miscalibrated simulations with 1000 samples or "
        f"more, the median relative bias of the debiased estimate is {found['debiased']:.1f} %. "
        f"That of the direct estimate is {found['direct']:.0f} %, and that of the one via the risk "
        f"{found['risk']:.0f} %. Where the correction fails, the estimate is too low."
    )
    return Answer(
        "A bias correction for general F is an open question",
        text,
        *_of(share, "miscalibrated cells meet the target of this study"),
    )


def shares_covered(of: xr.Dataset) -> list[str]:
    """Return how often intervals hold the truth of miscalibrated models, in %, by n ≥ 1000."""
    wrong = of.where(of["truth"] > 0)
    covered = wrong["coverage"].sel(generator=["log", "brier"], sample_size=[1000, 3000, 10000])
    weight = of["n_replicates"].sel(sample_size=covered["sample_size"]).where(covered.notnull())
    others = [name for name in covered.dims if name != "sample_size"]
    shares = 100 * (covered * weight).sum(others) / weight.sum(others)
    return [f"{share:.1f}" for share in shares.values]


def warned_where_missed(of: xr.Dataset) -> str:
    """Return the share of results with a warning of a misfit, by n, where a shape is missed."""
    seen = of["warned"].sel(warning="misfit").where(missed_shapes.missed(of))
    shares = 100 * seen.mean(["shape", "generator"])
    pairs = zip(shares["sample_size"].values.tolist(), shares.values, strict=True)
    return " and ".join(f"{share:.0f} % (n = {n})" for n, share in pairs if np.isfinite(share))


def _missed_shapes(of: xr.Dataset) -> Answer:
    where = missed_shapes.missed(of)
    counts = where.sum(["shape", "generator"])
    cases = where.isel(sample_size=-1).size
    sizes = counts["sample_size"].values.tolist()
    said = " and in ".join(f"{c} at n = {n}" for c, n in zip(counts.values, sizes, strict=True))
    text = (
        f"Not with {sizes[-1]} rows: of {cases} cases (shapes and losses), the default misses more "
        f"than {missed_shapes.TOLERANCE} % of the calibration error, beyond chance, in {said}. "
        f"A warning of it is given in {warned_where_missed(of)} of these results."
    )
    return Answer(
        "Consistent estimates: with enough data every shape is found",
        text,
        *_of(float(1 - counts.values[-1] / cases), f"cases are not missed at n = {sizes[-1]}"),
    )


def _posthoc(of: xr.Dataset) -> Answer:
    pairs = [w for w in posthoc_report.wins(of) if (w.notion, w.rival) == ("classwise", "isotonic")]
    n = sum(pairs[0].debiased)
    claimed = {w.generator: 0 if w.claim == "temperature" else 1 for w in pairs}
    shown = {w.generator: w.debiased[claimed[w.generator]] for w in pairs}
    paper = {w.generator: w.paper_style[claimed[w.generator]] for w in pairs}
    text = (
        f"By the paper's estimate, mostly: temperature scaling is ahead on {paper['log']} of {n} "
        f"networks for the log loss, isotonic regression on {paper['brier']} for the Brier score. "
        f"By the debiased estimate, beyond chance, the first is ahead on {shown['log']} and the "
        f"second on {shown['brier']}."
    )
    return Answer(
        "Temperature scaling is best for KL, isotonic regression for L2",
        text,
        *_of(
            sum(shown.values()) / (n * len(shown)),
            "cases (networks and losses) show it beyond chance, class-wise",
        ),
    )


def _ranking(of: xr.Dataset) -> Answer:
    models = [each for _, each in selections(of, "model")]
    pairs = classwise_ranking.PAIRS["the paper's three"]
    tau = [classwise_ranking.agreement(m, *pair).kendall for m in models for pair in pairs]
    apart, n = np.sum([classwise_ranking.told_apart(m, "log") for m in models], axis=0)
    text = (
        f"Yes: Kendall's τ between the three rankings is {spread(tau, 2)}. But only {apart} of "
        f"{n} pairs of classes can be told apart, so the order of neighbours is often chance."
    )
    return Answer(
        "Three calibration errors rank the classes alike",
        text,
        min(tau),
        f"the least Kendall's τ is {min(tau):.2f}",
    )


def _monotonicity(of: xr.Dataset) -> Answer:
    found = information_monotonicity.verdicts(of)
    cases = of.sizes["epoch"] * of.sizes["layer"] * (of.sizes["layer"] - 1) // 2
    broken = {
        method: [v.broken for v in found if v.method == method and v.generator == "brier"]
        for method in ("risk", "debiased")
    }
    total = cases * len(broken["risk"])
    text = (
        "In truth always, by a theorem. Of "
        f"{total} pairs of layers (over networks and epochs, output layer included), the paper's "
        f"estimate shows {sum(broken['risk'])} in the wrong order beyond chance, the debiased one "
        f"{sum(broken['debiased'])}."
    )
    return Answer(
        "Each layer is at least as sharp as the next",
        text,
        *_of(
            1 - sum(broken["risk"]) / total, "pairs of layers are in order by the paper's estimate"
        ),
    )


def _monitor(of: xr.Dataset) -> Answer:
    of = of.isel(activation=0)
    stop = training_monitor.stops(of)
    ours, theirs = (stop[name].epoch.mean().item() for name in ("CE KL, risk", "log loss"))
    grown = training_monitor.growth(of, "log", "debiased")
    text = (
        f"Half of it holds. The calibration error (the paper's estimate) is least after "
        f"{ours:.0f} epochs and the loss only after {theirs:.0f}, so it does not show where to "
        f"stop. But of the later rise of the loss the calibration error makes {grown.share}, and "
        f"the refinement {minus(f'{100 - float(grown.share.split()[0]):.0f}')} %."
    )
    same = float((abs(stop["CE KL, risk"].epoch - stop["log loss"].epoch) <= 1).mean())
    return Answer(
        "The calibration error shows where to stop, and why the loss rises",
        text,
        *_of(same, "networks have both stops within one epoch"),
    )


def _selection(of: xr.Dataset) -> Answer:
    of = of.isel(activation=0)
    fronts = model_selection.fronts(of)
    shown = sum(front.trade_off for front in fronts)
    best = of["accuracy"].mean("seed")
    error, _ = mean_and_error(
        of["calibration_error"].sel({"generator": "log", "method": "debiased"}), "seed"
    )
    first, last = (error.isel(epoch=i).item() for i in (0, -1))
    text = (
        f"Hardly: a trade-off is shown on {shown} of {len(fronts)} fronts (two losses, two "
        f"estimates). Training improves both: the accuracy rises from {100 * best[0].item():.0f} "
        f"to {100 * best[-1].item():.0f} %, and the debiased calibration error falls from "
        f"{first:.4f} to {last:.4f} nats."
    )
    return Answer(
        "Snapshots trade accuracy for calibration",
        text,
        *_of(shown / len(fronts), "fronts show it beyond chance"),
    )


ANSWERS: dict[str, Callable[[xr.Dataset], Answer]] = {
    "bias_rate": _bias_rate,
    "kernel_comparison": _kernel_comparison,
    "direct_vs_risk": _direct_vs_risk,
    "bias_on_networks": _bias_on_networks,
    "debiasing": _debiasing,
    "missed_shapes": _missed_shapes,
    "posthoc_calibration": _posthoc,
    "classwise_ranking": _ranking,
    "information_monotonicity": _monotonicity,
    "training_monitor": _monitor,
    "model_selection": _selection,
}
