"""The evidence of a monitor against calibration as rows come."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from propercal.plotting.axes import add_grid, add_legend, axes_for
from propercal.plotting.lines import check_dataset, variable
from propercal.plotting.palette import COLOURS

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

#: Variable, what it is evidence of, and the attribute that says when there is an alarm.
_LINES = (
    ("log_e_value", "calibrated from the beginning", "alpha"),
    ("log_drift", "calibrated still", "run_length"),
)


def evidence_over_time(history: xr.Dataset, *, ax: Axes | None = None) -> Axes:
    """Draw the e-value and the sum over starts of a monitor, with the limits of their alarms.

    Parameters
    ----------
    history : xarray.Dataset
        What :meth:`propercal.CalibrationMonitor.history` returns.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        A line for each of the two in powers of ten, its limit dashed. Infinite values are left out,
        and named in the legend.

    Raises
    ------
    ValueError
        If an argument cannot be used.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from propercal import CalibrationMonitor
    >>> from propercal.plotting import evidence_over_time
    >>> monitor = CalibrationMonitor(2)
    >>> monitor.update([0, 1, 1], [[0.5, 0.5], [0.4, 0.6], [0.7, 0.3]])
    >>> evidence_over_time(monitor.history()).get_ylabel()
    'evidence against, powers of 10'
    """
    dataset = check_dataset(history, "row", argument="history")
    values = {name: variable(dataset, name, "history") for name, *_ in _LINES}
    axis = axes_for(ax)
    for (name, label, limit), colour in zip(_LINES, COLOURS, strict=False):
        found = values[name].values / math.log(10)
        rows, shown = values[name]["row"].values, np.where(np.isfinite(found), found, np.nan)
        infinite = np.flatnonzero(found == np.inf)
        if infinite.size:
            label += f",\ninfinite by row {rows[infinite[0]]}"
        marker = "o" if np.isfinite(found).sum() == 1 else ""
        axis.plot(rows, shown, marker=marker, color=colour, linewidth=1.2, label=label)
        if limit in dataset.attrs:
            level = math.log10(dataset.attrs[limit])
            axis.axhline(abs(level), color=colour, linewidth=0.9, linestyle="--")
    axis.set_xlabel("row")
    axis.set_ylabel("evidence against, powers of 10")
    add_grid(axis)
    add_legend(axis)
    return axis
