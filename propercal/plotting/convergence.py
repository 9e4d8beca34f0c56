"""How estimates approach what they estimate as the sample grows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from propercal.plotting.axes import add_grid, add_legend, axes_for, units_of
from propercal.plotting.lines import (
    Line,
    at,
    check_dataset,
    draw_line,
    lines_of,
    over_repetitions,
    variable,
)

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

_X = "sample_size"


def convergence(
    dataset: xr.Dataset, *, estimate: str | None = None, ax: Axes | None = None
) -> Axes:
    """Draw estimates against the sample size, with their limit and the truth.

    Parameters
    ----------
    dataset : xarray.Dataset
        With the dimension ``sample_size``, such as :func:`propercal.experiments.run_study` returns.
        Along ``replicate`` or ``seed`` the mean is drawn with its standard error; other dimensions
        make lines, at most six. Optional variables: ``standard_error`` of the estimate, its
        ``limit`` at a fixed bandwidth, and the ``truth``.
    estimate : str, optional
        The variable to draw: by default "mean" if there is one, else "calibration_error".
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        Lines with markers for the estimates, dashed ones in the same colours for their limits, and
        the truth in black, or where it differs between lines, thick in the colour of each.

    Raises
    ------
    ValueError
        If an argument cannot be used.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import xarray as xr
    >>> from propercal.plotting import convergence
    >>> dataset = xr.Dataset(
    ...     {"mean": (("method", "sample_size"), [[0.3, 0.2], [0.1, 0.11]]), "truth": 0.12},
    ...     coords={"method": ["direct", "risk"], "sample_size": [100, 1000]},
    ... )
    >>> ax = convergence(dataset)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['truth', 'direct', 'risk']
    """
    dataset = check_dataset(dataset, _X)
    name = estimate or ("mean" if "mean" in dataset.data_vars else "calibration_error")
    mean, error = over_repetitions(variable(dataset, name, "estimate"))
    if error is None and name == "mean" and "standard_error" in dataset.data_vars:
        error = variable(dataset, "standard_error", "estimate")
    lines = lines_of(mean, _X)
    axis = axes_for(ax)
    for line in lines:
        draw_line(axis, _X, mean, error, line)
    if "limit" in dataset.data_vars:
        limit = variable(dataset, "limit", "estimate")
        _references(axis, limit, lines, "limit", linestyle="--", linewidth=1.0)
    if "truth" in dataset.data_vars:
        truth = variable(dataset, "truth", "estimate")
        _references(axis, truth, lines, "truth", linestyle="-", linewidth=2.0)
    axis.set_xscale("log")
    sizes = mean[_X].values
    shown = sizes if sizes.size <= 5 else sizes[:: int(np.ceil(sizes.size / 5))]
    axis.set_xticks(shown, [f"{n:g}" for n in shown])
    axis.minorticks_off()
    axis.set_xlabel("sample size n")
    units = str(dataset[name].attrs.get("units", ""))
    axis.set_ylabel(("estimate" if name == "mean" else name.replace("_", " ")) + units_of(units))
    add_grid(axis)
    add_legend(axis)
    return axis


def _references(
    axis: Axes, values: xr.DataArray, lines: list[Line], name: str, **style: Any
) -> None:
    """Draw level lines: one in black if all are the same, else each in its line's colour."""
    levels = [at(values, line.at) for line in lines]
    numbers = [level.values.ravel() for level in levels if level is not None]
    one = all(np.array_equal(number, numbers[0]) for number in numbers)
    if one and numbers[0].size == 1:
        axis.axhline(numbers[0].item(), color="black", label=name, zorder=1.5, **style)
        return
    for line, number in zip(lines, numbers, strict=True):
        colour = {**style, "color": line.style["color"], "zorder": 1.5}
        if number.size == 1:
            axis.axhline(number.item(), **colour)
        else:
            axis.plot(values[_X].values, number, **colour)
    axis.plot([], [], color="0.3", label=name, **style)
