"""Table, verdicts and conclusion of the study of the bias's rate."""

from __future__ import annotations

import numpy as np
import xarray as xr

from propercal.experiments import selections

DEBIASED = "debiased"
_PREAMBLE = (
    "",
    "Calibration error of predictions whose true one is known (log: in nats), with k classes and",
    "the loss F, by three estimates. direct: mean divergence of the predictions from labels that a",
    "kernel of bandwidth γ averages. risk: mean loss less the refinement of these averages.",
    "debiased: the default of this package, which needs no bandwidth.",
    "bias: estimate − truth, in % of the truth, ± standard error, at the largest n. limit: what",
    "the estimate tends to at this bandwidth. slope: of log |mean − limit| on log n, where theory",
    "says −1; fitted where it exceeds two standard errors and n ≥ γ^(−d/2), d = 1 class-wise,",
    "k − 1 canonical; [points used]. nested: the same without the limit, of E T_n − E T_2n.",
    "'none: n ≫ N': no rate can be seen below N samples.",
)
_ONE_PROBLEM = "With two classes, class-wise and canonical are one problem, shown once."


def one_problem(summary: xr.Dataset | xr.DataArray) -> bool:
    """Tell whether a dataset has the problem of two classes under both notions."""
    return "canonical" in summary["notion"] and "classwise" in summary["notion"]


def once(values: xr.DataArray) -> xr.DataArray:
    """Leave out the canonical notion of two classes where the class-wise one is the same."""
    if not one_problem(values):
        return values
    return values.where((values["notion"] != "canonical") | (values["n_classes"] > 2))


def table(summary: xr.Dataset) -> str:
    """Return one line for each estimator: truth, limit, bias, and the rate of the bias."""
    head = (
        f"{'notion':9} {'k':>2} {'F':6} {'γ':>5} {'method':8} {'truth':>7} {'limit':>7} "
        f"{'bias, %':>11}  {'slope':17} nested"
    )
    lines = [*_PREAMBLE, *([_ONE_PROBLEM] if one_problem(summary) else []), "", head]
    published = summary.drop_vars([v for v in summary if str(v).startswith(DEBIASED)])
    for levels, of in selections(published, "notion", "n_classes", "generator"):
        if levels[:2] == ("canonical", 2) and one_problem(summary):
            continue
        lines += [_line(row) for _, row in selections(of, "bandwidth", "method")]
        notion, k, generator = levels
        at = {"notion": notion, "n_classes": k, "generator": generator}
        lines += _debiased_line(summary.sel(at))
    return "\n".join(lines)


def _line(row: xr.Dataset) -> str:
    last = row.isel(sample_size=-1)
    bias = _percent(last["relative_bias"], last["relative_bias_se"])
    return (
        f"{_start(row)} {row['bandwidth'].item():5g} {row['method'].item():8} "
        f"{row['truth'].item():7.5f} {row['limit'].item():7.5f} {bias:>11}  "
        f"{_slope(row, 'slope'):17} {_slope(row, 'nested_slope')}"
    ).rstrip()


def _debiased_line(at: xr.Dataset) -> list[str]:
    """Return the line of the debiased estimate, which has neither bandwidth nor limit."""
    if f"{DEBIASED}_relative_bias" not in at:
        return []
    last = at.isel({f"{DEBIASED}_sample_size": -1})
    values = [last[f"{DEBIASED}_relative_bias{end}"] for end in ("", "_se")]
    if not np.isfinite(values[0].item()):
        return []
    truth = f"{at['truth'].item():7.5f}"
    return [f"{_start(at)} {'':5} {DEBIASED:8} {truth} {'':7} {_percent(*values):>11}"]


def _start(row: xr.Dataset) -> str:
    return f"{row['notion'].item():9} {row['n_classes'].item():2d} {row['generator'].item():6.6}"


def _percent(value: xr.DataArray, error: xr.DataArray) -> str:
    return f"{_signed(value.item(), '+.0f')} ± {error.item():.0f}"


