"""Tables of the pages on results: numbers of a kept dataset, no wider than a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from book.answers import median_biases, minus, miscalibrated, spread
from book.pages import table
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
from studies.data import named, notion_name
from studies.debiasing_summary import CALIBRATED, MET, NOT_ASKED, UNCERTAIN
from studies.losses import loss, symbol
from studies.training import number

if TYPE_CHECKING:
    import xarray as xr
    from IPython.display import Markdown


def percent(mean: float, error: float) -> str:
    """Return a relative bias and its standard error."""
    return minus(f"{mean:+.0f} ± {error:.0f}")


def slopes(of: xr.Dataset) -> Markdown:
    """Show where a rate can be seen, which it is, and the bias at the largest sample."""
    rows = []
    seen = once(of["slope"].where(of["slope_points"] >= 3))
    last = of.isel(sample_size=-1)
    for (notion, k), at in selections(of.assign(seen=seen), "notion", "n_classes"):
        found = at["seen"].values
        cells = int(np.isfinite(found).sum())
        here = last.sel({"notion": notion, "n_classes": k, "bandwidth": 0.02})
        if notion == "canonical" and k == 2 and not cells:
            continue
        bias = [spread(here["relative_bias"].sel({"method": m})) for m in ("direct", "risk")]
        slope = spread(found[np.isfinite(found)], 2) if cells else "–"
        rows.append([f"{notion_name(notion)}, {k}", f"{cells} of {found.size}", slope, *bias])
    return table(("notion", "seen in", "slope", "bias, direct", "bias, risk"), rows)


def debiased_beside_published(of: xr.Dataset) -> Markdown:
    """Show relative biases in the paper's simulation, by loss, number of classes and size."""
    at = of["relative_bias"].sel({"scenario": "over-confident"})
    rows = []
    for generator, k, n in product(("log", "brier"), (2, 5, 10), (300, 1000, 3000)):
        here = at.sel({"generator": generator, "n_classes": k, "sample_size": n})
        cells = (here.sel({"method": m}).item() for m in ("debiased", "direct", "risk"))
        rows.append([loss(generator).title, k, n, *(minus(f"{cell:+.1f}") for cell in cells)])
    return table(("loss", "classes", "n", "debiased", "direct", "risk"), rows)


def contests(of: xr.Dataset) -> Markdown:
    """Show in how many cells each bandwidth of the kernel is nearer than each kind of bins."""
    rows = []
    for generator in of["generator"].values.tolist():
        direct, risk = (kernel_comparison.contests(of, generator, m) for m in ("direct", "risk"))
        for (one, other), each in direct.items():
            by_risk = risk[one, other]
            cells = (each.wins, each.losses, by_risk.wins, by_risk.losses)
            rows.append([loss(generator).title, one, other, *cells])
    head = ("loss", "kernel", "bins", "direct: kernel", "bins", "via the risk: kernel", "bins")
    return table(head, rows, words=3)


def direct_contests(of: xr.Dataset) -> Markdown:
    """Show in how many cells the direct estimate is nearer than that via the risk."""
    rows = [
        [symbol(generator), notion_name(notion), smoother, *each]
        for (generator, notion, smoother), each in direct_vs_risk.contests(of).items()
    ]
    head = ("loss", "notion", "bandwidth", "direct nearer", "risk nearer", "undecided")
    return table(head, rows, words=3)


def debiased_contests(of: xr.Dataset) -> Markdown:
    """Show in how many cells the debiased estimate is nearer than each published one."""
    rows = [
        [notion_name(notion), name, *simulated.contest(at, simulated.DEBIASED, name)]
        for (notion,), at in selections(of, "notion")
        for name in of["estimator"].values.tolist()
        if name != simulated.DEBIASED
    ]
    head = ("notion", "published estimate", "debiased nearer", "published nearer", "undecided")
    return table(head, rows, words=2)


def subsets(of: xr.Dataset, generator: str) -> Markdown:
    """Show the mean relative bias of subsets against the whole set."""
    relative = 100 * bias_on_networks.relative_bias(of).sel(generator=generator)
    mean, error = mean_and_error(relative, "replicate")
    methods = of["method"].values.tolist()
    rows = []
    for (model,), at in selections(mean.to_dataset(name="mean"), "model"):
        of_model = {"model": model, "method": methods}
        whole = 100 * of["reference"].sel({**of_model, "generator": generator})
        rows.append([named(model), "all", *(f"{value:.2f}" for value in whole.values)])
        for n in of["sample_size"].values.tolist():
            means = at["mean"].sel({"method": methods, "sample_size": n}).values
            errors = error.sel({**of_model, "sample_size": n}).values
            rows.append([named(model), n, *map(percent, means, errors)])
    return table(("network", "n", *methods), rows)


def debiasing_medians(of: xr.Dataset) -> Markdown:
    """Show medians of |relative bias|, over the same cells for every estimate."""
    found = [
        median_biases(of, generators) for generators in (("log",), ("brier",), ("log", "brier"))
    ]
    rows = [[name, *(f"{each[name]:.1f}" for each in found)] for name in found[0]]
    return table(("estimate", "log loss", "Brier score", "both"), rows)


