"""Bias, RMSE, coverage, size and power from replicates of the debiasing study, with verdicts."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import xarray as xr

from propercal.experiments import mean_and_error, selections
from propercal.experiments.statistics import errors_of_chance, share_inside
from studies.losses import UNITS_OF_F, described

CANONICAL = ("debiased", "direct", "risk", "temperature", "temperature-mix")
CALIBRATED = ("calibrated", "calibrated-concentrated")
LEVEL = 0.05
# Bounds of "done": relative bias by the largest k they are for, with the n they begin at.
BIAS_TARGETS = ((5, 1000, 0.10), (10, 3000, 0.15))
SMALL_BIAS = 0.3
COVERAGE_TARGET = (0.92, 0.98)
SIZE_TARGET = (0.035, 0.065)
RMSE_RIVALS = CANONICAL[1:]
#: Values, long names and units if there are any, by name.
_Described = dict[str, tuple[xr.DataArray, str] | tuple[xr.DataArray, str, str]]
MISSED, MET, UNCERTAIN, NOT_ASKED = 0, 1, 2, -1
_VERDICTS = {
    "flag_values": [NOT_ASKED, MISSED, MET, UNCERTAIN],
    "flag_meanings": "not_asked missed met missed_by_less_than_two_standard_errors",
}


def verdict(excess: xr.DataArray, error: xr.DataArray, asked: xr.DataArray) -> xr.DataArray:
    """Say whether `excess` ≤ 0, as far as its standard error lets one say."""
    excess, error, asked = xr.broadcast(excess, error, asked)
    judged = np.where(excess > 2 * error, MISSED, np.where(excess > 0, UNCERTAIN, MET))
    judged = np.where(asked & np.isfinite(excess), judged, NOT_ASKED)
    return excess.copy(data=judged.astype(np.int8)).assign_attrs(_VERDICTS)


def summary_of(replicates: xr.Dataset, known: xr.Dataset) -> xr.Dataset:
    """Return the summary of replicates whose truths are known."""
    parts = {**_errors(replicates, known), **_coverage(replicates, known["truth"])}
    summary = known.assign({name: described(*of) for name, of in parts.items()})
    verdicts = _verdicts(summary.sel({"method": "debiased"}, drop=True))
    return summary.assign(verdicts).assign(_tests(replicates["pvalue"]))


def _errors(replicates: xr.Dataset, known: xr.Dataset) -> _Described:
    """Return bias, spread and root mean squared error of every method."""
    estimate, truth = replicates["estimate"], known["truth"]
    canonical = estimate["method"].isin(CANONICAL)
    target = truth.where(canonical, known["classwise_truth"])
    target_error = (known["classwise_truth_error"] / 3).where(~canonical, 0.0)
    count = estimate.notnull().sum("replicate")
    # The loss saved by the true E[Y | g] has the canonical truth as its mean and shares the noise.
    noisy = estimate - replicates["loss_saved"].where(canonical, target)
    bias = noisy.mean("replicate")
    bias_se = (noisy.var("replicate", ddof=1) / count + target_error**2) ** 0.5
    square = (estimate - target) ** 2
    rmse = square.mean("replicate") ** 0.5
    rest = _leave_one_out_mean(square) ** 0.5
    rivals = rmse.sel({"method": list(RMSE_RIVALS)})
    best = rivals.fillna(np.inf).argmin("method")
    rival_rest = rest.sel({"method": list(RMSE_RIVALS)}).isel({"method": best})
    ours, ours_rest = (x.sel({"method": "debiased"}, drop=True) for x in (rmse, rest))
    ratio_se = _jackknife_se(ours_rest / rival_rest.drop_vars("method"))
    ratio_text = "RMSE of debiased over that of the best of " + ", ".join(RMSE_RIVALS)
    n_replicates = replicates["lower"].notnull().sum("replicate").isel(generator=0, drop=True)
    percent = 100 / target.where(target > 0)
    return {
        "n_replicates": (n_replicates, "number of data sets"),
        "mean": (estimate.mean("replicate"), "mean estimate", UNITS_OF_F),
        "bias": (bias, "bias against the truth of its notion", UNITS_OF_F),
        "bias_se": (bias_se, "standard error of bias", UNITS_OF_F),
        "relative_bias": (percent * bias, "bias, relative to the truth", "%"),
        "relative_bias_se": (percent * bias_se, "standard error of relative_bias", "%"),
        "sd": (estimate.std("replicate", ddof=1), "standard deviation of the estimate", UNITS_OF_F),
        "rmse": (rmse, "root mean squared error", UNITS_OF_F),
        "rmse_se": (_jackknife_se(rest), "jackknife standard error of rmse", UNITS_OF_F),
        "rmse_ratio": (ours / rivals.min("method"), ratio_text),
        "rmse_ratio_se": (ratio_se, "jackknife standard error of rmse_ratio, at the same rival"),
        "best_rival": (rivals["method"][best].drop_vars("method"), "rival of smallest RMSE"),
    }


def _coverage(replicates: xr.Dataset, truth: xr.DataArray) -> _Described:
    """Return how often the debiased result's statements hold, and what else it says on average."""
    bound = replicates["lower_bound"]
    share, count = share_inside(replicates["lower"], replicates["upper"], truth, "replicate")
    below, _ = share_inside(bound, xr.full_like(bound, np.inf), truth, "replicate")
    se = _binomial_se(share * count, count)
    mean = replicates[["lower_bound", "warned", "kernel_share"]].mean("replicate")
    return {
        "coverage": (share, "share of 95 % intervals with the truth"),
        "coverage_se": (se, "standard error of coverage"),
        "below_truth": (below, "share of lower bounds below the truth"),
        "mean_lower_bound": (mean["lower_bound"], "its mean", UNITS_OF_F),
        "warned": (mean["warned"], "share of results with a warning of a large kernel share"),
        "kernel_share": (mean["kernel_share"], "mean kernel share"),
    }