def _slope(row: xr.Dataset, name: str) -> str:
    points = row[f"{name}_points"].item()
    needed = row["asymptotic_sample_size"].item()
    if needed > row["sample_size"].values[-2 if row.sizes["sample_size"] > 1 else -1]:
        return f"none: n ≫ {needed:.0e}"
    if not np.isfinite(row[name].item()):
        return f"in the noise [{points:.0f}]" if np.isfinite(points) else "no pairs (n, 2n)"
    slope = _signed(row[name].item(), "5.2f")
    return f"{slope} ± {row[f'{name}_se'].item():.2f} [{points:.0f}]"


def rate(summary: xr.Dataset) -> tuple[str, str]:
    """Judge the rate where three points or more show it, and what is left with endless data."""
    slope = once(summary["slope"].where(summary["slope_points"] >= 3))
    floor = 100 * (summary["limit"] / summary["truth"] - 1)
    floor = floor.sel({"method": "risk", "notion": "classwise"})
    found = (
        f"Against the limit at fixed γ, where it can be seen: {int(slope.notnull().sum())} slopes "
        f"from {_signed(slope.min().item(), '.2f')} to {_signed(slope.max().item(), '.2f')}, "
        f"median {_signed(slope.median().item(), '.2f')} (theory: −1). Against the truth: no; "
        f"with endless data the class-wise estimate via the risk would be off by {_range(floor)}"
    )
    return found, "holds against the limit only"


def reliability(summary: xr.Dataset) -> tuple[str, str]:
    """Judge the largest samples at the bandwidth of the paper, or that nearest to it."""
    largest = summary.isel(sample_size=-1).sel({"notion": "classwise", "method": "risk"})
    largest = largest.sel(bandwidth=0.02, method="nearest")
    off = largest["relative_bias"]
    found = (
        f"n = {largest['sample_size'].item()}, γ = {largest['bandwidth'].item():g}, via the risk: "
        f"off by {_range(off)} of the truth"
    )
    return found, "not in the sense of small bias"


def conclusion(summary: xr.Dataset) -> str:
    """Say in three sentences how far the estimates are off, why, and what to report."""
    notion = summary["notion"].values[0]
    last = summary.isel(sample_size=-1).sel(notion=notion)
    last = last.sel(bandwidth=0.02, method="nearest")
    n, gamma = last["sample_size"].item(), last["bandwidth"].item()
    named = {"classwise": "class-wise"}.get(notion, notion)
    off = " and ".join(
        f"{_range(last['relative_bias'].sel({'method': method}))} ({text})"
        for method, text in (("direct", "direct"), ("risk", "via the risk"))
        if method in last["method"]
    )
    first = (
        f"With {n} samples and the bandwidth γ = {gamma:g}, the published estimates of the "
        f"{named} calibration error are off by {off}."
    )
    slope = once(summary["slope"]).median().item()
    floor = _range(100 * (last["limit"] / last["truth"] - 1))
    second = (
        f"More samples do not mend that: the bias falls like 1/n (median slope "
        f"{_signed(slope, '.2f')}; theory: −1), but towards limits that are off by {floor} too."
    )
    if not np.isfinite(slope):
        second = (
            "No rate can be seen at these sample sizes, and endless samples would not mend that: "
            f"the limits at that bandwidth are off by {floor} too."
        )
    return f"{first} {second} {_default(summary)}"


def _default(summary: xr.Dataset) -> str:
    name = f"{DEBIASED}_relative_bias"
    if name not in summary or not summary[name].notnull().any():
        return 'Report the default, method="debiased", which this run did not measure.'
    of = once(summary[name]).isel({f"{DEBIASED}_sample_size": -1})
    error = summary[f"{name}_se"].isel({f"{DEBIASED}_sample_size": -1})
    n = of[f"{DEBIASED}_sample_size"].item()
    theirs = abs(once(summary["relative_bias"]).sel(bandwidth=0.02, method="nearest"))
    return (
        f'Report the default, method="debiased": with {n} samples it is off by {_range(of)}, '
        f"typically by {abs(of).median().item():.0f} % (the median over the lines of the table, "
        f"each ± {error.median().item():.0f}), and the published estimates typically by "
        f"{theirs.isel(sample_size=-1).median().item():.0f} %."
    )


def _signed(value: float, spec: str) -> str:
    """Return a number with a true minus sign."""
    return f"{value:{spec}}".replace("-", "−")


def _range(percent: xr.DataArray) -> str:
    low, high = (_signed(end.item(), "+.0f") for end in (percent.min(), percent.max()))
    return f"{low} to {high} %"
