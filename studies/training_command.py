"""The command of the studies that train networks."""

from __future__ import annotations

import dataclasses
import importlib.util
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import xarray as xr

from studies.preset_command import Study
from studies.training_data import digest
from studies.training_design import Design, Layout, Measure, assemble, run_cell


def study(
    *,
    name: str,
    about: str,
    presets: Mapping[str, tuple[Design, str]],
    measure: Measure,
    layout: Layout,
    table: Callable[[xr.Dataset], str],
    figures: Sequence[str],
    save: Callable[[xr.Dataset, Path, str], list[Path]],
) -> Study:
    """Return a study of networks while they are trained."""
    return Study(
        name=name,
        about=about,
        presets=presets,
        axes={
            "activations": {"nargs": "+", "metavar": "NAME", "help": "relu, tanh"},
            "epochs": {"nargs": "+", "type": int, "metavar": "E", "help": "when to look"},
            "n_seeds": {"type": int, "metavar": "R", "help": "networks, each with its rows"},
            "n_train": {"type": int, "metavar": "N", "help": "rows to train on"},
            "n_evaluated": {"type": int, "metavar": "N", "help": "rows to look at"},
        },
        run_cell=partial(run_cell, measure=measure),
        assemble=partial(assemble, layout),
        table=table,
        figures=lambda _: figures,
        save=save,
        read=_read,
    )


def _read(design: Design, data: Path) -> Design:
    if importlib.util.find_spec("torch") is None:
        raise ValueError('training needs torch: pip install "propercal[torch]"')
    return dataclasses.replace(design, content=digest(design.data, data))