def _leave_one_out_mean(values: xr.DataArray) -> xr.DataArray:
    count = values.notnull().sum("replicate")
    return (values.sum("replicate") - values) / (count - 1)


def _jackknife_se(rest: xr.DataArray) -> xr.DataArray:
    count = rest.notnull().sum("replicate")
    return ((count - 1) * rest.var("replicate", ddof=0)) ** 0.5


def _binomial_se(hits: xr.DataArray, count: xr.DataArray) -> xr.DataArray:
    """Standard error of a share, by that of Agresti and Coull (1998), which is never 0 or 1."""
    share = (hits + 2) / (count + 4)
    return ((share * (1 - share) / (count + 4)) ** 0.5).where(count > 0)


def _outside(share: xr.DataArray, bounds: tuple[float, float]) -> xr.DataArray:
    """Return by how much a share misses an interval; negative inside."""
    low, high = bounds
    return abs(share - (low + high) / 2) - (high - low) / 2


def _verdicts(ours: xr.Dataset) -> dict[str, xr.DataArray]:
    """Compare with the targets of the study, where they are asked for."""
    truth, bias, se, sd = (ours[name] for name in ("truth", "bias", "bias_se", "sd"))
    k, n = ours["n_classes"], ours["sample_size"]
    tolerance = xr.full_like(n * k, np.nan, dtype=np.float64)
    for most, least_n, share in reversed(BIAS_TARGETS):
        tolerance = tolerance.where((k > most) | (n < least_n), share)
    calibrated = truth == 0
    allowed = tolerance * truth + 0 * bias
    # A calibration error that its estimate can hardly tell from 0.
    in_sd = SMALL_BIAS * sd
    allowed = allowed.where((truth >= 3 * sd) | (allowed > in_sd), in_sd.where(tolerance > 0))
    allowed = allowed.where(~calibrated, 2 * se)
    # On calibrated data the target is stated in standard errors: it is missed or it is not.
    slack = se.where(~calibrated, 0.0)
    simple = ours["generator"].isin(("log", "brier"))
    asked = simple & tolerance.notnull() & ~calibrated
    miss = _outside(ours["coverage"], COVERAGE_TARGET)
    return {
        "bias_verdict": verdict(abs(bias) - allowed, slack, asked | (simple & calibrated)),
        "coverage_verdict": verdict(miss, ours["coverage_se"], asked),
        "rmse_verdict": verdict(ours["rmse_ratio"] - 1, ours["rmse_ratio_se"], sd >= 0),
    }


