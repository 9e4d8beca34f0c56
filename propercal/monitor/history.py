"""What a monitor knew after some of its rows, as a dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from propercal.monitor.settings import Settings
from propercal.monitor.state import Limits, State

if TYPE_CHECKING:
    import xarray as xr


def history_of(state: State, limits: Limits, own: Settings) -> xr.Dataset:
    """Return the dataset that :meth:`CalibrationMonitor.history` describes."""
    import xarray as xr

    points = state.points(limits)
    found = {
        "log_e_value": points[:, 1],
        "p_value": np.exp(-points[:, 2]),
        "log_drift": points[:, 3],
        "lower_bound": points[:, 4],
    }
    units = {"lower_bound": {"units": "nats"}} if limits.generator.name == "log" else {}
    return xr.Dataset(
        {name: ("row", each, units.get(name, {})) for name, each in found.items()},
        coords={"row": own.first_row + points[:, 0].astype(np.int64) - 1},
        attrs={
            "generator": repr(limits.generator),
            "notion": own.notion,
            "alpha": own.alpha,
            "run_length": own.run_length,
            "n_classes": own.n_classes,
            "n_samples": state.n_rows,
        },
    )
