"""Studies that can be interrupted, and give the same digits on any machine park."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from propercal._data.messages import bad_value, unknown_name
from propercal.experiments.assembly import assemble
from propercal.experiments.factors import Cell, Factors
from propercal.experiments.provenance import provenance
from propercal.experiments.store import CellResult, Journal, read_dataset, write_dataset
from propercal.experiments.study import F, Study
from propercal.experiments.workers import in_processes, n_cores, on_cluster, one_thread

if TYPE_CHECKING:
    import xarray as xr


def run(
    study: Study[F],
    factors: F | str,
    folder: str | os.PathLike[str],
    *,
    data: str | os.PathLike[str] | None = None,
    n_workers: int | None = None,
    scheduler: str | None = None,
    progress: bool = True,
) -> xr.Dataset:
    """Run a study, or the rest of it, and return its dataset.

    Every finished cell is on disk at once, in a journal. After Ctrl-C, a crash or ``kill -9`` the
    same call computes the cells that are missing and writes the dataset it would have written.
    Neither the number of workers nor where they run changes a digit.

    Parameters
    ----------
    study : Study
        What to vary and to measure.
    factors : Factors or str
        The levels, or the name of a preset.
    folder : path-like
        Where ``NAME.nc`` is written, and ``replicates.nc`` where the study has a summary. If this
        study is there already, it is read and returned.
    data : path-like, optional
        Folder of the files that a study of files reads.
    n_workers : int, optional
        Local processes; one for each core by default.
    scheduler : str, optional
        Address of a Dask scheduler, such as ``"tcp://host:8786"``, to use instead.
    progress : bool
        Show the share done and the time left on standard error.

    Returns
    -------
    xarray.Dataset
        The outputs of the study, or its summary. The attributes hold the factors (JSON), the seed,
        versions and platform.

    Raises
    ------
    ValueError
        If a dataset or a journal in the folder belongs to another study.
    ImportError
        If `scheduler` is given and Dask distributed is not installed.
    """
    if isinstance(factors, str):
        if factors not in study.presets:
            raise unknown_name("factors", factors, tuple(study.presets))
        factors, _ = study.presets[factors]
    if study.read is not None:
        factors = study.read(factors, Path(data or study.data or "."))
    places: dict[str, Any] = {"n_workers": n_workers, "scheduler": scheduler, "progress": progress}
    path = Path(folder) / f"{study.name}.nc"
    if study.summarise is None:
        return measured(study, factors, path, data=data, **places)
    replicates = measured(study, factors, path.with_name("replicates.nc"), data=data, **places)
    summary = _earlier(path, replicates.attrs)
    if summary is None:
        if progress:
            sys.stderr.write("Summarising ...\n")
        summary = study.summarise(factors, replicates, n_workers or n_cores())
        summary = summary.assign_attrs(replicates.attrs)
        write_dataset(summary, path)
    return summary


def measured(
    study: Study[F],
    factors: F,
    path: str | os.PathLike[str],
    *,
    data: str | os.PathLike[str] | None = None,
    n_workers: int | None = None,
    scheduler: str | None = None,
    progress: bool = True,
) -> xr.Dataset:
    """Compute the cells that are missing, and write or read the dataset they make."""
    measure = study.measure
    if study.read is not None:
        measure = partial(measure, data=Path(data or study.data or "."))
    return collected(
        partial(run_cell, measure, factors),
        factors,
        Path(path),
        partial(assemble, study, factors),
        n_workers=n_workers,
        scheduler=scheduler,
        progress=progress,
    )


def collected(
    task: Callable[[Any], CellResult],
    factors: Factors,
    path: Path,
    assembled: Callable[[Iterable[CellResult]], xr.Dataset],
    *,
    n_workers: int | None,
    scheduler: str | None,
    progress: bool,
) -> xr.Dataset:
    """Give `task` the cells that no journal has, and write the dataset of all."""
    if n_workers is not None and n_workers < 1:
        raise bad_value("n_workers", repr(n_workers), "1 or more", "leave it out for all cores")
    attributes = provenance(factors)
    finished = _finished(path, attributes)
    if finished is not None:
        return finished
    journal = Journal(
        path.with_name(path.name + ".journal"),
        {name: attributes[name] for name in ("design", "versions", "commit")},
    )
    cells = {cell: cell for cell in sorted(factors.cells(), key=factors.cost, reverse=True)}
    # A journal has the levels of a cell without their names.
    results = [CellResult(cells[done], numbers) for done, numbers in journal.finished]
    missing = [cell for cell in cells if cell not in {done.cell for done in results}]
    with journal:
        computed = (
            on_cluster(task, missing, scheduler)
            if scheduler is not None
            else in_processes(task, missing, n_workers or n_cores())
        )
        for result in _with_progress(computed, factors, results) if progress else computed:
            journal.append(result)
            results.append(result)
    dataset = assembled(results).assign_attrs(attributes)
    write_dataset(dataset, path)
    journal.path.unlink()
    return read_dataset(path)


def run_cell(measure: Callable[..., Mapping[str, Any]], factors: Factors, cell: Cell) -> CellResult:
    """Measure one cell, by one thread and from its own random numbers."""
    seed = np.random.SeedSequence(factors.entropy, spawn_key=factors.key(cell))
    with one_thread():
        numbers = measure(factors, cell, seed)
    return CellResult(cell, {name: np.asarray(value).tolist() for name, value in numbers.items()})


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


def _earlier(path: Path, attributes: Mapping[str, Any]) -> xr.Dataset | None:
    """Return the summary of an earlier run of this very study, which may have taken most time.

    Code that is not committed leaves no trace in the provenance, so it is never relied upon.
    """
    if not path.exists() or str(attributes["commit"]).endswith("-dirty"):
        return None
    earlier = read_dataset(path)
    same = all(earlier.attrs.get(name) == value for name, value in attributes.items())
    return earlier if same else None


def _with_progress(
    results: Iterator[CellResult], factors: Factors, done: Iterable[CellResult]
) -> Iterator[CellResult]:
    """Show progress in expected time rather than in cells, whose costs differ a thousandfold."""
    from tqdm import tqdm

    total = sum(map(factors.cost, factors.cells()))
    with tqdm(
        total=100.0,
        initial=100 * sum(factors.cost(result.cell) for result in done) / total,
        desc="simulating",
        bar_format="{desc} {percentage:3.0f}%|{bar}| {elapsed} gone, {remaining} left",
        mininterval=0.5,
    ) as bar:
        for result in results:
            share = 100 * factors.cost(result.cell) / total
            bar.update(min(share, 100.0 - bar.n))
            yield result