def calibrated(of: xr.Dataset) -> Markdown:
    """Show the mean debiased estimate where the truth is 0, in 10⁻⁴, over both simulations."""
    at = of.sel({"method": "debiased", "scenario": list(CALIBRATED)})
    rows = []
    for (n, k), cell in selections(at[["bias", "bias_se"]], "sample_size", "n_classes"):
        mean = 1e4 * cell["bias"].mean("scenario")
        error = 1e4 * (cell["bias_se"] ** 2).sum("scenario") ** 0.5 / cell.sizes["scenario"]
        both = (
            minus(f"{mean.sel(generator=name).item():.1f} ± {error.sel(generator=name).item():.1f}")
            for name in ("log", "brier")
        )
        rows.append([n, k, *both])
    return table(("n", "classes", "log loss", "Brier score"), rows, words=0)


def replicates(of: xr.Dataset) -> Markdown:
    """Show how many data sets each cell has."""
    count = of["n_replicates"].max(["scenario", "n_classes"])
    test = of["test_n_replicates"]
    rows = []
    for n in of["sample_size"].values.tolist():
        tests = "none"
        if n in test["test_sample_size"]:
            tests = spread(test.sel(test_sample_size=n))
        rows.append([n, count.sel(sample_size=n).item(), tests])
    return table(("n", "data sets of each simulation", "data sets of each test"), rows, words=0)


def extremes(of: xr.Dataset) -> Markdown:
    """Show the cells with the lowest and the highest bias at n = 1000."""
    at = miscalibrated(of).sel({"method": "debiased", "sample_size": 1000})
    at = at.sel(generator=["log", "brier"])
    names = ["relative_bias", "relative_bias_se", "coverage", "warned"]
    cells = [
        (levels, [of[name].item() for name in names])
        for levels, of in selections(at[names], "scenario", "n_classes", "generator")
    ]
    cells = sorted((cell for cell in cells if np.isfinite(cell[1][0])), key=lambda cell: cell[1][0])
    rows = [
        [
            scenario,
            k,
            loss(generator).title,
            percent(bias, error),
            f"{100 * coverage:.0f}",
            f"{100 * warned:.0f}",
        ]
        for (scenario, k, generator), (bias, error, coverage, warned) in [*cells[:6], *cells[-3:]]
    ]
    head = ("simulation", "classes", "loss", "bias, %", "covered, %", "warned, %")
    return table(head, rows)


def shapes(of: xr.Dataset, generator: str) -> Markdown:
    """Show bias, coverage and warnings of each shape, in bold what is missed."""
    at = of.assign(missed=missed_shapes.missed(of)).sel(generator=generator)
    rows = []
    for (shape, n), here in selections(at, "shape", "sample_size"):
        bias = percent(here["relative_bias"].item(), here["relative_bias_se"].item())
        shares = here["coverage"], here["warned"].sel(warning="misfit")
        name = f"{shape.rstrip('-0123456789')}, {here['n_classes'].item()}"
        row = [name, f"{here['truth'].item():.4f}", n, f"**{bias}**" if here["missed"] else bias]
        rows.append([*row, *(f"{100 * share.item():.0f}" for share in shares)])
    return table(("shape", "truth", "n", "bias, %", "cover", "warned"), rows)


def targets(of: xr.Dataset) -> Markdown:
    """Show how many cells meet the targets of the debiasing study."""
    texts = {
        "bias": "bias at most 10 % (to 5 classes, n ≥ 1000) or 15 % (10 classes, n ≥ 3000)",
        "coverage": "95 % intervals cover in 92 to 98 % of data sets",
        "rmse": "root mean squared error not larger than the best rival's",
        "test": "test: size 3.5 to 6.5 %, power not below the best rival's",
    }
    rows = []
    for name, text in texts.items():
        found = of[f"{name}_verdict"]
        asked, met, near = (
            int(some.sum()) for some in (found != NOT_ASKED, found == MET, found == UNCERTAIN)
        )
        rows.append([text, met, near, asked - met - near])
    return table(("target", "met", "within two errors", "missed"), rows)


def rmse_sentence(of: xr.Dataset) -> str:
    """Say how often the error is not larger than the best rival's."""
    ratio = miscalibrated(of)["rmse_ratio"].sel(generator=["log", "brier"])
    seen = ratio.notnull().sum()
    best, near = (100 * float((ratio <= most).sum() / seen) for most in (1, 1.1))
    return (
        "The root mean squared error of the debiased estimate is not larger than the best rival's "
        f"in {best:.0f} % of the miscalibrated cells, and at most a tenth larger in {near:.0f} %."
    )


