"""Studies that can be interrupted, and give the same digits on any machine park."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from propercal._data.words.messages import bad_value, unknown_name
from propercal.experiments.assembly import assemble
from propercal.experiments.datasets import (
    check_netcdf,
    is_damaged,
    keep_beside,
    read_dataset,
    say,
    write_dataset,
)
from propercal.experiments.factors import Cell, Factors
from propercal.experiments.lock import only_run
from propercal.experiments.provenance import SAME, provenance
from propercal.experiments.sources import (
    by_value,
    check_checkout,
    check_stamp,
    described,
    differences,
    files_of,
    functions_in,
    sources,
    stamped,
)
from propercal.experiments.store import CellResult, Journal
from propercal.experiments.study import F, Study, functions_of
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

    A dataset is of one code: versions and hashes of the package's sources and of the study's files
    are in its attributes and in the journal, and come back from every worker with every cell. A
    finished dataset of other code, or one that is damaged, is kept under another name.

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
        If a dataset in the folder belongs to another study, or a journal to another study or other
        code; if another run is at work there; if a worker has other code; or if the study's file
        lies in a checkout of this package that is not the one imported.
    ConnectionError
        If the scheduler cannot be reached, or is lost.
    ChildProcessError
        If a local worker is killed.
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
    with only_run(path):
        replicates = measured(study, factors, path.with_name("replicates.nc"), data=data, **places)
        summary = _finished(path, replicates.attrs)
        if summary is None:
            if progress:
                say("Summarising ...")
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
        functions=functions_of(study),
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
    functions: Sequence[Callable[..., Any]] = (),
    n_workers: int | None,
    scheduler: str | None,
    progress: bool,
) -> xr.Dataset:
    """Give `task` the cells that no journal has, and write the dataset of all.

    The files that hold `functions`, or else those of `task`, are the code of the study.
    """
    if n_workers is not None and n_workers < 1:
        raise bad_value("n_workers", repr(n_workers), "1 or more", "leave it out for all cores")
    # Not only when all cells are done.
    check_netcdf()
    code = functions or (task, assembled)
    check_checkout(files_of(each for part in code for each in functions_in(part)))
    attributes = provenance(factors, code)
    journal_path = path.with_name(path.name + ".journal")
    if path.exists() and not journal_path.exists() and not is_damaged(path):
        # It may lie where nothing, not even a lock, can be written.
        dataset = read_dataset(path)
        if not _differences(dataset, attributes):
            return dataset
    with only_run(path):
        finished = _finished(path, attributes)
        if finished is not None:
            # Killed between the dataset's last byte and the end of its journal.
            journal_path.unlink(missing_ok=True)
            return finished
        cells = {cell: cell for cell in sorted(factors.cells(), key=factors.cost, reverse=True)}
        # A journal has the levels of a cell without their names.
        journal = Journal(journal_path, {name: attributes[name] for name in SAME}, cells)
        results = journal.finished
        done = {result.cell for result in results}
        missing = [cell for cell in cells if cell not in done]
        with journal:
            computed = _computed(task, missing, sources(code), n_workers, scheduler)
            if progress:
                computed = _with_progress(computed, factors, results)
            for result in computed:
                journal.append(result)
                results.append(result)
        write_dataset(assembled(results).assign_attrs(attributes), path)
        journal.path.unlink()
        return read_dataset(path)


def _computed(
    task: Callable[[Any], CellResult],
    cells: Iterable[Cell],
    expected: Mapping[str, str],
    n_workers: int | None,
    scheduler: str | None,
) -> Iterator[CellResult]:
    """Yield results as they come, each from a process with the code of this one."""

    def check(found: tuple[str, str], worker: str) -> None:
        stamp = dict(zip(("version", "propercal"), found, strict=True))
        check_stamp(stamp, expected, f"worker {worker}")

    known = partial(stamped, task)
    computed = (
        on_cluster(known, cells, scheduler, probe=by_value(described), check=check)
        if scheduler is not None
        else in_processes(known, cells, n_workers or n_cores())
    )
    for each in computed:
        check_stamp(each.sources, expected, "worker")
        yield each.result


def run_cell(measure: Callable[..., Mapping[str, Any]], factors: Factors, cell: Cell) -> CellResult:
    """Measure one cell, by one thread and from its own random numbers."""
    seed = np.random.SeedSequence(factors.entropy, spawn_key=factors.key(cell))
    with one_thread():
        numbers = measure(factors, cell, seed)
    return CellResult(cell, {name: np.asarray(value).tolist() for name, value in numbers.items()})


def _finished(path: Path, attributes: Mapping[str, Any]) -> xr.Dataset | None:
    """Return the dataset at `path` if it is this study by this code; refuse another study's.

    What is damaged, or by other code, is kept under another name.
    """
    if not path.exists():
        return None
    if is_damaged(path):
        keep_beside(path, "is damaged (its checksum differs)", "damaged")
        return None
    dataset = read_dataset(path)
    if dataset.attrs.get("design") != attributes["design"]:
        raise bad_value(
            "path",
            str(path),
            "a new file or this very study, but it holds another study",
            "choose another path, or delete it",
        )
    other = _differences(dataset, attributes)
    if other:
        keep_beside(path, "was made by other code: " + ", ".join(other), "earlier")
        return None
    return dataset


def _differences(dataset: xr.Dataset, attributes: Mapping[str, Any]) -> list[str]:
    return differences(dataset.attrs, {name: attributes[name] for name in SAME})


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
