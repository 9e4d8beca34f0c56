"""Estimates from a few predictions of a network, against those from its whole test set.

How near are they? The paper's appendix, "Convergence of bias": class-wise calibration error, bias
and relative bias on random subsets of a test set, at bandwidth 0.02, here by the estimates via the
risk and direct, and debiased. The reference of each is its own value on the whole set, as in the
paper: that is no known truth, and the references differ.
"""

from __future__ import annotations

import studies.interrupts  # noqa: F401 (for what it does)

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import xarray as xr

from propercal import decompose
from propercal._data.words.messages import bad_value
from propercal.experiments import (
    Cell,
    Claim,
    Study,
    beyond_chance,
    factor,
    main,
    mean_and_error,
    selections,
)
from propercal.experiments.figures import legend, panels
from propercal.experiments.statistics import share_inside
from propercal.plotting import convergence
from studies.data import BANDWIDTH, DIGITS, NETWORKS, ModelFactors, named, output, short, whole_set
from studies.losses import LOSSES_HELP, loss, symbol, unit
from studies.paths import DATA
from studies.styles import WIDTH, restyle, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

METHODS = ("risk", "direct", "debiased")
#: "A (couple of) hundred points": the claim is looked at from this size on.
COUPLE_OF_HUNDRED = 200
#: "Closely": a mean within this share of the value of the whole set.
CLOSE = 0.1


@dataclass(frozen=True)
class Design(ModelFactors):
    """Models × subset sizes × replicates, and the whole set of each model."""

    sample_sizes: Sequence[int] = factor((100, 200, 500), between="sample_size", least=50)
    n_replicates: int = factor(
        20, between="replicate", least=2, metavar="R", help="subsets of each size"
    )
    generators: Sequence[str] = factor(("log", "brier"), within="generator", help=LOSSES_HELP)

    def cells(self) -> Sequence[Cell]:
        """Return the whole sets, which have no size, and the subsets."""
        return [*(Cell(model=model) for model in self.models), *super().cells()]

    def cost(self, cell: Cell) -> float:
        return 2 + (10_000 if is_whole(cell) else cell.sample_size) / 500


def is_whole(cell: Cell) -> bool:
    """Say whether a cell is a whole test set."""
    return "sample_size" not in cell.names


def read(design: Design, data: Path) -> Design:
    """Return the design that names what its files hold; subsets must be smaller than the sets."""
    for model in design.models:
        n = len(whole_set(model, design.seed, data)[1])
        if max(design.sample_sizes) >= n:
            found, expected = repr(design.sample_sizes), f"less than {n}, for {model}"
            raise bad_value("sample_sizes", found, expected, "leave it out")
    return design.read(data)


def measure(
    design: Design, cell: Cell, seed: np.random.SeedSequence, *, data: Path
) -> dict[str, Any]:
    """Measure every estimate on a subset, or on the whole set."""
    log_prob, labels = whole_set(cell.model, design.seed, data)
    whole = is_whole(cell)
    if not whole:
        rows = np.random.default_rng(seed).choice(len(labels), cell.sample_size, replace=False)
        log_prob, labels = log_prob[rows], labels[rows]
    estimate: Callable[..., Any] = partial(
        decompose,
        labels,
        log_prob,
        generator=list(design.generators),
        notion="classwise",
        from_logits=True,
    )
    with warnings.catch_warnings():
        # Of shares of the kernel, which are part of what is measured.
        warnings.simplefilter("ignore", UserWarning)
        found = [estimate(method=method, bandwidth=BANDWIDTH) for method in METHODS[:2]]
        found.append(estimate())
    values = [[each.calibration_error for each in same] for same in zip(*found, strict=True)]
    lower, upper = zip(*(x.interval("calibration_error", 0.95) for x in found[-1]), strict=True)
    if whole:
        ends = {"reference_lower": lower, "reference_upper": upper}
        return {"reference": values, **ends, "n_rows": len(labels)}
    return {"estimate": values, "lower": lower, "upper": upper}


_PREAMBLE = """Class-wise calibration error × 100 of the whole test set (debiased: [95 % interval]),
and of subsets of it, relative to that of the whole set by the same estimate: relative bias in %,
mean ± standard error. The whole set's value is an estimate, not the truth, and subsets of a large
part of the set share most of its rows."""
_WIDTH = 37


class Closeness(NamedTuple):
    """Whether subsets agree with the whole set, by one estimate."""

    generator: str
    method: str
    close: int
    """models whose mean is within CLOSE at every size of the claim"""
    off: int
    """models whose mean is outside beyond chance at some size"""
    undecided: int

    @property
    def said(self) -> str:
        if self.off and self.close:
            return "holds in part"
        if self.off and self.undecided:
            of = self.off + self.undecided
            return f"fails on {self.off} of {of}, undecided on {self.undecided}"
        if self.off:
            return "fails"
        return "holds" if not self.undecided else "not shown for all"

    def __str__(self) -> str:
        return f"{self.close}:{self.off}:{self.undecided}"