def recalibrated(of: xr.Dataset, notion: str, generator: str) -> Markdown:
    """Show calibration errors × 100 of networks before and after recalibrations."""
    at = of.sel({"notion": notion, "generator": generator}).isel(seed=0)
    rows = []
    for (model,), one in selections(at, "model"):
        for name in ("none", "temperature", "isotonic"):
            each = one.sel({"recalibration": name})
            risk, ours = (100 * each["estimate"].sel({"method": m}).item() for m in METHODS)
            ends = (100 * each[end].item() for end in ("lower", "upper"))
            cells = f"{risk:.2f}", f"{ours:.2f} " + "[{:.2f}, {:.2f}]".format(*ends)
            rows.append([named(model), name, *map(minus, cells)])
    return table(["network", "recalibration", *METHODS], rows, words=2)


METHODS = ("risk", "debiased")


def wins(of: xr.Dataset) -> Markdown:
    """Show on how many networks temperature scaling wins."""
    rows = [
        [
            notion_name(w.notion),
            loss(w.generator).divergence,
            w.rival,
            "{} to {}".format(*w.paper_style),
            "{} to {}, {} undecided".format(*w.debiased),
        ]
        for w in posthoc_report.wins(of)
    ]
    head = ("notion", "loss", "rival", "paper's", "debiased, 5 % level")
    return table(head, rows, words=3)


def scores(of: xr.Dataset) -> Markdown:
    """Show accuracy and losses of networks before and after recalibrations."""
    rows = []
    for (model,), at in selections(of.mean("seed"), "model"):
        for name in ("none", "temperature", "isotonic"):
            each = at.sel(recalibration=name)
            values = (f"{100 * each[score].item():.2f}" for score in ("accuracy", "nll", "brier"))
            rows.append([named(model), name, *values])
    head = ("network", "recalibration", "accuracy × 100", "log loss × 100", "Brier score × 100")
    return table(head, rows, words=2)


def agreements(of: xr.Dataset) -> Markdown:
    """Show Kendall's τ between rankings of classes."""
    models = list(selections(of, "model"))
    rows = []
    for heading, pairs in classwise_ranking.PAIRS.items():
        for pair in pairs:
            tau = (classwise_ranking.agreement(at, *pair).kendall for _, at in models)
            rows.append([heading, " and ".join(pair), *(f"{t:.2f}" for t in tau)])
    return table(("agreement of", "rankings by", *(named(m) for (m,), _ in models)), rows, words=2)


def rises(of: xr.Dataset, generator: str) -> Markdown:
    """Show how much sharper each layer seems than the one before it."""
    found = [v for v in information_monotonicity.verdicts(of) if v.generator == generator]
    methods = of["method"].values.tolist()
    rows = []
    for (activation,), _ in selections(of, "activation"):
        by_method = {v.method: v for v in found if v.activation == activation}
        in_order = [by_method[method] for method in methods]
        for step in in_order[0].rises["step"].values.tolist():
            cells = (number(100 * v.rises.sel(step=step), 2, signed=True) for v in in_order)
            rows.append([activation, step, *map(minus, cells)])
        rows.append([activation, "broken", *(v.broken for v in in_order)])
    return table(("network", "layers", *methods), rows, words=2)


def stopping(of: xr.Dataset) -> Markdown:
    """Show where each criterion stops, and what a network stopped there is worth."""
    found = training_monitor.stops(of.isel(activation=0))
    least = found["log loss"].log_loss
    rows = [
        [
            name,
            number(stop.epoch, 1),
            number(stop.log_loss),
            number(stop.log_loss - least, signed=True) if name != "log loss" else "0",
        ]
        for name, stop in found.items()
    ]
    head = ("stopped at the least", "epoch", "fresh log loss", "cost")
    return table(head, [[row[0], *map(minus, row[1:])] for row in rows])


def growth(of: xr.Dataset) -> Markdown:
    """Show by what the loss grows after its minimum."""
    at = of.isel(activation=0)
    rows = []
    for generator in ("log", "brier"):
        grown = [training_monitor.growth(at, generator, method) for method in METHODS]
        for name, *values in zip(
            ("loss", "calibration error", "refinement", "accuracy"), *grown, strict=True
        ):
            cells = (minus(number(value, signed=True)) for value in values)
            rows.append([loss(generator).divergence, name, *cells])
        rows.append([loss(generator).divergence, "share", *(each.share for each in grown)])
    return table(("of", "growth of", *METHODS), rows, words=2)


def snapshots(of: xr.Dataset, generator: str) -> Markdown:
    """Show accuracy and calibration error of snapshots, in bold those on a front."""
    return table(*_snapshots(of.isel(activation=0), generator), words=0)


def _snapshots(at: xr.Dataset, generator: str) -> tuple[Sequence[str], Iterator[Sequence[object]]]:
    found = [front for front in model_selection.fronts(at) if front.generator == generator]
    head = ["epoch", "accuracy, %", *(f"{symbol(f.generator)}, {f.method}" for f in found)]

    def rows() -> Iterator[Sequence[object]]:
        for epoch in at["epoch"].values.tolist():
            of = 100 * at.sel(epoch=epoch)
            row = [str(epoch), number(of["accuracy"], 1)]
            for front in found:
                key = {"generator": front.generator, "method": front.method}
                text = number(of["calibration_error"].sel(key), 2)
                row.append(f"**{text}**" if epoch in front.epochs else text)
            yield row

    return head, rows()
