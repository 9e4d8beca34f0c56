"""The rate at which the bias of calibration-error estimates falls with n, and its floor.

The bias against the fixed-bandwidth limit falls like 1/n; against the true calibration error it
ends at a floor that the bandwidth sets.
"""

from __future__ import annotations

import studies.interrupts  # noqa: F401 (for what it does)

import dataclasses
import sys
import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from propercal import decompose
from propercal.experiments import (
    Claim,
    Output,
    StudyDesign,
    decompositions,
    factor,
    main,
    mean_and_error,
)
from propercal.experiments.decompositions import DECOMPOSITIONS
from propercal.experiments.workers import in_processes, one_thread
from propercal.simulation.model import SimulatedSample
from studies.bias_rate_figures import figures
from studies.bias_rate_report import DEBIASED, conclusion, rate, reliability, table
from studies.data import Floats
from studies.losses import UNITS_OF_F, described


@dataclass(frozen=True)
class Design(StudyDesign):
    """The factors of the study, and how many replicates the debiased method sees as well."""

    debiased_replicates: int = factor(
        3, least=0, metavar="R", help="replicates of each cell that the default method sees too"
    )

    def cost(self, cell: Any) -> float:
        slow = cell.replicate < self.debiased_replicates
        return super().cost(cell) + (5e7 * cell.n_classes if slow else 0.0)


TINY = Design(
    generators=("log",),
    n_classes=(2, 3),
    bandwidths=(0.05, 0.003),
    sample_sizes=(30, 60, 120),
    n_replicates=6,
    debiased_replicates=2,
)
QUICK = Design(
    bandwidths=(0.1, 0.02), sample_sizes=(50, 100, 200, 400, 800), n_replicates=(40, 40, 30, 20, 20)
)
FULL = Design(
    bandwidths=(0.1, 0.02, 0.005, 0.001),
    sample_sizes=(50, 100, 200, 400, 800, 1600, 3200, 6400, 10_000),
    n_replicates=(400, 400, 400, 200, 100, 60, 40, 20, 20),
    debiased_replicates=20,
)
# A bias below two standard errors says nothing about a rate.
VISIBLE = 2.0


def measure(design: Design, cell: Any, seed: np.random.SeedSequence) -> dict[str, Floats]:
    """Measure the published estimates of one data set, and of some the debiased one too."""
    found = decompositions.measure(design, cell, seed)
    ours = np.full((len(design.generators), len(design.notions)), np.nan)
    if cell.replicate < design.debiased_replicates:
        sample = design.model(cell.n_classes).sample(cell.sample_size, seed)
        for i, notion in enumerate(design.notions):
            ours[:, i] = _debiased(design, sample, notion)
    return {**found, DEBIASED: ours}


def _debiased(design: Design, sample: SimulatedSample, notion: str) -> list[float]:
    with warnings.catch_warnings():
        # Of few rows and of shares of the kernel: both are part of what is measured.
        warnings.simplefilter("ignore", UserWarning)
        results = decompose(
            sample.y_true, sample.y_proba, generator=list(design.generators), notion=notion
        )
    return [float(result.calibration_error) for result in results]


class Fit(NamedTuple):
    """A slope of log |y| on log n, with the number of points it rests on."""

    slope: float
    standard_error: float
    points: int


def fit_slope(n: Floats, y: Floats, covariance: Floats, usable: NDArray[np.bool_]) -> Fit:
    """Fit log |y| on log n by generalised least squares, where |y| exceeds two standard errors.

    The covariance of log |y_i| and log |y_j| is that of y_i and y_j over y_i y_j, to first order.
    """
    usable = usable & (np.abs(y) > VISIBLE * np.sqrt(np.diag(covariance)))
    # A change of sign is not a power law: keep the sign of the largest n that is visible.
    if usable.any():
        usable &= np.sign(y) == np.sign(y[np.flatnonzero(usable)[-1]])
    points = int(usable.sum())
    if points < 2:
        return Fit(np.nan, np.nan, points)
    kept = y[usable]
    precision = np.linalg.inv(covariance[np.ix_(usable, usable)] / np.outer(kept, kept))
    x = np.stack([np.ones(points), np.log(n[usable])], axis=1)
    inverse = np.linalg.inv(x.T @ precision @ x)
    slope = (inverse @ x.T @ precision @ np.log(np.abs(kept)))[1]
    return Fit(float(slope), float(np.sqrt(inverse[1, 1])), points)


