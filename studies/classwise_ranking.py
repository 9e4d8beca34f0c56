"""Rankings of the classes by estimates of their calibration error.

Do the estimates agree? The paper's appendix, "Assessing calibration error": for each class against
the rest, the estimates of CE_KL and CE_2² at bandwidth 0.02 and the binned CE_1, with ranks, and
reliability diagrams; here also the debiased estimates with intervals, the binned CE_1 of a
calibrated model, and the loss of the class.
"""

from __future__ import annotations

import studies.interrupts  # noqa: F401 (for what it does)

import dataclasses
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import xarray as xr
from scipy.special import expit, logsumexp
from scipy.stats import kendalltau, norm, rankdata, spearmanr

from propercal import decompose
from propercal._data.words.messages import bad_value
from propercal.experiments import Cell, Claim, Study, main, selections
from propercal.experiments.figures import legend, panels
from propercal.plotting import reliability_diagram
from studies.bins import N_BINS, bin_means
from studies.data import (
    BANDWIDTH,
    DIGITS,
    NETWORKS,
    Floats,
    ModelFactors,
    named,
    output,
    short,
    whole_set,
)
from studies.losses import symbol, unit
from studies.paths import DATA
from studies.styles import WIDTH, points, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GENERATORS = ("log", "brier")
METHODS = ("risk", "debiased")
N_RESAMPLES = 200
LEVEL = 0.05


@dataclass(frozen=True)
class Design(ModelFactors):
    """Models, each with every class, generator and method."""

    n_classes: int = 0
    """Of every model, as its files say."""

    def key(self, cell: Any) -> tuple[int, ...]:
        return (*super().key(cell), 1)

    def levels(self) -> dict[str, list[Any]]:
        return {**super().levels(), "class": list(range(self.n_classes))}

    def settings(self) -> dict[str, Any]:
        found = {**super().settings(), "n_bins": N_BINS}
        del found["n_classes"]
        return {**found, "n_resamples": N_RESAMPLES}


def read(design: Design, data: Path) -> Design:
    """Return the design that names what its files hold; its models have the same classes."""
    counts = [whole_set(model, design.seed, data)[0].shape[1] for model in design.models]
    if len(set(counts)) > 1:
        found = ", ".join(f"{model}: {k}" for model, k in zip(design.models, counts, strict=True))
        raise bad_value("models", found, "as many classes for each", "study them one by one")
    return dataclasses.replace(design.read(data), n_classes=counts[0])


def measure(
    design: Design, cell: Cell, seed: np.random.SeedSequence, *, data: Path
) -> dict[str, Any]:
    """Measure every class of a model."""
    log_prob, labels = whole_set(cell.model, design.seed, data)
    rng = np.random.default_rng(seed)
    with warnings.catch_warnings():
        # Of shares of the kernel, which are part of what is measured.
        warnings.simplefilter("ignore", UserWarning)
        found = [_measure(_logit(log_prob, i), labels == i, rng) for i in range(log_prob.shape[1])]
    return {name: [each[name] for each in found] for name in found[0]}


def _logit(log_prob: Floats, i: int) -> Floats:
    """Return log p_i − log(1 − p_i), without the rounding of 1 − p_i."""
    return np.asarray(log_prob[:, i] - logsumexp(np.delete(log_prob, i, axis=1), axis=1))


def _measure(logit: Floats, occurred: Any, rng: np.random.Generator) -> dict[str, Any]:
    shared: dict[str, Any] = {"generator": list(GENERATORS), "from_logits": True}
    paper = decompose(occurred, logit, method="risk", bandwidth=BANDWIDTH, **shared)
    ours = decompose(occurred, logit, **shared)
    lower, upper = zip(*(each.interval("calibration_error", 0.95) for each in ours), strict=True)
    prob = expit(logit)
    bins = bin_means(prob, occurred)
    null = [_binned(bin_means(prob, rng.random(prob.shape) < prob)) for _ in range(N_RESAMPLES)]
    return {
        "estimate": [
            [each.calibration_error for each in pair] for pair in zip(paper, ours, strict=True)
        ],
        "standard_error": [each.standard_errors["calibration_error"] for each in ours],
        "lower": lower,
        "upper": upper,
        "loss": [each.risk for each in ours],
        "binned": _binned(bins),
        "binned_null": float(np.mean(null)),
        **dict(zip(("count", "prediction", "frequency"), bins, strict=True)),
    }