def relative_bias(summary: xr.Dataset) -> xr.DataArray:
    """Return (estimate − reference) / reference."""
    return summary["estimate"] / summary["reference"] - 1


def closeness(summary: xr.Dataset) -> list[Closeness]:
    """Judge the claim for each generator and method, over models."""
    large = summary["sample_size"] >= COUPLE_OF_HUNDRED
    relative = relative_bias(summary).where(large, drop=True)
    mean = relative.mean("replicate")
    near = abs(mean) <= CLOSE
    beyond = beyond_chance(relative - CLOSE * np.sign(mean), "replicate") & ~near
    judged = xr.Dataset({"near": near, "beyond": beyond})
    found = []
    for (generator, method), of in selections(judged, "generator", "method"):
        close, off = of["near"].all("sample_size"), of["beyond"].any("sample_size")
        counts = int(close.sum()), int(off.sum())
        found.append(Closeness(generator, method, *counts, close.size - sum(counts)))
    return found


def outside(summary: xr.Dataset, generator: str, method: str) -> tuple[int, int]:
    """Count the models whose whole-set value is outside the debiased one's interval, and all."""
    of = summary.sel(generator=generator)
    reference = of["reference"].sel({"method": method})
    share, count = share_inside(of["reference_lower"], of["reference_upper"], reference)
    return round(((1 - share) * count).item()) if count else 0, count.item()


def coverage(of: xr.Dataset) -> float:
    """Return the share of subsets whose debiased interval holds the debiased whole-set value."""
    reference = of["reference"].sel({"method": "debiased"})
    share, _ = share_inside(of["lower"], of["upper"], reference)
    return float(share)


def table(summary: xr.Dataset) -> str:
    """Return references, relative biases and the verdict."""
    return "\n".join(["", _PREAMBLE, *_biases(summary), "", *_verdict(summary)])


def _biases(summary: xr.Dataset) -> Iterator[str]:
    heads = "".join(f" {f'n = {n}':>11}" for n in summary["sample_size"].values)
    mean, error = mean_and_error(100 * relative_bias(summary), "replicate")
    summary = summary.assign(mean=mean, error=error)
    for (generator,), of in selections(summary, "generator"):
        title = f"{symbol(generator)}, class-wise"
        yield f"\n{title:{_WIDTH}} {'method':9} {'whole set':>22}{heads}"
        for (model, method), at in selections(of, "model", "method"):
            whole = f"{100 * at['reference'].item():.3f}"
            if method == "debiased":
                ends = (100 * at[f"reference_{end}"].item() for end in ("lower", "upper"))
                whole += " [{:.3f}, {:.3f}]".format(*ends)
            pairs = zip(at["mean"].values, at["error"].values, strict=True)
            cells = "".join(f" {f'{m:.0f} ± {e:.0f}':>11}" for m, e in pairs)
            yield f"{named(model):{_WIDTH}} {method:9} {whole:>22}{cells}"


def _verdict(summary: xr.Dataset) -> Iterator[str]:
    yield (
        "Claim: estimates closely align with the ground truth (the whole set), even with a couple "
        f"of hundred points.\nModels whose mean is within {100 * CLOSE:.0f} % at every n ≥ "
        f"{COUPLE_OF_HUNDRED} : beyond it at some n, by more than chance (5 %) : undecided."
    )
    for each in closeness(summary):
        yield f"  {f'{symbol(each.generator)}, {each.method}':18} {each!s:>8}   {each.said}"
    yield "Is the value of the whole set the truth? Against the debiased estimate's 95 % interval:"
    for (generator,), of in selections(summary, "generator"):
        reference = of["reference"]
        for method in METHODS[:2]:
            ratio = reference.sel({"method": method}) / reference.sel({"method": "debiased"})
            n_outside, n = outside(summary, generator, method)
            yield (
                f"  {symbol(generator)}, {method}: outside for {n_outside} of {n} models "
                f"(ratios to the debiased value: {', '.join(f'{r:.2g}' for r in ratio.values)})"
            )
        yield (
            f"  {symbol(generator)}: intervals of subsets hold the debiased value "
            f"of the whole set in {100 * coverage(of):.0f} % of cases"
        )


