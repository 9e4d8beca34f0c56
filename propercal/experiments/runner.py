"""Monte Carlo studies that can be interrupted, and give the same digits on any machine park."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from propercal.decomposition import decompose
from propercal.experiments.cells import run_cells
from propercal.experiments.design import Cell, StudyDesign
from propercal.experiments.store import CellResult
from propercal.experiments.workers import one_thread
from propercal.generators import as_generator
from propercal.result import TERMS
from propercal.simulation.model import SimulatedSample, complement
from propercal.simulation.quadrature import Floats

if TYPE_CHECKING:
    import xarray as xr

_DESCRIPTIONS = {
    "risk": "mean loss",
    "calibration_error": "estimated calibration error",
    "refinement": "estimated refinement",
    "sharpness": "estimated sharpness",
    "uncertainty": "loss of the best constant prediction",
}


def run_study(
    design: StudyDesign,
    path: str | os.PathLike[str],
    *,
    n_workers: int | None = None,
    scheduler: str | None = None,
    progress: bool = True,
) -> xr.Dataset:
    """Run a study, or the rest of it, and return its dataset.

    Every finished cell is on disk at once, in a journal beside `path`. After Ctrl-C, a crash or
    ``kill -9`` the same call computes the cells that are missing and writes the dataset it would
    have written. Neither the number of workers nor where they run changes a digit.

    Parameters
    ----------
    design : StudyDesign
        What to simulate and measure.
    path : path-like
        netCDF file to write. If it already holds this study, it is read and returned.
    n_workers : int, optional
        Local processes; one for each core by default.
    scheduler : str, optional
        Address of a Dask scheduler, such as ``"tcp://host:8786"``, to use instead.
    progress : bool
        Show the share done and the time left on standard error.

    Returns
    -------
    xarray.Dataset
        The five terms of a decomposition over (generator, notion, method, n_classes, bandwidth,
        sample_size, replicate), and ``loss_saved``, mean L_F(g, y) − L_F(r, y) with the true
        r = E[Y | g(X)]: its expectation is the calibration error itself, and its sampling noise is
        that of a good estimate, so that differences from it show bias early. Absent replicates are
        NaN. The attributes hold the design (JSON), the seed, versions and platform.

    Raises
    ------
    ValueError
        If `path` or its journal belongs to another study.
    ImportError
        If `scheduler` is given and Dask distributed is not installed.
    """
    return run_cells(
        run_cell,
        design,
        path,
        _assemble,
        n_workers=n_workers,
        scheduler=scheduler,
        progress=progress,
    )


def run_cell(design: StudyDesign, cell: Cell) -> CellResult:
    """Simulate one data set and measure every estimator of the design on it."""
    model = design.model(cell.n_classes)
    seed = np.random.SeedSequence(design.seed, spawn_key=cell)
    sample = model.sample(cell.sample_size, seed)
    shape = tuple(len(f) for f in (design.generators, design.notions, design.methods))
    terms = np.empty((*shape, len(design.bandwidths), len(TERMS)))
    loss_saved = np.empty(shape[:2])
    with one_thread():
        for b, notion in enumerate(design.notions):
            r = model.conditional_probability(sample.y_proba, notion)
            loss_saved[:, b] = [
                _loss_saved(as_generator(g), sample, r, notion) for g in design.generators
            ]
            for c, method in enumerate(design.methods):
                for d, bandwidth in enumerate(design.bandwidths):
                    parts = decompose(
                        sample.y_true,
                        sample.y_proba,
                        generator=list(design.generators),
                        notion=notion,
                        method=method,
                        bandwidth=bandwidth,
                    )
                    terms[:, b, c, d] = [[getattr(p, term) for term in TERMS] for p in parts]
    return CellResult(cell, {"terms": terms.tolist(), "loss_saved": loss_saved.tolist()})


def _loss_saved(generator: Any, sample: SimulatedSample, r: Floats, notion: str) -> float:
    """Return the mean of L_F(g, y) − L_F(r, y), whose expectation is the calibration error."""
    outcome = np.eye(r.shape[1])[sample.y_true]
    g = sample.y_proba
    if notion == "classwise":
        g = np.stack([complement(g), g], axis=-1)
        r, outcome = (np.stack([1 - x, x], axis=-1) for x in (r, outcome))
    return float(np.mean(generator.loss(g, outcome) - generator.loss(r, outcome)))


def _assemble(design: StudyDesign, results: Iterable[CellResult]) -> xr.Dataset:
    import xarray as xr

    outer = ("generator", "notion")
    replicates = max(design.replicates_of.values())
    where = {
        name: {level: i for i, level in enumerate(getattr(design, name))}
        for name in ("n_classes", "sample_sizes")
    }
    shape = tuple(
        len(f) for f in (design.generators, design.notions, design.methods, design.n_classes)
    )
    sizes = (len(design.sample_sizes), replicates)
    terms = np.full((len(TERMS), *shape, len(design.bandwidths), *sizes), np.nan)
    loss_saved = np.full((*shape[:2], shape[3], *sizes), np.nan)
    for result in results:
        cell = Cell(*result.cell)
        k = where["n_classes"][cell.n_classes]
        n = where["sample_sizes"][cell.sample_size]
        terms[:, :, :, :, k, :, n, cell.replicate] = np.moveaxis(
            np.asarray(result.numbers["terms"]), -1, 0
        )
        loss_saved[:, :, k, n, cell.replicate] = result.numbers["loss_saved"]
    inner = ("sample_size", "replicate")
    variables: dict[str, Any] = {
        term: (
            (*outer, "method", "n_classes", "bandwidth", *inner),
            terms[i],
            {"long_name": _DESCRIPTIONS[term], "units": "units of F (log: nats)"},
        )
        for i, term in enumerate(TERMS)
    }
    variables["loss_saved"] = (
        (*outer, "n_classes", *inner),
        loss_saved,
        {
            "long_name": "mean loss that recalibration by the true E[Y | g(X)] saves",
            "units": "units of F (log: nats)",
        },
    )
    return xr.Dataset(
        variables,
        coords={
            "generator": list(design.generator_names),
            "notion": list(design.notions),
            "method": list(design.methods),
            "n_classes": np.array(design.n_classes, dtype=np.int64),
            "bandwidth": np.array(design.bandwidths, dtype=np.float64),
            "sample_size": np.array(design.sample_sizes, dtype=np.int64),
            "replicate": np.arange(replicates),
        },
    )
