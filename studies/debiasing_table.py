"""The debiasing study in one table, and by name the targets it misses."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import xarray as xr

from studies.debiasing_design import CALIBRATED
from studies.debiasing_summary import MET, MISSED, NOT_ASKED, UNCERTAIN

_PREAMBLE = """
Debiased calibration error, by sample size n. bias: % of the truth ± standard error (calibrated
data: in standard errors of the mean). cover: % of 95 % intervals with the truth. rmse: over the
best of direct, risk, temperature. warn: % of results with a warning. A dot follows what misses
its target by less than two standard errors, an exclamation mark what misses it by more."""

_MARKS = {MISSED: "!", UNCERTAIN: ".", MET: "", NOT_ASKED: ""}


def table(summary: xr.Dataset) -> str:
    """Return one line for each scenario, class count and generator, the tests, and the verdicts."""
    return "\n".join(
        [_PREAMBLE, "", *_estimates(summary), "", *_tests(summary), "", *_verdict(summary)]
    )


def _estimates(summary: xr.Dataset) -> Iterator[str]:
    sizes = summary["sample_size"].values
    columns = "".join(f" |{f'n = {n}':^9} {'cover':>5} {'rmse':>6} {'warn':>4}" for n in sizes)
    yield f"{'scenario':24} {'k':>2} {'F':9} {'truth':>8}{columns}"
    ours = summary.sel({"method": "debiased"})
    for scenario in summary["scenario"].values:
        for k in summary["n_classes"].values:
            for generator in summary["generator"].values:
                at = ours.sel(scenario=scenario, n_classes=k, generator=generator)
                cells = "".join(_cell(at.sel(sample_size=n)) for n in sizes)
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


def _tests(summary: xr.Dataset) -> Iterator[str]:
    names = summary["test"].values
    yield "Rejections at 5 %, in % ± standard error: size where calibrated, power elsewhere."
    heads = "".join(f" {name:>16}" for name in names)
    yield f"{'scenario':24} {'k':>2} {'n':>6} {'strength':>8}{heads}"
    for scenario in summary["test_scenario"].values:
        for k in summary["test_n_classes"].values:
            for n in summary["test_sample_size"].values:
                at = summary.sel(test_scenario=scenario, test_n_classes=k, test_sample_size=n)
                rates = [
                    f"{100 * rate:.1f} ± {100 * error:.1f}"
                    for rate, error in zip(
                        at["rejection_rate"].values, at["rejection_rate_se"].values, strict=True
                    )
                ]
                rates[0] += _MARKS[at["test_verdict"].item()]
                strength = 0.0 if scenario in CALIBRATED else at["strength"].item()
                line = "".join(f" {rate:>16}" for rate in rates)
                yield f"{scenario:24} {k:2} {n:6} {strength:8.3f}{line}"


def _verdict(summary: xr.Dataset) -> Iterator[str]:
    yield "Targets: cells that meet them, and by name those that miss them by two standard errors."
    for name, text in (
        ("bias", "bias (log, Brier): 10 % for k ≤ 5, n ≥ 1000; 15 % for k ≤ 10, n ≥ 3000"),
        ("coverage", "coverage 92 to 98 % there"),
        ("rmse", "RMSE ratio ≤ 1 (on at least 80 % of the cells)"),
        ("test", "test: size 3.5 to 6.5 %, power not below the best rival's"),
    ):
        found = summary[f"{name}_verdict"]
        asked = int((found != NOT_ASKED).sum())
        met, near = (int((found == state).sum()) for state in (MET, UNCERTAIN))
        share = f" ({met / asked:.0%})" if asked else ""
        yield f"  {text}: {met} of {asked}{share}, {near} within the error"
        missed = np.argwhere(found.values == MISSED)
        for index in missed:
            at = [found[dim].values[i] for dim, i in zip(found.dims, index, strict=True)]
            yield "    missed: " + ", ".join(
                f"{_SHORT.get(str(dim), '')}{level}"
                for dim, level in zip(found.dims, at, strict=True)
            )
    yield from _pooled(summary)


_SHORT = {
    "n_classes": "k = ",
    "sample_size": "n = ",
    "test_n_classes": "k = ",
    "test_sample_size": "n = ",
}


def _pooled(summary: xr.Dataset) -> Iterator[str]:
    """Pool cells of one n, which have few replicates each."""
    asked = summary["coverage_verdict"] != NOT_ASKED
    # The generators of one data set are not independent: it counts once.
    count = summary["n_replicates"].where(asked.any("generator"), 0)
    coverage = summary["coverage"].where(asked).mean("generator")
    for n in summary["sample_size"].values:
        share = _share(coverage.sel(sample_size=n), count.sel(sample_size=n))
        if share:
            yield f"  coverage over all these cells at n = {n}: {share}"
    size = summary.isel(test_scenario=np.flatnonzero(summary["test_scenario"].isin(CALIBRATED)))
    for n in summary["test_sample_size"].values:
        at = size.sel(test_sample_size=n)
        share = _share(at["rejection_rate"].isel(test=0), at["test_n_replicates"])
        if share:
            yield f"  size of the test over all calibrated cells at n = {n}: {share}"


def _share(shares: xr.DataArray, counts: xr.DataArray) -> str:
    total = float(counts.sum())
    if not total:
        return ""
    share = float((shares * counts).sum()) / total
    return f"{share:.1%} ± {(share * (1 - share) / total) ** 0.5:.1%}"
