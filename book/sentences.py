"""What the READMEs say that the kept datasets show: python -m book.sentences.

Each block of studies/README.md stands between two comments, and README.md has sentences with numbers
in them. A test compares both with what these functions make of the datasets. The command writes them
anew, after a dataset was replaced.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from book import trained_sentences as trained
from book.answers import (
    median_biases,
    minus,
    shares_covered,
    spread,
    times_of_default,
    warned_where_missed,
)
from book.datasets import kept
from book.filling import filled
from book.network_sentences import bias_on_networks, classwise_ranking, posthoc_calibration
from propercal.experiments import selections
from studies import direct_vs_risk, kernel_comparison, missed_shapes, simulated
from studies.data import notion_name

if TYPE_CHECKING:
    import xarray as xr

README = Path(__file__).resolve().parents[1] / "README.md"
STUDIES = README.parent / "studies" / "README.md"
_BLOCK = re.compile(r"(<!-- from (\w+)\.nc -->\n)(.*?)(<!-- end -->)", re.DOTALL)
_WIDTH = 120
#: A space at which no line ends.
_TIED = "\N{NO-BREAK SPACE}"


def bullets(items: Iterable[str]) -> str:
    """Return items of a list, no line wider than a screen."""
    wrapped = (
        textwrap.fill(
            re.sub(r" (?=[%±=])|(?<=[±=γn]) ", _TIED, item),
            _WIDTH,
            initial_indent="* ",
            subsequent_indent="  ",
            break_on_hyphens=False,
            break_long_words=False,
        )
        for item in items
    )
    return "\n".join(wrapped).replace(_TIED, " ")


def _power(value: float) -> str:
    """Return a number of samples in words of tens."""
    exponent = int(np.floor(np.log10(value)))
    digits = str(exponent).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{value / 10**exponent:.0f} · 10{digits}"


def _bias_rate(of: xr.Dataset) -> str:
    seen = of["slope"].where(of["slope_points"] >= 3)
    one, ten = seen.sel(notion="classwise"), of.sel(n_classes=10, notion="canonical")
    medians = ", ".join(spread(at, 2) for at in one.median(["generator", "method", "bandwidth"]))
    five = seen.sel(notion="canonical", n_classes=5)
    needed = [_power(x) for x in np.unique(ten["asymptotic_sample_size"])]
    last = of.isel(sample_size=-1).sel(notion="classwise")["relative_bias"]
    floor = (100 * (of["limit"] / of["truth"] - 1)).sel(notion="classwise", bandwidth=0.02)

    def off(method: str, bandwidth: float) -> str:
        return spread(last.sel({"method": method, "bandwidth": bandwidth}))

    times = ten.isel(sample_size=-1)["relative_bias"] / 100
    return bullets(
        [
            (
                f"Class-wise, the rate is there: {int(one.notnull().sum())} of {one.size} slopes against "
                f"the limit can be fitted, and lie between {spread(one, 2).replace('to', 'and')} "
                f"(medians {medians} for 2, 5 and 10 classes). For the canonical notion with 5 classes "
                f"{int(five.notnull().sum())} of {five.size} can be fitted ({spread(five, 2)}). With 10 "
                f"classes none can: the sample would have to be larger than {needed[0]} to {needed[-1]}, "
                "depending on the bandwidth."
            ),
            (
                f"Against the truth, class-wise at {of['sample_size'].values[-1]} samples: the estimate "
                f"via the risk is off by {off('risk', 0.02)} % at γ = 0.02 and by {off('risk', 0.001)} % "
                f"at γ = 0.001, the direct one by {off('direct', 0.02)} % and by "
                f"{off('direct', 0.001)} %. With endless data the one via the risk would still be off "
                f"by {spread(floor.sel({'method': 'risk'}))} % at γ = 0.02."
            ),
            (
                f"Canonical with 10 classes at the same number of samples, either loss and method: the "
                f"bias is {spread(times.sel(bandwidth=0.02))} times the truth at γ = 0.02, and "
                f"{spread(times.sel(bandwidth=[0.005, 0.001]))} times at γ ≤ 0.005."
            ),
        ]
    )


def _kernel_comparison(of: xr.Dataset) -> str:
    def total(generator: str, method: str, kernel: str = "") -> simulated.Contest:
        found = kernel_comparison.contests(of, generator, method)
        return simulated.sum_of(each for (one, _), each in found.items() if kernel in one)

    def off(estimator: str) -> str:
        at = of.sel(notion="classwise", generator="log", estimator=estimator, sample_size=10_000)
        bias = 100 * (at["calibration_error"].mean("replicate") / at["truth"] - 1)
        return ", ".join(f"{abs(x):.0f} %" for x in bias.values)

    direct, risk, wide = (
        total("log", "direct"),
        total("log", "risk"),
        total("log", "direct", "0.02"),
    )
    brier = [total("brier", method) for method in ("risk", "direct")]
    return bullets(
        [
            (
                '"The Dirichlet kernel has better empirical performance": for KL and the direct estimate, '
                f"mostly. The kernel is nearer in {direct.wins} comparisons, bins are in {direct.losses}, "
                f"and {direct.undecided} are undecided; at γ = 0.02 it is {wide.wins} against "
                f"{wide.losses}. Via the risk, bins are nearer in {risk.losses} and the kernel in "
                f"{risk.wins}. For L2, bins are nearer in {brier[0].losses} against {brier[0].wins} via "
                f"the risk, and the kernel in {brier[1].wins} against {brier[1].losses} directly."
            ),
            (
                "It depends on the bandwidth more than on the kernel. At γ = 0.02 the estimate via the "
                f"risk stops {off('risk, γ = 0.02')} above the truth (KL; 2, 5, 10 classes; n = 10 000), "
                f"and with 15 bins of equal width {off('risk, equal-width bins')} below it."
            ),
            *_debiased_against_published(of),
        ]
    )


def _debiased_against_published(of: xr.Dataset) -> list[str]:
    names = [n for n in of["estimator"].values.tolist() if n != simulated.DEBIASED]
    found = {
        (notion, name): simulated.contest(at, simulated.DEBIASED, name)
        for (notion,), at in selections(of, "notion")
        for name in names
    }
    cells = sum(next(iter(found.values())))
    lost = [(*key, each.losses) for key, each in found.items() if each.losses]
    where = "; ".join(f"{name}, {notion_name(notion)}, in {n}" for notion, name, n in lost)
    farther = f"It is farther from the truth only than one of them ({where}). " if lost else ""
    return [
        f"The debiased estimate is nearer to the truth than each of the {len(names)} published ones "
        f"in {spread([each.wins for each in found.values()])} of {cells} cells. {farther}"
        + simulated.coverage(of).replace(
            "95 % intervals of the debiased estimate", "Its 95 % intervals"
        )
    ]


def _direct_vs_risk(of: xr.Dataset) -> str:
    found = direct_vs_risk.contests(of)

    def total(generator: str, notion: str) -> simulated.Contest:
        return simulated.sum_of(x for key, x in found.items() if key[:2] == (generator, notion))

    one = [total(generator, "classwise") for generator in ("log", "brier")]
    whole = [total(generator, "canonical") for generator in ("log", "brier")]
    lost = sum(each.losses for each in one)
    return bullets(
        [
            (
                f'"The direct estimate performs even better": yes, class-wise. It is nearer to the truth '
                f"in {one[0].wins} of {sum(one[0])} cells for KL and in {one[1].wins} of {sum(one[1])} "
                f"for L2, and farther in {lost or 'none'}."
            ),
            (
                f"For the canonical notion it is nearer in {whole[0].wins} cells and farther in "
                f"{whole[0].losses} for KL; for L2, nearer in {whole[1].wins} and farther in "
                f"{whole[1].losses}."
            ),
            *_debiased_against_published(of),
        ]
    )


def _debiasing(of: xr.Dataset) -> str:
    found = median_biases(of)
    counts = of["n_replicates"].max(["scenario", "n_classes"]).values
    n = of["sample_size"].values
    pairs = ", ".join(f"{c} at n = {size}" for c, size in zip(counts, n, strict=True))
    rivals = ", ".join(f"{x:.0f} % ({name})" for name, x in found.items() if name != "debiased")
    return bullets(
        [
            (
                f"Over the miscalibrated cells with n ≥ 1000 (log loss and Brier score), the median of the "
                f"relative bias without its sign is {found['debiased']:.1f} % for the debiased estimate. "
                f"On the same cells it is {rivals}."
            ),
            (
                f"Each cell has {counts[0]} data sets."
                if len({*counts.tolist()}) == 1
                else f"Data sets of each cell: {pairs}."
            ),
        ]
    )


def _missed_shapes(of: xr.Dataset) -> str:
    sizes = of["sample_size"].values.tolist()
    heads = [f"{name}, n = {n}" for name in ("log", "Brier") for n in sizes]
    lines = [["shape", "classes", *heads], ["---"] * (2 + len(heads))]
    for (shape,), at in selections(of, "shape"):
        cells = [
            f"{one['relative_bias'].item():+.0f} ± {one['relative_bias_se'].item():.0f} "
            f"({100 * one['coverage'].item():.0f})"
            for _, one in selections(at, "generator", "sample_size")
        ]
        lines.append([shape.rstrip("-0123456789"), str(at["n_classes"].item()), *cells])
    where = missed_shapes.missed(of)
    cover = 100 * of["coverage"]
    high = of["relative_bias"] > missed_shapes.TOLERANCE
    rest = of["warned"].sel(warning="misfit").where(~where)
    said = bullets(
        [
            (
                f"More than {missed_shapes.TOLERANCE} % is missed beyond chance in {int(where.sum())} of "
                f"{where.size} cells; in {int(high.sum()) or 'none'} the mean is as much too high. Where it is "
                f"missed, intervals hold the truth in {spread(cover.where(where))} % of the data sets, "
                f"elsewhere in {spread(cover.where(~where))} %."
            ),
            (
                f"A misfit is warned of in {warned_where_missed(of)} of the results that miss, and in "
                f"{100 * rest.mean().item():.0f} % of the others: no warning is no evidence."
            ),
        ]
    )
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + f"\n\n{said}"


BLOCKS: dict[str, Callable[[xr.Dataset], str]] = {
    "bias_rate": _bias_rate,
    "kernel_comparison": _kernel_comparison,
    "direct_vs_risk": _direct_vs_risk,
    "debiasing": _debiasing,
    "missed_shapes": _missed_shapes,
    "bias_on_networks": lambda of: bullets(bias_on_networks(of)),
    "posthoc_calibration": lambda of: posthoc_calibration(of, bullets),
    "classwise_ranking": lambda of: bullets(classwise_ranking(of)),
    "information_monotonicity": lambda of: trained.information_monotonicity(of, bullets),
    "training_monitor": lambda of: trained.training_monitor(of, bullets),
    "model_selection": lambda of: trained.model_selection(of, bullets),
}


@cache
def block(name: str) -> str:
    """Return what a kept dataset has to say."""
    return minus(BLOCKS[name](kept(name))) + "\n"


def written(text: str) -> str:
    """Return a text whose blocks are those of the kept datasets."""
    return _BLOCK.sub(lambda found: f"{found[1]}{block(found[2])}{found[4]}", text)


# Sentences of README.md, as patterns, and the numbers that belong there.
def medians_of_readme() -> tuple[str, tuple[str, ...]]:
    """Return the sentence on the bias of the published estimates."""
    found = median_biases(kept("debiasing"))
    numbers = f"{found['direct']:.0f}", f"{found['risk']:.0f}", f"{found['debiased']:.1f}"
    pattern = (
        r"median relative bias is (\S+) % and (\S+) % where the default's is (\S+) %, and its "
        r"intervals hold the truth in (\S+), (\S+) and (\S+) % of simulated samples"
    )
    return pattern, (*numbers, *shares_covered(kept("debiasing")))


def times_of_readme() -> tuple[str, tuple[str, ...]]:
    """Return the sentence on the speed of the default."""
    pattern = (
        r"10⁶ rows × 10 classes class by class in (\S+) s, 10⁵ first choices in (\S+) s, "
        r"10⁴ × 10 canonical in (\S+) s"
    )
    return pattern, times_of_default(kept("benchmark"))


def shapes_of_readme() -> tuple[str, tuple[str, ...]]:
    """Return the sentence on narrow shapes."""
    pattern = (
        r"a bump \((\S+) % of the log-loss calibration error at n = 1000, (\S+) % at 5000\), an "
        r"oscillation \((\S+) %, (\S+) %\) or steps in the confidence \((\S+) %, (\S+) %\)"
    )
    return pattern, _relative_biases("log", "bump", "oscillation", "steps")


def hierarchies_of_readme() -> tuple[str, tuple[str, ...]]:
    """Return the sentence on hierarchies of classes."""
    pattern = (
        r"30 classes: (\S+) % of the log-loss calibration error at n = 1000, (\S+) % at 5000, where "
        r"95 % intervals hold the truth in (\S+) % and (\S+) % of samples; of 10 classes (\S+) % and "
        r"(\S+) %"
    )
    cover = kept("missed_shapes")["coverage"].sel(shape="hierarchy-30", generator="log")
    held = tuple(f"{100 * value:.0f}" for value in cover.values)
    many, few = (_relative_biases("log", f"hierarchy-{k}") for k in (30, 10))
    return pattern, (*many, *held, *few)


def runner_up_of_readme() -> tuple[str, tuple[str, ...]]:
    """Return the sentence on runners-up."""
    pattern = r"depends on the next two: (\S+) % of the Brier calibration error at n = 1000, (\S+) % at 5000"
    return pattern, _relative_biases("brier", "runner-up")


def warnings_of_readme() -> tuple[str, tuple[str, ...]]:
    """Return the sentence on the warning of a misfit."""
    said = warned_where_missed(kept("missed_shapes"))
    return r"but it comes in (.*?) of such results", (said,)


def _relative_biases(generator: str, *shapes: str) -> tuple[str, ...]:
    """Return the relative biases of each shape by sample size."""
    bias = kept("missed_shapes")["relative_bias"].sel(generator=generator, shape=list(shapes))
    values = bias.transpose("shape", "sample_size").values.ravel()
    return tuple(minus(f"{value:+.0f}") for value in values)


SENTENCES: tuple[Callable[[], tuple[str, tuple[str, ...]]], ...] = (
    medians_of_readme,
    times_of_readme,
    shapes_of_readme,
    hierarchies_of_readme,
    runner_up_of_readme,
    warnings_of_readme,
)


def numbered(text: str) -> str:
    """Return README.md with the numbers of the kept datasets in its sentences."""
    for sentence in SENTENCES:
        pattern, numbers = sentence()
        text = filled("README.md", text, pattern.replace(" ", r"\s+"), numbers)
    return text


def main() -> None:
    for path, write in ((STUDIES, written), (README, numbered)):
        path.write_text(write(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
