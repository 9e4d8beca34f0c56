"""From replicates to bias, its standard error and its rate."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from propercal.experiments import StudyDesign
from propercal.experiments.workers import in_processes, one_thread

Floats = NDArray[np.float64]

# A bias below two standard errors says nothing about a rate.
VISIBLE = 2.0


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


class _Reference(NamedTuple):
    notion: str
    n_classes: int
    bandwidth: float | None


def _reference(design: StudyDesign, task: _Reference) -> tuple[_Reference, list[list[float]]]:
    """Integrate the truth, or the limits at one bandwidth, for every generator."""
    model = design.model(task.n_classes)
    with one_thread():
        if task.bandwidth is None:
            return task, [list(model.truth(g, task.notion)) for g in design.generators]
        return task, [
            list(model.limit(g, task.notion, method, task.bandwidth))
            for g in design.generators
            for method in design.methods
        ]


def references(design: StudyDesign, n_workers: int) -> xr.Dataset:
    """Return truth and fixed-bandwidth limits, each with a bound on its error."""
    coords: dict[str, list[Any]] = {
        "generator": list(design.generator_names),
        "notion": list(design.notions),
        "method": list(design.methods),
        "n_classes": list(design.n_classes),
        "bandwidth": list(design.bandwidths),
    }
    truth_dims = ("generator", "notion", "n_classes")
    truth = xr.DataArray(
        np.full((*(len(coords[d]) for d in truth_dims), 2), np.nan),
        dims=(*truth_dims, "part"),
        coords={d: coords[d] for d in truth_dims},
    )
    limit = xr.DataArray(
        np.full((*(len(levels) for levels in coords.values()), 2), np.nan),
        dims=(*coords, "part"),
        coords=coords,
    )
    tasks = [
        _Reference(notion, k, gamma)
        for k in sorted(design.n_classes, reverse=True)
        for notion in design.notions
        for gamma in (*design.bandwidths, None)
    ]
    for task, values in in_processes(partial(_reference, design), tasks, n_workers):
        where = {"notion": task.notion, "n_classes": task.n_classes}
        if task.bandwidth is None:
            truth.loc[where] = values
        else:
            shape = (len(design.generators), len(design.methods), 2)
            limit.loc[{**where, "bandwidth": task.bandwidth}] = np.reshape(values, shape)
    bound = "bound on the absolute error: three standard errors of the integral"
    return xr.Dataset(
        {
            "truth": truth[..., 0].assign_attrs(long_name="calibration error of the model"),
            "truth_error": truth[..., 1].assign_attrs(long_name=bound),
            "limit": limit[..., 0].assign_attrs(
                long_name="limit of the estimate as n → ∞ at fixed bandwidth"
            ),
            "limit_error": limit[..., 1].assign_attrs(long_name=bound),
        }
    )


def summarise(replicates: xr.Dataset, known: xr.Dataset, design: StudyDesign) -> xr.Dataset:
    """Return means, biases and slopes, with standard errors."""
    estimate, saved = replicates["calibration_error"], replicates["loss_saved"]
    count = estimate.notnull().sum("replicate")
    # The loss saved by the true E[Y | g(X)] has the truth as its mean and shares the sampling
    # noise: the mean difference shows the bias against the truth early.
    difference = estimate - saved
    from_truth = difference.mean("replicate")
    noise = difference.std("replicate", ddof=1) / np.sqrt(count)
    relative = 100 / known["truth"]
    from_limit = from_truth + known["truth"] - known["limit"]
    error = np.sqrt((known["truth_error"] / 3) ** 2 + (known["limit_error"] / 3) ** 2)
    units = {"units": "units of F (log: nats)"}
    summary = known.assign(
        mean=estimate.mean("replicate").assign_attrs(units, long_name="mean estimate"),
        standard_error=(estimate.std("replicate", ddof=1) / np.sqrt(count)).assign_attrs(
            units, long_name="standard error of the mean estimate"
        ),
        n_replicates=count.isel(
            generator=0, notion=0, method=0, n_classes=0, bandwidth=0, drop=True
        ),
        bias_from_truth=from_truth.assign_attrs(
            units, long_name="mean of estimate − loss saved by the true E[Y | g(X)]"
        ),
        bias_from_truth_se=noise.assign_attrs(units, long_name="its standard error"),
        bias_from_limit=from_limit.assign_attrs(
            units, long_name="bias against the fixed-bandwidth limit"
        ),
        bias_from_limit_se=((noise**2 + error**2) ** 0.5).assign_attrs(
            units, long_name="its standard error, integration error of truth and limit included"
        ),
        relative_bias=(relative * from_truth).assign_attrs(
            units="%", long_name="bias against the truth, relative to the truth"
        ),
        relative_bias_se=(relative * noise).assign_attrs(units="%", long_name="its standard error"),
    )
    return summary.assign(_slopes(summary, noise, design))


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
    coords = {dim: bias[dim] for dim in dims}

    def variable(values: Floats, text: str) -> xr.DataArray:
        return xr.DataArray(values, dims=dims, coords=coords, attrs={"long_name": text})

    visible = "points with |bias| > 2 s.e. and n ≥ asymptotic_sample_size"
    return xr.Dataset(
        {
            "slope": variable(slopes[0], f"slope of log |bias_from_limit| on log n over {visible}"),
            "slope_se": variable(slopes[1], "standard error of slope"),
            "slope_points": variable(slopes[2], f"number of {visible}"),
            "nested_slope": variable(nested[0], "slope of log |E T_n − E T_2n| on log n"),
            "nested_slope_se": variable(nested[1], "standard error of nested_slope"),
            "nested_slope_points": variable(nested[2], "number of differences in nested_slope"),
            "asymptotic_sample_size": variable(first, "γ^(−d/2), d = 1 or n_classes − 1"),
        }
    )