def asymptotic_sample_size(bandwidth: float, n_classes: int, notion: str) -> float:
    """Return γ^{-d/2}, below which a point has about no neighbour and the 1/n rate cannot begin."""
    dimension = 1 if notion == "classwise" else n_classes - 1
    return float(bandwidth ** (-dimension / 2))


def _reference(design: StudyDesign, task: tuple[str, int, float | None]) -> Any:
    """Integrate the truth, or the limits at one bandwidth, for every generator."""
    notion, k, gamma = task
    model, generators = design.model(k), design.generators
    with one_thread():
        if gamma is None:
            return task, [model.truth(g, notion) for g in generators]
        found = [[model.limit(g, notion, m, gamma) for m in design.methods] for g in generators]
        return task, found


def references(design: StudyDesign, n_workers: int) -> xr.Dataset:
    """Return truth and fixed-bandwidth limits, each with a bound on its error."""
    levels = design.levels()
    coords = {d: levels[d] for d in ("generator", "notion", "method", "n_classes", "bandwidth")}
    dims = {"truth": ("generator", "notion", "n_classes"), "limit": tuple(coords)}
    truth, limit = (
        xr.DataArray(
            np.full([*(len(coords[d]) for d in of), 2], np.nan),
            {d: coords[d] for d in of},
            (*of, "part"),
        )
        for of in dims.values()
    )
    tasks = [
        (notion, k, gamma)
        for k in sorted(design.n_classes, reverse=True)
        for notion in design.notions
        for gamma in (*design.bandwidths, None)
    ]
    for (notion, k, gamma), values in in_processes(partial(_reference, design), tasks, n_workers):
        where = {"notion": notion, "n_classes": k}
        if gamma is None:
            truth.loc[where] = values
        else:
            limit.loc[{**where, "bandwidth": gamma}] = values
    bound = "bound on the absolute error: three standard errors of the integral"
    of_limit = "limit of the estimate as n → ∞ at fixed bandwidth"
    return xr.Dataset(
        {
            "truth": truth[..., 0].assign_attrs(long_name="calibration error of the model"),
            "truth_error": truth[..., 1].assign_attrs(long_name=bound),
            "limit": limit[..., 0].assign_attrs(long_name=of_limit),
            "limit_error": limit[..., 1].assign_attrs(long_name=bound),
        }
    )


def summarise(design: StudyDesign, replicates: xr.Dataset, n_workers: int) -> xr.Dataset:
    """Return means, biases and slopes, with standard errors."""
    known = references(design, n_workers)
    estimate, saved = replicates["calibration_error"], replicates["loss_saved"]
    mean, standard_error = mean_and_error(estimate, "replicate")
    # The loss saved by the true E[Y | g(X)] has the truth as its mean and shares the sampling
    # noise: the mean difference shows the bias against the truth early.
    from_truth, noise = mean_and_error(estimate - saved, "replicate")
    relative = 100 / known["truth"]
    from_limit = from_truth + known["truth"] - known["limit"]
    error = np.sqrt((known["truth_error"] / 3) ** 2 + (known["limit_error"] / 3) ** 2)
    one = dict.fromkeys(("generator", "notion", "method", "n_classes", "bandwidth"), 0)
    its, percent = "its standard error", "%"
    saved_text = "mean of estimate − loss saved by the true E[Y | g(X)]"
    relative_text = "bias against the truth, relative to the truth"
    statistics: dict[str, tuple[xr.DataArray, str, str]] = {
        "mean": (mean, "mean estimate", UNITS_OF_F),
        "standard_error": (standard_error, "standard error of the mean estimate", UNITS_OF_F),
        "n_replicates": (estimate.notnull().sum("replicate").isel(one, drop=True), "", ""),
        "bias_from_truth": (from_truth, saved_text, UNITS_OF_F),
        "bias_from_truth_se": (noise, its, UNITS_OF_F),
        "bias_from_limit": (from_limit, "bias against the fixed-bandwidth limit", UNITS_OF_F),
        "bias_from_limit_se": (
            (noise**2 + error**2) ** 0.5,
            f"{its}, integration error of truth and limit included",
            UNITS_OF_F,
        ),
        "relative_bias": (relative * from_truth, relative_text, percent),
        "relative_bias_se": (relative.drop_attrs() * noise, its, percent),
    }
    statistics |= _of_debiased(replicates[DEBIASED], saved, relative)
    summary = known.assign({name: described(*of) for name, of in statistics.items()})
    return summary.assign(_slopes(summary, noise, design))


