"""What each layer of a network knows about the label, as training goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from propercal.plotting.axes import add_grid, add_legend, axes_for, units_of
from propercal.plotting.lines import check_dataset, draw_line, lines_of, over_repetitions, variable

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes


def layer_curves(dataset: xr.Dataset, *, term: str = "sharpness", ax: Axes | None = None) -> Axes:
    """Draw the sharpness of every layer by epoch.

    Parameters
    ----------
    dataset : xarray.Dataset
        With the dimensions ``layer`` and ``epoch``. Along ``seed`` or ``replicate`` the mean is
        drawn with its standard error; there are at most six layers.
    term : str, default "sharpness"
        The variable to draw.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        A line for each layer. The epochs are on a logarithmic scale where they span a factor of
        16 or more.

    Raises
    ------
    ValueError
        If an argument cannot be used.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import xarray as xr
    >>> from propercal.plotting import layer_curves
    >>> dataset = xr.Dataset(
    ...     {"sharpness": (("layer", "epoch"), [[0.6, 0.8], [0.5, 0.7]])},
    ...     coords={"layer": ["1", "output"], "epoch": [1, 2]},
    ... )
    >>> ax = layer_curves(dataset)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['layer 1', 'output layer']
    """
    dataset = check_dataset(dataset, "layer", "epoch")
    mean, error = over_repetitions(variable(dataset, term, "term"))
    lines = lines_of(mean, "epoch")
    axis = axes_for(ax)
    for line in lines:
        draw_line(axis, "epoch", mean, error, line._replace(label=_label(line.at, line.label)))
    epochs = mean["epoch"].values
    if epochs.min() > 0 and epochs.max() >= 16 * epochs.min():
        axis.set_xscale("log", base=2)
    shown = epochs if epochs.size <= 9 else epochs[:: int(np.ceil(epochs.size / 9))]
    axis.set_xticks(shown, [f"{epoch:g}" for epoch in shown])
    axis.minorticks_off()
    axis.set_xlabel("epoch")
    axis.set_ylabel(term.replace("_", " ") + units_of(str(dataset[term].attrs.get("units", ""))))
    add_grid(axis)
    add_legend(axis)
    return axis


def _label(at: dict[str, object], label: str) -> str:
    layer = at.get("layer")
    if not isinstance(layer, str):
        return label
    full = f"layer {layer}" if layer.isdecimal() else f"{layer} layer"
    return full if label in ("", layer) else label.replace(layer, full, 1)
