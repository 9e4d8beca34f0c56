"""Monte Carlo studies that can be interrupted, and give the same digits on any machine park."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Iterable, Iterator
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from propercal._messages import bad_value
from propercal.decomposition import decompose
from propercal.generators import as_generator
from propercal.result import TERMS
from propercal.simulation.design import Cell, StudyDesign
from propercal.simulation.model import SimulatedSample, complement
from propercal.simulation.quadrature import Floats
from propercal.simulation.store import CellResult, Journal, read_dataset, write_dataset
from propercal.simulation.workers import in_processes, on_cluster, one_thread

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
    path = Path(path)
    if n_workers is not None and n_workers < 1:
        raise bad_value("n_workers", repr(n_workers), "1 or more", "leave it out for all cores")
    attributes = _provenance(design)
    finished = _finished(path, attributes)
    if finished is not None:
        return finished
    journal = Journal(
        path.with_name(path.name + ".journal"),
        {name: attributes[name] for name in ("design", "versions", "commit")},
    )
    results = list(journal.finished)
    done = {result.cell for result in results}
    missing = [cell for cell in design.cells() if cell not in done]
    task = partial(run_cell, design)
    with journal:
        computed = (
            on_cluster(task, missing, scheduler)
            if scheduler is not None
            else in_processes(task, missing, n_workers or _n_cores())
        )
        for result in _with_progress(computed, design, done) if progress else computed:
            journal.append(result)
            results.append(result)
    dataset = _assemble(design, results).assign_attrs(attributes)
    write_dataset(dataset, path)
    journal.path.unlink()
    return read_dataset(path)


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
    return CellResult(cell, terms.tolist(), loss_saved.tolist())


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
        k = where["n_classes"][result.cell.n_classes]
        n = where["sample_sizes"][result.cell.sample_size]
        terms[:, :, :, :, k, :, n, result.cell.replicate] = np.moveaxis(
            np.asarray(result.terms), -1, 0
        )
        loss_saved[:, :, k, n, result.cell.replicate] = result.loss_saved
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


def _provenance(design: StudyDesign) -> dict[str, str]:
    packages = ("numpy", "scipy", "xarray")
    versions = {"propercal": _own_version(), **{name: version(name) for name in packages}}
    return {
        "design": design.to_json(),
        "seed": str(design.seed),
        "versions": json.dumps({**versions, "python": platform.python_version()}),
        "platform": f"{platform.system()} {platform.machine()}",
        "commit": _commit(),
    }


def _own_version() -> str:
    from propercal import __version__

    return __version__


def _commit() -> str:
    """Return the commit of the source tree, if this file is part of one."""
    here = Path(__file__)

    def git(*arguments: str) -> str:
        return subprocess.run(  # noqa: S603
            ["git", *arguments],  # noqa: S607
            cwd=here.parent,
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()

    try:
        git("ls-files", "--error-unmatch", here.name)
        return git("describe", "--always", "--dirty", "--abbrev=40", "--exclude=*")
    except (OSError, subprocess.CalledProcessError):
        return "none"


def _finished(path: Path, attributes: dict[str, str]) -> xr.Dataset | None:
    """Return the dataset at `path` if it is this study by this code; refuse another study's."""
    if not path.exists():
        return None
    dataset = read_dataset(path)
    if dataset.attrs.get("design") != attributes["design"]:
        raise bad_value(
            "path",
            str(path),
            "a new file or this very study, but it holds another study",
            "choose another path, or delete it",
        )
    same = all(dataset.attrs.get(name) == value for name, value in attributes.items())
    return dataset if same else None


def _with_progress(
    results: Iterator[CellResult], design: StudyDesign, done: set[Cell]
) -> Iterator[CellResult]:
    """Show progress in expected time rather than in cells, whose costs differ a thousandfold."""
    from tqdm import tqdm

    cost = {cell: design.cost(cell) for cell in design.cells()}
    total = sum(cost.values())
    with tqdm(
        total=100.0,
        initial=100 * sum(cost[cell] for cell in done) / total,
        desc="simulating",
        bar_format="{desc} {percentage:3.0f}%|{bar}| {elapsed} gone, {remaining} left",
        mininterval=0.5,
    ) as bar:
        for result in results:
            share = 100 * cost[result.cell] / total
            bar.update(min(share, 100.0 - bar.n))
            yield result


def _n_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