def _of_debiased(
    estimate: xr.DataArray, saved: xr.DataArray, relative: xr.DataArray
) -> dict[str, tuple[xr.DataArray, str, str]]:
    """Return mean and bias of the debiased estimate, whose sample sizes have their own axis."""
    mean, error = mean_and_error(estimate, "replicate")
    bias, noise = mean_and_error(estimate - saved, "replicate")
    found = {
        "mean": (mean, "mean debiased estimate", UNITS_OF_F),
        "standard_error": (error, "its standard error", UNITS_OF_F),
        "relative_bias": (relative * bias, "its bias, relative to the truth", "%"),
        "relative_bias_se": (relative.drop_attrs() * noise, "standard error of this bias", "%"),
    }
    return {
        f"{DEBIASED}_{name}": (of.rename(sample_size=f"{DEBIASED}_sample_size"), text, units)
        for name, (of, text, units) in found.items()
    }


def _slopes(summary: xr.Dataset, noise: xr.DataArray, design: StudyDesign) -> xr.Dataset:
    dims = ("generator", "notion", "method", "n_classes", "bandwidth")
    bias = summary["bias_from_limit"].transpose(*dims, "sample_size")
    se = summary["bias_from_limit_se"].transpose(*dims, "sample_size").values
    noise = noise.transpose(*dims, "sample_size")
    n = np.array(design.sample_sizes, dtype=np.float64)
    pairs = [(i, int(np.flatnonzero(n == 2 * n[i])[0])) for i in range(n.size) if 2 * n[i] in n]
    contrast = np.zeros((len(pairs), n.size))
    for row, (i, j) in enumerate(pairs):
        contrast[row, i], contrast[row, j] = 1.0, -1.0
    shape = bias.shape[:-1]
    slopes, nested = np.full((3, *shape), np.nan), np.full((3, *shape), np.nan)
    first = np.full(shape, np.nan)
    for at in np.ndindex(shape):
        _, notion, _, k, gamma = (bias[dim].values[i] for dim, i in zip(dims, at, strict=True))
        first[at] = asymptotic_sample_size(float(gamma), int(k), str(notion))
        usable = n >= first[at]
        y = bias.values[at]
        if not np.isfinite(y).all():
            continue
        slopes[(slice(None), *at)] = fit_slope(n, y, np.diag(se[at] ** 2), usable)
        if pairs:
            # The unknown limit, and the error of its integral, cancel in differences.
            covariance = contrast @ np.diag(noise.values[at] ** 2) @ contrast.T
            begin = np.array([i for i, _ in pairs])
            nested[(slice(None), *at)] = fit_slope(
                n[begin], contrast @ y, covariance, usable[begin]
            )
    visible = "points with |bias| > 2 s.e. and n ≥ asymptotic_sample_size"
    named = {
        "slope": (slopes[0], f"slope of log |bias_from_limit| on log n over {visible}"),
        "slope_se": (slopes[1], "standard error of slope"),
        "slope_points": (slopes[2], f"number of {visible}"),
        "nested_slope": (nested[0], "slope of log |E T_n − E T_2n| on log n"),
        "nested_slope_se": (nested[1], "standard error of nested_slope"),
        "nested_slope_points": (nested[2], "number of differences in nested_slope"),
        "asymptotic_sample_size": (first, "γ^(−d/2), d = 1 or n_classes − 1"),
    }
    coords = {dim: bias[dim] for dim in dims}
    return xr.Dataset(
        {name: described(xr.DataArray(x, coords, dims), text) for name, (x, text) in named.items()}
    )


STUDY = dataclasses.replace(
    DECOMPOSITIONS,
    name="bias_rate",
    about=__doc__ or "",
    presets={
        "tiny": (TINY, "three sample sizes, seconds"),
        "quick": (QUICK, "a minute on two cores"),
        "full": (FULL, "half an hour on two cores"),
    },
    outputs=[
        *DECOMPOSITIONS.outputs,
        Output(
            DEBIASED,
            ("generator", "notion", "n_classes", "sample_size", "replicate"),
            "debiased calibration error, of the first replicates",
            UNITS_OF_F,
        ),
    ],
    measure=measure,
    summarise=summarise,
    table=table,
    conclusion=conclusion,
    claims=(
        Claim("The bias falls like 1/n", rate, "section 4.2"),
        Claim(
            "Reliable class-wise estimates for any number of classes",
            reliability,
            "section 6.1, Fig. 2c",
        ),
    ),
    figures=figures,
    source="Fig. 2c, appendix",
    shown="estimate-classwise",
)

if __name__ == "__main__":
    sys.exit(main(STUDY))