def _binned(bins: Floats) -> float:
    """Return the binned CE_1: the mean over rows of |frequency − mean prediction| of their bin."""
    count, prediction, frequency = bins
    return float(count @ np.abs(frequency - prediction) / count.sum())


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
    estimates = {
        f"{symbol(generator)} {method}": at["estimate"].values
        for (generator, method), at in selections(of, "generator", "method")
    }
    loss = of["loss"].sel(generator="log").values
    return {**estimates, "CE_1 binned": of["binned"].values, "log loss": loss}


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
    values = ("\n".join(_values(of, named(m))) for (m,), of in selections(summary, "model"))
    return "\n" + "\n\n".join([_PREAMBLE, *values, "\n".join(_agreements(summary))])


def _values(of: xr.Dataset, name: str) -> Iterator[str]:
    classes = of["class"].values.tolist()
    yield f"{name:40}" + "".join(f" {f'class {i}':>17}" for i in classes)
    found = columns(of)
    for title in (*PAPER, *OURS):
        scale = 100 if "KL" in title else 1000
        ranks = rankdata(found[title], method="min")
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
    models = [named(model) for model in summary["model"].values.tolist()]
    yield (
        "Claim: the three rankings are similar. Kendall's τ (Spearman's ρ) of the classes, "
        f"*: τ > 0 at the {100 * LEVEL:.0f} % level"
    )
    width = max(14, *map(len, models))
    yield f"{'':34}" + "".join(f" {model:>{width}}" for model in models)
    counts = {}
    for heading, pairs in PAIRS.items():
        yield f"{heading}:"
        found = []
        for one, other in pairs:
            row = [agreement(of, one, other) for _, of in selections(summary, "model")]
            cells = (f"{a.kendall:.2f} ({a.spearman:.2f}){'*' if a.shown else ' '}" for a in row)
            yield f"  {f'{one}, {other}':32}" + "".join(f" {cell:>{width}}" for cell in cells)
            found += row
        counts[heading] = sum(a.shown for a in found), len(found)
    for generator in GENERATORS:
        apart = [told_apart(of, generator) for _, of in selections(summary, "model")]
        title, text = symbol(generator), ", ".join(f"{a} of {n}" for a, n in apart)
        yield f"Pairs of classes that debiased {title} tells apart at 5 %, by model: {text}"
    for heading, (shown, n) in counts.items():
        said = "holds" if shown == n else "not shown" if shown == 0 else "shown in part"
        yield f"  agreement {heading}: {shown} of {n}   {said}"


def _similar(summary: xr.Dataset) -> tuple[str, str]:
    models = [of for _, of in selections(summary, "model")]
    agree = [agreement(of, *pair).kendall for of in models for pair in PAIRS["the paper's three"]]
    apart = np.sum([told_apart(of, "brier") for of in models], axis=0)
    found = (
        f"Kendall's τ of the paper's three from {min(agree):.2f} to {max(agree):.2f} over "
        f"networks. The debiased squared L2 error tells {apart[0]} of {apart[1]} pairs of classes "
        "apart"
    )
    return found, "holds" if min(agree) > 0.8 else "holds in part"


#: Panels of reliability diagrams in a row.
_COLUMNS = 3


def figures(summary: xr.Dataset) -> dict[str, Callable[[], Figure]]:
    """Return the values of all models, and the diagrams of each."""
    found: dict[str, Callable[[], Figure]] = {"classes": partial(_classes, summary)}
    for (model,), of in selections(summary, "model"):
        found[f"reliability-{short(model)}"] = partial(_reliability, of, named(model))
    return found


def _classes(summary: xr.Dataset) -> Figure:
    """Calibration errors by class, and the binned one, of each model below each other."""
    n = summary.sizes["model"]
    title = "Calibration error of each class against the rest"
    figure, axes = panels(3 * n, 1, (WIDTH, 1.4 + 3.9 * n), title, sharex=True)
    x = summary["class"].values
    for row, ((model,), of) in zip(axes.reshape(n, 3), selections(summary, "model"), strict=True):
        for axis, ((generator,), at) in zip(row, selections(of, "generator"), strict=False):
            paper, ours = (
                100 * at["estimate"].sel({"method": m}).values for m in ("risk", "debiased")
            )
            axis.plot(x - 0.15, paper, **points("risk", 1), label="risk, γ = 0.02")
            low, high = 100 * at["lower"].values, 100 * at["upper"].values
            axis.vlines(x + 0.15, low, high, style("debiased")["color"], linewidth=1.2)
            axis.plot(x + 0.15, ours, **points("debiased"), label="debiased, 95 % interval")
            axis.set_ylabel(f"{symbol(generator)} × 100\n({unit(generator)})")
        axis = row[2]
        axis.plot(x - 0.15, 100 * of["binned"], **points("binned", 1), label="binned")
        null = 100 * of["binned_null"]
        axis.plot(x + 0.15, null, "_", color="black", label="the same if calibrated", markersize=8)
        axis.set_ylabel("CE_1 × 100")
        row[0].set_title(named(model))
        for axis in row:
            axis.axhline(0, color="black", linewidth=0.8)
            axis.grid(axis="y", color="0.92", linewidth=0.6)
            axis.set_axisbelow(True)
            axis.set_xticks(x)
    for axis in axes[-1]:
        axis.set_xlabel("class")
    legend(figure, axes)
    return figure


