"""From replicates of the debiasing study to bias, RMSE, coverage, size and power, with errors."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from propercal.experiments.workers import in_processes, one_thread
from propercal.simulation import MiscalibratedSimplex
from studies.debiasing_design import (
    CALIBRATED,
    CANONICAL,
    SCENARIOS,
    Design,
    weakened,
)

Floats = NDArray[np.float64]

LEVEL = 0.05
# Bounds of "done": relative bias by the largest k they are for, with the n they begin at.
BIAS_TARGETS = ((5, 1000, 0.10), (10, 3000, 0.15))
SMALL_BIAS = 0.3
COVERAGE_TARGET = (0.92, 0.98)
SIZE_TARGET = (0.035, 0.065)
RMSE_RIVALS = ("direct", "risk", "temperature")
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


def truths(design: Design, n_workers: int) -> xr.Dataset:
    """Integrate the calibration errors, with bounds on their errors."""
    dims = ("scenario", "n_classes", "generator", "part")
    coords: dict[str, Any] = {
        "scenario": list(design.scenarios),
        "n_classes": list(design.n_classes),
        "generator": list(design.generators),
    }
    empty = np.full((*(len(level) for level in coords.values()), 2), np.nan)
    canonical, classwise = (xr.DataArray(empty.copy(), coords, dims) for _ in range(2))
    tasks = [(s, k) for k in sorted(design.n_classes, reverse=True) for s in design.scenarios]
    for (scenario, k), values in in_processes(partial(_truth, design), tasks, n_workers):
        where = {"scenario": scenario, "n_classes": k}
        canonical.loc[where], classwise.loc[where] = values
    bound = "bound on the absolute error: three standard errors of the integral"
    return xr.Dataset(
        {
            "truth": canonical[..., 0].assign_attrs(long_name="canonical calibration error"),
            "truth_error": canonical[..., 1].assign_attrs(long_name=bound),
            "classwise_truth": classwise[..., 0].assign_attrs(
                long_name="class-wise calibration error, where it is known: target of bins"
            ),
            "classwise_truth_error": classwise[..., 1].assign_attrs(long_name=bound),
        }
    )


def _truth(design: Design, task: tuple[str, int]) -> tuple[tuple[str, int], Floats]:
    model = SCENARIOS[task[0]](task[1])
    with one_thread():
        canonical = [list(model.truth(g, "canonical")) for g in design.generators]
        if task[1] == 2:
            classwise = canonical
        elif isinstance(model, MiscalibratedSimplex):
            classwise = [[np.nan, np.nan]] * len(canonical)
        else:
            classwise = [list(model.truth(g, "classwise")) for g in design.generators]
    return task, np.array([canonical, classwise])


def summarise(replicates: xr.Dataset, known: xr.Dataset, design: Design) -> xr.Dataset:
    """Return the whole summary."""
    return known.assign(_estimates(replicates, known)).assign(_tests(replicates, design))


def _estimates(replicates: xr.Dataset, known: xr.Dataset) -> xr.Dataset:
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
    lower, upper = replicates["lower"], replicates["upper"]
    stated = lower.notnull()
    covered = ((lower <= truth) & (truth <= upper)).where(stated)
    below = (replicates["lower_bound"] <= truth).where(stated)
    n_stated = stated.sum("replicate")
    percent = 100 / target.where(target > 0)
    units = {"units": "units of F (log: nats)"}
    described = {
        "n_replicates": (n_stated.isel(generator=0, drop=True), "number of data sets", {}),
        "mean": (estimate.mean("replicate"), "mean estimate", units),
        "bias": (bias, "bias against the truth of its notion", units),
        "bias_se": (bias_se, "standard error of bias", units),
        "relative_bias": (percent * bias, "bias, relative to the truth", {"units": "%"}),
        "relative_bias_se": (percent * bias_se, "standard error of relative_bias", {"units": "%"}),
        "sd": (estimate.std("replicate", ddof=1), "standard deviation of the estimate", units),
        "rmse": (rmse, "root mean squared error", units),
        "rmse_se": (_jackknife_se(rest), "jackknife standard error of rmse", units),
        "rmse_ratio": (
            ours / rivals.min("method"),
            "RMSE of debiased over that of the best of " + ", ".join(RMSE_RIVALS),
            {},
        ),
        "rmse_ratio_se": (
            _jackknife_se(ours_rest / rival_rest.drop_vars("method")),
            "jackknife standard error of rmse_ratio, at the same rival",
            {},
        ),
        "best_rival": (rivals["method"][best].drop_vars("method"), "rival of smallest RMSE", {}),
        "coverage": (covered.mean("replicate"), "share of 95 % intervals with the truth", {}),
        "coverage_se": (
            _binomial_se(covered.sum("replicate"), n_stated),
            "standard error of coverage",
            {},
        ),
        "below_truth": (below.mean("replicate"), "share of lower bounds below the truth", {}),
        "mean_lower_bound": (replicates["lower_bound"].mean("replicate"), "its mean", units),
        "warned": (
            replicates["warned"].mean("replicate"),
            "share of results with a warning of a large kernel share",
            {},
        ),
        "kernel_share": (replicates["kernel_share"].mean("replicate"), "mean kernel share", {}),
    }
    result = xr.Dataset(
        {
            name: values.assign_attrs(long_name=text, **attributes)
            for name, (values, text, attributes) in described.items()
        }
    )
    return result.assign(_verdicts(result.sel({"method": "debiased"}, drop=True), truth))


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


def _verdicts(ours: xr.Dataset, truth: xr.DataArray) -> dict[str, xr.DataArray]:
    """Compare with the targets of the study, where they are asked for."""
    bias, se, sd = ours["bias"], ours["bias_se"], ours["sd"]
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


def _tests(replicates: xr.Dataset, design: Design) -> xr.Dataset:
    p = replicates["pvalue"]
    count = p.notnull().sum("test_replicate")
    rejected = (p <= LEVEL).where(p.notnull())
    rate = rejected.mean("test_replicate")
    se = _binomial_se(rejected.sum("test_replicate"), count)
    calibrated = p["test_scenario"].isin(CALIBRATED)
    ours, rivals = (x.isel(test=i) for x, i in ((rejected, 0), (rejected, slice(1, None))))
    best = rivals.mean("test_replicate").fillna(-1).argmax("test")
    lost = rivals.isel(test=best).drop_vars("test") - ours.drop_vars("test")
    lost_se = lost.std("test_replicate", ddof=1) / ours.notnull().sum("test_replicate") ** 0.5
    our_rate, our_se = (x.isel(test=0, drop=True) for x in (rate, se))
    size = verdict(_outside(our_rate, SIZE_TARGET), our_se, calibrated)
    power = verdict(lost.mean("test_replicate"), lost_se, ~calibrated)
    strength = [
        [
            [getattr(weakened(scenario, k, n), "strength", 1.0) for n in design.test_sample_sizes]
            for k in design.test_n_classes
        ]
        for scenario in design.test_scenarios
    ]
    return xr.Dataset(
        {
            "test_n_replicates": count.isel(test=0, drop=True),
            "rejection_rate": rate.assign_attrs(
                long_name="share of p-values ≤ 0.05: size where calibrated, power elsewhere"
            ),
            "rejection_rate_se": se.assign_attrs(long_name="its standard error"),
            "test_verdict": size.where(calibrated, power),
            "strength": our_rate.copy(data=np.array(strength)).assign_attrs(
                long_name="weight s of p = (1 − s) g + s r(g)"
            ),
        }
    )