def _tests(p: xr.DataArray) -> dict[str, xr.DataArray]:
    count = p.notnull().sum("test_replicate")
    rejected = (p <= LEVEL).where(p.notnull())
    rate = rejected.mean("test_replicate")
    se = _binomial_se(rejected.sum("test_replicate"), count)
    calibrated = p["test_scenario"].isin(CALIBRATED)
    rivals = rejected.isel(test=slice(1, None))
    best = rivals.mean("test_replicate").fillna(-1).argmax("test")
    lost = rivals.isel(test=best).drop_vars("test") - rejected.isel(test=0, drop=True)
    our_rate, our_se = (x.isel(test=0, drop=True) for x in (rate, se))
    size = verdict(_outside(our_rate, SIZE_TARGET), our_se, calibrated)
    power = verdict(*mean_and_error(lost, "test_replicate"), ~calibrated)
    rate_text = "share of p-values ≤ 0.05: size where calibrated, power elsewhere"
    return {
        "test_n_replicates": count.isel(test=0, drop=True),
        "rejection_rate": rate.assign_attrs(long_name=rate_text),
        "rejection_rate_se": se.assign_attrs(long_name="its standard error"),
        "test_verdict": size.where(calibrated, power),
    }


def correction(summary: xr.Dataset) -> tuple[str, str]:
    """Judge the correction in the paper's simulation, and name those in which it fails."""
    of = summary.sel(generator=["log", "brier"])
    papers = of.sel(scenario="over-confident", sample_size=1000)["relative_bias"]
    ours, theirs = (abs(papers.sel({"method": m})).max().item() for m in ("debiased", "risk"))
    cells = of.sel({"method": "debiased", "sample_size": [1000, 3000]})
    chance = errors_of_chance(cells["n_replicates"]) * cells["relative_bias_se"]
    lost = cells["relative_bias"] + chance < -15
    broken = lost.any(["n_classes", "generator", "sample_size"])
    names = ", ".join(summary["scenario"].values[broken.values])
    found = (
        f"In the paper's simulation at n = 1000, canonical: the bias is at most {ours:.0f} % "
        f"debiased, up to {theirs:.0f} % via risk. Of {broken.size} simulations, these have a bias "
        f"below −15 % beyond chance at n = 1000 or 3000: {names}"
    )
    return found, "a correction that mostly works, and fails downwards"


_PREAMBLE = """
Debiased calibration error, by sample size n. bias: % of the truth ± standard error (calibrated
data: in standard errors of the mean). cover: % of 95 % intervals with the truth. rmse: over the
best of direct, risk, temperature and temperature-mix. warn: % of results with a warning. A dot
follows what misses its target by less than two standard errors, an exclamation mark what misses it
by more."""

_MARKS = {MISSED: "!", UNCERTAIN: ".", MET: "", NOT_ASKED: ""}


def table(summary: xr.Dataset) -> str:
    """Return one line for each scenario, class count and generator, the tests, and the verdicts."""
    parts = (_estimate_lines, _test_lines, _target_lines)
    return "\n\n".join([_PREAMBLE, *("\n".join(part(summary)) for part in parts)])


def _estimate_lines(summary: xr.Dataset) -> Iterator[str]:
    sizes = summary["sample_size"].values
    columns = "".join(f" |{f'n = {n}':^9} {'cover':>5} {'rmse':>6} {'warn':>4}" for n in sizes)
    yield f"{'scenario':24} {'k':>2} {'F':9} {'truth':>8}{columns}"
    ours = summary.sel({"method": "debiased"})
    for (scenario, k, generator), at in selections(ours, "scenario", "n_classes", "generator"):
        cells = "".join(_cell(of) for _, of in selections(at, "sample_size"))
        yield f"{scenario:24} {k:2} {generator:9} {at['truth'].item():8.5f}{cells}"