def _suffice(summary: xr.Dataset) -> tuple[str, str]:
    close = [each for each in closeness(summary) if each.method in ("risk", "debiased")]
    names = summary["generator"].values.tolist()
    n = summary.sizes["model"]
    lines = [
        f"{loss(x.generator).score}, {x.method}: of {n} networks, {x.close or 'none'} within, "
        f"{x.off or 'none'} beyond it at some size by more than chance"
        for x in close
    ]
    missed = " and ".join(
        f"{outside(summary, name, 'risk')[0]} ({loss(name).score})" for name in names
    )
    lines.append(
        "the value of the whole set via the risk is outside the debiased estimate's 95 % interval "
        f"on {missed} of {n} networks"
    )
    head = (
        f"Means of subsets within {100 * CLOSE:.0f} % of the whole set's value, at every size "
        f"from {COUPLE_OF_HUNDRED} rows on:"
    )
    verdicts = dict.fromkeys(each.said for each in close)
    if len(verdicts) == 1:
        return "\n".join([head, *lines]), close[0].said
    said = "; ".join(f"{loss(each.generator).score}, {each.method}: {each.said}" for each in close)
    return "\n".join([head, *lines]), said


def figures(summary: xr.Dataset) -> dict[str, Callable[[], Figure]]:
    """Return the biases of each model."""
    return {
        f"bias-{short(model)}": partial(_biases_of, of, named(model))
        for (model,), of in selections(summary, "model")
    }


def _biases_of(summary: xr.Dataset, model: str) -> Figure:
    """Estimate, bias and relative bias below each other, a column for each generator."""
    n_columns = summary.sizes["generator"]
    title = (
        f"{model}: subsets of the test set against all {summary['n_rows'].item():.0f} rows by the "
        f"same estimate (risk, direct: γ = {BANDWIDTH:g})"
    )
    figure, axes = panels(3, n_columns, (WIDTH, 7.6), title, sharex=True)
    shown = {
        "estimate × 100": 100 * summary["estimate"],
        "bias × 100": 100 * (summary["estimate"] - summary["reference"]),
        "relative bias (%)": 100 * relative_bias(summary),
    }
    shown_of = selections(summary, "generator")
    for column, ((generator,), of) in zip(axes.T, shown_of, strict=True):
        for axis, (name, values) in zip(column, shown.items(), strict=True):
            value = values.sel(generator=generator).to_dataset(name="value")
            convergence(value, estimate="value", ax=axis)
            restyle(axis)
            axis.get_legend().remove()
            axis.set(xlabel="", ylabel="", title=f"{symbol(generator)}, {name}")
        column[0].set_ylabel(f"{unit(generator)} × 100")
        for axis in column[1:]:
            axis.axhline(0, color="black", linewidth=0.8)
        for (method,), at in selections(100 * of[["reference"]], "method"):
            colour, level = style(method)["color"], at["reference"].item()
            column[0].axhline(level, color=colour, linestyle="--", linewidth=1.0)
    axes[0, 0].plot([], [], color="0.3", linestyle="--", linewidth=1.0, label="whole test set")
    for axis in axes[-1]:
        axis.set_xlabel("sample size n")
    legend(figure, axes)
    return figure


_ENDS = ("model", "generator")
_SUBSET = ("sample_size", "replicate")
_NETWORKS = tuple(NETWORKS[x] for x in ("resnet-110", "densenet", "resnet-164", "wideresnet"))
TINY = Design(models=DIGITS[1:2], sample_sizes=(200,), n_replicates=2)
QUICK = Design(models=DIGITS[:2], sample_sizes=(100, 200, 400), n_replicates=4)
FULL = Design(models=_NETWORKS, sample_sizes=(100, 200, 500, 1000, 2000), n_replicates=5)
STUDY = Study(
    name="bias_on_networks",
    about=__doc__ or "",
    presets={
        "tiny": (TINY, "one model of scikit-learn's digits, seconds"),
        "quick": (QUICK, "two models of scikit-learn's digits, a minute or two"),
        "full": (FULL, "networks on CIFAR-10, about ten minutes of processor time"),
    },
    outputs=[
        output(name, dims, long_name)
        for name, dims, long_name in (
            ("estimate", (*_ENDS, "method", *_SUBSET), "class-wise calibration error of a subset"),
            ("lower", (*_ENDS, *_SUBSET), "lower end of the debiased estimate's 95 % interval"),
            ("upper", (*_ENDS, *_SUBSET), "upper end of the debiased estimate's 95 % interval"),
            ("reference", (*_ENDS, "method"), "the same estimate of the whole test set"),
            ("reference_lower", _ENDS, "lower end of the debiased one's 95 % interval"),
            ("reference_upper", _ENDS, "upper end of the debiased one's 95 % interval"),
            ("n_rows", ("model",), "rows of the whole test set"),
        )
    ],
    measure=measure,
    levels={"method": METHODS},
    read=read,
    data=DATA,
    table=table,
    claims=(
        Claim(
            "A couple of hundred points suffice to be close to the whole test set",
            _suffice,
            "appendix, convergence of bias",
        ),
    ),
    figures=figures,
    source="appendix",
    reads="predictions",
    shown="bias-kull_resnet110",
)

if __name__ == "__main__":
    sys.exit(main(STUDY))
