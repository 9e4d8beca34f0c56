"""The cells of a Monte Carlo study, computed once each, whatever interrupts the study."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from propercal._data.messages import bad_value
from propercal.experiments.store import CellResult, Journal, read_dataset, write_dataset
from propercal.experiments.workers import in_processes, on_cluster

if TYPE_CHECKING:
    import xarray as xr


class Design(Protocol):
    """What a study must say about itself."""

    @property
    def seed(self) -> int:
        """Entropy of every random number."""

    def cells(self) -> Sequence[Any]:
        """Return tuples that name the data sets, the costliest first."""

    def cost(self, cell: Any) -> float:
        """Return the expected time of a cell, in arbitrary units."""

    def to_json(self) -> str:
        """Return all that the results depend on, besides the code."""


_Design = TypeVar("_Design", bound=Design)


def run_cells(
    run_cell: Callable[[_Design, Any], CellResult],
    design: _Design,
    path: str | os.PathLike[str],
    assemble: Callable[[_Design, Iterable[CellResult]], xr.Dataset],
    *,
    n_workers: int | None = None,
    scheduler: str | None = None,
    progress: bool = True,
) -> xr.Dataset:
    """Compute the cells that are missing, and write or read the dataset they make."""
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
    dataset = assemble(design, results).assign_attrs(attributes)
    write_dataset(dataset, path)
    journal.path.unlink()
    return read_dataset(path)


def _provenance(design: Design) -> dict[str, str]:
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
    results: Iterator[CellResult], design: Design, done: set[tuple[Any, ...]]
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
