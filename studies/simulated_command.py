"""The command of the studies that compare estimates of a known calibration error."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import xarray as xr

from studies import simulated_figures
from studies.preset_command import Study
from studies.simulated_design import SMOOTHERS, Design, assemble, run_cell


def study(
    *,
    name: str,
    about: str,
    presets: Mapping[str, tuple[Design, str]],
    table: Callable[[xr.Dataset], str],
    save: Callable[[xr.Dataset, Path, Any], list[Path]],
) -> Study:
    """Return a study of simulated samples."""
    return Study(
        name=name,
        about=about,
        presets=presets,
        axes={
            "smoothers": {"nargs": "+", "metavar": "NAME", "help": "; ".join(SMOOTHERS)},
            "generators": {"nargs": "+", "metavar": "NAME", "help": "log, brier, spherical, ..."},
            "n_classes": {"nargs": "+", "type": int, "metavar": "K"},
            "sample_sizes": {"nargs": "+", "type": int, "metavar": "N"},
            "n_replicates": {"nargs": "+", "type": int, "metavar": "R", "help": "one for each N"},
            "label_temperature": {"type": float, "metavar": "T1"},
            "score_temperature": {"type": float, "metavar": "T2"},
        },
        run_cell=run_cell,
        assemble=assemble,
        table=table,
        figures=simulated_figures.figures,
        save=save,
    )