def _cell(at: xr.Dataset) -> str:
    if at["truth"].item() > 0:
        bias = f"{at['relative_bias'].item():.0f}±{at['relative_bias_se'].item():.0f}"
    else:
        bias = f"{at['bias'].item() / at['bias_se'].item():.1f}se"
    marks = [_MARKS[at[f"{name}_verdict"].item()] for name in ("bias", "coverage", "rmse")]
    cover = f"{100 * at['coverage'].item():.0f}{marks[1]}"
    rmse = f"{at['rmse_ratio'].item():.2f}{marks[2]}"
    warned = 100 * at["warned"].item()
    return f" |{bias + marks[0]:>9} {cover:>5} {rmse:>6} {warned:4.0f}"


def _test_lines(summary: xr.Dataset) -> Iterator[str]:
    yield "Rejections at 5 %, in % ± standard error: size where calibrated, power elsewhere."
    heads = "".join(f" {name:>16}" for name in summary["test"].values)
    yield f"{'scenario':24} {'k':>2} {'n':>6} {'strength':>8}{heads}"
    dims = ("test_scenario", "test_n_classes", "test_sample_size")
    for (scenario, k, n), at in selections(summary, *dims):
        pairs = zip(at["rejection_rate"].values, at["rejection_rate_se"].values, strict=True)
        rates = [f"{100 * rate:.1f} ± {100 * error:.1f}" for rate, error in pairs]
        rates[0] += _MARKS[at["test_verdict"].item()]
        strength = 0.0 if scenario in CALIBRATED else at["strength"].item()
        line = "".join(f" {rate:>16}" for rate in rates)
        yield f"{scenario:24} {k:2} {n:6} {strength:8.3f}{line}"


_TARGETS = {
    "bias": "bias (log, Brier): 10 % for k ≤ 5, n ≥ 1000; 15 % for k ≤ 10, n ≥ 3000",
    "coverage": "coverage 92 to 98 % there",
    "rmse": "RMSE ratio ≤ 1 (on at least 80 % of the cells)",
    "test": "test: size 3.5 to 6.5 %, power not below the best rival's",
}
_SHORT = {"n_classes": "k = ", "sample_size": "n = "}


def _target_lines(summary: xr.Dataset) -> Iterator[str]:
    yield "Targets: cells that meet them, and by name those that miss them by two standard errors."
    for name, text in _TARGETS.items():
        found = summary[f"{name}_verdict"]
        asked, met, near = (
            int(some.sum()) for some in (found != NOT_ASKED, found == MET, found == UNCERTAIN)
        )
        share = f" ({met / asked:.0%})" if asked else ""
        yield f"  {text}: {met} of {asked}{share}, {near} within the error"
        for levels, at in selections(found.to_dataset(name="found"), *map(str, found.dims)):
            if at["found"].item() == MISSED:
                shorts = (_SHORT.get(str(d).removeprefix("test_"), "") for d in found.dims)
                named = (f"{s}{level}" for s, level in zip(shorts, levels, strict=True))
                yield "    missed: " + ", ".join(named)
    yield from _pooled(summary)


def _pooled(summary: xr.Dataset) -> Iterator[str]:
    """Pool cells of one n, which have few replicates each."""
    asked = summary["coverage_verdict"] != NOT_ASKED
    # The generators of one data set are not independent: it counts once.
    counts = summary["n_replicates"].where(asked.any("generator"), 0)
    coverage = summary["coverage"].where(asked).mean("generator")
    yield from _shares("coverage over all these cells", coverage, counts, "sample_size")
    calibrated = summary.isel(test_scenario=summary["test_scenario"].isin(CALIBRATED).values)
    size, counts = calibrated["rejection_rate"].isel(test=0), calibrated["test_n_replicates"]
    what = "size of the test over all calibrated cells"
    yield from _shares(what, size, counts, "test_sample_size")


def _shares(what: str, shares: xr.DataArray, counts: xr.DataArray, dim: str) -> Iterator[str]:
    for (n,), at in selections(xr.Dataset({"hits": shares * counts, "count": counts}), dim):
        hits, total = at["hits"].sum(), at["count"].sum()
        if total:
            share, error = (hits / total).item(), _binomial_se(hits, total).item()
            yield f"  {what} at n = {n}: {share:.1%} ± {error:.1%}"
