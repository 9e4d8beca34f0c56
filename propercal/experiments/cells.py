"""Cells of designs that are not yet :class:`Factors`."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from propercal.experiments.runner import collected


def run_cells(
    run_cell: Callable[..., Any],
    design: Any,
    path: str | os.PathLike[str],
    assemble: Callable[..., Any],
    *,
    n_workers: int | None = None,
    scheduler: str | None = None,
    progress: bool = True,
) -> Any:
    """Compute the cells that are missing, and write or read the dataset they make."""
    places: dict[str, Any] = {"n_workers": n_workers, "scheduler": scheduler, "progress": progress}
    task, assembled = partial(run_cell, design), partial(assemble, design)
    return collected(task, design, Path(path), assembled, functions=[assemble], **places)