def _reliability(of: xr.Dataset, name: str) -> Figure:
    """A reliability diagram for each class."""
    classes = of["class"].values.tolist()
    n_rows = -(-len(classes) // _COLUMNS)
    size, title = (WIDTH, 1.1 + 2.0 * n_rows), f"{name}: each class against the rest"
    figure, axes = panels(n_rows, _COLUMNS, size, title, sharex=True, sharey=True)
    for axis in axes.flat[len(classes) :]:
        axis.set_axis_off()
    handles: list[Any] = []
    for axis, i in zip(axes.flat, classes, strict=False):
        prediction, occurred = _rows(of.sel({"class": i}))
        bins = of.sizes["bin"]
        reliability_diagram(occurred, prediction, event=1, curve="equal-bins", n_bins=bins, ax=axis)
        own = axis.get_legend()
        handles = own.legend_handles
        texts = [text.get_text() for text in own.get_texts()]
        own.remove()
        axis.set(title=f"class {i}", xlabel="", ylabel="", xticks=[0, 0.5, 1], yticks=[0, 0.5, 1])
    # A label of the whole figure would lie under the legend.
    axes[(len(classes) - 1) // _COLUMNS, 0].set_xlabel("predicted probability")
    figure.supylabel("frequency of the class", fontsize=9)
    figure.legend(handles, texts, loc="outside lower center", ncols=1, frameon=False)
    return figure


def _rows(of: xr.Dataset) -> tuple[Floats, Any]:
    """Return rows that have the counts, mean predictions and frequencies of the bins."""
    count = of["count"].values.astype(int)
    hits = np.rint(of["count"].values * of["frequency"].values).astype(int)
    prediction = np.repeat(of["prediction"].values, count)
    occurred = np.concatenate([np.arange(n) < h for n, h in zip(count, hits, strict=True)])
    return prediction, occurred.astype(int)


_BY_LOSS, _BY_BIN = ("generator",), ("bin",)
_MEASURED: dict[str, tuple[tuple[str, ...], str]] = {
    "estimate": (("generator", "method"), "calibration error of the class against the rest"),
    "standard_error": (_BY_LOSS, "standard error of the debiased one"),
    "lower": (_BY_LOSS, "lower end of the debiased one's 95 % interval"),
    "upper": (_BY_LOSS, "upper end of the debiased one's 95 % interval"),
    "loss": (_BY_LOSS, "mean loss of the class against the rest"),
    "binned": ((), f"binned CE_1, {N_BINS} bins of equal width"),
    "binned_null": ((), "mean of the binned CE_1 of labels drawn from the predictions"),
    "count": (_BY_BIN, "rows in the bin"),
    "prediction": (_BY_BIN, "mean prediction in the bin"),
    "frequency": (_BY_BIN, "frequency of the class in the bin"),
}
_NETWORKS = tuple(NETWORKS[name] for name in ("resnet-110", "resnet-164", "wideresnet"))
STUDY = Study(
    name="classwise_ranking",
    about=__doc__ or "",
    presets={
        "tiny": (Design(models=DIGITS[1:2]), "one model of scikit-learn's digits, seconds"),
        "quick": (Design(models=DIGITS[:2]), "two of them, under a minute"),
        "full": (Design(models=_NETWORKS), "networks on CIFAR-10, two minutes of one processor"),
    },
    outputs=[
        output(name, ("model", "class", *inner), long_name)
        for name, (inner, long_name) in _MEASURED.items()
    ],
    measure=measure,
    levels={"generator": GENERATORS, "method": METHODS, "bin": range(N_BINS)},
    read=read,
    data=DATA,
    table=table,
    claims=(
        Claim(
            "Rankings of the classes by three calibration errors are similar",
            _similar,
            "appendix, class-wise calibration",
        ),
    ),
    figures=figures,
    source="appendix",
    reads="predictions",
    shown="classes",
)

if __name__ == "__main__":
    sys.exit(main(STUDY))
