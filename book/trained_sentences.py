"""What studies/README.md says of networks while they are trained."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import numpy as np

from propercal.experiments import beyond_chance
from studies import information_monotonicity as layers
from studies import model_selection as snapshots
from studies import training_monitor as monitor
from studies.losses import symbol
from studies.training import number

if TYPE_CHECKING:
    import xarray as xr

Bullets = Callable[[Iterable[str]], str]
_METHODS = {"risk": "paper's", "risk-tuned": "standardised", "debiased": "debiased"}


def _signed(values: xr.DataArray, digits: int = 3) -> str:
    return number(values, digits, signed=True)


def information_monotonicity(of: xr.Dataset, bullets: Bullets) -> str:
    """Return the table and the items of the study of layers."""
    found = {(v.activation, v.generator, v.method): v for v in layers.verdicts(of)}
    lines = [
        "| network, estimate | 1→2 | 2→3 | 3→4 | 4→output | broken |",
        "|---|---|---|---|---|---|",
    ]
    for (activation, generator, method), v in found.items():
        if generator == "brier":
            steps = zip(v.rises.transpose("step", ...), v.signs, strict=True)
            cells = (_bold(_signed(100 * at, 2), sign > 0) for at, sign in steps)
            line = [f"{activation}, {_METHODS[method]}", *cells, str(v.broken)]
            lines.append("| " + " | ".join(line) + " |")
    return "\n".join(lines) + "\n\n" + bullets(_of_layers(of, found))


def _bold(text: str, really: bool) -> str:
    return f"**{text}**" if really else text


def _of_layers(of: xr.Dataset, found: dict[tuple[str, str, str], layers.Verdict]) -> list[str]:
    last = {
        (activation, method): _signed(
            100 * found[activation, "log", method].rises.sel(step="4→output"), 1
        )
        for activation in ("relu", "tanh")
        for method in ("risk", "debiased")
    }
    mean = {key: abs(v.rises.mean("seed")) for key, v in found.items()}
    cases = of.sizes["epoch"] * of.sizes["layer"] * (of.sizes["layer"] - 1) // 2
    relu = [found["relu", g, "debiased"].broken for g in ("brier", "log")]
    tanh = [found["tanh", g, "debiased"].broken for g in ("brier", "log")]
    ours = of["sharpness"].sel({"generator": "brier", "method": "debiased"})
    gap = ours.isel(layer=0, drop=True) - ours.isel(layer=-2, drop=True)
    gaps = {
        name: [number(gap.sel(activation=name, epoch=epoch)) for epoch in (1, 4)]
        for name in ("relu", "tanh")
    }

    def most(method: str) -> str:
        # All layers of a tanh network, and the last two of a relu network.
        values = (
            max(
                mean["tanh", g, method].max().item(),
                mean["relu", g, method].sel(step="4→output").item(),
            )
            for g in ("brier", "log")
        )
        return "{:.3f} (L2) and {:.3f} nats".format(*values)

    return [
        (
            "With the paper's estimate, the output layer breaks the order beyond chance (KL × 100: "
            f"{last['relu', 'risk']} for relu, {last['tanh', 'risk']} for tanh). Where neighbours are equal "
            f"in truth it shows mean differences of up to {most('risk')}; the debiased "
            f"one of at most {most('debiased')}."
        ),
        (
            f"The debiased estimate keeps the order, output layer included, but for {relu[0]} of {cases} cases "
            f"in the relu network and {tanh[0]} in the tanh network (KL: {relu[1]} and {tanh[1]}). Two simple "
            "classifiers do not find all that a first layer holds."
        ),
        (
            '"A gap between the layers opens early and closes later": the debiased gap between the first and '
            f"the last hidden layer is {gaps['relu'][0]} after one epoch and {gaps['relu'][1]} after four "
            f"(tanh: {gaps['tanh'][0]} and {gaps['tanh'][1]}). In the tanh network, where the true gap is 0, "
            "it only says how hard layers are to read."
        ),
    ]


_CRITERIA = {
    "log loss": "log loss",
    "CE KL, risk": "CE_KL, paper's",
    "CE KL, debiased": "CE_KL, debiased",
    "refinement KL, debiased": "refinement KL, debiased",
    "error rate": "error rate",
}


def training_monitor(of: xr.Dataset, bullets: Bullets) -> str:
    """Return the table and the items of the study of early stopping."""
    of = of.isel(activation=0)
    found = monitor.stops(of)
    least = found["log loss"]
    lines = [
        "| least on validation rows | epoch | log loss on fresh rows | against stopping by the loss |",
        "|---|---|---|---|",
    ]
    for name, title in _CRITERIA.items():
        stop = found[name]
        cost = "" if stop is least else _signed(stop.log_loss - least.log_loss)
        line = f"| {title} | {number(stop.epoch, 1)} | {number(stop.log_loss)} | {cost} |"
        lines.append(line.replace("|  |", "| |"))
    early = {
        method: found[f"CE KL, {method}"].epoch - least.epoch for method in ("risk", "debiased")
    }
    ours, papers = (monitor.growth(of, "log", method) for method in ("debiased", "risk"))
    last = of.sel({"part": "monitor", "method": "debiased", "generator": "log"}).isel(epoch=-1)
    low, high, error = (
        last[name].mean("seed").item() for name in ("lower", "upper", "calibration_error")
    )
    noise = "" if beyond_chance(early["debiased"], "seed") else ", within noise"
    items = [
        (
            f'"CE_KL uncovers the same stopping point as the loss": no. Its minimum is '
            f"{number(-early['risk'], 1)} epochs earlier, before the network has learnt all that it can, and "
            f"that costs log loss. The debiased one is {number(-early['debiased'], 1)} epochs early{noise}. "
            "A network that knows nothing may be calibrated."
        ),
        (
            f'"After its minimum the loss grows by calibration error alone, the refinement is flat": yes. Of '
            f"{_signed(ours.loss)} nats, the calibration error makes {ours.share} debiased (refinement "
            f"{_signed(ours.refinement)}), and {papers.share} by the paper's estimate, whose refinement falls "
            f"({_signed(papers.refinement)})."
        ),
        (
            f'"Accuracy stays, the calibration error grows considerably": yes ({_signed(ours.accuracy)}; '
            f"{_signed(ours.calibration_error)} nats)."
        ),
        (
            f"On these rows, the calibration error of a single network is known within [{low:.2f}, {high:.2f}] "
            f"for {error:.2f} at the last epoch."
        ),
    ]
    return "\n".join(lines) + "\n\n" + bullets(items)


def model_selection(of: xr.Dataset, bullets: Bullets) -> str:
    """Return the table and the items of the study of snapshots."""
    of = of.isel(activation=0)
    fronts = snapshots.fronts(of)
    shown = sorted({epoch for front in fronts for epoch in front.epochs} | {4})
    names = {"risk": "paper's", "debiased": "debiased"}
    titles = [f"{symbol(f.generator)}, {names[f.method]}" for f in fronts]
    lines = ["| epoch | accuracy, % | " + " | ".join(titles) + " |", "|---" * 6 + "|"]
    for epoch in shown:
        at = 100 * of.sel(epoch=epoch)
        keys = ({"generator": f.generator, "method": f.method} for f in fronts)
        cells = (number(at["calibration_error"].sel(key), 2) for key in keys)
        lines.append(f"| {epoch} | {number(at['accuracy'], 1)} | " + " | ".join(cells) + " |")
    common = sorted(set.intersection(*(set(front.epochs) for front in fronts)))
    others = sorted(set(shown) - {4} - set(common))
    mean = of["calibration_error"].sel(generator="log").mean("seed")
    best = of["accuracy"].mean("seed").idxmax("epoch").item()
    first = min(shown, key=lambda epoch: mean.sel({"method": "debiased", "epoch": epoch}).item())
    times = [
        (mean.sel({"method": m, "epoch": best}) / mean.sel({"method": m, "epoch": first})).item()
        for m in ("risk", "debiased")
    ]
    traded = [titles[i] for i, front in enumerate(fronts) if front.trade_off]
    ends = np.array([[f.epochs[0], f.epochs[-1]] for f in fronts if f.trade_off])
    where = f" (epochs {' and '.join(map(str, ends[0]))})" if len(ends) else ""
    items = [
        (
            f"The fronts hardly differ: epochs {' and '.join(map(str, common))} are on all {len(fronts)}, "
            f"{' and '.join(map(str, others)) or 'no other'} on some. What differs is the size. By the paper's "
            f"estimate, the most accurate snapshot is {times[0]:.1f} times as badly calibrated (KL) as that of "
            f"epoch {first}, by the debiased one {times[1]:.1f} times; both errors are small."
        ),
        f'"Snapshots trade accuracy for calibration": shown on {len(traded)} of {len(fronts)} fronts'
        + (
            f", that of {' and '.join(traded)}, whose ends{where} differ in both objectives"
            if traded
            else ""
        )
        + f" beyond chance (5 %, {of.sizes['seed']} seeds). Most of training improves both.",
    ]
    return "\n".join(lines) + "\n\n" + bullets(items)
