"""What a monitor knew after some of its rows, and knows now, in forms that others read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from propercal._results.pages import Page
from propercal.monitor.settings import Settings
from propercal.monitor.state import Limits, State

if TYPE_CHECKING:
    import xarray as xr

    from propercal.monitor.monitor import CalibrationMonitor

_NUMBERS = (
    "log_e_value",
    "e_value",
    "p_value",
    "lower_bound",
    "drift",
    "alarm",
    "drift_alarm",
    "alarm_row",
    "drift_row",
    "drift_start",
)
_SETTINGS = ("notion", "alpha", "run_length", "n_classes", "n_samples", "first_row")


def history_of(state: State, limits: Limits, own: Settings) -> xr.Dataset:
    """Return the dataset that :meth:`CalibrationMonitor.history` describes."""
    import xarray as xr

    # A copy, which the caller may change.
    points = state.points(limits).copy()
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


def state_of(monitor: CalibrationMonitor) -> xr.Dataset:
    """Return the dataset that :meth:`CalibrationMonitor.to_xarray` describes."""
    import xarray as xr

    units = {"units": "nats"} if monitor.generator.name == "log" else {}
    found = {
        name: np.nan if (value := getattr(monitor, name)) is None else float(value)
        for name in _NUMBERS
    }
    return xr.Dataset(
        {
            name: ((), value, units if name == "lower_bound" else {})
            for name, value in found.items()
        },
        attrs={"generator": repr(monitor.generator)}
        | {name: getattr(monitor, name) for name in _SETTINGS},
    )


def page_of(monitor: CalibrationMonitor) -> Page:
    """Return what is known now as a table of a notebook."""
    rows = [
        ("log e-value", f"{monitor.log_e_value:.4g}"),
        ("p-value", f"{monitor.p_value:.3g}"),
        ("lower bound of the calibration error", f"{monitor.lower_bound:.4g}"),
        ("alarm", _since(monitor.alarm_row)),
        ("alarm of drift", _since(monitor.drift_row)),
    ]
    notes = [
        f"alpha = {monitor.alpha:g}, run length {monitor.run_length:g}",
        f"n = {monitor.n_samples}, k = {monitor.n_classes}",
    ]
    return Page(f"monitor of {monitor.notion} calibration", rows, notes)


def _since(row: int | None) -> str:
    return "none" if row is None else f"at row {row}"
