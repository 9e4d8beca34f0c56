"""Terms of a decomposition over many simulated data sets, and the loss that recalibration saves."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from propercal._data.predictions.notions import as_notion
from propercal.decomposition import decompose
from propercal.experiments.design import StudyDesign
from propercal.experiments.runner import measured
from propercal.experiments.study import Output, Study
from propercal.generators import as_generator
from propercal.result import TERMS
from propercal.simulation.model import SimulatedSample, complement
from propercal.simulation.quadrature import Floats

if TYPE_CHECKING:
    import xarray as xr

_UNITS = "units of F (log: nats)"
_DIMS = ("generator", "notion", "method", "n_classes", "bandwidth", "sample_size", "replicate")
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
    """Run a study of :class:`StudyDesign`, or the rest of it, and return its dataset.

    Every finished cell is on disk at once, in a journal beside `path`, as :func:`run` has it.

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
    return measured(
        DECOMPOSITIONS, design, path, n_workers=n_workers, scheduler=scheduler, progress=progress
    )


def measure(design: StudyDesign, cell: Any, seed: np.random.SeedSequence) -> dict[str, Floats]:
    """Simulate one data set and measure every estimator of the design on it."""
    model = design.model(cell.n_classes)
    sample = model.sample(cell.sample_size, seed)
    shape = tuple(len(f) for f in (design.generators, design.notions, design.methods))
    terms = np.empty((len(TERMS), *shape, len(design.bandwidths)))
    loss_saved = np.empty(shape[:2])
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
                terms[:, :, b, c, d] = [[getattr(p, term) for p in parts] for term in TERMS]
    return {**dict(zip(TERMS, terms, strict=True)), "loss_saved": loss_saved}


def _loss_saved(generator: Any, sample: SimulatedSample, r: Floats, notion: str) -> float:
    """Return the mean of L_F(g, y) − L_F(r, y), whose expectation is the calibration error."""
    outcome = np.eye(r.shape[1])[sample.y_true]
    g = sample.y_proba
    if as_notion(notion).per_class:
        g = np.stack([complement(g), g], axis=-1)
        r, outcome = (np.stack([1 - x, x], axis=-1) for x in (r, outcome))
    return float(np.mean(generator.loss(g, outcome) - generator.loss(r, outcome)))


DECOMPOSITIONS = Study(
    name="decompositions",
    about="Terms of a decomposition on simulated data sets.",
    presets={"quick": (StudyDesign(), "two minutes on two cores")},
    outputs=[
        *(Output(term, _DIMS, _DESCRIPTIONS[term], _UNITS) for term in TERMS),
        Output(
            "loss_saved",
            ("generator", "notion", "n_classes", "sample_size", "replicate"),
            "mean loss that recalibration by the true E[Y | g(X)] saves",
            _UNITS,
        ),
    ],
    measure=measure,
)
